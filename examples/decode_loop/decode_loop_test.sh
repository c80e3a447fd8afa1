#!/bin/bash
# The C program continues prompts as ONNX Runtime does (bench/models/greedy_tokens.py), whatever their length.
set -euo pipefail
decode_loop="$1" expected="$2"
while read -r prompt steps tokens; do
  got="$("${decode_loop}" "${prompt}" "${steps}")"
  if [[ "${got}" != "${tokens}" ]]; then
    echo "after ${prompt} tokens: ${got}, expected ${tokens}" >&2
    exit 1
  fi
done <"${expected}"
