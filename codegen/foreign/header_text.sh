#!/bin/bash
# Prints C++ that holds the files as text: header_text.cc.
set -euo pipefail
echo '#include "codegen/foreign/header_text.h"'
echo 'namespace tilewright::foreign { namespace { constexpr Header kHeaders[] = {'
for file in "$@"; do
  printf '{"%s", R"TILEWRIGHT(' "${file#*/include/}"
  cat "${file}"
  echo ')TILEWRIGHT"},'
done
echo '}; }'
echo 'std::span<const Header> Headers() { return kHeaders; } }'
