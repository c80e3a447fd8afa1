"""Bazel's own rule under the address that newer releases load it by."""

sh_library = native.sh_library
