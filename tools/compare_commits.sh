#!/bin/bash
# Compares the speed of two commits side by side on this machine.
#
#   tools/compare_commits.sh 20ac9f4                        # with HEAD: code, candidates a second, untuned operators
#   tools/compare_commits.sh 20ac9f4 main --dtype=f32 --shape=GMM:1,512,512,512 --parts=operators
#   tools/compare_commits.sh 20ac9f4 HEAD --parts=tuned --tune_seconds=20 --ops=GMM,C2D
#
# Each commit is built in a worktree of its own below --work, which later calls use again. Parts:
#   code       machine code of the default rules: what is equal need not be measured (the same on a busy machine)
#   search     candidates a second, by the CPU time of one thread
#   operators  the benchmark without tuning, only the shapes whose code differs; --all measures every shape
#   tuned      the benchmark with tuning, from an empty database
# Measurements alternate between the commits for --rounds rounds; the report has medians, spread, the geometric mean of
# the ratios and the worst shape. A ratio below 1 means that AFTER is slower. BAZEL names the command that builds.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
  exit 2
}

commits=() work="${TMPDIR:-/tmp}/compare_commits" parts=code,search,operators
ops=all shape="" dtype=f32,bf16,int8 seconds=1 tune_seconds=20 rounds=3 all=""
for argument in "$@"; do
  case "$argument" in
    --work=*) work="${argument#*=}" ;;
    --parts=*) parts="${argument#*=}" ;;
    --ops=*) ops="${argument#*=}" ;;
    --shape=*) shape="${argument#*=}" ops="" ;;
    --dtype=*) dtype="${argument#*=}" ;;
    --seconds=*) seconds="${argument#*=}" ;;
    --tune_seconds=*) tune_seconds="${argument#*=}" ;;
    --rounds=*) rounds="${argument#*=}" ;;
    --all) all=--all ;;
    -*) usage ;;
    *) commits+=("$argument") ;;
  esac
done
[[ ${#commits[@]} -ge 1 && ${#commits[@]} -le 2 ]] || usage
case ",$parts," in *[^a-z,]*) usage ;; esac
for part in ${parts//,/ }; do
  case "$part" in code | search | operators | tuned) ;; *) echo "there is no part '$part'" >&2; usage ;; esac
done
before="$(git rev-parse --verify "${commits[0]}^{commit}")"
after="$(git rev-parse --verify "${commits[1]:-HEAD}^{commit}")"

# build NAME COMMIT: binaries operators, tilewright and search_benchmark as links in $work/NAME.bin.
build() {
  local tree="$work/$1" bin="$work/$1.bin"
  if [[ -e "$tree/.git" ]]; then
    git -C "$tree" checkout --quiet --detach "$2"
  else
    git worktree add --quiet --detach "$tree" "$2"
  fi
  echo "building $1 ($(git log -1 --format='%h %s' "$2"))" >&2
  (
    cd "$tree"
    # Benchmarks moved between folders: the name finds them.
    local benchmark operators
    benchmark="$("${BAZEL:-bazel}" query --noshow_progress 'attr(name, "^search_benchmark$", //autoschedule/...)' 2> "$work/$1.log")"
    operators="$("${BAZEL:-bazel}" query --noshow_progress 'attr(name, "^operators$", kind(cc_binary, //bench/...))' 2>> "$work/$1.log")"
    if ! "${BAZEL:-bazel}" build --noshow_progress "$operators" //tools:tilewright "$benchmark" >> "$work/$1.log" 2>&1; then
      tail -n 30 "$work/$1.log" >&2
      exit 1
    fi
    mkdir -p "$bin"
    for label in "$operators" //tools:tilewright "$benchmark"; do
      ln -sfn "$(realpath "bazel-bin/$(tr : / <<< "${label#//}")")" "$bin/${label##*:}"
    done
    "${BAZEL:-bazel}" shutdown
  )
}

mkdir -p "$work"
build before "$before"
build after "$after"
rm -rf "$work/results"
mkdir -p "$work/results/programs"
"$work/after.bin/operators" --ops="$ops" --shape="$shape" --dtype="$dtype" --programs="$work/results/programs"
exec python3 tools/compare_commits.py --work="$work" --parts="$parts" --seconds="$seconds" \
  --tune_seconds="$tune_seconds" --rounds="$rounds" $all
