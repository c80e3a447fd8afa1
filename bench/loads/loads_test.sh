#!/bin/bash
# Small models through the benchmark of loads: measured twice, reported, missing peers named.
set -euo pipefail
loads="$1"
export TILEWRIGHT_PEERS="${TEST_TMPDIR}/nothing"
out="${TEST_TMPDIR}/out"
"${loads}" --tiny --models=lstm_unrolled,dense_unrolled --peers=onnxruntime --json="${out}.json" \
    --html="${out}.html" > "${out}.txt"
grep -q 'lstm_unrolled *tilewright' "${out}.txt"
grep -q 'dense_unrolled *onnxruntime *not installed' "${out}.txt"
for key in first second cpu_seconds peak_mib kernels phases; do grep -q "\"${key}\"" "${out}.json"; done
grep -q '"graph passes/FuseKernels"' "${out}.json"
grep -q '<h2>dense_unrolled</h2>' "${out}.html"
if "${loads}" --models=nothing 2> "${out}.err"; then exit 1; fi
grep -q 'there is no model "nothing"' "${out}.err"
if "${loads}" --onnx="${TEST_TMPDIR}/nothing.onnx" --peers= > "${out}.txt" 2> "${out}.err"; then exit 1; fi
