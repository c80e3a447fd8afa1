#include "ir/ops/structured.h"

#include <algorithm>

#include "ir/functor.h"
#include "ir/structural.h"
#include "ir/substitute.h"

namespace tilewright::ops {
namespace {

bool MentionsAny(const Expr& e, const std::vector<Var>& variables) {
  bool found = false;
  PreOrder(e, [&](const Expr& part) {
    const auto* var = dyn_cast<VarNode>(part);
    for (const Var& v : variables) found |= var == v.get();
    // What is read from memory may depend on anything.
    found |= isa<LoadNode>(part);
    return !found;
  });
  return found;
}

// Replaces loads by the elements of operands, which it collects.
class Elements : public Mutator {
 public:
  Elements(StructuredOp* op, const std::vector<Var>& iterators) : op_(op), iterators_(iterators) {}

  bool good() const { return good_; }

 protected:
  Expr MutateLoad(const LoadNode* load, const Expr& self) override {
    if (load->predicate) good_ = false;
    for (const Expr& index : load->indices) good_ &= IsAffine(index, iterators_);
    if (!good_) return self;
    for (StructuredOp::Output& output : op_->outputs) {
      if (!output.buffer.same_as(load->buffer)) continue;
      // Another element of an output makes the order of iterations count.
      good_ &= StructuralEqual(output.at, load->indices);
      return output.element;
    }
    for (const StructuredOp::Operand& input : op_->inputs) {
      if (input.buffer.same_as(load->buffer) && StructuralEqual(input.at, load->indices)) return input.element;
    }
    op_->inputs.push_back({load->buffer, load->indices, Var(load->buffer->name + "_element", load->buffer->dtype)});
    return op_->inputs.back().element;
  }

 private:
  StructuredOp* op_;
  const std::vector<Var>& iterators_;
  bool good_ = true;
};

// The stores of a statement that is nothing else.
bool CollectStores(const Stmt& stmt, std::vector<const StoreNode*>* stores) {
  if (const auto* store = dyn_cast<StoreNode>(stmt)) {
    stores->push_back(store);
    return !store->predicate;
  }
  const auto* seq = dyn_cast<SeqNode>(stmt);
  if (seq == nullptr) return false;
  return std::all_of(seq->stmts.begin(), seq->stmts.end(), [&](const Stmt& s) { return CollectStores(s, stores); });
}

}  // namespace

bool StructuredOp::is_reduction() const {
  return std::any_of(iterators.begin(), iterators.end(),
                     [](const Iterator& iterator) { return iterator.kind == IterKind::kReduce; });
}

bool IsAffine(const Expr& e, const std::vector<Var>& variables) {
  if (!MentionsAny(e, variables) || isa<VarNode>(e)) return true;
  if (const auto* op = dyn_cast<CastNode>(e)) return op->dtype().is_index() && IsAffine(op->value, variables);
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr) return false;
  switch (op->op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
      return IsAffine(op->a, variables) && IsAffine(op->b, variables);
    case BinaryOp::kMul:
      return (IsAffine(op->a, variables) && !MentionsAny(op->b, variables)) ||
             (IsAffine(op->b, variables) && !MentionsAny(op->a, variables));
    default:
      return false;
  }
}

void AddStructured(FunctionBuilder& f, const StructuredOp& op) {
  std::vector<Expr> extents;
  for (const StructuredOp::Iterator& iterator : op.iterators) extents.push_back(iterator.extent);
  f.Grid(extents, [&](const std::vector<Var>& loops) {
    f.Block(op.name, [&](BlockBuilder& block) {
      VarMap values;
      for (size_t i = 0; i < op.iterators.size(); ++i) {
        const StructuredOp::Iterator& iterator = op.iterators[i];
        const Range domain{Const(iterator.extent.dtype(), 0), iterator.extent};
        values[iterator.var] = block.Iterator(iterator.kind, domain, loops[i], iterator.var.name());
      }
      for (const StructuredOp::Operand& input : op.inputs) {
        values[input.element] = input.buffer.Load(Substitute(input.at, values));
      }
      if (op.is_reduction()) {
        block.Init([&] {
          for (const StructuredOp::Output& out : op.outputs) f.Store(out.buffer, out.init, Substitute(out.at, values));
        });
      }
      for (const StructuredOp::Output& output : op.outputs) {
        const std::vector<Expr> at = Substitute(output.at, values);
        values[output.element] = output.buffer.Load(at);
        f.Store(output.buffer, Substitute(output.value, values), at);
      }
    });
  });
}

std::optional<StructuredOp> MatchStructured(const BlockNode& block) {
  StructuredOp op{.name = block.name};
  std::vector<Var> variables;
  for (const IterVar& iter : block.iter_vars) {
    if (!IsInt(iter.domain.min, 0)) return std::nullopt;
    if (iter.kind != IterKind::kSpatial && iter.kind != IterKind::kReduce) return std::nullopt;
    op.iterators.push_back({iter.var, iter.domain.extent, iter.kind});
    variables.push_back(iter.var);
  }
  if (!block.match_buffers.empty() || !block.alloc_buffers.empty()) return std::nullopt;
  std::vector<const StoreNode*> stores, inits;
  if (!CollectStores(block.body, &stores)) return std::nullopt;
  if (block.init && !CollectStores(block.init, &inits)) return std::nullopt;
  if (op.is_reduction() ? inits.size() != stores.size() : !inits.empty()) return std::nullopt;
  for (const StoreNode* store : stores) {
    for (const StructuredOp::Output& other : op.outputs) {
      if (other.buffer.same_as(store->buffer)) return std::nullopt;
    }
    for (const Expr& index : store->indices) {
      if (!IsAffine(index, variables)) return std::nullopt;
    }
    StructuredOp::Output output;
    output.buffer = store->buffer;
    output.at = store->indices;
    output.element = Var(store->buffer->name + "_element", store->buffer->dtype);
    for (const StoreNode* init : inits) {
      if (init->buffer.same_as(store->buffer) && StructuralEqual(init->indices, store->indices))
        output.init = init->value;
    }
    if (op.is_reduction() && !output.init) return std::nullopt;
    op.outputs.push_back(std::move(output));
  }
  Elements elements(&op, variables);
  for (size_t i = 0; i < stores.size(); ++i) op.outputs[i].value = elements.Mutate(stores[i]->value);
  if (!elements.good()) return std::nullopt;
  return op;
}

}  // namespace tilewright::ops
