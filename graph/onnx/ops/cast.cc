// Conversions of types, and operators that give their input as it is.
#include "base/status_macros.h"
#include "graph/onnx/model_file.h"
#include "graph/onnx/node.h"
#include "graph/onnx/operators.h"
#include "ir/ops/scalar_math.h"

namespace tilewright::graph {
namespace {

using tilewright::ops::Convert;
namespace ops = tilewright::ops;

constexpr DataType kBool = DataType::Bool();

// Integers of `bits` bits in bytes: what is wider wraps.
absl::Status CastNarrow(OnnxNode& n, const Item& x, DataType to, int bits) {
  const DataType i32 = DataType::Int(32);
  const auto number = [&](int64_t value) { return Const(i32, value); };
  TW_ASSIGN_OR_RETURN(Items result, n.MapItems("cast", {x}, [&](const Exprs& e) {
    const Expr low = tilewright::Call(i32, "bitwise_and", {Convert(i32, e[0]), number((1 << bits) - 1)});
    if (to.is_uint()) return CastTo(to, low);
    const int64_t half = int64_t{1} << (bits - 1);
    return CastTo(to, Select(low < number(half), low, low - number(2 * half)));
  }));
  result[0].bits = bits;
  return n.Out(result[0]);
}

absl::Status CastItem(OnnxNode& n, const Item& x, DataType to, int bits) {
  if (x.dtype == to && x.bits == bits) return n.Out(x);
  if (bits != 0) return CastNarrow(n, x, to, bits);
  if (x.dtype == to) {
    Item whole = x;
    whole.bits = 0;
    return n.Out(whole);
  }
  const bool saturates = to.is_float() && to.bits() == 8 && n.Int("saturate", 1) != 0;
  return n.MapOf("cast", {x}, [&](const Exprs& e) {
    if (!saturates) return Convert(to, e[0]);
    return CastTo(to, ops::Limited(to, x.dtype.is_float() ? e[0] : Convert(DataType::Float(32), e[0])));
  });
}
absl::Status ImportCast(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  int64_t to = n.Int("to", 0);
  if (n.opset() < 6) {
    onnx::TensorProto::DataType type;
    if (!onnx::TensorProto::DataType_Parse(n.String("to", ""), &type))
      return n.Error("the attribute `to` is not a type");
    to = type;
  }
  TW_ASSIGN_OR_RETURN(const DataType type, ElementType(static_cast<int32_t>(to)));
  return CastItem(n, n.In(0), type, NarrowBits(static_cast<int32_t>(to)));
}
absl::Status ImportCastLike(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 2));
  return CastItem(n, n.In(0), n.In(1).dtype, n.In(1).bits);
}

absl::Status ImportIdentity(OnnxNode& n) { return n.Out(n.In(0)); }

absl::Status ImportDropout(OnnxNode& n) {
  TW_RETURN_IF_ERROR(n.RequireTensors(0, 1));
  if (n.opset() >= 12 && n.Has(2)) {
    const auto training = ArrayOf(n.In(2));
    if (!training) {
      TW_RETURN_IF_ERROR(n.Numbers(2).status());
    } else if (training->Get(0) != 0) {
      // A ratio of 0 drops nothing.
      TW_ASSIGN_OR_RETURN(const std::vector<double> ratio, n.Has(1) ? n.Reals(1) : std::vector<double>{0.5});
      if (ratio.empty() || ratio[0] != 0) return n.Unsupported("training, whose results are random");
    }
  }
  if (!n.Wants(1)) return n.Out(n.In(0));
  const DataType mask = n.opset() < 10 ? n.In(0).dtype : kBool;
  TW_ASSIGN_OR_RETURN(Items ones, n.MapItems("dropout_mask", {n.In(0)}, [&](const Exprs&) { return Const(mask, 1); }));
  return n.Out(Items{n.In(0), ones[0]});
}

}  // namespace

OnnxOperators CastOperators() {
  return {
      {"Cast", 1, ImportCast, {.required = "to"}},
      {"CastLike", 15, ImportCastLike},
      {"Dropout", 1, ImportDropout},
      {"Identity", 1, ImportIdentity},
  };
}

}  // namespace tilewright::graph
