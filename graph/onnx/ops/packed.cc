// Weights of few bits that lie packed in bytes.
#include <cmath>

#include "base/math.h"
#include "base/status_macros.h"
#include "graph/onnx/block_quantized.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/indexing.h"
#include "ir/ops/movement.h"
#include "ir/ops/product.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
constexpr DataType kF32 = DataType::Float(32), kI32 = DataType::Int(32);

Buffer Narrowed(ProgramParts& p, const Buffer& x, DataType type) {
  if (x->dtype == type) return x;
  return ops::Map(p.f, "narrow", {x}, [&](const Exprs& e) { return CastTo(type, e[0]); });
}

// Whether the file asks for activations of 8 bits, and they can be added up in 32: rows of groups have none.
bool QuantizesActivations(const OnnxNode& n, int64_t block) {
  constexpr int64_t kLevel = 4, kMostBlock = int64_t{1} << 15;
  return n.Int("accuracy_level", 0) == kLevel && !n.Has(4) && block <= kMostBlock;
}

// The matrix of MatMulNBits.
struct NBitsMatrix {
  int64_t depth = 0, columns = 0, bits = 4, block = 0;
  bool zeros_packed = false;

  int64_t per_byte() const { return 8 / bits; }
  int64_t blocks() const { return CeilDiv(depth, block); }
  int64_t zero_bytes() const { return CeilDiv(blocks(), per_byte()); }  // of a column
};

// An error where an input that is there does not have that many elements.
absl::Status RequireElements(OnnxNode& n, size_t i, int64_t count) {
  if (!n.Has(i)) return absl::OkStatus();
  TW_RETURN_IF_ERROR(n.RequireTensors(i, 1));
  const auto extents = ConstantExtents(n.In(i).shape);
  if (!extents) return n.Unsupported("weights of symbolic extents");
  int64_t all = 1;
  for (int64_t extent : *extents) all *= extent;
  return all == count ? absl::OkStatus() : n.Error("input ", i, " has ", all, " elements, expected ", count);
}

absl::StatusOr<NBitsMatrix> NBitsMatrixOf(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 3));
  TW_RETURN_IF_ERROR(n.RequireFloat());
  const Item &a = n.In(0), &b = n.In(1);
  const NBitsMatrix m = {.depth = n.Int("K", 0),
                         .columns = n.Int("N", 0),
                         .bits = n.Int("bits", 4),
                         .block = n.Int("block_size", 0),
                         .zeros_packed = n.Has(3) && !n.In(3).dtype.is_float()};
  if (m.bits != 2 && m.bits != 4 && m.bits != 8) return n.Error("integers of ", m.bits, " bits");
  if (m.depth < 1 || m.columns < 1 || m.block < 1 || m.block * m.bits % 8 != 0) {
    return n.Error("a matrix ", m.depth, "x", m.columns, " in blocks of ", m.block);
  }
  if (a.rank() < 1) return n.Error("its input is a scalar");
  Exprs a_shape = a.shape;
  a_shape.back() = Extent(m.depth);
  TW_RETURN_IF_ERROR(n.RequireShape(0, a_shape));
  if (b.dtype != DataType::UInt(8) || (m.zeros_packed && n.In(3).dtype != b.dtype)) {
    return n.Error("weights or zero points are not bytes");
  }
  TW_RETURN_IF_ERROR(RequireElements(n, 1, m.columns * m.blocks() * (m.block / m.per_byte())));
  TW_RETURN_IF_ERROR(RequireElements(n, 2, m.columns * m.blocks()));
  TW_RETURN_IF_ERROR(RequireElements(n, 3, m.columns * (m.zeros_packed ? m.zero_bytes() : m.blocks())));
  if (n.Has(4)) {
    // One index for each row of the matrix, with or without those that fill its last block.
    TW_RETURN_IF_ERROR(n.RequireTensors(4, 1));
    const auto groups = n.In(4).rank() == 1 ? AsInt(n.In(4).shape[0]) : std::nullopt;
    if (!groups || *groups < m.depth) return n.Error("indices of groups do not fit the matrix");
  }
  TW_RETURN_IF_ERROR(RequireElements(n, 5, m.columns));
  return m;
}

// com.microsoft: a [..., k] times the transpose of a matrix [n, k] of unsigned integers of `bits` bits, which lie in
// bytes [n, blocks, block_size * bits / 8], the lowest bits first. A block has a scale and a zero point, which are
// packed in the same way, or floats, or half of the range where there are none. Inputs are a, b, scales, zero points,
// indices of groups, bias.
absl::Status ImportMatMulNBits(OnnxNode& n) {
  TW_ASSIGN_OR_RETURN(const NBitsMatrix m, NBitsMatrixOf(n));
  const DataType type = n.In(0).dtype;
  const DataType f32 = DataType::Float(32), i32 = DataType::Int(32);
  // The element of a buffer at a row-major position.
  const auto at = [](const Buffer& buffer, const Expr& position) {
    return buffer.Load(ops::Unflatten(buffer->shape, position));
  };
  const auto finished = [&](ProgramParts& p, const Buffer& product) -> Buffers {
    if (!n.Has(5)) return {Narrowed(p, product, type)};
    return {p.f.Compute("bias_add", product->shape, [&](const std::vector<Symbol>& v) {
      return CastTo(type, product.Load({v.begin(), v.end()}) + CastTo(f32, at(p.in.back(), v.back())));
    })};
  };
  if (QuantizesActivations(n, m.block)) {
    return n.Out(n.Program("matmul_nbits", n.in(), [&](ProgramParts& p) {
      return finished(p, AddBlockQuantizedProduct(p.f, {.depth = m.depth,
                                                        .columns = m.columns,
                                                        .bits = m.bits,
                                                        .block = m.block,
                                                        .a = p.in[0],
                                                        .bytes = p.in[1],
                                                        .scales = p.in[2],
                                                        .zeros = n.Has(3) ? p.in[3] : Buffer()}));
    }));
  }
  return n.Out(n.Program("matmul_nbits", n.in(), [&](ProgramParts& p) {
    const auto unpacked = [&](const Buffer& buffer, const Expr& row, int64_t row_bytes, const Expr& index) {
      const Expr byte = CastTo(i32, at(buffer, row * Expr(row_bytes) + FloorDiv(index, Expr(m.per_byte()))));
      const Expr shift = CastTo(i32, FloorMod(index, Expr(m.per_byte()))) * Const(i32, m.bits);
      const Expr shifted = tilewright::Call(i32, "shift_right", {byte, shift});
      return CastTo(f32, tilewright::Call(i32, "bitwise_and", {shifted, Const(i32, (1 << m.bits) - 1)}));
    };
    const size_t after_zeros = n.Has(3) ? 4 : 3;
    Buffer weight = p.f.Compute("dequantized", {Expr(m.depth), Expr(m.columns)}, [&](Symbol k, Symbol column) {
      Expr of_block = FloorDiv(k, Expr(m.block));
      if (n.Has(4)) of_block = ops::WrapIndex(p.in[after_zeros](k), Expr(m.blocks()));
      const Expr parameter = column * Expr(m.blocks()) + of_block;
      Expr zero = Const(f32, 1 << (m.bits - 1));
      if (m.zeros_packed) {
        zero = unpacked(p.in[3], column, m.zero_bytes(), of_block);
      } else if (n.Has(3)) {
        zero = CastTo(f32, at(p.in[3], parameter));
      }
      return (unpacked(p.in[1], column, m.blocks() * (m.block / m.per_byte()), k) - zero) *
             CastTo(f32, at(p.in[2], parameter));
    });
    return finished(p, ops::Product(p.f, p.in[0], weight, f32));
  }));
}

// Rows of a table whose elements are quantized in blocks along one dimension. Inputs are the table, indices, scales and
// zero points. Elements of two or four bits may share bytes, along the last dimension. Indices outside of the table
// give zeros.
absl::Status ImportGatherBlockQuantized(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 3));
  const Item &table = n.In(0), &scales = n.In(2);
  const int64_t bits = n.Int("bits", 4), block = n.Int("block_size", 128);
  if ((bits != 2 && bits != 4 && bits != 8) || block < 1)
    return n.Error("blocks of ", block, " integers of ", bits, " bits");
  TW_ASSIGN_OR_RETURN(const int gather, n.Axis(n.Int("gather_axis", 0), table.rank()));
  TW_ASSIGN_OR_RETURN(const int axis, n.Axis(n.Int("quantize_axis", 1), table.rank()));
  const bool packed = table.bits == 0 && bits < 8;
  if (packed && (table.dtype != DataType::UInt(8) || gather == static_cast<int>(table.rank()) - 1)) {
    return n.Unsupported("packed integers of another type, or gathered along their last dimension");
  }
  const int64_t per_byte = packed ? 8 / bits : 1;
  const auto a = static_cast<size_t>(axis), g = static_cast<size_t>(gather);
  // A scale and a zero point for each block; zero points are packed as the table is.
  const auto ratio = [&](const Expr& extent, int64_t by) {
    return n.emit().Simplify(FloorDiv(AsExtent(extent) + Extent(by - 1), Extent(by)));
  };
  Exprs blocks = table.shape;
  blocks.back() = n.emit().Simplify(AsExtent(blocks.back()) * Extent(per_byte));
  blocks[a] = ratio(blocks[a], block);
  TW_RETURN_IF_ERROR(n.RequireShape(2, blocks));
  blocks.back() = ratio(blocks.back(), per_byte);
  TW_RETURN_IF_ERROR(n.RequireShape(3, blocks));
  const Item& indices = n.In(1);
  const DataType to = scales.dtype;
  const double middle = table.dtype.is_int() || table.bits != 0 ? 0 : std::ldexp(1, static_cast<int>(bits) - 1);
  return n.Out(n.Program("gather_dequantized", n.in(), [&](ProgramParts& p) {
    std::vector<Expr> shape(p.in[0]->shape.begin(), p.in[0]->shape.end());
    shape.back() = packed ? shape.back() * Const(shape.back().dtype(), per_byte) : shape.back();
    const Expr rows = shape[g];
    const size_t rank = indices.rank();
    shape.erase(shape.begin() + gather);
    shape.insert(shape.begin() + gather, p.in[1]->shape.begin(), p.in[1]->shape.end());
    // The element of packed or whole integers at some indices.
    const auto element = [&](const Buffer& buffer, ops::Indices at) {
      if (!packed) return CastTo(kF32, buffer.Load(at));
      const Expr by = Const(at.back().dtype(), per_byte);
      const Expr shift = CastTo(kI32, FloorMod(at.back(), by)) * Const(kI32, bits);
      at.back() = FloorDiv(at.back(), by);
      const Expr shifted = tilewright::Call(kI32, "shift_right", {CastTo(kI32, buffer.Load(at)), shift});
      return CastTo(kF32, tilewright::Call(kI32, "bitwise_and", {shifted, Const(kI32, (1 << bits) - 1)}));
    };
    return Buffers{p.f.Compute("gather_dequantized", shape, [&](const std::vector<Symbol>& v) {
      const ops::Indices out(v.begin(), v.end());
      const auto first = out.begin() + gather, end = first + static_cast<std::ptrdiff_t>(rank);
      ops::Indices at(out.begin(), first);
      const Expr index = p.in[1].Load(ops::Indices(first, end)), extent = CastTo(index.dtype(), rows);
      at.push_back(ops::WrapIndex(index, rows));
      at.insert(at.end(), end, out.end());
      ops::Indices of_block = at;
      of_block[a] = FloorDiv(at[a], Const(at[a].dtype(), block));
      const Expr zero = p.in.size() > 3 ? element(p.in[3], of_block) : ConstFloat(kF32, middle);
      const Expr value = CastTo(to, (element(p.in[0], at) - zero) * CastTo(kF32, p.in[2].Load(of_block)));
      return Select(And(index < extent, index >= Const(index.dtype(), 0) - extent), value, Const(to, 0));
    })};
  }));
}

}  // namespace

OnnxOperators PackedOperators() {
  return {
      {"GatherBlockQuantized", 1, ImportGatherBlockQuantized, {.integers = Inputs({1})}, kMicrosoft},
      {"MatMulNBits",
       1,
       ImportMatMulNBits,
       {.integers = Inputs({4}), .required = "K N", .only = "weight_prepacked=0"},
       kMicrosoft},
  };
}

}  // namespace tilewright::graph
