#!/bin/bash
# Checks that each module depends only on modules below it. Tests may look anywhere.
set -euo pipefail
cd "$(dirname "$0")/.."

# Module, then every module that its libraries and programs may use.
readonly layers=(
  "base:"
  "target: base"
  "ir: base target"
  "intrin: base target ir"
  "verify: base target ir intrin"
  "schedule: base target ir intrin verify"
  "codegen: base target ir intrin verify"
  "autoschedule: base target ir intrin verify schedule codegen"
  "graph: base target ir intrin verify schedule codegen autoschedule"
)
readonly above_all=(bench tools)

# The targets of a module, as a query; empty for one that does not exist.
targets_of() {
  if [[ -n "$(find "$1" -name BUILD -print -quit 2>/dev/null)" ]]; then
    echo "//$1/..."
  fi
}

wrong=""
for layer in "${layers[@]}"; do
  module="${layer%%:*}"
  allowed=" ${module} ${layer#*:} "
  own="$(targets_of "${module}")"
  forbidden=""
  for other in "${layers[@]%%:*}" "${above_all[@]}"; do
    targets="$(targets_of "${other}")"
    if [[ "${allowed}" != *" ${other} "* && -n "${targets}" ]]; then
      forbidden+="${forbidden:+ + }${targets}"
    fi
  done
  [[ -z "${own}" || -z "${forbidden}" ]] && continue
  used="$(bazel query --noshow_progress --ui_event_filters=-info --noimplicit_deps \
    "deps(attr(testonly, 0, ${own})) intersect (${forbidden})")"
  if [[ -n "${used}" ]]; then
    wrong+="${module} depends on what is not below it:"$'\n'"${used}"$'\n'
  fi
done
printf '%s' "${wrong}"
[[ -z "${wrong}" ]]
