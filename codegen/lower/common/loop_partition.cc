#include "codegen/lower/common/loop_partition.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "codegen/lower/common/scoped_mutator.h"
#include "codegen/lower/common/simplify.h"
#include "ir/analysis.h"
#include "ir/annotations.h"
#include "ir/arith/linear.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/regions.h"
#include "ir/structural.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

using arith::ReadsMemory;

// Parts that one loop is cut into.
constexpr size_t kMaxParts = 5;
// Values of a variable that are looked at one by one where comparisons are not linear in it: phases of a stride.
constexpr int64_t kMostValues = 4;
// Stores that a loop may be cut into once more for conditions of single lanes: they become masks, which cost little
// beside more code, and what they would take the borders of windows need.
constexpr int64_t kMaxStoresOfLanes = 300;

// Whether an expression is made of divisions by constants, with or without remainder, of the variable alone.
bool IsPartOf(const Expr& e, const Var& var) {
  const auto* division = dyn_cast<BinaryNode>(e);
  if (division == nullptr || !AsInt(division->b)) return false;
  if (division->op != BinaryOp::kFloorDiv && division->op != BinaryOp::kFloorMod) return false;
  return division->a.same_as(var) || IsPartOf(division->a, var);
}

// The places at which comparisons below a loop change between true, mixed and false, as the loop's variable grows.
class CutFinder : public Visitor {
 public:
  CutFinder(const ForNode* loop, int64_t begin, int64_t end, bool lanes)
      : loop_(loop), begin_(begin), end_(end), lanes_(lanes) {}
  // Values of the variable from which on something differs; within (begin, end). In each copy of unrolled loops, where
  // these are few.
  std::set<int64_t> Find() {
    Visit(loop_->body);
    return all_cuts_.size() < kMaxParts ? std::move(all_cuts_) : std::move(cuts_);
  }
  // What decides besides: quotients and remainders of the variable. The iterators of a loop that was fused.
  const std::vector<Expr>& parts() const { return parts_; }
  using Visitor::Visit;

 protected:
  void VisitFor(const ForNode* op) override {
    Visit(op->min);
    Visit(op->extent);
    const arith::Analyzer::Scope inside(&analyzer_);
    if (AsInt(op->min) && AsInt(op->extent)) domains_[op->var] = {op->min, op->extent};
    analyzer_.Bind(op->var, Range{op->min, op->extent});
    if (op->kind == ForKind::kVectorized) vectorized_.push_back(op->var);
    if (op->kind == ForKind::kUnrolled) unrolled_.push_back(op->var);
    Visit(op->body);
    if (op->kind == ForKind::kVectorized) vectorized_.pop_back();
    if (op->kind == ForKind::kUnrolled) unrolled_.pop_back();
  }
  void VisitIf(const IfNode* op) override {
    AddCondition(op->condition);
    Visitor::VisitIf(op);
  }
  void VisitSelect(const SelectNode* op) override {
    AddCondition(op->condition);
    Visitor::VisitSelect(op);
  }
  void VisitCall(const CallNode* op) override {
    if (op->op == kIfThenElse) AddCondition(op->args[0]);
    Visitor::VisitCall(op);
  }

 private:
  void AddCondition(const Expr& e) {
    if (const auto* negation = dyn_cast<NotNode>(e)) return AddCondition(negation->a);
    const auto* binary = dyn_cast<BinaryNode>(e);
    if (binary == nullptr) return;
    if (IsLogic(binary->op)) {
      AddCondition(binary->a);
      AddCondition(binary->b);
    } else if (IsComparison(binary->op) && binary->a.dtype().is_index()) {
      AddComparison(*binary);
    }
  }

  // coefficient * var + rest compared with 0, where rest lies in [least, greatest].
  void AddComparison(const BinaryNode& comparison) {
    const auto uses_any = [&](const std::vector<Var>& vars) {
      return std::any_of(vars.begin(), vars.end(),
                         [&](const Var& var) { return UsesVar(comparison.a, var) || UsesVar(comparison.b, var); });
    };
    if (uses_any(vectorized_) && !lanes_) return;
    const auto linear = arith::DetectLinear(comparison.a - comparison.b, {loop_->var}, &analyzer_);
    if (!linear) {
      // What all copies of an unrolled loop decide alike is decided once (hoist_conditions.h).
      if (uses_any(unrolled_) && !ReadsMemory(comparison.a) && !ReadsMemory(comparison.b)) AddAllCuts();
      AddParts(comparison.a);
      AddParts(comparison.b);
      return;
    }
    const std::optional<int64_t> coefficient = AsInt(linear->coefficients[0]);
    if (!coefficient || *coefficient == 0) return;
    std::optional<Range> rest = RelaxRange({linear->base, Const(linear->base.dtype(), 1)}, domains_);
    if (!rest) return;
    const std::optional<int64_t> least = AsInt(analyzer_.Simplify(rest->min));
    const std::optional<int64_t> greatest = AsInt(analyzer_.Simplify(rest->min + rest->extent - 1));
    if (!least || !greatest) return;
    const int64_t step = StepOfCopies(linear->base);
    switch (comparison.op) {
      case BinaryOp::kLT:
      case BinaryOp::kGE:
        AddSignChange(*coefficient, *least, *greatest, step);
        break;
      case BinaryOp::kLE:
      case BinaryOp::kGT:
        // x <= 0 is x - 1 < 0.
        AddSignChange(*coefficient, *least - 1, *greatest - 1, step);
        break;
      default:
        // x == 0 may hold between the places where x >= 0 and x > 0 change.
        AddSignChange(*coefficient, *least, *greatest, step);
        AddSignChange(*coefficient, *least - 1, *greatest - 1, step);
        break;
    }
  }

  // By what values differ that copies of unrolled loops give to `rest`; 0 when it depends on anything else.
  int64_t StepOfCopies(const Expr& rest) {
    const auto linear = arith::DetectLinear(rest, unrolled_, &analyzer_);
    if (!linear || !AsInt(linear->base)) return 0;
    int64_t step = 0;
    for (const Expr& coefficient : linear->coefficients) step = std::gcd(step, AsInt(coefficient).value_or(1));
    return step;
  }

  // Values of var at which coefficient * var + rest >= 0 changes, for the least and the greatest rest, and those
  // between.
  void AddSignChange(int64_t coefficient, int64_t least, int64_t greatest, int64_t step) {
    const auto add = [&](int64_t rest, std::set<int64_t>* cuts) {
      // The first value at which it holds, or (falling) no longer holds.
      AddCut(coefficient > 0 ? -arith::FloorDivInt(rest, coefficient) : arith::FloorDivInt(rest, -coefficient) + 1,
             cuts);
    };
    for (int64_t rest : {least, greatest}) {
      add(rest, &cuts_);
      add(rest, &all_cuts_);
    }
    // There are no more copies than stores.
    if (step == 0 || (greatest - least) / step > kMaxStores) return;
    for (int64_t rest = least; rest < greatest; rest += step) add(rest, &all_cuts_);
  }
  void AddAllCuts() {
    for (int64_t cut = begin_ + 1; cut < end_ && end_ - begin_ <= kMostValues; ++cut) {
      AddCut(cut, &cuts_);
      AddCut(cut, &all_cuts_);
    }
  }
  void AddParts(const Expr& side) {
    PreOrder(side, [&](const Expr& e) {
      if (!IsPartOf(e, loop_->var)) return true;
      if (std::ranges::none_of(parts_, [&](const Expr& part) { return StructuralEqual(part, e); })) parts_.push_back(e);
      return false;
    });
  }
  void AddCut(int64_t cut, std::set<int64_t>* cuts) {
    if (cut > begin_ && cut < end_) cuts->insert(cut);
  }

  const ForNode* loop_;
  int64_t begin_, end_;
  const bool lanes_;  // whether conditions of single lanes count
  std::vector<Var> vectorized_, unrolled_;
  Domains domains_;
  arith::Analyzer analyzer_;
  std::set<int64_t> cuts_, all_cuts_;
  std::vector<Expr> parts_;
};

// The bounds of the parts. Of too many only those around the longest part are kept.
std::vector<int64_t> Bounds(int64_t begin, int64_t end, const std::set<int64_t>& cuts) {
  std::vector<int64_t> bounds = {begin};
  bounds.insert(bounds.end(), cuts.begin(), cuts.end());
  bounds.push_back(end);
  if (bounds.size() - 1 <= kMaxParts) return bounds;
  size_t longest = 0;
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    if (bounds[i + 1] - bounds[i] > bounds[longest + 1] - bounds[longest]) longest = i;
  }
  std::set<int64_t> kept = {begin, bounds[longest], bounds[longest + 1], end};
  return {kept.begin(), kept.end()};
}

// The parts, longest first: what runs most often is cut before code has grown too much.
std::vector<size_t> ByLength(const std::vector<int64_t>& bounds) {
  std::vector<size_t> parts(bounds.size() - 1);
  std::iota(parts.begin(), parts.end(), size_t{0});
  std::ranges::sort(parts, {}, [&](size_t i) { return std::pair(bounds[i] - bounds[i + 1], i); });
  return parts;
}

class Partitioner : public Mutator {
 public:
  Partitioner(const Function& function, int64_t stores)
      : function_(function), next_id_(function->next_id), stores_(stores) {}
  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override { return e; }
  uint32_t next_id() const { return next_id_; }

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    if (op->kind != ForKind::kParallel) return MutateWhole(op, self);
    ForNode::Fields fields = op->fields();
    fields.body = MutateStages(op, op->body);
    return For(std::move(fields));
  }

 private:
  // What a parallel loop's body computes one after the other, each for itself: stages in which no condition changes are
  // not repeated. What registers connect is one stage.
  Stmt MutateStages(const ForNode* loop, const Stmt& body) {
    if (const auto* seq = dyn_cast<SeqNode>(body)) {
      std::vector<Stmt> stages;
      for (const Stmt& stage : seq->stmts) stages.push_back(MutateStages(loop, stage));
      return Sequence(std::move(stages));
    }
    const auto* allocate = dyn_cast<AllocateNode>(body);
    if (allocate != nullptr && allocate->buffer->scope.kind() != MemoryKind::kRegister) {
      return Stmt(new AllocateNode(allocate->buffer, allocate->annotations, MutateStages(loop, allocate->body)));
    }
    ForNode::Fields fields = loop->fields();
    fields.body = body;
    const Stmt stage = For(std::move(fields));
    return cast<ForNode>(MutateWhole(cast<ForNode>(stage), stage))->body;
  }

  Stmt MutateWhole(const ForNode* op, const Stmt& self) {
    const std::optional<int64_t> min = AsInt(op->min), extent = AsInt(op->extent);
    const bool serial = op->kind == ForKind::kSerial, parallel = op->kind == ForKind::kParallel;
    if (!min || (!extent && !parallel) || (!serial && !parallel)) return Mutator::MutateFor(op, self);
    const int64_t body_stores = CountStores(op->body);
    const bool lanes = body_stores <= kMaxStoresOfLanes;
    // A fused loop whose end is not known may be made of others whose ends are.
    const int64_t end = *min + extent.value_or(0);
    CutFinder finder(op, *min, end, lanes);
    const std::vector<int64_t> bounds = Bounds(*min, end, finder.Find());
    const int64_t parts = static_cast<int64_t>(bounds.size()) - 1;
    const int64_t growth = (parts - 1) * body_stores;
    if (parts == 1 && !serial && !finder.parts().empty()) return BranchOverParts(op, finder.parts());
    if (parts == 1 || stores_ + growth > kMaxStores) return Mutator::MutateFor(op, self);
    stores_ += growth;
    return serial ? Cut(op, bounds) : Branch(op, bounds);
  }

  // The loop over part `i` alone, with which the variable's range is known.
  static ForNode::Fields Part(const ForNode* op, const std::vector<int64_t>& bounds, size_t i) {
    ForNode::Fields fields = op->fields();
    fields.min = Const(op->var.dtype(), bounds[i]);
    fields.extent = Const(op->extent.dtype(), bounds[i + 1] - bounds[i]);
    return fields;
  }

  Stmt Cut(const ForNode* op, const std::vector<int64_t>& bounds) {
    std::vector<Stmt> parts(bounds.size() - 1);
    for (size_t i : ByLength(bounds)) {
      const Stmt part = For(Part(op, bounds, i));
      parts[i] = MutateSimplified(i > 0 ? CopyWithFreshNames(part, &next_id_) : part);
    }
    return Sequence(std::move(parts));
  }

  // if i < first cut: ... else if i < second cut: ... else: ...
  Stmt Branch(const ForNode* op, const std::vector<int64_t>& bounds) {
    std::vector<Stmt> bodies(bounds.size() - 1);
    for (size_t i : ByLength(bounds)) {
      ForNode::Fields part = Part(op, bounds, i);
      if (i > 0) part.body = CopyWithFreshNames(part.body, &next_id_);
      const Stmt simplified = MutateSimplified(For(std::move(part)));
      const auto* loop = dyn_cast<ForNode>(simplified);
      bodies[i] = loop != nullptr && loop->var.same_as(op->var) ? loop->body : simplified;
    }
    Stmt chain = bodies.back();
    for (size_t i = bodies.size() - 1; i-- > 0;) {
      chain = If(op->var < Const(op->var.dtype(), bounds[i + 1]), bodies[i], chain);
    }
    ForNode::Fields fields = op->fields();
    fields.body = chain;
    return For(std::move(fields));
  }

  // A fused loop, as if it were the loops that it is made of.
  Stmt BranchOverParts(const ForNode* op, const std::vector<Expr>& parts) {
    ForNode::Fields fields = op->fields();
    for (const Expr& part : parts) {
      const std::optional<Range> range =
          RelaxRange({part, Const(part.dtype(), 1)}, {{op->var, Range{op->min, op->extent}}});
      if (!range) continue;
      arith::Analyzer analyzer;
      ForNode::Fields loop = op->fields();
      loop.var = Var(op->var->name + "_part", part.dtype());
      loop.min = analyzer.Simplify(range->min);
      loop.extent = analyzer.Simplify(range->extent);
      loop.annotations = {{kLoopPart, Annotation{part}}};
      loop.body = RewriteExprs(fields.body, [&](const Expr& e) {
        return isa<BinaryNode>(e) && StructuralEqual(e, part) ? Expr(loop.var) : e;
      });
      fields.body = For(std::move(loop));
    }
    // Copies of a loop have variables of their own.
    fields.body = RewriteStmt(Mutate(fields.body), [](const Stmt& s) {
      const auto* loop = dyn_cast<ForNode>(s);
      if (loop == nullptr || !loop->annotations.contains(kLoopPart)) return s;
      return Substitute(loop->body, {{loop->var, std::get<Expr>(loop->annotations.at(kLoopPart).value)}});
    });
    return For(std::move(fields));
  }

  // Inner loops are cut only for what the outer cut has left.
  Stmt MutateSimplified(const Stmt& part) {
    Stmt simplified = SimplifyFunction(function_.WithBody(part, next_id_))->body;
    const auto* loop = dyn_cast<ForNode>(simplified);
    // A loop of one iteration is gone; what stands there now is a loop inside of it.
    if (loop == nullptr || !loop->var.same_as(cast<ForNode>(part)->var)) return Mutate(simplified);
    // The loop itself has been cut already.
    ForNode::Fields fields = loop->fields();
    fields.body = Mutate(loop->body);
    return For(std::move(fields));
  }

  const Function& function_;
  uint32_t next_id_;
  int64_t stores_;
};

}  // namespace

int64_t CountStores(const Stmt& s) {
  int64_t count = 0;
  PreOrder(s, [&](const Stmt& sub) {
    if (const auto* loop = dyn_cast<ForNode>(sub)) {
      const std::optional<int64_t> extent = AsInt(loop->extent);
      const bool copies = loop->kind == ForKind::kUnrolled && extent;
      // A vector of 16 lanes is one store.
      const int64_t factor = copies ? *extent : loop->kind == ForKind::kVectorized && extent ? (*extent + 15) / 16 : 1;
      count += factor * CountStores(loop->body);
      return false;
    }
    count += isa<StoreNode>(sub) || isa<EvaluateNode>(sub);
    return true;
  });
  return count;
}

Function PartitionLoops(const Function& function) {
  Partitioner partitioner(function, CountStores(function->body));
  Stmt body = partitioner.Mutate(function->body);
  return function.WithBody(std::move(body), partitioner.next_id());
}

}  // namespace tilewright
