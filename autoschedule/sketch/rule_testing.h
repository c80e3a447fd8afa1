// Small programs of f32 that tests of rules schedule, on CPUs and GPUs.
#pragma once

#include <cstdint>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/row_chain.h"
#include "ir/builder.h"

namespace tilewright::testing {

// B[i, j] = A[i, j] * 3.
inline Function Scaled(int64_t rows, int64_t columns) {
  FunctionBuilder f("main");
  const Buffer a = f.Input("A", {rows, columns}, DataType::Float(32));
  const Buffer b = f.Compute("B", {rows, columns}, [&](Var i, Var j) { return a(i, j) * 3; });
  return f.Build({b});
}

// S[i] is the sum of A[i, k] over k.
inline Function RowSums(int64_t rows, int64_t length) {
  FunctionBuilder f("main");
  const Buffer a = f.Input("A", {rows, length}, DataType::Float(32));
  const ReduceAxis k("k", length);
  const Buffer s = f.Compute("S", {rows}, [&](Var i) { return Sum(a(i, k), k); });
  return f.Build({s});
}

// The chain of rows that the first block of "main" belongs to.
inline std::vector<BlockRv> FirstChain(Schedule& sch) {
  const std::vector<BlockRv> blocks = BlocksInRoot(sch, "main");
  const Function function = sch.module().Main();
  const BlockScope scope = BlockScope::Of(cast<BlockRealizeNode>(function->body)->block.get());
  return RowChain(sch, scope, RealizeOf(sch, blocks[0]).block->id, blocks);
}

}  // namespace tilewright::testing
