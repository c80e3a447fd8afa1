#!/bin/bash
# Runs serve_test.py with the system's Python.
exec python3 "$(dirname "$0")/serve_test.py"
