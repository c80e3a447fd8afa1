#include "codegen/lower/cpu/mask_bytes.h"

#include <algorithm>
#include <unordered_set>

#include "intrin/instructions.h"
#include "ir/builtin.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

constexpr DataType kU8 = DataType::UInt(8);
constexpr int64_t kLargestByte = 255, kMask = 127;

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

// Whether all elements that are stored to a buffer are below 128, and its address is not taken.
class Stores : public Visitor {
 public:
  explicit Stores(const VarNode* data) : data_(data) {}
  using Visitor::Visit;
  bool all_narrow() const { return all_narrow_; }

 protected:
  void VisitVar(const VarNode* op) override { all_narrow_ &= op != data_; }
  void VisitStore(const StoreNode* op) override {
    all_narrow_ &= op->buffer->data.get() != data_ || MostOf(op->value) <= kMask;
    Visitor::VisitStore(op);
  }

 private:
  const VarNode* const data_;
  bool all_narrow_ = true;
};

class Masker : public Mutator {
 public:
  using Mutator::Mutate;

 protected:
  Stmt MutateAllocate(const AllocateNode* op, const Stmt& self) override {
    const Buffer& buffer = op->buffer;
    if (buffer->scope.kind() == MemoryKind::kRegister && buffer->dtype == kU8) {
      Stores stores(buffer->data.get());
      stores.Visit(op->body);
      if (stores.all_narrow()) narrow_.insert(buffer->data.get());
    }
    return Mutator::MutateAllocate(op, self);
  }

  Expr MutateCall(const CallNode* op, const Expr& self) override {
    const auto* load = op->op == kDotAdd ? dyn_cast<LoadNode>(op->args[2]) : nullptr;
    if (load == nullptr || !narrow_.contains(load->buffer->data.get())) return Mutator::MutateCall(op, self);
    const DataType type = op->args[2].dtype();
    const Expr mask = Broadcast(Const(kU8, kMask), type.lanes());
    return Call(op->dtype(), op->op, {op->args[0], op->args[1], Call(type, "bitwise_and", {op->args[2], mask})});
  }

 private:
  std::unordered_set<const VarNode*> narrow_;  // the data of such buffers
};

}  // namespace

Function MaskBytes(const Function& function, const Target& target) {
  const DataType s8 = DataType::Int(8), s32 = DataType::Int(32);
  const MachineInstruction* dot = FindInstruction(target, "dot", s8, kU8, s32);
  if (dot == nullptr || !dot->ByParts()) return function;
  if (FindInstruction(target, "narrow_dot", s8, kU8, s32) == nullptr) return function;
  return function.WithBody(Masker().Mutate(function->body), function->next_id);
}

}  // namespace tilewright
