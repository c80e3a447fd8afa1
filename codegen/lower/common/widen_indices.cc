#include "codegen/lower/common/widen_indices.h"

#include "ir/functor.h"

namespace tilewright {
namespace {

Expr Widened(const Expr& index) {
  const DataType type = index.dtype();
  if (!type.is_integer() || (type.is_int() && type.bits() >= 32)) return index;
  return CastTo(DataType::Int(type.bits() < 32 ? 32 : 64, type.lanes()), index);
}

class Widener : public Mutator {
 protected:
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    const Expr mutated = Mutator::MutateLoad(op, self);
    const auto* load = cast<LoadNode>(mutated);
    std::vector<Expr> indices = load->indices;
    return Widen(indices) ? load->buffer.Load(std::move(indices), load->predicate) : mutated;
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    const Stmt mutated = Mutator::MutateStore(op, self);
    const auto* store = cast<StoreNode>(mutated);
    std::vector<Expr> indices = store->indices;
    return Widen(indices) ? Store(store->buffer, store->value, std::move(indices), store->predicate) : mutated;
  }
  Block MutateBlock(const Block& block) override {
    BlockNode::Fields fields = Mutator::MutateBlock(block)->fields();
    for (auto* regions : {&fields.reads, &fields.writes}) {
      for (BufferRegion& region : *regions) {
        for (Range& range : region.region) range = {Widened(range.min), Widened(range.extent)};
      }
    }
    return Block(std::move(fields));
  }

 private:
  static bool Widen(std::vector<Expr>& indices) {
    bool changed = false;
    for (Expr& index : indices) {
      Expr widened = Widened(index);
      changed |= !widened.same_as(index);
      index = std::move(widened);
    }
    return changed;
  }
};

}  // namespace

Function WidenIndices(const Function& function) {
  return function.WithBody(Widener().Mutate(function->body), function->next_id);
}

}  // namespace tilewright
