#include "codegen/lower/gpu/lower_vthreads.h"

#include <unordered_map>
#include <unordered_set>

#include "codegen/lower/common/instruction_attributes.h"
#include "codegen/lower/gpu/kernel_accesses.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

using VarSet = std::unordered_set<const VarNode*>;

// Variables and memory of a thread whose values depend on the virtual thread.
class Dependents : public Visitor {
 public:
  using Visitor::Visit;
  Dependents(const Stmt& body, const Var& thread) : vars({thread.get()}) {
    size_t before = 0;
    while (before != vars.size()) {
      before = vars.size();
      Visit(body);
    }
  }
  VarSet vars;  // loop variables, let variables, data pointers

  bool DependsOn(const Expr& e) const {
    bool depends = false;
    PreOrder(e, [&](const Expr& part) {
      if (const auto* var = dyn_cast<VarNode>(part)) depends |= vars.contains(var);
      if (const auto* load = dyn_cast<LoadNode>(part)) depends |= vars.contains(load->buffer->data.get());
      return !depends;
    });
    return depends;
  }
  bool DependsOn(const Stmt& s) const {
    bool depends = false;
    PreOrderExprs(s, [&](const Expr& e) {
      if (const auto* var = dyn_cast<VarNode>(e)) depends |= vars.contains(var);
      if (const auto* load = dyn_cast<LoadNode>(e)) depends |= vars.contains(load->buffer->data.get());
      return !depends;
    });
    PreOrder(s, [&](const Stmt& part) {
      const auto* store = dyn_cast<StoreNode>(part);
      depends |= store != nullptr && vars.contains(store->buffer->data.get());
      return !depends;
    });
    return depends;
  }

 protected:
  void VisitStore(const StoreNode* op) override {
    bool depends = below_ > 0 || DependsOn(op->value) || DependsOn(op->predicate);
    for (const Expr& index : op->indices) depends |= DependsOn(index);
    if (depends && IsOwn(op->buffer->scope)) vars.insert(op->buffer->data.get());
    Visitor::VisitStore(op);
  }
  void VisitEvaluate(const EvaluateNode* op) override {
    // What a call writes may depend on all that it is given.
    if (below_ > 0 || DependsOn(op->value)) {
      PreOrder(op->value, [&](const Expr& e) {
        const auto* var = dyn_cast<VarNode>(e);
        const auto known = var == nullptr ? owned_.end() : owned_.find(var);
        if (known != owned_.end()) vars.insert(known->first);
        return true;
      });
    }
    Visitor::VisitEvaluate(op);
  }
  void VisitAllocate(const AllocateNode* op) override {
    if (IsOwn(op->buffer->scope)) owned_.emplace(op->buffer->data.get(), true);
    Visitor::VisitAllocate(op);
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    if (DependsOn(op->value)) vars.insert(op->var.get());
    Visitor::VisitLetStmt(op);
  }
  void VisitFor(const ForNode* op) override {
    Below(DependsOn(op->extent) || DependsOn(op->min), [&] { Visitor::VisitFor(op); });
  }
  void VisitIf(const IfNode* op) override {
    Below(DependsOn(op->condition), [&] { Visitor::VisitIf(op); });
  }
  void VisitWhile(const WhileNode* op) override {
    Below(DependsOn(op->condition), [&] { Visitor::VisitWhile(op); });
  }

 private:
  static bool IsOwn(const Scope& scope) {
    return MemoryOwner(scope) == OwnerLevel::kThread || MemoryOwner(scope) == OwnerLevel::kWarp;
  }
  template <class Body>
  void Below(bool depends, Body body) {
    below_ += depends;
    body();
    below_ -= depends;
  }
  int below_ = 0;  // conditions around that depend on the virtual thread
  std::unordered_map<const VarNode*, bool> owned_;
};

// Gives memory an outermost dimension, the virtual thread.
class Multiplier : public Mutator {
 public:
  using Mutator::Mutate;
  Multiplier(const VarSet& vars, const Var& thread, const Expr& extent, const GpuTarget& gpu)
      : vars_(vars), thread_(thread), extent_(extent), gpu_(gpu) {}
  Buffer Multiplied(const Buffer& buffer) {
    const auto known = multiplied_.find(buffer);
    if (known != multiplied_.end()) return known->second;
    BufferNode::Fields fields = buffer->fields();
    if (!fields.strides.empty()) fields.strides.insert(fields.strides.begin(), fields.strides[0] * fields.shape[0]);
    fields.shape.insert(fields.shape.begin(), extent_);
    Var& data = data_[buffer->data.get()];
    if (!data) data = Var(buffer->data.name(), buffer->data.dtype());
    fields.data = data;
    return multiplied_.emplace(buffer, Buffer(fields)).first->second;
  }

 protected:
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    if (!vars_.contains(op->buffer->data.get())) return Mutator::MutateLoad(op, self);
    return Multiplied(op->buffer).Load(Indices(op->indices), Mutate(op->predicate));
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    if (!vars_.contains(op->buffer->data.get())) return Mutator::MutateStore(op, self);
    return Store(Multiplied(op->buffer), Mutate(op->value), Indices(op->indices), Mutate(op->predicate));
  }
  Expr MutateCall(const CallNode* op, const Expr& self) override {
    const auto* data = op->op == kAccessPtr ? dyn_cast<VarNode>(op->args[1]) : nullptr;
    if (data == nullptr || !sizes.contains(data)) return Mutator::MutateCall(op, self);
    const Buffer& buffer = sizes.at(data);
    const Expr elements = CastTo(DataType::Int(32), thread_) * CastTo(DataType::Int(32), ElementsOf(buffer));
    return MovedPointer(cast<CallNode>(Mutator::MutateCall(op, self)), buffer, Multiplied(buffer)->data, elements,
                        gpu_);
  }
  Expr MutateVar(const VarNode* op, const Expr& self) override {
    const auto known = sizes.find(op);
    return known == sizes.end() ? self : Multiplied(known->second)->data;
  }

 public:
  std::unordered_map<const VarNode*, Buffer> sizes;  // what was allocated, by data pointer

 private:
  std::vector<Expr> Indices(const std::vector<Expr>& indices) {
    std::vector<Expr> result = {thread_};
    for (const Expr& index : indices) result.push_back(Mutate(index));
    return result;
  }
  const VarSet& vars_;
  const Var thread_;
  const Expr extent_;
  const GpuTarget& gpu_;
  std::unordered_map<Buffer, Buffer, IdentityHash, IdentityEqual> multiplied_;
  std::unordered_map<const VarNode*, Var> data_;
};

class Injector {
 public:
  Injector(const ForNode* loop, const GpuTarget& gpu, uint32_t* next_id)
      : loop_(loop),
        next_id_(next_id),
        dependents_(loop->body, loop->var),
        multiplier_(dependents_.vars, loop->var, loop->extent, gpu) {}
  Stmt Run() { return Inject(loop_->body); }

 private:
  Stmt Inject(const Stmt& s) {
    if (!dependents_.DependsOn(s)) return s;
    switch (s->kind()) {
      case Kind::kSeq: {
        std::vector<Stmt> result;
        for (const Stmt& each : cast<SeqNode>(s)->stmts) result.push_back(Inject(each));
        return Sequence(std::move(result));
      }
      case Kind::kFor: {
        const auto* op = cast<ForNode>(s);
        if (op->kind == ForKind::kVectorized || dependents_.DependsOn(op->extent) || dependents_.DependsOn(op->min)) {
          break;
        }
        ForNode::Fields fields = op->fields();
        fields.body = Inject(op->body);
        return For(std::move(fields));
      }
      case Kind::kIf: {
        const auto* op = cast<IfNode>(s);
        if (dependents_.DependsOn(op->condition)) break;
        return If(op->condition, Inject(op->then_case), op->else_case ? Inject(op->else_case) : Stmt());
      }
      case Kind::kAttrStmt: {
        const auto* op = cast<AttrStmtNode>(s);
        if (IsInstruction(s)) break;
        return Stmt(new AttrStmtNode(op->node, op->key, op->value, Inject(op->body)));
      }
      case Kind::kAllocate: {
        const auto* op = cast<AllocateNode>(s);
        if (!dependents_.vars.contains(op->buffer->data.get())) {
          return Stmt(new AllocateNode(op->buffer, op->annotations, Inject(op->body)));
        }
        multiplier_.sizes.emplace(op->buffer->data.get(), op->buffer);
        const Buffer multiplied = multiplier_.Multiplied(op->buffer);
        return Stmt(new AllocateNode(multiplied, op->annotations, Inject(op->body)));
      }
      default:
        break;
    }
    return EachThread(s);
  }
  Stmt EachThread(const Stmt& s) {
    ForNode::Fields fields;
    fields.id = (*next_id_)++;
    fields.var = Var(loop_->var.name(), loop_->var.dtype());
    fields.min = Const(fields.var.dtype(), 0);
    fields.extent = loop_->extent;
    fields.kind = ForKind::kUnrolled;
    fields.body = Substitute(CopyWithFreshNames(multiplier_.Mutate(s), next_id_), {{loop_->var, fields.var}});
    return For(std::move(fields));
  }

  const ForNode* loop_;
  uint32_t* next_id_;
  const Dependents dependents_;
  Multiplier multiplier_;
};

}  // namespace

Function LowerVirtualThreads(const Function& function, const GpuTarget& gpu) {
  uint32_t next_id = function->next_id;
  Stmt body = RewriteStmt(function->body, [&](const Stmt& s) -> Stmt {
    const auto* loop = dyn_cast<ForNode>(s);
    if (loop == nullptr || loop->kind != ForKind::kThreadBound) return s;
    const bool is_virtual = loop->thread_tag.starts_with("vthread") || loop->thread_tag.starts_with("cthread");
    return is_virtual ? Injector(loop, gpu, &next_id).Run() : s;
  });
  return function.WithBody(std::move(body), next_id);
}

}  // namespace tilewright
