// Rotary positions.
#include "base/status_macros.h"
#include "graph/onnx/attention.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/indexing.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;

// An error where an operand has another shape than `wanted`; of symbolic extents that is checked when the model runs.
absl::Status CheckShape(OnnxNode& n, const char* what, const Item& operand, const Exprs& wanted) {
  for (size_t d = 0; d < wanted.size(); ++d) {
    if (operand.rank() == wanted.size() && n.RequireEqual(operand.shape[d], wanted[d])) continue;
    return n.Error(what, " of another shape than the others ask for");
  }
  return absl::OkStatus();
}

// What the rows of x ask of the other operands. `head`: what x's last extent is made of; 0: of any extent.
absl::Status CheckRows(OnnxNode& n, int64_t head, int64_t pairs, const Item& cosines, const Item& sines,
                       const Item& positions) {
  const Item& x = n.In(0);
  const Expr& width = x.shape.back();
  const bool whole =
      head == 0 || (n.RequireEqual(n.emit().Simplify(FloorMod(AsExtent(width), Extent(head))), Extent(0)) &&
                    (x.rank() == 3 || n.RequireEqual(width, Extent(head))));
  if (!whole) return n.Error("its last extent is not one of heads of ", head, " elements");
  const Exprs rows = {x.shape[0], x.shape[x.rank() - 2]};
  if (positions.present() && positions.rank() == 2) TW_RETURN_IF_ERROR(CheckShape(n, "positions", positions, rows));
  if (!positions.present()) {
    TW_RETURN_IF_ERROR(CheckShape(n, "cosines", cosines, {rows[0], rows[1], Extent(pairs)}));
  }
  return CheckShape(n, "sines", sines, cosines.shape);
}

// Rotates pairs of elements of each head by angles of its position. x is [batch, heads, positions, head] or [batch,
// positions, heads * head]; cosines and sines are [greatest position, pairs] or, without positions, [batch, positions,
// pairs]. A pair is two neighbours (`interleaved`), or one element of each half of the first 2 * pairs elements;
// elements behind these stay. `positions` is [batch, positions], or the first position; absent where cosines are of
// three dimensions.
absl::Status Rotate(OnnxNode& n, const Item& cosines, const Item& sines, const Item& positions) {
  const Item& x = n.In(0);
  TW_RETURN_IF_ERROR(n.RequireFloat());
  if (x.rank() != 3 && x.rank() != 4) return n.Error("its input has rank ", x.rank());
  if (cosines.rank() != (positions.present() ? 2u : 3u) || sines.rank() != cosines.rank()) {
    return n.Error("cosines and sines of ranks ", cosines.rank(), " and ", sines.rank());
  }
  if (positions.present() &&
      (!positions.is_tensor() || !positions.dtype.is_integer() || positions.rank() < 1 || positions.rank() > 2)) {
    return n.Error("positions are not a row or matrix of integers");
  }
  const auto pairs = AsInt(cosines.shape.back()), last = AsInt(x.shape.back());
  if (!pairs || *pairs < 1) return n.Unsupported("a symbolic number of pairs");
  const int64_t heads = n.Int("num_heads", 0), rotated = n.Int("rotary_embedding_dim", 0);
  // A head of symbolic extent has more elements than are turned, where the attribute says how many are.
  const bool open = !last && rotated > 0;
  if (open && x.rank() == 3) return n.Unsupported("a part of heads of a symbolic width");
  int64_t head = x.rank() == 4 && last ? *last : 2 * *pairs + (open ? 1 : 0);
  if (x.rank() == 3 && heads > 0 && last) {
    if (*last % heads != 0) return n.Error(*last, " elements in ", heads, " heads");
    head = *last / heads;
  }
  if ((rotated > 0 ? rotated : head) != 2 * *pairs || head < 2 * *pairs) {
    return n.Error(*pairs, " pairs of a head of ", head, " elements");
  }
  if (open) n.emit().builder().Assume(AsExtent(x.shape.back()) >= Extent(2 * *pairs));
  TW_RETURN_IF_ERROR(CheckRows(n, open ? 0 : head, *pairs, cosines, sines, positions));
  const bool interleaved = n.Int("interleaved", 0) != 0;
  Items inputs = {x, cosines, sines};
  if (positions.present()) inputs.push_back(positions);
  const DataType f32 = DataType::Float(32);
  return n.Out(n.Program("rotate", inputs, [&](ProgramParts& p) {
    const size_t sequence = x.rank() - 2;
    return Buffers{p.f.Compute("rotated", p.in[0]->shape, [&](const std::vector<Symbol>& v) {
      const ops::Indices at(v.begin(), v.end());
      const Expr place = at[sequence], column = at.back();
      const auto number = [&](int64_t value) { return Const(column.dtype(), value); };
      const Expr j = x.rank() == 4 ? column : FloorMod(column, number(head));
      const auto element = [&](const Expr& other) {
        ops::Indices moved = at;
        moved.back() = column - j + other;
        return CastTo(f32, p.in[0].Load(moved));
      };
      const auto angle_of = [&](const Expr& pair) {
        ops::Indices angle = {v[0], place, pair};
        if (positions.present()) {
          const Buffer& given = p.in[3];
          const Expr position = given->ndim() == 2 ? given(v[0], place) : given(0) + CastTo(given->dtype, place);
          angle = {ops::WrapIndex(position, p.in[1]->shape[0]), pair};
        }
        return std::pair(CastTo(f32, p.in[1].Load(angle)), CastTo(f32, p.in[2].Load(angle)));
      };
      return CastTo(x.dtype, RotatedElement({*pairs, interleaved}, head, j, element, angle_of));
    })};
  }));
}

absl::Status ImportRotaryEmbedding(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 3));
  return Rotate(n, n.In(1), n.In(2), n.In(3));
}
// com.microsoft: positions come second. ONNX Runtime turns by the angles as they are, whatever `scale` says, and
// positions of packed batches are as others.
absl::Status ImportMicrosoftRotaryEmbedding(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 4));
  return Rotate(n, n.In(2), n.In(3), n.In(1));
}

}  // namespace

OnnxOperators RotaryOperators() {
  return {
      {"RotaryEmbedding", 23, ImportRotaryEmbedding},
      {"RotaryEmbedding", 1, ImportMicrosoftRotaryEmbedding, {}, kMicrosoft},
  };
}

}  // namespace tilewright::graph
