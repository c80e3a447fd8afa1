#!/bin/bash
# Runs affinity_test.py with the system's Python: the benchmark's program is the argument.
exec python3 "$(dirname "$0")/affinity_test.py" "$1"
