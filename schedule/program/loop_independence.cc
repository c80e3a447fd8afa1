#include "schedule/program/loop_independence.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "ir/analysis.h"
#include "ir/arith/iter_map.h"
#include "ir/arith/linear.h"
#include "ir/arith/region.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/mentions.h"
#include "ir/structural.h"
#include "ir/substitute.h"
#include "schedule/program/conjuncts.h"
#include "schedule/program/loop_ranges.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/self_contained.h"
#include "verify/structure/instance_order.h"

namespace tilewright {
namespace {

// Whether anything outside of the loop at the path's end touches the buffer, or the caller of the function sees it.
class UseOutside : public VisitorOfMentions<Visitor> {
 public:
  UseOutside(const Path& loop_path, const Buffer& buffer)
      : VisitorOfMentions({buffer->data.get()}), loop_path_(loop_path), buffer_(buffer) {}
  using Visitor::Visit;
  bool found = false;

 protected:
  void VisitFor(const ForNode* op) override {
    if (op != loop_path_.back().get()) Visitor::VisitFor(op);
  }
  void VisitStore(const StoreNode* op) override {
    found |= op->buffer.same_as(buffer_);
    Visitor::VisitStore(op);
  }
  void VisitLoad(const LoadNode* op) override {
    found |= op->buffer.same_as(buffer_);
    Visitor::VisitLoad(op);
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    // The regions of blocks around the loop mention the buffer because of the loop; others declare what they touch.
    if (std::ranges::any_of(loop_path_, [&](const Stmt& around) { return around.get() == op; })) {
      Visitor::VisitBlockRealize(op);
    } else {
      found |= Mentions(op->block->reads, buffer_) || Mentions(op->block->writes, buffer_);
    }
  }

 private:
  const Path& loop_path_;
  const Buffer& buffer_;
};

bool IsPrivate(const Function& function, const Path& loop_path, const Buffer& buffer) {
  for (const Param& param : function->params) {
    if (param.buffer.same_as(buffer)) return false;
  }
  UseOutside outside(loop_path, buffer);
  outside.Visit(function->body);
  return !outside.found;
}

// Whether a block below the loop allocates the buffer.
bool IsAllocatedBelow(const ForNode& loop, const Buffer& buffer) {
  bool found = false;
  PreOrder(loop.body, [&](const Stmt& s) {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    found |= realize != nullptr &&
             std::ranges::any_of(realize->block->alloc_buffers, [&](const Buffer& b) { return b.same_as(buffer); });
    return !found;
  });
  return found;
}

std::optional<arith::IterMap> DetectAffine(const std::vector<Expr>& bindings, const std::vector<const ForNode*>& loops,
                                           const Expr& predicate) {
  arith::Analyzer analyzer;
  return arith::DetectIterMap(bindings, DomainOf(loops), predicate, arith::IterMapLevel::kSurjective, &analyzer);
}

// Conditions that hold wherever the predicate does, itself first: each takes fewer instances away.
std::vector<Expr> WeakerPredicates(const Expr& predicate) {
  std::vector<Expr> weaker = {predicate};
  if (IsTrue(predicate)) return weaker;
  if (const std::vector<Expr> parts = Conjuncts(predicate); parts.size() > 1) {
    weaker.insert(weaker.end(), parts.begin(), parts.end());
  }
  weaker.emplace_back();
  return weaker;
}

// The bindings as functions of the loops around the block, or of those from one of them inwards: what loops outside do
// (stages whose tiles overlap, say) does not matter then. A condition only takes instances away, so a part of it will
// do: f < 160 of a tile that is fused and split, without k_0 * 10 + f % 10 < 64 of the matrix that the tile leaves.
// False when there is no map for which `accept` holds.
template <class Accept>
bool AnyAffineMap(const BlockBelow& block, const std::vector<const ForNode*>& above, const Accept& accept) {
  const std::vector<Expr> predicates = WeakerPredicates(block.realize->predicate);
  for (size_t outer = 0; outer <= above.size(); ++outer) {
    std::vector<const ForNode*> loops(above.begin() + static_cast<ptrdiff_t>(outer), above.end());
    loops.insert(loops.end(), block.loops.begin(), block.loops.end());
    for (const Expr& predicate : predicates) {
      const std::optional<arith::IterMap> map = DetectAffine(block.realize->bindings, loops, predicate);
      if (map && accept(*map)) return true;
    }
  }
  return false;
}

std::optional<Refusal> WhyNotAffine(const char* primitive, const ForNode& loop, const BlockBelow& block,
                                    const std::vector<const ForNode*>& above, bool* injective = nullptr) {
  const auto accept = [&](const arith::IterMap& map) {
    if (injective != nullptr) *injective = map.injective;
    return true;
  };
  if (AnyAffineMap(block, above, accept)) return std::nullopt;
  return Refusal{primitive, "the bindings of {block1} are not affine", {loop.id, block.realize->block->id}};
}

// An instance must run in one iteration of the loop only: with `i // 2` as binding, two iterations of i run each. (One
// that writes what belongs to the iteration may run in several: a cache that each fills for itself.)
std::optional<Refusal> WhyInstancesRepeat(const char* primitive, const ForNode& loop, const BlockBelow& block,
                                          const std::vector<const ForNode*>& above) {
  if (AnyAffineMap(block, above, [](const arith::IterMap& map) { return map.injective; })) return std::nullopt;
  return Refusal{primitive,
                 "an instance of {block1} may run in several iterations of {loop0}",
                 {loop.id, block.realize->block->id}};
}

// Whether running an instance again, at any time, changes nothing: it writes what nothing below the loop reads, and
// computes it from what nothing there writes.
bool MayRunAgain(const BlockNode& block, const UsersBelow& users) {
  const bool spatial =
      std::ranges::all_of(block.iter_vars, [](const IterVar& iter) { return iter.kind == IterKind::kSpatial; });
  if (!spatial || block.init) return false;
  bool pure = true;
  PreOrderExprs(block.body, [&](const Expr& e) {
    const auto* call = dyn_cast<CallNode>(e);
    pure = pure && (call == nullptr || EffectOf(call->op) == CallEffect::kPure);
    return pure;
  });
  if (!pure) return false;
  // The block itself is one of the writers.
  return std::ranges::all_of(block.writes, [&](const BufferRegion& write) {
    return users.Readers(write.buffer).empty() && users.Writers(write.buffer).size() <= 1;
  });
}

// The binding without loops that do not change it: (i * 4 + j) // 4 with j in [0, 4) is i.
Expr InLoops(const Expr& binding, const BlockBelow& block, const std::vector<const ForNode*>& above) {
  if (isa<VarNode>(binding)) return binding;
  arith::Analyzer analyzer;
  BindLoops(analyzer, above);
  BindLoops(analyzer, block.loops);
  return analyzer.Simplify(binding);
}

// The instances of the block that run at once when the loop does, with what holds in each of them. `varying` are
// VarsAtOnce of the loop.
ComparedInstances ComparedAtOnce(const BlockBelow& block, const LoopVars& varying,
                                 const std::vector<const ForNode*>& above) {
  ComparedInstances compared;
  for (const Expr& binding : block.realize->bindings) {
    compared.fixed.push_back(!Varies(InLoops(binding, block, above), varying));
  }
  arith::Analyzer analyzer;
  BindLoops(analyzer, above);
  BindLoops(analyzer, block.loops);
  // A condition on loops around the block says nothing of the other instance: they differ from one to the next.
  if (const Expr predicate = PredicateOfIterators(*block.realize, &analyzer)) {
    for (const Expr& part : Conjuncts(predicate)) {
      if (Varies(part, varying)) continue;
      compared.condition = compared.condition ? And(compared.condition, part) : part;
    }
  }
  return compared;
}

// Whether the predicate lets one iteration of the loop alone run the block: a loop of one iteration that was split.
bool RunsInOneIteration(const BlockBelow& block, const ForNode& loop, const std::vector<const ForNode*>& above) {
  arith::Analyzer analyzer;
  for (const auto* loops : {&above, &block.loops}) {
    for (const ForNode* other : *loops) analyzer.Bind(other->var, Range{other->min, other->extent});
  }
  if (!UsesVar(block.realize->predicate, loop.var)) return false;
  analyzer.Assume(block.realize->predicate);
  return analyzer.CanProveLessEqual(loop.var, loop.min);
}

// Whether each iteration of `loop` writes, and reads of what it writes, a slice of the buffer of its own: some
// dimension moves with the loop by as much as it is long, and with nothing else below the loop.
bool WritesOwnSlice(const BlockBelow& block, const BufferRegion& write, const ForNode& loop) {
  const BlockNode& node = *block.realize->block;
  const auto moves_too = [&](const VarNode* var) {
    return std::ranges::any_of(block.loops, [&](const ForNode* inner) { return inner->var.get() == var; }) ||
           std::ranges::any_of(node.iter_vars, [&](const IterVar& iter) { return iter.var.get() == var; });
  };
  // Iterators that are loops, as the reader gives them to blocks that use loops directly.
  VarMap loops;
  for (size_t i = 0; i < node.iter_vars.size(); ++i) {
    if (isa<VarNode>(block.realize->bindings[i])) loops[node.iter_vars[i].var] = block.realize->bindings[i];
  }
  arith::Analyzer analyzer;
  for (size_t d = 0; d < write.region.size(); ++d) {
    const Range range = Substitute(write.region[d], loops);
    const auto linear = arith::DetectLinear(range.min, {loop.var}, &analyzer);
    const std::optional<int64_t> length = AsInt(range.extent);
    if (!linear || !length || UsesVar(linear->base, moves_too)) continue;
    const std::optional<int64_t> step = AsInt(linear->coefficients[0]);
    if (!step || std::abs(*step) < std::max<int64_t>(*length, 1)) continue;
    const bool reads_the_same = std::ranges::all_of(node.reads, [&](const BufferRegion& read) {
      return !read.buffer.same_as(write.buffer) || (StructuralEqual(read.region[d].min, write.region[d].min) &&
                                                    StructuralEqual(read.region[d].extent, write.region[d].extent));
    });
    if (reads_the_same) return true;
  }
  return false;
}

}  // namespace

std::optional<Refusal> WhyIterationsAreOrdered(const char* primitive, const Function& function,
                                               const ForNode& outermost, const ForNode& innermost) {
  const Path path = FindPath(function, outermost.id);
  const std::vector<const ForNode*> above = LoopsAbove(path);
  const std::vector<BlockBelow> blocks = BlocksWithLoopsBelow(Stmt(&outermost));
  const UsersBelow users(blocks);
  for (const BlockBelow& block : blocks) {
    const BlockNode& node = *block.realize->block;
    for (const IterVar& iter : node.iter_vars) {
      if (iter.kind == IterKind::kSpatial || iter.kind == IterKind::kReduce) continue;
      return Refusal{primitive,
                     "the iterator {text0} of {block1} is {text1}, neither spatial nor reduce",
                     {outermost.id, node.id},
                     {},
                     {iter.var.name(), IterKindName(iter.kind)}};
    }
    // What the nest alone sees may be written in any way, also by tiles that overlap those of other iterations.
    const bool is_own =
        std::ranges::all_of(node.iter_vars, [](const IterVar& iter) { return iter.kind == IterKind::kSpatial; }) &&
        std::ranges::all_of(node.writes,
                            [&](const BufferRegion& write) { return IsPrivate(function, path, write.buffer); });
    if (is_own || MayRunAgain(node, users)) continue;
    if (auto refusal = WhyNotAffine(primitive, outermost, block, above)) return refusal;
  }
  return WhyNotSelfContained(primitive, path, outermost, innermost);
}

std::optional<Refusal> WhyVectorsAreNotParallel(const char* primitive, const Function& function,
                                                std::span<const ForNode* const> loops) {
  for (const ForNode* loop : loops) {
    if (loop->kind != ForKind::kVectorized || IsInt(loop->extent, 1)) continue;
    const ForNode& now = *FindLoop(function, loop->id);
    if (auto refusal = WhyIterationsAreNotParallel(primitive, function, now, now.kind, false)) return refusal;
  }
  return std::nullopt;
}

std::optional<Refusal> WhyOthersUseOutputs(const char* primitive, const Function& function,
                                           const BlockRealizeNode& realize, const ForNode& loop) {
  for (const BlockRealizeNode* other : BlocksBelow(Stmt(&loop))) {
    if (other == &realize) continue;
    for (const BufferRegion& write : realize.block->writes) {
      const bool writes = Mentions(other->block->writes, write.buffer);
      if (!writes && !Mentions(other->block->reads, write.buffer)) continue;
      if (!writes && !WhyIterationsAreOrdered(primitive, function, loop, loop)) continue;
      return Refusal{primitive,
                     "{block1} is also below {loop0} and uses {text0}",
                     {loop.id, other->block->id},
                     {},
                     {write.buffer->name}};
    }
  }
  return std::nullopt;
}

namespace {

// Why iterations of a loop of this kind must not run at once, block by block.
class ParallelIterations {
 public:
  ParallelIterations(const char* primitive, const Function& function, const ForNode& loop, ForKind kind,
                     bool reductions_too)
      : primitive_(primitive),
        function_(function),
        loop_(loop),
        kind_(kind),
        reductions_too_(reductions_too),
        path_(FindPath(function, loop.id)),
        above_(LoopsAbove(path_)),
        varying_(VarsAtOnce(loop, above_)) {}

  std::optional<Refusal> Why() const {
    for (const BlockBelow& block : BlocksWithLoopsBelow(Stmt(&loop_))) {
      if (auto refusal = WhyNot(block)) return refusal;
    }
    return WhyNotSelfContained(primitive_, path_, loop_, loop_);
  }

 private:
  std::optional<Refusal> WhyNot(const BlockBelow& block) const {
    const BlockNode& node = *block.realize->block;
    const bool opaque =
        std::ranges::any_of(node.iter_vars, [](const IterVar& iter) { return iter.kind == IterKind::kOpaque; });
    if (opaque && std::ranges::all_of(node.writes,
                                      [&](const BufferRegion& write) { return WritesOwnSlice(block, write, loop_); })) {
      return std::nullopt;
    }
    bool depends = false;
    for (size_t i = 0; i < node.iter_vars.size(); ++i) {
      // An iterator that the loop has no part in runs in order in each iteration.
      if (!UsesVar(InLoops(block.realize->bindings[i], block, above_), loop_.var)) continue;
      if (auto refusal = WhyInOrder(node, node.iter_vars[i])) return refusal;
      depends = true;
    }
    const ComparedInstances at_once = ComparedAtOnce(block, varying_, above_);
    if (auto refusal = WhyInstancesMeet(block, at_once)) return refusal;
    // What an iteration alone sees may be written in any way, also by tiles that overlap those of other iterations.
    if (std::ranges::all_of(node.writes, [&](const BufferRegion& write) { return IsOwn(write); })) return std::nullopt;
    if (auto refusal = WhyWritesOverlap(block, at_once)) return refusal;
    bool injective = false;
    if (auto refusal = WhyNotAffine(primitive_, loop_, block, above_, &injective)) return refusal;
    if (depends) return injective ? std::nullopt : WhyInstancesRepeat(primitive_, loop_, block, above_);
    if (RunsInOneIteration(block, loop_, above_)) return std::nullopt;
    for (const BufferRegion& write : node.writes) {
      if (IsOwn(write) || WritesOwnSlice(block, write, loop_)) continue;
      return OfElements("{block1} writes the same elements of {text0} in every iteration of {loop0}", node, write);
    }
    return std::nullopt;
  }

  // Lanes of vectors get no copies of what is allocated outside of them.
  bool IsOwn(const BufferRegion& write) const {
    return kind_ == ForKind::kVectorized ? IsAllocatedBelow(loop_, write.buffer)
                                         : IsPrivate(function_, path_, write.buffer);
  }

  // Why values of an iterator that depends on the loop run one after the other.
  std::optional<Refusal> WhyInOrder(const BlockNode& block, const IterVar& iter) const {
    const bool is_sum = iter.kind == IterKind::kReduce;
    if (iter.kind == IterKind::kSpatial) return std::nullopt;
    if (!is_sum) {
      return Refusal{primitive_,
                     "the iterator {text0} of {block1} is {text1}, neither spatial nor reduce",
                     {loop_.id, block.id},
                     {},
                     {iter.var.name(), IterKindName(iter.kind)}};
    }
    if (reductions_too_ && block.init) return std::nullopt;
    if (reductions_too_) {
      return Refusal{primitive_,
                     "{block1} reduces over {loop0} without an init, so the sums of the threads start with nothing",
                     {loop_.id, block.id}};
    }
    return Refusal{primitive_,
                   "the iterator {text0} of {block1}, which depends on {loop0}, is {text1}, not spatial{text2}",
                   {loop_.id, block.id},
                   {},
                   {iter.var.name(), IterKindName(iter.kind), "; rfactor makes partial sums whose loop is"}};
  }

  std::optional<Refusal> WhyInstancesMeet(const BlockBelow& block, const ComparedInstances& at_once) const {
    const BlockNode& node = *block.realize->block;
    const OrderedInstances ordered = FindOrderedInstances(node, at_once);
    if (!ordered.DependsOn(*block.realize, loop_.var)) return std::nullopt;
    return Refusal{primitive_,
                   "instances of {block1} that depend on each other by {text0} run in different iterations of {loop0}",
                   {loop_.id, node.id},
                   {},
                   {ordered.buffer->name}};
  }

  std::optional<Refusal> WhyWritesOverlap(const BlockBelow& block, const ComparedInstances& at_once) const {
    const BlockNode& node = *block.realize->block;
    const auto of_loop = [&](size_t i) { return UsesVar(block.realize->bindings[i], loop_.var); };
    for (const BufferRegion& write : node.writes) {
      if (IsOwn(write)) continue;
      if (std::ranges::none_of(DifferingInSharedElements(node, write, write, at_once), of_loop)) continue;
      return OfElements(
          "instances of {block1} in different iterations of {loop0} may write the same elements of {text0}", node,
          write);
    }
    return std::nullopt;
  }

  Refusal OfElements(const char* reason, const BlockNode& block, const BufferRegion& write) const {
    return Refusal{primitive_, reason, {loop_.id, block.id}, {}, {write.buffer->name}};
  }

  const char* const primitive_;
  const Function& function_;
  const ForNode& loop_;
  const ForKind kind_;
  const bool reductions_too_;
  const Path path_;
  const std::vector<const ForNode*> above_;
  const LoopVars varying_;
};

}  // namespace

std::optional<Refusal> WhyIterationsAreNotParallel(const char* primitive, const Function& function, const ForNode& loop,
                                                   ForKind kind, bool reductions_too) {
  if (IsInt(loop.extent, 1)) return std::nullopt;
  return ParallelIterations(primitive, function, loop, kind, reductions_too).Why();
}

}  // namespace tilewright
