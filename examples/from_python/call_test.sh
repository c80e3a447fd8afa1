#!/bin/bash
# Calls the compiled library through the package apache-tvm-ffi. TILEWRIGHT_PYTHON names an interpreter that has it.
set -euo pipefail

library="$1"
script="$2"
python="${TILEWRIGHT_PYTHON:-python3}"
if ! "${python}" -c "import numpy, tvm_ffi" 2>/dev/null; then
  echo "SKIPPED from_python: ${python} does not have the packages numpy and apache-tvm-ffi"
  exit 0
fi
"${python}" "${script}" "${library}"
