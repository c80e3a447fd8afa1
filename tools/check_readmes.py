#!/usr/bin/env python3
"""READMEs of rooms against the tree.

  tools/check_readmes.py [--add]

A README names the files of its room in backticks: `split.h`, `split.{h,cc}`, `split_*.cc`, or a path from the room or from
the root.

* What a README names by a path or by a file's ending exists.
* A room's README names each of its headers, or its stem (`split`), or a pattern that it fits.
* A README names each room directly below its own.

With --add, headers that are missed get a row in a table at the end of the README: the first sentence of each header.
"""

import fnmatch
import os
import re
import subprocess
import sys

MODULES = ["base", "bench", "target", "ir", "intrin", "verify", "schedule", "codegen", "autoschedule", "graph", "tools"]
ENDINGS = (".h", ".cc", ".py", ".sh", ".json", ".txt", ".md", ".bzl", ".inc")
# Names of what a page tells its reader to make.
TO_MAKE = re.compile(r"NAME|my_pass")
# Names by which pages show how files are called.
SHOWN = {"GMM_1_512_512_512_f32.py", "compile_commands.json"}


def Expanded(name):
    """`split.{h,cc}` as two names."""
    braces = re.match(r"(.*)\{([^{}]*)\}(.*)", name)
    if not braces:
        return [name]
    before, choices, after = braces.groups()
    return [whole for choice in choices.split(",") for whole in Expanded(before + choice + after)]


def NamesIn(text):
    for quoted in re.findall(r"`([^`\n]+)`", text):
        for name in re.split(r"[,\s]+", quoted) if " " not in quoted.strip() else [quoted]:
            yield from Expanded(name.strip().rstrip("."))


def StemsInTables(page):
    """First cells of tables of files, such as `row_rule`."""
    for table in re.findall(r"^\| *(?:file|header)s? *\|.*\n\|[-|: ]+\n((?:\|.*\n)+)", page, re.M):
        for cell in re.findall(r"^\|([^|]*)\|", table, re.M):
            yield from re.findall(r"`([a-z0-9_]+)`", cell)


def FirstSentence(path):
    words = []
    with open(path) as f:
        for line in f:
            text = line.strip()
            if not text.startswith("//") or text == "//":
                break
            words += text[2:].split()
            end = next((i for i, word in enumerate(words) if word.endswith((".", ":"))), None)
            if end is not None:
                words = words[: end + 1]
                break
    sentence = " ".join(words).rstrip(".:")
    return sentence[:1].lower() + sentence[1:] if re.match("[A-Z][a-z ]", sentence) else sentence


def FirstLineOfPage(path):
    with open(path) as f:
        paragraphs = re.split(r"\n\s*\n", f.read())
    text = " ".join(paragraphs[1].split())
    return re.match(r"[^.?:]*[.?:]?", text).group(0).rstrip(".:")


def Add(readme, heading, kind, rows):
    """Appends rows to the last table of the page, or begins one."""
    with open(readme) as f:
        text = f.read().rstrip("\n") + "\n"
    if not re.search(rf"\n## {heading}\n\n\|.*\n\|.*\n(\|.*\n)*$", text):
        text += f"\n## {heading}\n\n| {kind} | what |\n|---|---|\n"
    with open(readme, "w") as f:
        f.write(text + "".join(f"| `{name}` | {what} |\n" for name, what in rows))


def main():
    add = sys.argv[1:] == ["--add"]
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    tracked = subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True).stdout.split()
    folders = {os.path.dirname(path) for path in tracked}
    folders |= {os.path.dirname(folder) for folder in folders}
    wrong = []
    for readme in tracked:
        room = os.path.dirname(readme)
        if os.path.basename(readme) != "README.md" or room.split("/")[0] not in MODULES:
            continue
        with open(readme) as f:
            page = f.read()
        names = set(NamesIn(page))

        def Matches(name):
            found = []
            for root in (room + "/", "", room.split("/")[0] + "/"):
                found += fnmatch.filter(tracked, root + name)
            return found

        for name in sorted(names):
            is_file = name.endswith(ENDINGS) and re.fullmatch(r"[\w./*-]+", name) and not name.startswith((".", "*", "/"))
            if is_file and not TO_MAKE.search(name) and name not in SHOWN and not Matches(name) and not fnmatch.filter(tracked, "*/" + name):
                wrong.append(f"{readme} names {name}, which does not exist")
        files_of_room = {os.path.splitext(os.path.basename(path))[0] for path in tracked if os.path.dirname(path) == room}
        for stem in sorted(StemsInTables(page)):
            if stem not in files_of_room and stem not in folders and f"{room}/{stem}" not in folders:
                wrong.append(f"{readme} lists {stem}, which is not in the room")
        headers = [path for path in tracked if os.path.dirname(path) == room and path.endswith(".h")]
        missed = []
        for path in headers:
            name = os.path.basename(path)
            stem = name[:-2]
            if not any(fnmatch.fnmatch(name, n) or n in (stem, path, ":" + stem, f"//{room}:{stem}", stem + ".cc") for n in names):
                missed.append(name)
        if missed and add:
            Add(readme, "Headers", "header", [(name, FirstSentence(f"{room}/{name}")) for name in sorted(missed)])
        elif missed:
            wrong.append(f"{readme} does not name {', '.join(sorted(missed))} (tools/check_readmes.py --add does)")
        below = sorted({path[len(room) + 1:].split("/")[0] for path in tracked
                        if path.startswith(room + "/") and path.endswith("/README.md") and path.count("/") == room.count("/") + 2})
        missed = [name for name in below if not any(
            n.rstrip("/") in (name, f"{room}/{name}") or re.search(rf"(^|[/:]){name}(/|$)", n) for n in names)]
        if missed and add:
            Add(readme, "Rooms", "room", [(f"{name}/", FirstLineOfPage(f"{room}/{name}/README.md")) for name in missed])
        elif missed:
            wrong.append(f"{readme} does not name the rooms {', '.join(missed)} (tools/check_readmes.py --add does)")
    print("".join(line + "\n" for line in wrong), end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
