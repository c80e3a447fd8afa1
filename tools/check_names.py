#!/usr/bin/env python3
"""Names that must stand in one place only.

  tools/check_names.py

* Keys of annotations and attributes stand in ir/annotations.h alone; other code uses its constants, wherever it makes,
  looks for or compares a key (comments and tests may show programs with them).
* Headers of codegen/llvm are included in codegen/ alone; everything else includes codegen/backend.h.
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
