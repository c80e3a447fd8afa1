// From iterator maps back to expressions: simplified indices, division by inner loops, inverses.
#include <algorithm>
#include <utility>

#include "ir/arith/context.h"
#include "ir/arith/iter_expr.h"
#include "ir/arith/iter_map.h"
#include "ir/arith/same_expr.h"
#include "ir/arith/uses.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright::arith {
namespace {

void BindIterators(const IterMap& map, Analyzer* analyzer) {
  for (const IterMap::Iterator& iterator : map.iterators) {
    const Var& var = iterator.mark->var;
    analyzer->Bind(var, Range{Const(var.dtype(), 0), iterator.mark->extent.ToExpr(var.dtype())});
  }
}

VarMap IteratorValues(const IterMap& map) {
  VarMap values;
  for (const IterMap::Iterator& iterator : map.iterators) {
    const Var& var = iterator.mark->var;
    if (iterator.value.get() != var.get()) values[var] = CastTo(var.dtype(), iterator.value);
  }
  return values;
}

// `e` over the domain's variables, simplified; the iterators are bound.
Expr OverDomain(const Expr& e, const VarMap& values, Analyzer* analyzer) {
  Expr simplified = analyzer->Simplify(e);
  return values.empty() ? simplified : Substitute(simplified, values);
}

void Flatten(const Expr& e, std::vector<Expr>* conditions) {
  if (!e || IsTrue(e)) return;
  if (const auto* op = dyn_cast<BinaryNode>(e); op != nullptr && op->op == BinaryOp::kAnd) {
    Flatten(op->a, conditions);
    Flatten(op->b, conditions);
  } else {
    conditions->push_back(e);
  }
}

int Size(const Expr& e) {
  int size = 0;
  PreOrder(e, [&](const Expr&) {
    ++size;
    return true;
  });
  return size;
}

enum Side { kNeither = 0, kOuter = 1, kInner = 2, kBoth = 3 };

// Which loops an expression uses: `domain[0 : outer_count)` are outer.
Side SideOf(const Expr& e, const Domain& domain, size_t outer_count) {
  int side = kNeither;
  UsesVar(e, [&](const VarNode* var) {
    for (size_t i = 0; i < domain.size(); ++i) {
      if (domain[i].first.get() == var) side |= i < outer_count ? kOuter : kInner;
    }
    return false;
  });
  return static_cast<Side>(side);
}

}  // namespace

Expr ToExpr(const IterSum& sum, const IterMap& map, Analyzer* analyzer) {
  Analyzer::Scope scope(analyzer);
  BindIterators(map, analyzer);
  return OverDomain(CastTo(sum.base.dtype(), SumExpr(sum.args, sum.base)), IteratorValues(map), analyzer);
}

std::vector<Expr> IterMapSimplify(const std::vector<Expr>& indices, const Domain& domain, const Expr& predicate,
                                  Analyzer* analyzer) {
  std::vector<Expr> results;
  results.reserve(indices.size());
  auto map = predicate && !IsTrue(predicate) ? DetectIterMap(indices, domain, predicate, IterMapLevel::kNone, analyzer)
                                             : std::nullopt;
  std::vector<Expr> over_fused;
  if (map) {
    for (const IterSum& sum : map->indices) over_fused.push_back(ToExpr(sum, *map, analyzer));
  }
  Analyzer::Scope scope(analyzer);
  for (const auto& [var, range] : domain) analyzer->Bind(var, range);
  analyzer->Assume(predicate);
  for (const Expr& index : indices) results.push_back(analyzer->Simplify(index));
  for (size_t i = 0; i < over_fused.size(); ++i) {
    if (Size(over_fused[i]) <= Size(results[i])) results[i] = over_fused[i];
  }
  return results;
}

std::optional<SubspaceDivision> SubspaceDivide(const std::vector<Expr>& indices, const Domain& domain,
                                               size_t inner_count, const Expr& predicate, Analyzer* analyzer,
                                               IterMapError* error) {
  size_t outer_count = domain.size() - inner_count;
  auto fail = [&](IterMapError::Code code, size_t index, const Expr& e) {
    if (error != nullptr) *error = {code, index, e};
    return std::nullopt;
  };
  SubspaceDivision division;
  std::vector<Expr> conditions;
  Flatten(predicate, &conditions);
  for (const Expr& condition : conditions) {
    Side side = SideOf(condition, domain, outer_count);
    if (side == kBoth) return fail(IterMapError::Code::kPredicate, 0, condition);
    Expr& target = side == kInner ? division.inner_predicate : division.outer_predicate;
    target = target ? And(target, condition) : condition;
  }
  if (!division.outer_predicate) division.outer_predicate = True();
  if (!division.inner_predicate) division.inner_predicate = True();
  auto map = DetectIterMap(indices, domain, predicate, IterMapLevel::kSurjective, analyzer, error);
  if (!map) return std::nullopt;
  VarMap values = IteratorValues(*map);
  Analyzer::Scope scope(analyzer);
  BindIterators(*map, analyzer);
  for (size_t i = 0; i < indices.size(); ++i) {
    DataType dtype = indices[i].dtype();
    const IterSum& sum = map->indices[i];
    // Outer arguments first, inner ones after: index = outer * unit + inner.
    std::vector<IterSplit> outer, inner;
    Monomial outer_extent, inner_extent;
    for (const IterSplit& split : sum.args) {
      Expr source = Substitute(MarkExpr(*split.source), values);
      Side side = SideOf(source, domain, outer_count);
      if (side == kBoth || (side == kOuter && !inner.empty())) {
        return fail(IterMapError::Code::kNotContiguous, i, indices[i]);
      }
      (side == kInner ? inner : outer).push_back(split);
      Monomial& extent = side == kInner ? inner_extent : outer_extent;
      extent = extent * split.extent;
    }
    DividedIndex divided;
    Expr outer_base = sum.base, inner_base = Const(dtype, 0);
    if (!inner.empty()) {
      std::swap(outer_base, inner_base);
      Monomial unit = inner.front().scale * inner.front().extent;
      if (!outer.empty()) inner_extent = unit;
      for (IterSplit& split : outer) {
        auto scale = DivideExactly(split.scale, unit);
        // Equal by proof rather than by form: the arguments are contiguous.
        split.scale =
            scale ? *scale : Monomial::Of(analyzer->Simplify(FloorDiv(split.scale.ToExpr(dtype), unit.ToExpr(dtype))));
      }
    }
    divided.outer = OverDomain(CastTo(dtype, SumExpr(outer, outer_base)), values, analyzer);
    divided.inner = OverDomain(CastTo(dtype, SumExpr(inner, inner_base)), values, analyzer);
    divided.outer_extent = CastTo(dtype, outer_extent.ToExpr(dtype));
    divided.inner_extent = CastTo(dtype, inner_extent.ToExpr(dtype));
    division.indices.push_back(std::move(divided));
  }
  return division;
}

namespace {

// What is known of the value of a mark: the sum of its splits' values times their lower factors.
struct MarkValue {
  const IterMark* mark;
  Expr value;
  int pending = 0;  // fused marks that use it and are not taken apart yet
};

class Inverter {
 public:
  Inverter(const IterMap& map, Analyzer* analyzer) : map_(map), analyzer_(*analyzer) {
    for (const IterSum& sum : map.indices) {
      for (const IterSplit& split : sum.args) Register(split.source.get());
    }
  }

  std::vector<Expr> Run(const std::vector<Expr>& values) {
    for (size_t i = 0; i < values.size(); ++i) TakeApart(map_.indices[i], values[i]);
    bool progress = true;
    while (progress) {
      progress = false;
      for (size_t i = 0; i < marks_.size(); ++i) {
        if (marks_[i].pending != 0 || marks_[i].mark->var || done_[i]) continue;
        done_[i] = progress = true;
        const IterMark* mark = marks_[i].mark;
        for (const IterSplit& split : mark->sum.args) --Find(split.source.get()).pending;
        TakeApart(mark->sum, marks_[i].value);
      }
    }
    VarMap iterators;
    for (const IterMap::Iterator& iterator : map_.iterators) {
      Expr value = Const(iterator.mark->var.dtype(), 0);
      for (const MarkValue& known : marks_) {
        if (known.mark == iterator.mark.get() && known.value) value = known.value;
      }
      iterators[iterator.mark->var] = CastTo(iterator.mark->var.dtype(), value);
    }
    std::vector<Expr> results;
    for (const Expr& var : map_.domain) results.push_back(analyzer_.Simplify(Substitute(var, iterators)));
    return results;
  }

  // Values that no iteration gives: a mark outside of its values. Over the same values as Run, after it.
  Expr Padding() {
    Expr padding = False();
    for (const MarkValue& known : marks_) {
      DataType dtype = known.value.dtype();
      Expr first = known.mark->sum.base ? known.mark->sum.base : Const(dtype, 0);
      Expr last = first + known.mark->extent.ToExpr(dtype);
      Expr outside = analyzer_.CanProveLessEqual(first, known.value) ? False() : known.value < first;
      if (!analyzer_.CanProveLess(known.value, last)) {
        outside = IsFalse(outside) ? known.value >= last : Or(outside, known.value >= last);
      }
      if (!IsFalse(outside)) padding = IsFalse(padding) ? outside : Or(padding, outside);
    }
    return analyzer_.Simplify(padding);
  }

 private:
  void Register(const IterMark* mark) {
    for (const MarkValue& known : marks_) {
      if (known.mark == mark) return;
    }
    marks_.push_back({mark, Expr()});
    done_.push_back(false);
    for (const IterSplit& split : mark->sum.args) {
      Register(split.source.get());
      ++Find(split.source.get()).pending;
    }
  }

  MarkValue& Find(const IterMark* mark) {
    return *std::find_if(marks_.begin(), marks_.end(), [&](const MarkValue& known) { return known.mark == mark; });
  }

  // Gives each argument of a contiguous sum its value.
  void TakeApart(const IterSum& sum, const Expr& value) {
    Expr rest = IsInt(sum.base, 0) ? value : value - sum.base;
    for (size_t i = 0; i < sum.args.size(); ++i) {
      const IterSplit& split = sum.args[i];
      Expr e = split.scale.IsOne() ? rest : FloorDiv(rest, split.scale.ToExpr(rest.dtype()));
      if (i > 0) e = FloorMod(e, split.extent.ToExpr(rest.dtype()));
      if (!split.lower_factor.IsOne()) e = e * split.lower_factor.ToExpr(e.dtype());
      MarkValue& known = Find(split.source.get());
      known.value = analyzer_.Simplify(known.value ? known.value + e : e);
    }
  }

  const IterMap& map_;
  Analyzer& analyzer_;
  std::vector<MarkValue> marks_;
  std::vector<bool> done_;
};

Domain ShapeDomain(const IndexMap& map, const std::vector<Expr>& shape) {
  Domain domain;
  for (size_t i = 0; i < shape.size(); ++i) {
    const Var& var = map->inputs[i];
    domain.push_back({var, Range{Const(var.dtype(), 0), CastTo(var.dtype(), shape[i])}});
  }
  return domain;
}

// The number of values from 0 on that an index takes; null when its steps are larger than 1 or it starts below 0.
Expr ResultExtent(const IterMap& map, size_t index, DataType dtype, Analyzer* analyzer) {
  const IterSum& sum = map.indices[index];
  Expr extent = CastTo(dtype, map.extents[index].ToExpr(dtype));
  if (!sum.args.empty() && !sum.args.back().scale.IsOne()) return {};
  if (!analyzer->CanProve(sum.base >= 0)) return {};
  return analyzer->Simplify(extent + sum.base);
}

}  // namespace

std::vector<Expr> InverseIterMap(const IterMap& map, const std::vector<Expr>& values, Analyzer* analyzer) {
  return Inverter(map, analyzer).Run(values);
}

std::optional<std::vector<Expr>> MapShape(const IndexMap& map, const std::vector<Expr>& shape, Analyzer* analyzer) {
  auto detected = DetectIterMap(map->outputs, ShapeDomain(map, shape), {}, IterMapLevel::kNone, analyzer);
  if (!detected) return std::nullopt;
  std::vector<Expr> results;
  for (size_t i = 0; i < map->outputs.size(); ++i) {
    results.push_back(ResultExtent(*detected, i, map->outputs[i].dtype(), analyzer));
    if (!results.back()) return std::nullopt;
  }
  return results;
}

std::optional<PaddedInverse> PaddedInverseIndexMap(const IndexMap& map, const std::vector<Expr>& shape,
                                                   Analyzer* analyzer, IterMapError* error) {
  auto detected = DetectIterMap(map->outputs, ShapeDomain(map, shape), {}, IterMapLevel::kNone, analyzer, error);
  if (!detected) return std::nullopt;
  if (!detected->injective) {
    if (error != nullptr) *error = {IterMapError::Code::kNotBijective, 0, {}};
    return std::nullopt;
  }
  PaddedInverse result;
  Analyzer::Scope scope(analyzer);
  std::vector<Var> inputs;
  std::vector<Expr> values;
  for (size_t i = 0; i < map->outputs.size(); ++i) {
    DataType dtype = map->outputs[i].dtype();
    Expr extent = ResultExtent(*detected, i, dtype, analyzer);
    if (!extent) {
      if (error != nullptr) *error = {IterMapError::Code::kNotSurjective, i, map->outputs[i]};
      return std::nullopt;
    }
    inputs.emplace_back("i" + std::to_string(i), dtype);
    analyzer->Bind(inputs.back(), Range{Const(dtype, 0), extent});
    result.shape.push_back(extent);
    values.push_back(inputs.back());
  }
  Inverter inverter(*detected, analyzer);
  std::vector<Expr> outputs = inverter.Run(values);
  result.padding = inverter.Padding();
  for (size_t i = 0; i < detected->indices.size(); ++i) {
    const Expr& first = detected->indices[i].base;
    if (analyzer->CanProveLessEqual(first, values[i])) continue;
    result.padding = analyzer->Simplify(Or(result.padding, values[i] < first));
  }
  result.inverse = IndexMap(std::move(inputs), std::move(outputs));
  return result;
}

std::optional<IndexMap> InverseIndexMap(const IndexMap& map, const std::vector<Expr>& shape, Analyzer* analyzer,
                                        IterMapError* error) {
  auto result = PaddedInverseIndexMap(map, shape, analyzer, error);
  if (!result) return std::nullopt;
  if (!IsFalse(result->padding)) {
    if (error != nullptr) *error = {IterMapError::Code::kNotBijective, 0, {}};
    return std::nullopt;
  }
  return result->inverse;
}

}  // namespace tilewright::arith
