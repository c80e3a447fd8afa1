#!/bin/bash
# On the GPU machine: what the device is, then every case. Writes into the folder OUT, or beside the script.
#
#   OUT=FOLDER bash run.sh [SECONDS]
set -u
cd "$(dirname "$0")"
out="${OUT:-.}"
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,power.draw,power.limit,temperature.gpu --format=csv \
  >"${out}/device.csv" 2>&1
chmod +x gpu_check
timeout "$((${1:-90} + 5))" ./gpu_check cases "${1:-90}" >"${out}/gpu_check.jsonl" 2>"${out}/gpu_check.err"
status=$?
cat "${out}/device.csv" "${out}/gpu_check.jsonl" "${out}/gpu_check.err"
exit "${status}"
