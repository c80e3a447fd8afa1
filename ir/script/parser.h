// The script parser: from text in TensorIR's Python dialect to a module, with no Python.
//
//   absl::StatusOr<Module> module = ParseModule(text, "matmul.py");
//
// docs/script.md describes the language. Errors carry file, line, column and what was expected; no text makes the
// parser crash, hang or build a program that breaks the IR's own rules on types and numbers of indices.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/function.h"
#include "ir/script/python/ast.h"
#include "ir/script/python/diagnostic.h"

namespace tilewright {

// An InvalidArgument status holds all diagnostics as text.
absl::StatusOr<Module> ParseModule(std::string_view text, std::string_view file_name = "<script>");

namespace script {

struct ParseResult {
  Module module;                        // the functions without errors
  std::vector<Diagnostic> diagnostics;  // at most one per function, and those between functions; empty: all is well
  std::vector<PyStmt> others;           // definitions with other decorators, where they were to be kept
};
// `keep_others`: functions of another dialect (@R.function) are returned as syntax instead of refused.
ParseResult Parse(std::string_view text, std::string_view file_name = "<script>", bool keep_others = false);

}  // namespace script
}  // namespace tilewright
