#include "graph/fusion/inline_chains.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "autoschedule/program/value_growth.h"
#include "graph/fusion/block_mutator.h"
#include "graph/fusion/program_form.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "ir/substitute.h"

namespace tilewright::graph {
namespace {

// Whether the indices are the iterators of the block, all of them in their order.
bool AreIterators(const std::vector<Expr>& indices, const std::vector<IterVar>& iters) {
  return std::ranges::equal(indices, iters,
                            [](const Expr& index, const IterVar& iter) { return index.same_as(iter.var); });
}

// Extents of any integer types.
bool AreEqual(const Expr& a, const Expr& b) {
  const DataType type = DataType::Int(64);
  return tilewright::StructuralEqual(CastTo(type, a), CastTo(type, b));
}

bool IsPure(const Expr& value) {
  bool pure = true;
  PreOrder(value, [&](const Expr& e) {
    const auto* call = dyn_cast<tilewright::CallNode>(e);
    pure &= call == nullptr || EffectOf(call->op) == CallEffect::kPure;
    return pure;
  });
  return pure;
}

// A nest that stores one value in each iteration: serial loops that are the iterators of a block.
struct Elementwise {
  const BlockNode* block;
  const StoreNode* store;
};

std::optional<Elementwise> AsElementwise(const Stmt& nest) {
  std::vector<const ForNode*> loops;
  const Stmt* inner = &nest;
  while (const auto* loop = dyn_cast<ForNode>(*inner)) {
    if (loop->kind != ForKind::kSerial || !loop->annotations.empty() || !IsInt(loop->min, 0)) return std::nullopt;
    loops.push_back(loop);
    inner = &loop->body;
  }
  const auto* realize = dyn_cast<BlockRealizeNode>(*inner);
  if (realize == nullptr || realize->bindings.size() != loops.size()) return std::nullopt;
  const BlockNode& block = *realize->block;
  const auto* store = dyn_cast<StoreNode>(block.body);
  if (store == nullptr || store->predicate || block.init || !block.annotations.empty()) return std::nullopt;
  for (size_t i = 0; i < loops.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    if (iter.kind != IterKind::kSpatial || !IsInt(iter.domain.min, 0) || !realize->bindings[i].same_as(loops[i]->var) ||
        !AreEqual(iter.domain.extent, loops[i]->extent)) {
      return std::nullopt;
    }
  }
  return Elementwise{&block, store};
}

// Whether it stores each element of its buffer, at its iterators.
bool StoresAll(const Elementwise& nest) {
  return AreIterators(nest.store->indices, nest.block->iter_vars) &&
         std::ranges::equal(
             nest.block->iter_vars, nest.store->buffer->shape,
             [](const IterVar& iter, const Expr& extent) { return AreEqual(iter.domain.extent, extent); });
}

// Puts a producer's value in the place of loads of its buffer at the iterators of the block.
class ValueReplacer : public BlockMutator {
 public:
  explicit ValueReplacer(const Elementwise& producer) : producer_(producer) {}
  using BlockMutator::Mutate;

 protected:
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    if (!op->buffer.same_as(producer_.store->buffer)) return BlockMutator::MutateLoad(op, self);
    VarMap values;
    for (size_t i = 0; i < op->indices.size(); ++i) {
      const tilewright::Var& var = producer_.block->iter_vars[i].var;
      values[var] = CastTo(var.dtype(), op->indices[i]);
    }
    return Substitute(producer_.store->value, values);
  }

 private:
  const Elementwise& producer_;
};

class ChainInliner {
 public:
  explicit ChainInliner(const PrimFunc& program)
      : program_(program), root_(*cast<BlockRealizeNode>(program->body)->block) {
    const auto* seq = dyn_cast<tilewright::SeqNode>(root_.body);
    nests_ = seq == nullptr ? std::vector<Stmt>{root_.body} : seq->stmts;
    for (const Buffer& buffer : root_.alloc_buffers) uses_[buffer->data.get()].temporary = true;
    for (size_t i = 0; i < nests_.size(); ++i) CountUses(i);
  }

  PrimFunc Run() {
    bool changed = false;
    for (size_t i = 0; i < nests_.size(); ++i) changed |= InlineInto(i);
    if (!changed) return program_;
    BlockNode::Fields root = root_.fields();
    std::erase_if(root.alloc_buffers, [&](const Buffer& buffer) { return uses_.at(buffer->data.get()).gone; });
    std::erase_if(nests_, [](const Stmt& nest) { return !nest; });
    root.body = Sequence(std::move(nests_));
    tilewright::FunctionNode::Fields fields = program_->fields();
    fields.body = Stmt(new BlockRealizeNode({}, True(), Block(std::move(root))));
    return PrimFunc(std::move(fields));
  }

 private:
  struct Uses {
    bool temporary = false, gone = false;
    int stores = 0, loads = 0;
    size_t last_store = 0, reader = 0;  // nests
  };

  void CountUses(size_t nest) {
    PreOrder(nests_[nest], [&](const Stmt& stmt) {
      if (const auto* store = dyn_cast<StoreNode>(stmt)) {
        Uses& uses = uses_[store->buffer->data.get()];
        ++uses.stores;
        uses.last_store = nest;
      }
      return true;
    });
    ForEachLoad(nests_[nest], [&](const LoadNode& load) {
      Uses& uses = uses_[load.buffer->data.get()];
      ++uses.loads;
      uses.reader = nest;
    });
  }

  // Bodies of blocks are visited alone: signatures name again what these load.
  template <class Visit>
  static void ForEachLoad(const Stmt& nest, Visit visit) {
    PreOrder(nest, [&](const Stmt& stmt) {
      const auto* realize = dyn_cast<BlockRealizeNode>(stmt);
      if (realize == nullptr) return true;
      for (const Stmt& part : {realize->block->init, realize->block->body}) {
        if (!part) continue;
        PreOrderExprs(part, [&](const Expr& e) {
          if (const auto* load = dyn_cast<LoadNode>(e)) visit(*load);
          return true;
        });
      }
      return false;
    });
  }

  // Computes what a nest stores in the one that reads it, where that is as good.
  bool InlineInto(size_t nest) {
    const std::optional<Elementwise> producer = AsElementwise(nests_[nest]);
    if (!producer || !StoresAll(*producer)) return false;
    Uses& uses = uses_.at(producer->store->buffer->data.get());
    if (!uses.temporary || uses.stores != 1 || uses.loads != 1 || uses.reader <= nest) return false;
    Stmt& reader = nests_[uses.reader];
    const std::optional<Elementwise> consumer = AsElementwise(reader);
    if (!consumer || !ReadsSameElement(*producer, *consumer) || !IsPure(producer->store->value) ||
        GrowsTooLong(*producer->block, *consumer->block)) {
      return false;
    }
    bool overwritten = false;
    ForEachLoad(nests_[nest], [&](const LoadNode& load) {
      const Uses& operand = uses_.at(load.buffer->data.get());
      overwritten |= operand.stores > 0 && operand.last_store >= nest;
    });
    if (overwritten) return false;
    ForEachLoad(nests_[nest], [&](const LoadNode& load) { uses_.at(load.buffer->data.get()).reader = uses.reader; });
    reader = ValueReplacer(*producer).Mutate(reader);
    nests_[nest] = Stmt();
    uses.gone = true;
    return true;
  }

  static bool ReadsSameElement(const Elementwise& producer, const Elementwise& consumer) {
    const auto same = [](const IterVar& a, const IterVar& b) { return AreEqual(a.domain.extent, b.domain.extent); };
    if (!std::ranges::equal(producer.block->iter_vars, consumer.block->iter_vars, same)) return false;
    bool reads = false;
    PreOrder(consumer.store->value, [&](const Expr& e) {
      const auto* load = dyn_cast<LoadNode>(e);
      reads |= load != nullptr && load->buffer.same_as(producer.store->buffer) &&
               AreIterators(load->indices, consumer.block->iter_vars);
      return !reads;
    });
    return reads;
  }

  const PrimFunc& program_;
  const BlockNode& root_;
  std::vector<Stmt> nests_;
  std::unordered_map<const tilewright::VarNode*, Uses> uses_;  // by memory
};

}  // namespace

PrimFunc InlineChains(const PrimFunc& program) { return IsRegular(program) ? ChainInliner(program).Run() : program; }

}  // namespace tilewright::graph
