#include "codegen/lower/cpu/align_stores.h"

#include <utility>
#include <vector>

#include "codegen/lower/common/scoped_mutator.h"
#include "ir/arith/linear.h"
#include "ir/changes/may_change.h"
#include "ir/structural.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// Least vectors in a row for which one more vector pays.
constexpr int64_t kLeastVectors = 16;

// A row: two loops around one store to adjacent elements, from `first` on.
struct Row {
  const ForNode* vectors = nullptr;  // the outer loop
  const ForNode* lanes = nullptr;    // the inner one
  const StoreNode* store = nullptr;
  int64_t count = 0, width = 0;  // the loops' extents
  int64_t line = 0;              // elements
  Expr first;
};

class StoreAligner : public ScopedMutator {
 public:
  StoreAligner(const Target& target, uint32_t next_id)
      : line_bytes_(target.cpu_part().vector_bits / 8), next_id_(next_id) {}
  using ScopedMutator::Mutate;
  Expr Mutate(const Expr& e) override { return e; }
  uint32_t next_id() const { return next_id_; }

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    Row row;
    if (!IsRow(op, &row)) return ScopedMutator::MutateFor(op, self);
    return Aligned(row);
  }

 private:
  bool IsRow(const ForNode* op, Row* row) {
    const auto* lanes = dyn_cast<ForNode>(op->body);
    if (op->kind != ForKind::kSerial || lanes == nullptr || lanes->kind != ForKind::kVectorized) return false;
    const auto* store = dyn_cast<StoreNode>(lanes->body);
    const std::optional<int64_t> count = AsInt(op->extent), width = AsInt(lanes->extent);
    if (store == nullptr || store->predicate || !count || !width) return false;
    if (!IsInt(op->min, 0) || !IsInt(lanes->min, 0)) return false;
    const Buffer& buffer = store->buffer;
    const int64_t line = line_bytes_ / buffer->dtype.bytes();
    if (buffer->scope.kind() == MemoryKind::kRegister) return false;
    if (!store->value.dtype().is_scalar() || *width % line != 0 || *count * *width < kLeastVectors * line) return false;
    // Elements that two parts share are stored twice, so storing must not change what is stored.
    if (buffer->alignment % line_bytes_ != 0 || MayChange(store->value, lanes->body)) return false;
    if (MayChange(store->indices[0], lanes->body)) return false;
    const auto index = arith::DetectLinear(store->indices[0], {op->var, lanes->var}, &analyzer_);
    if (!index || !IsInt(index->coefficients[0], *width) || !IsInt(index->coefficients[1], 1)) return false;
    if (arith::KnownDivisor(index->base, &analyzer_) % line == 0) return false;
    *row = {op, lanes, store, *count, *width, line, index->base};
    return IsOneRun(*row);
  }

  // Whether the element depends on the loops only through its place in the row.
  bool IsOneRun(const Row& row) {
    const auto next = [&](const ForNode* loop, int64_t step) {
      const VarMap values = {{loop->var, loop->var + Const(loop->var.dtype(), step)}};
      return analyzer_.Simplify(Substitute(row.store->value, values));
    };
    return StructuralEqual(next(row.vectors, 1), next(row.lanes, row.width));
  }

  // `count` elements, of which the first is element `offset` of vector `vector`.
  Stmt Part(const Row& row, const Expr& vector, const Expr& offset, int64_t count) {
    const Var lane(row.lanes->var.name(), row.lanes->var.dtype());
    ForNode::Fields fields = row.lanes->fields();
    fields.id = next_id_++;
    fields.var = lane;
    fields.extent = Const(lane.dtype(), count);
    fields.body = Substitute(row.lanes->body, {{row.vectors->var, vector}, {row.lanes->var, lane + offset}});
    return For(std::move(fields));
  }

  Stmt Aligned(const Row& row) {
    const DataType type = row.lanes->var.dtype(), outer = row.vectors->var.dtype();
    const Expr line = Const(type, row.line), zero = Const(type, 0), last = Const(outer, row.count - 1);
    const Expr to_line = (FloorDiv(CastTo(type, row.first), line) + Const(type, 1)) * line - CastTo(type, row.first);
    ForNode::Fields vectors = row.vectors->fields();
    vectors.extent = last;
    vectors.body = Part(row, row.vectors->var, to_line, row.width);
    std::vector<Stmt> parts = {Part(row, Const(outer, 0), zero, row.line), For(std::move(vectors))};
    if (row.width > row.line) parts.push_back(Part(row, last, to_line, row.width - row.line));
    parts.push_back(Part(row, last, Const(type, row.width - row.line), row.line));
    return Sequence(std::move(parts));
  }

  const int line_bytes_;
  uint32_t next_id_;
};

}  // namespace

Function AlignStores(const Function& function, const Target& target) {
  if (!target.VectorsFillLines()) return function;
  StoreAligner aligner(target, function->next_id);
  Stmt body = aligner.Mutate(function->body);
  return function.WithBody(std::move(body), aligner.next_id());
}

}  // namespace tilewright
