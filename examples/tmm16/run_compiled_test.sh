#!/bin/bash
# The tensorized program, compiled, with the C micro-kernel, against the program it began with.
set -eu
tilewright="$1"
kernel="$2"
cd examples/tmm16
"../../$tilewright" schedule matmul.py --script=schedule.py --intrin=tmm16.py -o "$TEST_TMPDIR/tensorized.py"
# Status 1 when the results differ by more than the tolerance.
"../../$tilewright" run "$TEST_TMPDIR/tensorized.py" --engine=llvm --extern="../../$kernel" --against=matmul.py |
  tee "$TEST_TMPDIR/output"
grep -q "C: largest error absolute" "$TEST_TMPDIR/output"
