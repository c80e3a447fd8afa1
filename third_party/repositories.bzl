"""Every repository that Tilewright's targets use.

A workspace that consumes single libraries of Tilewright calls the same macro:

    local_repository(name = "tilewright", path = "...")
    load("@tilewright//third_party:repositories.bzl", "tilewright_repositories")
    tilewright_repositories()

Nothing is downloaded. A repository is looked at only when a target that needs it is built: a workspace that builds
`@tilewright//ir` needs Abseil's package, and LLVM's need not be installed.
"""

load("@tilewright//third_party:abseil_names.bzl", "abseil_names")
load("@tilewright//third_party:cross_compiler.bzl", "cross_compiler")
load("@tilewright//third_party:system_library.bzl", "local_directory", "system_library")

# Target name in @absl to pkg-config module. The names are those of Abseil's own build.
_ABSL_TARGETS = [
    "algorithm_container",
    "bits",
    "cleanup",
    "container_memory",
    "core_headers",
    "flags",
    "flags_commandlineflag",
    "flags_parse",
    "flags_reflection",
    "flags_usage",
    "flat_hash_map",
    "flat_hash_set",
    "hash",
    "inlined_vector",
    "int128",
    "node_hash_map",
    "node_hash_set",
    "optional",
    "random_random",
    "span",
    "status",
    "statusor",
    "str_format",
    "strings",
    "synchronization",
    "time",
    "type_traits",
    "variant",
]

def _bazel_repositories():
    """What Bazel's built-in rules refer to by name, from Debian's packages or from small folders of ours."""
    local_directory(name = "platforms", path = "/usr/share/bazel/tools/platforms", debian_package = "bazel-platforms")
    local_directory(name = "rules_java", path = "/usr/share/bazel/rules/java", debian_package = "bazel-rules-java")
    local_directory(name = "rules_proto", path = "/usr/share/bazel/rules/proto", debian_package = "bazel-rules-proto")
    local_directory(name = "bazel_skylib", path = "/usr/share/bazel/tools/skylib", debian_package = "bazel-skylib")
    local_directory(name = "rules_cc", marker = "@tilewright//third_party/rules_cc:WORKSPACE")
    local_directory(name = "rules_shell", marker = "@tilewright//third_party/rules_shell:WORKSPACE")
    local_directory(
        name = "remote_coverage_tools",
        marker = "@tilewright//third_party/remote_coverage_tools:WORKSPACE",
    )

def _abseil(module):
    """@absl: the system's, or other names of the targets of `module`, such as @abseil-cpp."""
    if module:
        abseil_names(name = "absl", module = module, targets = _ABSL_TARGETS)
        return
    system_library(
        name = "absl",
        debian_package = "libabsl-dev",
        headers = ["absl"],
        pkg_config = {target: "absl_" + target for target in _ABSL_TARGETS},
    )

def _base_libraries():
    system_library(
        name = "gtest",
        debian_package = "libgtest-dev libgmock-dev",
        headers = ["gtest", "gmock"],
        # GoogleMock's main() also starts GoogleTest, so one target serves tests with and without matchers.
        pkg_config = {
            "gtest": "gmock gtest",
            "gtest_main": "gmock_main",
        },
    )
    system_library(
        name = "benchmark",
        debian_package = "libbenchmark-dev",
        headers = ["benchmark"],
        libraries = {
            "benchmark": "benchmark",
            "benchmark_main": "benchmark_main benchmark",
        },
    )
    system_library(
        name = "nlohmann_json",
        debian_package = "nlohmann-json3-dev",
        headers = ["nlohmann"],
        header_only = ["nlohmann_json"],
    )
    system_library(
        name = "xgboost",
        debian_package = "libxgboost-dev",
        headers = ["xgboost"],
        libraries = {"xgboost": "xgboost"},
    )
    system_library(
        name = "sqlite3",
        debian_package = "libsqlite3-dev",
        headers = ["sqlite3.h"],
        libraries = {"sqlite3": "sqlite3"},
    )
    # Messages of ONNX files. Only they are used: no checker, no inference.
    system_library(
        name = "onnx",
        debian_package = "libonnx-dev libprotobuf-dev",
        defines = [
            "ONNX_ML=1",
            "ONNX_NAMESPACE=onnx",
        ],
        headers = [
            "google",
            "onnx",
        ],
        libraries = {"onnx": "onnx_proto protobuf"},
    )

    # ONNX's own tests: models with inputs and expected outputs.
    local_directory(
        name = "onnx_testdata",
        path = "/usr/lib/python3/dist-packages/onnx/backend/test/data",
        debian_package = "libonnx-testdata",
        build = """
filegroup(
    name = "all_tests",
    srcs = glob(["**"], exclude = ["real/**"]),
    visibility = ["//visibility:public"],
)
""",
    )
    system_library(
        name = "jemalloc",
        debian_package = "libjemalloc-dev",
        headers = ["jemalloc"],
        libraries = {"jemalloc": "jemalloc"},
    )
    system_library(
        name = "boost_context",
        debian_package = "libboost-context-dev",
        headers = ["boost"],
        libraries = {"boost_context": "boost_context"},
    )

def _llvm():
    system_library(
        name = "llvm",
        debian_package = "llvm-19-dev",
        include_dirs = ["/usr/lib/llvm-19/include"],
        headers = [
            "llvm",
            "llvm-c",
        ],
        libraries = {"llvm": "LLVM-19"},
    )

def _peer_libraries():
    """Libraries that only the benchmarks link, to be measured against."""
    system_library(
        name = "onednn",
        debian_package = "libdnnl-dev",
        headers = ["oneapi"] + [
            "dnnl%s" % rest
            for rest in [
                ".h",
                ".hpp",
                "_config.h",
                "_debug.h",
                "_types.h",
                "_version.h",
            ]
        ],
        libraries = {"onednn": "dnnl"},
    )

    # The pthread flavour by its own folder: openblas_set_num_threads() works there, and it brings no OpenMP run time
    # whose waiting threads would disturb what is measured next.
    system_library(
        name = "openblas",
        debian_package = "libopenblas-pthread-dev",
        include_dirs = ["/usr/include/{multiarch}/openblas-pthread"],
        headers = [
            "cblas.h",
            "openblas_config.h",
        ],
        lib_dirs = ["/usr/lib/{multiarch}/openblas-pthread"],
        libraries = {"openblas": "openblas"},
    )

    # Its header includes that of its thread pool, which is a package of its own.
    system_library(
        name = "xnnpack",
        debian_package = "libxnnpack-dev libpthreadpool-dev",
        headers = [
            "pthreadpool.h",
            "xnnpack.h",
        ],
        libraries = {"xnnpack": "XNNPACK pthreadpool"},
    )

def system_repositories(abseil = None):
    """Libraries, tools and data of the system's packages.

    Args:
      abseil: the repository of an Abseil that is built by Bazel, for a workspace that has one: two versions in one
        program break it. None for the system's.
    """
    _abseil(abseil)
    _base_libraries()
    _llvm()
    _peer_libraries()
    cross_compiler(name = "aarch64_cross", architecture = "aarch64")

def tilewright_repositories(abseil = None):
    """Declares the repositories; call it once, in the WORKSPACE file.

    Args:
      abseil: of system_repositories.
    """
    _bazel_repositories()
    system_repositories(abseil)
