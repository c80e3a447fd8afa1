#!/bin/bash
# Builds and runs the example, and checks that nothing it uses has asked for LLVM or for a peer library: Bazel fetches
# a repository when a target of it is needed, so the folder of one that was never needed does not exist.
set -euo pipefail
cd "$(dirname "$0")"

bazel build //:consumer
bazel-bin/consumer

external="$(bazel info output_base 2>/dev/null)/external"
for repository in llvm onednn openblas xnnpack; do
  if [[ -e "${external}/${repository}" ]]; then
    echo "@${repository} was fetched, but the example needs only the layers up to schedule" >&2
    exit 1
  fi
done
# A second server is of no use to whoever checks next.
bazel shutdown
