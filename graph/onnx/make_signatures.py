#!/usr/bin/env python3
"""Writes signature_table.cc: the signatures of the operators of the importer's table, as ONNX and ONNX Runtime have them.

    python3 graph/onnx/make_signatures.py && tools/check_format.sh --fix

Needs the packages onnx and onnxruntime (bench/peers/setup.sh onnxruntime).
"""

import pathlib
import re

from onnx import defs
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

HERE = pathlib.Path(__file__).parent
UNLIMITED = 2**31 - 1
HEADER = """// Written by make_signatures.py from the schemas of ONNX and ONNX Runtime; signatures.h explains the columns.
#include "graph/onnx/signatures.h"

namespace tilewright::graph {
namespace {

// clang-format off
constexpr SignatureRow kRows[] = {
"""
FOOTER = """};
// clang-format on

}  // namespace

std::span<const SignatureRow> SignatureTable() { return kRows; }

}  // namespace tilewright::graph
"""


def names_of_rows():
    """The operators of the table, and those that stand in the default domain of ONNX Runtime alone."""
    text = "".join(path.read_text() for path in sorted((HERE / "ops").glob("*.cc")))
    return set(re.findall(r'\{"(\w+)",\s*\d+,\s*Import', text))


def versions_of(names):
    """{(domain, name): {version: schema}}; the schemas of ONNX go before those of ONNX Runtime."""
    versions = {}
    for schema in [*runtime.get_all_operator_schema(), *defs.get_all_schemas_with_history()]:
        domain = "" if schema.domain == "ai.onnx" else schema.domain
        if schema.name in names and domain in ("", "com.microsoft", "ai.onnx.ml", "ai.onnx.preview.training"):
            versions.setdefault((domain, schema.name), {})[schema.since_version] = schema
    return versions


def counts(schemas, least, most):
    """The numbers of operands as text: LEAST-MOST@OPSET where they change."""
    words, last = [], None
    for version, schema in sorted(schemas.items()):
        low, high = getattr(schema, least), getattr(schema, most)
        high = "*" if high >= UNLIMITED else high
        count = f"{low}" if low == high else f"{low}-{high}"
        if count != last:
            words.append(count if not words else f"{count}@{version}")
        last = count
    return " ".join(words)


def attributes(schemas):
    """The names of attributes as text: NAME@FIRST-LAST where an opset does not have it."""
    words = []
    order = sorted(schemas)
    for name in sorted({name for schema in schemas.values() for name in schema.attributes}):
        has = [name in schemas[version].attributes for version in order]
        first = has.index(True)
        last = len(has) - 1 - has[::-1].index(True)
        assert all(has[first : last + 1]), name
        word = name
        if first > 0 or last < len(has) - 1:
            word += f"@{order[first]}-"
        if last < len(has) - 1:
            word += f"{order[last + 1] - 1}"
        words.append(word)
    return " ".join(words)


def row(domain, name, schemas):
    columns = [domain, name, counts(schemas, "min_input", "max_input"), counts(schemas, "min_output", "max_output")]
    text = '      {"' + '", "'.join(columns) + '",'
    line = ""
    for word in attributes(schemas).split():
        if len(line) + len(word) > 98:
            text += f'\n       "{line} "'
            line = ""
        line += f" {word}" if line else word
    joined = f' "{line}"' + "},"
    return text + (joined if "\n" not in text and len(text + joined) <= 120 else f'\n       "{line}"' + "},") + "\n"


def main():
    rows = [row(*key, schemas) for key, schemas in sorted(versions_of(names_of_rows()).items())]
    (HERE / "signature_table.cc").write_text(HEADER + "".join(rows) + FOOTER)


if __name__ == "__main__":
    main()
