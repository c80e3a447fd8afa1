#include "schedule/layout/pad_einsum.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "schedule/layout/padded_extents.h"
#include "schedule/program/cache_stage.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/instances.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/reducer.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

constexpr const char* kName = "pad_einsum";

struct PaddedBuffer {
  Buffer buffer, padded;
  std::vector<size_t> dims;  // that are padded
};

// Everything that is to be changed.
struct Plan : PaddedExtents {
  std::vector<PaddedBuffer> inputs, outputs;
};

BufferMap PaddedBuffers(const Plan& plan) {
  BufferMap buffers;
  for (const PaddedBuffer& input : plan.inputs) buffers.emplace(input.buffer, input.padded);
  for (const PaddedBuffer& output : plan.outputs) buffers.emplace(output.buffer, output.padded);
  return buffers;
}

// A nest over `shape` around a block that copies an element from one buffer to the other: the element itself, or zero
// outside of `from` along `guarded`.
Stmt MakeCopyNest(const Buffer& from, const Buffer& to, const std::string& name, const std::vector<Expr>& shape,
                  const std::vector<size_t>& guarded, uint32_t* next_id) {
  std::vector<ForNode::Fields> loops;
  std::vector<Expr> bindings, indices;
  BlockNode::Fields block;
  for (size_t d = 0; d < shape.size(); ++d) {
    const DataType type = shape[d].dtype();
    const Var loop("i" + std::to_string(d), type), iter("v" + std::to_string(d), type);
    loops.push_back({.id = (*next_id)++, .var = loop, .extent = shape[d]});
    bindings.push_back(loop);
    indices.push_back(iter);
    block.iter_vars.push_back({iter, {Const(type, 0), shape[d]}, IterKind::kSpatial});
  }
  Expr inside;
  for (const size_t d : guarded) {
    if (arith::Analyzer().CanProveLessEqual(shape[d], from->shape[d])) continue;
    const Expr condition = indices[d] < from->shape[d];
    inside = inside ? And(inside, condition) : condition;
  }
  Expr value = from.Load(indices);
  if (inside) value = IfThenElse(inside, value, Const(from->dtype, 0));
  block.id = (*next_id)++;
  block.name = name;
  block.reads = {BufferRegion::Point(from, indices)};
  block.writes = {BufferRegion::Point(to, indices)};
  block.body = Store(to, value, indices);
  return Nest(std::move(loops), Realize(std::move(bindings), True(), Block(std::move(block))));
}

// Whether `e` is a finite number where elements are: zero times it is zero. exp(x) is infinite for a large x.
bool IsFiniteWithElements(const Expr& e) {
  if (e.dtype().is_integer() || e.dtype().is_bool() || isa<LoadNode>(e)) return true;
  if (const auto* number = dyn_cast<FloatImmNode>(e)) return std::isfinite(number->value);
  if (const auto* cast_node = dyn_cast<CastNode>(e)) return IsFiniteWithElements(cast_node->value);
  if (const auto* select = dyn_cast<SelectNode>(e)) {
    return IsFiniteWithElements(select->true_value) && IsFiniteWithElements(select->false_value);
  }
  const auto* binary = dyn_cast<BinaryNode>(e);
  return binary != nullptr && binary->op != BinaryOp::kDiv && IsFiniteWithElements(binary->a) &&
         IsFiniteWithElements(binary->b);
}

// Whether `e` is zero wherever an element at an index that uses `iterator` is zero and all elements are finite.
bool IsZeroWithElements(const Expr& e, const Var& iterator) {
  auto rest = [&](const Expr& part) { return IsZeroWithElements(part, iterator); };
  if (const auto* load = dyn_cast<LoadNode>(e)) {
    return std::ranges::any_of(load->indices, [&](const Expr& index) { return index.get() == iterator.get(); });
  }
  if (const auto* cast_node = dyn_cast<CastNode>(e)) return rest(cast_node->value);
  const auto* binary = dyn_cast<BinaryNode>(e);
  if (binary == nullptr) return false;
  switch (binary->op) {
    case BinaryOp::kMul:
      return (rest(binary->a) && IsFiniteWithElements(binary->b)) ||
             (rest(binary->b) && IsFiniteWithElements(binary->a));
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return rest(binary->a) && rest(binary->b);
    default:
      return false;
  }
}

class Planner {
 public:
  Planner(const Function& function, const BlockScope& scope, const ScopeChild& einsum)
      : function_(function), scope_(scope), einsum_(einsum), block_(*einsum.realize->block) {}

  Outcome<Plan> Make(const std::vector<int64_t>& padding);

 private:
  Refusal No(const char* reason, std::vector<std::string> texts = {}, std::vector<int64_t> numbers = {}) const {
    return {kName, reason, {einsum_.id()}, {}, std::move(texts), std::move(numbers)};
  }
  const IterVar* IteratorOf(const Expr& e) const {
    for (const IterVar& iter : block_.iter_vars) {
      if (iter.var.get() == e.get()) return &iter;
    }
    return nullptr;
  }
  std::optional<Refusal> CheckAccess(const BufferRegion& region) const;
  std::optional<Refusal> PadIterator(size_t iterator, int64_t multiple);
  std::optional<Refusal> PadBuffer(const BufferRegion& region, bool output);
  std::optional<Refusal> CheckReduction() const;
  std::optional<Refusal> CheckOthers() const;

  const Function& function_;
  const BlockScope& scope_;
  const ScopeChild& einsum_;
  const BlockNode& block_;
  std::vector<Var> padded_;  // iterators
  Plan plan_;
};

// Indices are padded iterators alone or do not use them, and the buffer is new.
std::optional<Refusal> Planner::CheckAccess(const BufferRegion& region) const {
  const auto is_plain = [&](const Expr& index) {
    return IteratorOf(index) != nullptr ||
           std::ranges::none_of(padded_, [&](const Var& padded) { return UsesVar(index, padded); });
  };
  bool plain = true;
  for (const Range& range : region.region) plain &= IsInt(range.extent, 1) && is_plain(range.min);
  // Declared regions do not show indices that are loaded themselves.
  PreOrderExprs(block_.body, [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    if (load != nullptr && load->buffer.same_as(region.buffer)) plain &= std::ranges::all_of(load->indices, is_plain);
    return plain;
  });
  if (!plain) return No("{block0} uses {text0} at more than a padded iterator", {region.buffer->name});
  auto uses = [&](const BufferRegion& other) { return other.buffer.same_as(region.buffer); };
  if (std::ranges::count_if(block_.reads, uses) + std::ranges::count_if(block_.writes, uses) > 1) {
    return No("{block0} uses {text0} more than once", {region.buffer->name});
  }
  return std::nullopt;
}

// The extent rounded up to the multiple; null when it is one.
Expr PaddedExtent(const IterVar& iter, int64_t multiple) {
  const Expr factor = Const(iter.domain.extent.dtype(), multiple);
  arith::Analyzer analyzer;
  const Expr extent = analyzer.Simplify(FloorDiv(iter.domain.extent + (multiple - 1), factor) * factor);
  return analyzer.CanProveEqual(extent, iter.domain.extent) ? Expr() : extent;
}

std::optional<Refusal> Planner::PadIterator(size_t iterator, int64_t multiple) {
  const IterVar& iter = block_.iter_vars[iterator];
  const Expr extent = PaddedExtent(iter, multiple);
  if (!extent) return std::nullopt;
  arith::Analyzer analyzer;
  for (const ForNode* loop : einsum_.loops) {
    if (einsum_.realize->bindings[iterator].get() != loop->var.get()) continue;
    if (!IsInt(loop->min, 0) || !IsInt(iter.domain.min, 0) ||
        !analyzer.CanProveEqual(loop->extent, iter.domain.extent) || BlocksBelow(loop->body).size() != 1) {
      break;
    }
    plan_.iterators[iter.var] = extent;
    plan_.loops[loop->id] = CastTo(loop->extent.dtype(), extent);
    return std::nullopt;
  }
  return No("the iterator {text0} is not bound to a loop of its own over its domain", {iter.var.name()});
}

std::optional<Refusal> Planner::PadBuffer(const BufferRegion& region, bool output) {
  const std::string& name = region.buffer->name;
  std::vector<Expr> shape = region.buffer->shape;
  PaddedBuffer padded{region.buffer, {}, {}};
  bool whole = true;
  for (size_t d = 0; d < region.region.size(); ++d) {
    const IterVar* iter = IteratorOf(region.region[d].min);
    const bool covers =
        iter == nullptr ? IsInt(shape[d], 1) : arith::Analyzer().CanProveEqual(iter->domain.extent, shape[d]);
    whole = whole && covers;
    if (iter == nullptr || !plan_.iterators.contains(iter->var)) continue;
    // Zeros count for a reduction alone: what else computes something of the padding keeps it in the padding.
    if (!covers &&
        (output || iter->kind != IterKind::kSpatial || !HasValuesBefore(function_, scope_, einsum_, region.buffer))) {
      return No("{text0} is not indexed by the iterator {text1} over a whole dimension", {name, iter->var.name()});
    }
    padded.dims.push_back(d);
    shape[d] = CastTo(shape[d].dtype(), plan_.iterators[iter->var]);
  }
  if (padded.dims.empty()) return std::nullopt;
  if (output && !whole) return No("{block0} does not write all of {text0}", {name});
  padded.padded = Buffer(name + "_pad", std::move(shape), region.buffer->dtype, region.buffer->scope);
  (output ? plan_.outputs : plan_.inputs).push_back(std::move(padded));
  return std::nullopt;
}

// What the iterations of padded reduce iterators add is nothing.
std::optional<Refusal> Planner::CheckReduction() const {
  std::vector<const IterVar*> padded;
  for (const IterVar& iter : block_.iter_vars) {
    if (iter.kind != IterKind::kSpatial && plan_.iterators.contains(iter.var)) padded.push_back(&iter);
  }
  if (padded.empty()) return std::nullopt;
  if (!IsReduction(scope_, einsum_))
    return No("{block0} is not a reduction, but the iterator {text0} is padded", {padded[0]->var.name()});
  TW_ASSIGN_OR_RETURN(const Reducer reducer, DetectReducer(kName, block_));
  for (const IterVar* iter : padded) {
    for (const Reducer::Component& component : reducer.components) {
      const auto* sum = dyn_cast<BinaryNode>(component.combined);
      if (sum == nullptr || sum->op != BinaryOp::kAdd || !IsZeroWithElements(component.value, iter->var)) {
        return No("zeros along the padded iterator {text0} change what {block0} computes", {iter->var.name()});
      }
    }
  }
  return std::nullopt;
}

// The copies of inputs are made before the outermost loop, those of outputs after it.
std::optional<Refusal> Planner::CheckOthers() const {
  for (const ScopeChild& child : scope_.children()) {
    const bool together = !child.loops.empty() && !einsum_.loops.empty() && child.loops[0] == einsum_.loops[0];
    auto writes = [&](const PaddedBuffer& padded) { return Mentions(child.realize->block->writes, padded.buffer); };
    for (const PaddedBuffer& input : plan_.inputs) {
      if (together && writes(input)) {
        return No("block {text0}, in the same loop, writes {text1}", {child.realize->block->name, input.buffer->name});
      }
    }
    for (const PaddedBuffer& output : plan_.outputs) {
      if (child.id() != einsum_.id() && writes(output)) {
        return No("block {text0} writes {text1} too", {child.realize->block->name, output.buffer->name});
      }
    }
    if (!together && child.id() != einsum_.id()) continue;
    for (const std::vector<PaddedBuffer>* all : {&plan_.inputs, &plan_.outputs}) {
      for (const PaddedBuffer& padded : *all) {
        if (const char* reason = WhyCannotUseCache(*child.realize->block, padded.buffer, padded.padded->scope)) {
          return Refusal{kName, reason, {child.id()}, {}, {padded.buffer->name}};
        }
      }
    }
  }
  return std::nullopt;
}

Outcome<Plan> Planner::Make(const std::vector<int64_t>& padding) {
  if (padding.size() != block_.iter_vars.size()) {
    return No("{num0} paddings are given for the {num1} iterators of {block0}", {},
              {std::ssize(padding), std::ssize(block_.iter_vars)});
  }
  for (size_t i = 0; i < padding.size(); ++i) {
    if (padding[i] <= 0) {
      return No("the padding of the iterator {text0} is {num0}, which is not positive",
                {block_.iter_vars[i].var.name()}, {padding[i]});
    }
  }
  for (size_t i = 0; i < padding.size(); ++i) {
    if (PaddedExtent(block_.iter_vars[i], padding[i])) padded_.push_back(block_.iter_vars[i].var);
  }
  if (padded_.empty()) return std::move(plan_);  // nothing is to be padded
  if (!HasTrivialBindings(*einsum_.realize, einsum_.loops)) {
    return No("the bindings of {block0} are not loops by themselves");
  }
  if (!IsTrue(einsum_.realize->predicate)) {
    return Refusal{kName, "{block0} has the predicate {expr0}", {einsum_.id()}, {einsum_.realize->predicate}};
  }
  for (const std::vector<BufferRegion>* regions : {&block_.reads, &block_.writes}) {
    for (const BufferRegion& region : *regions) {
      if (auto refusal = CheckAccess(region)) return *refusal;
    }
  }
  for (size_t i = 0; i < padding.size(); ++i) {
    if (auto refusal = PadIterator(i, padding[i])) return *refusal;
  }
  for (const BufferRegion& region : block_.reads) {
    if (auto refusal = PadBuffer(region, /*output=*/false)) return *refusal;
  }
  for (const BufferRegion& region : block_.writes) {
    if (auto refusal = PadBuffer(region, /*output=*/true)) return *refusal;
  }
  if (auto refusal = CheckReduction()) return *refusal;
  if (auto refusal = CheckOthers()) return *refusal;
  return std::move(plan_);
}

}  // namespace

Outcome<PadEinsumResult> PadEinsum(const Function& function, uint32_t block, const std::vector<int64_t>& padding) {
  TW_ASSIGN_OR_RETURN(const Path path, PathToInnerBlock(kName, function, block));
  const BlockScope scope = BlockScope::Around(function, block);
  const ScopeChild& einsum = *scope.Find(block);
  TW_ASSIGN_OR_RETURN(const Plan plan, Planner(function, scope, einsum).Make(padding));

  uint32_t next_id = function->next_id;
  std::vector<Stmt> before, after;
  std::vector<Buffer> allocated;
  for (const PaddedBuffer& input : plan.inputs) {
    before.push_back(
        MakeCopyNest(input.buffer, input.padded, input.padded->name, input.padded->shape, input.dims, &next_id));
    allocated.push_back(input.padded);
  }
  for (const PaddedBuffer& output : plan.outputs) {
    after.push_back(
        MakeCopyNest(output.padded, output.buffer, output.padded->name, output.buffer->shape, {}, &next_id));
    allocated.push_back(output.padded);
  }
  const StmtNode* nest = einsum.loops.empty() ? static_cast<const StmtNode*>(einsum.realize) : einsum.loops[0];
  std::vector<Stmt> stmts;
  const auto* seq = dyn_cast<SeqNode>(scope.block()->body);
  for (const Stmt& stmt : seq != nullptr ? seq->stmts : std::vector<Stmt>{scope.block()->body}) {
    if (stmt.get() != nest) {
      stmts.push_back(stmt);
      continue;
    }
    stmts.insert(stmts.end(), before.begin(), before.end());
    stmts.push_back(ExtentRewriter(plan, PaddedBuffers(plan)).Mutate(stmt));
    stmts.insert(stmts.end(), after.begin(), after.end());
  }
  return PadEinsumResult{
      WithScopeBody(function, *scope.block(), Sequence(std::move(stmts)), std::move(allocated), next_id)};
}

}  // namespace tilewright
