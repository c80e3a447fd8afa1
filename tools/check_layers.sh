#!/bin/bash
# Checks that each module depends only on modules below it, and each room of a module only on the rooms below it.
# Tests and programs may look anywhere.
set -euo pipefail
cd "$(dirname "$0")/.."

edges="$(mktemp)"
trap 'rm -f "${edges}"' EXIT
bazel query --noshow_progress --ui_event_filters=-info --noimplicit_deps --output=graph --nograph:factored \
  'let product = kind("cc_library", attr(testonly, 0, //...)) in $product' >"${edges}"

python3 - "${edges}" <<'PYTHON'
import collections
import os
import re
import sys

# Modules from the ground up: each may use those before it. bench, tools and examples stand above all.
MODULES = ["base", "target", "ir", "intrin", "verify", "schedule", "codegen", "autoschedule", "graph"]
# A module that may not use one below it.
APART = {("codegen", "schedule")}
# Rooms of a module, floor by floor: each may use rooms of the floors before its own.
ROOMS = {
    "ir": ["ir", "ir/arith", "ir/script/python", "ir/changes", "ir/script ir/interp", "ir/ops", "ir/testing"],
    "verify": ["verify/rewrite", "verify/structure", "verify/threads verify/regions", "verify/memory", "verify"],
    "schedule": ["schedule/core", "schedule/program",
                 "schedule/algebra schedule/layout schedule/loops schedule/movement",
                 "schedule/blocks schedule/reduction schedule/sampling", "schedule/recorder", "schedule/script",
                 "schedule", "schedule/fuzz schedule/testing"],
    "codegen": ["codegen/abi codegen/cuda/emulator", "codegen", "codegen/lower/common codegen/lower/gpu/images codegen/runtime", "codegen/lower/cpu codegen/lower/gpu", "codegen/lower/gpu/grids", "codegen/lower",
                "codegen/llvm/assembly codegen/llvm/processor codegen/remote", "codegen/llvm/x86 codegen/llvm/aarch64", "codegen/llvm codegen/cuda", "codegen/cuda/host", "codegen/foreign/ptx", "codegen/foreign"],
    "autoschedule": ["autoschedule/program autoschedule/database", "autoschedule/cost", "autoschedule/cost/cpu autoschedule/cost/gpu", "autoschedule/tensorize",
                     "autoschedule/normalize", "autoschedule/movement", "autoschedule/movement/cpu autoschedule/movement/gpu", "autoschedule/sketch",
                     "autoschedule/sketch/chained", "autoschedule/sketch/cpu/chained", "autoschedule/sketch/cpu autoschedule/sketch/gpu", "autoschedule/sketch/gpu/chained",
                     "autoschedule/measure/protocol", "autoschedule/measure/reference", "autoschedule/measure/executor",
                     "autoschedule/measure/builder", "autoschedule/measure", "autoschedule/search", "autoschedule/tune",
                     "autoschedule/gpu_fuzz autoschedule"],
    "graph": ["graph/ir graph/device", "graph/rewrite graph/host", "graph/onnx graph/fusion graph/memory", "graph graph/sizes", "graph/executor", "graph/tune"],
}
# Targets above all rooms of their module: what users of it may include, what is built in, a back end, the sketches and projections of
# all kinds of machines, and inference of regions, which needs arithmetic.
COLLECTS = {"//autoschedule/sketch:sketches", "//autoschedule/sketch/gpu:sketches", "//autoschedule/cost:projected", "//ir:ir", "//ir:program", "//ir:regions", "//ir:builder", "//codegen:codegen", "//codegen:backend", "//codegen/cuda:cuda_backend"}

floor = {room: (module, number) for module, floors in ROOMS.items()
         for number, rooms in enumerate(floors) for room in rooms.split()}
wrong, missing = set(), set()
for line in open(sys.argv[1]):
    found = re.match(r'\s*"//([^":]*):([^"]*)" -> "//([^":]*):([^"]*)"', line)
    if not found:
        continue
    user, user_target, used, _ = found.groups()
    user_module, used_module = user.split("/")[0], used.split("/")[0]
    if user_module not in MODULES:
        continue
    if used_module not in MODULES or MODULES.index(used_module) > MODULES.index(user_module) or (
            user_module, used_module) in APART:
        wrong.add(f"{user} uses {used}: the module is not below")
    elif user != used and user_module == used_module and user_module in ROOMS:
        missing |= {f"{room} is on no floor of tools/check_layers.sh" for room in (user, used) if room not in floor}
        if f"//{user}:{user_target}" in COLLECTS or user not in floor or used not in floor:
            continue
        if floor[used][1] >= floor[user][1]:
            wrong.add(f"{user} uses {used}: the room is not below")

# Rooms hold at most 30 headers with their sources, and a BUILD file of at most 300 lines, those that name base aside.
for folder, _, files in os.walk("."):
    folder = folder[2:]
    if folder.split("/")[0] not in MODULES + ["bench", "tools"]:
        continue
    headers = [name for name in files if name.endswith(".h")]
    if len(headers) > 30:
        wrong.add(f"{folder} holds {len(headers)} headers, more than 30")
    if "BUILD" in files:
        lines = sum('"//base:' not in line for line in open(os.path.join(folder, "BUILD")))
        if lines > 300:
            wrong.add(f"{folder}/BUILD has {lines} lines, more than 300")
        if "README.md" not in files and headers:
            wrong.add(f"{folder} has no README.md that says which question it answers")
print("".join(message + "\n" for message in sorted(wrong | missing)), end="")
sys.exit(1 if wrong or missing else 0)
PYTHON
