#!/bin/bash
# Compares the CUDA text that the rules make of the benchmark's operators at two commits, and the choices behind it.
#
#   tools/compare_cuda_text.sh d8f774e                    # with HEAD: all operators, f16 and s8s8, sm80 and sm90a
#   tools/compare_cuda_text.sh d8f774e main --target=cuda-sm75 --dtype=f32 --shape=GMM:1,512,512,512
#
# Each commit is built in a worktree of its own below --work, which later calls use again; both have to know
# `bench/gpu:compile_kernels --text`. Prints how many texts differ and the first lines of each difference; exit status 1
# when one does. --lines=N prints as many lines of each. Needs neither a GPU nor NVRTC. BAZEL names the command that builds.
set -euo pipefail
cd "$(dirname "$0")/.."

work="${TMPDIR:-/tmp}/compare_cuda_text" target=cuda-sm80,cuda-sm90a dtype=f16,s8s8 ops=all shape="" batch="" lines=12
commits=()
for argument in "$@"; do
  case "$argument" in
    --work=*) work="${argument#*=}" ;;
    --target=*) target="${argument#*=}" ;;
    --dtype=*) dtype="${argument#*=}" ;;
    --ops=*) ops="${argument#*=}" ;;
    --shape=*) shape="${argument#*=}" ops="" ;;
    --batch=*) batch="${argument#*=}" ;;
    --lines=*) lines="${argument#*=}" ;;
    -*) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2 ;;
    *) commits+=("$argument") ;;
  esac
done
[[ ${#commits[@]} -ge 1 && ${#commits[@]} -le 2 ]] || { echo "one or two commits, please; --help says more" >&2; exit 2; }

# texts NAME COMMIT: the texts at a commit, in $work/NAME.text.
texts() {
  local tree="$work/$1" commit
  commit="$(git rev-parse --verify "$2^{commit}")"
  if [[ -e "$tree/.git" ]]; then
    git -C "$tree" checkout --quiet --detach "$commit"
  else
    git worktree add --quiet --detach "$tree" "$commit"
  fi
  echo "$1: $(git log -1 --format='%h %s' "$commit")" >&2
  rm -rf "$work/$1.text"
  mkdir -p "$work/$1.text"
  (
    cd "$tree"
    "${BAZEL:-bazel}" build --noshow_progress //bench/gpu:compile_kernels > "$work/$1.log" 2>&1 || { tail -n 30 "$work/$1.log" >&2; exit 1; }
    bazel-bin/bench/gpu/compile_kernels --target="$target" --dtype="$dtype" --ops="$ops" --shape="$shape" \
      --batch="$batch" --text="$work/$1.text" >&2
    "${BAZEL:-bazel}" shutdown
  )
}

mkdir -p "$work"
texts before "${commits[0]}"
texts after "${commits[1]:-HEAD}"
differ=0 all=0
for file in "$work"/before.text/*.cu; do
  all=$((all + 1))
  cmp --silent "$file" "$work/after.text/$(basename "$file")" && continue
  differ=$((differ + 1))
  echo "== $(basename "$file" .cu)"
  { diff -U0 "$file" "$work/after.text/$(basename "$file")" || true; } | tail -n +3 | head -n "$lines"
done
echo "$differ of $all texts differ"
[[ $differ -eq 0 ]]
