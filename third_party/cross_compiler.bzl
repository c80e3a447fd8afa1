"""C++ compilers for other architectures, where they are installed.

`cross_compiler` makes a repository whose `compiler.bzl` has the compiler's path as COMPILER, empty where there is none:
what needs it is left out then, and tests of it are skipped by name.
"""

def _cross_compiler_impl(ctx):
    compiler = ctx.which(ctx.attr.architecture + "-linux-gnu-g++")
    ctx.file("BUILD", "")
    ctx.file("compiler.bzl", "COMPILER = %s\n" % repr(str(compiler) if compiler else ""))

cross_compiler = repository_rule(
    implementation = _cross_compiler_impl,
    attrs = {"architecture": attr.string(mandatory = True, doc = "As GNU names it: aarch64.")},
    # Looked for each time that Bazel starts, so that installing it is enough.
    local = True,
)
