#!/usr/bin/env python3
"""Writes damaged copies of files: bytes changed, moved, cut or put in.

  tools/damage_files.py FOLDER COUNT SEED FILE...

The same seed gives the same copies, FOLDER/0000 to FOLDER/COUNT-1.
"""

import os
import random
import sys

# Longest run of bytes that is cut out, and that is copied from elsewhere in the file.
MOST_CUT, MOST_COPIED = 8, 40


def Damage(content):
    """One change of a bytearray."""
    at = random.randrange(len(content))
    kind = random.choice(["set", "flip", "cut", "insert", "copy", "end"])
    if kind == "set":
        content[at] = random.randrange(256)
    elif kind == "flip":
        content[at] ^= 1 << random.randrange(8)
    elif kind == "cut":
        del content[at : at + random.randint(1, MOST_CUT)]
    elif kind == "insert":
        content[at:at] = bytes(random.randrange(256) for _ in range(random.randint(1, MOST_CUT)))
    elif kind == "copy":
        begin = random.randrange(len(content))
        content[at:at] = content[begin : begin + random.randint(1, MOST_COPIED)]
    elif random.random() < 0.3:  # most others still have an end
        del content[at:]


def Main():
    folder, count, seed, paths = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    random.seed(seed)
    contents = [open(path, "rb").read() for path in paths]
    os.makedirs(folder, exist_ok=True)
    for number in range(count):
        content = bytearray(random.choice(contents))
        for _ in range(random.choice([1, 1, 2, 3, 6, 12])):
            if content:
                Damage(content)
        with open(os.path.join(folder, f"{number:04d}"), "wb") as file:
            file.write(content)


if __name__ == "__main__":
    Main()
