#include "codegen/lower/common/mark_pipelines.h"

#include <algorithm>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/lower/common/storage_annotations.h"
#include "ir/annotations.h"
#include "ir/functor.h"
#include "ir/regions.h"

namespace tilewright {
namespace {

// A block whose statements count as those of the loop that it is alone in.
bool IsTransparent(const BlockRealizeNode& realize) { return IsTrue(realize.predicate) && !realize.block->init; }

// The sequence that a loop holds, and what is allocated around it.
struct LoopBody {
  std::vector<Buffer> double_buffered;
  std::vector<Stmt> statements;
};

LoopBody BodyOf(Stmt body) {
  LoopBody result;
  for (;;) {
    if (const auto* allocate = dyn_cast<AllocateNode>(body)) {
      if (allocate->annotations.contains(kDoubleBuffer)) result.double_buffered.push_back(allocate->buffer);
      body = Stmt(allocate->body);
    } else if (const auto* realize = dyn_cast<BlockRealizeNode>(body); realize && IsTransparent(*realize)) {
      body = Stmt(realize->block->body);
    } else {
      break;
    }
  }
  if (const auto* seq = dyn_cast<SeqNode>(body)) {
    result.statements = seq->stmts;
  } else {
    result.statements = {body};
  }
  return result;
}

// The same body with each statement marked.
Stmt WithMarks(const Stmt& body) {
  if (const auto* allocate = dyn_cast<AllocateNode>(body)) {
    return Stmt(new AllocateNode(allocate->buffer, allocate->annotations, WithMarks(allocate->body)));
  }
  if (const auto* realize = dyn_cast<BlockRealizeNode>(body); realize && IsTransparent(*realize)) {
    BlockNode::Fields fields = realize->block->fields();
    fields.body = WithMarks(fields.body);
    return Realize(realize->bindings, realize->predicate, Block(std::move(fields)));
  }
  std::vector<Stmt> marked = BodyOf(body).statements;
  for (size_t i = 0; i < marked.size(); ++i) {
    std::string name = absl::StrCat("statement ", i);
    bool named = false;
    PreOrder(marked[i], [&](const Stmt& s) {
      const auto* realize = dyn_cast<BlockRealizeNode>(s);
      if (realize != nullptr && !std::exchange(named, true)) name = realize->block->name;
      return !named;
    });
    marked[i] = Stmt(new AttrStmtNode(Expr(new StringImmNode(std::move(name))), kPipelineStatement,
                                      Expr(static_cast<int64_t>(i)), marked[i]));
  }
  return Sequence(std::move(marked));
}

Annotation IntegerList(const std::vector<int64_t>& numbers) {
  Annotation::List list;
  for (int64_t number : numbers) list.push_back(MakeAnnotation(Expr(number)));
  return {std::move(list)};
}

class Marker : public StmtMutator {
 public:
  using StmtMutator::Mutate;
  absl::Status status;

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    Stmt mutated = StmtMutator::MutateFor(op, self);
    if (!status.ok()) return self;
    ForNode::Fields fields = cast<ForNode>(mutated)->fields();
    const LoopBody body = BodyOf(fields.body);
    for (const Buffer& buffer : body.double_buffered) of_loops_.insert(buffer->data.get());
    const bool annotated = fields.annotations.contains(kPipelineStage) || fields.annotations.contains(kPipelineOrder) ||
                           fields.annotations.contains(kPipelineAsyncStages);
    if (!annotated && body.double_buffered.empty()) return mutated;
    if (!annotated) MakeTwoStages(body, &fields);
    if (status.ok()) Check(fields, body.statements.size());
    fields.body = WithMarks(fields.body);
    return For(std::move(fields));
  }

 public:
  // Afterwards: all double-buffered allocations must have been met in loops.
  void CheckAllocations(const Stmt& body) {
    PreOrder(body, [&](const Stmt& s) {
      const auto* allocate = dyn_cast<AllocateNode>(s);
      if (allocate == nullptr || !allocate->annotations.contains(kDoubleBuffer)) return true;
      if (status.ok() && !of_loops_.contains(allocate->buffer->data.get())) {
        status = absl::InvalidArgumentError(
            absl::StrCat("buffer ", allocate->buffer->name,
                         " is to be double-buffered, but does not belong to the iterations of a loop"));
      }
      return true;
    });
  }

 private:
  void Fail(const ForNode::Fields& loop, const std::string& reason) {
    if (status.ok()) status = absl::InvalidArgumentError(absl::StrCat("loop ", loop.var.name(), ": ", reason));
  }

  void MakeTwoStages(const LoopBody& body, ForNode::Fields* loop) {
    std::vector<int64_t> stages, order;
    for (const Stmt& statement : body.statements) {
      const std::vector<BufferRegion> writes = DetectRegions(statement).writes;
      const bool loads = std::any_of(writes.begin(), writes.end(), [&](const BufferRegion& write) {
        return std::any_of(body.double_buffered.begin(), body.double_buffered.end(),
                           [&](const Buffer& buffer) { return buffer.same_as(write.buffer); });
      });
      order.push_back(static_cast<int64_t>(stages.size()));
      stages.push_back(loads ? 0 : 1);
    }
    if (std::find(stages.begin(), stages.end(), 1) == stages.end()) {
      return Fail(*loop, absl::StrCat("no statement uses ", body.double_buffered[0]->name,
                                      " beside the one that writes it, so double buffering has no sense"));
    }
    loop->annotations[kPipelineStage] = IntegerList(stages);
    loop->annotations[kPipelineOrder] = IntegerList(order);
  }

  // The list of that name with one number for each statement; empty after a failure.
  std::vector<int64_t> NumbersOfStatements(const ForNode::Fields& loop, const char* key, size_t statements) {
    auto it = loop.annotations.find(key);
    if (it == loop.annotations.end()) {
      Fail(loop, absl::StrCat("a software pipeline has no ", key));
      return {};
    }
    std::optional<std::vector<int64_t>> numbers = AsIntegers(it->second);
    if (!numbers) {
      Fail(loop, absl::StrCat(key, " is not a list of integers"));
      return {};
    }
    if (numbers->size() != statements) {
      Fail(loop, absl::StrCat(key, " has ", numbers->size(), " entries, but the loop has ", statements, " statements"));
      return {};
    }
    return *std::move(numbers);
  }

  void Check(const ForNode::Fields& loop, size_t statements) {
    const std::vector<int64_t> stages = NumbersOfStatements(loop, kPipelineStage, statements);
    const std::vector<int64_t> order = NumbersOfStatements(loop, kPipelineOrder, statements);
    if (!status.ok()) return;
    if (loop.kind != ForKind::kSerial && loop.kind != ForKind::kUnrolled) {
      return Fail(loop,
                  absl::StrCat("a software pipeline must be a serial or unrolled loop, not ", ForKindName(loop.kind)));
    }
    for (int64_t stage : stages) {
      if (stage < 0) return Fail(loop, absl::StrCat(kPipelineStage, " has the negative stage ", stage));
    }
    std::vector<int64_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (sorted[i] == static_cast<int64_t>(i)) continue;
      return Fail(loop, absl::StrCat(kPipelineOrder, " [", absl::StrJoin(order, ", "),
                                     "] is not a permutation of 0 to ", sorted.size() - 1));
    }
    auto async = loop.annotations.find(kPipelineAsyncStages);
    if (async == loop.annotations.end()) return;
    const std::optional<std::vector<int64_t>> async_stages = AsIntegers(async->second);
    if (!async_stages) return Fail(loop, absl::StrCat(kPipelineAsyncStages, " is not a list of integers"));
    for (int64_t stage : *async_stages) {
      if (std::find(stages.begin(), stages.end(), stage) != stages.end()) continue;
      return Fail(loop, absl::StrCat(kPipelineAsyncStages, " names the stage ", stage, ", which no statement has"));
    }
  }

  std::unordered_set<const VarNode*> of_loops_;  // data pointers of double-buffered allocations
};

}  // namespace

absl::StatusOr<Function> MarkPipelines(const Function& function) {
  Marker marker;
  Stmt body = marker.Mutate(function->body);
  marker.CheckAllocations(body);
  if (!marker.status.ok()) return marker.status;
  return function.WithBody(std::move(body), function->next_id);
}

}  // namespace tilewright
