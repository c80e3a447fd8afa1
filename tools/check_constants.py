#!/usr/bin/env python3
"""Named numbers in rules.

  tools/check_constants.py          fails when there are more than MOST
  tools/check_constants.py --list   prints them

What hardware costs is defined once, from Target, in autoschedule/cost; sketches and movement hold few numbers of their
own: bounds of what is tried, and preferred values. Each of these is counted where it is defined; two in one definition
are two.
"""

import re
import subprocess
import sys

FOLDERS = ["autoschedule/sketch", "autoschedule/movement"]
# For each kind of machine; what serves all of them counts with CPUs. May only shrink.
MOST = {"cpu": 23, "gpu": 29}

DEFINITION = re.compile(r"^(?:inline |static )*constexpr [\w:<> ]+? (k[A-Z]\w*(?:\[\])? = [^;]*);", re.M)
NAME = re.compile(r"(?:^|, )(k[A-Z]\w*)(?:\[\])? = (\{[^}]*\}|[^,]*)")


def Constants():
    """All of them, as (kind of machine, path, line, name)."""
    files = subprocess.run(["git", "ls-files", *FOLDERS], check=True, capture_output=True, text=True).stdout.split()
    for path in files:
        if not path.endswith((".cc", ".h")) or path.endswith("_test.cc"):
            continue
        with open(path) as f:
            text = f.read()
        kind = "gpu" if "gpu" in path.split("/") else "cpu"
        for definition in DEFINITION.finditer(text):
            line = text.count("\n", 0, definition.start()) + 1
            for name, value in NAME.findall(definition.group(1)):
                if re.match(r"\{?-?[\d.]", value):
                    yield kind, path, line, name


def main():
    found = list(Constants())
    if "--list" in sys.argv[1:]:
        for _, path, line, name in found:
            print(f"{path}:{line}: {name}")
    too_many = False
    for kind, most in MOST.items():
        count = sum(1 for constant in found if constant[0] == kind)
        print(f"{kind}: {count} named numbers in {' and '.join(FOLDERS)}, at most {most}")
        too_many |= count > most
    if too_many:
        sys.exit("what hardware costs belongs into autoschedule/cost, from Target")


if __name__ == "__main__":
    main()
