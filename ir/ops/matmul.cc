#include "ir/ops/matmul.h"

#include "ir/ops/product.h"

namespace tilewright::ops {

Buffer AddMatmul(FunctionBuilder& f, const Buffer& a, const Buffer& b, DataType output, bool transposed) {
  return Product(f, a, b, output, {.block = "C", .loops = {"i", "j"}, .transposed = transposed});
}

Function Matmul(Expr m, Expr n, Expr k, const OperandTypes& types, bool transposed) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {m, k}, types.input);
  Buffer b = f.Input("B", transposed ? std::vector<Expr>{n, k} : std::vector<Expr>{k, n}, types.weight);
  return f.Build({AddMatmul(f, a, b, types.output, transposed)});
}

Function BatchMatmul(Expr batch, Expr m, Expr n, Expr k, const OperandTypes& types, bool transposed) {
  FunctionBuilder f;
  Buffer a = f.Input("A", {batch, m, k}, types.input);
  Buffer b = f.Input("B", transposed ? std::vector<Expr>{batch, n, k} : std::vector<Expr>{batch, k, n}, types.weight);
  ReduceAxis rk("k", k);
  Buffer c = f.Compute("C", {batch, m, n},
                       [&](Var n0, Var i, Var j) {
                         Expr right = transposed ? b(n0, j, rk) : b(n0, rk, j);
                         return Sum(CastTo(types.output, a(n0, i, rk)) * CastTo(types.output, right), rk);
                       },
                       {"b", "i", "j"});
  return f.Build({c});
}

Function TransposeBatchMatmul(Expr batch, Expr sequence, Expr heads, Expr dim, const OperandTypes& types) {
  FunctionBuilder f;
  Buffer query = f.Input("query", {batch, sequence, heads, dim}, types.input);
  Buffer value = f.Input("value", {batch, sequence, heads, dim}, types.weight);
  Buffer query_t = f.Compute("query_T", {batch, heads, sequence, dim},
                             [&](Var b, Var h, Var s, Var d) { return query(b, s, h, d); }, {"b", "h", "l", "d"});
  Buffer value_t = f.Compute("value_T", {batch, heads, dim, sequence},
                             [&](Var b, Var h, Var d, Var s) { return value(b, s, h, d); }, {"b", "h", "d", "l"});
  ReduceAxis k("k", dim);
  Buffer c =
      f.Compute("C", {batch, heads, sequence, sequence},
                [&](Var b, Var h, Var i, Var j) {
                  return Sum(CastTo(types.output, query_t(b, h, i, k)) * CastTo(types.output, value_t(b, h, k, j)), k);
                },
                {"b", "h", "i", "j"});
  return f.Build({c});
}

}  // namespace tilewright::ops
