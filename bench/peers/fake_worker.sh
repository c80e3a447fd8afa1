#!/bin/bash
# A worker for worker_peer_test, which answers by the first argument and never computes anything:
#   right      two variants; a block has samples of 2 ms and 3 ms; the output is the file that RESULT_NPY names
#   refuses    has no operator
#   ends       ends in a block
#   babbles    answers what is not JSON
#   nothing    prepares no variant
behaviour="$1"
while IFS= read -r request; do
  case "$request" in
    *'"do":"hello"'*)
      if [[ "$behaviour" == babbles ]]; then echo "hello, hello"; else echo "{\"version\": \"7 $2 $3\", \"pid\": $$}"; fi ;;
    *'"do":"prepare"'*)
      case "$behaviour" in
        refuses) echo '{"error": "no such operator"}' ;;
        nothing) echo '{"variants": []}' ;;
        *)
          printf '%s\n' "$request" >"$REQUEST_JSON"
          cp "$(sed 's/.*"folder":"\([^"]*\)".*/\1/' <<<"$request")"/*.npy "$(dirname "$REQUEST_JSON")"
          echo '{"variants": ["slow", "fast"], "tune_seconds": 12, "trials": 34}'
          ;;
      esac
      ;;
    *'"do":"block"'*)
      if [[ "$behaviour" == ends ]]; then echo "out of luck" >&2; exit 3; fi
      if [[ "$request" == *'"variant":1'* ]]; then samples=2000000; else samples=3000000; fi
      echo "{\"samples_ns\": [$samples, $samples], \"nanoseconds\": 50000000, \"cpu_nanoseconds\": 100000000}"
      ;;
    *'"do":"output"'*)
      cp "$RESULT_NPY" "$(sed 's/.*"file":"\([^"]*\)".*/\1/' <<<"$request")"
      echo '{}'
      ;;
    *) echo '{}' ;;
  esac
done
