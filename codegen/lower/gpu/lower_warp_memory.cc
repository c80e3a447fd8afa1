#include "codegen/lower/gpu/lower_warp_memory.h"

#include <ranges>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

bool IsWarpMemory(const Scope& scope) { return scope.kind() == MemoryKind::kWarp; }

// The lane of a thread of a kernel, in the ways that indices say it.
class Lane {
 public:
  Lane(const std::vector<const ForNode*>& threads, int64_t warp_size) : var("lane"), warp_size(warp_size) {
    Expr thread = Expr(0);
    for (const char* tag : {"threadIdx.x", "threadIdx.y", "threadIdx.z"}) {
      for (const ForNode* loop : threads) {
        if (loop->thread_tag != tag) continue;
        analyzer_.Bind(loop->var, Range{loop->min, loop->extent});
        thread = thread + CastTo(DataType::Int(32), loop->var) * Expr(threads_);
        if (threads_ == 1 && tag == std::string_view("threadIdx.x")) first_ = loop;
        threads_ *= AsInt(loop->extent).value_or(1);
      }
    }
    thread_ = thread;
    analyzer_.Bind(var, Range{Expr(0), Expr(std::min(warp_size, threads_))});
    value = analyzer_.Simplify(FloorMod(thread, Expr(warp_size)));
  }

  const Var var;
  const int64_t warp_size;
  Expr value;

  // `e` with the lane named by `var`.
  Expr Named(const Expr& e) {
    Expr named = RewriteExpr(e, [&](const Expr& part) -> Expr {
      if (!part.dtype().is_int() || !part.dtype().is_scalar()) return part;
      return arith::SameExpr(CastTo(DataType::Int(32), part), value) ? CastTo(part.dtype(), var) : part;
    });
    // tx = tx // 32 * 32 + lane where x alone numbers the lanes.
    if (first_ != nullptr && AsInt(first_->extent).value_or(1) % warp_size == 0 && UsesVar(named, first_->var)) {
      const DataType type = first_->var.dtype();
      const Var warp("warp", type);
      analyzer_.Bind(warp, Range{Const(type, 0), Const(type, *AsInt(first_->extent) / warp_size)});
      named = Substitute(named, {{first_->var, warp * Const(type, warp_size) + CastTo(type, var)}});
      named = Substitute(analyzer_.Simplify(named), {{warp, FloorDiv(first_->var, Const(type, warp_size))}});
    }
    return analyzer_.Simplify(named);
  }
  Expr Simplify(const Expr& e) { return analyzer_.Simplify(e); }

  // The lanes that exist, as a mask of 32 bits.
  Expr Mask() const {
    const DataType type = DataType::UInt(32);
    const int64_t rest = threads_ % warp_size;
    const Expr all = Const(type, 0xffffffff), some = Const(type, (int64_t{1} << rest) - 1);
    if (rest == 0 || threads_ < warp_size) return rest == 0 ? all : some;
    return Select(thread_ < Expr(threads_ - rest), all, some);
  }

 private:
  arith::Analyzer analyzer_;
  int64_t threads_ = 1;
  Expr thread_;
  const ForNode* first_ = nullptr;
};

// By how much the index grows from lane to lane, for each buffer.
class RunFinder : public Visitor {
 public:
  explicit RunFinder(Lane* lane) : lane_(lane) {}
  using Visitor::Visit;
  std::unordered_map<const VarNode*, int64_t> runs;
  std::string problem;

 protected:
  void VisitStore(const StoreNode* op) override {
    if (IsWarpMemory(op->buffer->scope)) {
      const auto* ramp = dyn_cast<RampNode>(op->indices[0]);
      See(op->buffer->data.get(), ramp == nullptr ? op->indices[0] : ramp->base);
    }
    Visitor::VisitStore(op);
  }
  void VisitCall(const CallNode* op) override {
    const auto* data = op->op == kAccessPtr ? dyn_cast<VarNode>(op->args[1]) : nullptr;
    if (data != nullptr && memories.contains(data)) See(data, op->args[2]);
    Visitor::VisitCall(op);
  }
  void VisitAllocate(const AllocateNode* op) override {
    if (IsWarpMemory(op->buffer->scope)) memories.emplace(op->buffer->data.get(), op->buffer);
    Visitor::VisitAllocate(op);
  }

 public:
  std::unordered_map<const VarNode*, Buffer> memories;

 private:
  void See(const VarNode* data, const Expr& index) {
    const Expr named = lane_->Named(index);
    const Expr next = Substitute(named, {{lane_->var, lane_->var + 1}});
    const auto run = AsInt(lane_->Simplify(next - named));
    if (!run || *run <= 0) {
      problem = data->name;
      return;
    }
    const auto [known, first] = runs.emplace(data, *run);
    if (!first && known->second != *run) problem = data->name;
  }
  Lane* lane_;
};

class Lowerer : public Mutator {
 public:
  using Mutator::Mutate;
  Lowerer(Lane* lane, RunFinder finder) : lane_(lane) {
    problem = finder.problem;
    for (const auto& [data, buffer] : finder.memories) {
      const auto run = finder.runs.find(data);
      const auto elements = AsInt(buffer->shape[0]);
      if (run == finder.runs.end()) continue;
      if (!elements || *elements % (lane_->warp_size * run->second) != 0) {
        problem = buffer->name;
        continue;
      }
      BufferNode::Fields fields = buffer->fields();
      fields.shape = {Expr(*elements / lane_->warp_size)};
      fields.scope = Scope::Parse("local");
      fields.data = Var(buffer->data.name(), buffer->data.dtype());
      local_.emplace(data, Own{Buffer(fields), run->second});
    }
  }
  std::string problem;

  // Lanes that exchange values do so together: a value that some lanes do not need, behind `or` or in a choice, is
  // exchanged before the statement.
  Stmt Mutate(const Stmt& s) override {
    std::vector<std::pair<Var, Expr>> outer = std::exchange(exchanged_, {});
    Stmt result = Mutator::Mutate(s);
    if (!exchanged_.empty() && isa<WhileNode>(s)) problem = "in the condition of a loop";
    for (auto& [name, value] : exchanged_ | std::views::reverse) {
      result = LetStmt(name, value, std::move(result));
    }
    exchanged_ = std::move(outer);
    return result;
  }

 protected:
  Expr MutateBinary(const BinaryNode* op, const Expr& self) override {
    if (!IsLogic(op->op)) return Mutator::MutateBinary(op, self);
    const Expr a = Mutate(op->a), b = MutateChosen(op->b);
    return a.same_as(op->a) && b.same_as(op->b) ? self : Expr(new BinaryNode(op->op, a, b));
  }
  Expr MutateSelect(const SelectNode* op, const Expr& self) override {
    const Expr c = Mutate(op->condition), a = MutateChosen(op->true_value), b = MutateChosen(op->false_value);
    const bool same = c.same_as(op->condition) && a.same_as(op->true_value) && b.same_as(op->false_value);
    return same ? self : Select(c, a, b);
  }
  Stmt MutateAllocate(const AllocateNode* op, const Stmt& self) override {
    const Own* own = OwnOf(op->buffer->data.get());
    if (own == nullptr) return Mutator::MutateAllocate(op, self);
    return Stmt(new AllocateNode(own->buffer, op->annotations, Mutate(op->body)));
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    const Own* own = OwnOf(op->buffer->data.get());
    if (own == nullptr) return Mutator::MutateStore(op, self);
    return Store(own->buffer, Mutate(op->value), {OwnIndex(*own, op->indices[0], op->buffer->name)},
                 Mutate(op->predicate));
  }
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    const Own* own = OwnOf(op->buffer->data.get());
    if (own == nullptr) return Mutator::MutateLoad(op, self);
    const Expr index = op->indices[0];
    if (index.dtype().is_scalar() && !IsOwn(*own, index)) return Shuffle(*own, index, op->buffer->name);
    return own->buffer.Load({OwnIndex(*own, index, op->buffer->name)}, Mutate(op->predicate));
  }
  Expr MutateCall(const CallNode* op, const Expr& self) override {
    const auto* data = op->op == kAccessPtr ? dyn_cast<VarNode>(op->args[1]) : nullptr;
    const Own* own = data == nullptr ? nullptr : OwnOf(data);
    if (own == nullptr && op->op == kIfThenElse) {
      return Call(op->dtype(), op->op, {Mutate(op->args[0]), MutateChosen(op->args[1]), MutateChosen(op->args[2])});
    }
    if (own == nullptr) return Mutator::MutateCall(op, self);
    std::vector<Expr> args = op->args;
    args[1] = own->buffer->data;
    args[2] = OwnIndex(*own, args[2], own->buffer->name);
    return Call(op->dtype(), op->op, std::move(args));
  }
  Stmt MutateSync(const SyncNode* op, const Stmt& self) override {
    return op->sync == SyncKind::kBarrier && IsWarpMemory(op->memory) ? Sequence({}) : self;
  }

 private:
  struct Own {
    Buffer buffer;
    int64_t run;
  };
  const Own* OwnOf(const VarNode* data) const {
    const auto known = local_.find(data);
    return known == local_.end() ? nullptr : &known->second;
  }

  Expr LaneOf(const Own& own, const Expr& named) {
    return lane_->Simplify(
        FloorMod(FloorDiv(named, Const(named.dtype(), own.run)), Const(named.dtype(), lane_->warp_size)));
  }
  Expr PositionOf(const Own& own, const Expr& named) {
    const DataType type = named.dtype();
    const Expr group = FloorDiv(named, Const(type, own.run * lane_->warp_size));
    return lane_->Simplify(group * Const(type, own.run) + FloorMod(named, Const(type, own.run)));
  }
  bool IsOwn(const Own& own, const Expr& index) {
    const Expr lane = LaneOf(own, lane_->Named(index));
    return arith::SameExpr(CastTo(DataType::Int(32), lane), lane_->var);
  }
  // The index at which the lane keeps an element of its own.
  Expr OwnIndex(const Own& own, const Expr& index, const std::string& name) {
    if (const auto* ramp = dyn_cast<RampNode>(index)) {
      return Ramp(OwnIndex(own, ramp->base, name), ramp->stride, index.dtype().lanes());
    }
    const Expr position = PositionOf(own, lane_->Named(index));
    if (!IsOwn(own, index) || UsesVar(position, lane_->var)) problem = name;
    return position;
  }
  Expr Shuffle(const Own& own, const Expr& index, const std::string& name) {
    const Expr named = lane_->Named(index);
    const Expr position = PositionOf(own, named);
    if (UsesVar(position, lane_->var)) {
      // The operands of a bitwise operation have no known bits: one element a lane has one position.
      if (own.run != 1 || !IsInt(own.buffer->shape[0], 1)) problem = name;
    }
    const bool single = IsInt(own.buffer->shape[0], 1);
    const Expr value = own.buffer.Load({single ? Expr(0) : position});
    const auto* call = dyn_cast<CallNode>(index);
    if (call != nullptr && call->op == "bitwise_xor" && own.run == 1 && AsInt(call->args[1]) &&
        IsOwn(own, call->args[0])) {
      return ShuffleOf(value, "cuda.shfl_xor_sync", call->args[1]);
    }
    return ShuffleOf(value, "cuda.shfl_sync", Substitute(LaneOf(own, named), {{lane_->var, lane_->value}}));
  }
  // Lanes exchange registers of 32 bits: narrower integers and truth values are widened for that.
  Expr ShuffleOf(const Expr& value, std::string_view shuffle, const Expr& lane) {
    const DataType type = value.dtype();
    const bool narrow = type.is_scalar() && (type.is_integer() || type.is_bool()) && type.bits() < 32;
    const DataType sent = !narrow ? type : type.is_int() ? DataType::Int(32) : DataType::UInt(32);
    const Expr lanes = CastTo(DataType::Int(32), lane);
    const Expr got = CastTo(type, Call(sent, std::string(shuffle), {lane_->Mask(), CastTo(sent, value), lanes}));
    if (choices_ == 0) return got;
    exchanged_.emplace_back(Var("exchanged", type), got);
    return exchanged_.back().first;
  }
  Expr MutateChosen(const Expr& e) {
    ++choices_;
    Expr result = Mutate(e);
    --choices_;
    return result;
  }

  Lane* lane_;
  int choices_ = 0;                              // around the expression: it may be evaluated by some lanes only
  std::vector<std::pair<Var, Expr>> exchanged_;  // named before the statement
  std::unordered_map<const VarNode*, Own> local_;
};

class KernelLowerer : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  explicit KernelLowerer(int64_t warp_size) : warp_size_(warp_size) {}
  absl::Status status;

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    if (op->kind != ForKind::kThreadBound) return StmtMutator::MutateFor(op, self);
    threads_.push_back(op);
    const auto* inner = dyn_cast<ForNode>(op->body);
    ForNode::Fields fields = op->fields();
    if (inner != nullptr && inner->kind == ForKind::kThreadBound) {
      fields.body = Mutate(op->body);
    } else {
      fields.body = Body(op->body);
    }
    threads_.pop_back();
    return fields.body.same_as(op->body) ? self : For(std::move(fields));
  }

 private:
  Stmt Body(const Stmt& body) {
    Lane lane(threads_, warp_size_);
    RunFinder finder(&lane);
    finder.Visit(body);
    Lowerer lowerer(&lane, std::move(finder));
    Stmt result = lowerer.Mutate(body);
    if (!lowerer.problem.empty() && status.ok()) {
      status = absl::InvalidArgumentError(
          absl::StrCat("memory ", lowerer.problem, " of a warp: which lane keeps an element cannot be seen"));
    }
    return result;
  }
  const int64_t warp_size_;
  std::vector<const ForNode*> threads_;
};

}  // namespace

absl::StatusOr<Function> LowerWarpMemory(const Function& function, const GpuTarget& gpu) {
  KernelLowerer lowerer(gpu.warp_size);
  Stmt body = lowerer.Mutate(function->body);
  if (!lowerer.status.ok()) return lowerer.status;
  return function.WithBody(std::move(body), function->next_id);
}

}  // namespace tilewright
