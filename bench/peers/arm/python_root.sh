#!/bin/bash
# Makes a folder with Python for AArch64 and packages of it, which run under an emulator of user programs:
#
#   bench/peers/arm/python_root.sh ROOT PIP REQUIREMENT...       # bench/peers/setup.sh calls it
#   qemu-aarch64 -L ROOT ROOT/usr/bin/python3 ...
#
# PIP is the pip of any machine; it downloads the packages' wheels. Nothing is installed into the system.
set -euo pipefail
here="$(dirname "$(readlink -f "$0")")"
# shellcheck source=bench/peers/arm/apt_arm64.sh
source "${here}/apt_arm64.sh"

root="$1" pip="$2"
shift 2
readonly python=3.11  # Debian's
readonly packages=(libc6 libgcc-s1 libstdc++6 zlib1g libexpat1 libssl3 libffi8 libbz2-1.0 liblzma5
  "libpython${python}-minimal" "libpython${python}-stdlib" "python${python}-minimal")

state="$(mktemp -d)"
trap 'rm -r "${state}"' EXIT
rm -rf "${root}"
unpack_arm64 "${state}" "${root}" "${packages[@]}"
platforms=()
for version in 2_17 2_24 2_26 2_27 2_28 2_31 2_34 2_35; do platforms+=(--platform "manylinux_${version}_aarch64"); done
"${pip}" install --quiet --disable-pip-version-check --target "${root}/usr/lib/python3/dist-packages" \
  "${platforms[@]}" --platform manylinux2014_aarch64 --python-version "${python}" --only-binary=:all: "$@"

# A processor as Linux describes it. An emulator of user programs shows that of the machine it runs on, by which libraries
# that ask for the properties of an ARM core fail. The emulator looks for every file in the root first. Features of
# instructions are not read here: the emulator hands them to the program.
cpu="${root}/sys/devices/system/cpu"
mkdir -p "${root}/proc" "${cpu}/cpu0/topology"
printf '%s\n' 'processor : 0' 'BogoMIPS : 50.00' 'Features : fp asimd' 'CPU implementer : 0x41' 'CPU architecture: 8' \
  'CPU variant : 0x3' 'CPU part : 0xd0c' 'CPU revision : 1' '' | sed 's/ : /\t: /' >"${root}/proc/cpuinfo"
for file in possible present online kernel_max cpu0/topology/{physical_package_id,core_id,cluster_cpus_list}; do
  echo 0 >"${cpu}/${file}"
done
# Last: where it is there, all is.
ln -s "python${python}" "${root}/usr/bin/python3"
