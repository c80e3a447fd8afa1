#!/bin/bash
# Packs an installation: a Debian package and an archive, for the architecture of this machine.
#
#   ./run package --output=DIR [--installed=PREFIX] [BAZEL FLAGS...]
#
# DIR gets tilewright_VERSION_ARCH.deb and tilewright-VERSION-linux-ARCH.tar.gz. --installed takes what
# `./run install --prefix=PREFIX` made; without it that is done first. Only dpkg, tar and gzip are needed. The same
# commit and installation give the same bytes.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

output="" installed=""
flags=()
for argument in "$@"; do
  case "${argument}" in
    --output=?*) output="${argument#--output=}" ;;
    --installed=?*) installed="${argument#--installed=}" ;;
    *) flags+=("${argument}") ;;
  esac
done
if [[ -z "${output}" ]]; then
  echo "usage: ./run package --output=DIR [--installed=PREFIX] [BAZEL FLAGS...]" >&2
  exit 2
fi
mkdir -p "${output}"
output="$(cd "${output}" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "${work}"' EXIT
if [[ -z "${installed}" ]]; then
  installed="${work}/installed"
  tools/install/install.sh --prefix="${installed}" "${flags[@]}"
fi

version="$("${installed}/bin/tilewright" --version | cut -d' ' -f2)"
architecture="$(dpkg --print-architecture)"
SOURCE_DATE_EPOCH="$(git log -1 --format=%ct 2>/dev/null || echo 0)"
export SOURCE_DATE_EPOCH
readonly version architecture SOURCE_DATE_EPOCH

# The packages that the programs and the library are linked with, "libc6 (>= 2.36), ...": of each the release's version
# without its revision.
dependencies() {
  local file library path package
  for file in "$1"/bin/* "$1"/lib/libtilewright.so."${version}"; do
    # Workers for other architectures run in an emulator.
    [[ "$(readelf -h "${file}" | grep Machine)" == "$(readelf -h "$1/bin/tilewright" | grep Machine)" ]] || continue
    readelf -d "${file}" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
  done | sort -u | while read -r library; do
    path="$(ldconfig -p | awk -v name="${library}" '$1 == name {print $NF; exit}')"
    package="$(dpkg-query --search "$(readlink -f "${path}")" 2>/dev/null || dpkg-query --search "${path}")"
    package="${package%%:*}"
    echo "${package} (>= $(dpkg-query --show --showformat='${Version}' "${package}" | sed 's/^[0-9]*://; s/[-+~].*//'))"
  done | sort -u | paste -sd, | sed 's/,/, /g'
}

# Files whose time, owner and order say nothing.
settle() {
  find "$1" -exec touch --no-dereference --date="@${SOURCE_DATE_EPOCH}" {} +
}

readonly needs="$(dependencies "${installed}")"

write_archive() {
  local name="tilewright-${version}"
  local tree="${work}/archive/${name}"
  mkdir -p "${work}/archive"
  cp -a "${installed}" "${tree}"
  cp LICENSE "${tree}/LICENSE"
  cat >"${tree}/README" <<TEXT
Tilewright ${version} for Linux on ${architecture}, made on Debian 12. The folder may be moved.

  bin/tilewright help
  cmake -DCMAKE_PREFIX_PATH=THIS_FOLDER ...        find_package(tilewright)
  PKG_CONFIG_PATH=THIS_FOLDER/lib/pkgconfig ...    pkg-config tilewright

It needs these packages: ${needs}
TEXT
  settle "${tree}"
  tar --create --sort=name --owner=0 --group=0 --numeric-owner --directory="${work}/archive" "${name}" |
    gzip --no-name >"${output}/${name}-linux-${architecture}.tar.gz"
}

# The program lies beside its workers, away from /usr/bin, where names as short as theirs are other programs'.
write_debian_package() {
  local tree="${work}/debian"
  mkdir -p "${tree}/usr/bin" "${tree}/usr/lib/tilewright" "${tree}/usr/share/doc/tilewright" "${tree}/DEBIAN"
  cp -a "${installed}/bin" "${tree}/usr/lib/tilewright/bin"
  ln -s ../lib/tilewright/bin/tilewright "${tree}/usr/bin/tilewright"
  cp -a "${installed}/include" "${installed}/share" "${tree}/usr/"
  cp -a "${installed}/lib/." "${tree}/usr/lib/"
  cp LICENSE "${tree}/usr/share/doc/tilewright/copyright"
  gzip --no-name --best "${tree}/usr/share/man/man1/tilewright.1"
  settle "${tree}"
  cat >"${tree}/DEBIAN/control" <<TEXT
Package: tilewright
Version: ${version}
Architecture: ${architecture}
Section: devel
Priority: optional
Maintainer: The Tilewright authors <tilewright@localhost>
Installed-Size: $(du -sk --apparent-size "${tree}/usr" | cut -f1)
Depends: ${needs}
Recommends: libabsl-dev
Suggests: qemu-user
Description: compiler for tensor programs and ONNX models
 Reads programs in TensorIR's text form and ONNX models, proves schedules
 right, searches for fast ones, and writes libraries with a C interface for
 CPUs and GPUs. Holds the program, its workers, headers, libraries, the CMake
 package and pkg-config's file.
TEXT
  printf 'activate-noawait ldconfig\n' >"${tree}/DEBIAN/triggers"
  (cd "${tree}" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"${tree}/DEBIAN/md5sums"
  dpkg-deb --root-owner-group -Zgzip --build "${tree}" "${output}/tilewright_${version}_${architecture}.deb" >/dev/null
}

write_archive
write_debian_package
ls -l "${output}/tilewright-${version}-linux-${architecture}.tar.gz" "${output}/tilewright_${version}_${architecture}.deb"
