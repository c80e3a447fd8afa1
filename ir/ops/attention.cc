#include "ir/ops/attention.h"

#include <cmath>

#include "ir/builder.h"
#include "ir/ops/row_ops.h"
#include "ir/structural.h"

namespace tilewright::ops {
namespace {

Expr ReciprocalRoot(DataType type, const Expr& extent) {
  if (const auto value = AsInt(extent)) return ConstFloat(type, 1 / std::sqrt(static_cast<double>(*value)));
  return Call(type, "rsqrt", {CastTo(type, extent)});
}

// Whether the query at a position sees the key; null where each sees all.
Expr Sees(const AttentionShape& shape, const Expr& query, const Expr& key) {
  if (!shape.causal && shape.window == 0) return {};
  const Expr position = StructuralEqual(shape.queries, shape.keys) ? query : query + (shape.keys - shape.queries);
  const Expr window = Const(key.dtype(), shape.window);
  Expr sees = shape.causal ? key <= position : key - position < window;
  if (shape.window > 0) sees = And(sees, position - key < window);
  return sees;
}

}  // namespace

Function Attention(const AttentionShape& shape, const OperandTypes& types) {
  FunctionBuilder f;
  const DataType type = types.output;
  const auto& [batch, heads, key_heads, queries, keys, dim, causal, window] = shape;
  const Buffer query = f.Input("query", {batch, heads, queries, dim}, types.input);
  const Buffer key = f.Input("key", {batch, key_heads, keys, dim}, types.weight);
  const Buffer value = f.Input("value", {batch, key_heads, keys, dim}, types.weight);
  const bool grouped = !StructuralEqual(heads, key_heads);
  const auto key_head = [&](const Var& head) { return grouped ? FloorDiv(head, FloorDiv(heads, key_heads)) : head; };
  ReduceAxis d("d", dim), j("j", keys);
  const std::vector<Expr> all = {batch, heads, queries, keys};
  const std::vector<std::string> names = {"b", "h", "i", "j"};
  const Buffer scores = f.Compute(
      "scores", all,
      [&](Var b, Var h, Var i, Var at) {
        return Sum(CastTo(type, query(b, h, i, d)) * CastTo(type, key(b, key_head(h), at, d)), d);
      },
      names);
  const Expr scale = ReciprocalRoot(type, dim);
  const Buffer scaled = f.Compute(
      "scaled", all,
      [&](Var b, Var h, Var i, Var at) {
        const Expr score = scores(b, h, i, at) * scale, sees = Sees(shape, i, at);
        return sees ? IfThenElse(sees, score, ConstFloat(type, -INFINITY)) : score;
      },
      names);
  const bool rounds = types.weight.is_float() && types.weight.bits() < type.bits();
  const Buffer probabilities = SoftmaxOver(f, scaled, {3}, /*logarithm=*/false, rounds ? types.weight : type);
  const Buffer attention =
      f.Compute("attention", {batch, heads, queries, dim},
                [&](Var b, Var h, Var i, Var c) {
                  return Sum(CastTo(type, probabilities(b, h, i, j)) * CastTo(type, value(b, key_head(h), j, c)), j);
                },
                {"b", "h", "i", "c"});
  return f.Build({attention});
}

}  // namespace tilewright::ops
