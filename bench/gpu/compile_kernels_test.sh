#!/bin/bash
# Small and odd shapes of every operator compile for GPUs without spills; skipped where NVRTC is not installed.
set -uo pipefail
program="$1"
shapes="GMM:1,37,53,71,GMMt:2,64,96,80,C1D:1,31,24,40,3,2,1,C2D:1,13,11,16,24,3,1,1,C3D:1,5,6,7,8,16,3,1,1"
shapes+=",DEP:1,13,11,19,3,1,1,DIL:1,15,13,16,24,3,1,1,2,GRP:1,9,7,24,40,3,2,1,4,T2D:1,5,7,24,16,4,2,1"
shapes+=",CBR:1,9,11,16,24,3,1,1,TBG:1,33,3,24,SFM:37,123,NRM:3,257,LN:19,301,GELU:13,77"
if ! "${program}" --shape="GMM:1,8,8,8" >/dev/null 2>"${TEST_TMPDIR}/error"; then
  cat "${TEST_TMPDIR}/error"
  grep -q 'NVRTC is not installed' "${TEST_TMPDIR}/error" && exit 0
  exit 1
fi
"${program}" --shape="${shapes}" --dtype=f16,s8s8 || exit 1
# Kernels that spill at first: one with its loops over addresses unrolled, one with as few registers as let most threads run.
"${program}" --target=cuda-sm80 --shape="GRP:16,7,7,512,512,3,1,1,4" --dtype=f16 || exit 1
"${program}" --target=cuda-sm90a --shape="DEP:1,112,112,32,3,1,1" --dtype=f32 || exit 1
if "${program}" --shape="GMM:1,8" 2>"${TEST_TMPDIR}/error"; then
  echo "a shape without its numbers is compiled"
  exit 1
fi
grep -q 'GMM:1,8 has 2 numbers' "${TEST_TMPDIR}/error"
