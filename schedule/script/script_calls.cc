// The calls of schedule text.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/nearest_names.h"
#include "schedule/script/python_values.h"
#include "schedule/script/script_runner.h"

namespace tilewright {
namespace {

// Traces of the peer write block=... where its own functions say scope_block=...
bool IsCalled(const ArgSpec& arg, std::string_view keyword) {
  const std::string_view name = arg.name;
  return name == keyword || (keyword == "block" && name == "scope_block") ||
         (keyword == "loop" && arg.kind == ArgKind::kTarget);  // blockize(loop=...)
}

std::vector<std::string> PrimitiveNames() {
  std::vector<std::string> names;
  for (const Primitive& primitive : AllPrimitives()) names.emplace_back(primitive.name);
  return names;
}

// The lambda or name inside of T.index_map(...), IndexMap.from_func(..., inverse_index_map=...).
const script::PyExpr& UnwrapIndexMap(const script::PyExpr& e) {
  using Kind = script::PyExpr::Kind;
  const bool wrapped = e.kind == Kind::kCall && e.items.size() == 2 && e.items[0]->kind == Kind::kAttribute &&
                       (e.items[0]->text == "index_map" || e.items[0]->text == "from_func");
  return wrapped ? *e.items[1] : e;
}

}  // namespace

bool ScriptRunner::EvalCall(const PyExpr& e, Value* out) {
  done_.erase(&e);
  const PyExpr& callee = *e.items[0];
  if (callee.kind == Kind::kAttribute && (callee.text == "index_map" || callee.text == "from_func") &&
      e.items.size() == 2) {
    return Eval(*e.items[1],
                out);  // T.index_map(lambda ...), tvm.tir.IndexMap.from_func(lambda ..., inverse_index_map=...)
  }
  if (IsNewSchedule(e)) {
    *out = MakeSpecial(Special::kSchedule);
    return true;
  }
  if (callee.kind == Kind::kAttribute && e.items.size() == 2 && e.keywords.empty() && !IsSchedule(*callee.items[0]) &&
      DataType::Parse(callee.text)) {
    return Eval(*e.items[1], out);  // T.int32(4)
  }
  Value self;
  if (const PyStmt* method = FindMethod(callee, &self))
    return CallFunction(e, *method, self.is_none() ? nullptr : &self, out);
  if (callee.kind == Kind::kName) {
    const auto known = names_.find(callee.text);
    const Value value = known == names_.end() ? Value() : known->second;
    if (const auto function = SpecialNumber(value, Special::kFunction)) {
      return CallFunction(e, *functions_[static_cast<size_t>(*function)], nullptr, out);
    }
    if (const auto of_class = SpecialNumber(value, Special::kClass)) return MakeInstance(e, *of_class, out);
  }
  const bool math = callee.kind == Kind::kAttribute && callee.items[0]->kind == Kind::kName &&
                    callee.items[0]->text == "math" && !names_.contains("math");
  if ((math || (callee.kind == Kind::kName && !names_.contains(callee.text))) && e.keywords.empty()) {
    Value::List args;
    if (!EvalItems({e.items.begin() + 1, e.items.end()}, &args)) return false;
    // Numbers that a schedule has drawn are numbers.
    for (Value& arg : args) {
      if (const auto* rv = arg.As<Rv>(); rv != nullptr && !forgotten_.contains(rv->index)) {
        if (const auto* number = schedule_.Get(*rv).As<int64_t>()) arg = Value(*number);
      }
    }
    if (std::optional<PythonResult> result = math ? PythonMath(callee.text, args) : PythonBuiltin(callee.text, args)) {
      if (!result->value) return FailWith(e.offset, std::move(*result));
      *out = std::move(*result->value);
      return true;
    }
  }
  if (callee.kind != Kind::kAttribute || !IsSchedule(*callee.items[0])) {
    return Fail(e.offset, "expected a call of a primitive of the schedule");
  }
  if (callee.text == "get") return EvalGet(e, out);
  if (callee.text == "work_on") return WorkOn(e, out);
  if (callee.text == "remove_rv") return RemoveRv(e, out);
  if (callee.text == "can_decompose_padding") return CanDecomposePadding(e, out);
  const Primitive* primitive = FindPrimitive(callee.text);
  if (primitive == nullptr) {
    return Fail(e.offset, "there is no primitive " + callee.text + DidYouMean(callee.text, PrimitiveNames()));
  }
  std::vector<Value> args;
  Value decision;
  return BindArguments(e, *primitive, &args, &decision) && LookUpBlocks(e, *primitive, &args) &&
         ApplyCall(e, *primitive, std::move(args), decision, out);
}

bool ScriptRunner::CallFunction(const PyExpr& e, const PyStmt& function, const Value* self, Value* out) {
  if (depth_ == kMaxDepth) return Stop(e.offset, "the functions call each other too deep");
  std::map<std::string, Value> names = names_;
  if (!BindParameters(e, function, self, &names)) return false;
  std::swap(names, names_);
  ++depth_;
  returned_ = Value();
  const bool ran = RunAll(function.body);
  --depth_;
  leaving_ = Leaving::kNothing;
  std::swap(names, names_);
  *out = std::exchange(returned_, Value());
  if (ran) done_.insert(&e);
  return ran;
}

bool ScriptRunner::BindParameters(const PyExpr& e, const PyStmt& function, const Value* self,
                                  std::map<std::string, Value>* names) {
  Value::List positional;
  if (self != nullptr) positional.push_back(*self);
  if (!EvalArguments({e.items.begin() + 1, e.items.end()}, &positional)) return false;
  const auto named = [&](const std::string& keyword) {
    return std::ranges::any_of(function.parameters, [&](const auto& parameter) { return parameter.name == keyword; });
  };
  for (const std::string& keyword : e.keywords) {
    if (!named(keyword)) return Stop(e.offset, function.text + " has no parameter " + keyword);
  }
  size_t next = 0;
  for (const script::PyParameter& parameter : function.parameters) {
    if (parameter.name.starts_with("**")) continue;
    if (parameter.name.starts_with("*")) {
      const size_t from = std::min(next, positional.size());
      (*names)[parameter.name.substr(1)] =
          Value::List(positional.begin() + static_cast<ptrdiff_t>(from), positional.end());
      next = positional.size();
      continue;
    }
    Value value;
    const auto keyword = std::ranges::find(e.keywords, parameter.name);
    if (next < positional.size()) {
      value = positional[next++];
    } else if (keyword != e.keywords.end()) {
      if (!EvalArgument(*e.keyword_values[keyword - e.keywords.begin()], &value)) return false;
    } else if (!parameter.default_value) {
      return Stop(e.offset, function.text + " wants the argument " + parameter.name);
    } else if (!EvalArgument(*parameter.default_value, &value)) {
      return false;
    }
    (*names)[parameter.name] = std::move(value);
  }
  if (next < positional.size()) return Stop(e.offset, function.text + " takes fewer arguments");
  return true;
}

bool ScriptRunner::EvalArgument(const PyExpr& e, Value* out) {
  if (Eval(e, out)) return true;
  // A value of other Python, which the function may have no use for: tvm.target.Target("llvm").
  if (stopped_ || error_->refusal || Schedules(e)) return false;
  error_.reset();
  *out = MakeSpecial(Special::kOther, e.offset);
  return true;
}

bool ScriptRunner::EvalArguments(const std::vector<PyExprPtr>& items, Value::List* list) {
  for (const PyExprPtr& item : items) {
    if (item->kind == Kind::kStarred) {
      if (!EvalItems({item}, list)) return false;
      continue;
    }
    list->emplace_back();
    if (!EvalArgument(*item, &list->back())) return false;
  }
  return true;
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
  if (rv == nullptr) return Fail(e.offset, "remove_rv: the argument is not a result of a call");
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
  // Index maps last: a map of any number of indices takes as many as the other arguments say.
  std::vector<std::pair<const PyExpr*, size_t>> maps;
  const auto eval = [&](const PyExpr& value, size_t at, std::optional<Value>* place) {
    if (at < primitive.args.size() && primitive.args[at].kind == ArgKind::kIndexMap) {
      maps.emplace_back(&value, at);
      *place = Value();
      return true;
    }
    place->emplace();
    return Eval(value, &**place);
  };
  std::vector<std::optional<Value>> bound(primitive.args.size());
  const bool variadic = !primitive.args.empty() && primitive.args[0].variadic;
  size_t count = 0;
  Value::List all;
  for (size_t i = 1; i < e.items.size(); ++i) {
    const PyExpr& item = *e.items[i];
    if (!variadic && item.kind != Kind::kStarred && count < bound.size()) {
      if (!eval(item, count, &bound[count])) return false;
      ++count;
      continue;
    }
    Value::List values;
    if (!EvalItems({e.items[i]}, &values)) return false;
    for (Value& value : values) {
      if (!variadic && count < bound.size()) bound[count] = std::move(value);
      if (variadic) all.push_back(std::move(value));
      ++count;
    }
  }
  if (variadic && !all.empty()) bound[0] = std::move(all);
  if (!variadic && count > bound.size()) {
    return Fail(e.offset,
                std::string(primitive.name) + " takes at most " + std::to_string(bound.size()) + " arguments");
  }
  for (size_t k = 0; k < e.keywords.size(); ++k) {
    const uint32_t offset = e.keyword_offsets[k];
    if (e.keywords[k] == "decision" && primitive.role == Primitive::Role::kSampling) {
      if (!Eval(*e.keyword_values[k], decision)) return false;
      continue;
    }
    const auto spec =
        std::ranges::find_if(primitive.args, [&](const ArgSpec& arg) { return IsCalled(arg, e.keywords[k]); });
    if (spec == primitive.args.end()) {
      std::vector<std::string> names;
      for (const ArgSpec& arg : primitive.args) names.emplace_back(arg.name);
      return Fail(offset,
                  std::string(primitive.name) + " has no argument " + e.keywords[k] + DidYouMean(e.keywords[k], names));
    }
    const auto at = static_cast<size_t>(spec - primitive.args.begin());
    if (bound[at]) return Fail(offset, "the argument " + e.keywords[k] + " is given twice");
    if (!eval(*e.keyword_values[k], at, &bound[at])) return false;
  }
  for (const auto& [map, at] : maps) {
    Value value;
    const auto indices = MapIndices(primitive, bound);
    if (!(indices ? EvalIndexMap(UnwrapIndexMap(*map), *indices, &value) : Eval(*map, &value))) return false;
    bound[at] = std::move(value);
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
  applied_ = true;
  Outcome<std::vector<Rv>> results = schedule_.Apply(primitive, std::move(args), decision);
  const script::Diagnostic place = script::MakeDiagnostic(text_, file_, e.offset, "");
  if (!results.ok()) {
    Fail(e.offset, RenderLine(results.refusal(), schedule_.refused_function()));
    error_->refusal = results.refusal();
    return false;
  }
  done_.insert(&e);
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
