#include "autoschedule/cost/program_facts.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "autoschedule/cost/operations.h"
#include "autoschedule/cost/registers.h"
#include "autoschedule/cost/take_apart.h"
#include "autoschedule/cost/unread_vectors.h"
#include "autoschedule/program/sizes.h"
#include "ir/analysis.h"
#include "ir/annotations.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/same_expr.h"
#include "ir/builtin.h"

namespace tilewright {
namespace {

int64_t IntOr(const Expr& e, int64_t otherwise) { return e ? AsInt(e).value_or(otherwise) : otherwise; }

class Gatherer {
 public:
  explicit Gatherer(ProgramFacts* facts) : facts_(*facts) {}

  void Run(const Function& function) {
    for (const Param& param : function->params) {
      if (param.buffer) facts_.buffers[static_cast<size_t>(BufferOf(param.buffer))].param = true;
    }
    Visit(function->body);
    DropUnreadVectors(&facts_);
  }

 private:
  // A sub-buffer of a block: index d of the sub-buffer is index `first + d` of the buffer, after what the block adds.
  struct View {
    int buffer;
    size_t first;
    std::vector<IndexForm> offset;
  };

  void Visit(const Stmt& s) {
    switch (s->kind()) {
      case Kind::kFor:
        return VisitFor(dyn_cast<ForNode>(s));
      case Kind::kSeq:
        for (const Stmt& child : dyn_cast<SeqNode>(s)->stmts) Visit(child);
        return;
      case Kind::kBlockRealize:
        return VisitBlock(dyn_cast<BlockRealizeNode>(s));
      case Kind::kStore:
        return VisitStore(dyn_cast<StoreNode>(s));
      case Kind::kIf: {
        const auto* branch = dyn_cast<IfNode>(s);
        const double share = Share(branch->condition);
        WithShare(share, [&] { Under(branch->condition, [&] { Visit(branch->then_case); }); });
        if (branch->else_case) WithShare(1 - share, [&] { Visit(branch->else_case); });
        return;
      }
      case Kind::kWhile:
        return Visit(dyn_cast<WhileNode>(s)->body);
      case Kind::kLetStmt: {
        const auto* let = dyn_cast<LetStmtNode>(s);
        Compute(let->value);
        Bind(let->var, let->value);
        return Visit(let->body);
      }
      case Kind::kAttrStmt:
        return VisitAttrStmt(dyn_cast<AttrStmtNode>(s));
      case Kind::kAllocate:
        return Visit(dyn_cast<AllocateNode>(s)->body);
      case Kind::kDeclBuffer:
        return Visit(dyn_cast<DeclBufferNode>(s)->body);
      case Kind::kEvaluate:
        Compute(dyn_cast<EvaluateNode>(s)->value);
        return;
      default:
        return;
    }
  }

  void VisitAttrStmt(const AttrStmtNode* attr) {
    const auto* call = attr->key == kCudaInstruction ? dyn_cast<CallNode>(attr->value) : nullptr;
    const std::string_view outer = std::exchange(instruction_, call != nullptr ? call->op : instruction_);
    Visit(attr->body);
    instruction_ = outer;
  }

  void VisitFor(const ForNode* loop) {
    const int parent = place_;
    const int depth = parent < 0 ? 0 : facts_.loops[static_cast<size_t>(parent)].depth + 1;
    const auto extent = AsInt(loop->extent);
    place_ = static_cast<int>(facts_.loops.size());
    const bool known = extent.has_value() && (parent < 0 || facts_.loops[static_cast<size_t>(parent)].known);
    const int64_t likely = extent ? *extent : MeanOf(loop->extent);
    facts_.loops.push_back({loop, parent, depth, std::max<int64_t>(likely, 1), loop->kind, known});
    analyzer_.Bind(loop->var, {loop->min, loop->extent});
    IndexForm form = loop->min ? Form(loop->min) : IndexForm{};
    if (facts_.loops.back().extent > 1) form.terms.push_back({place_, 1, facts_.loops.back().extent, 1});
    env_[loop->var.get()] = std::move(form);
    Visit(loop->body);
    place_ = parent;
  }

  int64_t MeanOf(const Expr& extent) {
    const arith::Bounds bounds = analyzer_.ConstBounds(extent);
    return bounds.IsFinite() ? (std::max<int64_t>(bounds.min, 0) + bounds.max + 1) / 2 : kUnknownExtent;
  }

  void VisitBlock(const BlockRealizeNode* realize) {
    const BlockNode& block = *realize->block;
    double first = 1;  // the part of all instances in which the reduction starts
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      const IterVar& iter = block.iter_vars[i];
      const IndexForm& form = Bind(iter.var, realize->bindings[i]);
      if (iter.kind != IterKind::kReduce) continue;
      for (const IndexTerm& term : form.terms) first /= static_cast<double>(term.extent);
    }
    for (const MatchBuffer& match : block.match_buffers) BindView(match);
    const BlockNode* outer = block_;
    WithShare(Share(realize->predicate), [&] {
      if (block.init) WithShare(first, [&] { Visit(block.init); });
      block_ = &block;
      Under(realize->predicate, [&] { Visit(block.body); });
      block_ = outer;
    });
  }

  void VisitStore(const StoreNode* store) {
    const size_t first_operation = facts_.operations.size();
    const int buffer = BufferOf(store->buffer);
    FindNonzeros(store, &facts_.buffers[static_cast<size_t>(buffer)]);
    const bool accumulates = ReadsItself(store);
    summed_ = accumulates ? buffer : -1;
    Compute(store->value);
    summed_ = -1;
    AccessFacts& access = AddAccess(store->buffer, store->indices, /*write=*/true);
    access.accumulates = accumulates;
    if (access.accumulates && facts_.operations.size() > first_operation) facts_.operations.back().accumulates = true;
  }

  // Finds where a store of if_then_else(condition, x, 0) takes x.
  void FindNonzeros(const StoreNode* store, BufferFacts* buffer) {
    const Expr* condition = nullptr;
    if (const auto* call = dyn_cast<CallNode>(store->value); call != nullptr && call->op == kIfThenElse) {
      if (IsZero(call->args[2])) condition = &call->args[0];
    } else if (const auto* select = dyn_cast<SelectNode>(store->value)) {
      if (IsZero(select->false_value)) condition = &select->condition;
    }
    if (condition == nullptr) return;
    buffer->nonzero = Share(*condition);
    std::vector<IndexForm> index;
    std::vector<std::pair<int64_t, int64_t>> box;
    for (const Expr& e : store->indices) {
      index.push_back(Form(e));
      box.emplace_back(index.back().Min(), index.back().Max());
    }
    if (Clip(*condition, index, &box)) buffer->nonzero_box = std::move(box);
  }

  // Narrows a box to the elements for which a condition holds; false when that is not a box.
  bool Clip(const Expr& condition, const std::vector<IndexForm>& index,
            std::vector<std::pair<int64_t, int64_t>>* box) const {
    const auto* op = dyn_cast<BinaryNode>(condition);
    if (op == nullptr) return IsTrue(condition);
    if (op->op == BinaryOp::kAnd) {
      const bool first = Clip(op->a, index, box), second = Clip(op->b, index, box);
      return first && second;
    }
    const bool less = op->op == BinaryOp::kLT || op->op == BinaryOp::kLE;
    if (!less && op->op != BinaryOp::kGT && op->op != BinaryOp::kGE) return false;
    // At least zero where the condition holds.
    IndexForm rest = less ? Add(Form(op->b), Scale(Form(op->a), -1)) : Add(Form(op->a), Scale(Form(op->b), -1));
    if (op->op == BinaryOp::kLT || op->op == BinaryOp::kGT) --rest.base;
    for (size_t d = 0; d < index.size(); ++d) {
      if (index[d].terms.empty()) continue;
      const IndexForm above = Add(rest, Scale(index[d], -1)), below = Add(rest, index[d]);
      if (above.terms.empty()) {
        (*box)[d].first = std::max((*box)[d].first, -above.base);
        return true;
      }
      if (below.terms.empty()) {
        (*box)[d].second = std::min((*box)[d].second, below.base);
        return true;
      }
    }
    return false;
  }

  // Records what it takes to compute a value (indices are free: they become addresses); returns what it varies with.
  LoopMask Compute(const Expr& e) {
    switch (e->kind()) {
      case Kind::kVar:
        return Varies(Form(e));
      case Kind::kBinary:
        return ComputeBinary(dyn_cast<BinaryNode>(e));
      case Kind::kNot:
        return Compute(dyn_cast<NotNode>(e)->a);
      case Kind::kSelect: {
        const auto* op = dyn_cast<SelectNode>(e);
        if (op->condition.dtype().is_bool() && ShareIsKnown(op->condition))
          return ComputeBranches(op->condition, op->true_value, op->false_value);
        const LoopMask varies = Compute(op->condition) | Compute(op->true_value) | Compute(op->false_value);
        return Record({OperationKind::kArithmetic, e.dtype()}, varies);
      }
      case Kind::kCast: {
        const auto* op = dyn_cast<CastNode>(e);
        return Record({OperationKind::kConvert, e.dtype(), op->value.dtype()}, Compute(op->value));
      }
      case Kind::kLoad:
        return ComputeLoad(dyn_cast<LoadNode>(e));
      case Kind::kRamp:
        return Compute(dyn_cast<RampNode>(e)->base);
      case Kind::kBroadcast:
        return Compute(dyn_cast<BroadcastNode>(e)->value);
      case Kind::kShuffle: {
        LoopMask varies = 0;
        for (const Expr& vector : dyn_cast<ShuffleNode>(e)->vectors) varies |= Compute(vector);
        return Record({OperationKind::kArithmetic, e.dtype()}, varies);
      }
      case Kind::kLet: {
        const auto* let = dyn_cast<LetNode>(e);
        const LoopMask varies = Compute(let->value);
        Bind(let->var, let->value);
        return varies | Compute(let->body);
      }
      case Kind::kCall:
        return ComputeCall(dyn_cast<CallNode>(e));
      default:
        return 0;
    }
  }

  LoopMask ComputeBinary(const BinaryNode* op) {
    // A comparison of places is a condition of loops; elements that are integers of the same types are loaded.
    const bool of_places = op->a.dtype().is_index() && !arith::ReadsMemory(op->a) && !arith::ReadsMemory(op->b);
    if (op->dtype().is_bool() && of_places) return Varies(Form(op->a)) | Varies(Form(op->b));
    // a + b * c.
    for (const auto& [sum, product] : {std::pair(&op->a, &op->b), std::pair(&op->b, &op->a)}) {
      const auto* mul = dyn_cast<BinaryNode>(*product);
      if ((op->op != BinaryOp::kAdd && op->op != BinaryOp::kSub) || mul == nullptr || mul->op != BinaryOp::kMul)
        continue;
      const LoopMask varies = Compute(*sum) | Compute(mul->a) | Compute(mul->b);
      return Record(
          {.kind = OperationKind::kMultiplyAdd, .dtype = op->dtype(), .operand = MultipliedType(mul->a, mul->b)},
          varies, NonzeroUse(mul->a) * NonzeroUse(mul->b));
    }
    const bool divides = op->op == BinaryOp::kDiv || op->op == BinaryOp::kMod || op->op == BinaryOp::kFloorDiv ||
                         op->op == BinaryOp::kFloorMod;
    const LoopMask varies = Compute(op->a) | Compute(op->b);
    return Record({divides ? OperationKind::kDivide : OperationKind::kArithmetic, op->a.dtype()}, varies);
  }

  LoopMask ComputeCall(const CallNode* call) {
    if (call->op == kIfThenElse) return ComputeBranches(call->args[0], call->args[1], call->args[2]);
    const OperationKind kind = KindOfCall(call->op);
    LoopMask varies = 0;
    double nonzero = 1;
    for (const Expr& arg : call->args) {
      if (arg.dtype().is_handle()) continue;
      varies |= Compute(arg);
    }
    OperationFacts operation{.kind = kind, .dtype = call->dtype(), .callee = call->op};
    if (kind == OperationKind::kDot && call->args.size() == 3) {
      operation.operand = MultipliedType(call->args[1], call->args[2]);
      operation.products = std::max(1, call->args[1].dtype().lanes() / std::max(1, call->dtype().lanes()));
      nonzero = NonzeroUse(call->args[1]) * NonzeroUse(call->args[2]);
    }
    if (kind == OperationKind::kTiles) {
      const auto size = [&](size_t from_end) {
        return static_cast<int>(IntOr(call->args[call->args.size() - from_end], 1));
      };
      operation.rows = size(4) * size(3);
      operation.columns = size(2);
      operation.products = operation.rows * operation.columns * size(1);
      if (block_ != nullptr && !block_->reads.empty()) operation.operand = block_->reads.back().buffer->dtype;
    }
    if ((kind == OperationKind::kCall || kind == OperationKind::kTiles) && block_ != nullptr) {
      for (const BufferRegion& region : block_->reads) AddRegion(region, false);
      for (const BufferRegion& region : block_->writes) AddRegion(region, true);
      varies = ~LoopMask{0};
    }
    return Record(operation, varies, nonzero);
  }

  // Only one of the values is computed.
  LoopMask ComputeBranches(const Expr& condition, const Expr& a, const Expr& b) {
    const double share = Share(condition);
    LoopMask varies = ShareIsKnown(condition) ? 0 : Compute(condition);
    WithShare(share, [&] { varies |= Compute(a); });
    WithShare(1 - share, [&] { varies |= Compute(b); });
    return varies;
  }

  LoopMask ComputeLoad(const LoadNode* load) {
    const AccessFacts& access = AddAccess(load->buffer, load->indices, false);
    if (load->buffer->scope.kind() == MemoryKind::kRegister && access.buffer != summed_) Read(access);
    return access.varies;
  }

  // Widens what is read of a buffer.
  void Read(const AccessFacts& access) {
    std::vector<std::pair<int64_t, int64_t>> box;
    for (size_t d = 0; d < access.index.size(); ++d) {
      // The nearest form of an index that has none may be anywhere.
      const IndexForm& index = access.index[d];
      const int64_t extent = facts_.buffers[static_cast<size_t>(access.buffer)].shape[d];
      box.emplace_back(index.exact ? index.Min() : 0, index.exact ? index.Max() + access.width[d] - 1 : extent - 1);
    }
    for (const Expr* condition : conditions_) Clip(*condition, access.index, &box);
    auto& read = facts_.buffers[static_cast<size_t>(access.buffer)].read;
    if (read.empty()) read = box;
    for (size_t d = 0; d < box.size() && d < read.size(); ++d) {
      read[d] = {std::min(read[d].first, box[d].first), std::max(read[d].second, box[d].second)};
    }
  }

  // The part of its uses in which a factor is not a zero of a padding, or between the strides of a transposed
  // convolution.
  double NonzeroUse(const Expr& factor) {
    const Expr& value = WithoutCasts(factor);
    if (const auto* call = dyn_cast<CallNode>(value); call != nullptr && call->op == kIfThenElse) {
      return IsZero(call->args[2]) ? Share(call->args[0]) * NonzeroUse(call->args[1]) : 1;
    }
    if (const auto* select = dyn_cast<SelectNode>(value)) {
      return IsZero(select->false_value) ? Share(select->condition) * NonzeroUse(select->true_value) : 1;
    }
    const auto* load = dyn_cast<LoadNode>(value);
    if (load == nullptr) return 1;
    const BufferFacts& buffer = facts_.buffers[static_cast<size_t>(BufferOf(load->buffer))];
    if (buffer.nonzero_box.size() != load->indices.size() || views_.contains(load->buffer->data.get())) {
      return buffer.nonzero;
    }
    double nonzero = 1;
    for (size_t d = 0; d < load->indices.size(); ++d) {
      IndexForm above = Form(load->indices[d]), below = Scale(above, -1);
      above.base -= buffer.nonzero_box[d].first;
      below.base += buffer.nonzero_box[d].second;
      nonzero *= ShareNotNegative(above) + ShareNotNegative(below) - 1;
    }
    return std::max(nonzero, 0.0);
  }

  LoopMask Record(OperationFacts operation, LoopMask varies, double nonzero = 1) {
    operation.loop = place_;
    operation.share = share_ * nonzero;
    operation.varies = varies;
    operation.instruction = instruction_;
    facts_.operations.push_back(operation);
    return varies;
  }

  AccessFacts& AddAccess(const Buffer& buffer, const std::vector<Expr>& indices, bool write) {
    std::vector<IndexForm> forms;
    forms.reserve(indices.size());
    int lanes = 1;
    for (const Expr& index : indices) {
      if (index.dtype().lanes() > 1) lanes = index.dtype().lanes();
      forms.push_back(Form(index));
    }
    AccessFacts access{.loop = place_, .write = write, .share = share_, .lanes = lanes, .instruction = instruction_};
    Resolve(buffer, std::move(forms), std::vector<int64_t>(indices.size(), 1), &access);
    if (lanes > 1) access.width.back() = lanes;
    facts_.accesses.push_back(std::move(access));
    return facts_.accesses.back();
  }

  void AddRegion(const BufferRegion& region, bool write) {
    std::vector<IndexForm> forms;
    std::vector<int64_t> width;
    for (const Range& range : region.region) {
      forms.push_back(Form(range.min));
      width.push_back(IntOr(range.extent, kUnknownExtent));
    }
    AccessFacts access{.loop = place_, .write = write, .share = share_, .lanes = 0, .instruction = instruction_};
    Resolve(region.buffer, std::move(forms), std::move(width), &access);
    if (!write && region.buffer->scope.kind() == MemoryKind::kRegister) Read(access);
    facts_.accesses.push_back(std::move(access));
  }

  // Goes through views to the buffer they show.
  void Resolve(const Buffer& buffer, std::vector<IndexForm> forms, std::vector<int64_t> width, AccessFacts* access) {
    const auto view = views_.find(buffer->data.get());
    if (view == views_.end()) {
      access->buffer = BufferOf(buffer);
      access->index = std::move(forms);
      access->width = std::move(width);
    } else {
      access->buffer = view->second.buffer;
      access->index = view->second.offset;
      access->width.assign(access->index.size(), 1);
      for (size_t d = 0; d < forms.size() && view->second.first + d < access->index.size(); ++d) {
        IndexForm& index = access->index[view->second.first + d];
        index = Add(std::move(index), forms[d]);
        access->width[view->second.first + d] = width[d];
      }
    }
    for (const IndexForm& form : access->index) access->varies |= Varies(form);
  }

  void BindView(const MatchBuffer& match) {
    AccessFacts source;
    std::vector<IndexForm> forms;
    for (const Range& range : match.source.region) forms.push_back(Form(range.min));
    Resolve(match.source.buffer, std::move(forms), std::vector<int64_t>(match.source.region.size(), 1), &source);
    const size_t dims = source.index.size(), own = match.buffer->ndim();
    views_[match.buffer->data.get()] = {source.buffer, dims >= own ? dims - own : 0, std::move(source.index)};
  }

  int BufferOf(const Buffer& buffer) {
    if (const auto view = views_.find(buffer->data.get()); view != views_.end()) return view->second.buffer;
    const auto [it, added] = buffers_.try_emplace(buffer->data.get(), static_cast<int>(facts_.buffers.size()));
    if (added) {
      BufferFacts facts{.buffer = buffer.get()};
      facts.bytes = buffer->dtype.bytes();
      for (const Expr& extent : buffer->shape) {
        facts.shape.push_back(IntOr(extent, kUnknownExtent));
        facts.bytes *= static_cast<double>(facts.shape.back());
      }
      facts_.buffers.push_back(std::move(facts));
    }
    return it->second;
  }

  const IndexForm* Lookup(const VarNode* var) const {
    const auto it = env_.find(var);
    return it == env_.end() ? nullptr : &it->second;
  }
  IndexForm Form(const Expr& e) const {
    return ToIndexForm(e, [this](const VarNode* var) { return Lookup(var); });
  }
  const IndexForm& Bind(const Var& var, const Expr& value) { return env_[var.get()] = Form(value); }

  double Share(const Expr& condition) const {
    return ShareTrue(condition, [this](const VarNode* var) { return Lookup(var); });
  }
  LoopMask Bit(int loop) const { return LoopMask{1} << std::min(facts_.loops[static_cast<size_t>(loop)].depth, 63); }
  LoopMask Varies(const IndexForm& form) const {
    LoopMask mask = 0;
    for (const IndexTerm& term : form.terms) mask |= Bit(term.loop);
    return mask;
  }

  // Runs `body`, to which the condition applies.
  template <class Body>
  void Under(const Expr& condition, const Body& body) {
    conditions_.push_back(&condition);
    body();
    conditions_.pop_back();
  }

  template <class Body>
  void WithShare(double share, const Body& body) {
    const double outer = share_;
    share_ *= share;
    if (share_ > 0) body();
    share_ = outer;
  }

  ProgramFacts& facts_;
  arith::Analyzer analyzer_;  // knows the loops around
  absl::flat_hash_map<const VarNode*, IndexForm> env_;
  absl::flat_hash_map<const VarNode*, int> buffers_;
  absl::flat_hash_map<const VarNode*, View> views_;
  int place_ = -1;
  double share_ = 1;
  std::vector<const Expr*> conditions_;  // around the place, of branches and blocks
  int summed_ = -1;                      // the buffer that the store at hand adds to
  const BlockNode* block_ = nullptr;
  std::string_view instruction_;  // around the place
};

}  // namespace

double ProgramFacts::Iterations(int loop) const {
  double iterations = 1;
  for (; loop >= 0; loop = loops[static_cast<size_t>(loop)].parent) {
    iterations *= static_cast<double>(loops[static_cast<size_t>(loop)].extent);
  }
  return iterations;
}

bool ProgramFacts::Encloses(int outer, int loop) const {
  while (loop > outer) loop = loops[static_cast<size_t>(loop)].parent;
  return loop == outer;
}

ProgramFacts GatherFacts(const Function& function) {
  ProgramFacts facts;
  facts.function = LikelySizes::Of(function).Bind(function);
  Gatherer(&facts).Run(facts.function);
  TakeLoopsApart(&facts);
  FindRegisters(&facts);
  return facts;
}

}  // namespace tilewright
