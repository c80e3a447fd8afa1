#include "verify/structure/exact_run.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"

namespace tilewright {
namespace {

using arith::ReadsMemory;

// Whether where `s` goes and what it touches depends on values in memory, or is decided outside of the program.
class DependsOnValues : public Visitor {
 public:
  using Visitor::Visit;
  static bool Of(const Stmt& s) {
    DependsOnValues visitor;
    visitor.Visit(s);
    return visitor.found_;
  }

 protected:
  void VisitLoad(const LoadNode* op) override {
    for (const Expr& index : op->indices) found_ |= ReadsMemory(index);
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    for (const Expr& index : op->indices) found_ |= ReadsMemory(index);
    Visitor::VisitStore(op);
  }
  void VisitIf(const IfNode* op) override {
    found_ |= ReadsMemory(op->condition);
    Visitor::VisitIf(op);
  }
  void VisitWhile(const WhileNode*) override { found_ = true; }
  void VisitAssert(const AssertNode*) override { found_ = true; }
  void VisitLet(const LetNode* op) override {
    found_ |= op->var.dtype().is_integer() && ReadsMemory(op->value);
    Visitor::VisitLet(op);
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    found_ |= op->var.dtype().is_integer() && ReadsMemory(op->value);
    Visitor::VisitLetStmt(op);
  }
  void VisitCall(const CallNode* op) override {
    if (op->op == kIfThenElse) found_ |= ReadsMemory(op->args[0]);
    found_ |= EffectOf(op->op) != CallEffect::kPure || op->op.starts_with("call_");
    Visitor::VisitCall(op);
  }
  void VisitBinary(const BinaryNode* op) override {
    // Division by what memory holds, which is nothing in particular here.
    const bool divides = op->op == BinaryOp::kDiv || op->op == BinaryOp::kMod || op->op == BinaryOp::kFloorDiv ||
                         op->op == BinaryOp::kFloorMod;
    found_ |= divides && op->dtype().is_integer() && ReadsMemory(op->b);
    Visitor::VisitBinary(op);
  }
  void VisitFor(const ForNode* op) override {
    found_ |= ReadsMemory(op->min) || ReadsMemory(op->extent);
    Visitor::VisitFor(op);
  }

 private:
  bool found_ = false;
};

bool HoldsBlocksOrThreads(const Stmt& s) {
  bool found = false;
  PreOrder(s, [&](const Stmt& part) {
    const auto* loop = dyn_cast<ForNode>(part);
    found |=
        isa<BlockRealizeNode>(part) || isa<SyncNode>(part) || (loop != nullptr && loop->kind == ForKind::kThreadBound);
    return !found;
  });
  return found;
}

// Loops over the part of a region that lies in the buffer, around a load or a store.
Stmt Touch(const BufferRegion& region, bool write, uint32_t* next_id) {
  std::vector<ForNode::Fields> loops;
  std::vector<Expr> indices;
  for (size_t d = 0; d < region.region.size(); ++d) {
    const Range& range = region.region[d];
    if (IsInt(range.extent, 1)) {
      indices.push_back(range.min);
      continue;
    }
    Expr min = range.min, end = range.min + range.extent;
    if (!write) {
      min = Max(min, Const(min.dtype(), 0));
      end = Min(end, CastTo(end.dtype(), region.buffer->shape[d]));
    }
    Var position("p" + std::to_string(d), min.dtype());
    indices.push_back(min + position);
    loops.push_back({.id = (*next_id)++, .var = position, .extent = arith::Simplify(Max(end - min, 0))});
  }
  const DataType type = region.buffer->dtype;
  Stmt touch = write ? Store(region.buffer, Const(type, 0), indices) : Evaluate(region.buffer.Load(indices));
  if (!write) {
    // A point outside of the buffer is what a condition of the body keeps from being read.
    Expr inside = True();
    for (size_t d = 0; d < indices.size(); ++d) {
      if (!IsInt(region.region[d].extent, 1)) continue;
      const Expr extent = CastTo(indices[d].dtype(), region.buffer->shape[d]);
      inside = And(inside, And(Const(indices[d].dtype(), 0) <= indices[d], indices[d] < extent));
    }
    touch = If(arith::Simplify(inside), touch);
  }
  while (!loops.empty()) {
    loops.back().body = touch;
    touch = For(std::move(loops.back()));
    loops.pop_back();
  }
  return touch;
}

// Blocks whose accesses depend on values get bodies that touch what they declare.
class ReplaceByRegions : public Mutator {
 public:
  using Mutator::Mutate;
  explicit ReplaceByRegions(uint32_t next_id) : next_id_(next_id) {}
  Expr Mutate(const Expr& e) override { return e; }
  Block MutateBlock(const Block& block) override {
    if (HoldsBlocksOrThreads(block->body)) return Mutator::MutateBlock(block);
    if (!DependsOnValues::Of(block->body)) return block;
    std::vector<Stmt> touches;
    for (const BufferRegion& read : block->reads) touches.push_back(Touch(read, false, &next_id_));
    for (const BufferRegion& write : block->writes) touches.push_back(Touch(write, true, &next_id_));
    BlockNode::Fields fields = block->fields();
    fields.match_buffers.clear();
    fields.alloc_buffers.clear();
    if (fields.init && DependsOnValues::Of(fields.init)) fields.init = Stmt();
    fields.body = Sequence(std::move(touches));
    return Block(std::move(fields));
  }
  uint32_t next_id() const { return next_id_; }

 private:
  uint32_t next_id_;
};

// About how many loop iterations and stores a run takes.
class CountSteps : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  double steps = 0;

 protected:
  void VisitFor(const ForNode* op) override {
    const double outer = times_;
    // An extent that varies is taken for a small one; the interpreter stops where it is not.
    times_ *= static_cast<double>(AsInt(op->extent).value_or(8));
    steps += times_;
    StmtVisitor::VisitFor(op);
    times_ = outer;
  }
  void VisitStore(const StoreNode*) override { steps += times_; }

 private:
  double times_ = 1;
};

bool Detects(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kPermissionDenied:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool IsTooLargeToRun(const Function& function, int64_t max_steps) {
  CountSteps count;
  count.Visit(function->body);
  return count.steps > static_cast<double>(max_steps);
}

ExactRun RunExactly(const Function& function, int64_t max_steps) {
  std::vector<interp::Argument> arguments;
  int64_t elements = 0;
  for (const Param& param : function->params) {
    if (!param.buffer) return {};
    std::vector<int64_t> shape;
    int64_t size = 1;
    for (const Expr& extent : param.buffer->shape) {
      const auto value = AsInt(extent);
      if (!value || *value < 0) return {};
      shape.push_back(*value);
      size = std::min(size * std::max<int64_t>(*value, 1), max_steps * 16);
    }
    elements += size;
    if (elements > max_steps * 4) return {};
    arguments.emplace_back(NDArray(param.buffer->dtype, std::move(shape)));
  }
  if (IsTooLargeToRun(function, max_steps)) return {};

  ReplaceByRegions replace(function->next_id);
  const Stmt body = replace.Mutate(function->body);
  const Function simple = function->body.same_as(body) ? function : function.WithBody(body, replace.next_id());
  if (DependsOnValues::Of(body)) return {};
  interp::CompileOptions options = interp::CompileOptions::AllChecks();
  options.values_unknown = true;
  const absl::StatusOr<interp::Program> program = interp::Compile(simple, options);
  if (!program.ok()) return {};
  const absl::Status status =
      program->Run(arguments, {.max_steps = 4 * static_cast<uint64_t>(max_steps), .max_memory = int64_t{1} << 28});
  if (status.ok()) return {ExactOutcome::kClean, "", simple.same_as(function)};
  if (!Detects(status)) return {};
  return {ExactOutcome::kFault, std::string(status.message())};
}

}  // namespace tilewright
