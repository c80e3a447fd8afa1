// Detection: index expressions are simplified to sums of splits (sum.h), then their atoms are read as iterators.
#include <algorithm>
#include <utility>

#include "ir/arith/context.h"
#include "ir/arith/iter_expr.h"
#include "ir/arith/iter_map.h"
#include "ir/arith/iter_predicate.h"
#include "ir/arith/same_expr.h"
#include "ir/arith/uses.h"

namespace tilewright::arith {
namespace {

using MarkRef = std::shared_ptr<const IterMark>;

// One use of a part of a mark: by an index or as part of a fused mark.
struct Use {
  Monomial lower, extent;
  size_t index;
};

struct MarkUses {
  std::shared_ptr<IterMark> mark;
  absl::InlinedVector<Use, 2> uses;
};

class Detector {
 public:
  Detector(Analyzer* analyzer, IterMapLevel level, IterMapError* error)
      : analyzer_(*analyzer), context_(analyzer->context()), level_(level), error_(error) {}

  std::optional<IterMap> Run(const std::vector<Expr>& indices, const Domain& domain, const Expr& predicate) {
    IterMap map;
    IterDomain iterators(domain, &analyzer_);
    Expr failed;
    if (!iterators.Apply(predicate, &failed)) return Fail(IterMapError::Code::kPredicate, failed);
    // One allocation for the marks of all iterators.
    const size_t count = iterators.iterators().size();
    auto marks = std::make_shared<std::vector<IterMark>>();
    marks->reserve(count);
    map.iterators.reserve(count);
    for (const IterDomain::Iterator& iterator : iterators.iterators()) {
      marks->push_back({iterator.var, {}, iterator.extent});
      const std::shared_ptr<IterMark> mark(marks, &marks->back());
      map.iterators.push_back({mark, iterator.value});
      marks_.push_back({mark, {}});
    }
    map.indices.reserve(indices.size());
    map.extents.reserve(indices.size());
    map.domain = iterators.DomainValues();
    for (index_ = 0; index_ < indices.size(); ++index_) {
      Sum sum = context_.ToSum(indices[index_]);
      dtype_ = indices[index_].dtype();
      IterSum parsed;
      if (!ParseSum(sum, &parsed) || !Contiguous(&parsed)) return std::nullopt;
      Monomial extent;
      for (const IterSplit& split : parsed.args) extent = extent * split.extent;
      map.indices.push_back(std::move(parsed));
      map.extents.push_back(std::move(extent));
    }
    map.injective = true;
    while (RaiseSplits(&map.indices)) {
    }
    for (const MarkUses& uses : marks_) {
      if (!Check(uses, &map)) return std::nullopt;
    }
    return map;
  }

 private:
  std::nullopt_t Fail(IterMapError::Code code, const Expr& expr) {
    if (error_ != nullptr) *error_ = {code, index_, expr};
    return std::nullopt;
  }
  bool Refuse(IterMapError::Code code, const Expr& expr) {
    Fail(code, expr);
    return false;
  }

  bool UsesIterators(const Expr& e) const {
    return UsesVar(e, [&](const VarNode* var) {
      return std::any_of(marks_.begin(), marks_.end(), [&](const MarkUses& m) { return m.mark->var.get() == var; });
    });
  }

  bool ParseSum(const Sum& sum, IterSum* result) {
    if (sum.overflow) return Refuse(IterMapError::Code::kNotAffine, {});
    Sum base = Sum::Constant(sum.dtype, sum.base);
    result->args.reserve(sum.terms.size());
    for (const Term& term : sum.terms) {
      if (!UsesIterators(term.atom)) {
        base.terms.push_back(term);
        continue;
      }
      IterSplit split;
      if (!ParseTerm(term, &split)) return false;
      result->args.push_back(std::move(split));
    }
    result->base = context_.FromSum(base);
    return static_cast<bool>(result->base);
  }

  bool ParseTerm(const Term& term, IterSplit* split) {
    if (term.IsSplit()) {
      MarkRef mark = ParseMark(term.atom);
      if (mark == nullptr) return false;
      *split = {mark, Monomial(term.lower), {}, {}};
      split->extent = term.upper != kNoUpper ? CeilDiv(Monomial(term.upper), Monomial(term.lower), Expr())
                                             : CeilDiv(mark->extent, split->lower_factor, mark->sum.base);
    } else if (!ParseAtom(term.atom, split)) {
      return false;
    }
    split->scale = split->scale * Monomial(term.scale);
    return true;
  }

  bool ParseAtom(const Expr& atom, IterSplit* split) {
    if (isa<VarNode>(atom)) {
      for (const MarkUses& uses : marks_) {
        if (uses.mark->var.get() == atom.get()) {
          *split = {uses.mark, {}, uses.mark->extent, {}};
          return true;
        }
      }
    }
    const auto* op = dyn_cast<BinaryNode>(atom);
    if (op == nullptr) return Refuse(IterMapError::Code::kNotAffine, atom);
    if (op->op == BinaryOp::kMul) return ParseProduct(atom, split);
    bool divides = op->op == BinaryOp::kFloorDiv || op->op == BinaryOp::kFloorMod;
    if (divides && !AsInt(op->b)) {
      if (UsesIterators(op->b)) return Refuse(IterMapError::Code::kNotAffine, atom);
      MarkRef mark = ParseMark(op->a);
      if (mark == nullptr) return false;
      Monomial divisor = Monomial::Of(op->b);
      if (op->op == BinaryOp::kFloorMod) {
        *split = {mark, {}, divisor, {}};
      } else {
        *split = {mark, divisor, CeilDiv(mark->extent, divisor, mark->sum.base), {}};
      }
      return true;
    }
    return Refuse(IterMapError::Code::kNotAffine, atom);
  }

  // i * n: one factor iterates, the others scale it.
  bool ParseProduct(const Expr& atom, IterSplit* split) {
    Expr iterating;
    Monomial scale;
    for (const Expr& factor : ProductFactors(atom)) {
      if (!UsesIterators(factor)) {
        scale = scale * Monomial::Of(factor);
      } else if (iterating) {
        return Refuse(IterMapError::Code::kNotAffine, atom);
      } else {
        iterating = factor;
      }
    }
    Sum sum = context_.ToSum(iterating);
    if (sum.terms.size() != 1 || sum.base != 0) return Refuse(IterMapError::Code::kNotAffine, atom);
    if (!ParseTerm(sum.terms[0], split)) return false;
    split->scale = split->scale * scale;
    return true;
  }

  // The mark that iterates over the values of `e`.
  MarkRef ParseMark(const Expr& e) {
    Sum sum = context_.ToSum(e);
    if (sum.terms.size() == 1 && sum.base == 0) {
      IterSplit split;
      return ParseTerm(sum.terms[0], &split) ? WholeMark(split, e) : nullptr;
    }
    IterSum parsed;
    if (!ParseSum(sum, &parsed)) return nullptr;
    return Fuse(std::move(parsed), e);
  }

  // A mark that counts from 0 is its own whole split; one that counts from elsewhere is not.
  static bool IsWhole(const IterSplit& split) {
    const Expr& first = split.source->sum.base;
    return split.lower_factor.IsOne() && split.scale.IsOne() && split.extent == split.source->extent &&
           (!first || IsInt(first, 0));
  }

  // The mark whose values are those of `split`.
  MarkRef WholeMark(const IterSplit& split, const Expr& e) {
    if (IsWhole(split)) return split.source;
    return Fuse({{split}, Const(e.dtype(), 0)}, e);
  }

  MarkRef Fuse(IterSum sum, const Expr& e) {
    if (!Contiguous(&sum)) return nullptr;
    if (sum.args.empty() || !sum.args.back().scale.IsOne()) {
      Refuse(IterMapError::Code::kNotContiguous, e);
      return nullptr;
    }
    if (sum.args.size() == 1 && IsInt(sum.base, 0) && IsWhole(sum.args[0])) return sum.args[0].source;
    for (const MarkUses& uses : marks_) {
      if (!uses.mark->var && SameSum(uses.mark->sum, sum)) return uses.mark;
    }
    Monomial extent;
    for (const IterSplit& split : sum.args) extent = extent * split.extent;
    auto mark = std::make_shared<IterMark>(IterMark{Var(), std::move(sum), std::move(extent)});
    marks_.push_back({mark, {}});
    return mark;
  }

  static bool SameSum(const IterSum& a, const IterSum& b) {
    return SameExpr(a.base, b.base) && SameArgs(a.args, b.args);
  }
  static bool SameArgs(const std::vector<IterSplit>& a, const std::vector<IterSplit>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      const IterSplit &x = a[i], &y = b[i];
      if (x.source != y.source || !(x.lower_factor == y.lower_factor) || !(x.extent == y.extent) ||
          !(x.scale == y.scale)) {
        return false;
      }
    }
    return true;
  }

  // Whether they already are in the order that Contiguous gives them, as far as constants show.
  static bool IsContiguous(const std::vector<IterSplit>& args) {
    for (size_t i = 0; i < args.size(); ++i) {
      const Monomial& scale = args[i].scale;
      if (!scale.IsConstant() || scale.scale <= 0) return false;
      if (i == 0) continue;
      const Monomial &larger = args[i - 1].scale, &extent = args[i].extent;
      if (!extent.IsConstant() || extent.scale <= 1 || larger.scale != SaturatingMul(scale.scale, extent.scale)) {
        return false;
      }
    }
    return true;
  }

  // Orders the arguments so that each scale is the next one's times its extent.
  bool Contiguous(IterSum* sum) {
    if (IsContiguous(sum->args)) return true;
    std::vector<IterSplit> rest = std::move(sum->args), ordered;
    sum->args.clear();
    auto size = [](const Monomial& m) { return std::pair(m.factors.size(), m.scale); };
    while (!rest.empty()) {
      size_t next = 0;
      if (ordered.empty()) {
        for (size_t i = 1; i < rest.size(); ++i) {
          if (size(rest[i].scale) < size(rest[next].scale)) next = i;
        }
        if (rest[next].scale.scale <= 0) return Refuse(IterMapError::Code::kNotAffine, {});
      } else {
        Monomial expected = ordered.back().scale * ordered.back().extent;
        for (next = 0; next < rest.size(); ++next) {
          if (Equal(rest[next].scale, expected)) break;
        }
        if (next == rest.size()) return Refuse(IterMapError::Code::kNotContiguous, {});
      }
      ordered.push_back(rest[next]);
      rest.erase(rest.begin() + next);
    }
    sum->args.assign(std::make_move_iterator(ordered.rbegin()), std::make_move_iterator(ordered.rend()));
    return true;
  }

  bool Equal(const Monomial& a, const Monomial& b) {
    if (a == b) return true;
    if (a.IsConstant() && b.IsConstant()) return false;
    return analyzer_.CanProveEqual(a.ToExpr(dtype_), b.ToExpr(dtype_));
  }

  // a / b when b divides a, where they are sums too: (h * w + 3 * h) / (w + 3) is h.
  std::optional<Monomial> Divide(const Monomial& a, const Monomial& b) {
    if (auto quotient = DivideExactly(a, b)) return quotient;
    const auto is_sum = [](const Expr& factor) {
      const auto* op = dyn_cast<BinaryNode>(factor);
      return op != nullptr && (op->op == BinaryOp::kAdd || op->op == BinaryOp::kSub);
    };
    if (std::ranges::none_of(a.factors, is_sum)) return std::nullopt;
    const Expr dividend = a.ToExpr(dtype_), divisor = b.ToExpr(dtype_);
    if (!IsInt(context_.Simplify(FloorMod(dividend, divisor)), 0)) return std::nullopt;
    return Monomial::Of(context_.Simplify(FloorDiv(dividend, divisor)));
  }

  // ceil((first + extent) / divisor)
  Monomial CeilDiv(const Monomial& extent, const Monomial& divisor, const Expr& first) {
    bool from_zero = !first || IsInt(first, 0);
    if (from_zero) {
      if (auto quotient = Divide(extent, divisor)) return *quotient;
    }
    Expr d = divisor.ToExpr(dtype_);
    Expr size = from_zero ? extent.ToExpr(dtype_) : first + extent.ToExpr(dtype_);
    return Monomial::Of(context_.Simplify(FloorDiv(size + d - 1, d)));
  }

  // Simplification turns f % 2 into j % 2 where f = i * 12 + j. When other parts of f are used, that is a part of f
  // again: rewrites one such split, in an index or in a later mark, and says whether there was one.
  bool RaiseSplits(std::vector<IterSum>* indices) {
    CountUses(*indices);
    // Parts of fused marks first: what is left of those is then no part of anything.
    for (const bool of_fused : {true, false}) {
      for (size_t f = 0; f < marks_.size(); ++f) {
        const IterMark& fused = *marks_[f].mark;
        if (fused.var || marks_[f].uses.empty() || !IsInt(fused.sum.base, 0)) continue;
        for (IterSum& sum : *indices) {
          for (IterSplit& split : sum.args) {
            if (!split.source->var == of_fused && Raise(marks_[f].mark, &split)) return true;
          }
        }
      }
    }
    for (size_t f = 0; f < marks_.size(); ++f) {
      const IterMark& fused = *marks_[f].mark;
      if (fused.var || marks_[f].uses.empty() || !IsInt(fused.sum.base, 0)) continue;
      for (size_t later = f + 1; later < marks_.size(); ++later) {
        for (IterSplit& split : marks_[later].mark->sum.args) {
          if (Raise(marks_[f].mark, &split)) return true;
        }
      }
    }
    return false;
  }

  // `split` as a part of `fused`, when it lies within one argument of it and ends where a multiple of the next begins.
  bool Raise(const MarkRef& fused, IterSplit* split) {
    const std::vector<IterSplit>& args = fused->sum.args;
    for (size_t i = 0; i < args.size(); ++i) {
      const IterSplit& arg = args[i];
      if (arg.source != split->source) continue;
      auto inner = Divide(split->lower_factor, arg.lower_factor);
      if (!inner || !Divide(arg.extent, *inner * split->extent)) continue;
      Monomial lower = arg.scale * *inner;
      if (i > 0 && !Divide(args[i - 1].scale, lower * split->extent)) continue;
      split->source = fused;
      split->lower_factor = lower;
      return true;
    }
    // A mark that is the low end of the fused one: j * 14 + k of i * 56 + j * 14 + k, or i % 15 * 4 + j of i * 4 + j.
    const std::vector<IterSplit>& low = split->source->sum.args;
    if (low.empty() || low.size() > args.size() || !IsInt(split->source->sum.base, 0)) return false;
    const size_t skipped = args.size() - low.size();
    const IterSplit &whole = args[skipped], &part = low[0];
    if (!SameArgs({args.begin() + skipped + 1, args.end()}, {low.begin() + 1, low.end()})) return false;
    if (whole.source != part.source || !(whole.lower_factor == part.lower_factor) || !(whole.scale == part.scale)) {
      return false;
    }
    // The low end is what remains of the fused one after division by `end`.
    const bool is_part = !(whole.extent == part.extent);
    if (is_part ? !Divide(whole.extent, part.extent) : skipped == 0) return false;
    const Monomial end = is_part ? part.scale * part.extent : args[skipped - 1].scale;
    if (!Divide(end, split->lower_factor * split->extent)) return false;
    split->source = fused;
    return true;
  }

  // Who uses which parts of the marks, as far as the indices depend on them.
  void CountUses(const std::vector<IterSum>& indices) {
    for (MarkUses& uses : marks_) uses.uses.clear();
    for (index_ = 0; index_ < indices.size(); ++index_) {
      for (const IterSplit& split : indices[index_].args) AddUse(split);
    }
  }

  void AddUse(const IterSplit& split) {
    for (MarkUses& uses : marks_) {
      if (uses.mark != split.source) continue;
      uses.uses.push_back({split.lower_factor, split.extent, index_});
      if (uses.uses.size() > 1) return;
      for (const IterSplit& part : uses.mark->sum.args) AddUse(part);
      return;
    }
  }

  // Whether the used parts of a mark are independent of each other and, as the level demands, take all combinations
  // of values and leave nothing out.
  bool Check(const MarkUses& entry, IterMap* map) {
    const IterMark& mark = *entry.mark;
    if (!mark.var && entry.uses.empty()) return true;  // Nothing depends on it any more.
    bool from_zero = !mark.sum.base || IsInt(mark.sum.base, 0);
    // A chain from the lowest split to the highest: what lies below `reached` is used or skipped.
    absl::InlinedVector<const Use*, 4> rest, chain;
    for (const Use& use : entry.uses) rest.push_back(&use);
    Monomial reached;
    bool gaps = false;
    while (!rest.empty()) {
      auto next = std::find_if(rest.begin(), rest.end(), [&](const Use* use) { return Equal(use->lower, reached); });
      if (next == rest.end()) {
        gaps = true;
        std::optional<Monomial> step;
        for (auto it = rest.begin(); it != rest.end(); ++it) {
          auto quotient = Divide((*it)->lower, reached);
          if (!quotient) continue;
          if (!step || (quotient->factors.size() <= step->factors.size() && quotient->scale < step->scale)) {
            step = quotient;
            next = it;
          }
        }
        if (next == rest.end()) {
          index_ = rest.front()->index;
          return Refuse(IterMapError::Code::kNotIndependent, MarkExpr(mark));
        }
      }
      const Use& use = **next;
      index_ = use.index;
      reached = use.lower * use.extent;
      chain.push_back(&use);
      rest.erase(next);
    }
    bool covers = !gaps && (Equal(reached, mark.extent) && from_zero);
    if (covers) return true;
    if (level_ == IterMapLevel::kBijective) {
      return Refuse(IterMapError::Code::kNotBijective, MarkExpr(mark));
    }
    // The least value with given split values is the sum of (value * lower), so every combination occurs when the
    // largest such sum does.
    auto all_combinations = [&] {
      if (!from_zero) return false;
      Expr largest = Const(dtype_, 0);
      for (const Use* use : chain) {
        largest = largest + (use->extent.ToExpr(dtype_) - 1) * use->lower.ToExpr(dtype_);
      }
      return analyzer_.CanProveLess(largest, mark.extent.ToExpr(dtype_));
    };
    if (level_ == IterMapLevel::kSurjective) {
      if (entry.uses.empty()) return true;
      if (!all_combinations()) {
        return Refuse(IterMapError::Code::kNotSurjective, MarkExpr(mark));
      }
      map->injective = false;
      return true;
    }
    map->padded |= !all_combinations();
    Expr last = mark.extent.ToExpr(dtype_);
    if (!from_zero) last = last + mark.sum.base;
    bool starts_at_zero = from_zero || analyzer_.CanProve(mark.sum.base >= 0);
    bool reaches_end = starts_at_zero && analyzer_.CanProveLessEqual(last, reached.ToExpr(dtype_));
    map->injective &= !gaps && reaches_end;
    return true;
  }

  Analyzer& analyzer_;
  Context& context_;
  IterMapLevel level_;
  IterMapError* error_;
  DataType dtype_ = DataType::Int(32);
  size_t index_ = 0;
  absl::InlinedVector<MarkUses, 12> marks_;
};

}  // namespace

std::string_view IterMapError::Reason() const {
  switch (code) {
    case Code::kNotAffine:
      return "the index is not a sum of splits of loop iterators";
    case Code::kNotContiguous:
      return "the parts of the index overlap or leave gaps";
    case Code::kNotIndependent:
      return "a part of an iterator is used more than once";
    case Code::kNotSurjective:
      return "a split does not divide its iterator, so that some indices are never reached";
    case Code::kNotBijective:
      return "part of an iterator is not used, or a split does not divide it";
    case Code::kPredicate:
      return "the predicate does not bound an iterator";
  }
  return "";
}

std::optional<IterMap> DetectIterMap(const std::vector<Expr>& indices, const Domain& domain, const Expr& predicate,
                                     IterMapLevel level, Analyzer* analyzer, IterMapError* error) {
  Analyzer::Scope scope(analyzer);
  return Detector(analyzer, level, error).Run(indices, domain, predicate);
}

}  // namespace tilewright::arith
