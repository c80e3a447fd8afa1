#!/bin/bash
# The compiled model gives what `tilewright run` computes without optimizations.
set -euo pipefail
classify="$1" tilewright="$2" model="$3"
export TILEWRIGHT_KERNEL_CACHE="${TEST_TMPDIR}/kernels"
mkdir -p "${TEST_TMPDIR}/in"
"${classify}" --write-input "${TEST_TMPDIR}/in/input.npy"
"${tilewright}" run "${model}" --opt-level=0 --inputs="${TEST_TMPDIR}/in" --outputs="${TEST_TMPDIR}/out"
"${classify}" "${TEST_TMPDIR}/in/input.npy" "${TEST_TMPDIR}/out/output.npy"
