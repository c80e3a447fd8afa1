#!/bin/bash
# Makes the virtual environment of the Python peers, or completes it: ONNX Runtime, OpenVINO, PyTorch, TVM, IREE, XLA.
#
#   bench/peers/setup.sh [PACKAGE GROUP...]      onnxruntime openvino pytorch tvm iree xla; all if none is named.
#                                                On request alone: pytorch_gpu, for models on a GPU; genai, for decoders;
#                                                onnxruntime-aarch64, for models on emulated CPUs (peers/arm)
#
# It is in the folder that TILEWRIGHT_PEERS names, otherwise in ~/.cache/tilewright/peers; some gigabytes with all.
# A group that cannot be installed is reported, and the others are there nevertheless.
set -uo pipefail

readonly folder="${TILEWRIGHT_PEERS:-${XDG_CACHE_HOME:-${HOME}/.cache}/tilewright/peers}"
# The versions that the scripts were written for.
declare -rA packages=(
  [onnxruntime]="onnxruntime==1.32.* onnx"
  [openvino]="openvino==2026.4.*"
  [pytorch]="torch==2.15.*"
  [pytorch_gpu]="torch==2.15.* onnx2torch==1.5.* onnx"
  [genai]="onnxruntime-genai==0.18.* onnx"
  [tvm]="apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.14.post1 psutil cloudpickle xgboost"
  [iree]="iree-base-compiler==3.13.* iree-base-runtime==3.13.*"
  [xla]="jax[cpu]==0.10.*"
  # In a folder of its own, with a Python for that architecture.
  [onnxruntime-aarch64]="onnxruntime==1.32.* numpy"
)

groups=("$@")
[[ ${#groups[@]} -gt 0 ]] || groups=(onnxruntime openvino pytorch tvm iree xla)
for group in "${groups[@]}"; do
  [[ -v "packages[${group}]" ]] || { echo "no group '${group}'; there are: ${!packages[*]}" >&2; exit 2; }
done
[[ -x "${folder}/bin/python3" ]] || python3 -m venv "${folder}" || exit 1
"${folder}/bin/pip" install --quiet numpy ml_dtypes || exit 1
failed=()
for group in "${groups[@]}"; do
  echo "installing ${group}" >&2
  install=("${folder}/bin/pip" install --quiet)
  [[ "${group}" != *-aarch64 ]] || install=("$(dirname "$0")/arm/python_root.sh" "${folder}/aarch64" "${folder}/bin/pip")
  # shellcheck disable=SC2086  # Several packages.
  "${install[@]}" ${packages[${group}]} || failed+=("${group}")
done
if [[ ${#failed[@]} -gt 0 ]]; then
  echo "not installed: ${failed[*]}" >&2
  exit 1
fi
