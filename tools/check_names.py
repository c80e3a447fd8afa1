#!/usr/bin/env python3
"""Names that must stand in one place only.

  tools/check_names.py

* Keys of annotations and attributes stand in ir/annotations.h alone; other code uses its constants, wherever it makes,
  looks for or compares a key (comments and tests may show programs with them).
* Headers of codegen/llvm are included in codegen/ alone; everything else includes codegen/backend.h.
* Sizes of warps, warpgroups, blocks and grids stand in target/presets: outside of target/ and intrin/ nothing that is
  made for GPUs, or verifies them, has a constant of 32, 128, 1024 or 65535. SIZES lists those that mean something else.
* A ContractionPlan is written where it is made alone, by the files of PLAN_MAKERS: others hold a const one.
* What knows the machine stands in target/, intrin/ and folders named after a kind of machine: kinds of targets, memory
  levels by number, vectors of so many lanes, sizes of lines and pages. KNOWN lists the places that are left; it may only
  shrink.
"""

import os
import re
import subprocess
import sys

KEYS = "ir/annotations.h"

# Where code names the key of an annotation or attribute: a constant or a string.
KEY = r'(k[A-Z]\w*|"\w[^"]*")'
KEY_USES = [
    r"\b(?:annotations|attrs)(?:\(\))?(?:\.|->)(?:contains|count|find|at|erase|insert|insert_or_assign|emplace|try_emplace)\(\{?" + KEY,
    r"\b(?:annotations|attrs)(?:\(\))?\[" + KEY,
    r"\b(?:annotations|attrs) = \{\{" + KEY,
    r"\b(?:attr|attribute|mark|op)->key [=!]= " + KEY,
    r"\bAttrStmtNode\([^;]*?, " + KEY,
]

MACHINE_FOLDERS = {"cpu", "gpu", "x86", "aarch64", "cuda"}
MACHINE = {
    r"\bTargetKind::k\w+": "asks for a kind of target",
    r"\b(?:levels|caches)\[\d+\]": "takes a memory level by its number",
    r"\blanes == (?:4|8|16|32|64)\b": "asks for vectors of so many lanes",
    r"\bk\w*(?:Line|Page)(?:Bytes)? = \d+": "has a size of lines or pages",
}
# How many such places a file still has.
KNOWN = {
    "autoschedule/measure/measuring_worker.cc": 1,  # lines that it flushes
    "codegen/llvm/processors.cc": 1,  # the family of processors that a target belongs to
    "codegen/runtime/tensor.cc": 1,  # pages by which tensors are staggered
}


# What makes plans of contractions: where rows lie is a part of the plan.
PLAN_MAKERS = {
    "autoschedule/movement/cpu/rows_in_memory.cc",
    "autoschedule/sketch/cpu/block_sums_rule.cc",
    "autoschedule/sketch/cpu/contraction_plan.cc",
}
WRITABLE_PLAN = re.compile(r"(?<!const )(?<!struct )\bContractionPlan(?: \w|[&*])")

SIZE = re.compile(r"\bk[A-Z]\w*(?:\[\w*\])? = \{?(?:32|128|1024|65535)\b(?! \* )")
# Which constants are not sizes of warps, blocks or grids, by file.
SIZES = {
    "codegen/lower/gpu/operand_descriptors.cc": {"kBytesOfK"},  # of a step of wgmma
    "codegen/lower/gpu/shared_places.h": {"kSwizzleSpans"},  # bytes
    # The emulator checks what is generated, with numbers of its own.
    "codegen/cuda/emulator/bank_conflicts.cc": {"kBanks"},
    "codegen/cuda/emulator/matrix.cc": {"kMma"},  # numbers of instructions
    "codegen/cuda/emulator/state.h": {"kWarp", "kWarpgroup", "kSharedBase"},
    "codegen/cuda/emulator/warp.cc": {"kShuffle"},  # numbers of instructions
}


def Sources():
    files = subprocess.run(["git", "ls-files", "*.cc", "*.h"], check=True, capture_output=True, text=True).stdout.split()
    for path in files:
        with open(path) as f:
            yield path, f.read()


def WithoutComments(text):
    return re.sub(r"^[ \t]*//.*$", "", text, flags=re.M)


def MachinePlaces(path, code):
    """What in a file knows the machine, as (line, why)."""
    folders = path.split("/")[:-1]
    if folders[:1] in (["target"], ["intrin"]) or MACHINE_FOLDERS & set(folders):
        return []
    places = []
    for number, line in enumerate(code.split("\n"), 1):
        places += [(number, why) for pattern, why in MACHINE.items() if re.search(pattern, line)]
    return places


def KeysUsed(code):
    return {key for pattern in KEY_USES for key in re.findall(pattern, code)}


def SizePlaces(path, code):
    """Constants that may be sizes of warps, blocks or grids, as (line, name)."""
    parts = path.split("/")
    if parts[0] in ("target", "intrin", "bench", "examples") or "kernels" in parts:
        return
    if parts[0] != "verify" and not {"gpu", "cuda"} & set(parts) and not path.startswith("codegen/lower/common/"):
        return
    if path.endswith(("_test.cc", "_benchmark.cc")):
        return
    for number, line in enumerate(code.split("\n"), 1):
        for match in SIZE.finditer(line):
            name = re.match(r"\w+", match.group()).group()
            if name not in SIZES.get(path, set()):
                yield number, name


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    with open(KEYS) as f:
        keys = re.findall(r'constexpr char (k\w+)\[\] = "([^"]+)"', f.read())
    names = {name for name, _ in keys}
    # Other meanings of the same words: members of JSON objects.
    keys = [(name, key) for name, key in keys if key != "features"]
    wrong = []
    for path, text in Sources():
        module = path.split("/")[0]
        if module != "codegen" and re.search(r'#include "codegen/llvm/', text):
            wrong.append(f"{path} includes a header of codegen/llvm; codegen/backend.h is what others include")
        if path == KEYS or path.endswith("_test.cc") or path.startswith(("schedule/fuzz/", "ir/script/", "examples/", "intrin/")):
            continue
        code = WithoutComments(text)
        wrong += [
            f"{path}:{number} {name} may be the size of a warp, a block or a grid: those are in GpuTarget"
            for number, name in SizePlaces(path, code)
        ]
        wrong += [
            f"tools/check_names.py: {path} has no {name} of such a size: leave it out of SIZES"
            for name in SIZES.get(path, set())
            if not any(match.group().startswith(name + " ") or match.group().startswith(name + "[") for match in SIZE.finditer(code))
        ]
        if path not in PLAN_MAKERS and WRITABLE_PLAN.search(code):
            wrong.append(f"{path} has a ContractionPlan that is not const: PLAN_MAKERS alone write one")
        places = MachinePlaces(path, code)
        if len(places) > KNOWN.get(path, 0):
            wrong += [f"{path}:{number} {why}" for number, why in places]
        elif len(places) < KNOWN.get(path, 0):
            wrong.append(f"{path} knows the machine in {len(places)} places: lower its number in KNOWN")
        wrong += [f"{path} uses the key {key}, which does not stand in {KEYS}" for key in sorted(KeysUsed(code) - names)
                  if not path.startswith("graph/")]  # whose attributes are those of operators
        for name, key in keys:
            if f'"{key}"' in code:
                wrong.append(f'{path} spells "{key}": use {name} of {KEYS}')
    print("".join(line + "\n" for line in wrong), end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
