#include "verify/structure/instance_order.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "ir/analysis.h"
#include "ir/arith/iter_map.h"
#include "ir/arith/linear.h"
#include "ir/arith/same_expr.h"
#include "ir/functor.h"
#include "ir/substitute.h"
#include "verify/structure/commuting_updates.h"
#include "verify/structure/index_cases.h"
#include "verify/structure/instances.h"

namespace tilewright {
namespace {

bool SameRange(const Range& a, const Range& b) {
  return arith::SameExpr(a.min, b.min) && arith::SameExpr(a.extent, b.extent);
}

bool SameRegion(const std::vector<Range>& a, const std::vector<Range>& b) {
  return std::ranges::equal(a, b, SameRange);
}

// An element of some dimensions of a region is its start plus positions; with the positions as iterators.
struct Elements {
  std::vector<Expr> indices;
  arith::Domain iterators;  // those that the indices use, then the positions
};
Elements ElementsOf(const std::vector<Range>& dimensions, const arith::Domain& iterators, arith::Analyzer* analyzer) {
  Elements elements;
  const auto is_used = [&](const std::pair<Var, Range>& iterator) {
    return std::ranges::any_of(dimensions, [&](const Range& range) { return UsesVar(range.min, iterator.first); });
  };
  std::ranges::copy_if(iterators, std::back_inserter(elements.iterators), is_used);
  for (const Range& range : dimensions) {
    if (IsInt(range.extent, 1)) {
      elements.indices.push_back(range.min);
      continue;
    }
    Var position("p" + std::to_string(elements.indices.size()), range.min.dtype());
    const Range positions{Const(range.min.dtype(), 0), CastTo(range.min.dtype(), range.extent)};
    analyzer->Bind(position, positions);
    elements.iterators.push_back({position, positions});
    elements.indices.push_back(range.min + position);
  }
  return elements;
}

bool IsInjective(const Elements& elements, arith::Analyzer* analyzer) {
  return DetermineIterators(elements.indices, elements.iterators, analyzer);
}

// A term of an index: `digit` times a positive number.
struct ScaledDigit {
  Expr digit;
  int64_t scale, steps;  // steps: greatest less least value of the digit
};

// The terms of a sum, constants left out; false for other expressions.
bool AppendDigits(const Expr& e, arith::Analyzer* analyzer, std::vector<ScaledDigit>* digits) {
  if (AsInt(e)) return true;
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op != nullptr && op->op == BinaryOp::kAdd) {
    return AppendDigits(op->a, analyzer, digits) && AppendDigits(op->b, analyzer, digits);
  }
  const bool scaled = op != nullptr && op->op == BinaryOp::kMul && AsInt(op->b);
  const Expr digit = scaled ? op->a : e;
  const int64_t scale = scaled ? *AsInt(op->b) : 1;
  const arith::Bounds bounds = analyzer->ConstBounds(digit);
  constexpr int64_t kMost = int64_t{1} << 40;
  if (scale <= 0 || scale > kMost || bounds.min < -kMost || bounds.max > kMost) return false;
  digits->push_back({digit, scale, bounds.max - bounds.min});
  return true;
}

// The digits of which the index is a number with a place of its own for each, gaps allowed: v // 3 * 8 + v % 3.
std::optional<std::vector<Expr>> DigitsOf(const Expr& index, arith::Analyzer* analyzer) {
  std::vector<ScaledDigit> digits;
  if (!AppendDigits(analyzer->Simplify(index), analyzer, &digits)) return std::nullopt;
  std::ranges::sort(digits, {}, &ScaledDigit::scale);
  __int128 below = 0;
  std::vector<Expr> found;
  for (const ScaledDigit& digit : digits) {
    if (digit.scale <= below) return std::nullopt;
    below += static_cast<__int128>(digit.scale) * digit.steps;
    found.push_back(digit.digit);
  }
  return found;
}

// Another instance than that of the iterators: its iterators have the same ranges.
class OtherInstance {
 public:
  OtherInstance(const arith::Domain& iterators, const Expr& condition, arith::Analyzer* analyzer) {
    for (const auto& [var, range] : iterators) {
      Var other(var.name() + "_", var.dtype());
      analyzer->Bind(other, Substitute(range, others_));  // of a triangle, the loop j below the other i
      others_[var] = other;
    }
    if (condition) analyzer->Assume(Substitute(condition, others_));
  }
  std::vector<Range> Of(const std::vector<Range>& region) const {
    std::vector<Range> result;
    for (const Range& range : region) result.push_back(Substitute(range, others_));
    return result;
  }

 private:
  VarMap others_;
};

// Whether the two have different values, whatever those of the iterators are: (t + 1) % 2 and t % 2.
bool DifferByCount(const Expr& a, const Expr& b, const arith::Domain& iterators) {
  arith::Domain used;
  for (const auto& [var, range] : iterators) {
    if (UsesVar(a, var) || UsesVar(b, var)) used.push_back({var, range});
  }
  if (used.empty()) return false;
  const auto values = InstancesInOrder(used, {}, {a, b});
  return values && std::ranges::all_of(*values, [](const InstanceValues& both) { return both[0] != both[1]; });
}

// Whether the two differ by no multiple of what all steps of the iterators are multiples of: 2 * v and 2 * v + 1.
bool DifferByRemainder(const Range& a, const Range& b, const arith::Domain& iterators, arith::Analyzer* analyzer) {
  if (!IsInt(a.extent, 1) || !IsInt(b.extent, 1)) return false;
  std::vector<Var> vars;
  for (const auto& [var, range] : iterators) vars.push_back(var);
  const auto x = arith::DetectLinear(a.min, vars, analyzer), y = arith::DetectLinear(b.min, vars, analyzer);
  if (!x || !y) return false;
  int64_t step = 0;
  for (const auto* form : {&*x, &*y}) {
    for (const Expr& coefficient : form->coefficients) {
      const auto value = AsInt(coefficient);
      if (!value) return false;
      step = std::gcd(step, *value);
    }
  }
  if (step <= 1) return false;
  const Expr difference = y->base - x->base;
  return AsInt(analyzer->Simplify(FloorMod(difference, Const(difference.dtype(), step)))).value_or(0) != 0;
}

// Whether b is a moved by a constant, and instances and the two of them together still have elements of their own:
// x // 4 * 8 + x % 4 and the same + 4.
bool AreDigitsOfOneNumber(const std::vector<Range>& a, const std::vector<Range>& b, const arith::Domain& iterators,
                          arith::Analyzer* analyzer) {
  arith::Analyzer::Scope scope(analyzer);
  const DataType type = a[0].min.dtype();
  Var second("second", type);
  const Range both{Const(type, 0), Const(type, 2)};
  analyzer->Bind(second, both);
  std::vector<Range> either;
  int direction = 0;  // in which b lies from a
  for (size_t d = 0; d < a.size(); ++d) {
    if (!arith::SameExpr(a[d].extent, b[d].extent) || a[d].min.dtype() != b[d].min.dtype()) return false;
    const auto by = AsInt(analyzer->Simplify(b[d].min - a[d].min));
    if (!by) return false;
    const int sign = (*by > 0) - (*by < 0);
    if (sign * direction < 0) return false;
    if (sign != 0) direction = sign;
    // Counts from the lesser of the two.
    const Expr step = CastTo(a[d].min.dtype(), second) * Const(a[d].min.dtype(), std::abs(*by));
    either.push_back({*by == 0 ? a[d].min : (*by > 0 ? a[d].min : b[d].min) + step, a[d].extent});
  }
  if (direction == 0) return false;
  Elements elements = ElementsOf(either, iterators, analyzer);
  elements.iterators.push_back({second, both});
  return IsInjective(elements, analyzer);
}

class Finder {
 public:
  explicit Finder(const BlockNode& block, const ComparedInstances& compared = {})
      : block_(block), condition_(compared.condition) {
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      const IterVar& iter = block.iter_vars[i];
      const bool single = IsInt(iter.domain.extent, 1);
      const bool fixed = i < compared.fixed.size() && compared.fixed[i];
      same_.push_back(single || fixed);
      if (single) {
        analyzer_.Bind(iter.var, iter.domain.min);
      } else {
        analyzer_.Bind(iter.var, iter.domain);
        (fixed ? fixed_ : iterators_).push_back({iter.var, iter.domain});
      }
    }
  }

  OrderedInstances Find() {
    for (size_t w = 0; w < block_.writes.size(); ++w) {
      const BufferRegion& write = block_.writes[w];
      Compare(write, write);
      for (size_t other = w + 1; other < block_.writes.size(); ++other) Compare(write, block_.writes[other]);
      for (const BufferRegion& read : block_.reads) Compare(write, read);
    }
    std::ranges::sort(found_.iterators);
    return std::move(found_);
  }

  std::vector<size_t> Differing(const BufferRegion& a, const BufferRegion& b) {
    if (a.buffer.same_as(b.buffer) && SameRegion(a.region, b.region) && SpatialOnesAreApart(a.region)) return {};
    if (NeverTouchTheSame(a, b)) return {};
    const std::vector<bool> agree = Agreeing(a, b);
    std::vector<size_t> differing;
    for (size_t i = 0; i < agree.size(); ++i) {
      if (block_.iter_vars[i].kind == IterKind::kSpatial && !same_[i] && !agree[i]) differing.push_back(i);
    }
    return differing;
  }

 private:
  // Whether instances that differ in a spatial iterator touch other elements of the region, in whatever they differ
  // besides. It is taken for granted of those that differ in spatial iterators alone, and then holds for all where no
  // dimension mixes spatial iterators with others: C[t, v], and not C[(v + t) % 4].
  bool SpatialOnesAreApart(const std::vector<Range>& region) const {
    return std::ranges::none_of(region, [&](const Range& range) {
      bool spatial = false, other = false;
      for (size_t i = 0; i < same_.size(); ++i) {
        const IterVar& iter = block_.iter_vars[i];
        if (same_[i] || !(UsesVar(range.min, iter.var) || UsesVar(range.extent, iter.var))) continue;
        (iter.kind == IterKind::kSpatial ? spatial : other) = true;
      }
      return spatial && other;
    });
  }

  bool NeverTouchTheSame(const BufferRegion& a, const BufferRegion& b) {
    if (!a.buffer.same_as(b.buffer)) return false;
    return NeverMeet(a.region, b.region, iterators_, fixed_, condition_, &analyzer_);
  }

  void Compare(const BufferRegion& write, const BufferRegion& other) {
    if (!write.buffer->data.same_as(other.buffer->data)) return;
    const bool same = write.buffer.same_as(other.buffer) && SameRegion(write.region, other.region);
    const bool apart = same && SpatialOnesAreApart(write.region);
    std::vector<bool> any_order = same_;
    for (size_t i = 0; i < any_order.size(); ++i) {
      const IterKind kind = block_.iter_vars[i].kind;
      if (any_order[i] || !same || kind == IterKind::kOpaque) continue;
      any_order[i] = (kind == IterKind::kSpatial && apart) || Commute();
    }
    if (std::ranges::count(any_order, false) == 0) return;
    if (!same && NeverTouchTheSame(write, other)) return;
    const std::vector<bool> agree = Agreeing(write, other);
    for (size_t i = 0; i < agree.size(); ++i) {
      if (agree[i] || any_order[i]) continue;
      if (std::ranges::find(found_.iterators, i) == found_.iterators.end()) found_.iterators.push_back(i);
      if (!found_.buffer) found_.buffer = write.buffer;
      found_.by_elements |= !same;
    }
  }

  // By iterator: whether it has one value in all instances that touch the same element by these regions.
  std::vector<bool> Agreeing(const BufferRegion& a, const BufferRegion& b) {
    std::vector<Range> equal;
    for (size_t d = 0; d < a.region.size() && a.buffer.same_as(b.buffer); ++d) {
      if (SameRange(a.region[d], b.region[d])) equal.push_back(a.region[d]);
    }
    std::vector<bool> agree(block_.iter_vars.size(), false);
    if (AddAgreeing(equal, &agree)) return agree;
    for (const Range& range : equal) AddAgreeing({range}, &agree);
    return agree;
  }
  bool AddAgreeing(const std::vector<Range>& dimensions, std::vector<bool>* agree) {
    if (dimensions.empty()) return false;
    arith::Analyzer::Scope scope(&analyzer_);
    const Elements elements = ElementsOf(dimensions, iterators_, &analyzer_);
    if (!IsInjective(elements, &analyzer_)) return false;
    for (size_t i = 0; i < block_.iter_vars.size(); ++i) {
      for (const auto& [var, range] : elements.iterators) {
        if (var.same_as(block_.iter_vars[i].var)) (*agree)[i] = true;
      }
    }
    return true;
  }

  bool Commute() {
    if (!commute_) commute_ = UpdatesCommute(block_);
    return *commute_;
  }

  const BlockNode& block_;
  const Expr condition_;
  arith::Analyzer analyzer_;
  std::vector<bool> same_;           // by iterator: whether it has one value in all instances that are compared
  arith::Domain iterators_, fixed_;  // those in which instances may differ; those that have any one value
  std::optional<bool> commute_;
  OrderedInstances found_;
};

// The variable v of (5 * v + 2) % 6, where v takes at most 6 values in a row: 5 has no divisor in common with 6, so
// that the remainders differ. Else the index itself.
Expr WithoutPermutation(const Expr& index, const arith::Domain& iterators, arith::Analyzer* analyzer) {
  const auto* op = dyn_cast<BinaryNode>(index);
  const auto modulus = op != nullptr && op->op == BinaryOp::kFloorMod ? AsInt(op->b) : std::nullopt;
  if (!modulus || arith::ReadsMemory(op->a)) return index;
  std::vector<Var> used;
  for (const auto& [var, range] : iterators) {
    if (!UsesVar(op->a, var)) continue;
    const auto extent = AsInt(range.extent);
    if (!extent || *extent > *modulus) return index;
    used.push_back(var);
  }
  if (used.size() != 1) return index;
  const auto form = arith::DetectLinear(op->a, used, analyzer);
  const auto factor = form ? AsInt(form->coefficients[0]) : std::nullopt;
  return factor && std::gcd(*factor, *modulus) == 1 ? Expr(used[0]) : index;
}

// The sum without terms that are the same for all values of the iterators; null where nothing is left.
Expr WithoutFixedTerms(const Expr& e, const arith::Domain& iterators) {
  const auto uses = [&](const auto& entry) { return UsesVar(e, entry.first); };
  const bool varies = arith::ReadsMemory(e) || std::ranges::any_of(iterators, uses);
  if (!varies) return {};
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr || (op->op != BinaryOp::kAdd && op->op != BinaryOp::kSub)) return e;
  const Expr a = WithoutFixedTerms(op->a, iterators), b = WithoutFixedTerms(op->b, iterators);
  if (!b) return a;
  if (op->op == BinaryOp::kSub) return a ? a - b : Const(e.dtype(), 0) - b;
  return a ? a + b : b;
}

// What has the same value where the index has: v of v + s, v % n of (v + s) % n, whatever the fixed s is. Null without
// iterators in it.
Expr VaryingPart(const Expr& index, const arith::Domain& iterators, arith::Analyzer* analyzer) {
  const Expr part = WithoutFixedTerms(index, iterators);
  const auto* op = part ? dyn_cast<BinaryNode>(part) : nullptr;
  if (op == nullptr || op->op != BinaryOp::kFloorMod || WithoutFixedTerms(op->b, iterators)) return part;
  Expr varying = WithoutFixedTerms(op->a, iterators);
  if (!varying || varying.same_as(op->a)) return part;
  // Numbers that differ modulo n do so with their signs changed.
  const auto* difference = dyn_cast<BinaryNode>(varying);
  if (difference != nullptr && difference->op == BinaryOp::kSub && IsInt(difference->a, 0)) varying = difference->b;
  return analyzer->Simplify(FloorMod(varying, op->b));
}

bool AreInjective(const std::vector<Expr>& indices, const arith::Domain& iterators, arith::Analyzer* analyzer) {
  const auto map = arith::DetectIterMap(indices, iterators, Expr(), arith::IterMapLevel::kNone, analyzer);
  return map && map->injective;
}

// An index that tells its iterators apart by itself has them fixed in all others: of [y, 2 * x + (y + 1) % 2] the first
// one says what y is, and the second one then what x is.
bool DetermineOneByOne(std::vector<Expr> indices, arith::Domain open, arith::Analyzer* analyzer) {
  for (bool found = true; found && !open.empty();) {
    found = false;
    for (Expr& index : indices) {
      index = index ? VaryingPart(index, open, analyzer) : index;
      if (!index) continue;
      arith::Domain used, others;
      for (const auto& entry : open) (UsesVar(index, entry.first) ? used : others).push_back(entry);
      if (!AreInjective({index}, used, analyzer)) continue;
      open = std::move(others);
      index = {};
      found = true;
    }
  }
  std::erase_if(indices, [](const Expr& index) { return !index; });
  return open.empty() || AreInjective(indices, open, analyzer);
}

}  // namespace

namespace {

// Indices that a choice decides tell iterators apart where both cases do, and none has an index of the other.
bool DetermineInCases(const IndexCases& cases, const arith::Domain& iterators, arith::Analyzer* analyzer) {
  const Expr other = Not(cases.condition);
  bool apart = AreNeverEqual({cases.where, cases.condition}, {cases.elsewhere, other}, iterators, analyzer);
  for (size_t d = 0; d < cases.where.size() && !apart; ++d) {
    const Expr one = Const(cases.where[d].dtype(), 1);
    apart = DifferByRemainder({cases.where[d], one}, {cases.elsewhere[d], one}, iterators, analyzer);
  }
  if (!apart) return false;
  const auto determined = [&](const Expr& condition, const std::vector<Expr>& indices) {
    arith::Analyzer::Scope scope(analyzer);
    analyzer->Assume(condition);
    return DetermineIterators(indices, iterators, analyzer);
  };
  return determined(cases.condition, cases.where) && determined(other, cases.elsewhere);
}

}  // namespace

bool DetermineIterators(const std::vector<Expr>& given, const arith::Domain& iterators, arith::Analyzer* analyzer) {
  std::vector<Expr> indices;
  for (const Expr& index : given) indices.push_back(WithoutFlips(index, iterators));
  if (const auto cases = CasesOf(indices)) return DetermineInCases(*cases, iterators, analyzer);
  if (AreInjective(indices, iterators, analyzer) || DetermineOneByOne(indices, iterators, analyzer)) return true;
  std::vector<Expr> all;
  for (const Expr& index : indices) {
    const std::optional<std::vector<Expr>> digits = DigitsOf(index, analyzer);
    if (!digits) return false;
    for (const Expr& digit : *digits)
      all.push_back(WithoutPermutation(WithoutFlips(digit, iterators), iterators, analyzer));
  }
  return AreInjective(all, iterators, analyzer) || DetermineOneByOne(std::move(all), iterators, analyzer);
}

bool NeverMeet(const std::vector<Range>& a, const std::vector<Range>& b, const arith::Domain& iterators,
               const arith::Domain& fixed, const Expr& condition, arith::Analyzer* analyzer) {
  if (a.empty()) return false;
  arith::Analyzer::Scope scope(analyzer);
  if (condition) analyzer->Assume(condition);
  const OtherInstance other(iterators, condition, analyzer);
  const std::vector<Range> there = other.Of(b);
  for (size_t d = 0; d < a.size(); ++d) {
    if (analyzer->CanProveLessEqual(a[d].min + a[d].extent, there[d].min) ||
        analyzer->CanProveLessEqual(there[d].min + there[d].extent, a[d].min) ||
        DifferByRemainder(a[d], b[d], iterators, analyzer)) {
      return true;
    }
    const bool elements = IsInt(a[d].extent, 1) && IsInt(b[d].extent, 1);
    if (elements && DifferByCount(a[d].min, b[d].min, fixed)) return true;
  }
  const auto is_element = [](const Range& range) { return IsInt(range.extent, 1); };
  if (condition && std::ranges::all_of(a, is_element) && std::ranges::all_of(b, is_element)) {
    GuardedIndices here{{}, condition}, elsewhere{{}, condition};
    for (const Range& range : a) here.indices.push_back(range.min);
    for (const Range& range : b) elsewhere.indices.push_back(range.min);
    if (AreNeverEqual(here, elsewhere, iterators, analyzer)) return true;
  }
  return AreDigitsOfOneNumber(a, b, iterators, analyzer);
}

bool OrderedInstances::DependsOn(const BlockRealizeNode& realize, const Var& loop) const {
  return std::ranges::any_of(iterators, [&](size_t i) { return UsesVar(realize.bindings[i], loop); });
}

std::vector<size_t> DifferingInSharedElements(const BlockNode& block, const BufferRegion& a, const BufferRegion& b,
                                              const ComparedInstances& compared) {
  return Finder(block, compared).Differing(a, b);
}

LoopVars VarsAtOnce(const ForNode& loop, std::span<const ForNode* const> above) {
  LoopVars vars;
  bool in_kernel = false;
  for (const ForNode* outer : above) {
    in_kernel |= outer->kind == ForKind::kThreadBound;
    if (in_kernel && outer->kind != ForKind::kThreadBound) vars.insert(outer->var.get());
  }
  PreOrder(Stmt(&loop), [&](const Stmt& s) {
    if (const auto* inner = dyn_cast<ForNode>(s)) vars.insert(inner->var.get());
    if (const auto* let = dyn_cast<LetStmtNode>(s)) vars.insert(let->var.get());
    return !isa<BlockRealizeNode>(s);
  });
  return vars;
}

bool Varies(const Expr& e, const LoopVars& vars) {
  return arith::ReadsMemory(e) || UsesVar(e, [&](const VarNode* var) { return vars.contains(var); });
}

ComparedInstances InstancesAtOnce(const BlockRealizeNode& realize, const LoopVars& vars) {
  ComparedInstances compared;
  for (const Expr& binding : realize.bindings) compared.fixed.push_back(!Varies(binding, vars));
  return compared;
}

Expr PredicateOfIterators(const BlockRealizeNode& realize, arith::Analyzer* analyzer) {
  if (!realize.predicate || IsTrue(realize.predicate)) return {};
  std::vector<Expr> bound;
  for (const Expr& binding : realize.bindings) bound.push_back(analyzer->Simplify(binding));
  return RewriteExpr(realize.predicate, [&](const Expr& part) {
    if (!part.dtype().is_index() || isa<IntImmNode>(part)) return part;
    const Expr simple = analyzer->Simplify(part);
    for (size_t i = 0; i < bound.size(); ++i) {
      if (!isa<IntImmNode>(bound[i]) && arith::SameExpr(simple, bound[i])) return Expr(realize.block->iter_vars[i].var);
    }
    return part;
  });
}

OrderedInstances FindOrderedInstances(const BlockNode& block) { return FindOrderedInstances(block, {}); }

OrderedInstances FindOrderedInstances(const BlockNode& block, const ComparedInstances& compared) {
  // Most blocks write one region of a buffer that they do not read, and reduce nothing.
  const bool simple = std::ranges::all_of(block.iter_vars,
                                          [](const IterVar& iter) {
                                            return iter.kind == IterKind::kSpatial || IsInt(iter.domain.extent, 1);
                                          }) &&
                      block.writes.size() == 1 && std::ranges::none_of(block.reads, [&](const BufferRegion& read) {
                        return read.buffer->data.same_as(block.writes[0].buffer->data);
                      });
  if (simple) return {};
  return Finder(block, compared).Find();
}

}  // namespace tilewright
