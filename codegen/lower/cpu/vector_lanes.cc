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

namespace {

// The lanes of an ascending ramp that are less than a number, or that are not, from which the others follow.
std::optional<LaneRange> LanesOf(const Expr& left, const Expr& right, bool or_equal, int lanes) {
  const bool at_end = isa<RampNode>(left);
  const auto* ramp = dyn_cast<RampNode>(at_end ? left : right);
  const auto* bound = dyn_cast<BroadcastNode>(at_end ? right : left);
  const std::optional<int64_t> step = ramp == nullptr ? std::nullopt : AsInt(ramp->stride);
  if (bound == nullptr || !step || *step < 1) return std::nullopt;
  const DataType type = ramp->base.dtype();
  // Lanes below the bound: those of which step * lane < bound - base; up to it, one more than the quotient.
  const bool rounds_up = at_end != or_equal;
  const Expr distance = bound->value - ramp->base + Const(type, rounds_up ? *step - 1 : 0);
  const Expr edge = arith::Simplify(FloorDiv(distance, Const(type, *step)) + Const(type, rounds_up ? 0 : 1));
  return at_end ? LaneRange{Const(type, 0), edge, {}} : LaneRange{edge, Const(type, lanes), {}};
}

}  // namespace

std::optional<LaneRange> LanesBetween(const Expr& predicate) {
  const int lanes = predicate.dtype().lanes();
  if (const auto* broadcast = dyn_cast<BroadcastNode>(predicate)) {
    return LaneRange{Expr(0), Expr(lanes), broadcast->value};
  }
  const auto* op = dyn_cast<BinaryNode>(predicate);
  if (op == nullptr) return std::nullopt;
  if (op->op == BinaryOp::kLT || op->op == BinaryOp::kLE) return LanesOf(op->a, op->b, op->op == BinaryOp::kLE, lanes);
  if (op->op == BinaryOp::kGT || op->op == BinaryOp::kGE) return LanesOf(op->b, op->a, op->op == BinaryOp::kGE, lanes);
  if (op->op != BinaryOp::kAnd) return std::nullopt;
  const std::optional<LaneRange> a = LanesBetween(op->a), b = LanesBetween(op->b);
  if (!a || !b) return std::nullopt;
  const auto both = [](BinaryOp op, const Expr& x, const Expr& y) {
    const DataType type = x.dtype().bits() < y.dtype().bits() ? y.dtype() : x.dtype();
    return arith::Simplify(MakeBinary(op, CastTo(type, x), CastTo(type, y)));
  };
  return LaneRange{both(BinaryOp::kMax, a->begin, b->begin), both(BinaryOp::kMin, a->end, b->end),
                   a->same && b->same ? And(a->same, b->same)
                   : a->same          ? a->same
                                      : b->same};
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
