// From the syntax tree of one @R.function to the graph IR. Internal to //graph/ir:parser.
//
// A method that reads something returns nothing (false, null) after an error; the first error is kept.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/block_builder.h"
#include "ir/script/index_reader.h"
#include "ir/script/python/ast.h"
#include "ir/script/python/diagnostic.h"

namespace tilewright::graph {

using script::Diagnostic;
using script::PyExpr;
using script::PyExprPtr;
using script::PyParameter;
using script::PyStmt;

// What the functions of one text share.
struct GraphContext {
  std::string_view text, file;
  const std::vector<Constant>* constants = nullptr;
  BlockBuilder* builder = nullptr;
  // Reads the function of that name first, if the text has one that is not read yet. False after an error.
  std::function<bool(const std::string& name, uint32_t offset)> need_function;
};

class GraphReader {
 public:
  explicit GraphReader(const GraphContext& context)
      : context_(context), b_(*context.builder), index_(context.text, context.file) {}

  bool Read(const PyStmt& definition);
  const std::optional<Diagnostic>& error() const { return error_; }

 private:
  bool Fail(uint32_t offset, std::string message);
  bool FailStatus(uint32_t offset, const absl::Status& status) { return Fail(offset, std::string(status.message())); }

  // --- Functions and statements (reader.cc).
  bool ReadParameters(const PyStmt& definition, std::vector<Var>* params);
  bool ReadSymbols(const PyStmt& s, bool* is_symbols);
  bool ReadBody(const std::vector<PyStmt>& body, const std::string* result_name, Value* result);
  bool ReadStmt(const PyStmt& s);
  bool ReadDataflow(const PyStmt& s);
  bool ReadOutputs(const PyExpr& call, std::vector<Var>* outputs);
  bool ReadIf(const PyStmt& s);
  bool ReadBranch(const std::vector<PyStmt>& body, const std::string& name, Seq* out);
  bool ReadBinding(const PyStmt& s, const std::string& name);
  bool ReadGuard(const PyStmt& s);
  bool Bind(const std::string& name, const Value& value, const Type& annotation, uint32_t offset);

  // --- Types and extents (read_type.cc).
  bool ReadType(const PyExpr& e, Type* out);
  bool ReadTensorType(const PyExpr& call, Type* out);
  bool ReadExtents(const PyExpr& e, std::vector<Expr>* out);
  bool ReadExtent(const PyExpr& e, Expr* out);
  bool ReadQuotedExtent(const PyExpr& e, Expr* out);
  Symbol DefineSymbol(const std::string& name);

  // --- Values (read_value.cc).
  bool ReadValue(const PyExpr& e, Value* out);
  bool ReadValues(const std::vector<PyExprPtr>& items, size_t first, std::vector<Value>* out);
  bool ReadSubscript(const PyExpr& e, Value* out);
  bool ReadCall(const PyExpr& e, Value* out);
  bool ReadOpCall(const PyExpr& e, const std::string& name, Value* out);
  bool ReadCallTir(const PyExpr& e, Value* out);
  bool ReadCallFunction(const PyExpr& e, const std::string& name, Value* out);
  bool ReadConstant(const PyExpr& e, Value* out);
  bool ReadElements(const PyExpr& e, std::vector<int64_t>* shape, size_t dim, std::vector<const PyExpr*>* out);
  bool SetElement(const PyExpr& e, const NDArray& array, int64_t position);
  bool ReadAttr(const PyExpr& e, AttrValue* out);
  bool ReadAttrs(const PyExpr& dict, Attrs* out);
  std::optional<DataType> ReadDtype(const PyExpr& e);
  const PyExpr* Keyword(const PyExpr& call, std::string_view name) const;

  const GraphContext& context_;
  BlockBuilder& b_;
  script::IndexReader index_;
  std::optional<Diagnostic> error_;
  std::map<std::string, Symbol, std::less<>> symbols_;
  std::map<std::string, Value, std::less<>> values_;
};

// "R.nn.relu" for nested attributes of names, nothing for anything else.
std::string DottedName(const PyExpr& e);
// A number with its sign, for ints and floats; float("inf") too.
std::optional<double> NumberOf(const PyExpr& e);
std::optional<int64_t> IntegerOf(const PyExpr& e);

}  // namespace tilewright::graph
