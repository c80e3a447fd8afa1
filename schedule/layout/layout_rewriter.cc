#include "schedule/layout/layout_rewriter.h"

#include "ir/mentions.h"
#include "ir/regions.h"
#include "ir/substitute.h"
#include "schedule/program/mutate_loop.h"

namespace tilewright {
namespace {

// The mapped indices of `region`'s elements, with an offset variable for each dimension that has several.
struct MappedRegion {
  std::vector<Var> offsets;  // null where the extent is 1
  std::vector<Expr> indices;
};

// An iterator by itself stays, even where it has one value only; other indices are simplified.
Expr KeepIterator(const Expr& index, arith::Analyzer* analyzer) {
  const auto* op = dyn_cast<BinaryNode>(index);
  const Expr& plain = op != nullptr && op->op == BinaryOp::kFloorDiv && IsInt(op->b, 1) ? op->a : index;
  return isa<VarNode>(plain) ? plain : analyzer->Simplify(plain);
}

MappedRegion MapElements(const LayoutChange& change, const std::vector<Range>& region, arith::Analyzer* analyzer) {
  MappedRegion mapped;
  std::vector<Expr> elements;
  for (const Range& range : region) {
    mapped.offsets.push_back(IsInt(range.extent, 1) ? Var() : Var("f", range.min.dtype()));
    const Var& offset = mapped.offsets.back();
    if (offset) analyzer->Bind(offset, {Const(offset.dtype(), 0), range.extent});
    elements.push_back(offset ? range.min + offset : range.min);
  }
  for (const Expr& index : change.map.Apply(elements)) mapped.indices.push_back(KeepIterator(index, analyzer));
  return mapped;
}

class LayoutRewriter : public MutatorOfMentions {
 public:
  explicit LayoutRewriter(const LayoutChange& change) : MutatorOfMentions({change.from->data.get()}), change_(change) {}

  using Mutator::Mutate;
  Buffer MutateBuffer(const Buffer& buffer) override { return buffer.same_as(change_.from) ? change_.to : buffer; }
  uint32_t culprit() const { return culprit_; }

 protected:
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    if (!op->buffer.same_as(change_.from)) return Mutator::MutateLoad(op, self);
    return Expr(new LoadNode(change_.to, Mapped(MutateAll(op->indices)), Mutate(op->predicate)));
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    if (!op->buffer.same_as(change_.from)) return Mutator::MutateStore(op, self);
    return Store(change_.to, Mutate(op->value), Mapped(MutateAll(op->indices)), Mutate(op->predicate));
  }
  Stmt MutateFor(const ForNode* op, const Stmt& self) override { return MutateLoop(op, self, this, &analyzer_); }
  Block MutateBlock(const Block& block) override {
    arith::Analyzer::Scope inside(&analyzer_);
    for (const IterVar& iter : block->iter_vars) analyzer_.Bind(iter.var, iter.domain);
    if (block->match_buffers.empty() && !Mentions(block->reads, change_.from) &&
        !Mentions(block->writes, change_.from)) {
      return Mutator::MutateBlock(block);
    }
    BlockNode::Fields fields = block->fields();
    for (auto* regions : {&fields.reads, &fields.writes}) {
      for (BufferRegion& region : *regions) MapIfFrom(region);
    }
    for (MatchBuffer& match : fields.match_buffers) {
      if (!match.source.buffer.same_as(change_.from)) continue;
      if (!KeepsShape(match)) culprit_ = block->id;
      MapIfFrom(match.source);
    }
    return Mutator::MutateBlock(Block(std::move(fields)));
  }

 private:
  std::vector<Expr> Mapped(const std::vector<Expr>& indices) {
    std::vector<Expr> mapped;
    for (const Expr& index : change_.map.Apply(indices)) mapped.push_back(KeepIterator(index, &analyzer_));
    return mapped;
  }
  void MapIfFrom(BufferRegion& region) {
    if (!region.buffer.same_as(change_.from)) return;
    region = {change_.to, MapRegion(change_, region.region, &analyzer_)};
  }

  // Whether the part is, in the new layout too, a box with the matched buffer's shape in its last dimensions, whose
  // strides are left open or those of the new layout.
  bool KeepsShape(const MatchBuffer& match) {
    arith::Analyzer::Scope inside(&analyzer_);
    const MappedRegion mapped = MapElements(change_, match.source.region, &analyzer_);
    const size_t rank = match.buffer->ndim(), old_rank = mapped.offsets.size(), new_rank = mapped.indices.size();
    if (rank > old_rank || rank > new_rank) return false;
    VarMap at_start;
    for (const Var& offset : mapped.offsets) {
      if (offset) at_start[offset] = Const(offset.dtype(), 0);
    }
    for (size_t d = 0; d < new_rank; ++d) {
      Expr moved = analyzer_.Simplify(mapped.indices[d] - Substitute(mapped.indices[d], at_start));
      Expr expected = Const(moved.dtype(), 0);
      if (d + rank >= new_rank) {
        const Var& offset = mapped.offsets[d + old_rank - new_rank];
        if (offset) expected = offset;
      }
      if (!analyzer_.CanProveEqual(moved, expected)) return false;
    }
    for (size_t d = 0; d + rank < old_rank; ++d) {
      if (mapped.offsets[d]) return false;
    }
    return StridesFit(match);
  }
  bool StridesFit(const MatchBuffer& match) {
    const Buffer& to = change_.to;
    const size_t rank = match.buffer->ndim();
    Expr stride = Const(DataType::Int(32), 1);
    for (size_t d = rank; d-- > 0;) {
      const Expr& wanted = match.buffer->strides.empty() ? Expr() : match.buffer->strides[d];
      if (!wanted && rank > 1 && !analyzer_.CanProveEqual(match.buffer->shape[d], to->shape[to->ndim() - rank + d]) &&
          d > 0) {
        return false;
      }
      if (wanted && !isa<VarNode>(wanted) && !analyzer_.CanProveEqual(wanted, stride)) return false;
      stride = stride * to->shape[to->ndim() - rank + d];
    }
    return true;
  }

  const LayoutChange& change_;
  arith::Analyzer analyzer_;
  uint32_t culprit_ = 0;
};

}  // namespace

std::vector<Range> MapRegion(const LayoutChange& change, const std::vector<Range>& region, arith::Analyzer* analyzer) {
  arith::Analyzer::Scope inside(analyzer);
  const MappedRegion mapped = MapElements(change, region, analyzer);
  Domains domains;
  for (size_t d = 0; d < region.size(); ++d) {
    const Var& offset = mapped.offsets[d];
    if (offset) domains[offset] = {Const(offset.dtype(), 0), region[d].extent};
  }
  std::vector<Range> result;
  for (size_t d = 0; d < mapped.indices.size(); ++d) {
    const Expr& index = mapped.indices[d];
    std::optional<Range> range = RelaxRange({index, Const(index.dtype(), 1)}, domains);
    if (!range) range = BufferRegion::Full(change.to).region[d];
    result.push_back({KeepIterator(range->min, analyzer), analyzer->Simplify(range->extent)});
  }
  return result;
}

Outcome<Function> ChangeLayout(const char* primitive, const Function& function, const LayoutChange& change) {
  LayoutRewriter rewriter(change);
  FunctionNode::Fields result = function->fields();
  result.body = rewriter.Mutate(function->body);
  if (rewriter.culprit() != 0) {
    return Refusal{primitive,
                   "{block0} matches a part of {text0} that does not keep its shape in the new layout",
                   {rewriter.culprit()},
                   {},
                   {change.from->name}};
  }
  for (Param& param : result.params) {
    if (param.buffer.same_as(change.from)) param.buffer = change.to;
  }
  return Function(new FunctionNode(std::move(result)));  // all loops and blocks have their ids
}

}  // namespace tilewright
