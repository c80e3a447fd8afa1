#!/bin/bash
# The benchmark of program files as a user calls it: on a file of his own, with plain loops beside it and without.
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

cd "$TEST_TMPDIR" || exit 1
program="$OLDPWD/$program"
cat > twice.py <<'END'
@T.prim_func
def main(A: T.Buffer((64, 32), "float32"), B: T.Buffer((64, 32), "float32")):
    for i, j in T.grid(64, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
END
cp twice.py alone.py
cp twice.py wrong.py
cat > twice.c <<'END'
const long twice_iterations = 64;
void twice(long begin, long end, const float *a, float *b) {
  for (long i = begin * 32; i < end * 32; ++i) b[i] = 2 * a[i];
}
END
sed 's/twice/wrong/g; s/2 \*/3 */' twice.c > wrong.c
echo "nonsense" > bad.py

expect 2 "there is no file nothing.py" --files=nothing.py
expect 2 "unexpected argument 'twice.py'" twice.py
expect 0 "twice.py" --files=twice.py,alone.py --notune --seconds=0.6 --json=results.json
expect 1 "the results differ by" --files=wrong.py --notune --seconds=0.6
expect 1 "bad.py:1:1: error" --files=bad.py --notune --seconds=0.6
expect 1 "no-such-compiler -O3" --files=twice.py --cc=no-such-compiler --notune --seconds=0.6
for text in '"level": "L1"' '"ratio":' '"part_of_bandwidth":' '"file": "alone.py"'; do
  grep -qF "$text" results.json || { echo "FAILED: no $text in the JSON"; failures=$((failures + 1)); }
done
exit $((failures > 0))
