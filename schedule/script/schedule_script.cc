#include "schedule/script/schedule_script.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ir/script/python_parser.h"
#include "schedule/script/index_map_reader.h"
#include "schedule/script/python_values.h"

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
    for (const PyStmt& stmt : stmts) {
      if (!RunStmt(stmt)) return false;
      if (leaving_ != Leaving::kNothing) break;
    }
    return true;
  }

  // Runs until an error, or until something leaves the loop or function around.
  bool RunStmt(const PyStmt& stmt) {
    if (++steps_ > kMaxSteps) return Fail(stmt.offset, "the schedule runs for too long");
    switch (stmt.kind) {
      case PyStmt::Kind::kImport:
      case PyStmt::Kind::kPass:
        return true;
      case PyStmt::Kind::kReturn:
        leaving_ = Leaving::kFunction;
        return !stmt.value || Eval(*stmt.value, &returned_);
      case PyStmt::Kind::kBreak:
        leaving_ = stmt.text == "break" ? Leaving::kLoop : Leaving::kIteration;
        return true;
      case PyStmt::Kind::kFunction:
        return RunFunction(stmt);
      case PyStmt::Kind::kExpr:
        return stmt.value->kind == Kind::kString || RunExpr(*stmt.value);
      case PyStmt::Kind::kAnnotate:
        if (!stmt.value) return Fail(stmt.offset, "expected a value");
        [[fallthrough]];
      case PyStmt::Kind::kAssign:
        return RunAssign(stmt);
      case PyStmt::Kind::kAugment:
        return RunAugment(stmt);
      case PyStmt::Kind::kFor:
        return RunFor(stmt);
      case PyStmt::Kind::kWhile:
        return RunWhile(stmt);
      case PyStmt::Kind::kIf: {
        bool truth = false;
        return EvalTruth(*stmt.value, &truth) && RunAll(truth ? stmt.body : stmt.else_body);
      }
      case PyStmt::Kind::kAssert: {
        bool truth = false;
        return EvalTruth(*stmt.value, &truth) && (truth || Fail(stmt.offset, "the assertion does not hold"));
      }
      default:
        return Fail(stmt.offset, "this statement is no part of a schedule");
    }
  }

  // def apply_trace(sch): its body is run here. A function that the text calls is run where it is called.
  bool RunFunction(const PyStmt& stmt) {
    if (IsCalledSomewhere(stmt.text)) {
      functions_[stmt.text] = &stmt;
      return true;
    }
    if (stmt.parameters.size() != 1) return Fail(stmt.offset, "expected one parameter, the schedule");
    schedules_.insert(stmt.parameters[0].name);
    const bool ran = RunAll(stmt.body);
    leaving_ = Leaving::kNothing;
    return ran;
  }
  bool IsCalledSomewhere(std::string_view function) const {
    for (size_t at = text_.find(function); at != text_.npos; at = text_.find(function, at + 1)) {
      const size_t before = text_.find_last_not_of(" \t", at == 0 ? 0 : at - 1), after = at + function.size();
      const auto part_of_name = [](char c) {
        return c == '_' || c == '.' || std::isalnum(static_cast<unsigned char>(c));
      };
      if (after >= text_.size() || text_[after] != '(' || (at > 0 && part_of_name(text_[at - 1]))) continue;
      const bool defined = before != text_.npos && before >= 2 && text_.substr(before - 2, 3) == "def";
      if (!defined) return true;
    }
    return false;
  }

  bool RunFor(const PyStmt& stmt) {
    Value from;
    if (!Eval(*stmt.value, &from)) return false;
    const auto elements = PythonElements(from);
    if (!elements) return Fail(stmt.value->offset, "expected a list");
    for (const Value& element : *elements) {
      if (!Assign(*stmt.target, element) || !RunAll(stmt.body)) return false;
      if (LeavesLoop()) break;
    }
    return true;
  }
  bool RunWhile(const PyStmt& stmt) {
    bool truth = false;
    while (EvalTruth(*stmt.value, &truth) && truth) {
      if (++steps_ > kMaxSteps) return Fail(stmt.offset, "the schedule runs for too long");
      if (!RunAll(stmt.body)) return false;
      if (LeavesLoop()) break;
    }
    return !error_;
  }
  // Behind an iteration of a loop: whether it is the last.
  bool LeavesLoop() {
    const bool leaves = leaving_ == Leaving::kLoop || leaving_ == Leaving::kFunction;
    if (leaving_ != Leaving::kFunction) leaving_ = Leaving::kNothing;
    return leaves;
  }

  // n += 1
  bool RunAugment(const PyStmt& stmt) {
    Value left, right;
    if (!Eval(*stmt.target, &left) || !Eval(*stmt.value, &right)) return false;
    PythonResult result = PythonBinary(stmt.text, left, right);
    if (!result.value) return Fail(stmt.offset, std::move(result.error));
    return Assign(*stmt.target, *result.value);
  }

  bool RunExpr(const PyExpr& e) {
    if (IsShow(e) || IsPrint(e)) return true;
    if (IsAppend(e)) return RunAppend(e);
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
  static bool IsPrint(const PyExpr& e) {
    return e.kind == Kind::kCall && e.items[0]->kind == Kind::kName && e.items[0]->text == "print";
  }
  // tiles.append(16)
  bool IsAppend(const PyExpr& e) const {
    return e.kind == Kind::kCall && e.items.size() == 2 && e.items[0]->kind == Kind::kAttribute &&
           e.items[0]->text == "append" && e.items[0]->items[0]->kind == Kind::kName &&
           names_.contains(e.items[0]->items[0]->text);
  }
  bool RunAppend(const PyExpr& e) {
    Value added;
    if (!Eval(*e.items[1], &added)) return false;
    Value& list = names_[e.items[0]->items[0]->text];
    PythonResult longer = PythonBinary("+", list, Value(Value::List{added}));
    if (!longer.value) return Fail(e.offset, "expected a list to append to");
    list = std::move(*longer.value);
    return true;
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

  bool EvalTruth(const PyExpr& e, bool* out) {
    Value value;
    if (!Eval(e, &value)) return false;
    if (value.As<Rv>() != nullptr) return Fail(e.offset, "expected a value that is known here");
    *out = PythonTruth(value);
    return true;
  }

  bool EvalArithmetic(const PyExpr& e, Value* out) {
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
    PythonResult result = unary && e.text == "~" ? PythonResult{std::nullopt, "this operator is no part of a schedule"}
                                                 : PythonBinary(e.text, left, right);
    if (result.value) {
      *out = std::move(*result.value);
      return true;
    }
    const PyExpr& wrong = result.operand < 0 ? e : unary ? *e.items[0] : *e.items[result.operand];
    return Fail(wrong.offset, std::move(result.error));
  }
  // The operands as in Python: "and" and "or" give one of them.
  bool EvalLogic(const PyExpr& e, Value* out) {
    bool truth = false;
    if (e.text == "not") {
      if (!EvalTruth(*e.items[0], &truth)) return false;
      *out = !truth;
      return true;
    }
    if (!Eval(*e.items[0], out) || !EvalTruth(*e.items[0], &truth)) return false;
    return truth == (e.text == "or") || Eval(*e.items[1], out);
  }

  bool EvalComprehension(const PyExpr& e, Value* out) {
    Value from;
    if (!Eval(*e.items[2], &from)) return false;
    const auto elements = PythonElements(from);
    if (!elements) return Fail(e.items[2]->offset, "expected a list");
    const std::map<std::string, Value> around = names_;
    Value::List list;
    for (const Value& element : *elements) {
      if (++steps_ > kMaxSteps) return Fail(e.offset, "the schedule runs for too long");
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

  // f"tile_{n}"
  bool EvalFormat(const PyExpr& e, Value* out) {
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

  bool EvalSubscript(const PyExpr& e, Value* out) {
    Value base, index;
    if (!Eval(*e.items[0], &base)) return false;
    if (e.items.size() != 2) return Fail(e.offset, "expected one index");
    const auto* list = base.As<Value::List>();
    const auto* dict = base.As<Value::Dict>();
    if (list == nullptr && dict == nullptr) return Fail(e.offset, "only lists have elements");
    if (e.items[1]->kind == Kind::kSlice && list != nullptr) return EvalSlice(*e.items[1], *list, out);
    if (!Eval(*e.items[1], &index)) return false;
    if (dict != nullptr) {
      const auto* key = index.As<std::string>();
      const auto found = key == nullptr ? dict->end() : dict->find(*key);
      if (found == dict->end()) return Fail(e.items[1]->offset, "the dictionary has no such key");
      *out = Value(found->second);
      return true;
    }
    const auto* at = index.As<int64_t>();
    if (at == nullptr) return Fail(e.items[1]->offset, "expected an integer");
    const int64_t size = static_cast<int64_t>(list->size()), position = *at < 0 ? *at + size : *at;
    if (position < 0 || position >= size) {
      return Fail(e.items[1]->offset, "the list has " + std::to_string(size) + " elements");
    }
    *out = Value((*list)[position]);
    return true;
  }
  // loops[1:], loops[::-1]
  bool EvalSlice(const PyExpr& slice, const Value::List& list, Value* out) {
    Value bounds[3];
    for (size_t i = 0; i < 3; ++i) {
      if (slice.items[i] && !Eval(*slice.items[i], &bounds[i])) return false;
    }
    PythonResult result = PythonSlice(list, bounds[0], bounds[1], bounds[2]);
    if (!result.value) return Fail(slice.offset, std::move(result.error));
    *out = std::move(*result.value);
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
    if (callee.kind == Kind::kName && functions_.contains(callee.text)) return CallFunction(e, out);
    if (callee.kind == Kind::kName && e.keywords.empty()) {
      Value::List args;
      if (!EvalItems({e.items.begin() + 1, e.items.end()}, &args)) return false;
      if (std::optional<PythonResult> result = PythonBuiltin(callee.text, args)) {
        if (!result->value) return Fail(e.offset, std::move(result->error));
        *out = std::move(*result->value);
        return true;
      }
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

  // A function of the text: it sees the names that are there when it is called, and its own.
  bool CallFunction(const PyExpr& e, Value* out) {
    const PyStmt& function = *functions_.at(e.items[0]->text);
    if (depth_ == kMaxDepth) return Fail(e.offset, "the functions call each other too deep");
    std::map<std::string, Value> names = names_;
    std::set<std::string> schedules = schedules_;
    if (e.items.size() - 1 > function.parameters.size())
      return Fail(e.offset, function.text + " takes fewer arguments");
    for (const std::string& keyword : e.keywords) {
      const auto named = [&](const script::PyParameter& parameter) { return parameter.name == keyword; };
      if (std::ranges::none_of(function.parameters, named)) {
        return Fail(e.offset, function.text + " has no parameter " + keyword);
      }
    }
    for (size_t i = 0; i < function.parameters.size(); ++i) {
      const script::PyParameter& parameter = function.parameters[i];
      const auto keyword = std::ranges::find(e.keywords, parameter.name);
      const PyExpr* argument = parameter.default_value.get();
      if (keyword != e.keywords.end()) argument = e.keyword_values[keyword - e.keywords.begin()].get();
      if (i + 1 < e.items.size()) argument = e.items[i + 1].get();
      if (argument == nullptr) return Fail(e.offset, function.text + " wants the argument " + parameter.name);
      schedules.erase(parameter.name);
      names.erase(parameter.name);
      if (IsSchedule(*argument)) {
        schedules.insert(parameter.name);
      } else if (!Eval(*argument, &names[parameter.name])) {
        return false;
      }
    }
    std::swap(names, names_);
    std::swap(schedules, schedules_);
    ++depth_;
    returned_ = Value();
    const bool ran = RunAll(function.body);
    --depth_;
    leaving_ = Leaving::kNothing;
    std::swap(names, names_);
    std::swap(schedules, schedules_);
    *out = std::exchange(returned_, Value());
    return ran;
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

  enum class Leaving { kNothing, kIteration, kLoop, kFunction };
  static constexpr int kMaxSteps = 100000, kMaxDepth = 50;

  std::string_view text_, file_;
  Schedule& schedule_;
  const ScheduleScriptOptions& options_;
  std::map<std::string, Value> names_;
  std::set<int> forgotten_;  // the numbers of random variables that were removed
  std::set<std::string> schedules_ = {"sch"};
  std::map<std::string, const PyStmt*> functions_;  // those that the text calls
  Leaving leaving_ = Leaving::kNothing;             // what a return, break or continue leaves
  Value returned_;
  int steps_ = 0, depth_ = 0;
  std::string working_on_;  // a function; empty: "main", or the only one
  std::optional<ScheduleScriptError> error_;
};

}  // namespace

std::optional<ScheduleScriptError> ApplyScheduleScript(std::string_view text, std::string_view file, Schedule* schedule,
                                                       const ScheduleScriptOptions& options) {
  return Runner(text, file, schedule, options).Run();
}

}  // namespace tilewright
