"""Repository rules that turn what the system's packages installed into Bazel repositories.

`system_library` makes C++ libraries of installed headers and shared objects. Its headers reach the compiler with
-isystem, through a folder of links that holds only this package's headers: warnings stay ours, and a library whose
package is missing is reported by the name of the package, not by the first header that cannot be found.

`local_directory` makes a repository of a folder that already is one.

Repositories are evaluated when a target that needs them is built, so a missing package never stops the rest.
"""

def _fail_missing(ctx, what):
    fail("@{name}: {what} not found. Install the Debian package: apt-get install {package}".format(
        name = ctx.name,
        what = what,
        package = ctx.attr.debian_package,
    ))

def _run(ctx, command):
    """Returns the command's output, or None if it failed or does not exist."""
    if not ctx.which(command[0]):
        return None
    result = ctx.execute(command)
    return result.stdout.strip() if result.return_code == 0 else None

def _expand(ctx, path):
    """Replaces {multiarch} in a path by the system's library folder name, such as x86_64-linux-gnu."""
    if "{multiarch}" not in path:
        return path
    return path.replace("{multiarch}", _run(ctx, ["uname", "-m"]) + "-linux-gnu")

def _link_headers(ctx):
    """Links each entry of `headers` from the first of `include_dirs` that has it into include/."""
    directories = [ctx.path(_expand(ctx, directory)) for directory in ctx.attr.include_dirs]
    for header in ctx.attr.headers:
        found = [d.get_child(header) for d in directories if d.get_child(header).exists]
        if not found:
            _fail_missing(ctx, "header " + header)
        ctx.symlink(found[0], "include/" + header)

def _pkg_config_linkopts(ctx, modules):
    if not ctx.which("pkg-config"):
        fail("@{}: pkg-config not found. Install the Debian package: apt-get install pkg-config".format(ctx.name))
    flags = _run(ctx, ["pkg-config", "--libs"] + modules.split(" "))
    if flags == None:
        _fail_missing(ctx, "pkg-config module " + modules)
    return flags.split(" ")

def _library_linkopts(ctx, library):
    """Link flags of one library. A folder that is not the linker's own is also recorded in the binary, so that the
    copy that was chosen is the one that runs."""
    standard = _expand(ctx, "/usr/lib/{multiarch}")
    for directory in [_expand(ctx, d) for d in ctx.attr.lib_dirs]:
        for suffix in [".so", ".a"]:
            if ctx.path(directory).get_child("lib" + library + suffix).exists:
                flags = ["-l" + library]
                return flags if directory == standard else ["-L" + directory, "-Wl,-rpath," + directory] + flags
    _fail_missing(ctx, "library lib" + library)

_HEADERS_TARGET = """
load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "headers",
    hdrs = glob(["include/**"]),
    includes = ["include"],
    visibility = ["//visibility:private"],
)
"""

_LIBRARY_TARGET = """
cc_library(
    name = "{name}",
    defines = {defines},
    linkopts = {linkopts},
    visibility = ["//visibility:public"],
    deps = [":headers"],
)
"""

def _system_library_impl(ctx):
    _link_headers(ctx)
    linkopts = {}
    for target in ctx.attr.header_only:
        linkopts[target] = []
    for target, modules in ctx.attr.pkg_config.items():
        linkopts[target] = _pkg_config_linkopts(ctx, modules)
    for target, libraries in ctx.attr.libraries.items():
        linkopts[target] = [flag for library in libraries.split(" ") for flag in _library_linkopts(ctx, library)]

    build = "# Made by system_library from the Debian package {}.\n".format(ctx.attr.debian_package) + _HEADERS_TARGET
    for target, flags in linkopts.items():
        if flags:
            # A package's list names more objects than a program uses; only the used ones are loaded at start.
            flags = ["-Wl,--push-state,--as-needed"] + flags + ["-Wl,--pop-state"]
        build += _LIBRARY_TARGET.format(name = target, defines = repr(ctx.attr.defines), linkopts = repr(flags))
    ctx.file("BUILD", build)
    ctx.file("WORKSPACE", "workspace(name = \"{}\")\n".format(ctx.name))

system_library = repository_rule(
    implementation = _system_library_impl,
    doc = "C++ libraries that a Debian package installs. Each target also brings the headers.",
    local = True,
    attrs = {
        "debian_package": attr.string(mandatory = True, doc = "The package that the failure message names."),
        "include_dirs": attr.string_list(default = ["/usr/include"], doc = "Where to look for headers, in order."),
        "headers": attr.string_list(mandatory = True, doc = "Files and folders in include_dirs, such as `absl`."),
        "lib_dirs": attr.string_list(default = ["/usr/lib/{multiarch}"], doc = "Where to look for `libraries`."),
        "pkg_config": attr.string_dict(doc = "Target name to pkg-config modules, separated by spaces."),
        "libraries": attr.string_dict(doc = "Target name to library names (without lib and .so), separated by spaces."),
        "defines": attr.string_list(doc = "Macros that the headers ask for."),
        "header_only": attr.string_list(doc = "Targets that link nothing."),
    },
)

def _local_directory_impl(ctx):
    if ctx.attr.marker:
        directory = ctx.path(ctx.attr.marker).dirname
    else:
        directory = ctx.path(ctx.attr.path)
        if not directory.exists:
            _fail_missing(ctx, ctx.attr.path)
    for child in directory.readdir():
        ctx.symlink(child, child.basename)
    if ctx.attr.build:
        ctx.file("BUILD", ctx.attr.build)

local_directory = repository_rule(
    implementation = _local_directory_impl,
    doc = "A folder that is a Bazel repository already: one that a Debian package installs, or one in this tree.",
    local = True,
    attrs = {
        "debian_package": attr.string(doc = "The package that installs `path`."),
        "path": attr.string(doc = "The folder, as an absolute path."),
        "build": attr.string(doc = "The BUILD file, for a folder that has none."),
        "marker": attr.label(doc = "A file in the folder, for a folder of the repository that calls the rule."),
    },
)
