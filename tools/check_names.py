#!/usr/bin/env python3
"""Names that must stand in one place only.

  tools/check_names.py

* Keys of annotations are spelled in ir/annotations.h alone; other code uses the constants (comments and tests may show
  programs with them).
* Headers of codegen/llvm are included in codegen/ alone; everything else includes codegen/backend.h.
"""

import os
import re
import subprocess
import sys

KEYS = "ir/annotations.h"


def Sources():
    files = subprocess.run(["git", "ls-files", "*.cc", "*.h"], check=True, capture_output=True, text=True).stdout.split()
    for path in files:
        with open(path) as f:
            yield path, f.read()


def WithoutComments(text):
    return re.sub(r"^\s*//.*$", "", text, flags=re.M)


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    with open(KEYS) as f:
        keys = re.findall(r'constexpr char (k\w+)\[\] = "([^"]+)"', f.read())
    # Other meanings of the same words: members of JSON objects.
    keys = [(name, key) for name, key in keys if key != "features"]
    wrong = []
    for path, text in Sources():
        module = path.split("/")[0]
        if module != "codegen" and re.search(r'#include "codegen/llvm/', text):
            wrong.append(f"{path} includes a header of codegen/llvm; codegen/backend.h is what others include")
        if path == KEYS or path.endswith("_test.cc") or path.startswith(("schedule/fuzz/", "ir/script/", "examples/")):
            continue
        code = WithoutComments(text)
        for name, key in keys:
            if f'"{key}"' in code:
                wrong.append(f'{path} spells "{key}": use {name} of {KEYS}')
    print("".join(line + "\n" for line in wrong), end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
