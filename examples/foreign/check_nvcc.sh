#!/bin/bash
# Compiles every kernel with nvcc for sm_90a, where it is installed.
set -euo pipefail
cd "$(dirname "$0")"
nvcc="$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)"
if [[ ! -x "${nvcc}" ]]; then
  echo "skipped: nvcc is not installed"
  exit 0
fi
for kernel in *.cu; do
  "${nvcc}" -arch=sm_90a -std=c++17 -Werror all-warnings -cubin -o /dev/null "${kernel}" || exit 1
  echo "${kernel}"
done
