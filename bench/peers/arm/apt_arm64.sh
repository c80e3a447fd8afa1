# Debian's packages for arm64, unpacked and not installed; nothing of the system changes, and no root is needed. To be
# sourced.

# unpack_arm64 STATE ROOT PACKAGE...
#
# apt keeps its lists in the folder STATE. The packages' files lie in ROOT afterwards.
unpack_arm64() {
  local state="$1" root="$2" package
  shift 2
  local apt=(apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User="$(id -un)"
    -o Dir::State::Lists="${state}/apt/lists" -o Dir::State::status="${state}/apt/status" -o Dir::Cache="${state}/apt"
    -o Dir::Etc::sourcelist="${state}/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null)
  mkdir -p "${state}/apt/lists/partial" "${state}/apt/archives/partial" "${state}/packages" "${root}"
  : >"${state}/apt/status"
  echo "deb ${TILEWRIGHT_DEBIAN:-http://deb.debian.org/debian} bookworm main" >"${state}/apt/sources.list"
  "${apt[@]}" update >&2
  (cd "${state}/packages" && "${apt[@]}" download "$@" >&2)
  for package in "${state}"/packages/*.deb; do dpkg-deb --extract "${package}" "${root}"; done
}
