#include "schedule/layout/padding_block.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "schedule/program/buffer_uses.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/simplify_block.h"

namespace tilewright {
namespace {

// The condition of the padding, for loops or iterators over the new shape.
Expr IsPadding(const arith::PaddedInverse& inverse, const PaddedAxes& axes, const std::vector<Expr>& indices) {
  arith::Analyzer analyzer;
  for (const ForNode::Fields& loop : axes.loops)
    analyzer.Bind(loop.var, Range{Const(loop.var.dtype(), 0), loop.extent});
  BindIterators(axes.iterators, &analyzer);
  return analyzer.Simplify(IndexMap(inverse.inverse->inputs, {inverse.padding}).Apply(indices)[0]);
}

// The statement directly in the body of block `scope` (or the function's root block) on the path.
const StmtNode* ChildOnPath(const Path& path, const BlockNode* scope) {
  for (size_t i = path.size() - 1; i > 0; --i) {
    const auto* above = dyn_cast<BlockRealizeNode>(path[i - 1]);
    if (above != nullptr && (i == 1 || above->block.get() == scope)) return path[i].get();
  }
  return path.back().get();
}

// The statement that padding is filled behind.
const StmtNode* LastWriting(const Function& function, const LayoutChange& change,
                            const std::vector<uint32_t>& writers) {
  return ChildOnPath(FindPath(function, writers.back()), FindBufferUses(function, change.from).allocated_by);
}

// Blocks up to the end of a statement that declare several elements of a buffer.
class RegionFinder : public Visitor {
 public:
  RegionFinder(const Buffer& buffer, const StmtNode* last) : buffer_(buffer), last_(last) {}
  using Visitor::Visit;
  void Visit(const Stmt& s) override {
    if (behind_) return;
    Visitor::Visit(s);
    behind_ = behind_ || s.get() == last_;
  }
  const BlockNode* found = nullptr;

 protected:
  void VisitBlock(const BlockNode* op) override {
    Visitor::VisitBlock(op);
    const auto is_large = [&](const BufferRegion& region) {
      return region.buffer.same_as(buffer_) &&
             !std::ranges::all_of(region.region, [](const Range& range) { return IsInt(range.extent, 1); });
    };
    // A block that holds the statement is left after it.
    if (behind_ || found != nullptr) return;
    if (std::ranges::any_of(op->reads, is_large) || std::ranges::any_of(op->writes, is_large)) found = op;
  }

 private:
  const Buffer& buffer_;
  const StmtNode* last_;
  bool behind_ = false;
};

}  // namespace

const BlockNode* BlockWithPadding(const Function& function, const LayoutChange& change,
                                  const std::vector<uint32_t>& writers) {
  RegionFinder finder(change.from, LastWriting(function, change, writers));
  finder.Visit(function->body);
  return finder.found;
}

PaddedAxes AxesOf(const LayoutChange& change, const arith::PaddedInverse& inverse, uint32_t* next_id) {
  PaddedAxes axes;
  for (size_t k = 0; k < inverse.shape.size(); ++k) {
    const auto* kept = dyn_cast<VarNode>(change.map->outputs[k]);
    const std::string name = kept != nullptr ? kept->name : "axis" + std::to_string(k);
    const DataType type = inverse.shape[k].dtype();
    const Var loop(name, type), iterator("v_" + name, type);
    axes.loops.push_back({.id = (*next_id)++, .var = loop, .extent = inverse.shape[k]});
    axes.iterators.push_back({iterator, {Const(type, 0), inverse.shape[k]}, IterKind::kSpatial});
    axes.loop_vars.push_back(loop);
    axes.iterator_vars.push_back(iterator);
  }
  return axes;
}

Function FillPaddingBehind(const Function& function, const LayoutChange& change, const arith::PaddedInverse& inverse,
                           const IndexMap& pad_value, const std::vector<uint32_t>& writers) {
  uint32_t next_id = function->next_id;
  const PaddedAxes axes = AxesOf(change, inverse, &next_id);
  BlockNode::Fields block;
  block.id = next_id++;
  block.name = "buffer_" + change.from->name + "_padding";
  block.iter_vars = axes.iterators;
  block.writes = {BufferRegion::Point(change.to, axes.iterator_vars)};
  block.body = Store(change.to, CastTo(change.from->dtype, pad_value.Apply(axes.iterator_vars)[0]), axes.iterator_vars);
  const Stmt filling =
      Nest(axes.loops, Realize(axes.loop_vars, IsPadding(inverse, axes, axes.loop_vars), Block(std::move(block))));
  const StmtNode* last =
      ChildOnPath(FindPath(function, writers.back()), FindBufferUses(function, change.from).allocated_by);
  return ReplaceIn(function, last, Sequence({Stmt(last), filling}), next_id);
}

Function AssumePadding(const Function& function, const LayoutChange& change, const arith::PaddedInverse& inverse,
                       const IndexMap& pad_value) {
  uint32_t next_id = function->next_id;
  const PaddedAxes axes = AxesOf(change, inverse, &next_id);
  const Expr load = change.to.Load(axes.iterator_vars);
  const Expr pad = CastTo(change.from->dtype, pad_value.Apply(axes.iterator_vars)[0]);
  BlockNode::Fields block;
  block.id = next_id++;
  block.name = "buffer_" + change.from->name + "_assumptions";
  block.iter_vars = axes.iterators;
  block.reads = {BufferRegion::Point(change.to, axes.iterator_vars)};
  block.body =
      Evaluate(Call(DataType::Bool(), "assume", {Or(Not(IsPadding(inverse, axes, axes.iterator_vars)), load == pad)}));
  const Stmt assumption = Nest(axes.loops, Realize(axes.loop_vars, True(), Block(std::move(block))));
  const Stmt& body = cast<BlockRealizeNode>(function->body)->block->body;
  return ReplaceIn(function, body.get(), Sequence({assumption, body}), next_id);
}

}  // namespace tilewright
