#include "schedule/script/schedule_script.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ir/script/python_parser.h"
#include "schedule/script/index_map_reader.h"

namespace tilewright {
namespace {

// Traces of the peer write block=... where its own functions say scope_block=...
bool IsCalled(const ArgSpec& arg, std::string_view keyword) {
  return arg.name == keyword || (keyword == "block" && std::string_view(arg.name) == "scope_block");
}

using script::PyExpr;
using script::PyExprPtr;
using script::PyStmt;
using Kind = PyExpr::Kind;

class Runner {
 public:
  Runner(std::string_view text, std::string_view file, Schedule* schedule, const ScheduleScriptOptions& options)
      : text_(text), file_(file), schedule_(*schedule), options_(options) {}

  std::optional<ScheduleScriptError> Run() {
    script::PythonTree tree = script::ParsePython(text_, file_);
    if (tree.error) return ScheduleScriptError{*tree.error, std::nullopt};
    RunAll(tree.statements);
    return std::move(error_);
  }

 private:
  // ---- Errors. The first one stops everything.

  bool Fail(uint32_t offset, std::string message) {
    if (!error_) error_ = {script::MakeDiagnostic(text_, file_, offset, std::move(message)), std::nullopt};
    return false;
  }

  // ---- Statements

  bool RunAll(const std::vector<PyStmt>& stmts) {
    return std::all_of(stmts.begin(), stmts.end(), [&](const PyStmt& stmt) { return RunStmt(stmt); });
  }

  bool RunStmt(const PyStmt& stmt) {
    switch (stmt.kind) {
      case PyStmt::Kind::kImport:
      case PyStmt::Kind::kPass:
        return true;
      case PyStmt::Kind::kReturn:
        return true;
      case PyStmt::Kind::kFunction:
        if (stmt.parameters.size() != 1) return Fail(stmt.offset, "expected one parameter, the schedule");
        schedules_.insert(stmt.parameters[0].name);
        return RunAll(stmt.body);
      case PyStmt::Kind::kExpr:
        return stmt.value->kind == Kind::kString || RunExpr(*stmt.value);
      case PyStmt::Kind::kAnnotate:
        if (!stmt.value) return Fail(stmt.offset, "expected a value");
        [[fallthrough]];
      case PyStmt::Kind::kAssign:
        return RunAssign(stmt);
      default:
        return Fail(stmt.offset, "this statement is no part of a schedule");
    }
  }

  bool RunExpr(const PyExpr& e) {
    if (IsShow(e)) return true;
    if (e.kind != Kind::kCall) return Fail(e.offset, "expected a call of a primitive of the schedule");
    Value ignored;
    return Eval(e, &ignored);
  }

  bool RunAssign(const PyStmt& stmt) {
    if (IsNewSchedule(*stmt.value)) {
      if (stmt.target->kind != Kind::kName) return Fail(stmt.target->offset, "expected a name");
      schedules_.insert(stmt.target->text);
      return true;
    }
    Value value;
    return Eval(*stmt.value, &value) && Assign(*stmt.target, value);
  }

  bool Assign(const PyExpr& target, const Value& value) {
    if (target.kind == Kind::kName) {
      if (schedules_.contains(target.text)) return Fail(target.offset, target.text + " is the schedule");
      names_[target.text] = value;
      return true;
    }
    if (target.kind != Kind::kTuple && target.kind != Kind::kList) {
      return Fail(target.offset, "expected a name or a tuple of names");
    }
    const auto* values = value.As<Value::List>();
    const size_t count = values == nullptr ? 1 : values->size();
    const auto rest = std::ranges::find_if(target.items, [](const auto& item) { return item->kind == Kind::kStarred; });
    if (rest != target.items.end() && values != nullptr && count + 1 >= target.items.size()) {
      return AssignRest(target, rest - target.items.begin(), *values);
    }
    if (values == nullptr || count != target.items.size()) {
      return Fail(target.offset, "there are " + std::to_string(target.items.size()) + " names for " +
                                     (values == nullptr ? "one value" : std::to_string(count) + " values"));
    }
    for (size_t i = 0; i < count; ++i) {
      if (!Assign(*target.items[i], (*values)[i])) return false;
    }
    return true;
  }

  // *outer, inner = values: the starred name, at `rest`, takes what the others leave.
  bool AssignRest(const PyExpr& target, size_t rest, const Value::List& values) {
    const size_t after = target.items.size() - rest - 1, end = values.size() - after;
    for (size_t i = 0; i < target.items.size(); ++i) {
      if (i == rest) {
        const auto begin = values.begin();
        const Value::List taken(begin + static_cast<ptrdiff_t>(rest), begin + static_cast<ptrdiff_t>(end));
        if (!Assign(*target.items[i]->items[0], Value(taken))) return false;
      } else if (!Assign(*target.items[i], values[i < rest ? i : end + i - rest - 1])) {
        return false;
      }
    }
    return true;
  }

  // tvm.tir.Schedule(Module), s_tir.Schedule(Module, seed=1), Schedule(Module)
  static bool IsNewSchedule(const PyExpr& e) {
    return e.kind == Kind::kCall && e.items[0]->text == "Schedule" &&
           (e.items[0]->kind == Kind::kName || e.items[0]->kind == Kind::kAttribute);
  }
  // sch.mod.show(), sch.show()
  bool IsShow(const PyExpr& e) const {
    if (e.kind != Kind::kCall || e.items[0]->kind != Kind::kAttribute || e.items[0]->text != "show") return false;
    const PyExpr* base = e.items[0]->items[0].get();
    if (base->kind == Kind::kAttribute && base->text == "mod") base = base->items[0].get();
    return IsSchedule(*base);
  }
  bool IsSchedule(const PyExpr& e) const { return e.kind == Kind::kName && schedules_.contains(e.text); }

  // ---- Expressions

  bool Eval(const PyExpr& e, Value* out) {
    switch (e.kind) {
      case Kind::kName: {
        const auto known = names_.find(e.text);
        if (known == names_.end()) return Fail(e.offset, "the name " + e.text + " is not defined");
        *out = known->second;
        return true;
      }
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
      case Kind::kCall:
        return EvalCall(e, out);
      default:
        return Fail(e.offset, "this expression is no part of a schedule");
    }
  }

  // `*items` are spliced in.
  bool EvalItems(const std::vector<PyExprPtr>& items, Value::List* list) {
    for (const PyExprPtr& item : items) {
      Value value;
      const bool starred = item->kind == Kind::kStarred;
      if (!Eval(starred ? *item->items[0] : *item, &value)) return false;
      if (!starred) {
        list->push_back(std::move(value));
      } else if (const auto* spliced = value.As<Value::List>()) {
        list->insert(list->end(), spliced->begin(), spliced->end());
      } else {
        return Fail(item->offset, "expected a list after '*'");
      }
    }
    return true;
  }

  bool EvalDict(const PyExpr& e, Value* out) {
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

  bool EvalArithmetic(const PyExpr& e, Value* out) {
    std::vector<int64_t> operands;
    for (const PyExprPtr& item : e.items) {
      Value value;
      if (!Eval(*item, &value)) return false;
      if (const auto* real = value.As<double>(); real && e.kind == Kind::kUnary && e.text == "-") {
        *out = -*real;
        return true;
      }
      const auto* integer = value.As<int64_t>();
      if (integer == nullptr) return Fail(item->offset, "expected an integer");
      operands.push_back(*integer);
    }
    __int128 result = 0;
    if (e.kind == Kind::kUnary) {
      if (e.text != "-" && e.text != "+") return Fail(e.offset, "this operator is no part of a schedule");
      result = e.text == "-" ? -static_cast<__int128>(operands[0]) : operands[0];
    } else {
      const __int128 a = operands[0], b = operands[1];
      if ((e.text == "//" || e.text == "%") && b == 0) return Fail(e.items[1]->offset, "division by zero");
      const __int128 floor = b == 0 ? 0 : a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
      if (e.text == "+") {
        result = a + b;
      } else if (e.text == "-") {
        result = a - b;
      } else if (e.text == "*") {
        result = a * b;
      } else if (e.text == "//") {
        result = floor;
      } else if (e.text == "%") {
        result = a - floor * b;
      } else {
        return Fail(e.offset, "this operator is no part of a schedule");
      }
    }
    if (result > INT64_MAX || result < INT64_MIN) return Fail(e.offset, "the number is too large");
    *out = static_cast<int64_t>(result);
    return true;
  }

  bool EvalSubscript(const PyExpr& e, Value* out) {
    Value base, index;
    if (!Eval(*e.items[0], &base)) return false;
    const auto* list = base.As<Value::List>();
    if (list == nullptr) return Fail(e.offset, "only lists have elements");
    if (e.items.size() != 2) return Fail(e.offset, "expected one index");
    if (e.items[1]->kind == Kind::kSlice) return EvalSlice(*e.items[1], *list, out);
    if (!Eval(*e.items[1], &index)) return false;
    const auto* at = index.As<int64_t>();
    if (at == nullptr) return Fail(e.items[1]->offset, "expected an integer");
    const int64_t size = static_cast<int64_t>(list->size()), position = *at < 0 ? *at + size : *at;
    if (position < 0 || position >= size) {
      return Fail(e.items[1]->offset, "the list has " + std::to_string(size) + " elements");
    }
    *out = Value((*list)[position]);
    return true;
  }

  // loops[1:], loops[-2:]
  bool EvalSlice(const PyExpr& e, const Value::List& list, Value* out) {
    if (e.items[2] != nullptr) return Fail(e.offset, "slices with a step are no part of a schedule");
    const int64_t size = static_cast<int64_t>(list.size());
    int64_t ends[] = {0, size};
    for (size_t i = 0; i < 2; ++i) {
      if (e.items[i] == nullptr) continue;
      Value end;
      if (!Eval(*e.items[i], &end)) return false;
      const auto* at = end.As<int64_t>();
      if (at == nullptr) return Fail(e.items[i]->offset, "expected an integer");
      ends[i] = std::clamp<int64_t>(*at < 0 ? *at + size : *at, 0, size);
    }
    *out = ends[0] < ends[1] ? Value::List(list.begin() + ends[0], list.begin() + ends[1]) : Value::List();
    return true;
  }

  bool EvalLambda(const PyExpr& e, Value* out) {
    // Results of sampling are the numbers that were drawn.
    IndexMapReading reading = ReadIndexMap(e, [&](const std::string& name) -> std::optional<int64_t> {
      const auto known = names_.find(name);
      if (known == names_.end()) return std::nullopt;
      const auto* rv = known->second.As<Rv>();
      if (rv != nullptr && forgotten_.contains(rv->index)) return std::nullopt;
      const auto* number = (rv != nullptr ? schedule_.Get(*rv) : known->second).As<int64_t>();
      return number != nullptr ? std::optional<int64_t>(*number) : std::nullopt;
    });
    if (!reading.map) return Fail(reading.offset, std::move(reading.error));
    *out = std::move(reading.map);
    return true;
  }

  bool EvalCall(const PyExpr& e, Value* out) {
    const PyExpr& callee = *e.items[0];
    if (callee.kind == Kind::kAttribute && callee.text == "index_map" && e.items.size() == 2) {
      return Eval(*e.items[1], out);  // T.index_map(lambda ...)
    }
    if (callee.kind == Kind::kAttribute && e.items.size() == 2 && e.keywords.empty() && !IsSchedule(*callee.items[0]) &&
        DataType::Parse(callee.text)) {
      return Eval(*e.items[1], out);  // T.int32(4)
    }
    if (callee.kind != Kind::kAttribute || !IsSchedule(*callee.items[0])) {
      return Fail(e.offset, "expected a call of a primitive of the schedule");
    }
    if (callee.text == "work_on") return WorkOn(e, out);
    if (callee.text == "remove_rv") return RemoveRv(e, out);
    if (callee.text == "can_decompose_padding") return CanDecomposePadding(e, out);
    const Primitive* primitive = FindPrimitive(callee.text);
    if (primitive == nullptr) return Fail(e.offset, "there is no primitive " + callee.text);
    std::vector<Value> args;
    Value decision;
    return BindArguments(e, *primitive, &args, &decision) && LookUpBlocks(e, *primitive, &args) &&
           ApplyCall(e, *primitive, std::move(args), decision, out);
  }

  // sch.work_on("f"): blocks are looked up in that function from here on.
  bool WorkOn(const PyExpr& e, Value* out) {
    Value name;
    const bool keyword = e.keywords.size() == 1 && e.items.size() == 1 && e.keywords[0] == "func_name";
    if (!keyword && !(e.items.size() == 2 && e.keywords.empty())) return Fail(e.offset, "work_on takes a function");
    if (!Eval(keyword ? *e.keyword_values[0] : *e.items[1], &name)) return false;
    const auto* function = name.As<std::string>();
    if (function == nullptr || !schedule_.module().Find(*function)) {
      return Fail(e.offset, "work_on: there is no function " + (function != nullptr ? *function : "of that kind"));
    }
    working_on_ = *function;
    *out = Value();
    return true;
  }

  // sch.remove_rv(l0): what it names is forgotten.
  bool RemoveRv(const PyExpr& e, Value* out) {
    const bool keyword = e.keywords.size() == 1 && e.items.size() == 1 && e.keywords[0] == "rv";
    if (!keyword && !(e.items.size() == 2 && e.keywords.empty())) return Fail(e.offset, "remove_rv takes one result");
    Value value;
    if (!Eval(keyword ? *e.keyword_values[0] : *e.items[1], &value)) return false;
    const auto* rv = value.As<Rv>();
    if (rv == nullptr) return Fail(e.offset, "remove_rv: the argument is no result of a call");
    Outcome<std::monostate> removed = schedule_.RemoveRv(*rv);
    if (removed.ok()) forgotten_.insert(rv->index);
    *out = Value();
    return removed.ok() || Fail(e.offset, RenderLine(removed.refusal(), schedule_.refused_function()));
  }

  // x = sch.can_decompose_padding(block, loop): a boolean.
  bool CanDecomposePadding(const PyExpr& e, Value* out) {
    const Primitive& primitive = *FindPrimitive("decompose_padding");
    std::vector<Value> args;
    Value decision;
    if (!BindArguments(e, primitive, &args, &decision) || !LookUpBlocks(e, primitive, &args)) return false;
    *out = schedule_.CanDecomposePadding(args[0], args[1]);
    return true;
  }

  // Names of blocks are those of the function that is worked on.
  bool LookUpBlocks(const PyExpr& e, const Primitive& primitive, std::vector<Value>* args) {
    for (size_t i = 0; !working_on_.empty() && i < args->size(); ++i) {
      Value& arg = (*args)[i];
      const ArgKind kind = primitive.args[i].kind;
      if (primitive.args[i].name == std::string_view("func_name") && arg.is_none()) arg = Value(working_on_);
      const bool block = kind == ArgKind::kBlock || kind == ArgKind::kBlocks || kind == ArgKind::kLoopOrBlock ||
                         kind == ArgKind::kTarget;
      if (!block) continue;
      const bool list = arg.As<Value::List>() != nullptr;
      Value::List names = list ? *arg.As<Value::List>() : Value::List{arg};
      for (Value& name : names) {
        if (name.As<std::string>() == nullptr) continue;
        if (!ApplyCall(e, *FindPrimitive("get_block"), {name, Value(working_on_)}, {}, &name)) return false;
      }
      arg = list ? Value(std::move(names)) : std::move(names[0]);
    }
    return true;
  }

  // The arguments in the order of the primitive's table entry, defaults filled in.
  bool BindArguments(const PyExpr& e, const Primitive& primitive, std::vector<Value>* args, Value* decision) {
    Value::List positional;
    if (!EvalItems({e.items.begin() + 1, e.items.end()}, &positional)) return false;
    std::vector<std::optional<Value>> bound(primitive.args.size());
    const bool variadic = !primitive.args.empty() && primitive.args[0].variadic;
    if (variadic && !positional.empty()) {
      bound[0] = std::move(positional);
    } else if (positional.size() > bound.size()) {
      return Fail(e.offset,
                  std::string(primitive.name) + " takes at most " + std::to_string(bound.size()) + " arguments");
    } else {
      std::ranges::move(positional, bound.begin());
    }
    for (size_t k = 0; k < e.keywords.size(); ++k) {
      Value value;
      if (!Eval(*e.keyword_values[k], &value)) return false;
      const uint32_t offset = e.keyword_offsets[k];
      if (e.keywords[k] == "decision" && primitive.role == Primitive::Role::kSampling) {
        *decision = std::move(value);
        continue;
      }
      const auto spec =
          std::ranges::find_if(primitive.args, [&](const ArgSpec& arg) { return IsCalled(arg, e.keywords[k]); });
      if (spec == primitive.args.end()) {
        return Fail(offset, std::string(primitive.name) + " has no argument " + e.keywords[k]);
      }
      std::optional<Value>& place = bound[spec - primitive.args.begin()];
      if (place) return Fail(offset, "the argument " + e.keywords[k] + " is given twice");
      place = std::move(value);
    }
    for (size_t i = 0; i < bound.size(); ++i) {
      if (!bound[i]) bound[i] = primitive.args[i].default_value;
      if (!bound[i])
        return Fail(e.offset, std::string(primitive.name) + " wants the argument " + primitive.args[i].name);
      args->push_back(std::move(*bound[i]));
    }
    return true;
  }

  bool ApplyCall(const PyExpr& e, const Primitive& primitive, std::vector<Value> args, const Value& decision,
                 Value* out) {
    Outcome<std::vector<Rv>> results = schedule_.Apply(primitive, std::move(args), decision);
    const script::Diagnostic place = script::MakeDiagnostic(text_, file_, e.offset, "");
    if (!results.ok()) {
      Fail(e.offset, RenderLine(results.refusal(), schedule_.refused_function()));
      error_->refusal = results.refusal();
      return false;
    }
    if (options_.after_call) options_.after_call(LineAt(e.offset), place.line, schedule_);
    switch (primitive.result) {
      case ResultKind::kNone:
        *out = Value();
        return true;
      case ResultKind::kLoop:
      case ResultKind::kBlock:
      case ResultKind::kInt:
        *out = Value(results->at(0));
        return true;
      default: {
        Value::List list;
        for (Rv rv : *results) list.push_back(rv);
        *out = std::move(list);
        return true;
      }
    }
  }

  // The line that the call is on, without indentation.
  std::string_view LineAt(uint32_t offset) const {
    size_t begin = text_.rfind('\n', offset);
    begin = begin == text_.npos ? 0 : begin + 1;
    begin = std::min(text_.find_first_not_of(" \t", begin), text_.size());
    return text_.substr(begin, std::min(text_.find('\n', offset), text_.size()) - begin);
  }

  std::string_view text_, file_;
  Schedule& schedule_;
  const ScheduleScriptOptions& options_;
  std::map<std::string, Value> names_;
  std::set<int> forgotten_;  // the numbers of random variables that were removed
  std::set<std::string> schedules_ = {"sch"};
  std::string working_on_;  // a function; empty: "main", or the only one
  std::optional<ScheduleScriptError> error_;
};

}  // namespace

std::optional<ScheduleScriptError> ApplyScheduleScript(std::string_view text, std::string_view file, Schedule* schedule,
                                                       const ScheduleScriptOptions& options) {
  return Runner(text, file, schedule, options).Run();
}

}  // namespace tilewright
