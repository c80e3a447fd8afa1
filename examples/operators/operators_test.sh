#!/bin/bash
# Every example is valid, is scheduled (the ones with products of two operands onto a tensor instruction), tunes, and
# computes what the program says.
set -u
tilewright="$PWD/$1"
cd examples/operators || exit 1
database="$TEST_TMPDIR/records.db"
failures=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# A 64-bit x86 processor with AVX-512, whatever this one is.
target=x86-znver4
tensorized="attention_score bilinear grouped_dilated_conv outer_product_update"

for name in channel_sums attention_score; do
  "$tilewright" tune "$name.py" --trials=3 --seconds=60 --db="$database" 2> "$TEST_TMPDIR/errors" |
    grep -q "^best: " || fail "$name.py does not tune: $(cat "$TEST_TMPDIR/errors")"
done
for file in *.py; do
  name="${file%.py}"
  "$tilewright" check "$file" | grep -q "proven valid" || fail "$file is not proven valid"
  candidates="$("$tilewright" tune "$file" --target="$target" --list-candidates)" || fail "$file has no candidates"
  if [[ " $tensorized " == *" $name "* ]]; then
    grep -Eq "fma_f32_12x32x1_avx512 +vi = v.*padding" <<< "$candidates" || fail "$file is not tensorized: $candidates"
  elif [[ "$name" != rank_one_update ]]; then
    grep -q "no intrinsic of the target computes it" <<< "$candidates" || fail "$file: $candidates"
  fi
  # Scheduled by the rules, against what the program says, both compiled.
  "$tilewright" run "$file" --db="$database" --engine=llvm --against="$file" > "$TEST_TMPDIR/output" 2>&1 ||
    fail "$file computes something else: $(cat "$TEST_TMPDIR/output")"
done

"$tilewright" tune channel_sums.py --trials=1 --seconds=60 2>&1 |
  grep -q "no tensor intrinsic computes sums" || fail "tune does not say that nothing computes channel_sums.py"
# The best of what was measured, against the interpreter.
"$tilewright" run channel_sums.py --db="$database" --engine=llvm --compare 2>&1 | grep -q "largest error" ||
  fail "channel_sums.py with its record"
exit $((failures > 0))
