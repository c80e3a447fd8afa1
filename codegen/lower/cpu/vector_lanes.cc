#include "codegen/lower/cpu/vector_lanes.h"

#include <numeric>
#include <utility>

#include "ir/arith/analyzer.h"

namespace tilewright {

Expr FirstLanes(const Expr& predicate) {
  const auto* less = dyn_cast<BinaryNode>(predicate);
  if (less == nullptr || less->op != BinaryOp::kLT) return {};
  const auto* ramp = dyn_cast<RampNode>(less->a);
  const auto* bound = dyn_cast<BroadcastNode>(less->b);
  if (ramp == nullptr || bound == nullptr || !IsInt(ramp->stride, 1)) return {};
  return arith::Simplify(bound->value - ramp->base);
}

Expr PickLanes(std::vector<Expr> vectors, std::vector<int> picked) {
  while (vectors.size() > 2) {
    if (vectors.size() % 2 != 0) vectors.push_back(vectors.back());
    std::vector<Expr> halves;
    for (size_t i = 0; i < vectors.size(); i += 2) halves.push_back(JoinVectors({vectors[i], vectors[i + 1]}));
    vectors = std::move(halves);
  }
  return Expr(new ShuffleNode(std::move(vectors), std::move(picked)));
}

Expr JoinVectors(std::vector<Expr> vectors) {
  if (vectors.size() == 1) return vectors[0];
  std::vector<int> all(vectors.size() * static_cast<size_t>(vectors[0].dtype().lanes()));
  std::iota(all.begin(), all.end(), 0);
  return PickLanes(std::move(vectors), std::move(all));
}

}  // namespace tilewright
