#include "codegen/lower/cpu/mask_bytes.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "intrin/instructions.h"
#include "ir/builtin.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

constexpr DataType kU8 = DataType::UInt(8);
constexpr int64_t kLargestByte = 255, kLargestNarrow = 127;

// The constant that all lanes hold.
std::optional<int64_t> NumberOf(const Expr& e) {
  const auto* broadcast = dyn_cast<BroadcastNode>(e);
  return AsInt(broadcast != nullptr ? broadcast->value : e);
}

// An upper bound of the elements of a vector of unsigned bytes.
int64_t MostOf(const Expr& e) {
  if (const std::optional<int64_t> number = NumberOf(e)) return *number;
  if (const auto* select = dyn_cast<SelectNode>(e)) {
    return std::max(MostOf(select->true_value), MostOf(select->false_value));
  }
  if (const auto* shuffle = dyn_cast<ShuffleNode>(e)) {
    int64_t most = 0;
    for (const Expr& part : shuffle->vectors) most = std::max(most, MostOf(part));
    return most;
  }
  const auto* call = dyn_cast<CallNode>(e);
  if (call == nullptr || call->args.size() < 2) return kLargestByte;
  if (call->op == kIfThenElse) return std::max(MostOf(call->args[1]), MostOf(call->args[2]));
  if (call->op == "bitwise_and") return std::min(MostOf(call->args[0]), MostOf(call->args[1]));
  const std::optional<int64_t> number = NumberOf(call->args[1]);
  const bool shifts = call->op == "shift_right" && number && *number >= 0 && *number < kU8.bits();
  return shifts ? MostOf(call->args[0]) >> *number : kLargestByte;
}

// The largest element that is stored to a buffer, where its address is not taken.
class Stores : public Visitor {
 public:
  explicit Stores(const VarNode* data) : data_(data) {}
  using Visitor::Visit;
  int64_t most() const { return most_; }

 protected:
  void VisitVar(const VarNode* op) override {
    if (op == data_) most_ = kLargestByte;
  }
  void VisitStore(const StoreNode* op) override {
    if (op->buffer->data.get() == data_) most_ = std::max(most_, MostOf(op->value));
    Visitor::VisitStore(op);
  }

 private:
  const VarNode* const data_;
  int64_t most_ = 0;
};

// The bits that numbers up to `most` have.
int64_t MaskOf(int64_t most) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(most, 1)) + 1)) - 1;
}

class Masker : public Mutator {
 public:
  using Mutator::Mutate;

 protected:
  Stmt MutateAllocate(const AllocateNode* op, const Stmt& self) override {
    const Buffer& buffer = op->buffer;
    if (buffer->scope.kind() == MemoryKind::kRegister && buffer->dtype == kU8) {
      Stores stores(buffer->data.get());
      stores.Visit(op->body);
      if (stores.most() <= kLargestNarrow) masks_[buffer->data.get()] = MaskOf(stores.most());
    }
    return Mutator::MutateAllocate(op, self);
  }

  Expr MutateCall(const CallNode* op, const Expr& self) override {
    const auto* load = op->op == kDotAdd ? dyn_cast<LoadNode>(op->args[2]) : nullptr;
    const auto mask_of = load == nullptr ? masks_.end() : masks_.find(load->buffer->data.get());
    if (mask_of == masks_.end()) return Mutator::MutateCall(op, self);
    const DataType type = op->args[2].dtype();
    const Expr mask = Broadcast(Const(kU8, mask_of->second), type.lanes());
    return Call(op->dtype(), op->op, {op->args[0], op->args[1], Call(type, "bitwise_and", {op->args[2], mask})});
  }

 private:
  std::unordered_map<const VarNode*, int64_t> masks_;  // by the data of such buffers
};

}  // namespace

bool AddsPairsOfBytes(const Target& target) {
  const DataType s8 = DataType::Int(8), s32 = DataType::Int(32);
  const MachineInstruction* dot = FindInstruction(target, "dot", s8, kU8, s32);
  return dot != nullptr && dot->ByParts() && FindInstruction(target, "narrow_dot", s8, kU8, s32) != nullptr;
}

Function MaskBytes(const Function& function, const Target& target) {
  if (!AddsPairsOfBytes(target)) return function;
  return function.WithBody(Masker().Mutate(function->body), function->next_id);
}

}  // namespace tilewright
