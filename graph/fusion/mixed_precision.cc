#include "graph/fusion/mixed_precision.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/fusion/narrow_program.h"
#include "graph/fusion/program_form.h"
#include "graph/ir/functor.h"
#include "ir/functor.h"

namespace tilewright::graph {
namespace {

constexpr DataType kF32 = DataType::Float(32);

bool IsFloat(const Value& atom) {
  const TensorTypeNode* type = atom ? TensorTypeOf(atom) : nullptr;
  return type != nullptr && type->dtype == kF32;
}

bool Overflows(double value, const NDArray& narrow, int64_t at) {
  narrow.Set(at, value);
  return std::isfinite(value) && !std::isfinite(narrow.Get(at));
}

// Whether a number of the program is finite and infinite in 16 bits.
bool HasLargeNumber(const PrimFunc& program, DataType type) {
  const NDArray narrow(type, {1});
  bool found = false;
  PreOrder(program->body, [&](const Stmt& stmt) {
    const auto* store = dyn_cast<StoreNode>(stmt);
    if (store == nullptr) return !found;
    PreOrder(store->value, [&](const Expr& part) {
      const auto* number = dyn_cast<FloatImmNode>(part);
      found |= number != nullptr && Overflows(number->value, narrow, 0);
      return !found;
    });
    return !found;
  });
  return found;
}

// A program's role and which of its parameters are factors, found once for each.
class Roles {
 public:
  explicit Roles(DataType type) : type_(type) {}

  struct Entry {
    FloatRole role = FloatRole::kOther;
    std::vector<size_t> factors;
    bool regular = false;
    bool has_large_number = false;
  };
  const Entry& Of(const GraphModule& module, const std::string& name) {
    const auto [it, is_new] = entries_.try_emplace(name);
    if (is_new) {
      const PrimFunc program = module.FindProgram(name);
      it->second = {FloatRoleOf(program), {}, IsRegular(program), HasLargeNumber(program, type_)};
      if (it->second.role == FloatRole::kMultiplies) it->second.factors = FactorsOfSums(program);
    }
    return it->second;
  }

 private:
  const DataType type_;
  std::unordered_map<std::string, Entry> entries_;
};

// Constants in 16 bits, each made once.
class NarrowConstants {
 public:
  explicit NarrowConstants(DataType type) : type_(type) {}

  // Null where an element does not fit.
  Value Of(const ConstantNode& constant) {
    const auto [it, is_new] = made_.try_emplace(&constant);
    if (is_new) it->second = Make(constant);
    return it->second;
  }

 private:
  Value Make(const ConstantNode& constant) const {
    const NDArray from = constant.ToNDArray(), to(type_, constant.shape);
    for (int64_t i = 0; i < from.size(); ++i) {
      if (Overflows(from.Get(i), to, i)) return {};
    }
    return Constant(to);
  }

  const DataType type_;
  std::unordered_map<const ConstantNode*, Value> made_;
};

// Which variables of a function have 16 bits.
class NarrowValues : public Visitor {
 public:
  NarrowValues(const GraphModule& module, Roles* roles, NarrowConstants* constants)
      : module_(module), roles_(*roles), constants_(*constants) {}

  void Decide(const Function& function) {
    VisitFunction(function);
    for (auto it = steps_.rbegin(); it != steps_.rend(); ++it) NoteWanted(*it);
    for (const Step& step : steps_) {
      if (MayBeLarge(step)) {
        large_.insert(step.result);
        continue;
      }
      if (!escapes_.contains(step.result) && IsNarrow(step)) narrow_.insert(step.result);
    }
  }
  bool Contains(const VarNode* var) const { return narrow_.contains(var); }

 protected:
  void VisitBinding(const Binding& binding) override {
    const auto* tir = dyn_cast<CallTirNode>(binding.value);
    const auto* view = dyn_cast<CallNode>(binding.value);
    if (tir != nullptr && roles_.Of(module_, tir->function).regular) {
      steps_.push_back({.result = binding.var.get(), .call = tir, .role = &roles_.Of(module_, tir->function)});
      if (!isa<TensorTypeNode>(tir->out)) escapes_.insert(binding.var.get());
    } else if (view != nullptr && view->op->name == "reshape" && IsFloat(view->args[0])) {
      steps_.push_back({.result = binding.var.get(), .viewed = view->args[0]});
    } else {
      Visitor::VisitBinding(binding);
    }
  }
  // What anything else than a program reads.
  void VisitVar(const VarNode* var) override { escapes_.insert(var); }

 private:
  struct Step {
    const VarNode* result = nullptr;
    const CallTirNode* call = nullptr;  // null: a view
    const Roles::Entry* role = nullptr;
    Value viewed;
  };

  void NoteWanted(const Step& step) {
    if (step.call == nullptr) {
      const auto* source = dyn_cast<VarNode>(step.viewed);
      if (source == nullptr) return;
      if (escapes_.contains(step.result)) escapes_.insert(source);
      if (wanted_.contains(step.result)) wanted_.insert(source);
      return;
    }
    for (size_t i = 0; i < step.call->args.size(); ++i) {
      const auto* arg = dyn_cast<VarNode>(step.call->args[i]);
      if (arg == nullptr || !IsFloat(step.call->args[i])) continue;
      const std::vector<size_t>& factors = step.role->factors;
      const bool is_factor = std::find(factors.begin(), factors.end(), i) != factors.end();
      const bool follows = step.role->role == FloatRole::kFollows && wanted_.contains(step.result);
      if (is_factor || follows) wanted_.insert(arg);
    }
  }

  // Whether the result may hold a constant that 16 bits do not: softmax of a row of these is not NaN.
  bool MayBeLarge(const Step& step) const {
    const auto may = [&](const Value& arg) {
      const auto* var = dyn_cast<VarNode>(arg);
      return var != nullptr ? large_.contains(var) : !constants_.Of(*cast<ConstantNode>(arg));
    };
    if (step.call == nullptr) return may(step.viewed);
    if (step.role->role != FloatRole::kFollows) return false;
    return step.role->has_large_number ||
           std::ranges::any_of(step.call->args, [&](const Value& arg) { return IsFloat(arg) && may(arg); });
  }

  bool IsNarrow(const Step& step) const {
    if (step.call == nullptr) {
      const auto* source = dyn_cast<VarNode>(step.viewed);
      return source != nullptr && narrow_.contains(source);
    }
    const TensorTypeNode* type = TensorTypeOf(Value(step.result));
    if (type == nullptr || type->dtype != kF32 || !type->shape) return false;
    if (step.role->role == FloatRole::kMultiplies || wanted_.contains(step.result)) return true;
    if (step.role->role != FloatRole::kFollows) return false;
    bool any = false;
    for (const Value& arg : step.call->args) {
      if (!IsFloat(arg)) continue;
      any = true;
      const auto* var = dyn_cast<VarNode>(arg);
      if (var != nullptr && !narrow_.contains(var)) return false;
    }
    return any;
  }

  const GraphModule& module_;
  Roles& roles_;
  NarrowConstants& constants_;
  std::vector<Step> steps_;
  std::unordered_set<const VarNode*> escapes_, wanted_, large_, narrow_;
};

class Converter : public Mutator {
 public:
  Converter(BlockBuilder* builder, DataType type, Roles* roles, NarrowConstants* constants, const NarrowValues* narrow)
      : Mutator(builder), type_(type), roles_(*roles), constants_(*constants), narrow_(*narrow) {}

 protected:
  absl::Status MutateBinding(const Binding& binding) override {
    const auto* call = dyn_cast<CallTirNode>(binding.value);
    if (call == nullptr || !roles_.Of(builder().module(), call->function).regular) {
      return Mutator::MutateBinding(binding);
    }
    const PrimFunc program = builder().module().FindProgram(call->function);
    std::vector<Narrowing> of(program->params.size(), Narrowing::kNone);
    std::vector<Value> args;
    for (size_t i = 0; i < call->args.size(); ++i) args.push_back(Argument(binding, *call, i, of[i]));
    Type out = call->out;
    if (narrow_.Contains(binding.var.get())) {
      of[call->args.size()] = Narrowing::kStored;
      out = TensorType(type_, *cast<TensorTypeNode>(out)->shape);
    }
    if (std::all_of(of.begin(), of.end(), [](Narrowing n) { return n == Narrowing::kNone; })) {
      return Mutator::MutateBinding(binding);
    }
    const auto [it, is_new] = names_.try_emplace({call->function, of});
    if (is_new) it->second = builder().AddProgram(Narrowed(program, of, type_), call->function);
    TW_ASSIGN_OR_RETURN(const Var result,
                        builder().Emit(CallTir(it->second, std::move(args), out, call->symbols), binding.var->name));
    Replace(binding.var, result);
    return absl::OkStatus();
  }

 private:
  // What takes the place of an argument, and what becomes of the parameter.
  Value Argument(const Binding& binding, const CallTirNode& call, size_t i, Narrowing& narrowing) {
    const Value& arg = call.args[i];
    if (!IsFloat(arg)) return Replaced(arg);
    const Roles::Entry& role = roles_.Of(builder().module(), call.function);
    const bool is_factor = std::find(role.factors.begin(), role.factors.end(), i) != role.factors.end();
    if (const auto* constant = dyn_cast<ConstantNode>(arg)) {
      const bool follows = role.role == FloatRole::kFollows && narrow_.Contains(binding.var.get());
      const Value narrow = is_factor || follows ? constants_.Of(*constant) : Value();
      if (narrow) narrowing = Narrowing::kStored;
      return narrow ? narrow : arg;
    }
    if (narrow_.Contains(cast<VarNode>(arg))) {
      narrowing = Narrowing::kStored;
    } else if (is_factor) {
      narrowing = Narrowing::kRead;
    }
    return Replaced(arg);
  }

  const DataType type_;
  Roles& roles_;
  NarrowConstants& constants_;
  const NarrowValues& narrow_;
  std::map<std::pair<std::string, std::vector<Narrowing>>, std::string> names_;
};

class RoundingRemover : public Mutator {
 public:
  RoundingRemover(BlockBuilder* builder, DataType type) : Mutator(builder), type_(type) {}

 protected:
  absl::StatusOr<Value> MutateCallTir(const CallTirNode* call, const Value& self) override {
    const auto [it, is_new] = names_.try_emplace(call->function, call->function);
    if (is_new) {
      const PrimFunc old = builder().module().FindProgram(call->function), wide = WithoutRoundings(old, type_);
      if (!wide.same_as(old)) it->second = builder().AddProgram(wide, call->function);
    }
    if (it->second == call->function) return self;
    return Value(CallTir(it->second, call->args, call->out, call->symbols));
  }

 private:
  const DataType type_;
  std::map<std::string, std::string> names_;
};

}  // namespace

absl::StatusOr<GraphModule> MixedPrecision(const GraphModule& module, const OpTable& ops, DataType type) {
  BlockBuilder builder(&ops, module);
  Roles roles(type);
  NarrowConstants constants(type);
  for (const ModuleEntry& entry : module.entries()) {
    if (!entry.function) continue;
    NarrowValues narrow(module, &roles, &constants);
    narrow.Decide(entry.function);
    TW_RETURN_IF_ERROR(Converter(&builder, type, &roles, &constants, &narrow).MutateFunction(entry.function).status());
  }
  return builder.module();
}

absl::StatusOr<GraphModule> DropRoundings(const GraphModule& module, const OpTable& ops, DataType type) {
  BlockBuilder builder(&ops, module);
  for (const ModuleEntry& entry : module.entries()) {
    if (entry.function) TW_RETURN_IF_ERROR(RoundingRemover(&builder, type).MutateFunction(entry.function).status());
  }
  return builder.module();
}

}  // namespace tilewright::graph
