#include "verify/structure/exact_run.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/functor.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "verify/rewrite/without_values.h"

namespace tilewright {
namespace {

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

// Whether all buffers that are made or named in the statement lie where numbers say.
bool HasConstantShapes(const Stmt& s) {
  bool constant = true;
  const auto look = [&](const Buffer& buffer) {
    const auto is_number = [](const Expr& e) { return isa<IntImmNode>(e); };
    constant &= std::ranges::all_of(buffer->shape, is_number) && std::ranges::all_of(buffer->strides, is_number) &&
                (!buffer->elem_offset || is_number(buffer->elem_offset));
  };
  PreOrder(s, [&](const Stmt& part) {
    if (const auto* allocate = dyn_cast<AllocateNode>(part)) look(allocate->buffer);
    if (const auto* declared = dyn_cast<DeclBufferNode>(part)) look(declared->buffer);
    if (const auto* realize = dyn_cast<BlockRealizeNode>(part)) {
      std::ranges::for_each(realize->block->alloc_buffers, look);
      for (const MatchBuffer& match : realize->block->match_buffers) look(match.buffer);
    }
    return constant;
  });
  return constant;
}

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

// The loops that the spatial iterators of a block depend on, where loops alone give them their values. A loop that no
// iterator depends on repeats instances, whose places may be others each time: nothing is known then. Neither is it
// where each iteration has memory of its own.
class LoopsOfSpatialIterators : public StmtVisitor {
 public:
  using StmtVisitor::Visit;
  explicit LoopsOfSpatialIterators(uint32_t block) : block_(block) {}
  std::unordered_set<const VarNode*> loops;
  bool found = false, known = true;

 protected:
  void VisitFor(const ForNode* op) override {
    sources_[op->var.get()] = {op, {}};
    around_.push_back(op);
    StmtVisitor::VisitFor(op);
    around_.pop_back();
  }
  void VisitAllocate(const AllocateNode* op) override {
    allocated_[op->buffer->data.get()] = around_.size();
    StmtVisitor::VisitAllocate(op);
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    for (const Buffer& buffer : op->block->alloc_buffers) allocated_[buffer->data.get()] = around_.size();
    if (op->block->id == block_) Find(*op);
    for (size_t i = 0; i < op->bindings.size(); ++i) {
      sources_[op->block->iter_vars[i].var.get()] = {nullptr, op->bindings[i]};
    }
    StmtVisitor::VisitBlockRealize(op);
  }

 private:
  struct Source {
    const ForNode* loop = nullptr;
    Expr value;  // of an iterator of a block around
  };
  void Find(const BlockRealizeNode& realize) {
    found = true;
    // Iterations that run at once have registers of their own, in which they never meet.
    known &= std::ranges::all_of(realize.block->writes, [](const BufferRegion& write) {
      return write.buffer->scope.kind() == MemoryKind::kGlobal;
    });
    std::unordered_set<const VarNode*> others;
    for (size_t i = 0; i < realize.bindings.size(); ++i) {
      Collect(realize.bindings[i], realize.block->iter_vars[i].kind == IterKind::kSpatial ? loops : others);
    }
    // Loops outside of an allocation have memory for each iteration.
    size_t outside = 0;
    for (const BufferRegion& write : realize.block->writes) {
      const auto depth = allocated_.find(write.buffer->data.get());
      if (depth != allocated_.end()) outside = std::max(outside, depth->second);
    }
    for (size_t i = 0; i < around_.size(); ++i) {
      const VarNode* var = around_[i]->var.get();
      if (IsInt(around_[i]->extent, 1)) continue;
      known &= loops.contains(var) ? i >= outside : others.contains(var);
    }
  }
  void Collect(const Expr& value, std::unordered_set<const VarNode*>& into) {
    PreOrder(value, [&](const Expr& e) {
      const auto* var = dyn_cast<VarNode>(e);
      if (var == nullptr) {
        known &= !isa<LoadNode>(e);
        return true;
      }
      const auto source = sources_.find(var);
      if (source == sources_.end()) {
        known = false;
      } else if (source->second.loop == nullptr) {
        Collect(Expr(source->second.value), into);
      } else {
        known &= source->second.loop->kind != ForKind::kThreadBound;
        into.insert(var);
      }
      return true;
    });
  }
  const uint32_t block_;
  std::unordered_map<const VarNode*, Source> sources_;
  std::unordered_map<const VarNode*, size_t> allocated_;  // number of loops around the allocation
  std::vector<const ForNode*> around_;
};

class ParallelMaker : public StmtMutator {
 public:
  explicit ParallelMaker(const std::unordered_set<const VarNode*>& loops) : loops_(loops) {}
  using StmtMutator::Mutate;

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    const Stmt inside = StmtMutator::MutateFor(op, self);
    if (!loops_.contains(op->var.get())) return inside;
    ForNode::Fields fields = cast<ForNode>(inside)->fields();
    fields.kind = ForKind::kParallel;
    return For(std::move(fields));
  }

 private:
  const std::unordered_set<const VarNode*>& loops_;
};

}  // namespace

bool IsTooLargeToRun(const Function& function, int64_t max_steps) {
  CountSteps count;
  count.Visit(function->body);
  return count.steps > static_cast<double>(max_steps);
}

bool ExactRun::Shows(const Diagnostic& diagnostic) const {
  if (outcome != ExactOutcome::kClean) return false;
  const std::string_view check = diagnostic.check;
  // Places that the program reads from memory it filled itself were those of every run.
  if (as_written && check == "access bounds") return true;
  if (!diagnostic.enumerable) return false;
  if (as_written) return true;
  if (diagnostic.buffer) return !written_in_part.contains(diagnostic.buffer->data.get());
  return check == "bindings" || (check == "access bounds" && !as_declared.contains(diagnostic.object));
}

ExactRun RunExactly(const Function& function, int64_t max_steps) {
  std::vector<interp::Argument> arguments;
  int64_t elements = 0;
  // A scalar is any number, so that what it decides is a value's business (verify/rewrite/without_values.h).
  const auto is_scalar = [](const Param& param) { return !param.buffer; };
  if (std::ranges::any_of(function->params, is_scalar) && !HasConstantShapes(function->body)) return {};
  for (const Param& param : function->params) {
    if (!param.buffer) {
      arguments.emplace_back(0);
      continue;
    }
    std::vector<int64_t> shape;
    int64_t size = 1;
    for (const Expr& extent : param.buffer->shape) {
      const auto value = AsInt(extent);
      if (!value || *value < 0) return {};
      shape.push_back(*value);
      const int64_t most = max_steps * 16;
      size = *value > most ? most : std::min(size * std::max<int64_t>(*value, 1), most);
    }
    elements += size;
    if (elements > max_steps * 4) return {};
    arguments.emplace_back(NDArray(param.buffer->dtype, std::move(shape)));
  }
  if (IsTooLargeToRun(function, max_steps)) return {};

  ExactRun run;
  const KnownContents known = FindKnownContents(function);
  run.as_written = !DependsOnValues(function, known);
  Function simple = function;
  if (!run.as_written) {
    std::optional<WithoutValues> without = RemoveValues(function, known);
    if (!without) return {};
    simple = std::move(without->function);
    run.written_in_part = std::move(without->written_in_part);
    run.as_declared = std::move(without->as_declared);
  }
  interp::CompileOptions options = interp::CompileOptions::AllChecks();
  options.values_unknown = true;
  options.check_regions = run.as_written;
  const absl::StatusOr<interp::Program> program = interp::Compile(simple, options);
  if (!program.ok()) return {};
  const absl::Status status =
      program->Run(arguments, {.max_steps = 4 * static_cast<uint64_t>(max_steps), .max_memory = int64_t{1} << 28});
  if (!status.ok() && !Detects(status)) return {};
  run.outcome = status.ok() ? ExactOutcome::kClean : ExactOutcome::kFault;
  run.reason = std::string(status.message());
  return run;
}

bool LazyExactRun::IsAsWritten() {
  if (!as_written_) as_written_ = !DependsOnValues(function_, FindKnownContents(function_));
  return *as_written_;
}

bool SpatialInstancesWriteApart(const Function& function, uint32_t block) {
  if (DependsOnValues(function, FindKnownContents(function))) return false;
  LoopsOfSpatialIterators spatial(block);
  spatial.Visit(function->body);
  if (!spatial.found || !spatial.known) return false;
  const Stmt body = ParallelMaker(spatial.loops).Mutate(function->body);
  const ExactRun run = RunExactly(function.WithBody(body, function->next_id));
  return run.as_written && run.outcome == ExactOutcome::kClean;
}

}  // namespace tilewright
