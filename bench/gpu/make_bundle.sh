#!/bin/bash
# Makes the folder that a GPU machine is given: gpu_check, cases of the emulator's test kernels and of programs, slot.sh
# and the programs that it starts.
#
#   bench/gpu/make_bundle.sh FOLDER BIN PROGRAM.py...       BIN: bazel-bin/bench
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
"${bin}/gpu/make_kernel_cases" "${folder}/cases" "${work}/sm80.cubin" "${work}/sm90.cubin"
if [[ $# -gt 0 ]]; then "${bin}/gpu/make_cases" cuda-sm90a "${folder}/cases" "$@"; fi
cp "${bin}/gpu/gpu_check" "${bin}/gpu/compile_models" "${bin}/models/models" "${bin}/operators/operators" \
  bench/gpu/slot.sh bench/gpu/slot_page.py "${folder}/"
chmod -R u+w "${folder}"
# Peers are scripts beside the programs (bench/peers/python_peer.cc).
for program in models operators; do
  mkdir -p "${folder}/${program}.runfiles/tilewright/bench/peers"
  cp bench/peers/*.py "${folder}/${program}.runfiles/tilewright/bench/peers/"
done
# Libraries that the machine may lack.
mkdir -p "${folder}/lib"
ldd "${folder}/models" "${folder}/operators" | awk '/=> \// {print $3}' | grep -v '/ld-linux\|/libc\.so\|/libm\.so' |
  sort -u | xargs -I{} cp -n {} "${folder}/lib/"
du -sh "${folder}"
