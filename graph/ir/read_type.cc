#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/ir/reader.h"
#include "ir/script/python/parser.h"

namespace tilewright::graph {
namespace {

using Kind = PyExpr::Kind;

bool IsIdentifier(const std::string& text) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), is_word);
}

}  // namespace

Symbol GraphReader::DefineSymbol(const std::string& name) {
  const auto it = symbols_.find(name);
  if (it != symbols_.end()) return it->second;
  Symbol symbol(name, DataType::Int(64));
  symbols_.emplace(name, symbol);
  index_.Define(name, symbol);
  return symbol;
}

// "n" defines a symbol, "n * 4" uses symbols, which it defines too.
bool GraphReader::ReadQuotedExtent(const PyExpr& e, Expr* out) {
  if (IsIdentifier(e.text)) {
    *out = DefineSymbol(e.text);
    return true;
  }
  const script::PythonTree tree = script::ParsePython(e.text, context_.file);
  const bool is_expression =
      !tree.error && tree.statements.size() == 1 && tree.statements[0].kind == PyStmt::Kind::kExpr;
  if (!is_expression) return Fail(e.offset, absl::StrCat("'", e.text, "' is not an extent"));
  std::vector<const PyExpr*> pending = {tree.statements[0].value.get()};
  while (!pending.empty()) {
    const PyExpr* at = pending.back();
    pending.pop_back();
    if (at->kind == Kind::kName && at->text != "T") DefineSymbol(at->text);
    for (const PyExprPtr& item : at->items) {
      if (item && at->kind != Kind::kAttribute) pending.push_back(item.get());
    }
  }
  *out = index_.Read(*tree.statements[0].value);
  if (*out && out->dtype() == DataType::Int(64)) return true;
  return Fail(e.offset, absl::StrCat("'", e.text, "' is not an extent"));
}

bool GraphReader::ReadExtent(const PyExpr& e, Expr* out) {
  if (e.kind == Kind::kString) return ReadQuotedExtent(e, out);
  *out = index_.Read(e);
  if (!*out) {
    if (!error_) error_ = index_.error();
    return false;
  }
  if (out->dtype() != DataType::Int(64)) return Fail(e.offset, "an extent must be an integer of type int64");
  return true;
}

bool GraphReader::ReadExtents(const PyExpr& e, std::vector<Expr>* out) {
  if (e.kind != Kind::kList && e.kind != Kind::kTuple) return Fail(e.offset, "expected a list of extents");
  for (const PyExprPtr& item : e.items) {
    if (!ReadExtent(*item, &out->emplace_back())) return false;
  }
  return true;
}

bool GraphReader::ReadTensorType(const PyExpr& call, Type* out) {
  const PyExpr* shape = call.items.size() > 1 ? call.items[1].get() : Keyword(call, "shape");
  const PyExpr* dtype_text = call.items.size() > 2 ? call.items[2].get() : Keyword(call, "dtype");
  if (dtype_text == nullptr) return Fail(call.offset, "R.Tensor without a dtype is not supported");
  const std::optional<DataType> dtype = ReadDtype(*dtype_text);
  if (!dtype) return false;
  if (dtype->is_void() || dtype->is_handle()) return Fail(dtype_text->offset, "tensors have no such type");
  if (shape != nullptr && shape->kind != Kind::kNone) {
    std::vector<Expr> extents;
    if (!ReadExtents(*shape, &extents)) return false;
    for (size_t i = 0; i < extents.size(); ++i) {
      if (AsInt(extents[i]).value_or(0) < 0) return Fail(shape->items[i]->offset, "an extent of a tensor is negative");
    }
    *out = TensorType(*dtype, std::move(extents));
    return true;
  }
  const PyExpr* ndim = Keyword(call, "ndim");
  if (ndim == nullptr || IntegerOf(*ndim) == -1) {
    *out = TensorType::OfUnknownRank(*dtype);
    return true;
  }
  // A known rank: extents are symbols without a name in the text.
  const std::optional<int64_t> rank = IntegerOf(*ndim);
  if (!rank || *rank < 0 || *rank > 64) return Fail(ndim->offset, "ndim must be a number from 0 to 64");
  std::vector<Expr> extents;
  for (int64_t i = 0; i < *rank; ++i) extents.push_back(Symbol("d", DataType::Int(64)));
  *out = TensorType(*dtype, std::move(extents));
  return true;
}

bool GraphReader::ReadType(const PyExpr& e, Type* out) {
  const std::string name = e.kind == Kind::kCall ? DottedName(*e.items[0]) : "";
  if (name == "R.Tensor") return ReadTensorType(e, out);
  if (name == "R.Tuple") {
    std::vector<Type> fields;
    const bool list = e.items.size() == 2 && e.items[1]->kind == Kind::kList;
    const std::vector<PyExprPtr>& items = list ? e.items[1]->items : e.items;
    for (size_t i = list ? 0 : 1; i < items.size(); ++i) {
      if (!ReadType(*items[i], &fields.emplace_back())) return false;
    }
    *out = TupleType(std::move(fields));
    return true;
  }
  if (name == "R.Shape" && e.items.size() == 2) {
    std::vector<Expr> extents;
    if (!ReadExtents(*e.items[1], &extents)) return false;
    *out = ShapeType(std::move(extents));
    return true;
  }
  return Fail(e.offset, "expected a type: R.Tensor((n, 4), dtype=\"float32\"), R.Tuple(...) or R.Shape([...])");
}

}  // namespace tilewright::graph
