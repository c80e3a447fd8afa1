"""Unit tests by a line each."""

load("@rules_cc//cc:defs.bzl", "cc_test")

def tw_unit_tests(tests, deps = [], size = "small", **kwargs):
    """For each NAME in `tests` a test NAME_test, of NAME_test.cc, with GoogleTest's main.

        tw_unit_tests({
            "bounds": [":bounds"],
            "linear": [":analyzer", ":linear"],
        })

    Args:
      tests: what each test depends on, by its name.
      deps: what all of them depend on besides.
      size: of all of them.
      **kwargs: for all of them.
    """
    for name in tests:
        cc_test(
            name = name + "_test",
            size = size,
            srcs = [name + "_test.cc"],
            deps = tests[name] + deps + ["@gtest//:gtest_main"],
            **kwargs
        )
