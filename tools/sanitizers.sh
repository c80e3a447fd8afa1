#!/bin/bash
# Tests of what reads other people's files, of what interprets and proves programs, and of what runs threads, under the
# sanitizers that concern them; and searches for inputs that break the readers.
#
#   tools/sanitizers.sh [memory] [models] [threads] [search] [memcheck] [BAZEL FLAGS...]     memory, threads by default
#
# memory     addresses and undefined behaviour, in one build (--config=fuzz): readers of programs, targets, databases
#            and launch files, the interpreter, the prover, the run time; 125 files are compiled
# models     the same for ONNX models and schedules; 250 files more, and slower ones
# threads    data races (--config=tsan); 10 files
# search     libFuzzer, FUZZ_SECONDS (60) for each target of `memory`, in its build. Inputs that it learns are kept in
#            ~/.cache/tilewright/fuzz; one that breaks a reader is named, and belongs into the corpus of its target.
# memcheck   the targets of `models` under valgrind, as they are built anyway, with DAMAGED (500) damaged files each
#
# Run on 2026-11-30 on two cores, beside four other builds (load 10 to 16). Compiled already, `memory` took 2 min 10 s
# without //ir/script/..., which took a minute, and `threads` less than 2; from an empty cache, `memory` compiled 5 to 8
# files a minute. Of `models`, model_file_test alone has been run.
# `memcheck` with 3,000 damaged models and 1,500 schedules took eight minutes beside eight other builds: no finding.
# `search` ran two minutes for each target and five for programs: 246,000 targets, 297,000 launch files, 25,000
# databases and 95,000 programs, without a finding.
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

readers=(//ir:ndarray_test //ir:shared_memory_test //ir/arith:analyzer_test //ir/arith:exact_test
  //ir/arith:int_set_test //ir/arith:iter_map_test //ir/interp:robustness_test //ir/interp:script_test
  //ir/script/... //target:target_json_test //target:target_json_fuzz //tools/foreign:launch_file_test
  //tools/foreign:launch_file_fuzz //autoschedule/database:database_fuzz)
models=(//graph/fuzz:onnx_fuzz //graph/onnx:damaged_test //graph/onnx:model_file_test //schedule/script:schedule_fuzz)
threads=(//codegen/runtime/... //codegen/cuda/emulator:fibers_test)
# A fuzz target, and the folder of its corpus.
searches=("//target:target_json_fuzz target/fuzz_corpus"
  "//tools/foreign:launch_file_fuzz tools/foreign/fuzz_corpus"
  "//autoschedule/database:database_fuzz autoschedule/database/fuzz_corpus"
  "//ir/script:parser_fuzz ir/script/corpus")

parts=() flags=()
for argument in "$@"; do
  case "${argument}" in
    memory | models | threads | search | memcheck) parts+=("${argument}") ;;
    *) flags+=("${argument}") ;;
  esac
done
[[ ${#parts[@]} -gt 0 ]] || parts=(memory threads)

# Runs one fuzz target; fails if it found an input that breaks the reader.
search() {
  local target="$1" corpus="$2" program learned
  program="bazel-bin/${target#//}_fuzzer"
  program="${program/:/\/}"
  learned="${HOME}/.cache/tilewright/fuzz/${target##*:}"
  mkdir -p "${learned}"
  echo "=== ${target}, ${FUZZ_SECONDS:-60} s"
  "${program}" -max_total_time="${FUZZ_SECONDS:-60}" -timeout=30 -artifact_prefix="${learned}." -print_final_stats=1 \
    -print_funcs=0 "${learned}" "${corpus}"
}

# Runs a fuzz target under valgrind, on damaged copies of the other files.
memcheck() {
  local target="${1#//}" work
  work="$(mktemp -d)"
  shift
  bazel build -c opt "${flags[@]}" "//${target}" || return 1
  tools/damage_files.py "${work}/files" "${DAMAGED:-500}" "${SEED:-1}" "$@"
  if ! valgrind -q --error-exitcode=9 "bazel-bin/${target/://}" "${work}"/files/* >"${work}/log" 2>&1; then
    grep -B2 -A20 '==' "${work}/log" | head -n 60
    echo "//${target}: the last file of ${work}/log"
    return 1
  fi
  echo "//${target}: ${DAMAGED:-500} damaged files, no finding"
  rm -r "${work}"
}

failed=0
for part in "${parts[@]}"; do
  case "${part}" in
    memory) bazel test --keep_going --config=fuzz "${flags[@]}" -- "${readers[@]}" "${threads[@]}" || failed=1 ;;
    models) bazel test --keep_going --config=fuzz "${flags[@]}" -- "${models[@]}" || failed=1 ;;
    threads) bazel test --keep_going --config=tsan "${flags[@]}" -- "${threads[@]}" || failed=1 ;;
    memcheck)
      memcheck //graph/fuzz:onnx_fuzz graph/fuzz/fuzz_corpus/* || failed=1
      memcheck //schedule/script:schedule_fuzz schedule/script/fuzz_corpus/* examples/schedules/*_schedule.py || failed=1
      ;;
    search)
      programs=("${searches[@]/ */_fuzzer}")
      bazel build --config=fuzz "${flags[@]}" -- "${programs[@]}" || exit 1
      for each in "${searches[@]}"; do
        # shellcheck disable=SC2086
        search ${each} || failed=1
      done
      ;;
  esac
done
exit "${failed}"
