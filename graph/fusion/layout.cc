#include "graph/fusion/layout.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/status_macros.h"
#include "graph/ir/call_types.h"
#include "graph/ir/functor.h"
#include "ir/builder.h"
#include "ir/ops/broadcast.h"
#include "ir/ops/movement.h"

namespace tilewright::graph {
namespace {

const std::vector<Expr>* ShapeOf(const Value& atom) {
  const TensorTypeNode* type = atom ? TensorTypeOf(atom) : nullptr;
  return type != nullptr && type->shape ? &*type->shape : nullptr;
}

// Whether a reshape keeps batch and channel and changes positions only, so that it is one with channels last too.
bool KeepsChannels(const std::vector<Expr>& from, const std::vector<Expr>& to) {
  if (from.size() < 3 || to.size() < 3) return false;
  return ops::SameExtent(from[0], to[0]) && ops::SameExtent(from[1], to[1]);
}

// Whether the elements lie in the same order with channels last, because there is one position.
bool HasOnePosition(const std::vector<Expr>& shape) {
  return std::all_of(shape.begin() + 2, shape.end(), [](const Expr& extent) { return IsInt(extent, 1); });
}

// A program that copies a value channels last back to the order that its type says.
PrimFunc CopyBack(const std::vector<Expr>& shape, DataType dtype) {
  FunctionBuilder f("transpose");
  std::vector<Expr> own;
  for (size_t d = 0; d < shape.size(); ++d) {
    own.push_back(AsInt(shape[d]) ? shape[d] : Expr(Symbol("d" + std::to_string(d), DataType::Int(64))));
  }
  const Permutation order = ChannelsLast(static_cast<int>(shape.size()));
  const Buffer x = f.Input("x", Permute(own, order), dtype);
  Permutation back(order.size());
  for (size_t d = 0; d < order.size(); ++d) back[static_cast<size_t>(order[d])] = static_cast<int>(d);
  return f.Build({ops::Transpose(f, x, back)});
}

// Which variables of a function are stored channels last.
class LayoutPlan : public Visitor {
 public:
  explicit LayoutPlan(const GraphModule& module) : module_(module) {}

  void Run(const Function& function) {
    for (const Var& param : function->params) fixed_.insert(param.get());
    VisitFunction(function);
    std::unordered_set<const VarNode*> wanted, plain, left;
    for (const VarNode* var : wants_) wanted.insert(Root(var));
    // What transposes lead into and out of, and nothing else.
    for (const VarNode* var : made_) {
      if (read_plain_.contains(var)) plain.insert(Root(var));
    }
    for (const VarNode* var : fixed_) plain.insert(Root(var));
    for (const VarNode* out : leaves_) left.insert(Root(out));
    for (const VarNode* in : enters_) {
      if (!plain.contains(Root(in)) && left.contains(Root(in))) wanted.insert(Root(in));
    }
    for (const VarNode* var : made_) {
      if (!fixed_.contains(var) && wanted.contains(Root(var))) channels_last_.insert(var);
    }
  }

  bool IsChannelsLast(const VarNode* var) const { return channels_last_.contains(var); }
  // Somebody reads the value in the order of its type.
  bool IsReadPlain(const VarNode* var) const { return read_plain_.contains(var); }
  const LayoutForm* FormOf(const std::string& program) {
    auto it = forms_.find(program);
    if (it == forms_.end()) {
      const PrimFunc function = module_.FindProgram(program);
      std::optional<LayoutForm> form;
      if (IsRegular(function)) form = LayoutFormOf(function);
      it = forms_.emplace(program, std::move(form)).first;
    }
    return it->second ? &*it->second : nullptr;
  }
  // Whether the view of a value channels last is one as well; the value must be.
  bool IsView(const VarNode* var) const { return views_.contains(var); }

 protected:
  void VisitBinding(const Binding& binding) override {
    if (const auto* call = dyn_cast<CallTirNode>(binding.value)) return AddCall(*call, binding.var);
    const auto* view = dyn_cast<CallNode>(binding.value);
    if (view != nullptr && view->op->name == "reshape" && AddView(*view, binding.var)) return;
    if (const auto* item = dyn_cast<TupleGetItemNode>(binding.value)) {
      const auto* tuple = dyn_cast<VarNode>(item->tuple);
      if (tuple != nullptr && tuples_.contains(tuple)) return;
    }
    Visitor::VisitBinding(binding);
  }
  // What is read by anything but programs.
  void VisitVar(const VarNode* var) override { read_plain_.insert(var); }

 private:
  // A program with several results writes each as its type says.
  void AddCall(const CallTirNode& call, const Var& var) {
    const LayoutForm* form = FormOf(call.function);
    if (form == nullptr || isa<TupleTypeNode>(call.out)) {
      for (const Value& arg : call.args) Visit(arg);
      if (form != nullptr) tuples_.insert(var.get());
      return;
    }
    const size_t result = call.args.size();
    const bool image = form->image[result];
    if (image) made_.push_back(var.get());
    if (form->wants_channels_last) wants_.push_back(var.get());
    if (form->from_channels_last) enters_.push_back(var.get());
    for (size_t i = 0; i < call.args.size(); ++i) {
      const auto* arg = dyn_cast<VarNode>(call.args[i]);
      if (arg == nullptr) continue;
      if (form->reads_plain) read_plain_.insert(arg);
      if (form->to_channels_last) leaves_.push_back(arg);
      if (image && form->image[i]) Join(arg, var.get());
    }
  }

  bool AddView(const CallNode& call, const Var& var) {
    const auto* x = dyn_cast<VarNode>(call.args[0]);
    const std::vector<Expr>*from = ShapeOf(call.args[0]), *to = ShapeOf(var);
    if (x == nullptr || from == nullptr || to == nullptr) return false;
    if (KeepsChannels(*from, *to)) {
      Join(x, var.get());
      made_.push_back(var.get());
      views_.insert(var.get());
      return true;
    }
    return from->size() >= 3 && HasOnePosition(*from);
  }

  const VarNode* Root(const VarNode* var) {
    const VarNode*& parent = parents_.try_emplace(var, var).first->second;
    if (parent == var) return var;
    const VarNode* root = Root(parent);
    parents_[var] = root;
    return root;
  }
  void Join(const VarNode* a, const VarNode* b) { parents_[Root(a)] = Root(b); }

  const GraphModule& module_;
  std::map<std::string, std::optional<LayoutForm>> forms_;
  std::unordered_map<const VarNode*, const VarNode*> parents_;
  std::vector<const VarNode*> made_, wants_, enters_, leaves_;
  std::unordered_set<const VarNode*> fixed_, read_plain_, channels_last_, tuples_, views_;
};

class LayoutWriter : public Mutator {
 public:
  LayoutWriter(BlockBuilder* builder, LayoutPlan* plan) : Mutator(builder), plan_(*plan) {}

 protected:
  absl::Status MutateBinding(const Binding& binding) override {
    if (const auto* call = dyn_cast<CallTirNode>(binding.value)) {
      const LayoutForm* form = plan_.FormOf(call->function);
      if (form != nullptr) return WriteCall(*call, *form, binding.var);
    }
    const auto* view = dyn_cast<CallNode>(binding.value);
    if (view != nullptr && view->op->name == "reshape") {
      const auto stored = stored_.find(dyn_cast<VarNode>(view->args[0]));
      if (stored != stored_.end()) return WriteView(*view, stored->second, binding);
    }
    return Mutator::MutateBinding(binding);
  }

 private:
  static bool HasPermutation(const std::vector<Permutation>& permutations) {
    return std::any_of(permutations.begin(), permutations.end(), [](const Permutation& p) { return !p.empty(); });
  }

  absl::Status WriteCall(const CallTirNode& call, const LayoutForm& form, const Var& var) {
    const bool channels_last = plan_.IsChannelsLast(var.get()) && !isa<TupleTypeNode>(call.out);
    std::vector<Permutation> permutations(form.image.size());
    std::vector<Value> args;
    for (size_t i = 0; i < call.args.size(); ++i) {
      const auto stored = stored_.find(dyn_cast<VarNode>(call.args[i]));
      const auto* constant = dyn_cast<ConstantNode>(call.args[i]);
      if (stored != stored_.end() && !form.reads_plain) {
        permutations[i] = ChannelsLast(static_cast<int>(ShapeOf(call.args[i])->size()));
        args.push_back(stored->second);
      } else if (channels_last && constant != nullptr && !form.weights[i].empty()) {
        permutations[i] = form.weights[i];
        args.push_back(Weights(*constant, form.weights[i]));
      } else {
        args.push_back(Replaced(call.args[i]));
      }
    }
    const size_t result = call.args.size();
    std::map<const BufferNode*, Permutation> temporaries;
    if (channels_last) {
      const auto& shape = *cast<TensorTypeNode>(call.out)->shape;
      permutations[result] = ChannelsLast(static_cast<int>(shape.size()));
      for (const BufferNode* buffer : form.temporaries) {
        temporaries[buffer] = ChannelsLast(static_cast<int>(buffer->shape.size()));
      }
    }
    if (!HasPermutation(permutations)) {
      TW_ASSIGN_OR_RETURN(Var plain, builder().Emit(CallTir(call.function, args, call.out, call.symbols), var->name));
      Replace(var, plain);
      return absl::OkStatus();
    }
    const PrimFunc program = Permuted(builder().module().FindProgram(call.function), permutations, temporaries);
    Type out = call.out;
    if (channels_last) {
      const auto* tensor = cast<TensorTypeNode>(call.out);
      out = TensorType(tensor->dtype, Permute(*tensor->shape, permutations[result]));
    }
    const std::string name = builder().AddProgram(program, call.function);
    TW_ASSIGN_OR_RETURN(Var stored, builder().Emit(CallTir(name, std::move(args), out, call.symbols), var->name));
    return channels_last ? Store(var, stored) : (Replace(var, stored), absl::OkStatus());
  }

  absl::Status WriteView(const CallNode& call, const Var& stored, const Binding& binding) {
    const std::vector<Expr>&from = *ShapeOf(call.args[0]), &to = *ShapeOf(binding.var);
    if (plan_.IsView(binding.var.get()) && plan_.IsChannelsLast(binding.var.get())) {
      const ShapeExpr shape(Permute(to, ChannelsLast(static_cast<int>(to.size()))));
      TW_ASSIGN_OR_RETURN(Var view, builder().Emit(builder().CallOp("reshape", {stored, shape}), binding.var->name));
      return Store(binding.var, view);
    }
    if (!HasOnePosition(from)) return Mutator::MutateBinding(binding);
    TW_ASSIGN_OR_RETURN(Var view,
                        builder().Emit(builder().CallOp("reshape", {stored, ShapeExpr(to)}), binding.var->name));
    Replace(binding.var, view);
    return absl::OkStatus();
  }

  // Notes where the value is, and copies it for those who read it in the order of its type.
  absl::Status Store(const Var& var, const Var& stored) {
    stored_.emplace(var.get(), stored);
    if (!plan_.IsReadPlain(var.get())) return absl::OkStatus();
    const auto* tensor = cast<TensorTypeNode>(var->type);
    const std::string name = builder().AddProgram(CopyBack(*tensor->shape, tensor->dtype), "transpose");
    TW_ASSIGN_OR_RETURN(Var copy,
                        builder().Emit(CallTir(name, {stored}, TensorType(tensor->dtype, *tensor->shape)), var->name));
    Replace(var, copy);
    return absl::OkStatus();
  }

  Value Weights(const ConstantNode& constant, const Permutation& order) {
    const auto key = std::make_pair(&constant, order);
    const auto known = weights_.find(key);
    if (known != weights_.end()) return known->second;
    const Constant permuted(constant.dtype, Permute(constant.shape, order),
                            constant.bytes.Permuted(constant.shape, order, constant.dtype.bytes()));
    return weights_.emplace(key, permuted).first->second;
  }

  LayoutPlan& plan_;
  std::unordered_map<const VarNode*, Var> stored_;  // by variable of the old function: the value channels last
  std::map<std::pair<const ConstantNode*, Permutation>, Value> weights_;
};

}  // namespace

absl::StatusOr<GraphModule> AssignLayouts(const GraphModule& module, const OpTable& ops) {
  BlockBuilder builder(&ops, module);
  for (const ModuleEntry& entry : module.entries()) {
    if (!entry.function) continue;
    LayoutPlan plan(module);
    plan.Run(entry.function);
    LayoutWriter writer(&builder, &plan);
    TW_RETURN_IF_ERROR(writer.MutateFunction(entry.function).status());
  }
  return builder.module();
}

}  // namespace tilewright::graph
