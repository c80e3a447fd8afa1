// From Python text to a syntax tree.
//
//   PythonTree tree = ParsePython(text, "matmul.py");
//   if (tree.error) return absl::InvalidArgumentError(tree.error->ToString());
//
// A statement that is not part of this language is an error of ParsePython, and a kOther among the statements of
// ParsePythonFile, which reads files that hold any Python.
//
// Nesting is bounded (brackets 100 deep, expressions 500 operators deep, statements 350 deep), so that whoever walks
// the tree may recurse.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/script/python/ast.h"
#include "ir/script/python/diagnostic.h"

namespace tilewright::script {

struct PythonTree {
  std::vector<PyStmt> statements;
  std::optional<Diagnostic> error;
};

PythonTree ParsePython(std::string_view text, std::string_view file);
PythonTree ParsePythonFile(std::string_view text, std::string_view file);

}  // namespace tilewright::script
