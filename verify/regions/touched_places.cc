#include "verify/regions/touched_places.h"

#include <unordered_set>

#include "ir/analysis.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

using Memory = std::unordered_set<const VarNode*>;

// The pointers through which the block stores, blocks inside as they declare it.
Memory ChangedMemory(const BlockNode& block) {
  Memory changed;
  const auto add = [&](const Stmt& part) {
    if (const auto* store = dyn_cast<StoreNode>(part)) changed.insert(store->buffer->data.get());
    if (const auto* realize = dyn_cast<BlockRealizeNode>(part)) {
      for (const BufferRegion& write : realize->block->writes) changed.insert(write.buffer->data.get());
    }
    return true;
  };
  if (block.init) PreOrder(block.init, add);
  PreOrder(block.body, add);
  return changed;
}

class Finder : public Visitor {
 public:
  using Visitor::Visit;
  Finder(const BlockNode& block, const Buffer& buffer, size_t dimension, Touch touch, const Range& range,
         arith::Analyzer* analyzer)
      : buffer_(buffer),
        dimension_(dimension),
        touch_(touch),
        range_(range),
        analyzer_(*analyzer),
        changed_(ChangedMemory(block)) {
    Visit(block.init);
    Visit(block.body);
  }
  TouchedPlaces found;

 protected:
  void VisitLoad(const LoadNode* op) override {
    Visitor::VisitLoad(op);
    if (touch_ == Touch::kRead) Under(op->predicate, [&] { Add(BufferRegion::Point(op->buffer, op->indices)); });
  }
  void VisitStore(const StoreNode* op) override {
    Visitor::VisitStore(op);
    if (touch_ == Touch::kWrite) Under(op->predicate, [&] { Add(BufferRegion::Point(op->buffer, op->indices)); });
  }
  void VisitFor(const ForNode* op) override {
    Visit(op->min);
    Visit(op->extent);
    const arith::Analyzer::Scope scope(&analyzer_);
    if (IsFixed(op->min) && IsFixed(op->extent)) analyzer_.Bind(op->var, {op->min, op->extent});
    Visit(op->body);
  }
  void VisitIf(const IfNode* op) override {
    Visit(op->condition);
    Under(op->condition, [&] { Visit(op->then_case); });
    if (op->else_case) Under(Not(op->condition), [&] { Visit(op->else_case); });
  }
  void VisitSelect(const SelectNode* op) override { VisitChoice(op->condition, op->true_value, op->false_value); }
  void VisitCall(const CallNode* op) override {
    if (op->op != kIfThenElse) return Visitor::VisitCall(op);
    VisitChoice(op->args[0], op->args[1], op->args[2]);
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    VarMap bindings;
    for (size_t i = 0; i < op->bindings.size(); ++i) bindings[op->block->iter_vars[i].var] = op->bindings[i];
    Under(op->predicate, [&] {
      for (const BufferRegion& region : touch_ == Touch::kRead ? op->block->reads : op->block->writes) {
        Add(Substitute(region, bindings));
      }
    });
  }

 private:
  // Whether the value stays the same all over the block.
  bool IsFixed(const Expr& e) const {
    bool fixed = !arith::HasEffect(e);
    PreOrder(e, [&](const Expr& part) {
      const auto* load = dyn_cast<LoadNode>(part);
      fixed &= load == nullptr || !changed_.contains(load->buffer->data.get());
      return fixed;
    });
    return fixed;
  }
  void VisitChoice(const Expr& condition, const Expr& true_value, const Expr& false_value) {
    Visit(condition);
    Under(condition, [&] { Visit(true_value); });
    Under(Not(condition), [&] { Visit(false_value); });
  }
  template <class Visits>
  void Under(const Expr& condition, Visits visits) {
    const arith::Analyzer::Scope scope(&analyzer_);
    // Lanes have conditions of their own.
    if (condition && condition.dtype().is_scalar() && IsFixed(condition)) analyzer_.Assume(condition);
    visits();
  }
  void Add(const BufferRegion& region) {
    if (!region.buffer.same_as(buffer_)) return;
    const Range& place = region.region[dimension_];
    found.looked_up |= arith::ReadsMemory(place.min) || arith::ReadsMemory(place.extent);
    found.inside =
        found.inside && IsFixed(place.min) && IsFixed(place.extent) && analyzer_.CanProveInside(place, range_);
  }

  const Buffer& buffer_;
  const size_t dimension_;
  const Touch touch_;
  const Range& range_;
  arith::Analyzer& analyzer_;
  const Memory changed_;
};

}  // namespace

TouchedPlaces FindTouchedPlaces(const BlockNode& block, const Buffer& buffer, size_t dimension, Touch touch,
                                const Range& range, arith::Analyzer* analyzer) {
  return Finder(block, buffer, dimension, touch, range, analyzer).found;
}

}  // namespace tilewright
