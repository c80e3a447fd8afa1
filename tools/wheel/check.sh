#!/bin/bash
# Builds the wheel, installs it into an empty folder and tests it there: check.sh --installed=PREFIX.
# Tests whose packages the interpreter TILEWRIGHT_PYTHON (python3) does not have are skipped by name.
set -euo pipefail
here="$(cd "$(dirname "$(readlink -f "$0")")" && pwd)"
python="${TILEWRIGHT_PYTHON:-python3}"

for package in nanobind numpy pip; do
  if ! "${python}" -c "import ${package}" 2>/dev/null; then
    echo "SKIPPED wheel: ${python} does not have the package ${package}"
    exit 0
  fi
done
work="$(mktemp -d)"
trap 'rm -rf "${work}"' EXIT
"${here}/build.sh" "$1" --output="${work}/wheels"
"${python}" -m pip install --quiet --no-deps --no-index --target="${work}/site" "${work}"/wheels/*.whl
cp "${here}"/*_test.py "${work}/"  # beside the sources they would find those
cd "${work}"
for test in wheel_test torch_test; do
  echo "=== ${test}"
  env PYTHONPATH="${work}/site${PYTHONPATH:+:${PYTHONPATH}}" TILEWRIGHT_KERNEL_CACHE=off "${python}" "${test}.py"
done
"${work}/site/bin/tilewright" --version
