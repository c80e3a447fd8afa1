// Mixtures of experts: each row goes through the products of the few experts that a router chooses for it.
#include <cmath>
#include <limits>
#include <numbers>

#include "base/math.h"
#include "base/status_macros.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/reduction.h"
#include "ir/ops/row_ops.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

namespace ops = tilewright::ops;
constexpr DataType kF32 = DataType::Float(32), kI64 = DataType::Int(64), kI32 = DataType::Int(32);

// Weights [experts, rows, columns], as they are or as integers in bytes with scales for each row, or for blocks of it.
// Zero points lie in bytes as the weights do: [experts, rows, blocks], or [experts, rows] where a row is one block.
struct ExpertWeights {
  Item weights, scales, zeros, bias;
  int64_t bits = 0;  // 0: floats
  int64_t block = 0;
  int64_t rows = 0, columns = 0;

  Items inputs() const {
    Items all = {weights};
    for (const Item& item : {scales, zeros, bias}) {
      if (item.present()) all.push_back(item);
    }
    return all;
  }
};

// The weight of an expert at a row and a column, f32. `in` are the buffers of inputs().
Expr WeightAt(const ExpertWeights& w, const Buffers& in, const Expr& expert, const Expr& row, const Expr& column) {
  if (w.bits == 0) return CastTo(kF32, in[0](expert, row, column));
  const int64_t per_byte = 8 / w.bits;
  // The element at the last of some indices, among those that share its bytes.
  const auto element = [&](const Buffer& buffer, ops::Indices indices) {
    const Expr at = indices.back(), by = Const(at.dtype(), per_byte);
    indices.back() = FloorDiv(at, by);
    const Expr byte = CastTo(kI32, buffer.Load(indices));
    const Expr shift = CastTo(kI32, FloorMod(at, by)) * Const(kI32, w.bits);
    const Expr shifted = tilewright::Call(kI32, "shift_right", {byte, shift});
    return CastTo(kF32, tilewright::Call(kI32, "bitwise_and", {shifted, Const(kI32, (1 << w.bits) - 1)}));
  };
  const Expr block = w.block > 0 ? FloorDiv(column, Const(column.dtype(), w.block)) : Const(column.dtype(), 0);
  const Expr scale = in[1]->ndim() == 3 ? in[1](expert, row, block) : in[1](expert, row);
  Expr zero = ConstFloat(kF32, std::ldexp(1, static_cast<int>(w.bits) - 1));
  if (w.zeros.present()) {
    zero = element(in[2], in[2]->ndim() == 3 ? ops::Indices{expert, row, block} : ops::Indices{expert, row});
  }
  return (element(in[0], {expert, row, column}) - zero) * CastTo(kF32, scale);
}

class Experts {
 public:
  explicit Experts(OnnxNode& n) : n_(n) {}

  // Inputs that hold weights, scales, zero points and biases of the three products, and the shares of experts
  // (SIZE_MAX: none). Bits of a weight: 0 are floats.
  struct Places {
    size_t weights[3], scales[3], zeros[3], bias[3];
    size_t shares = SIZE_MAX;
    int64_t bits[3] = {0, 0, 0};
  };

  absl::Status Import(const Places& places) {
    TW_RETURN_IF_ERROR(n_.RequireTensors(0, 2));
    TW_RETURN_IF_ERROR(n_.RequireFloat());
    const Item& x = n_.In(0);
    if (x.rank() != 2 && x.rank() != 3) return n_.Error("its input has rank ", x.rank());
    const auto width = AsInt(x.shape.back());
    if (!width) return n_.Unsupported("rows of a symbolic extent");
    quantized_ = places.bits[0] != 0;
    // ONNX Runtime chooses experts and their shares by the same rule with the sparse mixer and without it.
    if (n_.Int("use_sparse_mixer", 0) != 0 && n_.Int("k", 1) != 2) return n_.Error("a sparse mixer whose k is not 2");
    const Expr rows = n_.emit().Simplify(x.rank() == 2 ? x.shape[0] : x.shape[0] * x.shape[1]);
    TW_ASSIGN_OR_RETURN(const Item flat, n_.emit().View(x, {rows, x.shape.back()}));
    TW_ASSIGN_OR_RETURN(const ExpertWeights first, WeightsOf(places, 0, *width));
    activation_ = n_.String("activation_type", "relu");
    const bool gated = activation_ == "swiglu";
    const int64_t inner = gated && !n_.Has(places.weights[2]) ? first.rows / 2 : first.rows;
    TW_ASSIGN_OR_RETURN(const ExpertWeights second, WeightsOf(places, 1, inner));
    if (second.rows != *width) return n_.Error("the last weights give ", second.rows, " elements, expected ", *width);
    TW_RETURN_IF_ERROR(Route(rows, places.shares));
    TW_ASSIGN_OR_RETURN(Item hidden, Product("experts_in", flat, false, first));
    if (n_.Has(places.weights[2])) {
      TW_ASSIGN_OR_RETURN(const ExpertWeights third, WeightsOf(places, 2, *width));
      TW_ASSIGN_OR_RETURN(const Item gate, Product("experts_gate", flat, false, third));
      TW_ASSIGN_OR_RETURN(const Items gated_by, n_.MapItems("experts_act", {hidden, gate},
                                                            [&](const Exprs& e) { return Activation(e[0]) * e[1]; }));
      hidden = gated_by[0];
    } else {
      TW_ASSIGN_OR_RETURN(hidden, Activated(hidden, inner));
    }
    TW_ASSIGN_OR_RETURN(const Item parts, Product("experts_out", hidden, true, second));
    const DataType type = x.dtype;
    TW_ASSIGN_OR_RETURN(Items sum, n_.Program("experts_sum", {parts, shares_}, [&](ProgramParts& p) {
      tilewright::ReduceAxis slot("slot", p.in[0]->shape[1]);
      Buffer total = p.f.Compute("experts_sum", {p.in[0]->shape[0], p.in[0]->shape[2]}, [&](Symbol t, Symbol d) {
        return tilewright::Sum(p.in[0](t, slot, d) * p.in[1](t, slot), slot);
      });
      if (type == kF32) return Buffers{total};
      return Buffers{ops::Map(p.f, "narrow", {total}, [&](const Exprs& e) { return CastTo(type, e[0]); })};
    }));
    return n_.Out(n_.emit().View(sum[0], x.shape));
  }

 private:
  absl::StatusOr<ExpertWeights> WeightsOf(const Places& places, size_t which, int64_t columns) {
    const int64_t bits = places.bits[which];
    ExpertWeights w{.bits = bits, .block = n_.Int("block_size", 0), .columns = columns};
    TW_RETURN_IF_ERROR(n_.RequireTensors(places.weights[which], 1));
    w.weights = n_.In(places.weights[which]);
    w.bias = n_.In(places.bias[which]);
    const auto shape = ConstantExtents(w.weights.shape);
    if (!shape || shape->size() != 3) return n_.Error("weights of experts that are not of three constant extents");
    if (experts_ == 0) experts_ = (*shape)[0];
    w.rows = (*shape)[1];
    const int64_t stored = bits == 0 ? columns : CeilDiv(columns * bits, 8);
    if ((*shape)[0] != experts_ || (*shape)[2] != stored) {
      return n_.Error("weights of experts of extents ", (*shape)[0], ", ", w.rows, " and ", (*shape)[2], ", expected ",
                      experts_, ", any and ", stored);
    }
    TW_RETURN_IF_ERROR(n_.RequireShape(places.bias[which], {Extent(experts_), Extent(w.rows)}));
    if (bits == 0) return w;
    TW_RETURN_IF_ERROR(n_.RequireTensors(places.scales[which], 1));
    w.scales = n_.In(places.scales[which]);
    w.zeros = n_.In(places.zeros[which]);
    if (w.weights.dtype != DataType::UInt(8)) return n_.Unsupported("quantized weights that are not bytes");
    if (w.scales.rank() != 2 && w.scales.rank() != 3) return n_.Error("scales of rank ", w.scales.rank());
    if (w.block > 0 && w.scales.rank() != 3) return n_.Error("blocks with scales of rank ", w.scales.rank());
    const int64_t blocks = w.block > 0 ? CeilDiv(columns, w.block) : 1;
    Exprs wanted = {Extent(experts_), Extent(w.rows)};
    if (w.scales.rank() == 3) wanted.push_back(Extent(blocks));
    TW_RETURN_IF_ERROR(n_.RequireShape(places.scales[which], wanted));
    if (w.zeros.present() && w.block == 0 && w.zeros.rank() == 2) {
      wanted = {Extent(experts_), Extent(CeilDiv(w.rows * bits, 8))};
    } else {
      wanted = {Extent(experts_), Extent(w.rows), Extent(CeilDiv(blocks * bits, 8))};
    }
    TW_RETURN_IF_ERROR(n_.RequireShape(places.zeros[which], wanted));
    return w;
  }

  // The k experts of the greatest score of each row, and their shares, which input `given` holds where it is there:
  // [rows, k].
  absl::Status Route(const Expr& rows, size_t given) {
    const int64_t k = n_.Int("k", 1);
    const Item& router = n_.In(1);
    if (router.rank() != 2 || !router.dtype.is_float()) return n_.Error("the router is not a matrix of floats");
    TW_RETURN_IF_ERROR(n_.RequireShape(1, {rows, Extent(experts_)}));
    if (k < 1 || k > std::min<int64_t>(experts_, 64)) return n_.Error(k, " of ", experts_, " experts");
    Items inputs = {router};
    if (n_.Has(given)) {
      TW_RETURN_IF_ERROR(n_.RequireTensors(given, 1));
      TW_RETURN_IF_ERROR(n_.RequireShape(given, router.shape));
      inputs.push_back(n_.In(given));
    }
    // Shares of quantized experts sum up to 1, but for given ones: ONNX Runtime takes the softmax of the chosen ones.
    const bool normalizes = (quantized_ && !n_.Has(given)) || n_.Int("normalize_routing_weights", 0) != 0;
    TW_ASSIGN_OR_RETURN(Items routed, n_.Program("route", inputs, [&](ProgramParts& p) {
      // Above what marks a chosen expert, also where a score is infinite.
      const Expr marked = ops::Lowest(kF32), least = ConstFloat(kF32, std::numeric_limits<float>::lowest());
      Buffer left = ops::Map(p.f, "logits", {p.in[0]}, [&](const Exprs& e) { return Max(CastTo(kF32, e[0]), least); });
      const Buffer all = p.in.size() > 1 ? p.in[1] : ops::SoftmaxOver(p.f, left, {1});
      const Expr rows = left->shape[0];
      Buffers chosen, shares;
      for (int64_t i = 0; i < k; ++i) {
        // ONNX Runtime takes the last of equal ones.
        chosen.push_back(ops::ArgExtreme(p.f, left, 1, false, true, true));
        const Buffer taken = chosen.back(), before = left;
        shares.push_back(p.f.Compute("share", {rows}, [&](Symbol t) { return CastTo(kF32, all(t, taken(t))); }));
        left = p.f.Compute("left", before->shape, [&](Symbol t, Symbol e) {
          return Select(CastTo(kI64, e) == taken(t), marked, before(t, e));
        });
      }
      const auto joined = [&](const char* name, const Buffers& parts) {
        return p.f.Compute(name, {rows, Expr(k)}, [&](Symbol t, Symbol slot) {
          Expr value = parts.back()(t);
          for (int64_t i = k - 1; i-- > 0;) {
            value = Select(slot == Const(slot.dtype(), i), parts[static_cast<size_t>(i)](t), value);
          }
          return value;
        });
      };
      Buffer numbers = joined("experts", chosen), of_all = joined("shares", shares);
      if (!normalizes) return Buffers{numbers, of_all};
      Buffer sum = ops::Reduce(p.f, "share_sum", ops::Reduction::kSum, of_all, {1}, true);
      return Buffers{numbers, ops::Map(p.f, "normalized", {of_all, sum}, [](const Exprs& e) {
                       return Select(e[1] == Const(kF32, 0), e[1], Div(e[0], e[1]));
                     })};
    }));
    numbers_ = routed[0];
    shares_ = routed[1];
    return absl::OkStatus();
  }

  // x [rows, columns], or [rows, k, columns] (`by_slot`), times the weights of each row's experts: [rows, k, rows of
  // weights].
  absl::StatusOr<Item> Product(const char* name, const Item& x, bool by_slot, const ExpertWeights& w) {
    Items inputs = {x, numbers_};
    for (const Item& item : w.inputs()) inputs.push_back(item);
    TW_ASSIGN_OR_RETURN(Items result, n_.Program(name, inputs, [&](ProgramParts& p) {
      const Buffers weights(p.in.begin() + 2, p.in.end());
      tilewright::ReduceAxis d("d", Expr(w.columns));
      const std::vector<Expr> shape = {p.in[1]->shape[0], p.in[1]->shape[1], Expr(w.rows)};
      const auto expert = [&](const Expr& t, const Expr& slot) { return p.in[1](t, slot); };
      Buffer product = p.f.Compute(name, shape, [&](Symbol t, Symbol slot, Symbol row) {
        const Expr left = by_slot ? p.in[0](t, slot, d) : p.in[0](t, d);
        return tilewright::Sum(CastTo(kF32, left) * WeightAt(w, weights, expert(t, slot), row, d), d);
      });
      if (!w.bias.present()) return Buffers{product};
      return Buffers{p.f.Compute("bias_add", shape, [&](Symbol t, Symbol slot, Symbol row) {
        return product(t, slot, row) + CastTo(kF32, weights.back()(expert(t, slot), row));
      })};
    }));
    return result[0];
  }

  Expr Activation(const Expr& x) const {
    if (activation_ == "relu") return Max(x, Const(kF32, 0));
    if (activation_ == "silu" || activation_ == "swiglu") return x * ops::Sigmoid(x);
    if (activation_ == "gelu") {
      // ONNX Runtime takes the formula by tanh.
      const double root = std::sqrt(2 / std::numbers::pi);
      const Expr inner = x * (ConstFloat(kF32, root) + ConstFloat(kF32, root * 0.044715) * x * x);
      return ConstFloat(kF32, 0.5) * x * (Const(kF32, 1) + ops::Unary("tanh", inner));
    }
    return x;
  }

  // Behind the first product. The gate and the value of swiglu lie in turns, or one behind the other.
  absl::StatusOr<Item> Activated(const Item& hidden, int64_t inner) {
    if (activation_ != "relu" && activation_ != "silu" && activation_ != "gelu" && activation_ != "identity" &&
        activation_ != "swiglu") {
      return n_.Unsupported("the activation \"", activation_, "\"");
    }
    if (activation_ != "swiglu") {
      TW_ASSIGN_OR_RETURN(const Items result,
                          n_.MapItems("experts_act", {hidden}, [&](const Exprs& e) { return Activation(e[0]); }));
      return result[0];
    }
    const int64_t fusion = n_.Int("swiglu_fusion", 0);
    if (fusion != 1 && fusion != 2) return n_.Unsupported("swiglu_fusion=", fusion);
    const double alpha = n_.Float("activation_alpha", 1), beta = n_.Float("activation_beta", 0);
    const double limit = n_.Float("swiglu_limit", INFINITY);
    TW_ASSIGN_OR_RETURN(const Items result, n_.Program("experts_act", {hidden}, [&](ProgramParts& p) {
      const std::vector<Expr> shape = {p.in[0]->shape[0], p.in[0]->shape[1], Expr(inner)};
      return Buffers{p.f.Compute("experts_act", shape, [&](Symbol t, Symbol slot, Symbol d) {
        const auto number = [&](int64_t value) { return Const(d.dtype(), value); };
        Expr gate = p.in[0](t, slot, fusion == 1 ? d * number(2) : d);
        Expr value = p.in[0](t, slot, fusion == 1 ? d * number(2) + number(1) : d + number(inner));
        if (std::isfinite(limit)) {
          const Expr most = ConstFloat(kF32, limit), least = ConstFloat(kF32, -limit);
          gate = Min(gate, most);
          value = Max(Min(value, most), least);
        }
        return gate * ops::Sigmoid(gate * ConstFloat(kF32, alpha)) * (value + ConstFloat(kF32, beta));
      })};
    }));
    return result[0];
  }

  OnnxNode& n_;
  int64_t experts_ = 0;
  bool quantized_ = false;
  std::string activation_;
  Item numbers_, shares_;  // of each row's experts
};

constexpr size_t kNowhere = SIZE_MAX;

absl::Status ImportMoe(OnnxNode& n) {
  return Experts(n).Import({.weights = {2, 4, 6},
                            .scales = {kNowhere, kNowhere, kNowhere},
                            .zeros = {kNowhere, kNowhere, kNowhere},
                            .bias = {3, 5, 7}});
}
absl::Status ImportQMoe(OnnxNode& n) {
  Experts::Places places = {
      .weights = {2, 5, 8}, .scales = {3, 6, 9}, .zeros = {11, 12, 13}, .bias = {4, 7, 10}, .shares = 14};
  const int64_t of_all = n.Int("expert_weight_bits", 4);
  const char* const names[] = {"fc1_expert_weight_bits", "fc2_expert_weight_bits", "fc3_expert_weight_bits"};
  for (size_t i = 0; i < 3; ++i) {
    const int64_t bits = places.bits[i] = n.Int(names[i], of_all);
    if (bits == 3) return n.Unsupported("weights of 3 bits");
    if (bits != 2 && bits != 4 && bits != 8) return n.Error("a weight has ", bits, " bits");
  }
  for (size_t i = 15; i < n.in().size(); ++i) {
    if (n.Has(i)) return n.Unsupported("input ", i, " of QMoE");
  }
  return Experts(n).Import(places);
}

}  // namespace

OnnxOperators ExpertOperators() {
  return {
      {"MoE", 1, ImportMoe, {.only = "swiglu_limit_after_activation=0"}, kMicrosoft},
      {"QMoE", 1, ImportQMoe, {.only = "swiglu_limit_after_activation=0 quant_type=int"}, kMicrosoft},
  };
}

}  // namespace tilewright::graph
