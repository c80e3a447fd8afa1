#!/usr/bin/env python3
"""The picture of docs/architecture.md against the tree.

  tools/check_architecture.py

* Each folder that the page names exists.
* Each module, and each room directly below a module, stands on the page.
* Where an arrow joins two folders on a line of the picture, one of them uses the other: by its own includes, or by those of
  what it includes.
"""

import collections
import os
import re
import subprocess
import sys

PAGE = "docs/architecture.md"
MODULES = ["base", "target", "ir", "intrin", "verify", "schedule", "codegen", "autoschedule", "graph", "bench"]
# Rooms for tests, and those that answer a question of their own module only.
APART = {"testing", "fuzz", "gpu_fuzz", "clocks"}


def Uses():
    """folder -> the folders whose headers its product code includes."""
    uses = collections.defaultdict(set)
    files = subprocess.run(["git", "ls-files", "*.cc", "*.h"], check=True, capture_output=True, text=True).stdout.split()
    for path in files:
        if path.endswith("_test.cc") or "/testing/" in path:
            continue
        with open(path) as f:
            for header in re.findall(r'^#include "([^"]+)"', f.read(), re.M):
                uses[os.path.dirname(path)].add(os.path.dirname(header))
    return uses


def Reached(uses, folder):
    """Folders that `folder`, or a room below it, uses."""
    pending = [other for other in uses if other == folder or other.startswith(folder + "/")]
    seen = set(pending)
    while pending:
        for other in uses[pending.pop()] - seen:
            seen.add(other)
            pending.append(other)
    return seen


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    with open(PAGE) as f:
        page = f.read()
    picture = page.split("```")[1]
    uses = Uses()
    wrong = []
    folder = r"[a-z_0-9]+(?:/[a-z_0-9]+)*"
    is_room = lambda name: name.split("/")[0] in MODULES
    named = {name for name in re.findall(r"`(" + folder + r")`", page) if "/" in name and is_room(name)}
    named |= {name for name in re.findall(folder, picture) if is_room(name)}
    for name in sorted(named):
        if not os.path.isdir(name):
            wrong.append(f"{PAGE} names {name}, which does not exist")
    on_page = set(re.findall(folder, page)) | {name.split("/")[0] for name in named}
    for module in MODULES:
        rooms = [module] + [f"{module}/{room}" for room in sorted(os.listdir(module))
                            if os.path.exists(f"{module}/{room}/README.md") and room not in APART]
        wrong += [f"{PAGE} does not name {room}" for room in rooms if module != "bench" and room not in on_page]
    for line in picture.split("\n"):
        for left, arrow, right in re.findall(rf"(?<![\w/])(?=({folder}) (──►|◄──) ({folder}))", line):
            if not (is_room(left) and is_room(right)) or not (os.path.isdir(left) and os.path.isdir(right)):
                continue
            below = lambda user, used: any(o == used or o.startswith(used + "/") for o in Reached(uses, user))
            if not below(left, right) and not below(right, left):
                wrong.append(f"{PAGE} joins {left} and {right}, and none of them uses the other")
    print("".join(line + "\n" for line in wrong), end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
