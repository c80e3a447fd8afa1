#include "graph/onnx/block_quantized.h"

#include <vector>

#include "ir/ops/indexing.h"
#include "ir/ops/movement.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
using Symbols = std::vector<tilewright::Var>;
constexpr DataType kF32 = DataType::Float(32), kI32 = DataType::Int(32), kS8 = DataType::Int(8),
                   kU8 = DataType::UInt(8);
// The largest quantized activation: -128 is not used, so that the range is symmetric.
constexpr int64_t kMostQuantized = 127;

class Writer {
 public:
  Writer(FunctionBuilder& f, const BlockQuantizedProduct& product)
      : f_(f),
        p_(product),
        planes_(8 / product.bits),
        bytes_(product.block * product.bits / 8),
        rows_(product.a->shape.begin(), product.a->shape.end() - 1) {}

  Buffer Write() {
    Quantize();
    const Buffer sums = AddSums();
    const Buffer zeros = p_.zeros && !p_.zeros->dtype.is_float() ? UnpackZeros() : p_.zeros;
    tilewright::ReduceAxis block("block", Expr(p_.blocks()));
    std::vector<Expr> shape = rows_;
    shape.emplace_back(p_.columns);
    return f_.Compute("scaled_sums", shape, [&](const Symbols& v) {
      const std::vector<Expr> row(v.begin(), v.end() - 1);
      std::vector<Expr> at = {block};
      at.insert(at.end(), v.begin(), v.end());
      std::vector<Expr> row_block = row;
      row_block.emplace_back(block);
      const Expr total = row_totals_.Load(row_block), scale = row_scales_.Load(row_block);
      Expr sum = sums.Load(at);
      if (!zeros) {
        sum = CastTo(kF32, sum - total * Const(kI32, int64_t{1} << (p_.bits - 1)));
      } else if (zeros->dtype.is_float()) {
        sum = CastTo(kF32, sum) - CastTo(kF32, OfBlock(zeros, v.back(), block)) * CastTo(kF32, total);
      } else {
        sum = CastTo(kF32, sum - total * CastTo(kI32, zeros(block, v.back())));
      }
      return tilewright::Sum(sum * (scale * CastTo(kF32, OfBlock(p_.scales, v.back(), block))), block);
    });
  }

 private:
  // The element of a buffer that has one for each column and block.
  Expr OfBlock(const Buffer& buffer, const Expr& column, const Expr& block) const {
    if (buffer->ndim() == 2 && IsInt(buffer->shape[1], p_.blocks())) return buffer(column, block);
    return buffer.Load(ops::Unflatten(buffer->shape, column * Expr(p_.blocks()) + block));
  }

  // The activation at an index of a block, 0 behind the last one.
  Expr Activation(std::vector<Expr> row, const Expr& block, const Expr& k) const {
    row.push_back(block * Expr(p_.block) + k);
    const Expr value = CastTo(kF32, p_.a.Load(row));
    return p_.depth % p_.block == 0 ? value : IfThenElse(row.back() < Expr(p_.depth), value, Const(kF32, 0));
  }

  void Quantize() {
    std::vector<Expr> shape = rows_;
    shape.emplace_back(p_.blocks());
    const auto row_of = [](const Symbols& v, size_t others) {
      return std::vector<Expr>(v.begin(), v.end() - static_cast<std::ptrdiff_t>(others));
    };
    tilewright::ReduceAxis k("k", Expr(p_.block));
    const Buffer largest = f_.Compute("largest", shape, [&](const Symbols& v) {
      return tilewright::MaxOver(ops::Unary("abs", Activation(row_of(v, 1), v.back(), k)), k);
    });
    const Expr most = Const(kF32, kMostQuantized), zero = Const(kF32, 0);
    row_scales_ = f_.Compute("row_scales", shape,
                             [&](const Symbols& v) { return Div(largest.Load({v.begin(), v.end()}), most); });
    const Buffer inverse = f_.Compute("inverse_scales", shape, [&](const Symbols& v) {
      const Expr value = largest.Load({v.begin(), v.end()});
      return Select(value > zero, Div(most, value), zero);
    });
    std::vector<Expr> elements = shape;
    if (planes_ > 1) elements.emplace_back(planes_);
    elements.emplace_back(bytes_);
    const size_t inner = planes_ > 1 ? 3 : 2;
    quantized_ = f_.Compute("quantized", elements, [&](const Symbols& v) {
      std::vector<Expr> at = row_of(v, inner);
      const Expr block = v[v.size() - inner];
      const Expr element = planes_ > 1 ? v.back() * Expr(planes_) + v[v.size() - 2] : Expr(v.back());
      const Expr value = Activation(at, block, element);
      at.push_back(block);
      return ops::RoundAndSaturate(kS8, value * inverse.Load(at));
    });
    row_totals_ = f_.Compute("row_totals", shape, [&](const Symbols& v) {
      std::vector<tilewright::ReduceAxis> axes = Axes();
      std::vector<Expr> at(v.begin(), v.end());
      at.insert(at.end(), axes.begin(), axes.end());
      return tilewright::Sum(CastTo(kI32, quantized_.Load(at)), axes);
    });
  }
  // What a block is summed over: its planes, where there are several, and the bytes of each.
  std::vector<tilewright::ReduceAxis> Axes() const {
    std::vector<tilewright::ReduceAxis> axes;
    if (planes_ > 1) axes.emplace_back("plane", Expr(planes_));
    axes.emplace_back("byte", Expr(bytes_));
    return axes;
  }

  Expr Byte(const Expr& column, const Expr& block, const Expr& byte) const {
    const Buffer& b = p_.bytes;
    if (b->ndim() == 3 && IsInt(b->shape[1], p_.blocks()) && IsInt(b->shape[2], bytes_)) return b(column, block, byte);
    return b.Load(ops::Unflatten(b->shape, (column * Expr(p_.blocks()) + block) * Expr(bytes_) + byte));
  }

  Buffer AddSums() {
    std::vector<Expr> shape = {Expr(p_.blocks())};
    shape.insert(shape.end(), rows_.begin(), rows_.end());
    shape.emplace_back(p_.columns);
    Buffer planes;
    if (planes_ > 1) {
      const std::vector<Expr> weights = {Expr(p_.blocks()), Expr(planes_), Expr(bytes_), Expr(p_.columns)};
      planes = f_.Compute("planes", weights, [&](const Symbols& v) {
        const Expr shift = CastTo(kU8, v[1]) * Const(kU8, p_.bits);
        const Expr shifted = tilewright::Call(kU8, "shift_right", {Byte(v[3], v[0], v[2]), shift});
        return tilewright::Call(kU8, "bitwise_and", {shifted, Const(kU8, (int64_t{1} << p_.bits) - 1)});
      });
    }
    return f_.Compute("sums", shape, [&](const Symbols& v) {
      const std::vector<tilewright::ReduceAxis> axes = Axes();
      std::vector<Expr> at(v.begin() + 1, v.end() - 1);
      at.emplace_back(v[0]);
      at.insert(at.end(), axes.begin(), axes.end());
      const Expr weight = planes_ > 1 ? planes(v[0], axes[0], axes[1], v.back()) : Byte(v.back(), v[0], axes[0]);
      return tilewright::Sum(CastTo(kI32, quantized_.Load(at)) * CastTo(kI32, weight), axes);
    });
  }

  Buffer UnpackZeros() {
    const int64_t row_bytes = (p_.blocks() + planes_ - 1) / planes_;
    return f_.Compute("zeros", {Expr(p_.blocks()), Expr(p_.columns)},
                      [&](tilewright::Var block, tilewright::Var column) {
                        const Expr position = column * Expr(row_bytes) + FloorDiv(block, Expr(planes_));
                        const Expr byte = p_.zeros.Load(ops::Unflatten(p_.zeros->shape, position));
                        if (planes_ == 1) return byte;
                        const Expr shift = CastTo(kU8, FloorMod(block, Expr(planes_))) * Const(kU8, p_.bits);
                        const Expr shifted = tilewright::Call(kU8, "shift_right", {byte, shift});
                        return tilewright::Call(kU8, "bitwise_and", {shifted, Const(kU8, (int64_t{1} << p_.bits) - 1)});
                      });
  }

  FunctionBuilder& f_;
  const BlockQuantizedProduct& p_;
  const int64_t planes_, bytes_;  // elements of a byte; bytes of a block
  const std::vector<Expr> rows_;
  Buffer row_scales_, quantized_, row_totals_;
};

}  // namespace

Buffer AddBlockQuantizedProduct(FunctionBuilder& f, const BlockQuantizedProduct& product) {
  return Writer(f, product).Write();
}

}  // namespace tilewright::graph
