// The expressions of schedule text.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/nearest_names.h"
#include "ir/functor.h"
#include "ir/script/python/parser.h"
#include "schedule/script/index_map_reader.h"
#include "schedule/script/python_values.h"
#include "schedule/script/script_runner.h"

namespace tilewright {

bool ScriptRunner::Eval(const PyExpr& e, Value* out) {
  switch (e.kind) {
    case Kind::kName:
      return EvalName(e, out);
    case Kind::kAttribute:
      return EvalAttribute(e, out);
    case Kind::kInt:
      if (e.integer > static_cast<uint64_t>(INT64_MAX)) return Fail(e.offset, "the number is too large");
      *out = static_cast<int64_t>(e.integer);
      return true;
    case Kind::kFloat:
      *out = e.real;
      return true;
    case Kind::kString:
      *out = e.text;
      return true;
    case Kind::kBool:
      *out = e.integer != 0;
      return true;
    case Kind::kNone:
      *out = Value();
      return true;
    case Kind::kList:
    case Kind::kTuple: {
      Value::List list;
      if (!EvalItems(e.items, &list)) return false;
      *out = std::move(list);
      return true;
    }
    case Kind::kDict:
      return EvalDict(e, out);
    case Kind::kUnary:
    case Kind::kBinary:
      return EvalArithmetic(e, out);
    case Kind::kSubscript:
      return EvalSubscript(e, out);
    case Kind::kLambda:
      return EvalLambda(e, out);
    case Kind::kIfElse: {
      bool truth = false;
      return EvalTruth(*e.items[0], &truth) && Eval(*e.items[truth ? 1 : 2], out);
    }
    case Kind::kComprehension:
      return EvalComprehension(e, out);
    case Kind::kFormat:
      return EvalFormat(e, out);
    case Kind::kCall:
      return EvalCall(e, out);
    default:
      return Fail(e.offset, "this expression is not part of a schedule");
  }
}

std::string ScriptRunner::Because(int64_t offset) const {
  const auto why = why_other_.find(offset);
  return why == why_other_.end() ? "" : " (" + why->second + ")";
}

bool ScriptRunner::EvalName(const PyExpr& e, Value* out) {
  const auto known = names_.find(e.text);
  if (known == names_.end()) {
    std::vector<std::string> names;
    for (const auto& [name, value] : names_) names.push_back(name);
    return Fail(e.offset, "the name " + e.text + " is not defined" + DidYouMean(e.text, names));
  }
  if (const auto other = SpecialNumber(known->second, Special::kOther)) {
    const int line = script::MakeDiagnostic(text_, file_, static_cast<uint32_t>(*other), "").line;
    return Fail(e.offset, "the value of " + e.text + " is not known: line " + std::to_string(line) +
                              " is other Python" + Because(*other));
  }
  *out = known->second;
  return true;
}

bool ScriptRunner::EvalItems(const std::vector<PyExprPtr>& items, Value::List* list) {
  for (const PyExprPtr& item : items) {
    Value value;
    const bool starred = item->kind == Kind::kStarred;
    if (!Eval(starred ? *item->items[0] : *item, &value)) return false;
    if (!starred) {
      list->push_back(std::move(value));
    } else if (const auto* spliced = value.As<Value::List>()) {
      list->insert(list->end(), spliced->begin(), spliced->end());
    } else {
      return Stop(item->offset, "expected a list after '*'");
    }
  }
  return true;
}

bool ScriptRunner::EvalDict(const PyExpr& e, Value* out) {
  Value::Dict dict;
  for (size_t i = 0; i + 1 < e.items.size(); i += 2) {
    if (e.items[i]->kind != Kind::kString) return Fail(e.items[i]->offset, "expected a text as the key");
    Value value;
    if (!Eval(*e.items[i + 1], &value)) return false;
    dict[e.items[i]->text] = std::move(value);
  }
  *out = std::move(dict);
  return true;
}

bool ScriptRunner::EvalTruth(const PyExpr& e, bool* out) {
  Value value;
  if (!Eval(e, &value)) return false;
  if (value.As<Rv>() != nullptr) return Fail(e.offset, "expected a value that is known here");
  *out = PythonTruth(value);
  return true;
}

bool ScriptRunner::EvalArithmetic(const PyExpr& e, Value* out) {
  if (e.text == "and" || e.text == "or" || e.text == "not") return EvalLogic(e, out);
  // -x is 0 - x.
  Value left = int64_t{0}, right;
  const bool unary = e.kind == Kind::kUnary;
  if (!unary && !Eval(*e.items[0], &left)) return false;
  if (!Eval(*e.items.back(), &right)) return false;
  if (const auto* real = right.As<double>(); real != nullptr && unary && e.text == "-") {
    *out = -*real;
    return true;
  }
  PythonResult result = unary && e.text == "~" ? PythonResult{std::nullopt, "this operator is not part of a schedule"}
                                               : PythonBinary(e.text, left, right);
  if (result.value) {
    *out = std::move(*result.value);
    return true;
  }
  const PyExpr& wrong = result.operand < 0 ? e : unary ? *e.items[0] : *e.items[result.operand];
  return FailWith(wrong.offset, std::move(result));
}

bool ScriptRunner::EvalLogic(const PyExpr& e, Value* out) {
  bool truth = false;
  if (e.text == "not") {
    if (!EvalTruth(*e.items[0], &truth)) return false;
    *out = !truth;
    return true;
  }
  if (!Eval(*e.items[0], out) || !EvalTruth(*e.items[0], &truth)) return false;
  return truth == (e.text == "or") || Eval(*e.items[1], out);
}

bool ScriptRunner::EvalComprehension(const PyExpr& e, Value* out) {
  Value from;
  if (!Eval(*e.items[2], &from)) return false;
  const auto elements = PythonElements(from);
  if (!elements) return Fail(e.items[2]->offset, "expected a list");
  const std::map<std::string, Value> around = names_;
  Value::List list;
  for (const Value& element : *elements) {
    if (++steps_ > kMaxSteps) return Stop(e.offset, "the schedule runs for too long");
    bool taken = true;
    if (!Assign(*e.items[1], element) || (e.items[3] && !EvalTruth(*e.items[3], &taken))) return false;
    if (!taken) continue;
    list.emplace_back();
    if (!Eval(*e.items[0], &list.back())) return false;
  }
  names_ = around;  // the names of a comprehension are its own
  *out = std::move(list);
  return true;
}

bool ScriptRunner::EvalFormat(const PyExpr& e, Value* out) {
  std::string text;
  for (size_t i = 0; i < e.text.size(); ++i) {
    const char c = e.text[i];
    if ((c == '{' || c == '}') && i + 1 < e.text.size() && e.text[i + 1] == c) {
      text += c;
      ++i;
    } else if (c != '{') {
      text += c;
    } else {
      const size_t end = std::min(e.text.find('}', i), e.text.size());
      const script::PythonTree tree = script::ParsePython(e.text.substr(i + 1, end - i - 1), file_);
      const bool value = !tree.error && tree.statements.size() == 1 && tree.statements[0].kind == PyStmt::Kind::kExpr;
      Value part;
      if (!value) return Fail(e.offset, "expected a value between the braces of this text");
      if (!Eval(*tree.statements[0].value, &part)) return false;
      const auto written = PythonText(part);
      if (!written) return Fail(e.offset, "expected a number or a text between the braces of this text");
      text += *written;
      i = end;
    }
  }
  *out = std::move(text);
  return true;
}

bool ScriptRunner::EvalSubscript(const PyExpr& e, Value* out) {
  Value base, index;
  if (!Eval(*e.items[0], &base)) return false;
  if (e.items.size() != 2) return Fail(e.offset, "expected one index");
  const auto* list = base.As<Value::List>();
  const bool special = SpecialNumber(base, Special::kSchedule) || SpecialNumber(base, Special::kInstance);
  const auto* dict = special ? nullptr : base.As<Value::Dict>();
  if (list == nullptr && dict == nullptr) return Fail(e.offset, "only lists have elements");
  if (e.items[1]->kind == Kind::kSlice && list != nullptr) return EvalSlice(*e.items[1], *list, out);
  if (!Eval(*e.items[1], &index)) return false;
  if (dict != nullptr) {
    const auto* key = index.As<std::string>();
    const auto found = key == nullptr ? dict->end() : dict->find(*key);
    if (found == dict->end()) return Stop(e.items[1]->offset, "the dictionary has no such key");
    *out = Value(found->second);
    return true;
  }
  const auto* at = index.As<int64_t>();
  if (at == nullptr) return Fail(e.items[1]->offset, "expected an integer");
  const int64_t size = static_cast<int64_t>(list->size()), position = *at < 0 ? *at + size : *at;
  if (position < 0 || position >= size) {
    return Stop(e.items[1]->offset, "the list has " + std::to_string(size) + " elements");
  }
  *out = Value((*list)[position]);
  return true;
}

bool ScriptRunner::EvalSlice(const PyExpr& slice, const Value::List& list, Value* out) {
  Value bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    if (slice.items[i] && !Eval(*slice.items[i], &bounds[i])) return false;
  }
  PythonResult result = PythonSlice(list, bounds[0], bounds[1], bounds[2]);
  if (!result.value) return FailWith(slice.offset, std::move(result));
  *out = std::move(*result.value);
  return true;
}

bool ScriptRunner::EvalLambda(const PyExpr& e, Value* out) {
  IndexMapReading reading = ReadIndexMap(e, [&](const std::string& name) { return NameInIndexMap(name); });
  if (!reading.map) return Fail(reading.offset, std::move(reading.error));
  *out = std::move(reading.map);
  return true;
}

std::optional<Expr> ScriptRunner::NameInIndexMap(const std::string& name) const {
  if (const auto known = names_.find(name); known != names_.end()) {
    // Results of sampling are the numbers that were drawn.
    const auto* rv = known->second.As<Rv>();
    if (rv != nullptr && forgotten_.contains(rv->index)) return std::nullopt;
    const auto* number = (rv != nullptr ? schedule_.Get(*rv) : known->second).As<int64_t>();
    if (number == nullptr || static_cast<int32_t>(*number) != *number) return std::nullopt;
    return Expr(static_cast<int>(*number));
  }
  // A size of the function that is worked on.
  const Function* function = WorkedOn();
  if (function == nullptr) return std::nullopt;
  std::optional<Expr> size;
  const auto look = [&](const Expr& e) {
    PreOrder(e, [&](const Expr& part) {
      const auto* var = dyn_cast<VarNode>(part);
      if (var != nullptr && var->name == name && var->dtype().is_index()) size = Expr(Var(var));
      return true;
    });
  };
  for (const Param& param : (*function)->params) {
    if (!param.buffer && param.var.name() == name && param.var.dtype().is_index()) size = Expr(param.var);
    if (!param.buffer) continue;
    for (const Expr& extent : param.buffer->shape) look(extent);
  }
  return size;
}

bool ScriptRunner::EvalIndexMap(const PyExpr& e, size_t indices, Value* out) {
  const auto name_of = [&](const std::string& name) { return NameInIndexMap(name); };
  IndexMapReading reading;
  if (e.kind == Kind::kLambda) {
    reading = ReadIndexMap(e, name_of, indices);
  } else {
    Value value;
    if (!Eval(e, &value)) return false;
    const auto function = SpecialNumber(value, Special::kFunction);
    if (!function) {
      *out = std::move(value);
      return true;
    }
    reading = ReadIndexMapFunction(*functions_[static_cast<size_t>(*function)], name_of, indices);
  }
  if (!reading.map) return Fail(reading.offset, std::move(reading.error));
  *out = std::move(reading.map);
  return true;
}

}  // namespace tilewright
