#!/bin/bash
# The half of the slot script that needs no GPU: its steps are done, its page is made of what they left, and a bundle
# that lacks a program is refused before anything starts.
set -euo pipefail
slot="$1" page="$2" operators="$3" models="$4" compile_models="$5"
bin="${TEST_TMPDIR}/bin" out="${TEST_TMPDIR}/out"
export TILEWRIGHT_KERNEL_CACHE="${TEST_TMPDIR}/kernels" XDG_CACHE_HOME="${TEST_TMPDIR}"
mkdir -p "${bin}"
cp "${page}" "${bin}/slot_page.py"
for program in "${operators}" "${models}"; do
  name="$(basename "${program}")"
  printf '#!/bin/bash\nexec "%s" "$@"\n' "${PWD}/${program}" >"${bin}/${name}"
  chmod +x "${bin}/${name}"
done
if "${slot}" --emulated "${bin}" "${out}" 2>"${TEST_TMPDIR}/error"; then
  echo "a bundle without compile_models is taken"
  exit 1
fi
grep -q 'lacks compile_models' "${TEST_TMPDIR}/error"
[[ ! -e "${out}/steps.jsonl" ]]
printf '#!/bin/bash\nexec "%s" "$@"\n' "${PWD}/${compile_models}" >"${bin}/compile_models"
chmod +x "${bin}/compile_models"
"${slot}" --emulated "${bin}" "${out}" 800 >"${TEST_TMPDIR}/page" || { cat "${out}"/*.log; exit 1; }
cmp "${TEST_TMPDIR}/page" "${out}/page.md"
[[ "$(grep -c '"status": "done"' "${out}/steps.jsonl")" == 3 ]]
grep -q 'nothing was measured' "${out}/page.md"
grep -q '| mobilenet_v2 | 1 | f16 |.*| right |' "${out}/page.md"
grep -q '| GMM:1,64,64,64 | f16h | tilewright | .* | projected |' "${out}/page.md"
grep -q '^pytorch: not available' "${out}/page.md"
# A step that fails is a line of the page and the script's exit status; the others run.
printf '#!/bin/bash\nexit 3\n' >"${bin}/models"
if "${slot}" --emulated "${bin}" "${out}" 800 >/dev/null; then
  echo "a failed step is not told"
  exit 1
fi
grep -q '| models | exit status 3 |' "${out}/page.md"
grep -q '| operators | done |' "${out}/page.md"
