#!/bin/bash
# Installs Tilewright into an empty folder, builds the programs of this one against it by CMake and by pkg-config, and
# runs them and the installed program away from the checkout; the same with the Debian package and the archive.
#
#   examples/installed/check.sh [PREFIX]     with a PREFIX, what is installed there is taken
set -euo pipefail
here="$(cd "$(dirname "$(readlink -f "$0")")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "${work}"' EXIT

if [[ $# -gt 0 ]]; then
  cp -a "$1" "${work}/before"
else
  "${here}/../../run" install --prefix="${work}/before"
fi
# The installation may be moved, and is away from where it was made.
mv "${work}/before" "${work}/prefix"
prefix="${work}/prefix"
cp -r "${here}" "${work}/consumer"
cd "${work}/consumer"

cmake -S . -B build -DCMAKE_PREFIX_PATH="${prefix}" -DCMAKE_CXX_COMPILER="${CXX:-clang++-19}" >cmake.log ||
  { cat cmake.log; exit 1; }
cmake --build build
build/multiply matmul.py schedule.py
build/multiply_static matmul.py schedule.py
build/call

make PKG_CONFIG_PATH="${prefix}/lib/pkgconfig" CXX="${CXX:-clang++-19}" multiply
./multiply matmul.py schedule.py
soname="$(readelf -d multiply | grep -c 'NEEDED.*libtilewright\.so\.[0-9]*\]')"
[[ "${soname}" == 1 ]] || { echo "multiply does not need libtilewright.so by its SONAME"; exit 1; }

# A library's own header finds the interface by one copied header, or by the headers of an installation, or by both.
TILEWRIGHT_KERNEL_CACHE=off "${prefix}/bin/tilewright" compile matmul.py -o library.so
mkdir copied && cp "${prefix}/include/tilewright_abi.h" copied/
printf '%s\n' '#include "library.h"' 'int64_t bytes(void) { return main_workspace_bytes(); }' >copied.c
printf '%s\n' '#include "codegen/abi/function_abi.h"' '#include "tilewright_abi.h"' '#include "library.h"' >both.c
cc -std=c11 -Wall -Werror -I copied -c copied.c -o copied.o
cc -std=c11 -Wall -Werror -I "${prefix}/include/tilewright" -c copied.c -o copied.o
cc -std=c11 -Wall -Werror -I "${prefix}/include" -I "${prefix}/include/tilewright" -c both.c -o both.o

# The program of a folder with nothing of the checkout's environment: interpreted, compiled, emulated, and with its
# workers. Where this process may, the checkout is hidden from it.
checkout="$(cd "${here}/../.." && pwd)"
use_program() {
  local hide=()
  if unshare --mount true 2>/dev/null; then
    hide=(unshare --mount sh -c "mount -t tmpfs none '${checkout}' && exec \"\$@\"" sh)
  else
    echo "SKIPPED hiding the checkout: there are no mount namespaces"
  fi
  local tool=(env -i HOME="${work}" PATH=/usr/bin:/bin TILEWRIGHT_KERNEL_CACHE=off "${hide[@]}" "$1/bin/tilewright")
  "${tool[@]}" --version
  "${tool[@]}" run matmul.py --script=schedule.py --engine=llvm --compare
  "${tool[@]}" run matmul.py --target=cuda-sm80
  "${tool[@]}" tune matmul.py --seconds=3 --trials=2 -o tuned.py
}
use_program "${prefix}"
man -l "${prefix}/share/man/man1/tilewright.1" >page.txt 2>man.log || true
if [[ -s man.log ]]; then cat man.log; fi
bash -c "source '${prefix}/share/bash-completion/completions/tilewright' && complete -p tilewright"
# Neither the texts nor the programs name the place that they were made in.
if grep -qr "${checkout}" "${prefix}"; then
  echo "the installation names the checkout"
  exit 1
fi

"${checkout}/run" package --no-install --installed="${prefix}" --output="${work}/packages"
mkdir "${work}/from_archive" "${work}/from_package"
tar -xf "${work}"/packages/tilewright-*.tar.gz -C "${work}/from_archive" --strip-components=1
dpkg-deb --extract "${work}"/packages/tilewright_*.deb "${work}/from_package"
dpkg-deb --field "${work}"/packages/tilewright_*.deb Package Version Architecture Depends
use_program "${work}/from_archive"
use_program "${work}/from_package/usr"
cmake -S . -B build_of_package -DCMAKE_PREFIX_PATH="${work}/from_package/usr" \
  -DCMAKE_CXX_COMPILER="${CXX:-clang++-19}" >cmake.log || { cat cmake.log; exit 1; }
cmake --build build_of_package --target call
build_of_package/call
"${checkout}/tools/wheel/check.sh" --installed="${prefix}"
echo "the installation is good"
