#!/bin/bash
# Everything that a GPU is asked in ten minutes: is what runs there right, and how fast is it?
#
#   slot.sh BIN OUT [SECONDS]              on a machine with a GPU: checks, times of operators and of whole models
#   slot.sh --emulated BIN OUT [SECONDS]   the same programs on any machine: reduced shapes in the emulator, times projected
#
# BIN holds the programs (make_bundle.sh): operators, models, compile_models, slot_page.py, and for a GPU gpu_check with
# its cases. Each step is a process with a limit, the most valuable first; one that fails or is too slow ends alone. OUT
# receives NAME.json and NAME.log of each step, steps.jsonl, and page.md, which is made of these files alone.
#
# Exit status: 0 all steps are done; 1 one failed; 2 nothing was started, since a program is missing.
set -u
emulated=
if [[ "${1:-}" == --emulated ]]; then
  emulated=1
  shift
fi
if [[ $# -lt 2 ]]; then
  sed -n '2,11p' "$0" >&2
  exit 2
fi
bin="$(cd "$1" 2>/dev/null && pwd)" || { echo "slot.sh: there is no folder $1" >&2; exit 2; }
mkdir -p "$2"
out="$(cd "$2" && pwd)"
seconds="${3:-540}"

needed=(operators models compile_models slot_page.py)
if [[ -z "${emulated}" ]]; then needed+=(gpu_check cases); fi
for name in "${needed[@]}"; do
  [[ -e "${bin}/${name}" ]] || { echo "slot.sh: ${bin} lacks ${name}: the bundle is not whole" >&2; exit 2; }
done
if [[ -z "${emulated}" ]] && ! nvidia-smi >/dev/null 2>&1; then
  echo "slot.sh: this machine has no GPU: --emulated runs the part that needs none" >&2
  exit 2
fi

export LD_LIBRARY_PATH="${bin}/lib${LD_LIBRARY_PATH:+:${LD_LIBRARY_PATH}}"
start="${SECONDS}"
failed=0
: >"${out}/steps.jsonl"
# step NAME LIMIT COMMAND...: what it prints goes to NAME.log; no step starts after the end.
step() {
  local name="$1" limit="$2" begin="${SECONDS}" status
  shift 2
  local left=$((seconds - (SECONDS - start)))
  if ((left < 5)); then
    printf '{"step": "%s", "status": "not started: no time left", "seconds": 0}\n' "${name}" >>"${out}/steps.jsonl"
    failed=1
    return
  fi
  ((limit > left)) && limit="${left}"
  timeout -k 5 "${limit}" "$@" >"${out}/${name}.log" 2>&1
  status=$?
  local text="done"
  if ((status == 124 || status == 137)); then text="ended after ${limit} s"; fi
  if ((status != 0)); then failed=1; fi
  if ((status != 0 && status != 124 && status != 137)); then text="exit status ${status}"; fi
  printf '{"step": "%s", "status": "%s", "seconds": %d}\n' "${name}" "${text}" $((SECONDS - begin)) >>"${out}/steps.jsonl"
}

# A share of the time in hundredths.
share() { echo $((seconds * $1 / 100 > 5 ? seconds * $1 / 100 : 5)); }

products="GMM:1,1024,1024,1024,GMM:1,4096,4096,4096,GMM:16,1024,1024,1024,GMM:1,16,14336,4096"
windows="C2D:1,14,14,256,256,3,1,1,C2D:16,28,28,128,512,1,1,0,C2D:16,7,7,512,512,3,1,1,DEP:16,14,14,512,3,1,1"
target=(--target=cuda-sm90a)
if [[ -n "${emulated}" ]]; then
  step kernels "$(share 30)" "${bin}/compile_models" "${target[@]}" --models=mobilenet_v2 --dtype=f16 --tiny --most=4 \
    --json="${out}/kernels.json"
  step models "$(share 40)" "${bin}/models" "${target[@]}" --models=mobilenet_v2 --dtype=f16 --tiny \
    --json="${out}/models.json"
  step operators "$(share 30)" "${bin}/operators" "${target[@]}" --shape=GMM:1,64,64,64,C2D:1,7,7,16,16,3,1,1 \
    --dtype=f16h --notune --seconds=1 --json="${out}/operators.json"
else
  nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,power.draw,power.limit,temperature.gpu \
    --format=csv >"${out}/device.csv" 2>&1
  step cases "$(share 16)" bash -c "cd '${bin}' && ./gpu_check cases $(share 14) >'${out}/cases.jsonl'"
  step models "$(share 45)" "${bin}/models" "${target[@]}" --batch=1,16 --dtype=f16 --seconds=6 \
    --json="${out}/models.json"
  step operators "$(share 30)" "${bin}/operators" "${target[@]}" --shape="${products},${windows}" --dtype=f16h --notune \
    --seconds=2 --json="${out}/operators.json"
  step kernels "$(share 10)" "${bin}/compile_models" "${target[@]}" --models=resnet50 --dtype=f16 \
    --json="${out}/kernels.json"
fi
"${bin}/slot_page.py" "${out}" >"${out}/page.md" || failed=1
cat "${out}/page.md"
exit "${failed}"
