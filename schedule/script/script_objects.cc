// Classes of schedule text, attributes of values, what a schedule knows of its loops and blocks, and which statements
// may schedule.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ir/analysis.h"
#include "ir/functor.h"
#include "schedule/script/python_values.h"
#include "schedule/script/script_runner.h"

namespace tilewright {
namespace {

using script::PyExpr;
using script::PyExprPtr;
using script::PyStmt;
using Kind = PyExpr::Kind;

// Functions that look at what they are given and change nothing.
bool OnlyLooks(std::string_view function) {
  static constexpr std::string_view kNames[] = {"print", "display", "build", "lower", "compile", "show",      "Code",
                                                "type",  "str",     "repr",  "id",    "len",     "isinstance"};
  return std::ranges::find(kNames, function) != std::end(kNames);
}

// Whether the expression, or one in it, fulfills the condition.
bool Contains(const PyExpr& e, const std::function<bool(const PyExpr&)>& condition) {
  if (condition(e)) return true;
  for (const auto* items : {&e.items, &e.keyword_values}) {
    for (const PyExprPtr& item : *items) {
      if (item && Contains(*item, condition)) return true;
    }
  }
  return false;
}
bool Contains(const std::vector<PyStmt>& stmts, const std::function<bool(const PyExpr&)>& condition) {
  return std::ranges::any_of(stmts, [&](const PyStmt& stmt) {
    for (const PyExprPtr& e : {stmt.target, stmt.value}) {
      if (e && Contains(*e, condition)) return true;
    }
    return Contains(stmt.body, condition) || Contains(stmt.else_body, condition);
  });
}

}  // namespace

bool ScriptRunner::Schedules(const PyStmt& stmt) const {
  for (const PyExprPtr& e : {stmt.target, stmt.value, stmt.annotation}) {
    if (e && Schedules(*e)) return true;
  }
  const bool defines = stmt.kind == PyStmt::Kind::kFunction || stmt.kind == PyStmt::Kind::kClass;
  return !defines && (Schedules(stmt.body) || Schedules(stmt.else_body));
}

bool ScriptRunner::Schedules(const std::vector<PyStmt>& stmts) const {
  return std::ranges::any_of(stmts, [&](const PyStmt& stmt) { return Schedules(stmt); });
}

bool ScriptRunner::Schedules(const PyExpr& expression) const {
  return Contains(expression, [&](const PyExpr& e) {
    if (e.kind != Kind::kCall || done_.contains(&e)) return false;
    const PyExpr& callee = *e.items[0];
    if (callee.kind == Kind::kAttribute && IsSchedule(*callee.items[0])) return callee.text != "show";
    // A misspelt schedule: nothing gives this name a value.
    const bool method = callee.kind == Kind::kAttribute && callee.items[0]->kind == Kind::kName;
    if (method && !names_.contains(callee.items[0]->text) && FindPrimitive(callee.text) != nullptr) return true;
    const auto known = callee.kind == Kind::kName ? names_.find(callee.text) : names_.end();
    const auto function = known == names_.end() ? std::nullopt : SpecialNumber(known->second, Special::kFunction);
    if (function && FunctionSchedules(*functions_[static_cast<size_t>(*function)])) return true;
    if (OnlyLooks(callee.text)) return false;
    const auto is_schedule = [&](const PyExprPtr& item) { return IsSchedule(*item); };
    return std::any_of(e.items.begin() + 1, e.items.end(), is_schedule) ||
           std::ranges::any_of(e.keyword_values, is_schedule);
  });
}

bool ScriptRunner::FunctionSchedules(const PyStmt& function) {
  return Contains(function.body, [&](const PyExpr& e) {
    if (e.kind != Kind::kCall) return false;
    if (IsNewSchedule(e)) return true;
    const PyExpr& callee = *e.items[0];
    if (callee.kind != Kind::kAttribute || FindPrimitive(callee.text) == nullptr) return false;
    const PyExpr& base = *callee.items[0];
    return base.kind == Kind::kName &&
           (base.text == "sch" ||
            std::ranges::any_of(function.parameters, [&](const auto& p) { return p.name == base.text; }));
  });
}

bool ScriptRunner::IsSchedule(const PyExpr& e) const {
  if (e.kind == Kind::kName) {
    const auto known = names_.find(e.text);
    return known != names_.end() && SpecialNumber(known->second, Special::kSchedule);
  }
  if (e.kind != Kind::kAttribute || e.items[0]->kind != Kind::kName) return false;
  const auto known = names_.find(e.items[0]->text);
  const auto instance = known == names_.end() ? std::nullopt : SpecialNumber(known->second, Special::kInstance);
  if (!instance) return false;
  const auto& fields = instances_[static_cast<size_t>(*instance)].second;
  const auto field = fields.find(e.text);
  return field != fields.end() && SpecialNumber(field->second, Special::kSchedule);
}

bool ScriptRunner::RunClass(const PyStmt& stmt) {
  Class result;
  result.name = stmt.text;
  const std::map<std::string, Value> around = names_;
  bool ran = true;
  for (const PyStmt& member : stmt.body) {
    if (member.kind == PyStmt::Kind::kFunction) {
      result.methods[member.text] = &member;
    } else if (member.kind == PyStmt::Kind::kAssign || member.kind == PyStmt::Kind::kAnnotate) {
      ran = ran && RunStmt(member);
      const auto field = member.target->kind == Kind::kName ? names_.find(member.target->text) : names_.end();
      if (field != names_.end()) result.fields[field->first] = field->second;
    }
  }
  names_ = around;
  names_[stmt.text] = MakeSpecial(Special::kClass, static_cast<int64_t>(classes_.size()));
  classes_.push_back(std::move(result));
  return ran;
}

bool ScriptRunner::MakeInstance(const PyExpr& e, int64_t of_class, Value* out) {
  constexpr size_t kMaxInstances = 1000;
  if (instances_.size() >= kMaxInstances) return Stop(e.offset, "the schedule makes too many objects");
  const Class type = classes_[static_cast<size_t>(of_class)];
  *out = MakeSpecial(Special::kInstance, static_cast<int64_t>(instances_.size()));
  instances_.emplace_back(of_class, type.fields);
  const size_t number = instances_.size() - 1;
  if (const auto made = type.methods.find("__init__"); made != type.methods.end()) {
    Value ignored;
    return CallFunction(e, *made->second, out, &ignored);
  }
  // Without one, as in data classes, keywords give the fields.
  if (e.items.size() > 1) return Fail(e.offset, type.name + " takes its fields by keyword");
  for (size_t i = 0; i < e.keywords.size(); ++i) {
    if (!EvalArgument(*e.keyword_values[i], &instances_[number].second[e.keywords[i]])) return false;
  }
  return true;
}

const PyStmt* ScriptRunner::FindMethod(const PyExpr& callee, Value* self) {
  if (callee.kind != Kind::kAttribute || IsSchedule(*callee.items[0])) return nullptr;
  const PyExpr& base = *callee.items[0];
  Value object;
  if (base.kind == Kind::kName) {
    const auto known = names_.find(base.text);
    if (known == names_.end()) return nullptr;
    object = known->second;
  } else {  // Tiler(8).apply(sch)
    const bool instance = base.kind == Kind::kCall && base.items[0]->kind == Kind::kName &&
                          names_.contains(base.items[0]->text) &&
                          SpecialNumber(names_.at(base.items[0]->text), Special::kClass);
    if (!instance || !Eval(base, &object)) return nullptr;
  }
  const auto instance = SpecialNumber(object, Special::kInstance);
  const auto of_class = instance ? std::optional<int64_t>(instances_[static_cast<size_t>(*instance)].first)
                                 : SpecialNumber(object, Special::kClass);
  if (!of_class) return nullptr;
  const auto& methods = classes_[static_cast<size_t>(*of_class)].methods;
  const auto method = methods.find(callee.text);
  if (method == methods.end()) return nullptr;
  const bool is_static = std::ranges::any_of(method->second->decorators, [](const PyExprPtr& decorator) {
    return decorator->kind == Kind::kName && decorator->text == "staticmethod";
  });
  const bool of_the_class = std::ranges::any_of(method->second->decorators, [](const PyExprPtr& decorator) {
    return decorator->kind == Kind::kName && decorator->text == "classmethod";
  });
  if (of_the_class) {
    *self = MakeSpecial(Special::kClass, *of_class);
  } else if (instance && !is_static) {
    *self = object;
  }
  return method->second;
}

bool ScriptRunner::EvalAttribute(const PyExpr& e, Value* out) {
  if (e.items[0]->kind == Kind::kName && e.items[0]->text == "math" && !names_.contains("math")) {
    if (std::optional<Value> constant = PythonMathConstant(e.text)) {
      *out = std::move(*constant);
      return true;
    }
  }
  Value base;
  if (!Eval(*e.items[0], &base)) return false;
  const std::map<std::string, Value>* fields = nullptr;
  if (const auto instance = SpecialNumber(base, Special::kInstance)) {
    fields = &instances_[static_cast<size_t>(*instance)].second;
  } else if (const auto of_class = SpecialNumber(base, Special::kClass)) {
    fields = &classes_[static_cast<size_t>(*of_class)].fields;
  } else if (!SpecialNumber(base, Special::kSchedule)) {
    fields = base.As<Value::Dict>();
    if (e.text == "value" && base.As<int64_t>() != nullptr) {  // of an IntImm
      *out = std::move(base);
      return true;
    }
  }
  const auto field = fields == nullptr ? std::map<std::string, Value>::const_iterator() : fields->find(e.text);
  if (fields == nullptr || field == fields->end()) return Fail(e.offset, "this expression is not part of a schedule");
  if (SpecialNumber(field->second, Special::kOther)) return Fail(e.offset, "the value of ." + e.text + " is not known");
  *out = Value(field->second);
  return true;
}

const Function* ScriptRunner::WorkedOn() const {
  const auto& functions = schedule_.module().functions();
  for (const Function& function : functions) {
    if (function->name == (working_on_.empty() ? "main" : working_on_)) return &function;
  }
  return functions.size() == 1 ? &functions[0] : nullptr;
}

Value ScriptRunner::Number(const Expr& e) {
  const auto value = AsInt(e);
  return value ? Value(*value) : MakeSpecial(Special::kOther);
}

Value ScriptRunner::Describe(const LoopRef& loop) const {
  Value::Dict fields;
  const Function function = schedule_.module().Find(loop.function);
  PreOrder(function->body, [&](const Stmt& stmt) {
    const auto* found = dyn_cast<ForNode>(stmt);
    if (found == nullptr || found->id != loop.id) return fields.empty();
    fields["extent"] = Number(found->extent);
    fields["min"] = found->min ? Number(found->min) : Value(int64_t{0});
    fields["loop_var"] = Value::Dict{{"name", Value(found->var.name())}};
    return false;
  });
  return Value(std::move(fields));
}

Value ScriptRunner::Describe(const BlockRef& block) const {
  Value::Dict fields;
  const Function function = schedule_.module().Find(block.function);
  PreOrder(function->body, [&](const Stmt& stmt) {
    const auto* realize = dyn_cast<BlockRealizeNode>(stmt);
    if (realize == nullptr || realize->block->id != block.id) return fields.empty();
    const BlockNode& node = *realize->block;
    fields["name_hint"] = Value(node.name);
    Value::List iterators;
    for (const IterVar& iterator : node.iter_vars) {
      // As the peer counts kinds: DataPar, CommReduce, Opaque.
      const int64_t kind = iterator.kind == IterKind::kSpatial ? 0 : iterator.kind == IterKind::kReduce ? 2 : 4;
      iterators.push_back(Value(Value::Dict{
          {"dom", Value(Value::Dict{{"extent", Number(iterator.domain.extent)}, {"min", Number(iterator.domain.min)}})},
          {"iter_type", Value(kind)},
          {"var", Value(Value::Dict{{"name", Value(iterator.var.name())}})}}));
    }
    fields["iter_vars"] = Value(std::move(iterators));
    const auto regions = [](const std::vector<BufferRegion>& of) {
      Value::List list;
      for (const BufferRegion& region : of) {
        Value::List shape;
        for (const Expr& extent : region.buffer->shape) shape.push_back(Number(extent));
        list.push_back(Value(Value::Dict{{"buffer", Value(Value::Dict{{"name", Value(region.buffer->name)},
                                                                      {"dtype", Value(region.buffer->dtype.ToString())},
                                                                      {"shape", Value(std::move(shape))}})}}));
      }
      return Value(std::move(list));
    };
    fields["reads"] = regions(node.reads);
    fields["writes"] = regions(node.writes);
    return false;
  });
  return Value(std::move(fields));
}

bool ScriptRunner::EvalGet(const PyExpr& e, Value* out) {
  Value value;
  if (e.items.size() != 2 || !e.keywords.empty()) return Fail(e.offset, "get takes one result of a call");
  if (!Eval(*e.items[1], &value)) return false;
  const auto* rv = value.As<Rv>();
  if (rv == nullptr || forgotten_.contains(rv->index)) return Fail(e.offset, "get takes one result of a call");
  const Value& known = schedule_.Get(*rv);
  if (const auto* loop = known.As<LoopRef>()) {
    *out = Describe(*loop);
  } else if (const auto* block = known.As<BlockRef>()) {
    *out = Describe(*block);
  } else {
    *out = known;
  }
  return true;
}

std::optional<size_t> ScriptRunner::MapIndices(const Primitive& primitive,
                                               const std::vector<std::optional<Value>>& args) const {
  const BlockNode* block = nullptr;
  const Value given = args.empty() || !args[0] ? Value() : *args[0];
  const auto* rv = given.As<Rv>();
  const Value target = rv != nullptr && !forgotten_.contains(rv->index) ? schedule_.Get(*rv) : given;
  const auto* ref = target.As<BlockRef>();
  const auto* name = target.As<std::string>();
  Function function;
  if (ref != nullptr) {
    function = schedule_.module().Find(ref->function);
  } else if (const Function* worked_on = WorkedOn()) {
    function = *worked_on;
  }
  if (!function) return std::nullopt;
  PreOrder(function->body, [&](const Stmt& stmt) {
    const auto* realize = dyn_cast<BlockRealizeNode>(stmt);
    if (realize == nullptr || block != nullptr) return true;
    const bool found =
        ref != nullptr ? realize->block->id == ref->id : name != nullptr && realize->block->name == *name;
    if (found) block = realize->block.get();
    return true;
  });
  if (block == nullptr) return std::nullopt;
  if (std::string_view(primitive.name) != "transform_layout" || args.size() < 2 || !args[1]) {
    return block->iter_vars.size();
  }
  // "B", 0, ("write", 0)
  const auto* buffer = args[1]->As<std::string>();
  const auto* pair = args[1]->As<Value::List>();
  const auto* kind = pair != nullptr && pair->size() == 2 ? (*pair)[0].As<std::string>() : nullptr;
  const auto* number = kind != nullptr ? (*pair)[1].As<int64_t>() : args[1]->As<int64_t>();
  for (const auto* regions : {&block->reads, &block->writes}) {
    if (kind != nullptr && (*kind == "write") != (regions == &block->writes)) continue;
    for (size_t i = 0; i < regions->size(); ++i) {
      const Buffer& accessed = (*regions)[i].buffer;
      const bool found =
          buffer != nullptr ? accessed->name == *buffer : number != nullptr && static_cast<size_t>(*number) == i;
      if (found) return accessed->ndim();
    }
  }
  return std::nullopt;
}

}  // namespace tilewright
