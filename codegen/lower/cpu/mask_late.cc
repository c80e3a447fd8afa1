#include "codegen/lower/cpu/mask_late.h"

#include <map>
#include <utility>

#include "codegen/lower/common/scoped_mutator.h"
#include "ir/analysis.h"
#include "ir/builtin.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

constexpr int kGroupBits = 32;

// The changes to a loaded group: first sign bits are flipped, then lanes are masked.
struct Change {
  Expr condition;     // on lanes, without variables; null: all are kept
  bool flip = false;  // the sign bit of each element

  bool operator==(const Change& other) const {
    const bool same_lanes =
        condition && other.condition ? StructuralEqual(condition, other.condition) : !condition && !other.condition;
    return same_lanes && flip == other.flip;
  }
  Expr Of(Expr group) const {
    const DataType type = group.dtype();
    if (flip) group = Call(type, std::string(kFlipSignBit), {group});
    return condition ? Expr(new SelectNode(condition, group, Const(type, 0))) : group;
  }
};

// The value of a store to a group.
struct Group {
  Change change;
  Expr loaded;                     // without the change
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

// `e` if it reinterprets a value as another type, else null.
const CallNode* AsReinterpreted(const Expr& e) {
  const auto* call = dyn_cast<CallNode>(e);
  return call != nullptr && call->op == "reinterpret" ? call : nullptr;
}

Group MatchGroup(const Expr& value) {
  Group group{.loaded = value};
  const auto* select = dyn_cast<SelectNode>(value);
  if (select != nullptr && select->condition.dtype().lanes() != 1 && IsConstantCondition(select->condition) &&
      IsZero(select->false_value)) {
    group.change.condition = select->condition;
    group.loaded = select->true_value;
  }
  const auto* flipped = dyn_cast<CallNode>(group.loaded);
  if (flipped != nullptr && flipped->op == kFlipSignBit) {
    group.change.flip = true;
    group.loaded = flipped->args[0];
  }
  const CallNode* reinterpreted = AsReinterpreted(group.loaded);
  const auto* load = dyn_cast<LoadNode>(reinterpreted != nullptr ? reinterpreted->args[0] : group.loaded);
  const Expr& condition = group.change.condition;
  if (load != nullptr && (!load->predicate || (condition && StructuralEqual(load->predicate, condition)))) {
    group.load = load;
  }
  return group;
}

// The elements of a group, where all are one number.
std::optional<int64_t> AsNumber(const Expr& group) {
  const auto* broadcast = dyn_cast<BroadcastNode>(group);
  return broadcast == nullptr ? std::nullopt : AsInt(broadcast->value);
}

// The groups of one register buffer: how each is changed.
class GroupsOf : public Visitor {
 public:
  explicit GroupsOf(const VarNode* data) : data_(data) {}
  using Visitor::Visit;

  // Nothing if an access is not to a whole group, or if a group has several different changes. A constant group fits
  // every change.
  std::optional<std::map<int64_t, Change>> Find(const Stmt& body) {
    Visit(body);
    for (const auto& [first, change] : changes_) {
      auto next = changes_.upper_bound(first);
      ok_ &= next == changes_.end() || next->first >= first + lanes_;
    }
    for (const int64_t first : numbers_) {
      const auto it = changes_.find(first);
      ok_ &= it == changes_.end() || !it->second.condition;
    }
    return ok_ ? std::optional(changes_) : std::nullopt;
  }

 protected:
  void VisitVar(const VarNode* op) override { ok_ &= op != data_; }
  void VisitLoad(const LoadNode* op) override {
    if (op->buffer->data.get() == data_) See(op->indices[0], op->predicate, op->buffer->dtype);
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    if (op->buffer->data.get() == data_ && See(op->indices[0], op->predicate, op->buffer->dtype)) {
      const int64_t first = *AsInt(cast<RampNode>(op->indices[0])->base);
      if (AsNumber(op->value).value_or(0) != 0) {
        numbers_.push_back(first);
      } else if (!IsZero(op->value)) {
        const Change change = MatchGroup(op->value).change;
        const auto [it, is_new] = changes_.try_emplace(first, change);
        ok_ &= is_new || it->second == change;
      }
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
  std::map<int64_t, Change> changes_;  // by the first element
  std::vector<int64_t> numbers_;       // groups that are set to a number other than 0, which no mask may change
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
    const std::optional<std::map<int64_t, Change>> groups = GroupsOf(op->buffer->data.get()).Find(op->body);
    if (!groups) return ScopedMutator::MutateAllocate(op, self);
    data_ = op->buffer->data.get();
    changes_ = *groups;
    some_whole_ = false;
    Stmt mutated = ScopedMutator::MutateAllocate(op, self);
    data_ = nullptr;
    return some_whole_ ? mutated : self;
  }

  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    if (data_ == nullptr) return self;
    if (op->buffer->data.get() == data_) {
      const Group group = MatchGroup(op->value);
      const Change change = changes_[*AsInt(cast<RampNode>(op->indices[0])->base)];
      if (const std::optional<int64_t> number = AsNumber(op->value)) {
        const DataType type = op->value.dtype();
        const int64_t raw = change.flip ? WithSignBitFlipped(*number, type.bits(), type.is_int()) : *number;
        return Store(op->buffer, Const(type, raw), op->indices);
      }
      const bool whole = group.load != nullptr && (!group.load->predicate || IsInside(*group.load));
      some_whole_ |= change.flip || (whole && change.condition);
      Expr raw = Change{.condition = group.change.condition}.Of(group.loaded);
      if (whole) {
        raw = group.load->buffer.Load(group.load->indices);
        if (AsReinterpreted(group.loaded) != nullptr) raw = Call(op->value.dtype(), "reinterpret", {raw});
      }
      return Store(op->buffer, raw, op->indices);
    }
    return ScopedMutator::MutateStore(op, self);
  }

  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    if (op->buffer->data.get() != data_) return ScopedMutator::MutateLoad(op, self);
    const auto it = changes_.find(*AsInt(cast<RampNode>(op->indices[0])->base));
    return it == changes_.end() ? self : it->second.Of(self);
  }

 private:
  // Whether all lanes of the load lie in its buffer, those left out too.
  bool IsInside(const LoadNode& load) {
    const auto* ramp = dyn_cast<RampNode>(load.indices[0]);
    const std::optional<int64_t> size = AsInt(load.buffer->shape[0]);
    if (ramp == nullptr || !size || !IsInt(ramp->stride, 1)) return false;
    return analyzer_.ConstBounds(ramp->base).Within(0, *size - load.indices[0].dtype().lanes());
  }

  const VarNode* data_ = nullptr;  // of the register buffer whose groups are changed late
  std::map<int64_t, Change> changes_;
  bool some_whole_ = false;
};

}  // namespace

Function MaskLate(const Function& function) {
  return function.WithBody(Masker().Mutate(function->body), function->next_id);
}

}  // namespace tilewright
