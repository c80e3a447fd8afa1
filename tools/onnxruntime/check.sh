#!/bin/bash
# Builds ONNX Runtime's provider and tests it: check.sh --installed=PREFIX [MODEL.onnx...].
# Skipped by name where the interpreter TILEWRIGHT_PYTHON (python3) does not have ONNX Runtime, ONNX or NumPy. Models are
# compared as a whole, on inputs of their sizes, 2 where these are symbolic:
#
#   bazel run //bench/models/generator:generate -- --folder=DIR --tiny
set -euo pipefail
here="$(cd "$(dirname "$(readlink -f "$0")")" && pwd)"
python="${TILEWRIGHT_PYTHON:-python3}"

for package in onnxruntime onnx numpy; do
  if ! "${python}" -c "import ${package}" 2>/dev/null; then
    echo "SKIPPED ONNX Runtime's provider: ${python} does not have the package ${package}"
    exit 0
  fi
done
work="$(mktemp -d)"
trap 'rm -rf "${work}"' EXIT
"${here}/build.sh" "$1" --output="${work}"
"${python}" "${here}/provider_test.py" "${work}/libtilewright_onnxruntime.so" "${@:2}"
