"""The system's libraries for workspaces whose dependencies are modules (MODULE.bazel).

    tilewright = use_extension("@tilewright//third_party:extensions.bzl", "system_libraries")
    tilewright.abseil(repository = "@abseil-cpp")     # Abseil of the registry; the system's without this line

Releases of Bazel without modules do not read this file.
"""

load("//third_party:repositories.bzl", "system_repositories")

_abseil = tag_class(attrs = {
    "repository": attr.string(mandatory = True, doc = "An Abseil that Bazel builds, as Tilewright's MODULE.bazel names it."),
})

def _system_libraries_impl(module_ctx):
    abseil = None
    for module in module_ctx.modules:
        for tag in module.tags.abseil:
            # The root module decides; it comes first.
            abseil = abseil or tag.repository
    system_repositories(abseil)

system_libraries = module_extension(
    implementation = _system_libraries_impl,
    tag_classes = {"abseil": _abseil},
)
