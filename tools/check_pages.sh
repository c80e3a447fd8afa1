#!/bin/bash
# Looks at the pages of `tune` and `explain`, of programs and models, in a browser: nothing is wider than the window, and no text of a plot is cut off.
#
#   tools/check_pages.sh [PICTURES]     with a folder, pictures of the pages are written there
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

if ! command -v chromium >/dev/null; then
  echo "SKIPPED pages: there is no chromium"
  exit 0
fi
pictures="${1:-}"
work="$(mktemp -d)"
trap 'rm -rf "${work}"' EXIT
bazel build //tools:tilewright 2>/dev/null
program="${PWD}/bazel-bin/tools/tilewright"
cp examples/first_look/matmul.py "${work}/"

(cd "${work}" && "${program}" tune matmul.py --seconds=10 --trials=12 --html=tune.html >/dev/null 2>&1 &&
  "${program}" explain matmul.py --html=explain.html >/dev/null)
"${program}" explain graph/fuzz/fuzz_corpus/convolution.onnx --dim=n=4 --html="${work}/model.html" >/dev/null

readonly browser=(chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="${work}/profile")
failed=0
for page in tune explain model; do
  # The page itself has no scripts; a copy measures it.
  cp "${work}/${page}.html" "${work}/measured.html"
  cat >>"${work}/measured.html" <<'HTML'
<script>
const faults = [];
const wide = document.documentElement.scrollWidth - window.innerWidth;
if (wide > 0) faults.push("the page is wider than the window by " + wide);
for (const text of document.querySelectorAll("svg text")) {
  const inner = text.getBoundingClientRect(), outer = text.ownerSVGElement.getBoundingClientRect();
  const inside = inner.left >= outer.left && inner.right <= outer.right && inner.top >= outer.top && inner.bottom <= outer.bottom;
  if (!inside) faults.push("cut off: " + text.textContent);
}
document.body.textContent = "faults: " + faults.length + " " + faults.join("; ");
</script>
HTML
  found="$(timeout 120 "${browser[@]}" --window-size=1100,1600 --dump-dom "file://${work}/measured.html" 2>/dev/null |
    grep -o 'faults: [^<]*' | tail -n 1)"
  echo "${page}: ${found:-the browser did not show it}"
  [[ "${found}" == "faults: 0 "* ]] || failed=1
  if [[ -n "${pictures}" ]]; then
    mkdir -p "${pictures}"
    timeout 120 "${browser[@]}" --window-size=1100,1500 --screenshot="$(cd "${pictures}" && pwd)/${page}.png" \
      "file://${work}/${page}.html" 2>/dev/null
  fi
done
exit "${failed}"
