#!/usr/bin/env python3
"""Checks what newer releases of Bazel than the one at hand ask for:

* every BUILD file loads the rules of C++ and of the shell that it uses, and .bzl files call none of them as native ones;
* WORKSPACE (third_party/repositories.bzl) and MODULE.bazel name the same repositories;
* MODULE.bazel has the version of the program;
* the names of Abseil's targets are those of its two forms (third_party/abseil_names.bzl).
"""

import os
import re
import subprocess
import sys

# Rules that releases without rules of their own load from other repositories.
LOADED = re.compile(r"^((?:cc|sh|py|java|proto|objc)_(?:binary|library|test|import|proto_library))\(", re.MULTILINE)
NATIVE = re.compile(r"native\.((?:cc|sh|py|java|proto|objc)_\w+)")
# These folders give native rules the addresses that others load them by.
ADDRESSES = ("third_party/rules_cc/", "third_party/rules_shell/")
# Repositories of Bazel's own rules: modules of the registry in the one form, folders of Debian's packages in the other.
OF_BAZEL = "_bazel_repositories"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def loaded_names(text):
    names = set()
    for arguments in re.findall(r"^load\((.*?)\)", text, re.MULTILINE | re.DOTALL):
        names.update(re.findall(r'"([^"]+)"', arguments)[1:])
    return names


def check_loads(files):
    for path in files:
        if os.path.basename(path) == "BUILD":
            text = read(path)
            for rule in sorted(set(LOADED.findall(text)) - loaded_names(text)):
                yield f"{path} uses {rule} without loading it"
        elif path.endswith(".bzl") and not path.startswith(ADDRESSES):
            for rule in sorted(set(NATIVE.findall(read(path)))):
                yield f"{path} uses native.{rule}; it is loaded from @rules_cc or @rules_shell"


def repositories(text):
    """Names that functions of repositories.bzl declare, without those of Bazel's own rules."""
    names = set()
    text = re.sub(r'""".*?"""', "", text, flags=re.DOTALL)
    for function in re.split(r"^def ", text, flags=re.MULTILINE)[1:]:
        if not function.startswith(OF_BAZEL):
            names.update(re.findall(r'\bname = "([^"]+)"', function))
    return names


def check_modules():
    module = read("MODULE.bazel")
    used = re.search(r"use_repo\(\s*system_libraries,(.*?)\)", module, re.DOTALL)
    named = set(re.findall(r'"([^"]+)"', used[1])) if used else set()
    declared = repositories(read("third_party/repositories.bzl"))
    for name in sorted(declared - named):
        yield f"MODULE.bazel does not name @{name}, which third_party/repositories.bzl declares"
    for name in sorted(named - declared):
        yield f"MODULE.bazel names @{name}, which third_party/repositories.bzl does not declare"
    version = re.search(r'kVersion = "([^"]+)"', read("tools/command_line/command.h"))[1]
    if f'version = "{version}",' not in re.search(r"^module\((.*?)^\)", module, re.MULTILINE | re.DOTALL)[1]:
        yield f"MODULE.bazel does not have the version {version} of tools/command_line/command.h"


def check_abseil():
    targets = re.search(r"_ABSL_TARGETS = \[(.*?)\]", read("third_party/repositories.bzl"), re.DOTALL)[1]
    flat = set(re.findall(r'"([^"]+)"', targets))
    packages = set(re.findall(r'^    "([^"]+)": \(', read("third_party/abseil_names.bzl"), re.MULTILINE))
    for name in sorted(flat ^ packages):
        yield f"@absl//:{name} is in one of third_party/repositories.bzl and third_party/abseil_names.bzl only"


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    files = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split()
    faults = [*check_loads(path for path in files if os.path.exists(path)), *check_modules(), *check_abseil()]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
