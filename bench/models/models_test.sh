#!/bin/bash
# A small model through the benchmark: checked, reported, and missing peers named.
set -euo pipefail
models="$1" generate="$2"
export TILEWRIGHT_KERNEL_CACHE="${TEST_TMPDIR}/kernels" TILEWRIGHT_PEERS="${TEST_TMPDIR}/nothing"
export XDG_CACHE_HOME="${TEST_TMPDIR}"
"${generate}" --tiny --symbolic --models=bert_base --folder="${TEST_TMPDIR}" > /dev/null
"${models}" --onnx="${TEST_TMPDIR}/bert_base.onnx@batch=2,sequence=7" --seconds=1 --peers=onnxruntime \
    --json="${TEST_TMPDIR}/out.json" --html="${TEST_TMPDIR}/out.html" > "${TEST_TMPDIR}/out.txt"
grep -q 'bert_base batch=2 sequence=7' "${TEST_TMPDIR}/out.txt"
grep -q 'onnxruntime *not installed' "${TEST_TMPDIR}/out.txt"
grep -q '"model": "bert_base"' "${TEST_TMPDIR}/out.json"
grep -q '"median_ms"' "${TEST_TMPDIR}/out.json"
grep -q '"profile"' "${TEST_TMPDIR}/out.json"
for key in dims kernels load_ms peak_mib opt_level flops percent_of_peak checked; do
  grep -q "\"${key}\"" "${TEST_TMPDIR}/out.json"
done
grep -q '<svg' "${TEST_TMPDIR}/out.html"
if "${models}" --onnx="${TEST_TMPDIR}/bert_base.onnx" --seconds=1 --peers= 2> "${TEST_TMPDIR}/err.txt"; then exit 1; fi
grep -q 'dimension batch needs a number' "${TEST_TMPDIR}/err.txt"
if "${models}" --models=nothing 2> "${TEST_TMPDIR}/err.txt"; then exit 1; fi
grep -q 'there is no model "nothing"' "${TEST_TMPDIR}/err.txt"
# Arithmetic is counted at the sizes of the run: twice as much for twice the batch.
flops() { grep -o '"flops": [0-9.e+]*' "$1" | head -1 | cut -d' ' -f2; }
"${models}" --onnx="${TEST_TMPDIR}/bert_base.onnx@batch=4,sequence=7" --seconds=1 --peers= \
    --json="${TEST_TMPDIR}/twice.json" > /dev/null
[ "$(flops "${TEST_TMPDIR}/twice.json")" = "$(awk "BEGIN {printf \"%.1f\", 2 * $(flops "${TEST_TMPDIR}/out.json")}")" ]
