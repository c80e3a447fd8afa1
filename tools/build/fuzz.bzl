"""Fuzz targets that are tests too."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_test")

def tw_fuzz_test(name, srcs, deps, corpus = [], size = "small", **kwargs):
    """A function LLVMFuzzerTestOneInput, twice.

    `name` is a test that runs it on every file of the corpus: inputs that once found a bug stay fixed.
    `name`_fuzzer searches for new inputs:

        bazel run --config=fuzz //target:target_json_fuzz_fuzzer -- -max_total_time=60 $PWD/target/fuzz_corpus

    Args:
      name: of the test.
      srcs: the file that defines LLVMFuzzerTestOneInput.
      deps: what it tests.
      corpus: input files, such as glob(["fuzz_corpus/**"]).
      size: of the test.
      **kwargs: for both targets.
    """
    cc_test(
        name = name,
        size = size,
        srcs = srcs + ["//tools/build:replay_corpus.cc"],
        args = ["$(locations %s)" % file for file in corpus],
        data = corpus,
        deps = deps,
        **kwargs
    )
    cc_binary(
        name = name + "_fuzzer",
        testonly = True,
        srcs = srcs,
        linkopts = ["-fsanitize=fuzzer"],
        tags = ["manual"],
        deps = deps,
        **kwargs
    )
