#!/bin/bash
# Runs `bazel test //...` and counts single test cases: the last line is "N passed, N failed".
# Arguments are flags for bazel. Fails if a test failed or anything did not build.
set -uo pipefail
cd "$(dirname "$0")/.."

log="$(mktemp)"
trap 'rm -f "${log}"' EXIT

bazel test --keep_going --color=no --curses=no "$@" //... 2>&1 | tee "${log}"
bazel_status="${PIPESTATUS[0]}"
testlogs="$(bazel info "$@" bazel-testlogs 2>/dev/null)"

# Adds up the <testsuite> elements of a target's reports (one for each shard): prints "PASSED FAILED".
count_cases() {
  find "${testlogs}/$1" -name test.xml -exec cat {} + 2>/dev/null | awk '
    function attribute(name) {
      return match($0, " " name "=\"[0-9]+\"") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4) : 0
    }
    /<testsuite / {
      bad = attribute("failures") + attribute("errors")
      failed += bad
      passed += attribute("tests") - bad - attribute("disabled") - attribute("skipped")
    }
    END { print passed + 0, failed + 0 }'
}

passed=0
failed=0
# Bazel's own summary says which targets ran: "//base:check_test  (cached) PASSED in 0.1s".
while read -r label status; do
  target="${label#//}"
  cases_passed=0
  cases_failed=0
  if [[ "${status}" != *"TO BUILD"* && "${status}" != *"NO STATUS"* ]]; then
    read -r cases_passed cases_failed < <(count_cases "${target/://}")
  fi
  if [[ "${status}" != *PASSED* && ${cases_failed} -eq 0 ]]; then
    cases_failed=1  # It did not build, timed out, or failed outside of a case.
  fi
  passed=$((passed + cases_passed))
  failed=$((failed + cases_failed))
done < <(grep -E '^//[^ ]+ +(\(cached\) )?(PASSED|FLAKY|FAILED|TIMEOUT|NO STATUS|INCOMPLETE)' "${log}")

# Exit status 4: no test to run. A build error in a target that is not a test shows only in the exit status.
if [[ ${bazel_status} -ne 0 && ${failed} -eq 0 ]]; then
  failed=1
fi
echo "${passed} passed, ${failed} failed"
[[ ${failed} -eq 0 ]]
