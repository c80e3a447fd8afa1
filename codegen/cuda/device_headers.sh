#!/bin/bash
# Prints C++ that holds the files as text, for a function that a header declares: HEADER FUNCTION FILES...
set -euo pipefail
echo "#include \"$1\""
echo 'namespace tilewright::cuda { namespace { constexpr DeviceHeader kHeaders[] = {'
for file in "${@:3}"; do
  path="codegen/${file#*codegen/}"
  printf '{"%s", R"TILEWRIGHT(' "${path}"
  cat "${file}"
  echo ')TILEWRIGHT"},'
done
echo '}; }'
echo "std::span<const DeviceHeader> $2() { return kHeaders; } }"
