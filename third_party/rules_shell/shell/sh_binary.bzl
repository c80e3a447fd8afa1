"""Bazel's own rule under the address that newer releases load it by."""

sh_binary = native.sh_binary
