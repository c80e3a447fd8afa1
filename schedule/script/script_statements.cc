// The statements of schedule text.
#include <algorithm>
#include <cctype>
#include <functional>
#include <utility>
#include <vector>

#include "ir/script/python/parser.h"
#include "schedule/script/python_values.h"
#include "schedule/script/script_runner.h"

namespace tilewright {

std::optional<ScheduleScriptError> ScriptRunner::Run() {
  script::PythonTree tree = script::ParsePythonFile(text_, file_);
  if (tree.error) return ScheduleScriptError{*tree.error, std::nullopt};
  names_["sch"] = MakeSpecial(Special::kSchedule);
  names_["__name__"] = Value("__main__");
  RunAll(tree.statements);
  if (!error_ && !applied_ && not_called_ != nullptr) {
    Fail(not_called_->offset, "nothing calls this function, and it takes more than the schedule");
  }
  return std::move(error_);
}

bool ScriptRunner::Fail(uint32_t offset, std::string message) {
  if (!error_) error_ = {script::MakeDiagnostic(text_, file_, offset, std::move(message)), std::nullopt};
  return false;
}

bool ScriptRunner::Stop(uint32_t offset, std::string message) {
  stopped_ = true;
  return Fail(offset, std::move(message));
}

bool ScriptRunner::FailWith(uint32_t offset, PythonResult result) {
  return result.wrong ? Stop(offset, std::move(result.error)) : Fail(offset, std::move(result.error));
}

bool ScriptRunner::RunAll(const std::vector<PyStmt>& stmts) {
  for (const PyStmt& stmt : stmts) {
    if (!RunStmt(stmt)) return false;
    if (leaving_ != Leaving::kNothing) break;
  }
  return true;
}

bool ScriptRunner::RunStmt(const PyStmt& stmt) {
  if (++steps_ > kMaxSteps) return Stop(stmt.offset, "the schedule runs for too long");
  std::set<const PyExpr*> outer = std::exchange(done_, {});
  const bool ran = RunKnown(stmt);
  if (!ran) stopped_ = stopped_ || error_->refusal || Schedules(stmt);
  done_ = std::move(outer);
  if (ran || stopped_) return ran;
  PassOver(stmt);
  return true;
}

void ScriptRunner::PassOver(const PyStmt& stmt) {
  why_other_[stmt.offset] = error_->diagnostic.message;
  if (options_.passed_over) {
    const int line = script::MakeDiagnostic(text_, file_, stmt.offset, "").line;
    options_.passed_over(line, error_->diagnostic.message);
  }
  error_.reset();
  if (stmt.kind == PyStmt::Kind::kReturn) returned_ = MakeSpecial(Special::kOther, stmt.offset);
  ForgetTargets(stmt);
}

void ScriptRunner::ForgetTargets(const PyStmt& stmt) {
  const std::function<void(const PyExpr&)> forget = [&](const PyExpr& target) {
    if (target.kind == Kind::kName) names_[target.text] = MakeSpecial(Special::kOther, stmt.offset);
    const bool list = target.kind == Kind::kTuple || target.kind == Kind::kList || target.kind == Kind::kStarred;
    for (size_t i = 0; list && i < target.items.size(); ++i) forget(*target.items[i]);
    // self.x = ..., values[0] = ...
    if (target.kind == Kind::kSubscript) forget(*target.items[0]);
    Value base;
    if (target.kind != Kind::kAttribute || target.items[0]->kind != Kind::kName) return;
    const auto known = names_.find(target.items[0]->text);
    const auto instance = known == names_.end() ? std::nullopt : SpecialNumber(known->second, Special::kInstance);
    if (instance)
      instances_[static_cast<size_t>(*instance)].second[target.text] = MakeSpecial(Special::kOther, stmt.offset);
  };
  if (stmt.target) forget(*stmt.target);
  for (const PyExprPtr& target : stmt.more_targets) forget(*target);
  if (stmt.kind == PyStmt::Kind::kFunction || stmt.kind == PyStmt::Kind::kClass) return;
  for (const auto* body : {&stmt.body, &stmt.else_body}) {
    for (const PyStmt& inner : *body) ForgetTargets(inner);
  }
}

bool ScriptRunner::RunKnown(const PyStmt& stmt) {
  switch (stmt.kind) {
    case PyStmt::Kind::kImport:
      return RunImport(stmt);
    case PyStmt::Kind::kPass:
      return true;
    case PyStmt::Kind::kReturn:
      leaving_ = Leaving::kFunction;
      returned_ = Value();
      return !stmt.value || Eval(*stmt.value, &returned_);
    case PyStmt::Kind::kBreak:
      leaving_ = stmt.text == "break" ? Leaving::kLoop : Leaving::kIteration;
      return true;
    case PyStmt::Kind::kFunction:
      return RunFunction(stmt);
    case PyStmt::Kind::kClass:
      return RunClass(stmt);
    case PyStmt::Kind::kExpr:
      return stmt.value->kind == Kind::kString || RunExpr(*stmt.value);
    case PyStmt::Kind::kAnnotate:
      return !stmt.value || RunAssign(stmt);
    case PyStmt::Kind::kAssign:
      return RunAssign(stmt);
    case PyStmt::Kind::kAugment:
      return RunAugment(stmt);
    case PyStmt::Kind::kFor:
      return RunFor(stmt);
    case PyStmt::Kind::kWhile:
      return RunWhile(stmt);
    case PyStmt::Kind::kWith:  // with tvm.transform.PassContext(): what it is for is other Python
      if (Schedules(*stmt.value)) return Fail(stmt.offset, "this statement is not part of a schedule");
      ForgetTargets(stmt);
      return RunAll(stmt.body);
    case PyStmt::Kind::kIf: {
      bool truth = false;
      return EvalTruth(*stmt.value, &truth) && RunAll(truth ? stmt.body : stmt.else_body);
    }
    case PyStmt::Kind::kAssert: {
      bool truth = false;
      return EvalTruth(*stmt.value, &truth) && (truth || Stop(stmt.offset, "the assertion does not hold"));
    }
    case PyStmt::Kind::kOther:
      return RunOther(stmt);
  }
  return true;
}

// A statement that the parser does not know: other Python, unless it names a schedule and a primitive.
bool ScriptRunner::RunOther(const PyStmt& stmt) {
  if (text_.substr(stmt.offset).starts_with("raise")) return Stop(stmt.offset, "the schedule raises an error here");
  const bool schedule = std::ranges::any_of(stmt.names, [&](const std::string& name) {
    const auto known = names_.find(name);
    return known != names_.end() && SpecialNumber(known->second, Special::kSchedule);
  });
  const bool primitive = std::ranges::any_of(stmt.names, [](const std::string& name) { return FindPrimitive(name); });
  if (schedule && primitive) {
    error_ = {*stmt.problem, std::nullopt};
    stopped_ = true;
    return false;
  }
  for (const std::string& name : stmt.aliases) names_[name] = MakeSpecial(Special::kOther, stmt.offset);
  return true;
}

bool ScriptRunner::RunImport(const PyStmt& stmt) {
  for (size_t i = 0; i < stmt.names.size(); ++i) {
    const std::string& alias = stmt.aliases[i];
    const std::string name = alias.empty() ? stmt.names[i].substr(0, stmt.names[i].find('.')) : alias;
    if (name != "math") names_[name] = MakeSpecial(Special::kOther, stmt.offset);
  }
  return true;
}

bool ScriptRunner::RunFunction(const PyStmt& stmt) {
  const bool program = std::ranges::any_of(stmt.decorators, [](const PyExprPtr& decorator) {
    const PyExpr* e = decorator.get();
    if (e->kind == Kind::kCall) e = e->items[0].get();
    return e->text == "prim_func" || e->text == "function";
  });
  if (program) {
    names_[stmt.text] = MakeSpecial(Special::kOther, stmt.offset);
    return true;
  }
  names_[stmt.text] = MakeSpecial(Special::kFunction, static_cast<int64_t>(functions_.size()));
  functions_.push_back(&stmt);
  if (!FunctionSchedules(stmt) || IsCalledSomewhere(stmt.text)) return true;
  if (stmt.parameters.size() != 1) {
    if (not_called_ == nullptr) not_called_ = &stmt;
    return true;
  }
  names_[stmt.parameters[0].name] = MakeSpecial(Special::kSchedule);
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
  if (!elements) return Stop(stmt.value->offset, "expected a list");
  for (const Value& element : *elements) {
    if (!Assign(*stmt.target, element) || !RunAll(stmt.body)) return false;
    if (LeavesLoop()) break;
  }
  return true;
}

bool ScriptRunner::RunWhile(const PyStmt& stmt) {
  bool truth = false;
  while (EvalTruth(*stmt.value, &truth) && truth) {
    if (++steps_ > kMaxSteps) return Stop(stmt.offset, "the schedule runs for too long");
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
  if (!result.value) return FailWith(stmt.offset, std::move(result));
  return Assign(*stmt.target, *result.value);
}

bool ScriptRunner::RunExpr(const PyExpr& e) {
  if (IsShow(e) || (IsPrint(e) && !Schedules(e))) return true;
  if (IsAppend(e)) return RunAppend(e);
  Value ignored;
  return Eval(e, &ignored);
}

bool ScriptRunner::RunAssign(const PyStmt& stmt) {
  Value value;
  if (!Eval(*stmt.value, &value)) return false;
  for (const PyExprPtr& target : stmt.more_targets) {
    if (!Assign(*target, value)) return false;
  }
  return Assign(*stmt.target, value);
}

bool ScriptRunner::Assign(const PyExpr& target, const Value& value) {
  if (target.kind == Kind::kName) {
    const auto known = names_.find(target.text);
    const bool schedule = known != names_.end() && SpecialNumber(known->second, Special::kSchedule);
    if (schedule && !SpecialNumber(value, Special::kSchedule) && !SpecialNumber(value, Special::kOther)) {
      return Stop(target.offset, target.text + " is the schedule");
    }
    if (!HasPythonSize(value)) return Stop(target.offset, "the value of " + target.text + " is too large");
    names_[target.text] = value;
    return true;
  }
  if (target.kind == Kind::kAttribute) {  // self.width = 8
    Value base;
    if (!Eval(*target.items[0], &base)) return false;
    const auto instance = SpecialNumber(base, Special::kInstance);
    if (!instance) return Fail(target.offset, "expected a name or a tuple of names");
    if (!HasPythonSize(value)) return Stop(target.offset, "the value of " + target.text + " is too large");
    instances_[static_cast<size_t>(*instance)].second[target.text] = value;
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
    return Stop(target.offset, "there are " + std::to_string(target.items.size()) + " names for " +
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
  if (base->kind == Kind::kAttribute && (base->text == "mod" || base->text == "trace")) base = base->items[0].get();
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
  if (list.As<Value::List>() == nullptr) return Stop(e.offset, "expected a list to append to");
  std::get<Value::List>(list.data).push_back(std::move(added));
  if (!HasPythonSize(list)) return Stop(e.offset, "the list is too long");
  return true;
}

}  // namespace tilewright
