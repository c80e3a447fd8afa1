#!/bin/bash
# Builds ONNX Runtime's provider from an installation (tools/install):
#
#   ./run install --prefix=PREFIX
#   tools/onnxruntime/build.sh --installed=PREFIX --output=DIR      # DIR/libtilewright_onnxruntime.so
set -euo pipefail
here="$(cd "$(dirname "$(readlink -f "$0")")" && pwd)"

installed="" output=""
for argument in "$@"; do
  case "${argument}" in
    --installed=?*) installed="$(readlink -f "${argument#--installed=}")" ;;
    --output=?*) output="${argument#--output=}" ;;
    *)
      echo "tools/onnxruntime/build.sh: unknown argument ${argument}" >&2
      exit 2
      ;;
  esac
done
if [[ -z "${installed}" || -z "${output}" ]]; then
  echo "usage: tools/onnxruntime/build.sh --installed=PREFIX --output=DIR" >&2
  exit 2
fi
mkdir -p "${output}"
work="$(mktemp -d)"
trap 'rm -rf "${work}"' EXIT

# The library holds the compiler: a process that loads it needs no installation, and sees two of its names.
read -r -a private <<<"$(PKG_CONFIG_PATH="${installed}/lib/pkgconfig" pkg-config --static --libs-only-l tilewright)"
for source in "${here}"/*.cc; do
  "${CXX:-clang++-19}" -std=c++20 -O2 -fPIC -fvisibility=hidden -DNDEBUG -DONNX_ML=1 -DONNX_NAMESPACE=onnx \
    -I "${installed}/include/tilewright" -I "${here}/../.." -Wall -Wextra -Werror -Wshadow \
    -Wno-missing-field-initializers -c "${source}" -o "${work}/$(basename "${source}" .cc).o" &
done
echo '{ global: CreateEpFactories; ReleaseEpFactory; local: *; };' >"${work}/exports"
for job in $(jobs -p); do wait "${job}"; done
"${CXX:-clang++-19}" -shared "${work}"/*.o -o "${output}/libtilewright_onnxruntime.so" \
  "${installed}/lib/libtilewright.a" -fuse-ld=lld -Wl,-z,defs -Wl,--as-needed -Wl,--gc-sections \
  "-Wl,--version-script=${work}/exports" "${private[@]/#-ltilewright/-lm}" -s
echo "${output}/libtilewright_onnxruntime.so"
