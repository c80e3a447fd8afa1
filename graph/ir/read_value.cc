#include <cmath>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/ir/reader.h"

namespace tilewright::graph {
namespace {

using Kind = PyExpr::Kind;

constexpr int64_t kMaxElements = int64_t{1} << 20;

// A list of one kind of value, or nothing.
template <class T, class Read>
std::optional<std::vector<T>> ListOf(const PyExpr& e, const Read& read) {
  std::vector<T> list;
  for (const PyExprPtr& item : e.items) {
    const std::optional<T> value = read(*item);
    if (!value) return std::nullopt;
    list.push_back(*value);
  }
  return list;
}

std::optional<std::string> StringOf(const PyExpr& e) {
  return e.kind == Kind::kString ? std::optional(e.text) : std::nullopt;
}

}  // namespace

std::string DottedName(const PyExpr& e) {
  if (e.kind == Kind::kName) return e.text;
  if (e.kind != Kind::kAttribute) return "";
  const std::string base = DottedName(*e.items[0]);
  return base.empty() ? "" : absl::StrCat(base, ".", e.text);
}

std::optional<int64_t> IntegerOf(const PyExpr& e) {
  const bool negative = e.kind == Kind::kUnary && e.text == "-" && e.items[0]->kind == Kind::kInt;
  const PyExpr& number = negative ? *e.items[0] : e;
  if (number.kind != Kind::kInt) return std::nullopt;
  constexpr uint64_t kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (number.integer > kMost + (negative ? 1 : 0)) return std::nullopt;
  return negative ? static_cast<int64_t>(0 - number.integer) : static_cast<int64_t>(number.integer);
}

std::optional<double> NumberOf(const PyExpr& e) {
  if (e.kind == Kind::kFloat) return e.real;
  if (const std::optional<int64_t> integer = IntegerOf(e)) return static_cast<double>(*integer);
  if (e.kind == Kind::kUnary && e.text == "-") {
    const std::optional<double> value = e.items[0]->kind == Kind::kFloat ? NumberOf(*e.items[0]) : std::nullopt;
    return value ? std::optional(-*value) : std::nullopt;
  }
  // float("inf")
  const bool is_call = e.kind == Kind::kCall && e.items.size() == 2 && DottedName(*e.items[0]) == "float";
  if (!is_call || e.items[1]->kind != Kind::kString) return std::nullopt;
  if (e.items[1]->text == "inf") return std::numeric_limits<double>::infinity();
  if (e.items[1]->text == "-inf") return -std::numeric_limits<double>::infinity();
  return e.items[1]->text == "nan" ? std::optional(std::nan("")) : std::nullopt;
}

const PyExpr* GraphReader::Keyword(const PyExpr& call, std::string_view name) const {
  for (size_t i = 0; i < call.keywords.size(); ++i) {
    if (call.keywords[i] == name) return call.keyword_values[i].get();
  }
  return nullptr;
}

std::optional<DataType> GraphReader::ReadDtype(const PyExpr& e) {
  std::optional<DataType> dtype;
  if (e.kind == Kind::kString) dtype = DataType::Parse(e.text);
  if (!dtype || !dtype->is_scalar()) {
    Fail(e.offset, "expected the name of a data type, such as \"float32\"");
    return std::nullopt;
  }
  return dtype;
}

bool GraphReader::ReadAttr(const PyExpr& e, AttrValue* out) {
  if (e.kind == Kind::kBool) {
    *out = e.integer != 0;
  } else if (const std::optional<int64_t> integer = IntegerOf(e)) {
    *out = *integer;
  } else if (const std::optional<double> number = NumberOf(e)) {
    *out = *number;
  } else if (e.kind == Kind::kString) {
    *out = e.text;
  } else if (e.kind == Kind::kAttribute && absl::StartsWith(DottedName(e), "cls.")) {
    *out = FunctionName{e.text};
    return context_.need_function(e.text, e.offset);
  } else if (e.kind != Kind::kList && e.kind != Kind::kTuple) {
    return Fail(e.offset, "expected a number, a string, or a list of them");
  } else if (auto ints = ListOf<int64_t>(e, IntegerOf)) {
    *out = *std::move(ints);
  } else if (auto floats = ListOf<double>(e, NumberOf)) {
    *out = *std::move(floats);
  } else if (auto strings = ListOf<std::string>(e, StringOf)) {
    *out = *std::move(strings);
  } else {
    return Fail(e.offset, "expected a list of numbers or of strings");
  }
  return true;
}

bool GraphReader::ReadAttrs(const PyExpr& dict, Attrs* out) {
  if (dict.kind != Kind::kDict) return Fail(dict.offset, "expected a dictionary: {\"key\": value, ...}");
  for (size_t i = 0; i < dict.items.size(); i += 2) {
    const PyExpr& key = *dict.items[i];
    if (key.kind != Kind::kString) return Fail(key.offset, "expected a string as the key");
    AttrValue value;
    if (!ReadAttr(*dict.items[i + 1], &value)) return false;
    if (!out->emplace(key.text, std::move(value)).second) return Fail(key.offset, "this key is given twice");
  }
  return true;
}

bool GraphReader::ReadValues(const std::vector<PyExprPtr>& items, size_t first, std::vector<Value>* out) {
  for (size_t i = first; i < items.size(); ++i) {
    if (!ReadValue(*items[i], &out->emplace_back())) return false;
  }
  return true;
}

bool GraphReader::ReadValue(const PyExpr& e, Value* out) {
  switch (e.kind) {
    case Kind::kNone:
      *out = Value();
      return true;
    case Kind::kName: {
      const auto it = values_.find(e.text);
      if (it == values_.end()) return Fail(e.offset, absl::StrCat("'", e.text, "' is not defined"));
      *out = it->second;
      return true;
    }
    case Kind::kTuple: {
      std::vector<Value> fields;
      if (!ReadValues(e.items, 0, &fields)) return false;
      *out = Tuple(std::move(fields));
      return true;
    }
    case Kind::kSubscript:
      return ReadSubscript(e, out);
    case Kind::kCall:
      return ReadCall(e, out);
    default:
      return Fail(e.offset, "expected a value of the graph");
  }
}

// lv[0], metadata["relax.expr.Constant"][3]
bool GraphReader::ReadSubscript(const PyExpr& e, Value* out) {
  if (e.items.size() != 2) return Fail(e.offset, "expected one index");
  const std::optional<int64_t> index = IntegerOf(*e.items[1]);
  if (!index || *index < 0 || *index > std::numeric_limits<int>::max()) {
    return Fail(e.items[1]->offset, "expected the number of a field");
  }
  const PyExpr& base = *e.items[0];
  const bool metadata = base.kind == Kind::kSubscript && DottedName(*base.items[0]) == "metadata";
  if (!metadata) {
    Value tuple;
    if (!ReadValue(base, &tuple)) return false;
    if (!tuple) return Fail(base.offset, "expected a tuple");
    *out = TupleGetItem(std::move(tuple), static_cast<int>(*index));
    return true;
  }
  if (static_cast<size_t>(*index) >= context_.constants->size()) {
    return Fail(e.offset, absl::StrCat("constant ", *index, " stands beside the text, but was not given"));
  }
  *out = (*context_.constants)[static_cast<size_t>(*index)];
  return true;
}

bool GraphReader::ReadCall(const PyExpr& e, Value* out) {
  const std::string name = DottedName(*e.items[0]);
  if (name == "R.const") return ReadConstant(e, out);
  if (name == "R.call_tir") return ReadCallTir(e, out);
  if (name == "R.shape") {
    std::vector<Expr> extents;
    if (e.items.size() != 2) return Fail(e.offset, "expected R.shape([EXTENTS])");
    if (!ReadExtents(*e.items[1], &extents)) return false;
    *out = ShapeExpr(std::move(extents));
    return true;
  }
  if (name == "R.tuple") {
    std::vector<Value> fields;
    if (!ReadValues(e.items, 1, &fields)) return false;
    *out = Tuple(std::move(fields));
    return true;
  }
  if (name == "R.match_cast") {
    Value value;
    Type type;
    const PyExpr* type_text = e.items.size() == 3 ? e.items[2].get() : nullptr;
    if (type_text == nullptr) return Fail(e.offset, "expected R.match_cast(VALUE, TYPE)");
    if (!ReadValue(*e.items[1], &value) || !ReadType(*type_text, &type)) return false;
    if (!value) return Fail(e.items[1]->offset, "expected a value of the graph");
    *out = MatchCast(std::move(value), std::move(type));
    return true;
  }
  if (absl::StartsWith(name, "cls.")) return ReadCallFunction(e, name.substr(4), out);
  if (absl::StartsWith(name, "R.")) return ReadOpCall(e, name.substr(2), out);
  return Fail(e.offset, "expected a call of R. or cls.");
}

bool GraphReader::ReadOpCall(const PyExpr& e, const std::string& name, Value* out) {
  const Op op = b_.ops().Find(name);
  if (!op) return Fail(e.offset, absl::StrCat("R.", name, " is not a known operator"));
  std::vector<Value> args;
  if (!ReadValues(e.items, 1, &args)) return false;
  if (op->is_variadic() && args.size() == op->params.size()) {
    // The last argument is the tuple of what the parameter stands for.
    if (const auto* rest = dyn_cast<TupleNode>(args.back())) {
      const Value kept = args.back();
      args.pop_back();
      args.insert(args.end(), rest->fields.begin(), rest->fields.end());
    }
  }
  Attrs attrs;
  for (size_t i = 0; i < e.keywords.size(); ++i) {
    if (e.keyword_values[i]->kind == Kind::kNone) continue;
    AttrValue value;
    if (!ReadAttr(*e.keyword_values[i], &value)) return false;
    if (!attrs.emplace(e.keywords[i], std::move(value)).second) {
      return Fail(e.keyword_offsets[i], absl::StrCat("attribute ", e.keywords[i], " is given twice"));
    }
  }
  *out = Call(op, std::move(args), std::move(attrs));
  return true;
}

bool GraphReader::ReadCallTir(const PyExpr& e, Value* out) {
  const std::string name = e.items.size() >= 3 ? DottedName(*e.items[1]) : "";
  if (!absl::StartsWith(name, "cls."))
    return Fail(e.offset, "expected R.call_tir(cls.NAME, (ARGUMENTS), out_sinfo=TYPE)");
  Value args;
  if (!ReadValue(*e.items[2], &args)) return false;
  std::vector<Value> list = {args};
  if (const auto* tuple = dyn_cast<TupleNode>(args)) list = tuple->fields;
  const PyExpr* out_text = e.items.size() > 3 ? e.items[3].get() : Keyword(e, "out_sinfo");
  if (out_text == nullptr) out_text = Keyword(e, "out_ty");
  if (out_text == nullptr) return Fail(e.offset, "the type of the result, out_sinfo, is missing");
  Type type;
  if (out_text->kind == Kind::kList) {
    std::vector<Type> fields;
    for (const PyExprPtr& item : out_text->items) {
      if (!ReadType(*item, &fields.emplace_back())) return false;
    }
    type = TupleType(std::move(fields));
  } else if (!ReadType(*out_text, &type)) {
    return false;
  }
  std::vector<Expr> symbols;
  if (const PyExpr* vars = Keyword(e, "tir_vars")) {
    if (vars->kind != Kind::kCall || vars->items.size() != 2) return Fail(vars->offset, "expected R.shape([EXTENTS])");
    if (!ReadExtents(*vars->items[1], &symbols)) return false;
  }
  *out = CallTir(name.substr(4), std::move(list), std::move(type), std::move(symbols));
  return true;
}

bool GraphReader::ReadCallFunction(const PyExpr& e, const std::string& name, Value* out) {
  if (!e.keywords.empty()) return Fail(e.keyword_offsets[0], "functions take no named arguments");
  if (!context_.need_function(name, e.items[0]->offset)) return false;
  std::vector<Value> args;
  if (!ReadValues(e.items, 1, &args)) return false;
  *out = CallFunction(name, std::move(args));
  return true;
}

// Nested lists of equal lengths: the shape, and the elements in row-major order.
bool GraphReader::ReadElements(const PyExpr& e, std::vector<int64_t>* shape, size_t dim,
                               std::vector<const PyExpr*>* out) {
  if (e.kind != Kind::kList) {
    if (dim != shape->size()) return Fail(e.offset, "lists of different depths");
    out->push_back(&e);
    return true;
  }
  const int64_t extent = static_cast<int64_t>(e.items.size());
  if (dim == shape->size()) {
    if (!out->empty()) return Fail(e.offset, "lists of different depths");
    shape->push_back(extent);
  }
  if ((*shape)[dim] != extent) return Fail(e.offset, "lists of different lengths");
  for (const PyExprPtr& item : e.items) {
    if (!ReadElements(*item, shape, dim + 1, out)) return false;
  }
  return true;
}

bool GraphReader::SetElement(const PyExpr& e, const NDArray& array, int64_t position) {
  const DataType dtype = array.dtype();
  if (dtype.is_float()) {
    const std::optional<double> value = NumberOf(e);
    if (!value) return Fail(e.offset, "expected a number");
    array.Set(position, *value);
    return true;
  }
  std::optional<int64_t> value = IntegerOf(e);
  if (e.kind == Kind::kBool) value = e.integer != 0;
  if (!value && e.kind == Kind::kInt && dtype == DataType::UInt(64)) value = static_cast<int64_t>(e.integer);
  if (!value) return Fail(e.offset, absl::StrCat("expected an integer of type ", dtype.ToString()));
  array.SetInt(position, *value);
  const bool in_range = array.GetInt(position) == *value && !(dtype.is_uint() && e.kind == Kind::kUnary && *value < 0);
  return in_range || Fail(e.offset, absl::StrCat("the number does not fit into ", dtype.ToString()));
}

bool GraphReader::ReadConstant(const PyExpr& e, Value* out) {
  const PyExpr* dtype_text = e.items.size() == 3 ? e.items[2].get() : Keyword(e, "dtype");
  if (e.items.size() < 2 || dtype_text == nullptr) return Fail(e.offset, "expected R.const(VALUE, \"float32\")");
  const std::optional<DataType> dtype = ReadDtype(*dtype_text);
  if (!dtype) return false;
  if (dtype->is_void() || dtype->is_handle()) return Fail(dtype_text->offset, "tensors have no such type");
  std::vector<int64_t> shape;
  std::vector<const PyExpr*> elements;
  if (!ReadElements(*e.items[1], &shape, 0, &elements)) return false;
  if (static_cast<int64_t>(elements.size()) > kMaxElements) return Fail(e.offset, "the constant has too many elements");
  const NDArray array(*dtype, shape);
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!SetElement(*elements[i], array, static_cast<int64_t>(i))) return false;
  }
  *out = Constant(array);
  return true;
}

}  // namespace tilewright::graph
