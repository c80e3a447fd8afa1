#!/bin/bash
# Runs the benchmark program as a user does: exit status, where output goes, and what the files hold.
set -u
program="$1"
failures=0

# expect STATUS TEXT ARGUMENTS...: TEXT must be in the output.
expect() {
  local status="$1" text="$2"
  shift 2
  local output
  output="$("$program" "$@" 2>&1)"
  local actual=$?
  if [[ $actual -ne $status || "$output" != *"$text"* ]]; then
    echo "FAILED: $*: status $actual, expected $status and '$text'; output:"
    echo "$output"
    failures=$((failures + 1))
  fi
}

expect 2 "unknown operator 'FOO'" --ops=FOO
expect 2 "GMM takes 4: B,M,N,K" --shape=GMM:1,2
expect 2 "unknown data type 'f8'" --dtype=f8
expect 2 "unexpected argument 'GMM'" GMM
expect 2 "unknown flag '--nothing=1'" --nothing=1
expect 1 "--ops (Operators" --help
expect 2 "this process may use" --threads=100000
expect 1 "/nonexistent/results.json cannot be written" --shape=GMM:1,8,8,8 --seconds=0 --json=/nonexistent/results.json
expect 1 "/nonexistent/GMM_1_8_8_8_f32.py cannot be written" --shape=GMM:1,8,8,8 --programs=/nonexistent
expect 0 "" --shape=GMM:1,8,8,8 --dtype=f32,int8 --programs="$TEST_TMPDIR"
grep -q 'A: T.Buffer((1, 8, 8), "uint8")' "$TEST_TMPDIR/GMM_1_8_8_8_int8.py" || {
  echo "FAILED: the program of GMM in int8 is not as expected"
  failures=$((failures + 1))
}
expect 2 "no measured operator has a number S" --symbolic=S --shape=GMM:1,8,8,8
expect 2 "CI is constant in every program" --symbolic=CI --shape=C2D:1,5,6,7,8,3,1,1
expect 0 "SFM has no symbolic number" --symbolic=M,N --notune --seconds=0 --peers=openblas --shape=SFM:5,7,GMM:1,8,8,8
expect 0 "times the time of constant extents" --symbolic=B,M,N,K,H,S,heads,rows,cols --notune --seconds=0 --peers=openblas \
  --shape=GMM:1,8,8,8,GMM:2,9,7,5,C2D:1,5,6,7,8,3,1,1,C2D:1,9,6,7,8,3,1,1,TBG:1,5,2,8,SFM:5,7,LN:5,7,CBR:1,5,6,7,8,3,1,1,T2D:1,4,4,8,8,4,2,1
expect 0 "times the time of constant extents" --symbolic=M --seconds=4 --peers=openblas --shape=GMM:1,5,8,8,GMM:1,20,8,8
expect 0 "this program was built without this peer" --shape=GMM:1,8,8,8 --seconds=0 --peers=nobody
expect 0 "GMM 1,17,19,23 f32" --shape=GMM:1,17,19,23 --shape=C2D:1,5,6,7,8,3,1,1 --seconds=0 \
  --json="$TEST_TMPDIR/results.json" --html="$TEST_TMPDIR/results.html"
expect 0 "LN 5,37 f32" --seconds=0 --peers=tilewright --shape=DEP:1,7,6,19,3,2,1 --shape=GRP:1,5,5,12,8,3,1,1,4 \
  --shape=T2D:1,3,4,5,6,4,2,1 --shape=CBR:1,6,5,4,9,3,1,1 --shape=TBG:2,7,3,5 --shape=SFM:5,37 --shape=NRM:5,37 \
  --shape=LN:5,37 --shape=DIL:1,9,8,3,5,3,1,2,2 --shape=C3D:1,3,4,5,3,7,3,1,1 --shape=GMM:1,1,1,1
expect 0 "DEP 1,7,6,19,3,2,1 s8s8q" --seconds=0 --notune --peers=onednn,xnnpack --dtype=int8q,s8s8q --shape=GMM:2,17,19,24 \
  --shape=GMMt:1,17,19,23 --shape=C2D:1,5,6,7,8,3,1,1 --shape=DEP:1,7,6,19,3,2,1 --shape=GRP:1,5,5,12,8,3,1,1,4 \
  --shape=T2D:1,3,4,5,6,4,2,1
expect 0 "LN 5,37 s8s8q" --seconds=0 --notune --peers=onednn --dtype=bf16,int8,s8s8,int8q,s8s8q \
  --shape=CBR:1,6,5,4,9,3,1,1 --shape=SFM:5,37 --shape=NRM:5,37 --shape=LN:5,37
expect 0 "GELU 5,37 e4m3" --seconds=0 --notune --peers= --dtype=f32,f16,f16f32,f16h,bf16h,e4m3 --json="$TEST_TMPDIR/f16.json" \
  --shape=GMM:2,17,19,24 --shape=C2D:1,5,6,7,8,3,1,1 --shape=DEP:1,7,6,19,3,2,1 --shape=CBR:1,6,5,4,9,3,1,1 \
  --shape=T2D:1,3,4,5,6,4,2,1 --shape=TBG:2,7,3,5 --shape=SFM:5,37 --shape=NRM:5,37 --shape=LN:5,37 --shape=GELU:5,37
if grep '"error"' "$TEST_TMPDIR/f16.json"; then
  echo "FAILED: something has no result in f16, f16f32, f16h, bf16h or e4m3"
  failures=$((failures + 1))
fi
expect 0 "ATT 2,4,19,8,1,0,2,0 f16h" --seconds=0 --notune --peers= --dtype=f32,bf16,f16,f16f32,f16h,bf16h,e4m3 \
  --shape=ATT:1,2,37,20,0,ATT:1,2,16,8,1,ATT:1,2,33,16,1,5,1,7,ATT:2,4,19,8,1,0,2,0 --json="$TEST_TMPDIR/attention.json"
grep '"error"' "$TEST_TMPDIR/attention.json" && { echo "FAILED: an attention has no result"; failures=$((failures + 1)); }
expect 0 "ATT 1,4,24,8,0,1,2 f32" --seconds=0 --notune --peers= --shape=ATT:1,4,24,8,0 --queries=1 --key_heads=2
expect 2 "which is not measured" --queries=1 --shape=GMM:1,8,8,8
expect 2 "3 key heads do not divide the heads" --key_heads=3 --shape=ATT:1,4,24,8,0
expect 2 "window is constant in every program" --symbolic=window --shape=ATT:1,4,24,8,0
expect 0 "times the time of constant extents" --symbolic=S,B --notune --seconds=0 --peers= \
  --shape=ATT:1,2,24,8,0,ATT:2,2,17,8,0,ATT:1,2,24,8,1,5
expect 0 "ATT is measured in floating-point types, not in int8" --seconds=0 --notune --peers= --dtype=int8 \
  --shape=ATT:1,2,8,8,0
expect 0 "XNNPACK has no attention" --seconds=0 --notune --peers=onednn,openblas,xnnpack --shape=ATT:1,2,8,8,0
expect 0 "oneDNN has no GMM in f16" --seconds=0 --notune --peers=onednn --dtype=f16 --shape=GMM:1,8,8,8
expect 0 "oneDNN has no GMM in f16h" --seconds=0 --notune --peers=onednn --dtype=f16h --shape=GMM:1,8,8,8
expect 0 "oneDNN has no LN in int8" --seconds=0 --notune --peers=onednn --dtype=int8 --shape=LN:5,37
expect 0 "XNNPACK has no bf16" --seconds=0 --notune --peers=xnnpack --dtype=bf16 --shape=GMM:1,8,8,8
expect 0 "XNNPACK has no norms of rows" --seconds=0 --notune --peers=xnnpack --shape=LN:5,37
# A CPU without VNNI: sums of two products saturate in oneDNN, which is measured where it is exact.
TILEWRIGHT_HOST_FEATURES=avx2 expect 0 "weights of 7 bits, -64 to 63" --seconds=0 --notune --peers=onednn,xnnpack \
  --dtype=int8,s8s8,int8q,s8s8q --shape=GMM:1,17,19,64 --shape=C2D:1,5,6,16,16,3,1,1 --json="$TEST_TMPDIR/avx2.json"
for text in '"operands": "weights of 7 bits' '"not_compared": "takes features that TILEWRIGHT_HOST_FEATURES=avx2 hides"'; do
  grep -qF "$text" "$TEST_TMPDIR/avx2.json" || { echo "FAILED: no $text in the JSON"; failures=$((failures + 1)); }
done
TILEWRIGHT_HOST_FEATURES=vax expect 2 "TILEWRIGHT_HOST_FEATURES=vax: unknown; known are " --shape=GMM:1,8,8,8
TILEWRIGHT_PEERS=/nonexistent expect 0 "not installed: there is no /nonexistent/bin/python3" --seconds=0 --notune \
  --peers=onnxruntime,openvino,pytorch,tvm,iree,xla --shape=GMM:1,8,8,8
# Code for another architecture is emulated where that is installed.
if ! "$program" --target=arm-neoverse-n1 --shape=GMM:1,1,1,1 2>&1 | grep -q "apt-get install"; then
  expect 0 "emulated: " --target=arm-neoverse-n1 --shape=GMM:1,9,19,7 --dtype=f32,int8,s8s8 \
    --json="$TEST_TMPDIR/emulated.json"
  for text in '"emulated": true' '"instructions": ' '"projected_ms": ' '"checked": true'; do
    grep -qF "$text" "$TEST_TMPDIR/emulated.json" || { echo "FAILED: no $text in the JSON"; failures=$((failures + 1)); }
  done
fi
TILEWRIGHT_ARM_PEERS=/nonexistent expect 0 "not set up: there is no /nonexistent/libacl_peer.so" \
  --target=arm-neoverse-n1 --peers=acl --shape=GMM:1,9,19,7
expect 0 "is not emulated for cuda-sm80" --target=cuda-sm80 --peers=acl --notune --shape=GMM:1,8,8,8
# A loopback launcher: the worker of this machine measures, and what it cannot do is reported.
expect 0 "GMM 1,9,19,7" --launcher=env --threads=2 --shape=GMM:1,9,19,7 --seconds=0.2 --notune \
  --json="$TEST_TMPDIR/loopback.json"
for text in '"impl": "tilewright"' '"checked": true' '"median_ms": '; do
  grep -qF "$text" "$TEST_TMPDIR/loopback.json" || { echo "FAILED: no $text in the JSON"; failures=$((failures + 1)); }
done
expect 0 "no-such-launcher" --launcher=no-such-launcher --shape=GMM:1,9,19,7 --notune
expect 2 "--launcher starts what runs code of CPUs" --launcher=env --target=cuda-sm80 --shape=GMM:1,7,7,7
# Kernels of a GPU are emulated where there is none.
expect 0 "GMM 1,256,64,48 f16" --target=cuda-sm80 --notune --shape=GMM:1,256,64,48 --dtype=f16 \
  --json="$TEST_TMPDIR/gpu.json"
if grep -qF '"emulated": true' "$TEST_TMPDIR/gpu.json"; then
  expect 0 "emulated, right at 2,8,8,16,16,3,1,1, projected" --target=cuda-sm90a --batch=16 --dtype=s8s8 \
    --shape=C2D:1,56,56,16,16,3,1,1
fi
expect 2 "'x' is not a batch" --batch=x
for text in '"op": "C2D"' '"shape": "1,17,19,23"' '"checked": true' '"impl": "openblas"' '"impl": "xnnpack"' '"impl": "onednn"'; do
  grep -qF "$text" "$TEST_TMPDIR/results.json" || { echo "FAILED: no $text in the JSON"; failures=$((failures + 1)); }
done
grep -q '</html>' "$TEST_TMPDIR/results.html" || { echo "FAILED: the page is not complete"; failures=$((failures + 1)); }
exit $((failures > 0))
