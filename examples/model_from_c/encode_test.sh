#!/bin/bash
# One library of a model with symbolic extents gives for each size what `tilewright run` computes without optimizations.
set -euo pipefail
encode="$1" tilewright="$2" model="$3"
export TILEWRIGHT_KERNEL_CACHE="${TEST_TMPDIR}/kernels"
for size in "1 16" "1 128" "8 25"; do
  read -r batch length <<<"${size}"
  folder="${TEST_TMPDIR}/${batch}x${length}"
  mkdir -p "${folder}/in" "${folder}/out"
  "${encode}" --write-inputs "${folder}/in" "${batch}" "${length}"
  "${tilewright}" run "${model}" --opt-level=0 --inputs="${folder}/in" --outputs="${folder}/out"
  "${encode}" "${folder}/out" "${batch}" "${length}"
done
# The model has 512 positions.
if "${encode}" "${folder}/out" 1 513 2>"${TEST_TMPDIR}/refusal"; then
  echo "a length that the model does not take was not noticed" >&2
  exit 1
fi
grep "the model takes no batch of 1 and length of 513" "${TEST_TMPDIR}/refusal"
