#include "codegen/lower/gpu/bulk_boxes.h"

#include <algorithm>
#include <utility>

#include "codegen/lower/gpu/images/image_rows.h"
#include "codegen/lower/gpu/shared_places.h"
#include "ir/analysis.h"
#include "ir/annotations.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

bool HasForm(const SharedPlaces& places, const BoxForm& form, int64_t rows, int64_t columns, const GpuTarget& gpu) {
  const int64_t size = places.element_bytes(), align = form.Alignment(gpu);
  const Swizzle swizzle(form.span);
  for (int64_t part = 0; part < places.parts(); ++part) {
    for (int64_t panel = 0; panel < columns; panel += form.columns) {
      const int64_t start = places.At(part, 0, panel);
      if (start % align != 0) return false;
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t column = 0; column < form.columns; ++column) {
          const int64_t expected = start + (row * form.columns + column) * size;
          if (places.At(part, row, panel + column) != swizzle(expected)) return false;
        }
      }
    }
  }
  return true;
}

// The largest value, where a loop's variable may be divided by `by`.
int64_t Most(const Expr& e, const std::vector<const ForNode*>& loops, int64_t by, arith::Analyzer* analyzer) {
  VarMap divided;
  for (const ForNode* loop : loops) {
    const int64_t extent = AsInt(loop->extent).value_or(1);
    if (by == 1 || extent % by != 0) continue;
    const DataType type = loop->var.dtype();
    const Var outer("outer", type), inner("inner", type);
    analyzer->Bind(outer, Range{Const(type, 0), Const(type, extent / by)});
    analyzer->Bind(inner, Range{Const(type, 0), Const(type, by)});
    divided[loop->var] = outer * Const(type, by) + inner;
  }
  return analyzer->ConstBounds(analyzer->Simplify(Substitute(e, divided))).max;
}

}  // namespace

bool BoxNest::UsesLoops(const Expr& e) const {
  return UsesVar(e, [&](const VarNode* var) {
    return std::ranges::any_of(loops, [&](const ForNode* loop) { return loop->var.get() == var; });
  });
}

std::optional<BoxNest> BoxNestOf(const Stmt& s) {
  BoxNest nest;
  std::vector<Expr> conditions;
  for (Stmt inside = s;;) {
    if (const auto* loop = dyn_cast<ForNode>(inside)) {
      if (loop->kind == ForKind::kThreadBound || !IsInt(loop->min, 0) || !AsInt(loop->extent)) return std::nullopt;
      nest.loops.push_back(loop);
      inside = loop->body;
    } else if (const auto* branch = dyn_cast<IfNode>(inside)) {
      if (branch->else_case) return std::nullopt;
      conditions.push_back(branch->condition);
      inside = branch->then_case;
    } else {
      nest.store = dyn_cast<StoreNode>(inside);
      break;
    }
  }
  if (nest.store == nullptr) return std::nullopt;
  const std::optional<CopiedElement> copied = CopiedBy(nest.store->value);
  if (!copied || nest.store->predicate || nest.loops.empty() || nest.loops.size() > 2) return std::nullopt;
  nest.load = copied->load;
  nest.inside = copied->inside;
  for (const Expr& condition : conditions) {
    (nest.UsesLoops(condition) ? nest.bounds : nest.conditions).push_back(condition);
  }
  return nest;
}

int64_t BoxForm::Alignment(const GpuTarget& gpu) const {
  return std::max<int64_t>(gpu.bulk_shared_alignment, 8 * span);
}

std::optional<BoxForm> BoxFormOf(const Buffer& buffer, int64_t rows, int64_t columns, const GpuTarget& gpu) {
  const absl::StatusOr<SharedPlaces> places = SharedPlaces::Of(buffer);
  if (!places.ok() || rows > places->rows() || columns > places->columns()) return std::nullopt;
  const int64_t size = buffer->dtype.bytes();
  for (const int64_t span : kSwizzleSpans) {
    const BoxForm form{span, span == 0 ? columns : span / size};
    if (columns % form.columns != 0 || form.columns > gpu.max_map_box) continue;
    if (form.columns * size % gpu.bulk_alignment != 0) continue;
    if (span != 0 && buffer->alignment % (8 * span) != 0) continue;
    if (HasForm(*places, form, rows, columns, gpu)) return form;
  }
  return std::nullopt;
}

// If the condition is 0 <= D and an index is inside of its dimension when 0 <= E, D <= -1 has to imply E <= -1: it
// does when E <= t D + t - 1, or t E <= D, for a t. Such multiples come from simplification: x * 16 + i < 88 becomes
// x * 2 + i // 8 < 11.
bool IsBoundOfArray(const Expr& condition, const std::vector<const ForNode*>& loops, const ArrayPlace& place,
                    const GpuTarget& gpu, arith::Analyzer* analyzer) {
  const auto* op = dyn_cast<BinaryNode>(condition);
  if (op == nullptr) return false;
  if (op->op == BinaryOp::kAnd) {
    return IsBoundOfArray(op->a, loops, place, gpu, analyzer) && IsBoundOfArray(op->b, loops, place, gpu, analyzer);
  }
  const DataType wide = DataType::Int(64);
  const Expr one = Const(wide, 1);
  const bool less = op->op == BinaryOp::kLT || op->op == BinaryOp::kLE;
  if (!less && op->op != BinaryOp::kGT && op->op != BinaryOp::kGE) return false;
  const bool strict = op->op == BinaryOp::kLT || op->op == BinaryOp::kGT;
  const Expr a = CastTo(wide, op->a), b = CastTo(wide, op->b);
  const Expr distance = (less ? b - a : a - b) - Const(wide, strict ? 1 : 0);
  for (size_t d = 0; d < place.indices.size(); ++d) {
    const Expr index = CastTo(wide, place.indices[d]), extent = CastTo(wide, place.shape[d]);
    for (const Expr& inside : {index, extent - index - one}) {
      for (int64_t t = 1; t <= gpu.max_map_box; t *= 2) {
        const Expr times = Const(wide, t);
        if (Most(inside - times * distance, loops, t, analyzer) <= t - 1) return true;
        if (Most(times * inside - distance, loops, t, analyzer) <= 0) return true;
      }
    }
  }
  return false;
}

std::vector<Expr> ElementStrides(const Buffer& buffer, arith::Analyzer* analyzer) {
  if (!buffer->strides.empty()) return buffer->strides;
  std::vector<Expr> strides(buffer->ndim());
  Expr stride = Const(DataType::Int(64), 1);
  for (size_t d = buffer->ndim(); d-- > 0;) {
    strides[d] = stride;
    stride = analyzer->Simplify(stride * CastTo(DataType::Int(64), buffer->shape[d]));
  }
  return strides;
}

bool HasMapType(DataType type) {
  return type.lanes() == 1 && (type.is_float() || type.is_integer()) && type.bits() >= 8 && type.bits() <= 32;
}

std::vector<Expr> MapOfArray(const Buffer& buffer, const std::vector<Expr>& shape, const std::vector<Expr>& strides,
                             int64_t span) {
  const size_t rank = shape.size();
  const auto wide = [](const Expr& e) { return CastTo(DataType::Int(64), e); };
  std::vector<Expr> args = {buffer->data, String(buffer->dtype.ToString()), Expr(static_cast<int>(span)),
                            Expr(static_cast<int>(rank))};
  for (size_t d = rank; d-- > 0;) args.push_back(wide(shape[d]));
  for (size_t d = rank - 1; d-- > 0;) {
    args.push_back(arith::Simplify(wide(strides[d]) * Const(DataType::Int(64), buffer->dtype.bytes())));
  }
  return args;
}

Stmt PanelOf(const BoxNest& nest, const BoxForm& form, int64_t panel, Stmt body, Expr engine, uint32_t* next_id) {
  const ForNode* inner = nest.loops.back();
  body = Substitute(body, {{inner->var, inner->var + Const(inner->var.dtype(), panel)}});
  for (size_t i = nest.loops.size(); i-- > 0;) {
    ForNode::Fields fields = nest.loops[i]->fields();
    if (nest.loops[i] == inner) fields.extent = Const(inner->var.dtype(), form.columns);
    fields.body = std::move(body);
    body = For(std::move(fields));
  }
  body = CopyWithFreshNames(body, next_id);
  return Stmt(new AttrStmtNode(Expr(0), kCudaInstruction, std::move(engine), std::move(body)));
}

}  // namespace tilewright
