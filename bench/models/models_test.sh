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
# What is not measured is refused in a sentence.
refused() {
  local sentence="$1" status=0
  shift
  "${models}" "$@" 2> "${TEST_TMPDIR}/err.txt" > "${TEST_TMPDIR}/out.txt" || status=$?
  [ "${status}" = 2 ] && grep -q -- "${sentence}" "${TEST_TMPDIR}/err.txt" || { cat "${TEST_TMPDIR}/err.txt"; exit 1; }
}
refused 'this machine measures f32' --models=resnet50 --dtype=f16
refused 'not "f64"' --target=cuda-sm90a --dtype=f64
refused 'has no instructions for it' --target=arm-neoverse-n1 --dtype=bf16
refused 'models are measured on this machine (host)' --target=x86-haswell
refused 'is not a number in \[1, 1024\]' --target=cuda-sm90a --batch=0
refused 'is of generated models' --onnx="${TEST_TMPDIR}/bert_base.onnx@batch=2,sequence=7" --batch=2
refused 'is for targets that are emulated' --compile
refused 'is for targets that are emulated' --full
refused '--full is for CPUs' --target=cuda-sm90a --full
refused 'is a CPU' --target=arm-neoverse-n1 --compile
# For a GPU that is not there, a file is projected and emulated, and the peer is named.
"${models}" --target=cuda-sm90a --onnx="${TEST_TMPDIR}/bert_base.onnx@batch=2,sequence=7" \
    --json="${TEST_TMPDIR}/gpu.json" > "${TEST_TMPDIR}/gpu.txt"
grep -q 'bert_base batch=2 sequence=7 .* right at the file' "${TEST_TMPDIR}/gpu.txt"
grep -q '^pytorch: not available' "${TEST_TMPDIR}/gpu.txt"
grep -q '"source": "projected"' "${TEST_TMPDIR}/gpu.json"
# Arithmetic is counted at the sizes of the run: twice as much for twice the batch.
flops() { grep -o '"flops": [0-9.e+]*' "$1" | head -1 | cut -d' ' -f2; }
"${models}" --onnx="${TEST_TMPDIR}/bert_base.onnx@batch=4,sequence=7" --seconds=1 --peers= \
    --json="${TEST_TMPDIR}/twice.json" > /dev/null
[ "$(flops "${TEST_TMPDIR}/twice.json")" = "$(awk "BEGIN {printf \"%.1f\", 2 * $(flops "${TEST_TMPDIR}/out.json")}")" ]
