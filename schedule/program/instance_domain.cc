#include "schedule/program/instance_domain.h"

#include <algorithm>

#include "ir/analysis.h"
#include "ir/arith/linear.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

Expr Least(const Expr& a, const Expr& b, arith::Analyzer* analyzer) {
  if (analyzer->CanProveLessEqual(a, b)) return a;
  return analyzer->CanProveLessEqual(b, a) ? b : Min(a, b);
}
Expr Greatest(const Expr& a, const Expr& b, arith::Analyzer* analyzer) {
  if (analyzer->CanProveLessEqual(a, b)) return b;
  return analyzer->CanProveLessEqual(b, a) ? a : Max(a, b);
}

// coefficient * var, where both are known.
struct LinearTerm {
  Var var;
  int64_t coefficient;
};
// An index as constant coefficients of iterators (those that occur) and the rest, which mentions none of them.
struct LinearTerms {
  std::vector<LinearTerm> terms;
  Expr rest;
};

// Nothing when `e` is not linear in the iterators.
std::optional<LinearTerms> DetectLinearTerms(const Expr& e, const std::vector<IterVar>& iters,
                                             arith::Analyzer* analyzer) {
  std::vector<Var> among;
  among.reserve(iters.size());
  for (const IterVar& iter : iters) among.push_back(iter.var);
  std::optional<arith::LinearForm> linear = arith::DetectLinear(e, among, analyzer);
  if (!linear) return std::nullopt;
  LinearTerms result{{}, linear->base};
  for (size_t i = 0; i < among.size(); ++i) {
    const std::optional<int64_t> coefficient = AsInt(linear->coefficients[i]);
    if (!coefficient) return std::nullopt;
    if (*coefficient != 0) result.terms.push_back({among[i], *coefficient});
  }
  return result;
}

// `var % upper // lower`: the part of an iterator that one dimension of a packed buffer is indexed by.
struct Digit {
  const VarNode* var;
  int64_t lower = 1;
  int64_t upper = arith::kPosInf;
};

std::optional<Digit> DetectDigit(const Expr& e) {
  if (const auto* var = dyn_cast<VarNode>(e)) return Digit{var};
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr) return std::nullopt;
  std::optional<int64_t> c = AsInt(op->b);
  std::optional<Digit> inner = c && *c > 0 ? DetectDigit(op->a) : std::nullopt;
  if (!inner) return std::nullopt;
  if (op->op == BinaryOp::kFloorDiv) {
    inner->lower *= *c;
    return inner;
  }
  if (op->op != BinaryOp::kFloorMod) return std::nullopt;
  inner->upper = std::min(inner->upper, inner->lower * *c);
  return inner;
}

class Solver {
 public:
  Solver(const BlockNode& block, BoxRelation relation, arith::Analyzer* analyzer)
      : vars_(block.iter_vars), relation_(relation), analyzer_(analyzer) {}

  std::vector<Interval> Solve(const BoxAccess& access) {
    intervals_.assign(vars_.size(), {});
    digits_.assign(vars_.size(), {});
    for (size_t d = 0; d < access.box.size(); ++d) SolveDimension(access.region.region[d], access.box[d]);
    for (size_t i = 0; i < vars_.size(); ++i) RecomposeDigits(i);
    return std::move(intervals_);
  }

 private:
  struct WantedDigit {
    Digit digit;
    Expr min, max;
  };

  size_t IndexOf(const Node* var) const {
    return static_cast<size_t>(
        std::find_if(vars_.begin(), vars_.end(), [&](const IterVar& v) { return v.var.get() == var; }) - vars_.begin());
  }

  void Narrow(size_t i, Expr min, Expr max) {
    Interval& interval = intervals_[i];
    min = analyzer_->Simplify(min);
    max = analyzer_->Simplify(max);
    if (interval.IsWhole()) {
      interval = {min, max};
    } else {
      interval = {Greatest(interval.min, min, analyzer_), Least(interval.max, max, analyzer_)};
    }
  }

  // Instances touch [touched.min, touched.min + touched.extent) and the box holds [first, last].
  void SolveDimension(const Range& touched, const Range& box) {
    const Expr first = box.min, last = analyzer_->Simplify(box.min + box.extent - 1);
    std::optional<LinearTerms> linear = DetectLinearTerms(touched.min, vars_, analyzer_);
    if (!linear) {
      std::optional<Digit> digit = DetectDigit(analyzer_->Simplify(touched.min));
      if (!digit || !IsInt(touched.extent, 1)) return;
      const size_t i = IndexOf(digit->var);
      if (i < vars_.size()) digits_[i].push_back({*digit, first, last});
      return;
    }
    if (linear->terms.empty() && relation_ == BoxRelation::kInside) linear = OfUnitIterator(touched.min);
    if (linear->terms.empty()) return;
    const Expr& rest = linear->rest;
    // The terms' sum t satisfies low <= t <= high.
    const Expr reach = touched.extent - 1;
    const Expr low = relation_ == BoxRelation::kTouches ? first - rest - reach : first - rest;
    const Expr high = relation_ == BoxRelation::kTouches ? last - rest : last - rest - reach;
    if (linear->terms.size() == 1) {
      SolveTerm(linear->terms[0], low, high);
    } else {
      SolveRadix(std::move(linear->terms), low, high);
    }
  }

  // An index of the only iterator that is in it and has one value: its box says whether the one instance is inside.
  LinearTerms OfUnitIterator(const Expr& index) const {
    const IterVar* unit = nullptr;
    for (const IterVar& iter : vars_) {
      if (!UsesVar(index, iter.var)) continue;
      if (unit != nullptr || !IsInt(iter.domain.extent, 1)) return {};
      unit = &iter;
    }
    if (unit == nullptr) return {};
    const Expr value = unit->domain.min, at = Substitute(index, {{unit->var, value}});
    const Expr step = analyzer_->Simplify(Substitute(index, {{unit->var, value + 1}}) - at);
    if (!IsInt(step, 1)) return {};
    return {{{unit->var, 1}}, at - CastTo(at.dtype(), value)};
  }

  void SolveTerm(const LinearTerm& term, const Expr& low, const Expr& high) {
    const int64_t size = std::abs(term.coefficient);
    const Expr c = Const(low.dtype(), size);
    if (term.coefficient > 0) {
      Narrow(IndexOf(term.var.get()), FloorDiv(low + (size - 1), c), FloorDiv(high, c));
    } else {
      Narrow(IndexOf(term.var.get()), FloorDiv(Const(low.dtype(), size - 1) - high, c),
             FloorDiv(Const(low.dtype(), 0) - low, c));
    }
  }

  // v0 * 64 + v1 with v1 in [0, 64): the digits of a number.
  void SolveRadix(std::vector<LinearTerm> terms, const Expr& low, const Expr& high) {
    std::sort(terms.begin(), terms.end(),
              [](const LinearTerm& a, const LinearTerm& b) { return a.coefficient < b.coefficient; });
    for (size_t k = 0; k < terms.size(); ++k) {
      const Range& range = vars_[IndexOf(terms[k].var.get())].domain;
      std::optional<int64_t> extent = AsInt(range.extent);
      if (terms[k].coefficient <= 0 || !IsInt(range.min, 0)) return;
      if (k + 1 < terms.size() && (!extent || *extent * terms[k].coefficient != terms[k + 1].coefficient)) return;
    }
    if (terms[0].coefficient != 1) return;
    for (size_t k = 0; k < terms.size(); ++k) {
      const Expr weight = Const(low.dtype(), terms[k].coefficient);
      Expr from = low, to = high;
      if (k + 1 < terms.size()) {
        // Within one period of the next digit, else any value.
        const Expr period = Const(low.dtype(), terms[k + 1].coefficient);
        if (!analyzer_->CanProveEqual(FloorDiv(low, period), FloorDiv(high, period))) continue;
        from = FloorMod(low, period);
        to = analyzer_->Simplify(from + (high - low));
      }
      Narrow(IndexOf(terms[k].var.get()), FloorDiv(from, weight), FloorDiv(to, weight));
    }
  }

  // The iterator from intervals of its digits: the sum of digit * weight. A digit that no dimension shows may be
  // anything.
  void RecomposeDigits(size_t i) {
    std::vector<WantedDigit>& digits = digits_[i];
    if (digits.empty()) return;
    std::sort(digits.begin(), digits.end(),
              [](const WantedDigit& a, const WantedDigit& b) { return a.digit.lower < b.digit.lower; });
    const DataType type = vars_[i].var.dtype();
    Expr min = Const(type, 0), max = Const(type, 0);
    int64_t known = 1;  // what is below this weight is accounted for
    for (const WantedDigit& wanted : digits) {
      if (wanted.digit.lower < known) return;
      if (wanted.digit.lower > known) {
        if (wanted.digit.lower % known != 0) return;
        max = max + Const(type, wanted.digit.lower - known);
      }
      const Expr weight = Const(type, wanted.digit.lower);
      min = min + CastTo(type, wanted.min) * weight;
      max = max + CastTo(type, wanted.max) * weight;
      known = wanted.digit.upper;
    }
    std::optional<int64_t> extent = AsInt(vars_[i].domain.extent);
    if (known != arith::kPosInf && (!extent || *extent > known)) return;
    Narrow(i, min, max);
  }

  const std::vector<IterVar>& vars_;
  const BoxRelation relation_;
  arith::Analyzer* analyzer_;
  std::vector<Interval> intervals_;
  std::vector<std::vector<WantedDigit>> digits_;
};

}  // namespace

std::vector<Interval> SolveInstances(const BlockNode& block, const std::vector<BoxAccess>& accesses,
                                     BoxRelation relation, arith::Analyzer* analyzer) {
  arith::Analyzer::Scope inside(analyzer);
  for (const IterVar& iter : block.iter_vars) analyzer->Bind(iter.var, iter.domain);
  std::vector<Interval> result(block.iter_vars.size());
  for (size_t a = 0; a < accesses.size(); ++a) {
    std::vector<Interval> solved = Solver(block, relation, analyzer).Solve(accesses[a]);
    for (size_t i = 0; i < result.size(); ++i) {
      Interval& so_far = result[i];
      if (a == 0 || (so_far.IsWhole() && relation == BoxRelation::kInside)) {
        so_far = solved[i];
      } else if (solved[i].IsWhole()) {
        if (relation == BoxRelation::kTouches) so_far = {};
      } else if (!so_far.IsWhole()) {
        const bool join = relation == BoxRelation::kTouches;
        so_far = {join ? Least(so_far.min, solved[i].min, analyzer) : Greatest(so_far.min, solved[i].min, analyzer),
                  join ? Greatest(so_far.max, solved[i].max, analyzer) : Least(so_far.max, solved[i].max, analyzer)};
      }
    }
  }
  return result;
}

std::vector<Range> Hull(const std::vector<Range>& a, const std::vector<Range>& b, arith::Analyzer* analyzer) {
  std::vector<Range> hull;
  for (size_t d = 0; d < a.size(); ++d) {
    const Expr min = Least(a[d].min, b[d].min, analyzer);
    const Expr end = Greatest(a[d].min + a[d].extent, b[d].min + b[d].extent, analyzer);
    hull.push_back({min, analyzer->Simplify(end - min)});
  }
  return hull;
}

}  // namespace tilewright
