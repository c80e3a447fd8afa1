// Random expressions: simplification keeps their values, bounds and sets contain them.
//
//   TILEWRIGHT_ARITH_EXPRESSIONS=1000000   how many (the long setting; a few seconds' worth by default)
//   TILEWRIGHT_ARITH_SEED=17               where to start: a failure prints the seed that replays it alone
//
// A failing expression is shrunk to a smaller one that fails as well before it is printed.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "ir/arith/analyzer.h"
#include "ir/arith/expr_text.h"
#include "ir/arith/int_set.h"
#include "ir/arith/testing.h"
#include "ir/structural.h"

namespace tilewright::arith {
namespace {

// The variables of one case. The first are bound to constant ranges, `s` to [0, n), `f` (64 bits) to [0, n * m), and n
// and m are positive. `large` has more than 32 bits.
struct Variables {
  std::vector<Var> bound;
  std::vector<Range> ranges;
  Var s{"s"}, n{"n"}, m{"m", DataType::Int(64)}, f{"f", DataType::Int(64)}, large{"large", DataType::Int(64)};

  explicit Variables(Random* random) {
    for (const char* name : {"i", "j", "k"}) {
      bound.emplace_back(name);
      int64_t min = random->OneIn(3) ? random->Int(-6, 6) : 0;
      int64_t extent = random->Pick<int64_t>({1, 2, 3, 4, 4, 5, 7, 8, 12, 16});
      ranges.push_back({Expr(min), Expr(extent)});
    }
  }

  void Bind(Analyzer* analyzer) const {
    for (size_t i = 0; i < bound.size(); ++i) analyzer->Bind(bound[i], ranges[i]);
    BindSymbolic(analyzer);
  }
  void BindSymbolic(Analyzer* analyzer) const {
    analyzer->Assume(n >= Expr(1));
    analyzer->Assume(m >= Expr(0));
    analyzer->Bind(s, Range{0, n});
    analyzer->Bind(f, Range{Const(f.dtype(), 0), n * m});
    analyzer->Bind(large, Range{Const(large.dtype(), 0), Const(large.dtype(), int64_t{1} << 34)});
  }

  Assignment Pick(Random* random) const {
    auto within = [&](int64_t lo, int64_t hi) {
      if (random->OneIn(4)) return lo;
      return random->OneIn(3) ? hi : random->Int(lo, hi);
    };
    Assignment values;
    for (size_t i = 0; i < bound.size(); ++i) {
      int64_t min = *AsInt(ranges[i].min), extent = *AsInt(ranges[i].extent);
      values.emplace_back(bound[i], within(min, min + extent - 1));
    }
    int64_t size = within(1, 16);
    values.emplace_back(n, size);
    values.emplace_back(s, within(0, size - 1));
    int64_t columns = within(1, 16);
    values.emplace_back(m, columns);
    values.emplace_back(f, within(0, size * columns - 1));
    values.emplace_back(large, within(0, (int64_t{1} << 34) - 1));
    return values;
  }
};

class Generator {
 public:
  Generator(const Variables& variables, Random* random) : variables_(variables), random_(*random) {}

  Expr Index(int depth) {
    if (depth == 0 || random_.OneIn(8)) return Leaf();
    switch (random_.Int(0, 15)) {
      case 0:
      case 1:
      case 2:
        return Index(depth - 1) + Index(depth - 1);
      case 3:
        return Index(depth - 1) - Index(depth - 1);
      case 4:
      case 5:
        return Index(depth - 1) * Expr(Factor());
      case 6:
      case 7:
        return FloorDiv(Index(depth - 1), Expr(Factor()));
      case 8:
      case 9:
        return FloorMod(Index(depth - 1), Expr(Factor()));
      case 10:
        return random_.OneIn(2) ? Min(Index(depth - 1), Index(depth - 1)) : Max(Index(depth - 1), Index(depth - 1));
      case 11:
        return random_.OneIn(2) ? Div(Index(depth - 1), Expr(Factor())) : Mod(Index(depth - 1), Expr(Factor()));
      case 12:
        return Select(Condition(depth - 1), Index(depth - 1), Index(depth - 1));
      case 13: {
        Expr divisor = random_.OneIn(2) ? variables_.n : variables_.n * Expr(Factor());
        if (random_.OneIn(8)) divisor = Index(depth - 1);
        Expr e = Index(depth - 1);
        return random_.OneIn(2) ? FloorDiv(e, divisor) : FloorMod(e, divisor);
      }
      case 14:
        return Index(depth - 1) * Index(depth - 1);
      default:
        return CastTo(DataType::Int(32), NarrowEnough(depth - 1));
    }
  }

  // An expression of 64 bits, with parts of 32.
  Expr Wide(int depth) {
    const DataType wide = DataType::Int(64);
    if (depth == 0 || random_.OneIn(8)) {
      if (random_.OneIn(4)) return has_large_ && random_.OneIn(6) ? variables_.large : variables_.m;
      return random_.OneIn(2) ? Expr(variables_.f) : CastTo(wide, Leaf());
    }
    switch (random_.Int(0, 7)) {
      case 0:
        return Wide(depth - 1) + Wide(depth - 1);
      case 1:
        return Wide(depth - 1) * Const(wide, Factor()) + Wide(depth - 1);
      case 2:
        return FloorDiv(Wide(depth - 1), random_.OneIn(2) ? Const(wide, Factor()) : WideSize());
      case 3:
        return FloorMod(Wide(depth - 1), random_.OneIn(2) ? Const(wide, Factor()) : WideSize());
      case 4:
        return Wide(depth - 1) * WideSize() + Wide(depth - 1);
      case 5:
        return Min(Wide(depth - 1), Wide(depth - 1));
      default:
        return CastTo(wide, Index(depth - 1));
    }
  }

  Expr Condition(int depth) {
    if (random_.OneIn(5)) return random_.OneIn(2) ? Wide(depth) < WideSize() : Wide(depth) <= Wide(depth);
    if (depth > 0 && random_.OneIn(3)) {
      switch (random_.Int(0, 2)) {
        case 0:
          return And(Condition(depth - 1), Condition(depth - 1));
        case 1:
          return Or(Condition(depth - 1), Condition(depth - 1));
        default:
          return Not(Condition(depth - 1));
      }
    }
    Expr a = Index(depth), b = random_.OneIn(2) ? Leaf() : Index(depth);
    auto op = static_cast<BinaryOp>(random_.Int(static_cast<int>(BinaryOp::kEQ), static_cast<int>(BinaryOp::kGE)));
    return MakeBinary(op, a, b);
  }

  // What programs assume: remainders of extents, bounds of fused loops.
  Expr Assumption() {
    switch (random_.Int(0, 3)) {
      case 0: {
        int64_t modulus = random_.Pick<int64_t>({2, 3, 4, 8});
        return FloorMod(Leaf(), Expr(modulus)) == Expr(random_.Int(0, modulus - 1));
      }
      case 1:
        return random_.Pick(variables_.bound) * Expr(Factor()) + random_.Pick(variables_.bound) < variables_.n;
      default:
        return Condition(static_cast<int>(random_.Int(0, 2)));
    }
  }

  // Unsigned and narrow arithmetic, which wraps or may overflow.
  Expr Narrow(DataType dtype, int depth) {
    if (depth == 0 || random_.OneIn(6)) {
      return random_.OneIn(3) ? Const(dtype, random_.Int(0, 20)) : CastTo(dtype, random_.Pick(variables_.bound));
    }
    auto op = static_cast<BinaryOp>(random_.Int(static_cast<int>(BinaryOp::kAdd), static_cast<int>(BinaryOp::kMax)));
    return MakeBinary(op, Narrow(dtype, depth - 1), Narrow(dtype, depth - 1));
  }

 private:
  // An expression of 64 bits whose value is far from the ends of 32.
  Expr NarrowEnough(int depth) {
    if (random_.OneIn(3)) return FloorMod(Wide(depth), Const(DataType::Int(64), 500));
    has_large_ = false;
    Expr e = Wide(depth);
    has_large_ = true;
    return e;
  }
  Expr WideSize() {
    switch (random_.Int(0, 2)) {
      case 0:
        return variables_.m;
      case 1:
        return CastTo(variables_.m.dtype(), variables_.n);
      default:
        return variables_.m * variables_.n;
    }
  }
  Expr Leaf() {
    switch (random_.Int(0, 9)) {
      case 0:
      case 1:
        return Expr(random_.OneIn(3) ? random_.Int(-40, 40) : random_.Int(0, 8));
      case 2:
        return variables_.s;
      case 3:
        return variables_.n;
      default:
        return random_.Pick(variables_.bound);
    }
  }
  int64_t Factor() {
    if (random_.OneIn(12)) return random_.Int(-8, -1);
    return random_.Pick<int64_t>({1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 12, 16, 24, 32});
  }

  const Variables& variables_;
  Random& random_;
  bool has_large_ = true;
};

// What is wrong with the expression, or nothing. Deterministic in `seed`.
std::string Check(const Expr& e, const Expr& assumption, const Variables& variables, uint64_t seed) {
  Analyzer analyzer;
  variables.Bind(&analyzer);
  Domain relaxed = {{variables.bound[0], variables.ranges[0]}, {variables.bound[1], variables.ranges[1]}};
  bool index = e.dtype().is_index();
  IntSet set;
  if (index) {
    Analyzer outer;
    outer.Bind(variables.bound[2], variables.ranges[2]);
    variables.BindSymbolic(&outer);
    set = EvalSet(e, relaxed, &outer, assumption);
  }
  analyzer.Assume(assumption);
  Expr simplified = analyzer.Simplify(e);
  Bounds bounds = e.dtype().is_integer() ? analyzer.ConstBounds(e) : Bounds();
  if (simplified.dtype() != e.dtype()) return "its type changed in " + ToText(simplified);
  Random random(seed);
  for (int trial = 0; trial < 48; ++trial) {
    Assignment values = variables.Pick(&random);
    auto holds = assumption ? Evaluate(assumption, values) : 1;
    auto expected = Evaluate(e, values);
    if (!holds || *holds == 0 || !expected) continue;
    std::string at = " at";
    for (const auto& [var, value] : values) at += " " + var.name() + "=" + std::to_string(value);
    auto actual = Evaluate(simplified, values);
    if (!actual) return ToText(simplified) + " is in error" + at;
    if (*actual != *expected) {
      return ToText(simplified) + " is " + std::to_string(*actual) + " instead of " + std::to_string(*expected) + at;
    }
    if (*expected < bounds.min || *expected > bounds.max) return "it is out of its bounds" + at;
    for (const Expr& end : {set.min, set.max}) {
      if (!end) continue;
      auto limit = Evaluate(end, values);
      if (!limit) continue;
      bool outside = end.same_as(set.min) ? *expected < *limit : *expected > *limit;
      if (outside && !(set.min.same_as(set.max) && *expected == *limit)) {
        return "its set ends at " + ToText(end) + at;
      }
    }
    if (set.min && set.stride > 1) {
      auto first = Evaluate(set.min, values);
      if (first && (*expected - *first) % set.stride != 0)
        return "its set has stride " + std::to_string(set.stride) + at;
    }
  }
  return "";
}

// Smaller expressions of the same type.
std::vector<Expr> Smaller(const Expr& e) {
  std::vector<Expr> results;
  auto add = [&](const Expr& x) {
    if (x.dtype() == e.dtype()) results.push_back(x);
  };
  if (const auto* imm = dyn_cast<IntImmNode>(e)) {
    if (imm->value > 1) add(Const(e.dtype(), imm->value / 2));
    if (imm->value < 0) add(Const(e.dtype(), -imm->value));
    return results;
  }
  if (isa<VarNode>(e)) return results;
  if (e.dtype().is_integer()) add(Const(e.dtype(), 0));
  if (const auto* op = dyn_cast<BinaryNode>(e)) {
    add(op->a);
    add(op->b);
    for (const Expr& a : Smaller(op->a)) add(MakeBinary(op->op, a, op->b));
    for (const Expr& b : Smaller(op->b)) add(MakeBinary(op->op, op->a, b));
  } else if (const auto* negation = dyn_cast<NotNode>(e)) {
    add(negation->a);
    for (const Expr& a : Smaller(negation->a)) add(Not(a));
  } else if (const auto* select = dyn_cast<SelectNode>(e)) {
    add(select->true_value);
    add(select->false_value);
    for (const Expr& c : Smaller(select->condition)) add(Select(c, select->true_value, select->false_value));
    for (const Expr& a : Smaller(select->true_value)) add(Select(select->condition, a, select->false_value));
    for (const Expr& b : Smaller(select->false_value)) add(Select(select->condition, select->true_value, b));
  } else if (const auto* conversion = dyn_cast<CastNode>(e)) {
    for (const Expr& a : Smaller(conversion->value)) add(CastTo(e.dtype(), a));
  }
  return results;
}

// Shrinks both expressions while the check still fails.
std::string Shrink(Expr e, Expr assumption, const Variables& variables, uint64_t seed) {
  bool progress = true;
  while (progress) {
    progress = false;
    if (assumption && !Check(e, {}, variables, seed).empty()) assumption = {};
    for (const Expr& smaller : Smaller(e)) {
      if (Check(smaller, assumption, variables, seed).empty()) continue;
      e = smaller;
      progress = true;
      break;
    }
    if (progress || !assumption) continue;
    for (const Expr& smaller : Smaller(assumption)) {
      if (Check(e, smaller, variables, seed).empty()) continue;
      assumption = smaller;
      progress = true;
      break;
    }
  }
  std::string text = ToText(e);
  if (assumption) text += " under " + ToText(assumption);
  for (size_t i = 0; i < variables.bound.size(); ++i) {
    text += ", " + variables.bound[i].name() + " in [" + ToText(variables.ranges[i].min) + "; " +
            ToText(variables.ranges[i].extent) + "]";
  }
  return text + ": " + Check(e, assumption, variables, seed);
}

TEST(ArithPropertyTest, SimplificationKeepsValues) {
  int64_t count = FromEnvironment("TILEWRIGHT_ARITH_EXPRESSIONS", 40000);
  int64_t first = FromEnvironment("TILEWRIGHT_ARITH_SEED", 1);
  int failures = 0;
  for (int64_t seed = first; seed < first + count && failures < 5; ++seed) {
    Random random(seed);
    Variables variables(&random);
    Generator generator(variables, &random);
    Expr e, assumption;
    int depth = static_cast<int>(random.Int(1, 4));
    switch (random.Int(0, 7)) {
      case 0:
      case 1:
        e = generator.Condition(depth - 1);
        break;
      case 3:
      case 4:
        e = generator.Wide(depth);
        break;
      case 2:
        e = generator.Narrow(random.Pick<DataType>({DataType::UInt(8), DataType::Int(8), DataType::UInt(32)}), depth);
        break;
      default:
        e = generator.Index(depth);
    }
    if (random.OneIn(2)) assumption = generator.Assumption();
    if (assumption && random.OneIn(4)) assumption = And(assumption, generator.Assumption());
    if (Check(e, assumption, variables, seed).empty()) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << ": " << Shrink(e, assumption, variables, seed);
  }
}

}  // namespace
}  // namespace tilewright::arith
