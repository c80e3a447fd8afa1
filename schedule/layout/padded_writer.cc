#include "schedule/layout/padded_writer.h"

#include <algorithm>

#include "ir/mentions.h"
#include "ir/substitute.h"
#include "schedule/layout/padding_block.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/own_loops.h"
#include "schedule/program/simplify_block.h"

namespace tilewright {
namespace {

// All blocks of a function that write a buffer by a store of their own.
class WriterCollector : public VisitorOfMentions<Visitor> {
 public:
  explicit WriterCollector(const Buffer& buffer) : VisitorOfMentions({buffer->data.get()}), buffer_(buffer) {}
  std::vector<uint32_t> writers;

 protected:
  void VisitBlock(const BlockNode* op) override {
    const uint32_t around = block_;
    block_ = op->id;
    Visitor::VisitBlock(op);
    block_ = around;
  }
  void VisitStore(const StoreNode* op) override {
    if (op->buffer.same_as(buffer_)) {
      if (std::find(writers.begin(), writers.end(), block_) == writers.end()) writers.push_back(block_);
    }
    Visitor::VisitStore(op);
  }

 private:
  const Buffer& buffer_;
  uint32_t block_ = 0;
};

// The outermost loop of threads on the path, or null.
const ForNode* ThreadsAround(const Path& path) {
  for (const Stmt& place : path) {
    const auto* loop = dyn_cast<ForNode>(place);
    if (loop != nullptr && loop->kind == ForKind::kThreadBound) return loop;
  }
  return nullptr;
}

class PaddedWriter {
 public:
  PaddedWriter(const char* primitive, const Function& function, const LayoutChange& change,
               const arith::PaddedInverse& inverse, const IndexMap& pad_value)
      : primitive_(primitive), function_(function), change_(change), inverse_(inverse), pad_value_(pad_value) {}

  Outcome<Function> Rewrite() {
    WriterCollector collector(change_.from);
    collector.Visit(function_->body);
    if (collector.writers.empty()) return AssumePadding(function_, change_, inverse_, pad_value_);
    const Path path = FindPath(function_, collector.writers[0]);
    realize_ = cast<BlockRealizeNode>(path.back());
    if (collector.writers.size() > 1 || WhyNotInOwnLoops(primitive_, path) || !FindIterators()) {
      for (uint32_t writer : collector.writers) {
        if (const ForNode* threads = ThreadsAround(FindPath(function_, writer))) {
          return Refusal{primitive_,
                         "{block0} writes {text0} in threads of {loop1}; a loop around them fills no padding",
                         {writer, threads->id},
                         {},
                         {change_.from->name}};
        }
      }
      if (const BlockNode* block = BlockWithPadding(function_, change_, collector.writers)) {
        return Refusal{primitive_,
                       "{block0} declares several elements of {text0} at once, with padding that is not filled yet",
                       {block->id},
                       {},
                       {change_.from->name}};
      }
      return FillPaddingBehind(function_, change_, inverse_, pad_value_, collector.writers);
    }
    Stmt nest = MakeNest(LoopsAbove(path));
    return ReplaceIn(function_, OutermostOwnLoop(path), nest, next_id_);
  }

 private:
  // Which iterator indexes each dimension, when body and init store the whole buffer at distinct spatial iterators.
  bool FindIterators() {
    const BlockNode& block = *realize_->block;
    const auto* store = dyn_cast<StoreNode>(block.body);
    if (store == nullptr || !store->buffer.same_as(change_.from)) return false;
    for (size_t d = 0; d < store->indices.size(); ++d) {
      const auto found = std::find_if(block.iter_vars.begin(), block.iter_vars.end(),
                                      [&](const IterVar& iter) { return iter.var.get() == store->indices[d].get(); });
      if (found == block.iter_vars.end() || found->kind != IterKind::kSpatial) return false;
      const size_t position = static_cast<size_t>(found - block.iter_vars.begin());
      if (std::find(iterators_.begin(), iterators_.end(), position) != iterators_.end()) return false;
      if (!IsInt(found->domain.min, 0) || !analyzer_.CanProveEqual(found->domain.extent, change_.from->shape[d])) {
        return false;
      }
      iterators_.push_back(position);
    }
    if (!ReadsOnlyItsOwnElement(*store)) return false;
    if (!block.init) return true;
    const auto* init = dyn_cast<StoreNode>(block.init);
    if (init == nullptr || !init->buffer.same_as(change_.from)) return false;
    for (size_t d = 0; d < init->indices.size(); ++d) {
      if (!init->indices[d].same_as(store->indices[d])) return false;
    }
    return true;
  }

  // What the store's value loads of the buffer is the element that is stored.
  bool ReadsOnlyItsOwnElement(const StoreNode& store) const {
    bool own = true;
    PreOrder(store.value, [&](const Expr& e) {
      const auto* load = dyn_cast<LoadNode>(e);
      if (load == nullptr || !load->buffer.same_as(change_.from)) return true;
      for (size_t d = 0; d < load->indices.size(); ++d) own &= load->indices[d].same_as(store.indices[d]);
      return true;
    });
    return own;
  }

  Stmt MakeNest(const std::vector<const ForNode*>& loops) {
    next_id_ = function_->next_id;
    const BlockNode& block = *realize_->block;
    BlockNode::Fields fields = block.fields();
    PaddedAxes axes = AxesOf(change_, inverse_, &next_id_);
    std::vector<ForNode::Fields> nest = std::move(axes.loops);
    std::vector<Expr> bindings = std::move(axes.loop_vars);
    const std::vector<Expr> indices = std::move(axes.iterator_vars);
    fields.iter_vars = std::move(axes.iterators);
    BindIterators(fields.iter_vars, &analyzer_);
    const std::vector<Expr> originals = inverse_.inverse.Apply(indices);
    VarMap values;
    for (size_t d = 0; d < iterators_.size(); ++d) {
      values[block.iter_vars[iterators_[d]].var] = analyzer_.Simplify(originals[d]);
    }
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      if (std::find(iterators_.begin(), iterators_.end(), i) != iterators_.end()) continue;
      fields.iter_vars.push_back(block.iter_vars[i]);
      bindings.push_back(realize_->bindings[i]);
    }
    for (const ForNode* loop : loops) {
      const bool replaced = std::any_of(iterators_.begin(), iterators_.end(),
                                        [&](size_t i) { return realize_->bindings[i].get() == loop->var.get(); });
      if (!replaced) nest.push_back(loop->fields());
    }
    FillFields(&fields, values, indices);
    return Nest(std::move(nest), Realize(std::move(bindings), True(), Block(std::move(fields))));
  }

  void FillFields(BlockNode::Fields* fields, const VarMap& values, const std::vector<Expr>& indices) {
    const IndexMap padding(inverse_.inverse->inputs, {inverse_.padding});
    const Expr is_padding = analyzer_.Simplify(padding.Apply(indices)[0]);
    const Expr pad = CastTo(change_.from->dtype, pad_value_.Apply(indices)[0]);
    auto with_padding = [&](const Stmt& s) -> Stmt {
      // A reduction reads its own output at the new place.
      const Expr value = RewriteExpr(cast<StoreNode>(s)->value, [&](const Expr& part) -> Expr {
        const auto* load = dyn_cast<LoadNode>(part);
        return load != nullptr && load->buffer.same_as(change_.from) ? change_.to.Load(indices) : part;
      });
      return Store(change_.to, IfThenElse(is_padding, pad, SimplifyIndices(Substitute(value, values), &analyzer_)),
                   indices);
    };
    fields->body = with_padding(fields->body);
    if (fields->init) fields->init = with_padding(fields->init);
    for (BufferRegion& read : fields->reads) {
      read = SimplifyIndices(Substitute(read, values), &analyzer_);
    }
    fields->writes = {BufferRegion::Point(change_.to, indices)};
  }

  const char* primitive_;
  const Function& function_;
  const LayoutChange& change_;
  const arith::PaddedInverse& inverse_;
  const IndexMap& pad_value_;
  const BlockRealizeNode* realize_ = nullptr;
  std::vector<size_t> iterators_;  // per dimension of the buffer, the position of the iterator that indexes it
  arith::Analyzer analyzer_;
  uint32_t next_id_ = 0;
};

}  // namespace

Outcome<Function> WriteWithPadding(const char* primitive, const Function& function, const LayoutChange& change,
                                   const arith::PaddedInverse& inverse, const IndexMap& pad_value) {
  return PaddedWriter(primitive, function, change, inverse, pad_value).Rewrite();
}

}  // namespace tilewright
