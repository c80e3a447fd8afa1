#include "schedule/program/tile_length.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace tilewright {
namespace {

// The terms of a sum, with their factors of 1 and -1.
void AppendTerms(const Expr& e, int64_t sign, std::vector<std::pair<Expr, int64_t>>* terms) {
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr || (op->op != BinaryOp::kAdd && op->op != BinaryOp::kSub)) {
    terms->emplace_back(e, sign);
    return;
  }
  AppendTerms(op->a, sign, terms);
  AppendTerms(op->b, op->op == BinaryOp::kAdd ? sign : -sign, terms);
}

// By how much one quotient exceeds another at most, where their dividends differ by a number: (r + 1) // 2 is r // 2 or
// one more.
std::optional<int64_t> MostBetween(const Expr& more, const Expr& less, arith::Analyzer* analyzer) {
  const auto *a = dyn_cast<BinaryNode>(more), *b = dyn_cast<BinaryNode>(less);
  if (a == nullptr || b == nullptr || a->op != BinaryOp::kFloorDiv || b->op != BinaryOp::kFloorDiv) return std::nullopt;
  const auto divisor = AsInt(a->b), distance = AsInt(analyzer->Simplify(a->a - b->a));
  if (!divisor || divisor != AsInt(b->b) || *divisor <= 0 || !distance || *distance < 0) return std::nullopt;
  return *distance / *divisor + (*distance % *divisor != 0 ? 1 : 0);
}

}  // namespace

int64_t LongestOf(const Expr& length, arith::Analyzer* analyzer) {
  const int64_t apart = analyzer->ConstBounds(length).max;
  std::vector<std::pair<Expr, int64_t>> terms;
  AppendTerms(length, 1, &terms);
  int64_t together = 0;
  Expr rest = Const(length.dtype(), 0);
  for (size_t i = 0; i < terms.size(); ++i) {
    if (!terms[i].first || terms[i].second < 0) continue;
    for (auto& [less, sign] : terms) {
      const auto most = less && sign < 0 ? MostBetween(terms[i].first, less, analyzer) : std::nullopt;
      if (!most) continue;
      together += *most;
      terms[i].first = less = Expr();
      break;
    }
  }
  for (const auto& [term, sign] : terms) {
    if (term) rest = sign > 0 ? rest + term : rest - term;
  }
  const int64_t others = analyzer->ConstBounds(rest).max;
  return others == arith::kPosInf ? apart : std::min(apart, others + together);
}

}  // namespace tilewright
