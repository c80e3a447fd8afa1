#!/usr/bin/env python3
"""Numbers that decide something in autoschedule, and constants in target/*.h.

  tools/check_constants.py          fails when there are more than MOST
  tools/check_constants.py --list   prints them

What hardware is stands in target/presets, as data; what an operation costs is defined once, from Target, in
autoschedule/cost. Rules hold few numbers of their own: bounds of what is tried, and preferred values of choices. Counted are

  * constants with a name, wherever they are defined and whatever makes them constant; two in one definition are two,
    a list is one;
  * numbers without a name in conditions, where they are more than 2: `side >= 128 ? 8 : 4` has three.

Not counted, since they are not thresholds: widths of types (bits(), bytes(), lanes()), how many entries a list has
(size(), ndim()), and what stands in tests.
"""

import os
import re
import subprocess
import sys

FOLDERS = ["sketch", "movement", "normalize", "program", "tensorize", "cost"]
# In each folder; what is in folders of GPUs counts apart. May only shrink: at most 40 together are wanted.
MOST = {
    "cost": 63,
    "cost/gpu": 6,
    "movement": 2,
    "movement/gpu": 3,
    "normalize": 10,
    "program": 8,
    "sketch": 23,
    "sketch/gpu": 27,
    "target": 4,
    "tensorize": 11,
}

DEFINITION = re.compile(r"^[ \t]*(?:inline |static )*const(?:expr)? (?:inline )?[\w:<>, ]+? (k[A-Z]\w*(?:\[[^\]]*\])* = [^;]*);", re.M)
NAME = re.compile(r"(?:^|, )(k[A-Z]\w*)(?:\[[^\]]*\])* = (\{[^}]*\}|[^,]*)")
NUMBER = r"(?<![\w.])(\d[\d']*(?:\.\d+)?(?:e-?\d+)?)(?![\w.(])"
# A comparison with a number, before or behind it, and the numbers between which a condition chooses.
COMPARED = re.compile(rf"([^\s,;(]+(?:\([^()]*\))?)\s*(?:[<>]=?|[!=]=)\s*{NUMBER}|{NUMBER}\s*(?:[<>]=?|[!=]=)\s*([^\s,;]+)")
CHOSEN = re.compile(rf"\?\s*{NUMBER}\s*:|:\s*{NUMBER}\s*[;,)]")
NO_THRESHOLD = re.compile(r"\b(?:bits|bytes|lanes|size|ndim)\(\)")


def WithoutCommentsAndText(text):
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)


def Named(code):
    """Constants with a name, as (line, name)."""
    for definition in DEFINITION.finditer(code):
        line = code.count("\n", 0, definition.start(1)) + 1
        for name, value in NAME.findall(definition.group(1)):
            if re.match(r"[{\s]*(?:int64_t\{)?-?[\d.]", value):
                yield line, name


def InConditions(code):
    """Numbers above 2 in conditions, as (line, text)."""
    for number, line in enumerate(code.split("\n"), 1):
        if DEFINITION.match(line):
            continue
        found = []
        for match in COMPARED.finditer(line):
            left, value, other, right = match.groups()
            if value is not None and not NO_THRESHOLD.search(left):
                found.append(value)
            if other is not None and not NO_THRESHOLD.search(right):
                found.append(other)
        if "?" in line:
            found += [a or b for a, b in CHOSEN.findall(line)]
        for value in found:
            if float(value.replace("'", "")) > 2:
                yield number, value


def Numbers():
    """All of them, as (room, path, line, what)."""
    paths = [f"autoschedule/{folder}" for folder in FOLDERS] + ["target/*.h"]
    files = subprocess.run(["git", "ls-files", *paths], check=True, capture_output=True, text=True).stdout.split()
    for path in files:
        if not path.endswith((".cc", ".h")) or path.endswith(("_test.cc", "_testing.h", "_benchmark.cc")):
            continue
        with open(path) as f:
            code = WithoutCommentsAndText(f.read())
        parts = path.split("/")
        room = parts[0] if parts[0] == "target" else parts[1]
        if "gpu" in parts:
            room += "/gpu"
        for line, name in Named(code):
            yield room, path, line, name
        if parts[0] != "target":
            for line, value in InConditions(code):
                yield room, path, line, value


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    found = list(Numbers())
    if "--list" in sys.argv[1:]:
        for _, path, line, what in found:
            print(f"{path}:{line}: {what}")
    rooms = sorted({number[0] for number in found} | set(MOST))
    counts = {room: sum(1 for number in found if number[0] == room) for room in rooms}
    print(f"{len(found)} numbers: " + ", ".join(f"{count} in {room}" for room, count in counts.items()))
    wrong = [f"{room} has {count} numbers, at most {MOST.get(room, 0)}" for room, count in counts.items() if count > MOST.get(room, 0)]
    for room, count in counts.items():
        if count < MOST.get(room, 0):
            print(f"{room} has {count} numbers: its number in MOST may be lower")
    if wrong:
        sys.exit("\n".join(wrong) + "\nwhat hardware is belongs into target/presets, what it costs into autoschedule/cost, what a rule prefers into a choice")


if __name__ == "__main__":
    main()
