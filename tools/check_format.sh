#!/bin/bash
# Checks the format of every tracked C++ file; with --fix rewrites the files instead.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=(--dry-run --Werror)
if [[ "${1:-}" == --fix ]]; then
  mode=(-i)
fi
git ls-files -z -- '*.cc' '*.h' | xargs --null --no-run-if-empty clang-format-19 "${mode[@]}"
