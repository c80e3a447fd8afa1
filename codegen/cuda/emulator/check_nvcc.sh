#!/bin/bash
# Compiles the test kernels with nvcc for sm_80 and sm_90a, where nvcc is installed: the same text that the emulator runs.
# Fails on an error, a spill, a stack frame, or a C75xx warning (products that ptxas serialized).
#
#   codegen/cuda/emulator/check_nvcc.sh
set -euo pipefail
cd "$(dirname "$0")/../../.."

nvcc="$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)"
if [[ ! -x "${nvcc}" ]]; then
  echo "nvcc is not installed: nothing checked"
  exit 0
fi
folder="$(mktemp -d)"
trap 'rm -rf "${folder}"' EXIT

codegen/cuda/emulator/device/wgmma_forms.py 128,float,f16,f16,0,0 128,float,f16,f16,0,1 64,float,f16,f16,0,0 \
  64,float,f16,f16,0,1 >"${folder}/forms.cuh"

wrong=0
check() {
  local target="$1"
  shift
  local log="${folder}/${target}.log"
  if ! "${nvcc}" -std=c++17 "-arch=${target}" -I. -Xptxas -v --expt-relaxed-constexpr "$@" -cubin \
    -o "${folder}/${target}.cubin" codegen/cuda/emulator/kernels/all.cu >"${log}" 2>&1; then
    cat "${log}"
    wrong=1
    return
  fi
  c++filt <"${log}" | awk -v target="${target}" '
    /Compiling entry function/ { name = $0; sub(/.*function ./, "", name); sub(/. for .*/, "", name) }
    /stack frame/ { stack = $1; spilled = $5 + $9 }
    /Used [0-9]+ registers/ { print target ": " name ": " $5 " registers, " stack " bytes of stack, " spilled " spilled" }'
  if grep -E 'C75[0-9][0-9]|[1-9][0-9]* bytes (stack frame|spill)' "${log}"; then
    wrong=1
  fi
}
check sm_80
check sm_90a -DTW_SM90 "-DTW_WGMMA_FORMS=\"${folder}/forms.cuh\""
exit "${wrong}"
