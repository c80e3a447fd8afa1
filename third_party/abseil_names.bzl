"""Abseil built by Bazel, under the flat names that the system's has here.

    @absl//:statusor    is then    @abseil-cpp//absl/status:statusor
"""

# Packages of the targets whose package has another name.
_PACKAGES = {
    "algorithm_container": ("algorithm", "container"),
    "bits": ("numeric", "bits"),
    "cleanup": ("cleanup", "cleanup"),
    "container_memory": ("container", "container_memory"),
    "core_headers": ("base", "core_headers"),
    "flags": ("flags", "flag"),
    "flags_commandlineflag": ("flags", "commandlineflag"),
    "flags_parse": ("flags", "parse"),
    "flags_reflection": ("flags", "reflection"),
    "flags_usage": ("flags", "usage"),
    "flat_hash_map": ("container", "flat_hash_map"),
    "flat_hash_set": ("container", "flat_hash_set"),
    "hash": ("hash", "hash"),
    "inlined_vector": ("container", "inlined_vector"),
    "int128": ("numeric", "int128"),
    "node_hash_map": ("container", "node_hash_map"),
    "node_hash_set": ("container", "node_hash_set"),
    "optional": ("types", "optional"),
    "random_random": ("random", "random"),
    "span": ("types", "span"),
    "status": ("status", "status"),
    "statusor": ("status", "statusor"),
    "str_format": ("strings", "str_format"),
    "strings": ("strings", "strings"),
    "synchronization": ("synchronization", "synchronization"),
    "time": ("time", "time"),
    "type_traits": ("meta", "type_traits"),
    "variant": ("types", "variant"),
}

def _abseil_names_impl(ctx):
    build = ""
    for name in ctx.attr.targets:
        package, target = _PACKAGES[name]
        actual = "%s//absl/%s:%s" % (ctx.attr.module, package, target)
        build += "alias(name = %r, actual = %r, visibility = [\"//visibility:public\"])\n" % (name, actual)
    ctx.file("BUILD", build)
    ctx.file("WORKSPACE", "workspace(name = \"absl\")\n")

abseil_names = repository_rule(
    implementation = _abseil_names_impl,
    doc = "Other names of the targets of an Abseil.",
    attrs = {
        "module": attr.string(mandatory = True, doc = "Its repository, such as `@abseil-cpp`."),
        "targets": attr.string_list(mandatory = True, doc = "Names without packages, those of its CMake build."),
    },
)
