#!/bin/bash
# Tests of what reads other people's files, and of what runs threads, under the sanitizers that concern them. It compiles
# these parts once for each sanitizer the first time, and takes them from the cache after that. Not measured yet.
#
#   tools/sanitizers.sh [asan] [ubsan] [tsan] [BAZEL FLAGS...]     all three if none is named
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

readers=(//ir/script/... //schedule/script:schedule_fuzz //target/... //tools/foreign:launch_file_fuzz
  //autoschedule/database:database_fuzz //graph/fuzz:onnx_fuzz //graph/onnx:model_file_test
  //graph/onnx:damaged_test)
threads=(//codegen/runtime/... //codegen/cuda/emulator/...)

configurations=() flags=()
for argument in "$@"; do
  case "${argument}" in
    asan | ubsan | tsan) configurations+=("${argument}") ;;
    *) flags+=("${argument}") ;;
  esac
done
[[ ${#configurations[@]} -gt 0 ]] || configurations=(asan ubsan tsan)

failed=0
for configuration in "${configurations[@]}"; do
  if [[ "${configuration}" == tsan ]]; then targets=("${threads[@]}"); else targets=("${readers[@]}" //codegen/runtime/...); fi
  bazel test --keep_going --config="${configuration}" "${flags[@]}" -- "${targets[@]}" || failed=1
done
exit "${failed}"
