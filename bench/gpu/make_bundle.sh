#!/bin/bash
# Makes the folder that a GPU machine is given: gpu_check, cases of the emulator's test kernels and of programs, run.sh.
#
#   bench/gpu/make_bundle.sh FOLDER BIN PROGRAM.py...       BIN: where the built programs of bench/gpu are
#
# Needs nvcc and NVRTC. The device is an H100 (sm_90a).
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"
folder="$1"
bin="$2"
shift 2
mkdir -p "${folder}/cases"
work="$(mktemp -d)"
trap 'rm -rf "${work}"' EXIT
nvcc="$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)"

cd "${root}"
codegen/cuda/emulator/device/wgmma_forms.py 128,float,f16,f16,0,0 128,float,f16,f16,0,1 64,float,f16,f16,0,0 \
  64,float,f16,f16,0,1 >"${work}/forms.cuh"
compile() {
  "${nvcc}" -std=c++17 -arch=sm_90a -I. --expt-relaxed-constexpr "$@" -cubin codegen/cuda/emulator/kernels/all.cu
}
compile -o "${work}/sm80.cubin"
compile -DTW_SM90 "-DTW_WGMMA_FORMS=\"${work}/forms.cuh\"" -o "${work}/sm90.cubin"
"${bin}/make_kernel_cases" "${folder}/cases" "${work}/sm80.cubin" "${work}/sm90.cubin"
if [[ $# -gt 0 ]]; then "${bin}/make_cases" cuda-sm90a "${folder}/cases" "$@"; fi
cp "${bin}/gpu_check" bench/gpu/run.sh "${folder}/"
du -sh "${folder}"
