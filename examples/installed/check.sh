#!/bin/bash
# Installs Tilewright into an empty folder, builds the programs of this one against it by CMake and by pkg-config, and
# runs them and the installed program away from the checkout.
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

# The program with nothing of the checkout's environment: interpreted, compiled, emulated, and with its workers.
tool=(env -i HOME="${work}" PATH=/usr/bin:/bin TILEWRIGHT_KERNEL_CACHE=off "${prefix}/bin/tilewright")
"${tool[@]}" --version
"${tool[@]}" run matmul.py --script=schedule.py --engine=llvm --compare
"${tool[@]}" run matmul.py --target=cuda-sm80
"${tool[@]}" tune matmul.py --seconds=3 --trials=2 -o tuned.py
man -l "${prefix}/share/man/man1/tilewright.1" >page.txt 2>man.log || true
if [[ -s man.log ]]; then cat man.log; fi
bash -c "source '${prefix}/share/bash-completion/completions/tilewright' && complete -p tilewright"
# Neither the texts nor the programs name the place that they were made in.
if grep -qr "$(cd "${here}/../.." && pwd)" "${prefix}"; then
  echo "the installation names the checkout"
  exit 1
fi
echo "the installation is good"
