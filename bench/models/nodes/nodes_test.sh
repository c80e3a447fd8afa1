#!/bin/bash
# A handful of small cases through the benchmark: checked against our opt_level 0, reported, and missing peers named.
set -euo pipefail
nodes="$1"
export TILEWRIGHT_KERNEL_CACHE="${TEST_TMPDIR}/kernels" TILEWRIGHT_PEERS="${TEST_TMPDIR}/nothing"
export XDG_CACHE_HOME="${TEST_TMPDIR}"
cat > "${TEST_TMPDIR}/cases.txt" <<'CASES'
# A comment.
Conv x=n2,3,9,9 w=4,3,3,3 w=4 pads=1,1,1,1
Softmax x=n5,7
TopK x=n4,20 w=i64:1=3 -> y i
Loop w=i64:()=3 w=bool:()=1 x=n2,8 body={i c s -> d t | Identity c -> d | Tanh s -> t}
Gather w=10,4 x=i64:6~0..9
CASES
"${nodes}" --cases="${TEST_TMPDIR}/cases.txt" --seconds=0.1 --sets=2 --symbolic --json="${TEST_TMPDIR}/out.json" \
    --markdown="${TEST_TMPDIR}/out.md" --remark='A test.' > "${TEST_TMPDIR}/out.txt" 2> "${TEST_TMPDIR}/err.txt" ||
  { cat "${TEST_TMPDIR}/err.txt"; exit 1; }
grep -q '4 of 4: Loop' "${TEST_TMPDIR}/err.txt"  # Gather has no batch
grep -q 'constant extents over a symbolic batch: geometric mean .* over 4 cases' "${TEST_TMPDIR}/out.txt"
grep -q 'onnxruntime: not installed.*: 4 cases' "${TEST_TMPDIR}/out.txt"
grep -q '"impl": "tilewright-symbolic"' "${TEST_TMPDIR}/out.json"
grep -A12 '"impl": "tilewright-symbolic"' "${TEST_TMPDIR}/out.json" | tr -d ' \n' | grep -q '"symbolic":{"n":2}'
grep -q 'symbolic ms  case' "${TEST_TMPDIR}/out.txt"
grep -q '"median_ms"' "${TEST_TMPDIR}/out.json"
grep -q 'A test.' "${TEST_TMPDIR}/out.md"
# The table of the repository, filtered.
"${nodes}" --filter='^Trilu x=n8' --seconds=0.1 --peers= > "${TEST_TMPDIR}/out.txt" 2> "${TEST_TMPDIR}/err.txt"
grep -q '1 of 1: Trilu' "${TEST_TMPDIR}/err.txt"
"${nodes}" --filter='^Trilu x=n8' --files="${TEST_TMPDIR}/files" > "${TEST_TMPDIR}/out.txt"
grep -q '0.onnx  Trilu' "${TEST_TMPDIR}/out.txt"
[ -s "${TEST_TMPDIR}/files/0.onnx" ]
if "${nodes}" --filter='nothing like it' 2> "${TEST_TMPDIR}/err.txt"; then exit 1; fi
grep -q 'no case is left' "${TEST_TMPDIR}/err.txt"
if "${nodes}" --filter='[' 2> "${TEST_TMPDIR}/err.txt"; then exit 1; fi
grep -q 'is not a regular expression' "${TEST_TMPDIR}/err.txt"
