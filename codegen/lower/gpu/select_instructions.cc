#include "codegen/lower/gpu/select_instructions.h"

#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/lower/common/instruction_attributes.h"
#include "codegen/lower/gpu/fragment_lanes.h"
#include "codegen/lower/gpu/threaded_mutator.h"
#include "codegen/lower/gpu/wgmma_call.h"
#include "intrin/operand_layout.h"
#include "ir/annotations.h"
#include "ir/arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// Memory of warps that instructions of whole warps use: its data pointers.
std::unordered_set<const VarNode*> FindFragments(const Stmt& body) {
  std::unordered_set<const VarNode*> found;
  const auto add = [&](const Buffer& buffer) {
    if (buffer->scope.kind() == MemoryKind::kWarp) found.insert(buffer->data.get());
  };
  PreOrder(body, [&](const Stmt& s) {
    if (!IsInstruction(s)) return true;
    PreOrder(s, [&](const Stmt& inner) {
      if (const auto* store = dyn_cast<StoreNode>(inner)) add(store->buffer);
      return true;
    });
    PreOrderExprs(s, [&](const Expr& e) {
      if (const auto* load = dyn_cast<LoadNode>(e)) add(load->buffer);
      return true;
    });
    return false;
  });
  return found;
}

// Sums of products of warpgroups, by data pointers: how many registers a lane has of each tile.
std::unordered_map<const VarNode*, int64_t> FindAccumulators(const Stmt& body) {
  std::unordered_map<const VarNode*, int64_t> found;
  PreOrder(body, [&](const Stmt& s) {
    const auto* attr = dyn_cast<AttrStmtNode>(s);
    const auto wgmma = attr == nullptr || attr->key != kCudaInstruction ? std::nullopt : AsWgmma(attr->value);
    if (!wgmma) return true;
    const auto* pointer = dyn_cast<CallNode>(cast<CallNode>(attr->value)->args[wgmma->sums()]);
    const auto* data = pointer == nullptr || pointer->op != kAccessPtr ? nullptr : dyn_cast<VarNode>(pointer->args[1]);
    if (data != nullptr) found.emplace(data, AsInt(pointer->args[3]).value_or(0));
    return false;
  });
  return found;
}

class Selector : public ThreadedMutator {
 public:
  using ThreadedMutator::Mutate;
  Selector(std::unordered_set<const VarNode*> fragments, std::unordered_map<const VarNode*, int64_t> accumulators,
           const GpuTarget& gpu)
      : fragments_(std::move(fragments)), accumulators_(std::move(accumulators)), gpu_(gpu) {}
  absl::Status status;

 protected:
  Stmt MutateAttrStmt(const AttrStmtNode* op, const Stmt& self) override {
    if (op->key == kCudaInstruction) {
      const Expr call = Mutate(op->value);
      return Evaluate(Call(DataType::Void(), cast<CallNode>(call)->op, cast<CallNode>(call)->args));
    }
    if (op->key == kCudaValue) return StoredBy(op->body, Mutate(op->value));
    if (op->key != kCudaRegisters) return ThreadedMutator::MutateAttrStmt(op, self);
    const auto* loop = dyn_cast<ForNode>(op->body);
    if (loop == nullptr) {
      Refuse("the registers of a fragment are not accessed in one loop");
      return self;
    }
    const Expr outer =
        std::exchange(register_, arith::Simplify(CastTo(loop->var.dtype(), op->value) + loop->var - loop->min));
    ForNode::Fields fields = loop->fields();
    fields.body = Mutate(loop->body);
    // Registers have no addresses: constant indices.
    fields.kind = ForKind::kUnrolled;
    register_ = outer;
    return For(std::move(fields));
  }
  Stmt MutateAllocate(const AllocateNode* op, const Stmt& self) override {
    if (!IsFragment(op->buffer)) return ThreadedMutator::MutateAllocate(op, self);
    Annotations annotations = op->annotations;
    if (const auto columns = annotations.find(kFragmentColumns); columns != annotations.end()) {
      const auto* extent = std::get_if<Expr>(&columns->second.value);
      columns_[op->buffer->data.get()] = extent == nullptr ? 0 : AsInt(*extent).value_or(0);
      annotations.erase(columns);
    }
    const auto sums = accumulators_.find(op->buffer->data.get());
    if (sums != accumulators_.end()) annotations[kCudaAccumulator] = MakeAnnotation(Expr(sums->second));
    return Stmt(new AllocateNode(OfLane(op->buffer), std::move(annotations), Mutate(op->body)));
  }
  // What is chosen where only some lanes are is theirs: in C[i] if tx % 4 == 3 the index may count with that.
  Expr MutateCall(const CallNode* op, const Expr& self) override {
    if (op->op != kIfThenElse) return ThreadedMutator::MutateCall(op, self);
    const auto where = [&](const Expr& condition, const Expr& value) {
      arith::Analyzer::Scope inside(&analyzer_);
      analyzer_.Assume(condition);
      return Mutate(value);
    };
    return IfThenElse(Mutate(op->args[0]), where(op->args[0], op->args[1]), where(Not(op->args[0]), op->args[2]));
  }
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    if (!IsFragment(op->buffer)) return ThreadedMutator::MutateLoad(op, self);
    return OfLane(op->buffer).Load({Register(op->buffer, op->indices[0])}, Mutate(op->predicate));
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    if (!IsFragment(op->buffer)) return ThreadedMutator::MutateStore(op, self);
    Expr index = Register(op->buffer, op->indices[0]);
    return Store(OfLane(op->buffer), Mutate(op->value), {std::move(index)}, Mutate(op->predicate));
  }

 private:
  bool IsFragment(const Buffer& buffer) const {
    const OwnerLevel owner = buffer->scope.owner();
    const bool of_lanes = owner == OwnerLevel::kWarp || owner == OwnerLevel::kWarpgroup;
    return (buffer->scope.kind() == MemoryKind::kFragment && of_lanes) || fragments_.contains(buffer->data.get());
  }
  // Left operands of 16 bits lie in the lanes as sums do (intrin/cuda/wgmma.h): what is made of sums element by
  // element is the operand of another product where it is.
  static bool IsLeftOperand(const Buffer& buffer) {
    return buffer->scope.text().ends_with(".matrix_a") && buffer->dtype.bits() == 16;
  }
  // The one store of `body`, of a value that it computes in a loop.
  Stmt StoredBy(const Stmt& body, const Expr& value) {
    const StoreNode* store = nullptr;
    PreOrder(body, [&](const Stmt& s) {
      if (const auto* found = dyn_cast<StoreNode>(s)) store = found;
      return true;
    });
    if (store != nullptr) return Store(store->buffer, value, store->indices);
    Refuse("what an instruction computes is not stored");
    return body;
  }
  void Refuse(const std::string& reason) {
    if (status.ok()) status = absl::InvalidArgumentError(reason);
  }
  // What holds the element of a flat buffer.
  Expr Register(const Buffer& buffer, const Expr& index) {
    if (register_) return register_;
    const auto* ramp = dyn_cast<RampNode>(index);
    const int lanes = index.dtype().lanes();
    const std::optional<Expr> first = Own(buffer, ramp == nullptr ? index : ramp->base);
    bool adjacent = first && (lanes == 1 || (ramp != nullptr && IsInt(ramp->stride, 1)));
    for (int i = 1; i < lanes && adjacent; ++i) {
      const std::optional<Expr> next = Own(buffer, ramp->base + Const(ramp->base.dtype(), i));
      adjacent = next && analyzer_.CanProveEqual(*next, *first + Const(first->dtype(), i));
    }
    if (adjacent) return lanes == 1 ? *first : Ramp(*first, Const(first->dtype(), 1), lanes);
    Refuse(
        absl::StrCat("fragment ", buffer->name,
                     " is accessed element by element, and not each element by the lane that has it: instructions of "
                     "whole warps (intrin/cuda) do that, and loops that are bound as codegen/lower/gpu/"
                     "fragment_lanes.h says"));
    return index;
  }
  std::optional<Expr> Own(const Buffer& buffer, const Expr& element) {
    const auto columns = columns_.find(buffer->data.get());
    if (columns == columns_.end() || !element.dtype().is_scalar()) return std::nullopt;
    std::string_view family = "mma";
    int64_t wide = 16;
    if (buffer->scope.owner() == OwnerLevel::kWarpgroup) {
      const auto sums = accumulators_.find(buffer->data.get());
      if (sums == accumulators_.end() && !IsLeftOperand(buffer)) return std::nullopt;
      family = "wgmma";
      if (sums != accumulators_.end()) wide = 2 * sums->second;
    } else if (buffer->scope.text() != "wmma.accumulator" && !IsLeftOperand(buffer)) {
      return std::nullopt;
    }
    if (wide <= 0 || wide % 8 != 0) return std::nullopt;  // registers of no product
    auto tile = tiles_.find({family, wide});
    if (tile == tiles_.end()) tile = tiles_.emplace(std::pair(family, wide), LayoutOfSums(family, wide)).first;
    return OwnRegister(element, columns->second, tile->second, threads_, &analyzer_);
  }
  Buffer OfLane(const Buffer& buffer) {
    const auto known = lanes_.find(buffer);
    if (known != lanes_.end()) return known->second;
    const std::optional<int64_t> elements = AsInt(buffer->shape[0]);
    const int64_t lanes = LanesOf(buffer->scope, gpu_);
    if (!elements || *elements % lanes != 0) {
      Refuse(absl::StrCat("fragment ", buffer->name, " does not consist of whole tiles"));
    }
    BufferNode::Fields fields = buffer->fields();
    fields.shape = {Expr(elements.value_or(lanes) / lanes)};
    fields.scope = Scope::Parse("local");
    return lanes_.emplace(buffer, Buffer(fields)).first->second;
  }

  const std::unordered_set<const VarNode*> fragments_;
  const std::unordered_map<const VarNode*, int64_t> accumulators_;
  const GpuTarget& gpu_;
  Expr register_;                                                     // of the lane, in a loop over registers
  std::unordered_map<const VarNode*, int64_t> columns_;               // of fragments, by data pointers
  std::map<std::pair<std::string_view, int64_t>, TileLayout> tiles_;  // of families and columns
  std::unordered_map<Buffer, Buffer, IdentityHash, IdentityEqual> lanes_;
};

}  // namespace

absl::StatusOr<Function> SelectInstructions(const Function& function, const GpuTarget& gpu) {
  Selector selector(FindFragments(function->body), FindAccumulators(function->body), gpu);
  Stmt body = selector.Mutate(function->body);
  if (!selector.status.ok()) return selector.status;
  return function.WithBody(std::move(body), function->next_id);
}

}  // namespace tilewright
