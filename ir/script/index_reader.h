// Index expressions in a text of another dialect: the extents of graph types.
//
//   IndexReader reader(text, "graph.py");
//   reader.Define("n", n);
//   Expr e = reader.Read(*syntax_of("n * 4 + T.min(n, 2)"));      // int64; null after an error
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ir/expr.h"
#include "ir/script/python/ast.h"
#include "ir/script/python/diagnostic.h"

namespace tilewright::script {

struct ModuleContext;

class IndexReader {
 public:
  // Both texts must outlive the reader.
  IndexReader(std::string_view text, std::string_view file);
  ~IndexReader();

  void Define(const std::string& name, const Var& symbol);
  // An integer of type int64 or a condition. Null after an error, which `error` then holds.
  Expr Read(const PyExpr& e);
  const std::optional<Diagnostic>& error() const { return error_; }

 private:
  std::unique_ptr<ModuleContext> context_;
  std::optional<Diagnostic> error_;
};

}  // namespace tilewright::script
