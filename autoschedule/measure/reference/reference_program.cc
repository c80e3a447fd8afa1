#include "autoschedule/measure/reference/reference_program.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autoschedule/measure/reference/error_bounds.h"
#include "autoschedule/measure/reference/fast_order.h"
#include "ir/analysis.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/same_expr.h"
#include "ir/functor.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

// The terms of a sum whose extents are not known.
constexpr int64_t kManyTerms = 1 << 20;

class ReferenceBuilder : public Mutator {
 public:
  ReferenceBuilder(std::set<const VarNode*> inexact, const VarMap& extents)
      : inexact_(std::move(inexact)),
        extents_(extents),
        bounds_([this](const Buffer& buffer) { return Find(buffer); }) {}

  ReferenceProgram Run(const Function& main) {
    ReferenceProgram result;
    result.written = WrittenParams(main);
    FunctionNode::Fields fields = main->fields();
    fields.params.clear();
    for (size_t i = 0; i < main->params.size(); ++i) {
      const Param& param = main->params[i];
      result.value.push_back(static_cast<int>(fields.params.size()));
      result.error.push_back(-1);
      if (!param.buffer || !result.written[i]) {
        fields.params.push_back(param);
        continue;
      }
      const BoundedBuffer& pair = Define(param.buffer);
      fields.params.push_back({Var(param.buffer->name, DataType::Handle()), pair.value});
      if (!pair.error) continue;
      result.error.back() = static_cast<int>(fields.params.size());
      fields.params.push_back({Var(pair.error->name, DataType::Handle()), pair.error});
    }
    fields.body = Mutate(main->body);
    result.function = Function(std::move(fields));
    return result;
  }

  // What has no bound; empty when everything has.
  const std::string& refusal() const { return bounds_.refusal(); }
  // Buffers that turned out to hold inexact values; more than before: everything is to be done again.
  const std::set<const VarNode*>& inexact() const { return inexact_; }

  using Mutator::Mutate;
  // What decides where to go and which elements to touch.
  Expr Mutate(const Expr& e) override {
    if (!e) return e;
    const Bounded bounded = bounds_.VisitApart(e);
    if (bounded.error) Refuse("an index or a number of iterations that depends on rounding");
    return bounded.value;
  }

 protected:
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    if (op->predicate || !op->value.dtype().is_scalar()) return Refuse("a vector operation"), self;
    ErrorBounds::Bindings outer = bounds_.ExchangeBindings({});
    const std::vector<Expr> indices = MutateAll(op->indices);
    const BoundedBuffer pair = Find(op->buffer);
    const Expr term = SummedTerm(op);
    Expr value, error;
    if (term && op->value.dtype().is_float()) {
      const Bounded x = bounds_.Bind(bounds_.Visit(term));
      const double terms = Extent(op), roundings = terms + 2;
      const double c = std::min(roundings, 8 * std::sqrt(roundings)) * UnitRoundoff(op->value.dtype());
      Expr own = x.error ? x.error + Double(c) * (Magnitude(x.value) + x.error) : Double(c) * Magnitude(x.value);
      if (!StartsAtZero(op)) own = own + Double(c / terms) * Magnitude(pair.value.Load(indices));
      value = pair.value.Load(indices) + x.value;
      error = pair.error ? pair.error.Load(indices) + own : own;
    } else {
      const Bounded x = bounds_.Bind(bounds_.Visit(op->value));
      value = x.value;
      error = x.error;
    }
    if (error && error.dtype().is_bool()) error = Select(error, Double(1), Double(0));
    if (!term || op->buffer->dtype.bits() < 32) bounds_.Overflow(op->buffer->dtype, &value, &error);
    if (error) inexact_.insert(op->buffer->data.get());
    if (anything_) {
      inexact_.insert(op->buffer->data.get());
      bounds_.ExchangeBindings(std::move(outer));
      return pair.error ? Store(pair.error, Double(kUnbounded), indices) : Evaluate(Expr(0));
    }
    std::vector<Stmt> stores;
    // The bound may be computed from the old value, never the other way round.
    if (pair.error) stores.push_back(Store(pair.error, error ? error : Double(0), indices));
    stores.push_back(Store(pair.value, value, indices));
    Stmt result = Sequence(std::move(stores));
    const ErrorBounds::Bindings own = bounds_.ExchangeBindings(std::move(outer));
    for (size_t i = own.size(); i-- > 0;) result = LetStmt(own[i].first, own[i].second, result);
    return result;
  }

  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    loops_.push_back(op);
    Stmt result = Mutator::MutateFor(op, self);
    loops_.pop_back();
    return result;
  }

  Stmt MutateLetStmt(const LetStmtNode* op, const Stmt&) override {
    const Bounded value = bounds_.VisitApart(op->value);
    const Bounded bound = bounds_.BindVar(op->var, value);
    Stmt body = Mutate(op->body);
    if (bound.error) body = LetStmt(Var(cast<VarNode>(bound.error)), value.error, body);
    return LetStmt(Var(cast<VarNode>(bound.value)), value.value, body);
  }

  // If rounding may decide otherwise, what either branch stores may be anything.
  Stmt MutateIf(const IfNode* op, const Stmt&) override {
    const Bounded condition = bounds_.VisitApart(op->condition);
    const auto choose = [&](const Expr& value) {
      return If(value, Mutate(op->then_case), op->else_case ? Mutate(op->else_case) : Stmt());
    };
    if (!condition.error) return choose(condition.value);
    // What is stored may be what the condition depends on.
    const Var holds("c", DataType::Bool()), unsure("c_error", DataType::Bool());
    Stmt chosen = choose(holds);
    const bool before = std::exchange(anything_, true);
    Stmt either = Mutate(op->then_case);
    if (op->else_case) either = Sequence({either, Mutate(op->else_case)});
    anything_ = before;
    Stmt both = Sequence({chosen, If(unsure, either, Stmt())});
    return LetStmt(holds, condition.value, LetStmt(unsure, condition.error, both));
  }

  Stmt MutateEvaluate(const EvaluateNode* op, const Stmt& self) override {
    if (arith::HasEffect(op->value)) return Refuse("an expression evaluated for its effect"), self;
    return Evaluate(Expr(0));
  }
  Stmt MutateDeclBuffer(const DeclBufferNode* op, const Stmt& self) override {
    const auto whole = whole_.find(op->buffer->data.get());
    if (whole == whole_.end() || whole->second->dtype != op->buffer->dtype) {
      return Refuse("a view of a buffer as another type"), self;
    }
    const BoundedBuffer of = Find(whole->second);
    BoundedBuffer pair{.value = View(op->buffer, of.value), .error = {}};
    if (of.error) pair.error = View(op->buffer, of.error);
    buffers_[op->buffer.get()] = pair;
    Stmt body = Mutate(op->body);
    if (pair.error) body = Stmt(new DeclBufferNode(pair.error, std::move(body)));
    return Stmt(new DeclBufferNode(pair.value, std::move(body)));
  }
  Stmt MutateSync(const SyncNode*, const Stmt& self) override { return Refuse("synchronization"), self; }
  Stmt MutateAllocate(const AllocateNode* op, const Stmt&) override {
    const BoundedBuffer pair = Define(op->buffer);
    Stmt body = Mutate(op->body);
    if (pair.error) body = Stmt(new AllocateNode(pair.error, op->annotations, std::move(body)));
    return Stmt(new AllocateNode(pair.value, op->annotations, std::move(body)));
  }

  Block MutateBlock(const Block& block) override {
    if (!block->match_buffers.empty()) return Refuse("a part of a buffer under another name"), block;
    BlockNode::Fields fields = block->fields();
    fields.alloc_buffers.clear();
    for (const Buffer& buffer : block->alloc_buffers) {
      const BoundedBuffer& pair = Define(buffer);
      fields.alloc_buffers.push_back(pair.value);
      if (pair.error) fields.alloc_buffers.push_back(pair.error);
    }
    fields.reads = Regions(block->reads);
    fields.writes = Regions(block->writes);
    std::vector<const ForNode*> loops;
    std::swap(loops, loops_);
    const BlockNode* outer = std::exchange(block_, block.get());
    if (block->init) fields.init = Mutate(block->init);
    fields.body = Mutate(block->body);
    block_ = outer;
    std::swap(loops, loops_);
    return Block(std::move(fields));
  }

 private:
  void Refuse(std::string_view what) { bounds_.Refuse(what); }

  // The same elements as `view` has of its buffer, of `whole`.
  static Buffer View(const Buffer& view, const Buffer& whole) {
    BufferNode::Fields fields = view->fields();
    fields.dtype = whole->dtype;
    fields.data = whole->data;
    return Buffer(std::move(fields));
  }

  const BoundedBuffer& Define(const Buffer& buffer) {
    whole_.emplace(buffer->data.get(), buffer);
    BufferNode::Fields fields{
        .name = buffer->name, .dtype = buffer->dtype.is_float() ? kDouble : buffer->dtype, .shape = buffer->shape};
    BoundedBuffer pair{.value = Buffer(fields), .error = {}};
    if (inexact_.contains(buffer->data.get())) {
      fields.name += "_error";
      fields.dtype = kDouble;
      pair.error = Buffer(std::move(fields));
    }
    return buffers_[buffer.get()] = pair;
  }
  BoundedBuffer Find(const Buffer& buffer) const {
    const auto found = buffers_.find(buffer.get());
    return found == buffers_.end() ? BoundedBuffer{.value = buffer, .error = {}} : found->second;
  }
  std::vector<BufferRegion> Regions(const std::vector<BufferRegion>& regions) {
    std::vector<BufferRegion> result;
    for (const BufferRegion& region : regions) {
      const BoundedBuffer pair = Find(region.buffer);
      const BufferRegion mapped = MutateRegion(region);
      result.push_back({pair.value, mapped.region});
      if (pair.error) result.push_back({pair.error, mapped.region});
    }
    return result;
  }

  // x of `B[i] = B[i] + x`.
  static Expr SummedTerm(const StoreNode* store) {
    const auto* sum = dyn_cast<BinaryNode>(store->value);
    if (sum == nullptr || sum->op != BinaryOp::kAdd) return {};
    const auto is_same = [&](const Expr& e) {
      const auto* load = dyn_cast<LoadNode>(e);
      if (load == nullptr || !load->buffer.same_as(store->buffer)) return false;
      for (size_t i = 0; i < load->indices.size(); ++i) {
        if (!StructuralEqual(load->indices[i], store->indices[i])) return false;
      }
      return true;
    };
    if (is_same(sum->a)) return sum->b;
    if (is_same(sum->b)) return sum->a;
    return {};
  }

  // Whether the block sets what the store adds to to zero before.
  bool StartsAtZero(const StoreNode* sum) const {
    const auto* init = block_ == nullptr || !block_->init ? nullptr : dyn_cast<StoreNode>(block_->init);
    const auto* zero = init == nullptr ? nullptr : dyn_cast<FloatImmNode>(init->value);
    return zero != nullptr && zero->value == 0 && init->buffer.same_as(sum->buffer);
  }

  // How many terms are added to one element: the iterations of what its indices do not depend on.
  double Extent(const StoreNode* store) const {
    double product = 1;
    const auto count = [&](const Var& var, const Expr& extent) {
      for (const Expr& index : store->indices) {
        if (UsesVar(index, var)) return;
      }
      const auto terms = AsInt(arith::Simplify(Substitute(extent, extents_)));
      product *= static_cast<double>(terms.value_or(kManyTerms));
    };
    if (block_ != nullptr) {
      for (const IterVar& iter : block_->iter_vars) count(iter.var, iter.domain.extent);
    }
    for (const ForNode* loop : loops_) count(loop->var, loop->extent);
    return product;
  }

  std::set<const VarNode*> inexact_;
  const VarMap& extents_;
  std::unordered_map<const BufferNode*, BoundedBuffer> buffers_;
  std::unordered_map<const VarNode*, Buffer> whole_;  // buffers that are not views, by their data
  bool anything_ = false;                             // what is stored here may be anything
  std::vector<const ForNode*> loops_;                 // inside of the block
  const BlockNode* block_ = nullptr;
  ErrorBounds bounds_;
};

}  // namespace

std::vector<bool> WrittenParams(const Function& function) {
  std::set<const VarNode*> written;
  PreOrder(function->body, [&](const Stmt& s) {
    if (const auto* store = dyn_cast<StoreNode>(s)) written.insert(store->buffer->data.get());
    return true;
  });
  std::vector<bool> result;
  for (const Param& param : function->params) {
    result.push_back(param.buffer && written.contains(param.buffer->data.get()));
  }
  return result;
}

absl::StatusOr<ReferenceProgram> MakeReferenceProgram(const Function& main, const VarMap& extents) {
  const Function ordered = FastOrder(main);
  std::set<const VarNode*> inexact;
  for (;;) {
    ReferenceBuilder builder(inexact, extents);
    ReferenceProgram program = builder.Run(ordered);
    if (!builder.refusal().empty()) {
      return absl::UnimplementedError(absl::StrCat("no reference for ", builder.refusal()));
    }
    if (builder.inexact().size() == inexact.size()) return program;
    inexact = builder.inexact();
  }
}

}  // namespace tilewright
