#!/bin/bash
# Installs what building Tilewright needs on Debian 12, or with --check only names what is missing.
# Sources are pinned by the release: every version below is the one Debian 12 carries.
set -euo pipefail

# One name a line, with what it is for.
readonly packages=(
  # Bazel, and the rule sets that WORKSPACE takes from the system.
  bazel-bootstrap
  bazel-platforms
  bazel-rules-java
  bazel-rules-proto
  bazel-skylib
  # Compiler, linker, sanitizer and fuzzing run times, formatter.
  clang-19
  lld-19
  libclang-rt-19-dev
  clang-format-19
  libstdc++-12-dev
  # Libraries.
  pkg-config
  libabsl-dev
  libgtest-dev
  libgmock-dev
  libbenchmark-dev
  llvm-19-dev
  nlohmann-json3-dev
  libsqlite3-dev
  libxgboost-dev
  libjemalloc-dev
  libboost-context-dev
  libonnx-dev
  libprotobuf-dev
  # Code for AArch64 runs in an emulator where the machine is none.
  g++-aarch64-linux-gnu
  qemu-user
  # Tests of ONNX models.
  libonnx-testdata
  # Peers that the benchmarks measure.
  libdnnl-dev
  libopenblas-pthread-dev
  libxnnpack-dev
  libpthreadpool-dev
  # Programs that use an installation.
  cmake
  make
  # For the scripts.
  git
)

is_installed() {
  [[ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

missing=()
for package in "${packages[@]}"; do
  is_installed "${package}" || missing+=("${package}")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

if [[ "${1:-}" == --check ]]; then
  echo "missing: ${missing[*]}"
  echo "install with: apt-get install ${missing[*]}"
  exit 1
fi

as_root=()
if [[ ${EUID} -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "missing: ${missing[*]}; installing them takes root" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "installing: ${missing[*]}" >&2
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
