#include "codegen/lower/common/software_pipeline.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "codegen/lower/common/instruction_attributes.h"
#include "codegen/lower/common/mark_pipelines.h"
#include "codegen/lower/common/scoped_mutator.h"
#include "codegen/lower/common/storage_annotations.h"
#include "ir/analysis.h"
#include "ir/annotations.h"
#include "ir/builtin.h"
#include "ir/changes/may_change.h"
#include "ir/regions.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// What a statement does to one piece of memory.
struct Touch {
  Var data;
  bool written = false;
  BufferRegion region;  // without a buffer: unknown, by a pointer or by another view
};

struct Statement {
  Stmt body;
  std::string name;
  int64_t stage = 0, order = 0;
  std::vector<Touch> touches;
  bool has_effects = false;  // calls that may do anything, synchronization
};

std::vector<Touch> TouchesOf(const Stmt& s) {
  std::vector<Touch> touches;
  const AccessRegions regions = DetectRegions(s);
  for (const BufferRegion& region : regions.reads) touches.push_back({region.buffer->data, false, region});
  for (const BufferRegion& region : regions.writes) touches.push_back({region.buffer->data, true, region});
  PreOrderExprs(s, [&](const Expr& e) {
    const auto* var = dyn_cast<VarNode>(e);
    if (var != nullptr && var->dtype().is_handle()) touches.push_back({Var(var), true, {}});
    return true;
  });
  PreOrder(s, [&](const Stmt& sub) {
    if (const auto* view = dyn_cast<DeclBufferNode>(sub)) touches.push_back({view->buffer->data, true, {}});
    return true;
  });
  return touches;
}

bool HasEffects(const Stmt& s) {
  bool found = false;
  PreOrder(s, [&](const Stmt& sub) {
    found |= isa<SyncNode>(sub);
    return !found;
  });
  PreOrderExprs(s, [&](const Expr& e) {
    const auto* call = dyn_cast<CallNode>(e);
    found |= call != nullptr && EffectOf(call->op) == CallEffect::kOpaque;
    return !found;
  });
  return found;
}

// Whether `a` in iteration i comes before `b` in iteration i + distance.
bool BeforeInProgram(size_t a, size_t b, int64_t distance) { return distance > 0 || (distance == 0 && a < b); }
bool BeforeInPipeline(const Statement& a, const Statement& b, int64_t distance) {
  return a.stage < b.stage + distance || (a.stage == b.stage + distance && a.order < b.order);
}

// Uses version `iteration % versions` of each multiplied buffer.
class VersionSelector : public Mutator {
 public:
  using Mutator::Mutate;
  explicit VersionSelector(const GpuTarget& gpu) : gpu_(gpu) {}
  std::unordered_map<Buffer, Buffer, IdentityHash, IdentityEqual> multiplied;
  Expr iteration;

 protected:
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    auto it = multiplied.find(op->buffer);
    if (it == multiplied.end()) return Mutator::MutateLoad(op, self);
    return it->second.Load(Indices(it->second, op->indices), Mutate(op->predicate));
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    auto it = multiplied.find(op->buffer);
    if (it == multiplied.end()) return Mutator::MutateStore(op, self);
    return Store(it->second, Mutate(op->value), Indices(it->second, op->indices), Mutate(op->predicate));
  }

  Expr MutateCall(const CallNode* op, const Expr& self) override {
    if (op->op == kAccessPtr) {
      for (const auto& [buffer, versions] : multiplied) {
        if (!op->args[1].same_as(buffer->data)) continue;
        Expr elements = FloorMod(iteration, CastTo(iteration.dtype(), versions->shape[0]));
        elements = elements * CastTo(iteration.dtype(), ElementsOf(buffer));
        return MovedPointer(op, buffer, versions->data, elements, gpu_);
      }
    }
    return Mutator::MutateCall(op, self);
  }

 private:
  std::vector<Expr> Indices(const Buffer& buffer, const std::vector<Expr>& indices) {
    std::vector<Expr> result = {arith::Simplify(FloorMod(iteration, CastTo(iteration.dtype(), buffer->shape[0])))};
    for (const Expr& index : indices) result.push_back(Mutate(index));
    return result;
  }

  const GpuTarget& gpu_;
};

Buffer Multiplied(const Buffer& buffer, int64_t versions) {
  BufferNode::Fields fields = buffer->fields();
  const DataType type = buffer->ndim() == 0 ? DataType::Int(32) : buffer->shape[0].dtype();
  if (!buffer->strides.empty()) {
    fields.strides.insert(fields.strides.begin(), arith::Simplify(fields.strides[0] * fields.shape[0]));
  }
  if (fields.layout) {
    const Var version("version", type);
    const IndexMap& map = fields.layout.map;
    std::vector<Var> inputs = map->inputs;
    std::vector<Expr> outputs = map->outputs;
    inputs.insert(inputs.begin(), version);
    outputs.insert(outputs.begin(), version);
    fields.layout.map = IndexMap(std::move(inputs), std::move(outputs));
    fields.layout.shape.insert(fields.layout.shape.begin(), Const(type, versions));
  }
  fields.shape.insert(fields.shape.begin(), Const(type, versions));
  fields.data = Var(buffer->data.name(), buffer->data.dtype());
  return Buffer(std::move(fields));
}

// One pipelined loop.
class Pipeline {
 public:
  // `before`: how often the loop has run before.
  Pipeline(const ForNode* loop, const Expr& before, arith::Analyzer* analyzer, uint32_t* next_id, const Target& target)
      : loop_(loop),
        analyzer_(*analyzer),
        next_id_(next_id),
        selector_(target.gpu_part()),
        asynchronous_(target.is_gpu()),
        roles_(asynchronous_ && loop->annotations.contains(kPipelineRoles)) {
    if (roles_ && before) first_ = CastTo(loop->var.dtype(), before) * Extent();
  }

  absl::StatusOr<Stmt> Expand() {
    Read();
    TW_RETURN_IF_ERROR(CheckExtents());
    TW_RETURN_IF_ERROR(CheckOrder());
    TW_RETURN_IF_ERROR(MultiplyBuffers());
    Stmt result = Sequence({Prologue(), Body(), Epilogue()});
    if (roles_) result = Stmt(new AttrStmtNode(Expr(0), kWarpRoles, Expr(1), std::move(result)));
    for (auto it = allocations_.rbegin(); it != allocations_.rend(); ++it) {
      Annotations annotations = (*it)->annotations;
      annotations.erase(kDoubleBuffer);
      auto multiplied = selector_.multiplied.find((*it)->buffer);
      const Buffer& buffer = multiplied == selector_.multiplied.end() ? (*it)->buffer : multiplied->second;
      result = Stmt(new AllocateNode(buffer, std::move(annotations), std::move(result)));
    }
    return result;
  }

 private:
  void Read() {
    Stmt body = loop_->body;
    while (const auto* allocate = dyn_cast<AllocateNode>(body)) {
      allocations_.push_back(allocate);
      body = allocate->body;
    }
    const std::vector<int64_t> stages = *AsIntegers(loop_->annotations.at(kPipelineStage));
    const std::vector<int64_t> order = *AsIntegers(loop_->annotations.at(kPipelineOrder));
    const auto* seq = dyn_cast<SeqNode>(body);
    const std::vector<Stmt> marked = seq == nullptr ? std::vector<Stmt>{body} : seq->stmts;
    TW_CHECK(marked.size() == stages.size()) << "MarkPipelines counted the statements";
    const int64_t first = *std::min_element(stages.begin(), stages.end());
    for (size_t i = 0; i < marked.size(); ++i) {
      const auto* mark = dyn_cast<AttrStmtNode>(marked[i]);
      TW_CHECK(mark != nullptr && mark->key == kPipelineStatement) << "MarkPipelines marks the statements";
      // Instructions do what their bodies say.
      const Stmt said = WithoutInstructions(mark->body);
      statements_.push_back({mark->body, cast<StringImmNode>(mark->node)->value, stages[i] - first, order[i],
                             TouchesOf(said), HasEffects(said)});
      last_stage_ = std::max(last_stage_, stages[i] - first);
    }
    const auto async = loop_->annotations.find(kPipelineAsyncStages);
    if (!asynchronous_ || async == loop_->annotations.end()) return;
    const std::vector<int64_t> named = *AsIntegers(async->second);
    for (const int64_t stage : named) async_stages_.insert(stage - first);
  }

  absl::Status Refuse(const std::string& reason) const {
    return absl::InvalidArgumentError(absl::StrCat("loop ", loop_->var.name(), ": ", reason));
  }

  bool IsPrivate(const Var& data) const {
    return std::any_of(allocations_.begin(), allocations_.end(),
                       [&](const AllocateNode* allocate) { return allocate->buffer->data.same_as(data); });
  }

  // Whether no element of the one region in iteration i is in the other in iteration i + distance.
  bool Apart(const Touch& a, const Touch& b, int64_t distance) {
    if (!a.region.buffer || !a.region.buffer.same_as(b.region.buffer)) return false;
    arith::Analyzer::Scope inside(&analyzer_);
    analyzer_.Bind(loop_->var, Range{loop_->min, loop_->extent});
    const BufferRegion later = Substitute(b.region, {{loop_->var, loop_->var + Const(loop_->var.dtype(), distance)}});
    const auto may_change = [&](const Range& range) {
      return MayChange(range.min, loop_->body) || MayChange(range.extent, loop_->body);
    };
    for (size_t d = 0; d < a.region.region.size(); ++d) {
      const Range &x = a.region.region[d], &y = later.region[d];
      if (may_change(x) || may_change(y)) continue;
      if (analyzer_.CanProveLessEqual(x.min + x.extent, y.min)) return true;
      if (analyzer_.CanProveLessEqual(y.min + y.extent, x.min)) return true;
    }
    return false;
  }

  // The name of what keeps the two statements in order; empty when nothing does.
  std::string Conflict(const Statement& a, const Statement& b, int64_t distance) {
    if (a.has_effects && b.has_effects) return "the effects of calls or barriers";
    for (const Touch& x : a.touches) {
      for (const Touch& y : b.touches) {
        if (!x.data.same_as(y.data) || !(x.written || y.written)) continue;
        // Each iteration has its own copy.
        if (IsPrivate(x.data) ? distance != 0 : Apart(x, y, distance)) continue;
        return x.data.name();
      }
    }
    return "";
  }

  std::string Describe(const Statement& s) const {
    return absl::StrCat(s.name, " (stage ", s.stage, ", order ", s.order, ")");
  }

  absl::Status CheckOrder() {
    for (size_t a = 0; a < statements_.size(); ++a) {
      for (size_t b = 0; b < statements_.size(); ++b) {
        for (int64_t distance = 0; distance <= last_stage_; ++distance) {
          if (!BeforeInProgram(a, b, distance) || BeforeInPipeline(statements_[a], statements_[b], distance)) continue;
          const std::string conflict = Conflict(statements_[a], statements_[b], distance);
          if (conflict.empty()) continue;
          return Refuse(absl::StrCat(
              "in the pipeline, ", Describe(statements_[b]), " would run before ", Describe(statements_[a]), " of ",
              distance == 0 ? "the same iteration" : absl::StrCat("the iteration ", distance, " before"),
              ", and may depend on it through ", conflict));
        }
      }
    }
    return absl::OkStatus();
  }

  // The least number such that no iteration reuses memory before all uses in the iteration that had it are over.
  int64_t VersionsOf(const Var& data) const {
    auto uses = [&](const Statement& s) {
      return std::any_of(s.touches.begin(), s.touches.end(), [&](const Touch& t) { return t.data.same_as(data); });
    };
    int64_t versions = 1;
    for (const Statement& a : statements_) {
      for (const Statement& b : statements_) {
        if (!uses(a) || !uses(b)) continue;
        while (!BeforeInPipeline(a, b, versions) && &a != &b) ++versions;
      }
    }
    return versions;
  }

  // All copies of the loop's body share the extents of what it allocates.
  absl::Status CheckExtents() const {
    std::string depends;
    PreOrder(loop_->body, [&](const Stmt& s) {
      const auto* allocate = dyn_cast<AllocateNode>(s);
      if (allocate == nullptr) return true;
      const bool varies = std::any_of(allocate->buffer->shape.begin(), allocate->buffer->shape.end(),
                                      [&](const Expr& extent) { return UsesVar(extent, loop_->var); });
      if (varies) depends = allocate->buffer->name;
      return true;
    });
    return depends.empty() ? absl::OkStatus() : Refuse(absl::StrCat("the extents of ", depends, " depend on it"));
  }

  absl::Status MultiplyBuffers() {
    for (const AllocateNode* allocate : allocations_) {
      const Buffer& buffer = allocate->buffer;
      int64_t versions = VersionsOf(buffer->data);
      if (allocate->annotations.contains(kDoubleBuffer)) versions = std::max<int64_t>(versions, 2);
      if (versions == 1) continue;
      if (buffer->layout && buffer->layout.owner_dims > 0) {
        return Refuse(absl::StrCat(buffer->name, " needs ", versions, " versions, but is spread over several owners"));
      }
      for (const Statement& statement : statements_) {
        for (const Touch& touch : statement.touches) {
          if (!touch.data.same_as(buffer->data) || touch.region.buffer.same_as(buffer)) continue;
          return Refuse(
              absl::StrCat(buffer->name, " needs ", versions, " versions, but ", statement.name, " uses its address"));
        }
      }
      selector_.multiplied.emplace(buffer, Multiplied(buffer, versions));
    }
    return absl::OkStatus();
  }

  Expr Number(int64_t value) const { return Const(loop_->var.dtype(), value); }
  Expr Extent() const { return CastTo(loop_->var.dtype(), loop_->extent); }
  bool LongerThanPipeline() { return analyzer_.CanProveLessEqual(Number(last_stage_), Extent()); }

  // The statement in iteration number `iteration`, where there is one.
  Stmt Execute(const Statement& statement, const Expr& number, bool exists) {
    const Expr iteration = analyzer_.Simplify(number);
    if (!exists && analyzer_.CanProveLessEqual(Extent(), iteration)) return Sequence({});
    selector_.iteration = first_ ? arith::Simplify(first_ + iteration) : iteration;
    Stmt body = CopyWithFreshNames(selector_.Mutate(statement.body), next_id_);
    body = Substitute(body, {{loop_->var, analyzer_.Simplify(loop_->min + iteration)}});
    if (exists || analyzer_.CanProveLess(iteration, Extent())) return body;
    return If(iteration < Extent(), std::move(body));
  }

  std::vector<const Statement*> InOrder() const {
    std::vector<const Statement*> ordered(statements_.size());
    for (const Statement& statement : statements_) ordered[statement.order] = &statement;
    return ordered;
  }

  // The statements of a step in order, with what asynchronous stages need around them. `runs`: whether a stage takes
  // part in the step a number of steps back.
  template <class Runs, class Make>
  void Step(const Runs& runs, std::vector<Stmt>* steps, const Make& make) {
    const std::vector<const Statement*> ordered = InOrder();
    for (size_t i = 0; i < ordered.size(); ++i) {
      const Statement& statement = *ordered[i];
      if (!runs(statement.stage, 0)) continue;
      if (const auto groups = GroupsInFlight(statement, ordered, i, runs)) {
        steps->push_back(
            Stmt(new SyncNode(SyncKind::kAsyncWait, Scope::Parse("shared"), OwnerLevel::kThread, Expr(*groups))));
      }
      Stmt made = make(statement);
      if (!async_stages_.contains(statement.stage)) {
        steps->push_back(std::move(made));
        continue;
      }
      steps->push_back(Stmt(new AttrStmtNode(Expr(0), kAsyncCopy, Expr(1), std::move(made))));
      if (IsLastOfStage(ordered, i)) {
        steps->push_back(Stmt(new SyncNode(SyncKind::kAsyncCommit, Scope::Parse("shared"), OwnerLevel::kThread)));
      }
    }
  }
  static bool IsLastOfStage(const std::vector<const Statement*>& ordered, size_t i) {
    return std::none_of(ordered.begin() + static_cast<ptrdiff_t>(i) + 1, ordered.end(),
                        [&](const Statement* other) { return other->stage == ordered[i]->stage; });
  }

  // How many of the latest groups of copies may be in flight when the statement, the i-th of its step, begins; nothing
  // when it uses nothing that an asynchronous stage wrote.
  template <class Runs>
  std::optional<int64_t> GroupsInFlight(const Statement& statement, const std::vector<const Statement*>& ordered,
                                        size_t i, const Runs& runs) {
    std::optional<int64_t> least;
    for (size_t a = 0; a < ordered.size(); ++a) {
      const Statement& writer = *ordered[a];
      if (!async_stages_.contains(writer.stage) || &writer == &statement || !Uses(statement, writer)) continue;
      const int64_t distance = statement.stage - writer.stage;
      int64_t later = 0;  // groups closed behind the one that the statement needs
      for (int64_t back = distance; back >= 0; --back) {
        for (size_t g = 0; g < ordered.size(); ++g) {
          const bool closes = async_stages_.contains(ordered[g]->stage) && IsLastOfStage(ordered, g);
          if (!closes || !runs(ordered[g]->stage, back)) continue;
          const bool is_later = back < distance || (g > a && ordered[g]->stage != writer.stage);
          later += is_later && (back > 0 || g < i);
        }
      }
      if (distance == 0 || !LongerThanPipeline()) later = 0;
      least = std::min(least.value_or(later), later);
    }
    return least;
  }
  static bool Uses(const Statement& reader, const Statement& writer) {
    return std::any_of(writer.touches.begin(), writer.touches.end(), [&](const Touch& written) {
      return written.written && std::any_of(reader.touches.begin(), reader.touches.end(),
                                            [&](const Touch& touch) { return touch.data.same_as(written.data); });
    });
  }

  // Steps 0 to last_stage_ - 1.
  Stmt Prologue() {
    std::vector<Stmt> steps;
    for (int64_t step = 0; step < last_stage_; ++step) {
      const auto runs = [&](int64_t stage, int64_t back) { return stage <= step - back; };
      Step(runs, &steps,
           [&](const Statement& statement) { return Execute(statement, Number(step - statement.stage), false); });
    }
    return Sequence(std::move(steps));
  }

  // Steps last_stage_ to n - 1: all stages have an iteration.
  Stmt Body() {
    const Expr steps = analyzer_.Simplify(LongerThanPipeline() ? Extent() - Number(last_stage_)
                                                               : Max(Extent() - Number(last_stage_), Number(0)));
    if (IsInt(steps, 0)) return Sequence({});
    ForNode::Fields fields = loop_->fields();
    fields.id = (*next_id_)++;
    fields.var = Var(loop_->var.name(), loop_->var.dtype());
    fields.min = Number(0);
    fields.extent = steps;
    for (const char* key : {kPipelineStage, kPipelineOrder, kPipelineAsyncStages, kPipelineRoles})
      fields.annotations.erase(key);
    std::vector<Stmt> body;
    arith::Analyzer::Scope inside(&analyzer_);
    analyzer_.Bind(fields.var, Range{fields.min, fields.extent});
    Step([](int64_t, int64_t) { return true; }, &body,
         [&](const Statement& statement) {
           return Execute(statement, fields.var + Number(last_stage_ - statement.stage), true);
         });
    fields.body = Sequence(std::move(body));
    return For(std::move(fields));
  }

  // The last_stage_ steps that follow.
  Stmt Epilogue() {
    const Expr first_step = LongerThanPipeline() ? Extent() : Max(Extent(), Number(last_stage_));
    std::vector<Stmt> steps;
    for (int64_t step = 0; step < last_stage_; ++step) {
      const auto runs = [&](int64_t stage, int64_t back) { return stage > step - back; };
      Step(runs, &steps, [&](const Statement& statement) {
        return Execute(statement, first_step + Number(step - statement.stage), LongerThanPipeline());
      });
    }
    return Sequence(std::move(steps));
  }

  const ForNode* loop_;
  arith::Analyzer& analyzer_;
  uint32_t* next_id_;
  std::vector<const AllocateNode*> allocations_;
  std::vector<Statement> statements_;
  int64_t last_stage_ = 0;
  VersionSelector selector_;
  const bool asynchronous_, roles_;
  Expr first_;  // iterations before this loop, whose copies may be under way when it begins; null: 0
  std::set<int64_t> async_stages_;
};

class Injector : public ScopedMutator {
 public:
  Injector(uint32_t next_id, const Target& target) : next_id_(next_id), target_(target) {}
  using ScopedMutator::Mutate;
  Expr Mutate(const Expr& e) override { return e; }
  uint32_t next_id() const { return next_id_; }
  absl::Status status;

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    const Expr outer = before_;
    before_ = BeforeInside(op);
    Stmt mutated = ScopedMutator::MutateFor(op, self);
    before_ = outer;
    if (!op->annotations.contains(kPipelineStage) || !status.ok()) return mutated;
    absl::StatusOr<Stmt> expanded = Pipeline(cast<ForNode>(mutated), outer, &analyzer_, &next_id_, target_).Expand();
    if (expanded.ok()) return *std::move(expanded);
    status = expanded.status();
    return mutated;
  }

 private:
  // How often a block has run the body of the loop, with the loops around it, when an iteration begins.
  Expr BeforeInside(const ForNode* op) const {
    if (op->kind == ForKind::kSerial || op->kind == ForKind::kUnrolled) {
      const Expr iteration = op->var - op->min;
      return before_ ? before_ * CastTo(op->var.dtype(), op->extent) + iteration : iteration;
    }
    const auto sharing = op->annotations.find(kSharingBlocks);
    if (op->kind != ForKind::kThreadBound || sharing == op->annotations.end()) return before_;
    return FloorDiv(op->var, CastTo(op->var.dtype(), std::get<Expr>(sharing->second.value)));
  }

  uint32_t next_id_;
  const Target& target_;
  Expr before_;  // null: it has not
};

}  // namespace

absl::StatusOr<Function> InjectPipelines(const Function& function, const Target& target) {
  Injector injector(function->next_id, target);
  Stmt body = injector.Mutate(function->body);
  if (!injector.status.ok()) return injector.status;
  return function.WithBody(std::move(body), injector.next_id());
}

}  // namespace tilewright
