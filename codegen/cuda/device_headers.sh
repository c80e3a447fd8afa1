#!/bin/bash
# Prints C++ that holds the files as text: device_text.cc.
set -euo pipefail
echo '#include "codegen/cuda/device_text.h"'
echo 'namespace tilewright::cuda { namespace { constexpr DeviceHeader kHeaders[] = {'
for file in "$@"; do
  path="codegen/cuda/${file#*codegen/cuda/}"
  printf '{"%s", R"TILEWRIGHT(' "${path}"
  cat "${file}"
  echo ')TILEWRIGHT"},'
done
echo '}; }'
echo 'std::span<const DeviceHeader> DeviceHeaders() { return kHeaders; } }'
