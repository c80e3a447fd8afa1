#!/bin/bash
# Makes the peers of code for AArch64 that runs in an emulator: XNNPACK and Arm Compute Library, as Debian has them.
#
#   bench/peers/arm/setup.sh
#   bazel run -c opt //bench:operators -- --target=arm-neoverse-n1 --peers=xnnpack,acl --shape=GMM:1,512,512,512
#
# Packages for arm64 are downloaded by apt with lists of its own and unpacked, not installed; nothing of the system
# changes, and no root is needed. The folder is the one that TILEWRIGHT_ARM_PEERS names, otherwise
# ~/.cache/tilewright/arm; some 200 MB. Run it again after a change of this folder's sources.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../../.."

readonly folder="${TILEWRIGHT_ARM_PEERS:-${XDG_CACHE_HOME:-${HOME}/.cache}/tilewright/arm}"
readonly root="${folder}/root" compiler=aarch64-linux-gnu-g++
readonly packages=(libxnnpack-dev libxnnpack0 libpthreadpool-dev libpthreadpool0 libcpuinfo0 libarm-compute-dev
  libarm-compute20 libabsl-dev libabsl20220623)
readonly libraries="${root}/usr/lib/aarch64-linux-gnu"

command -v "${compiler}" >/dev/null || { echo "missing: ${compiler} (apt-get install g++-aarch64-linux-gnu)" >&2; exit 1; }

# shellcheck source=bench/peers/arm/apt_arm64.sh
source bench/peers/arm/apt_arm64.sh

if [[ ! -e "${root}/complete" ]]; then
  unpack_arm64 "${folder}" "${root}" "${packages[@]}"
  # A namespace of Arm Compute Library has a name that is a keyword since C++20.
  sed -i 's/\brequires\b/requires_/' "${root}/usr/include/aarch64-linux-gnu/arm_compute/core/utils/misc/Requires.h"
  touch "${root}/complete"
fi

# make_peer NAME SOURCES -- LIBRARIES
make_peer() {
  local name="$1" sources=()
  shift
  while [[ "$1" != -- ]]; do sources+=("$1") && shift; done
  shift
  echo "compiling lib${name}_peer.so" >&2
  "${compiler}" -std=c++20 -O2 -fPIC -shared -I. -I"${root}/usr/include" -I"${root}/usr/include/aarch64-linux-gnu" \
    "${sources[@]}" bench/peers/arm/library.cc bench/peers/fold_normalization.cc bench/harness/dtype.cc \
    bench/operators/{operands,problem,requantization,shapes,tensor_sets}.cc codegen/runtime/tensor.cc \
    ir/{data_type,float_format,ndarray}.cc base/check.cc \
    -Wl,--no-undefined -Wl,--disable-new-dtags,-rpath,"${libraries}" -L"${libraries}" "$@" \
    -Wl,--as-needed "${libraries}"/libabsl_*.so -o "${folder}/lib${name}_peer.so"
}
make_peer xnnpack bench/peers/arm/xnnpack_library.cc bench/peers/xnnpack_plan.cc -- \
  -l:libXNNPACK.so.0 -lpthreadpool -l:libcpuinfo.so.0
make_peer acl bench/peers/arm/acl_library.cc -- -l:libarm_compute.so.20 -l:libarm_compute_core.so.20
