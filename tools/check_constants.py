#!/usr/bin/env python3
"""Numbers that decide something in autoschedule, and constants in target/*.h: each has a unit and a reason here.

  tools/check_constants.py          fails when there is one that this script does not name, or when it names too many
  tools/check_constants.py --list   prints them

What hardware is stands in target/presets, as data; what an operation costs is a field of the target's part
(target/costs.h). Rules hold few numbers of their own: bounds of what is tried, and preferred values of choices. Counted are

  * constants with a name, wherever they are defined and whatever makes them constant; two in one definition are two,
    a list is one;
  * numbers without a name in conditions: `side >= 128 ? 8 : 4` has three.

Not counted, since they are not thresholds: 0, 1 and 2; widths of types (bits(), bytes(), lanes()), how many entries a
list has (size(), ndim()), arguments of templates, and what stands in tests.
"""

import os
import re
import subprocess
import sys

FOLDERS = ["sketch", "movement", "normalize", "program", "tensorize", "cost"]
# At most so many in all rooms, without EXEMPT. May only shrink.
MOST = 39

# By room (what is in folders of GPUs is a room of its own): the name, its unit, why it is a number of the rule.
NUMBERS = {
    "cost": {
        "kMostValues": ("values", "bound of work: forms with more are taken as uniformly distributed"),
        "kUnknownExtent": ("iterations", "of a loop whose extent the program does not bound"),
        "kMostBytes": ("bytes", "of a buffer that compilers keep in registers"),
    },
    "movement": {
        "kManyReads": ("elements", "that packing reads in more than milliseconds, so that it pays to share the work"),
        "kWorthFusing": ("ratio of efficiencies", "from which rows of several iterators are packed as one"),
    },
    "normalize": {
        "kMostPadding": ("ratio of elements", "of a padded operand that is copied only to be flipped ahead"),
        "kMostPaddingByElements": ("ratio of elements", "the same where tiles would flip elements of registers"),
        "kMostElements": ("elements", "that a factor of products is computed from each time"),
        "kMostAgain": ("operations", "of a value that is computed once more for each of its uses"),
        "kMostPhases": ("phases", "bound of work: all sets of them are tried"),
        "kLeastUses": ("uses", "of a product that is computed ahead"),
    },
    "program": {
        "kBusy": ("part of the time", "in which cores are busy enough that no further loop is divided"),
        "kBusyThroughout": ("part of the time", "in which cores are busy nearly always"),
        "kMostCandidates": ("candidates", "bound of what a choice offers"),
        "kWorthATry": ("ratio of estimates", "bound of what is tried: tiles, and ways of Winograd"),
        "kNearlyEqual": ("part of a time or an efficiency", "that does not tell two ways apart"),
        "kMostWrittenOut": ("statements", "bound of code: loops are written out up to it"),
        "kTypicalSize": ("elements", "value of a size that nobody named"),
        "kTypicalBytes": ("bytes", "bound of what tests and searches allocate for sizes that nobody named"),
        "kMostOperations": ("operations", "bound of a value's text: it grows by what is inlined"),
        "kMostOperationsAhead": ("operations", "the same of what is computed once, ahead of time"),
    },
    "sketch": {
        "kMostJoinedBlocks": ("blocks", "bound of work: each step in a nest looks at its blocks"),
        "kWeights": ("weights", "how often structures of each fit are drawn"),
        "kStencilTiles": ("planes, rows, vectors", "preferred values of choices, by what a stencil's vectors share"),
        "kMostStencilLoads": ("loads", "bound of work: which of them overlap is asked pair by pair"),
        "kLastLanes": ("lanes", "of the last steps of a reduction by lanes"),
        "kLeastPlanes": ("planes", "from which on they are summed first"),
        "kMostWithBorders": ("statements", "bound of code where each border writes the tile once more"),
        "kPreferred": ("part of the time", "that Winograd takes at most where it is preferred"),
        "kLeastTerms": ("terms", "of a sum next to which Winograd's rounding errors are not seen"),
        "kMostOutputsOfTwo": ("outputs", "along each side of a tile over two windows: their errors multiply"),
    },
    "sketch/gpu": {
        "kMostPadding": ("ratio of products", "that a large tile may cost"),
        "kLeastUsefulPart": ("part of the products", "of a padded product that is worth a tile"),
        "kPreferredThreadSides": ("elements", "preferred values of the choices NAME.thread_m and NAME.thread_n"),
        "kRowBytes": ("bytes", "a multiple of which a row in shared memory is longer by an access"),
        "kMostStages": ("stages", "bound of what a choice offers"),
    },
    "tensorize": {
        "4": ("ratio of steps", "3 / 4: a deeper step fills whole lines"),
        "kMostVectors": ("vectors", "bound of the tiles that are compared"),
        "kLongestSide": ("elements", "bound of the tiles that are compared"),
    },
}
# Not thresholds: what an instruction set fixes, the row of numbers that learned models read, and what choices offer.
EXEMPT = {
    "target": {"kAmxRegisters", "kAmxRows", "kAmxRowBytes", "kAmxGroupBytes"},
    "cost": {"kLevels", "kChain", "kHotBuffers"},
    "sketch/gpu": {"kFragmentSide", "kSides", "kDepths", "kThreadSides", "kSidesN", "kClusterSizes"},
}

DEFINITION = re.compile(r"^[ \t]*(?:inline |static )*const(?:expr)? (?:inline )?[\w:<>, ]+? (k[A-Z]\w*(?:\[[^\]]*\])* = [^;]*);", re.M)
NAME = re.compile(r"(?:^|, )(k[A-Z]\w*)(?:\[[^\]]*\])* = (\{[^}]*\}|[^,]*)")
NUMBER = r"(?<![\w.])(\d[\d']*(?:\.\d+)?(?:e-?\d+)?)(?![\w.(])"
# A comparison with a number, before or behind it, and the numbers between which a condition chooses.
COMPARED = re.compile(rf"([^\s,;(]+(?:\([^()]*\))?)\s+(?:[<>]=?|[!=]=)\s+{NUMBER}|{NUMBER}\s+(?:[<>]=?|[!=]=)\s+([^\s,;]+)")
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
            if re.match(r"[{\s]*(?:int64_t\{)?-?[\d.]", value) and value.strip() not in ("0", "1", "2"):
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
    found = [number for number in Numbers() if number[3] not in EXEMPT.get(number[0], ())]
    wrong = []
    for room, path, line, what in found:
        unit, reason = NUMBERS.get(room, {}).get(what, ("", ""))
        if not unit:
            wrong.append(f"{path}:{line}: {what} has neither a unit nor a reason in tools/check_constants.py")
        elif "--list" in sys.argv[1:]:
            print(f"{path}:{line}: {what}: {unit}; {reason}")
    named = {(room, what) for room, _, _, what in found}
    wrong += [f"tools/check_constants.py names {what} of {room}, which is gone" for room, names in NUMBERS.items() for what in names if (room, what) not in named]
    rooms = sorted({number[0] for number in found})
    print(f"{len(found)} numbers: " + ", ".join(f"{sum(number[0] == room for number in found)} in {room}" for room in rooms))
    if len(found) > MOST:
        wrong.append(f"there are {len(found)} numbers, at most {MOST}")
    if wrong:
        sys.exit("\n".join(wrong) + "\nwhat hardware is belongs into target/presets, what it costs into target/costs.h, what a rule prefers into a choice")
    if len(found) < MOST:
        print(f"there are {len(found)} numbers: MOST may be lower")


if __name__ == "__main__":
    main()
