"""The C++ rules, under the names that other rule sets load them by.

Bazel's own rules are used as they are: this file only gives them the address `@rules_cc//cc:defs.bzl`.
"""

cc_binary = native.cc_binary
cc_import = native.cc_import
cc_library = native.cc_library
cc_proto_library = native.cc_proto_library
cc_test = native.cc_test
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
objc_library = native.objc_library
