#!/bin/bash
# Builds the wheel from an installation (tools/install):
#
#   ./run install --prefix=PREFIX
#   tools/wheel/build.sh --installed=PREFIX --output=DIR
#
# TILEWRIGHT_PYTHON names the interpreter whose wheel it is (python3); it has the package nanobind.
set -euo pipefail
here="$(cd "$(dirname "$(readlink -f "$0")")" && pwd)"

installed="" output=""
for argument in "$@"; do
  case "${argument}" in
    --installed=?*) installed="$(readlink -f "${argument#--installed=}")" ;;
    --output=?*) output="${argument#--output=}" ;;
    *)
      echo "tools/wheel/build.sh: unknown argument ${argument}" >&2
      exit 2
      ;;
  esac
done
if [[ -z "${installed}" || -z "${output}" ]]; then
  echo "usage: tools/wheel/build.sh --installed=PREFIX --output=DIR" >&2
  exit 2
fi
mkdir -p "${output}"
python="${TILEWRIGHT_PYTHON:-python3}"
nanobind="$("${python}" -c 'import os, nanobind; print(os.path.dirname(nanobind.__file__))')" || {
  echo "tools/wheel/build.sh: ${python} does not have the package nanobind" >&2
  exit 1
}
work="$(mktemp -d)"
trap 'rm -rf "${work}"' EXIT

mkdir -p "${work}/tilewright/bin"
cp "${here}"/tilewright/*.py "${work}/tilewright/"
cp "${installed}"/bin/* "${work}/tilewright/bin/"
cp "${here}/../../LICENSE" "${work}/LICENSE"

# The extension holds what opens libraries, and the pool of threads; the linker leaves out the rest of the compiler.
include="$("${python}" -c 'import sysconfig; print(sysconfig.get_path("include"))')"
suffix="$("${python}" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')"
read -r -a private <<<"$(PKG_CONFIG_PATH="${installed}/lib/pkgconfig" pkg-config --static --libs-only-l tilewright)"
"${CXX:-clang++-19}" -std=c++20 -O2 -fPIC -fvisibility=hidden -fno-strict-aliasing -DNDEBUG -DNB_COMPACT_ASSERTIONS \
  -isystem "${include}" -isystem "${nanobind}/include" -isystem "${nanobind}/ext/robin_map/include" \
  -I "${installed}/include/tilewright" -Wall -Wextra -Wno-missing-field-initializers \
  -shared "${here}/calls.cc" "${nanobind}/src/nb_combined.cpp" -o "${work}/tilewright/_calls${suffix}" \
  "${installed}/lib/libtilewright.a" -fuse-ld=lld -Wl,--as-needed -Wl,--gc-sections -Wl,--exclude-libs,ALL \
  "${private[@]/#-ltilewright/-lm}" -s

version="$("${installed}/bin/tilewright" --version | cut -d' ' -f2)"
"${python}" "${here}/pack.py" "${work}" "${version}" "${output}"
