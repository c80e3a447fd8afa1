// Calls that stay calls: the table of calls.h, and any intrinsic by T.call_intrin.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/nearest_names.h"
#include "ir/builtin.h"
#include "ir/script/calls.h"
#include "ir/script/reader.h"

namespace tilewright::script {
namespace {

using Kind = PyExpr::Kind;

// "float32", T.handle("float32").ty
bool NamesType(const PyExpr& e) {
  if (e.kind == Kind::kAttribute) return e.text == "ty";
  return e.kind == Kind::kString && DataType::Parse(e.text).has_value();
}

// The instructions and helpers of one kind of device. There are hundreds; their calls are opaque.
bool IsDeviceCall(std::string_view name) {
  for (std::string_view prefix : {"ptx.", "ptx_", "cuda.", "metal.", "nvshmem.", "webgpu.", "s_tir."}) {
    if (name.size() > prefix.size() && name.compare(0, prefix.size(), prefix) == 0) return true;
  }
  return false;
}

}  // namespace

// Keyword arguments of calls that take any: `name=value` and `name=[values]` become a call of "keyword".
bool FunctionReader::ReadKeywords(const PyExpr& e, std::vector<Expr>* args) {
  for (size_t i = 0; i < e.keywords.size(); ++i) {
    if (e.keywords[i] == "dtype" || e.keywords[i] == "ret_ty") continue;
    const PyExpr& value = *e.keyword_values[i];
    std::vector<Expr> values = {String(e.keywords[i])};
    const bool list = value.kind == Kind::kList || value.kind == Kind::kTuple;
    for (size_t j = 0; j < (list ? value.items.size() : 1); ++j) {
      Expr item = ReadData(list ? *value.items[j] : value);
      if (!item) return false;
      values.push_back(std::move(item));
    }
    args->push_back(Call(DataType::Handle(), "keyword", std::move(values)));
  }
  return true;
}

// The arguments of a call, and its type where the text says it: as dtype=, or as a string in front of them
// (`type_first`: there must be one) or behind them (`type_last`).
bool FunctionReader::ReadArguments(const PyExpr& e, bool type_first, bool type_last, std::optional<DataType>* dtype,
                                   std::vector<Expr>* args) {
  size_t first = 1, last = e.items.size();
  const PyExpr* type = nullptr;
  for (size_t i = 0; i < e.keywords.size(); ++i) {
    if (e.keywords[i] == "dtype" || e.keywords[i] == "ret_ty") type = e.keyword_values[i].get();
  }
  if (type == nullptr && type_first) {
    if (last < 2) return Fail(e.offset, "expected a type as the first argument");
    type = e.items[first++].get();
  } else if (type == nullptr && type_last) {
    if (last < 2) return Fail(e.offset, "expected a type as the last argument");
    type = e.items[--last].get();
  }
  if (type != nullptr) {
    DataType read;
    if (!ReadTypeName(*type, &read)) return false;
    *dtype = read;
  }
  for (size_t i = first; i < last; ++i) {
    Expr arg = ReadData(*e.items[i]);
    if (!arg) return false;
    args->push_back(std::move(arg));
  }
  return true;
}

// T.call_intrin("float32", "name", ...): any call.
Expr FunctionReader::ReadCallIntrin(const PyExpr& e) {
  for (size_t i = 0; i < e.keywords.size(); ++i) {
    if (e.keywords[i] == "dtype") continue;
    Fail(e.keyword_offsets[i], absl::StrCat("unexpected argument '", e.keywords[i], "'"));
    return Expr();
  }
  std::optional<DataType> dtype;
  std::vector<Expr> args;
  if (!ReadArguments(e, /*type_first=*/true, /*type_last=*/false, &dtype, &args)) return Expr();
  const auto* name = args.empty() ? nullptr : dyn_cast<StringImmNode>(args[0]);
  if (name == nullptr) {
    Fail(e.offset, "expected the name of an intrinsic after the type");
    return Expr();
  }
  std::string op = name->value;
  for (std::string_view prefix : {"tirx.", "tir."}) {
    if (op.size() > prefix.size() && op.compare(0, prefix.size(), prefix) == 0) op = op.substr(prefix.size());
  }
  args.erase(args.begin());
  if (const Builtin* builtin = FindBuiltin(op)) {
    const auto count = static_cast<int>(args.size());
    if (count < builtin->min_args || (builtin->max_args >= 0 && count > builtin->max_args)) {
      Fail(e.offset, absl::StrCat("'", op, "' with ", count, " arguments"));
      return Expr();
    }
  }
  return Call(*dtype, std::move(op), std::move(args));
}

Expr FunctionReader::ReadSpelledCall(const PyExpr& e, const std::string& name) {
  const CallSpelling* spelling = FindSpelling(name);
  std::optional<DataType> dtype;
  std::vector<Expr> args;
  if (spelling == nullptr && IsDeviceCall(name)) {
    const bool typed = e.items.size() > 1 && NamesType(*e.items[1]);
    if (!ReadArguments(e, typed, /*type_last=*/false, &dtype, &args) || !ReadKeywords(e, &args)) return Expr();
    return Call(dtype.value_or(DataType::Handle()), name, std::move(args));
  }
  if (spelling == nullptr) {
    const std::string near = DidYouMean(name, SpellingNames());
    Fail(e.items[0]->offset, absl::StrCat("T.", name, " is not known", near.empty() ? ";" : near,
                                          " T.call_intrin(\"type\", \"", name, "\", ...) calls any intrinsic"));
    return Expr();
  }
  const ResultRule rule = spelling->rule;
  const bool any_keyword = rule == ResultRule::kStatus;
  for (size_t i = 0; i < e.keywords.size(); ++i) {
    if (any_keyword || e.keywords[i] == "dtype") continue;
    Fail(e.keyword_offsets[i], absl::StrCat("unexpected argument '", e.keywords[i], "'"));
    return Expr();
  }
  const size_t given = e.items.size() - 1;
  // T.reinterpret(value, "type") is written too, and versions of TVM differ in which calls name their type.
  const bool reversed = name == "reinterpret" && given == 2 && NamesType(*e.items[2]) && !NamesType(*e.items[1]);
  const bool extra = rule == ResultRule::kSecond || rule == ResultRule::kUInt32 ||
                     (rule != ResultRule::kTypeLast && spelling->max_args >= 0 &&
                      given == static_cast<size_t>(spelling->max_args) + 1);
  const bool type_first = (rule == ResultRule::kTypeFirst && !reversed) ||
                          (rule != ResultRule::kTypeLast && extra && given > 0 && NamesType(*e.items[1]));
  if (!ReadArguments(e, type_first, rule == ResultRule::kTypeLast || reversed, &dtype, &args)) return Expr();
  if (any_keyword && !ReadKeywords(e, &args)) return Expr();
  const auto count = static_cast<int>(args.size());
  if (count < spelling->min_args || (spelling->max_args >= 0 && count > spelling->max_args)) {
    Fail(e.offset,
         absl::StrCat("T.", name, " takes ", spelling->min_args,
                      spelling->max_args == spelling->min_args ? "" : " or more", " arguments, found ", count));
    return Expr();
  }
  const bool uniform = rule == ResultRule::kFloat || rule == ResultRule::kNumber || rule == ResultRule::kInteger;
  for (size_t pass = 0; uniform && pass < 2; ++pass) {  // twice, so that the first takes the type of the last
    for (size_t i = 1; i < args.size(); ++i) {
      if (!Unify(&args[0], &args[i], e.offset)) return Expr();
    }
  }
  const std::optional<DataType> inferred = ResultType(rule, args);
  if (!inferred && (uniform || !dtype)) {
    const bool of_float = rule == ResultRule::kFloat || rule == ResultRule::kTest;
    Fail(e.offset,
         absl::StrCat("T.", name, " of ", args.empty() ? "nothing" : args[0].dtype().ToString(), "; expected ",
                      of_float                       ? "a floating-point number"
                      : rule == ResultRule::kInteger ? "an integer"
                                                     : "a number"));
    return Expr();
  }
  if (uniform && dtype && *dtype != *inferred) {
    Fail(e.offset, absl::StrCat("T.", name, " gives ", inferred->ToString(), ", not ", dtype->ToString()));
    return Expr();
  }
  if (args.size() == 2 && !ShiftFits(spelling->op, args[0], args[1], e.offset)) return Expr();
  return Call(dtype ? *dtype : *inferred, std::string(spelling->op), std::move(args));
}

}  // namespace tilewright::script
