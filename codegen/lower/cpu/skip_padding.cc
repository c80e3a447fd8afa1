#include "codegen/lower/cpu/skip_padding.h"

#include <algorithm>
#include <set>
#include <utility>

#include "codegen/lower/cpu/sum_terms.h"
#include "ir/analysis.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

// The elements that an access with constant indices touches: [first, first + count). Nothing when they are not known
// or not adjacent.
struct Elements {
  int64_t first, count;
};
std::optional<Elements> ElementsAt(const Expr& index) {
  const auto* ramp = dyn_cast<RampNode>(index);
  if (ramp != nullptr && !IsInt(ramp->stride, 1)) return std::nullopt;
  const std::optional<int64_t> first = AsInt(ramp != nullptr ? ramp->base : index);
  if (!first) return std::nullopt;
  return Elements{*first, index.dtype().lanes()};
}

// Elements of register buffers that hold a zero at some place of straight-line code.
class Zeros {
 public:
  void See(const StoreNode* store) {
    if (store->buffer->scope.kind() != MemoryKind::kRegister) return;
    const VarNode* data = store->buffer->data.get();
    const std::optional<Elements> written = ElementsAt(store->indices[0]);
    if (!written || store->predicate) {
      // An unknown element changes, so no zero of the buffer is known any more.
      elements_.erase(elements_.lower_bound({data, INT64_MIN}), elements_.upper_bound({data, INT64_MAX}));
      return;
    }
    for (int64_t i = written->first; i < written->first + written->count; ++i) {
      if (IsZero(store->value)) {
        elements_.insert({data, i});
      } else {
        elements_.erase({data, i});
      }
    }
  }
  bool Holds(const Expr& factor) const {
    if (const auto* shuffle = dyn_cast<ShuffleNode>(factor)) {
      return std::ranges::all_of(shuffle->vectors, [&](const Expr& vector) { return Holds(vector); });
    }
    const auto* load = dyn_cast<LoadNode>(factor);
    if (load == nullptr) return false;
    const std::optional<Elements> read = ElementsAt(WithoutBroadcast(load->indices[0]));
    if (!read) return false;
    for (int64_t i = read->first; i < read->first + read->count; ++i) {
      if (!elements_.contains({load->buffer->data.get(), i})) return false;
    }
    return true;
  }
  void Clear() { elements_.clear(); }

 private:
  std::set<std::pair<const VarNode*, int64_t>> elements_;
};

// Whether one of the factors is zero.
bool AddsNothing(const StoreNode& store, const Zeros& zeros) {
  const std::optional<Term> term = TermOf(store);
  return term && (zeros.Holds(term->a) || zeros.Holds(term->b));
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
      } else if (AddsNothing(*store, zeros)) {
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
