#include "codegen/lower/mask_late.h"

#include <map>
#include <utility>

#include "codegen/lower/scoped_mutator.h"
#include "ir/analysis.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

constexpr int kGroupBits = 32;

// The value of a store, where its condition leaves out the same lanes whenever it runs.
struct MaskedGroup {
  Expr condition;                  // on lanes, without variables
  Expr loaded;                     // without the mask
  const LoadNode* load = nullptr;  // what is loaded by the same mask, when that is all
};

bool IsConstantCondition(const Expr& condition) {
  bool constant = true;
  PreOrder(condition, [&](const Expr& e) {
    constant &= !isa<VarNode>(e) && !isa<LoadNode>(e) && !isa<CallNode>(e);
    return constant;
  });
  return constant;
}

std::optional<MaskedGroup> MatchMaskedGroup(const Expr& value) {
  const auto* select = dyn_cast<SelectNode>(value);
  if (select == nullptr || select->condition.dtype().lanes() == 1 || !IsConstantCondition(select->condition) ||
      !IsZero(select->false_value)) {
    return std::nullopt;
  }
  const auto* load = dyn_cast<LoadNode>(select->true_value);
  if (load != nullptr && load->predicate && !StructuralEqual(load->predicate, select->condition)) load = nullptr;
  return MaskedGroup{select->condition, select->true_value, load};
}

// The groups of one register buffer: the condition of each, null where there is none.
class GroupsOf : public Visitor {
 public:
  explicit GroupsOf(const VarNode* data) : data_(data) {}
  using Visitor::Visit;

  // Nothing when an access is not one of a whole group, or a group has several conditions.
  std::optional<std::map<int64_t, Expr>> Find(const Stmt& body) {
    Visit(body);
    for (const auto& [first, condition] : conditions_) {
      auto next = conditions_.upper_bound(first);
      ok_ &= next == conditions_.end() || next->first >= first + lanes_;
    }
    return ok_ ? std::optional(conditions_) : std::nullopt;
  }

 protected:
  void VisitVar(const VarNode* op) override { ok_ &= op != data_; }
  void VisitLoad(const LoadNode* op) override {
    if (op->buffer->data.get() == data_) See(op->indices[0], op->predicate, op->buffer->dtype);
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    if (op->buffer->data.get() == data_ && See(op->indices[0], op->predicate, op->buffer->dtype) &&
        !IsZero(op->value)) {
      const int64_t first = *AsInt(cast<RampNode>(op->indices[0])->base);
      const std::optional<MaskedGroup> group = MatchMaskedGroup(op->value);
      const Expr condition = group ? group->condition : Expr();
      const auto [it, is_new] = conditions_.try_emplace(first, condition);
      if (!is_new) ok_ &= condition && it->second ? StructuralEqual(it->second, condition) : !condition && !it->second;
    }
    Visitor::VisitStore(op);
  }

 private:
  bool See(const Expr& index, const Expr& predicate, DataType type) {
    const auto* ramp = dyn_cast<RampNode>(index);
    const int lanes = index.dtype().lanes();
    if (ramp == nullptr || predicate || !IsInt(ramp->stride, 1) || !AsInt(ramp->base) ||
        lanes * type.bits() != kGroupBits || *AsInt(ramp->base) % lanes != 0) {
      return ok_ = false;
    }
    lanes_ = lanes;
    return true;
  }

  const VarNode* const data_;
  std::map<int64_t, Expr> conditions_;  // by the first element
  int lanes_ = 0;
  bool ok_ = true;
};

class Masker : public ScopedMutator {
 public:
  using ScopedMutator::Mutate;
  Expr Mutate(const Expr& e) override { return data_ == nullptr ? e : ScopedMutator::Mutate(e); }

 protected:
  Stmt MutateAllocate(const AllocateNode* op, const Stmt& self) override {
    if (data_ != nullptr || op->buffer->scope.kind() != MemoryKind::kRegister ||
        op->buffer->dtype.bits() >= kGroupBits) {
      return ScopedMutator::MutateAllocate(op, self);
    }
    const std::optional<std::map<int64_t, Expr>> groups = GroupsOf(op->buffer->data.get()).Find(op->body);
    if (!groups) return ScopedMutator::MutateAllocate(op, self);
    data_ = op->buffer->data.get();
    conditions_ = *groups;
    some_whole_ = false;
    Stmt mutated = ScopedMutator::MutateAllocate(op, self);
    data_ = nullptr;
    return some_whole_ ? mutated : self;
  }

  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    if (data_ == nullptr) return self;
    if (op->buffer->data.get() == data_) {
      const std::optional<MaskedGroup> group = MatchMaskedGroup(op->value);
      if (!group || group->load == nullptr || !IsInside(*group->load)) return self;
      some_whole_ = true;
      return Store(op->buffer, group->load->buffer.Load(group->load->indices), op->indices);
    }
    return ScopedMutator::MutateStore(op, self);
  }

  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    if (op->buffer->data.get() != data_) return ScopedMutator::MutateLoad(op, self);
    const auto it = conditions_.find(*AsInt(cast<RampNode>(op->indices[0])->base));
    if (it == conditions_.end() || !it->second) return self;
    return Expr(new SelectNode(it->second, self, Const(op->dtype(), 0)));
  }

 private:
  // Whether all lanes of the load lie in its buffer, those left out too.
  bool IsInside(const LoadNode& load) {
    const auto* ramp = dyn_cast<RampNode>(load.indices[0]);
    const std::optional<int64_t> size = AsInt(load.buffer->shape[0]);
    if (ramp == nullptr || !size || !IsInt(ramp->stride, 1)) return false;
    return analyzer_.ConstBounds(ramp->base).Within(0, *size - load.indices[0].dtype().lanes());
  }

  const VarNode* data_ = nullptr;  // of the register buffer whose groups are masked late
  std::map<int64_t, Expr> conditions_;
  bool some_whole_ = false;
};

}  // namespace

Function MaskLate(const Function& function) {
  return function.WithBody(Masker().Mutate(function->body), function->next_id);
}

}  // namespace tilewright
