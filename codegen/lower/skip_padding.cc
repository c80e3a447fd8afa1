#include "codegen/lower/skip_padding.h"

#include <set>
#include <utility>

#include "ir/functor.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

const Expr& WithoutBroadcast(const Expr& e) {
  const auto* broadcast = dyn_cast<BroadcastNode>(e);
  return broadcast != nullptr ? broadcast->value : e;
}

bool IsZero(const Expr& e) {
  const auto* number = dyn_cast<FloatImmNode>(e);
  return number != nullptr ? number->value == 0 : IsInt(e, 0);
}

// Elements of register buffers that hold a zero at some place of straight-line code.
class Zeros {
 public:
  void See(const StoreNode* store) {
    const std::optional<int64_t> index = AsInt(store->indices[0]);
    if (store->buffer->scope.kind() != MemoryKind::kRegister) return;
    if (!index || store->predicate) {
      // Some element, perhaps several: none of the buffer's is known any more.
      const VarNode* data = store->buffer->data.get();
      elements_.erase(elements_.lower_bound({data, INT64_MIN}), elements_.upper_bound({data, INT64_MAX}));
    } else if (IsZero(store->value)) {
      elements_.insert({store->buffer->data.get(), *index});
    } else {
      elements_.erase({store->buffer->data.get(), *index});
    }
  }
  bool Holds(const Expr& factor) const {
    const auto* load = dyn_cast<LoadNode>(WithoutBroadcast(factor));
    const std::optional<int64_t> index = load != nullptr ? AsInt(WithoutBroadcast(load->indices[0])) : std::nullopt;
    return index && elements_.contains({load->buffer->data.get(), *index});
  }
  void Clear() { elements_.clear(); }

 private:
  std::set<std::pair<const VarNode*, int64_t>> elements_;
};

// C[i] = C[i] + x * y where x or y is zero.
bool AddsNothing(const StoreNode* store, const Zeros& zeros) {
  const auto* sum = dyn_cast<BinaryNode>(store->value);
  if (sum == nullptr || sum->op != BinaryOp::kAdd) return false;
  const auto* old = dyn_cast<LoadNode>(sum->a);
  const auto* product = dyn_cast<BinaryNode>(sum->b);
  if (old == nullptr || product == nullptr || product->op != BinaryOp::kMul) return false;
  if (!old->buffer.same_as(store->buffer) || !StructuralEqual(old->indices[0], store->indices[0])) return false;
  return zeros.Holds(product->a) || zeros.Holds(product->b);
}

class Skipper : public Mutator {
 public:
  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override { return e; }

 protected:
  Stmt MutateSeq(const SeqNode* op, const Stmt& self) override {
    Zeros zeros;
    std::vector<Stmt> kept;
    bool changed = false;
    for (const Stmt& s : op->stmts) {
      const auto* store = dyn_cast<StoreNode>(s);
      if (store == nullptr) {
        zeros.Clear();
        kept.push_back(Mutate(s));
        changed |= !kept.back().same_as(s);
      } else if (AddsNothing(store, zeros)) {
        changed = true;
      } else {
        zeros.See(store);
        kept.push_back(s);
      }
    }
    return changed ? Sequence(std::move(kept)) : self;
  }
};

}  // namespace

Function SkipPadding(const Function& function) {
  return function.WithBody(Skipper().Mutate(function->body), function->next_id);
}

}  // namespace tilewright
