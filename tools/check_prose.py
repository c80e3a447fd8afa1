#!/usr/bin/env python3
"""Prose of comments and messages.

  tools/check_prose.py [--list [FOLDER]]

Counts, for each top folder,

* comments longer than 120 columns, which the formatter leaves as they are;
* comments that begin with a word that needs the sentence before it: Of, That, Than, And than, Where, From where;
* messages and comments that say "is no" or "are no" where "is not a" is meant.

KNOWN holds the counts that are left, columns of diagrams; they may only shrink. --list shows the places.
"""

import collections
import os
import re
import subprocess
import sys

LIMIT = 120
KNOWN = {
    ("autoschedule", "columns"): 2,
    ("codegen", "columns"): 4,
    ("target", "columns"): 1,
}

BEGIN = re.compile(r"^(Of|That|Than|And than|Where|From where)\b(?! is\b| are\b)")
MESSAGE = re.compile(r"\b(?:is|are) no (?!longer\b|more\b|such\b|other\b|larger\b|smaller\b|greater\b|wider\b|deeper\b|further\b|better\b|fewer\b|later\b|earlier\b|less\b|one\b|slower\b|warmer\b|dearer\b|faster\b)")
# "there is no X" and "has no X" are right.
THERE = re.compile(r"\b[Tt]here (?:is|are) no\b")


def Comments(lines):
    """(line number, text, whether a comment begins there)."""
    inside = False
    raw = False  # inside of a string R"(...)"
    for number, line in enumerate(lines, 1):
        if raw or 'R"(' in line:
            raw = ')"' not in line[line.find('R"(') + 3 if not raw else 0:]
            inside = False
            continue
        found = re.match(r"^\s*// ?(.*)$", line)
        if found:
            text = found.group(1)
            yield number, text, not inside
            inside = text.strip() != ""
            continue
        inside = False
        trailing = re.search(r"(?:^|\s)//\s+(.*)$", re.sub(r'"(?:[^"\\]|\\.)*"', '""', line))
        if trailing:
            yield number, trailing.group(1), True


def Places(path):
    with open(path, errors="replace") as f:
        lines = f.read().split("\n")
    for number, text, begins in Comments(lines):
        line = lines[number - 1]
        if len(line) > LIMIT and "://" not in line:
            yield number, "columns", line.strip()
        if begins and BEGIN.match(text):
            yield number, "begin", text
        if MESSAGE.search(THERE.sub("", text)):
            yield number, "is no", text
    if path.endswith("_test.cc"):
        return
    for number, line in enumerate(lines, 1):
        if re.match(r"^\s*//", line):
            continue
        for string in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
            if MESSAGE.search(THERE.sub("", string)):
                yield number, "message", string


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    files = subprocess.run(["git", "ls-files", "*.cc", "*.h"], check=True, capture_output=True, text=True).stdout.split()
    counts = collections.Counter()
    listed = sys.argv[1:2] == ["--list"]
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    for path in files:
        for number, kind, text in Places(path):
            counts[path.split("/")[0], kind] += 1
            if listed and path.startswith(wanted):
                print(f"{path}:{number}: {kind}: {text}")
    if listed:
        return 0
    wrong = []
    for key in sorted(set(counts) | set(KNOWN)):
        folder, kind = key
        if counts[key] > KNOWN.get(key, 0):
            wrong.append(f"{folder}: {counts[key]} places of \"{kind}\", {KNOWN.get(key, 0)} known: see tools/check_prose.py --list {folder}")
        elif counts[key] < KNOWN.get(key, 0):
            wrong.append(f"{folder}: {counts[key]} places of \"{kind}\": lower KNOWN of tools/check_prose.py")
    print("".join(line + "\n" for line in wrong), end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
