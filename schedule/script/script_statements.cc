// The statements of schedule text.
#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "ir/script/python_parser.h"
#include "schedule/script/python_values.h"
#include "schedule/script/script_runner.h"

namespace tilewright {

std::optional<ScheduleScriptError> ScriptRunner::Run() {
  script::PythonTree tree = script::ParsePython(text_, file_);
  if (tree.error) return ScheduleScriptError{*tree.error, std::nullopt};
  RunAll(tree.statements);
  return std::move(error_);
}

bool ScriptRunner::Fail(uint32_t offset, std::string message) {
  if (!error_) error_ = {script::MakeDiagnostic(text_, file_, offset, std::move(message)), std::nullopt};
  return false;
}

bool ScriptRunner::RunAll(const std::vector<PyStmt>& stmts) {
  for (const PyStmt& stmt : stmts) {
    if (!RunStmt(stmt)) return false;
    if (leaving_ != Leaving::kNothing) break;
  }
  return true;
}

bool ScriptRunner::RunStmt(const PyStmt& stmt) {
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

bool ScriptRunner::RunFunction(const PyStmt& stmt) {
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

bool ScriptRunner::IsCalledSomewhere(std::string_view function) const {
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

bool ScriptRunner::RunFor(const PyStmt& stmt) {
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

bool ScriptRunner::RunWhile(const PyStmt& stmt) {
  bool truth = false;
  while (EvalTruth(*stmt.value, &truth) && truth) {
    if (++steps_ > kMaxSteps) return Fail(stmt.offset, "the schedule runs for too long");
    if (!RunAll(stmt.body)) return false;
    if (LeavesLoop()) break;
  }
  return !error_;
}

bool ScriptRunner::LeavesLoop() {
  const bool leaves = leaving_ == Leaving::kLoop || leaving_ == Leaving::kFunction;
  if (leaving_ != Leaving::kFunction) leaving_ = Leaving::kNothing;
  return leaves;
}

bool ScriptRunner::RunAugment(const PyStmt& stmt) {
  Value left, right;
  if (!Eval(*stmt.target, &left) || !Eval(*stmt.value, &right)) return false;
  PythonResult result = PythonBinary(stmt.text, left, right);
  if (!result.value) return Fail(stmt.offset, std::move(result.error));
  return Assign(*stmt.target, *result.value);
}

bool ScriptRunner::RunExpr(const PyExpr& e) {
  if (IsShow(e) || IsPrint(e)) return true;
  if (IsAppend(e)) return RunAppend(e);
  if (e.kind != Kind::kCall) return Fail(e.offset, "expected a call of a primitive of the schedule");
  Value ignored;
  return Eval(e, &ignored);
}

bool ScriptRunner::RunAssign(const PyStmt& stmt) {
  if (IsNewSchedule(*stmt.value)) {
    if (stmt.target->kind != Kind::kName) return Fail(stmt.target->offset, "expected a name");
    schedules_.insert(stmt.target->text);
    return true;
  }
  Value value;
  return Eval(*stmt.value, &value) && Assign(*stmt.target, value);
}

bool ScriptRunner::Assign(const PyExpr& target, const Value& value) {
  if (target.kind == Kind::kName) {
    if (schedules_.contains(target.text)) return Fail(target.offset, target.text + " is the schedule");
    if (!HasPythonSize(value)) return Fail(target.offset, "the value of " + target.text + " is too large");
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

bool ScriptRunner::AssignRest(const PyExpr& target, size_t rest, const Value::List& values) {
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

bool ScriptRunner::IsNewSchedule(const PyExpr& e) {
  return e.kind == Kind::kCall && e.items[0]->text == "Schedule" &&
         (e.items[0]->kind == Kind::kName || e.items[0]->kind == Kind::kAttribute);
}

bool ScriptRunner::IsShow(const PyExpr& e) const {
  if (e.kind != Kind::kCall || e.items[0]->kind != Kind::kAttribute || e.items[0]->text != "show") return false;
  const PyExpr* base = e.items[0]->items[0].get();
  if (base->kind == Kind::kAttribute && base->text == "mod") base = base->items[0].get();
  return IsSchedule(*base);
}

bool ScriptRunner::IsPrint(const PyExpr& e) {
  return e.kind == Kind::kCall && e.items[0]->kind == Kind::kName && e.items[0]->text == "print";
}

bool ScriptRunner::IsAppend(const PyExpr& e) const {
  return e.kind == Kind::kCall && e.items.size() == 2 && e.items[0]->kind == Kind::kAttribute &&
         e.items[0]->text == "append" && e.items[0]->items[0]->kind == Kind::kName &&
         names_.contains(e.items[0]->items[0]->text);
}

bool ScriptRunner::RunAppend(const PyExpr& e) {
  Value added;
  if (!Eval(*e.items[1], &added)) return false;
  Value& list = names_[e.items[0]->items[0]->text];
  if (list.As<Value::List>() == nullptr) return Fail(e.offset, "expected a list to append to");
  std::get<Value::List>(list.data).push_back(std::move(added));
  if (!HasPythonSize(list)) return Fail(e.offset, "the list is too long");
  return true;
}

}  // namespace tilewright
