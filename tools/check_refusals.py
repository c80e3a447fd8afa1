#!/usr/bin/env python3
"""Names the refusals of schedule primitives whose text no test asserts.

  tools/check_refusals.py

Reads the sentences of refusals out of schedule/ and its rooms (string literals with places like {block0}, or in a Refusal), and
looks for each, with its objects named, among the string literals of schedule's tests and in
schedule/script/refusals.txt. Fails when one is missing.
"""

import glob
import os
import re
import sys

LITERAL = r'"(?:[^"\\]|\\.)*"'
PLACE = re.compile(r"\{(?:block|loop|object|text|expr|num)\d\}")

# Conditions that other checks before them rule out; they guard what follows.
CANNOT_HAPPEN = {
    "the iterator {text0} of {block1} does not start at its least value",
    "no place in {loop1} is behind the producers and before the consumers of {block0}",
}


def Literals(text):
    """(position, value) of string literals, adjacent ones joined."""
    for found in re.finditer(rf"(?:{LITERAL}\s*)+", text):
        value = "".join(part[1:-1] for part in re.findall(LITERAL, found.group(0)))
        yield found.start(), value.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")


def Sentences(path):
    """The texts of refusals in a file."""
    with open(path) as f:
        text = f.read()
    for position, value in Literals(text):
        in_refusal = re.search(r"(Refusal\s*(?:\w+\s*)?\{|Refus\w*\()[^;{}]*$", text[max(0, position - 250):position])
        if " " in value and (PLACE.search(value) or in_refusal):
            yield text[:position].count("\n") + 1, value


def Asserted():
    """What tests expect somewhere, line by line."""
    lines = []
    for path in glob.glob("schedule/*_test.cc") + glob.glob("schedule/*/*_test.cc"):
        with open(path) as f:
            programs_left_out = re.sub(r'R"(\w*)\((.*?)\)\1"', '""', f.read(), flags=re.S)
        lines += [value for _, value in Literals(programs_left_out)]
    with open("schedule/script/refusals.txt") as f:
        lines += f.read().split("\n")
    return lines


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    asserted = Asserted()
    count, missing = 0, []
    for path in sorted(glob.glob("schedule/*.cc") + glob.glob("schedule/*/*.cc")):
        if path.endswith("_test.cc"):
            continue
        for line, sentence in Sentences(path):
            count += 1
            pattern = re.compile("(^|: )" + ".+?".join(re.escape(part) for part in PLACE.split(sentence)) + r"($|\n)")
            if sentence not in CANNOT_HAPPEN and not any(pattern.search(text) for text in asserted):
                missing.append(f"{path}:{line}: {sentence}")
    print("\n".join(missing + [f"{count} refusals, {len(missing)} without a test"]))
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
