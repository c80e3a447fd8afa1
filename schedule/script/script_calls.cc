// The calls of schedule text.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "schedule/script/python_values.h"
#include "schedule/script/script_runner.h"

namespace tilewright {
namespace {

// Traces of the peer write block=... where its own functions say scope_block=...
bool IsCalled(const ArgSpec& arg, std::string_view keyword) {
  return arg.name == keyword || (keyword == "block" && std::string_view(arg.name) == "scope_block");
}

}  // namespace

bool ScriptRunner::EvalCall(const PyExpr& e, Value* out) {
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

bool ScriptRunner::CallFunction(const PyExpr& e, Value* out) {
  const PyStmt& function = *functions_.at(e.items[0]->text);
  if (depth_ == kMaxDepth) return Fail(e.offset, "the functions call each other too deep");
  std::map<std::string, Value> names = names_;
  std::set<std::string> schedules = schedules_;
  if (e.items.size() - 1 > function.parameters.size()) return Fail(e.offset, function.text + " takes fewer arguments");
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

bool ScriptRunner::WorkOn(const PyExpr& e, Value* out) {
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

bool ScriptRunner::RemoveRv(const PyExpr& e, Value* out) {
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

bool ScriptRunner::CanDecomposePadding(const PyExpr& e, Value* out) {
  const Primitive& primitive = *FindPrimitive("decompose_padding");
  std::vector<Value> args;
  Value decision;
  if (!BindArguments(e, primitive, &args, &decision) || !LookUpBlocks(e, primitive, &args)) return false;
  *out = schedule_.CanDecomposePadding(args[0], args[1]);
  return true;
}

bool ScriptRunner::LookUpBlocks(const PyExpr& e, const Primitive& primitive, std::vector<Value>* args) {
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

bool ScriptRunner::BindArguments(const PyExpr& e, const Primitive& primitive, std::vector<Value>* args,
                                 Value* decision) {
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
    if (!bound[i]) return Fail(e.offset, std::string(primitive.name) + " wants the argument " + primitive.args[i].name);
    args->push_back(std::move(*bound[i]));
  }
  return true;
}

bool ScriptRunner::ApplyCall(const PyExpr& e, const Primitive& primitive, std::vector<Value> args,
                             const Value& decision, Value* out) {
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

std::string_view ScriptRunner::LineAt(uint32_t offset) const {
  size_t begin = text_.rfind('\n', offset);
  begin = begin == text_.npos ? 0 : begin + 1;
  begin = std::min(text_.find_first_not_of(" \t", begin), text_.size());
  return text_.substr(begin, std::min(text_.find('\n', offset), text_.size()) - begin);
}

}  // namespace tilewright
