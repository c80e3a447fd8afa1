#!/bin/bash
# The right kernels compute what their programs say, without a fault; each planted fault is found, with kind, line and
# thread.
set -u
tilewright="$PWD/$1"
cd examples/foreign || exit 1
failures=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

for kernel in tiled_product softmax sum_atomics pipelined_product wgmma_product; do
  output="$("$tilewright" emulate "$kernel.cu" --launch="$kernel.json" --against="$kernel.py" 2>&1)" ||
    fail "$kernel.cu: $output"
  grep -q "no faults" <<< "$output" || fail "$kernel.cu has faults: $output"
  grep -q "of the tolerance" <<< "$output" || fail "$kernel.cu is not compared: $output"
done

# A planted fault: what the first lines of the report say.
expect() {
  local kernel="$1" pattern="$2" output
  output="$("$tilewright" emulate "$kernel.cu" --launch="${kernel%_wrong}.json" 2>&1)" && fail "$kernel.cu has no fault"
  grep -Eq "$pattern" <<< "$output" || fail "$kernel.cu: no line fits \"$pattern\": $output"
}
line_of() { grep -n -F -m1 "$2" "$1.cu" | cut -d: -f1; }

write=$(line_of tiled_product_wrong "a[threadIdx.y][threadIdx.x] = row")
read=$(line_of tiled_product_wrong "sum += a[threadIdx.y][k]")
expect tiled_product_wrong "_wrong.cu:$write: error: .*race: store by thread [0-9]+ of block \(0, 0, 0\) at a byte [0-9]+: \
.*the other access: load by thread [0-9]+ .* at tiled_product_wrong.cu:$read"
shuffle=$(line_of softmax_wrong "__shfl_xor_sync")
expect softmax_wrong "_wrong.cu:$shuffle: error: .*arguments: shfl.sync by thread 16 .*the lane is not in its mask"
store=$(line_of sum_atomics_wrong "*total += partial[0]")
expect sum_atomics_wrong "_wrong.cu:$store: error: .*race: load by thread 0 of block \(1, 0, 0\).*total byte 0: .*\
the other access: store by thread 0 of block \(0, 0, 0\) at sum_atomics_wrong.cu:$store"
copy=$(line_of pipelined_product_wrong "cp.async.cg.shared.global")
matrices=$(line_of pipelined_product_wrong "ldmatrix.sync.aligned")
expect pipelined_product_wrong "_wrong.cu:$matrices: error: .*race: ldmatrix by thread [0-9]+ .*the other access: cp.async by \
cp.async of thread [0-9]+ .* at pipelined_product_wrong.cu:$copy"
stored=$(line_of wgmma_product_wrong "make_float2(sums[j * 4], sums")
bulk=$(line_of wgmma_product_wrong "cp.async.bulk.tensor.2d.global")
expect wgmma_product_wrong "_wrong.cu:$bulk: error: .*missing proxy fence: bulk store by thread 0 .*the other access: store by \
thread [0-9]+ .* at wgmma_product_wrong.cu:$stored"
exit $((failures > 0))
