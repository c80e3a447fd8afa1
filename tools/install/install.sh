#!/bin/bash
# Installs Tilewright into a folder, from where programs outside of this tree use it (tools/install/README.md).
#
#   ./run install --prefix=DIR [BAZEL FLAGS...]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

prefix=""
flags=()
for argument in "$@"; do
  case "${argument}" in
    --prefix=?*) prefix="${argument#--prefix=}" ;;
    *) flags+=("${argument}") ;;
  esac
done
if [[ -z "${prefix}" ]]; then
  echo "usage: ./run install --prefix=DIR [BAZEL FLAGS...]" >&2
  exit 2
fi
mkdir -p "${prefix}"
prefix="$(cd "${prefix}" && pwd)"

readonly cxx=clang++-19
readonly program=bazel-bin/tools/tilewright
# Modules whose headers are the library's.
readonly modules=(base target ir intrin verify schedule codegen autoschedule graph)

bazel build "${flags[@]}" //tools:tilewright

version="$("${program}" --version | cut -d' ' -f2)"
readonly version major="${version%%.*}"

install_programs() {
  mkdir -p "${prefix}/bin"
  install -m 755 "${program}" "${prefix}/bin/tilewright"
  # Workers lie beside the program that starts them (base/worker_path.h).
  local worker
  find -L "${program}.runfiles/tilewright" -type f ! -name tilewright | while read -r worker; do
    install -m 755 "${worker}" "${prefix}/bin/$(basename "${worker}")"
  done
  mkdir -p "${prefix}/share/man/man1" "${prefix}/share/bash-completion/completions" \
    "${prefix}/share/zsh/site-functions" "${prefix}/share/fish/vendor_completions.d"
  "${program}" help --man >"${prefix}/share/man/man1/tilewright.1"
  "${program}" completion bash >"${prefix}/share/bash-completion/completions/tilewright"
  "${program}" completion zsh >"${prefix}/share/zsh/site-functions/tilewright.zsh"
  "${program}" completion fish >"${prefix}/share/fish/vendor_completions.d/tilewright.fish"
}

# Headers keep their places, below include/tilewright: `#include "ir/function.h"`. Those that need LLVM's, and those of
# tests, are nobody's interface.
install_headers() {
  local header
  local headers=()
  while read -r header; do
    if ! grep -q '#include "llvm/' "${header}"; then headers+=("${header}"); fi
  done < <(git ls-files -- "${modules[@]/%//**.h}" "${modules[@]/%//*.h}" | grep -Ev '/(testing|fuzz)/|/testing\.h$' | sort -u)
  mkdir -p "${prefix}/include/tilewright/tilewright"
  printf '%s\0' "${headers[@]}" | xargs -0 cp --parents -t "${prefix}/include/tilewright"
  cp tools/install/tilewright.h "${prefix}/include/tilewright/tilewright/tilewright.h"
  cat >"${prefix}/include/tilewright/tilewright/version.h" <<TEXT
// Versions are numbered by semantic versioning; before 1.0.0, each second number may change the interface.
#pragma once

#define TILEWRIGHT_VERSION "${version}"
#define TILEWRIGHT_VERSION_MAJOR ${major}
TEXT
  # The C interface of compiled libraries as one header that may be copied anywhere.
  {
    echo "// How compiled functions are called: the C interface of libraries that Tilewright ${version} writes, in one file."
    echo "#pragma once"
    for header in tensor_abi parallel_hook function_abi; do
      echo
      grep -Ev '^#pragma once|^#include "codegen/abi/' "codegen/abi/${header}.h"
    done
  } >"${prefix}/include/tilewright_abi.h"
  # Those that it is made from stand for it, so that a program may include either.
  for header in tensor_abi parallel_hook function_abi; do
    printf '%s\n' "// A part of the one header of the C interface." "#pragma once" "" '#include "../../../tilewright_abi.h"' \
      >"${prefix}/include/tilewright/codegen/abi/${header}.h"
  done
}

# The library holds what the program links, without its command line: objects and system libraries stand in the
# program's own link line.
install_library() {
  local line="${program}-2.params"
  local objects=() libraries=()
  mapfile -t objects < <(grep -E '^bazel-out/.*\.o$' "${line}" | grep -v '/bin/tools/' | sort -u)
  mapfile -t libraries < <(grep -E '^-l|^-L' "${line}" | grep -v '^-ljemalloc$' | awk '!seen[$0]++')
  mkdir -p "${prefix}/lib/cmake/tilewright" "${prefix}/lib/pkgconfig"
  local root list
  root="$(bazel info execution_root 2>/dev/null)"
  list="$(mktemp)"
  printf '%s\n' "${objects[@]/#/${root}/}" >"${list}"
  "${cxx}" -shared -fuse-ld=lld -o "${prefix}/lib/libtilewright.so.${version}" "-Wl,-soname,libtilewright.so.${major}" \
    -Wl,-z,defs "@${list}" -Wl,--as-needed "${libraries[@]}" -lpthread -ldl -lm
  ln -sf "libtilewright.so.${version}" "${prefix}/lib/libtilewright.so.${major}"
  ln -sf "libtilewright.so.${major}" "${prefix}/lib/libtilewright.so"
  rm -f "${prefix}/lib/libtilewright.a"
  # In one call: sources of two folders may have one file name, and a second call would replace the objects of the first.
  ar qcs "${prefix}/lib/libtilewright.a" "@${list}"
  rm -f "${list}"
  local private="${libraries[*]}"
  local file
  for file in tilewrightConfig.cmake:cmake/tilewright tilewrightConfigVersion.cmake:cmake/tilewright tilewright.pc:pkgconfig; do
    sed -e "s|@VERSION@|${version}|g" -e "s|@MAJOR@|${major}|g" -e "s|@PRIVATE@|${private}|g" \
      "tools/install/${file%%:*}.in" >"${prefix}/lib/${file#*:}/${file%%:*}"
  done
}

install_programs
install_headers
install_library
du -sh "${prefix}/bin" "${prefix}/lib/libtilewright.so.${version}" "${prefix}/lib/libtilewright.a" "${prefix}/include"
echo "tilewright ${version} is in ${prefix}"
