#!/usr/bin/env python3
"""Writes compile_commands.json at the root, for editors and clang-tidy.

  tools/compile_commands.py [TARGET PATTERN...]     # //... without one

Asks Bazel for its compile actions; nothing is compiled. Paths are those of the workspace, and headers of system
libraries are found through the folder of external repositories, which Bazel makes at the first build.
"""

import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def Bazel(*arguments):
    return subprocess.run(["bazel", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def CompileActions(patterns):
    """The argument lists of all C++ compilations that the patterns need."""
    query = "mnemonic('CppCompile', deps(%s))" % " + ".join(patterns)
    answer = json.loads(Bazel("aquery", "--noshow_progress", "--ui_event_filters=-info", "--output=jsonproto", query))
    return [action["arguments"] for action in answer.get("actions", [])]


def main():
    patterns = sys.argv[1:] or ["//..."]
    external = os.path.join(Bazel("info", "--noshow_progress", "--ui_event_filters=-info", "output_base").strip(),
                            "external")
    entries = {}
    for arguments in CompileActions(patterns):
        source = arguments[arguments.index("-c") + 1]
        if source.startswith("external/"):
            continue
        arguments = [argument.replace("external/", external + "/", 1) if argument.startswith("external/") else argument
                     for argument in arguments]
        entries[source] = {"directory": ROOT, "file": source, "arguments": arguments}
    with open(os.path.join(ROOT, "compile_commands.json"), "w") as out:
        json.dump([entries[source] for source in sorted(entries)], out, indent=1)
    print("compile_commands.json has %d files" % len(entries))


if __name__ == "__main__":
    main()
