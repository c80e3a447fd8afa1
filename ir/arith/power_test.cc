// How much is proven, not only that what is proven is right: rates over random chains of split, fuse, reorder and pad.
//
//   TILEWRIGHT_ARITH_CHAINS=100000   how many (4000 by default)
//   TILEWRIGHT_ARITH_SEED=17
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include "base/math.h"
#include "ir/arith/analyzer.h"
#include "ir/arith/expr_text.h"
#include "ir/arith/iter_map.h"
#include "ir/arith/testing.h"
#include "ir/structural.h"

namespace tilewright::arith {
namespace {

// An index expression that takes the values [0, extent).
struct Axis {
  Expr index, extent;
  DataType type() const { return index.dtype(); }
};

struct Step {
  enum Kind { kSplit, kFuse, kSwap, kPad } kind;
  size_t axis;
  Expr factor;  // of a split; the extent of the second axis of a fuse
  Expr before;  // the extent before a pad
  // The types of the two axes before a fuse.
  DataType first = DataType::Int(32), second = DataType::Int(32);
};

// Extents are constants; with a symbol, some are multiples of n. Mixed ones have loops of 64 bits beside those of 32.
class Chain {
 public:
  Chain(Random* random, bool symbolic, bool mixed = false)
      : n("n", DataType::Int(mixed && random->OneIn(2) ? 64 : 32)), random_(*random), symbolic_(symbolic) {
    size_t count = random->Int(1, 3);
    const char* names[] = {"i", "j", "k"};
    for (size_t a = 0; a < count; ++a) {
      Expr extent(random->Pick<int64_t>({2, 3, 4, 6, 7, 8, 12, 14, 16, 24, 30, 32, 64}));
      if (symbolic && random->OneIn(2)) extent = n * extent;
      // A constant fits every type, n only its own.
      const bool is_wide = (mixed && random->OneIn(2)) || extent.dtype().bits() == 64;
      Var var(names[a], DataType::Int(is_wide ? 64 : 32));
      extent = CastTo(var.dtype(), extent);
      domain.push_back({var, Range{Const(var.dtype(), 0), extent}});
      axes.push_back({var, extent});
    }
  }

  void Bind(Analyzer* analyzer) const {
    if (symbolic_) analyzer->Assume(n >= Expr(1));
    for (const auto& [var, range] : domain) analyzer->Bind(var, range);
  }

  // Applies one random transformation to the axes.
  void Transform(Analyzer* analyzer) {
    Step step{Step::kSwap, static_cast<size_t>(random_.Int(0, static_cast<int64_t>(axes.size()) - 1))};
    Axis axis = axes[step.axis];
    switch (random_.Int(0, 5)) {
      case 0:
      case 1:
        Split(step, axis, analyzer);
        return;
      case 2:
      case 3: {
        if (step.axis + 1 >= axes.size()) return;
        Axis next = axes[step.axis + 1];
        step.kind = Step::kFuse;
        step.factor = next.extent;
        step.first = axis.type();
        step.second = next.type();
        axes[step.axis] = {axis.index * next.extent + next.index, analyzer->Simplify(axis.extent * next.extent)};
        axes.erase(axes.begin() + step.axis + 1);
        break;
      }
      case 4:
        if (step.axis + 1 >= axes.size()) return;
        std::swap(axes[step.axis], axes[step.axis + 1]);
        break;
      default: {
        auto extent = AsInt(axis.extent);
        if (!extent) return;
        step.kind = Step::kPad;
        step.before = axis.extent;
        axes[step.axis].extent = Expr(RoundUp(*extent, random_.Pick<int64_t>({4, 8, 16})));
      }
    }
    steps.push_back(step);
  }

  // Undoes all steps on the axes.
  void Undo() {
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      Axis axis = axes[step->axis];
      switch (step->kind) {
        case Step::kSplit:
          axes[step->axis] = {axis.index * step->factor + axes[step->axis + 1].index, axis.extent * step->factor};
          axes.erase(axes.begin() + step->axis + 1);
          break;
        case Step::kFuse:
          axes[step->axis] = {CastTo(step->first, FloorDiv(axis.index, step->factor)), axis.extent};
          axes.insert(axes.begin() + step->axis + 1,
                      {CastTo(step->second, FloorMod(axis.index, step->factor)), step->factor});
          break;
        case Step::kSwap:
          std::swap(axes[step->axis], axes[step->axis + 1]);
          break;
        case Step::kPad:
          axes[step->axis].extent = step->before;
      }
    }
  }

  Var n;
  Domain domain;
  std::vector<Axis> axes;
  std::vector<Step> steps;

 private:
  void Split(Step step, const Axis& axis, Analyzer* analyzer) {
    step.kind = Step::kSplit;
    int64_t factor = random_.Pick<int64_t>({2, 3, 4, 5, 8, 12, 16});
    step.factor = Expr(factor);
    auto extent = AsInt(axis.extent);
    if (extent) {
      // Mostly divisible factors, as in schedules.
      if (*extent % factor != 0 && random_.OneIn(2)) step.factor = Expr(2);
    } else if (random_.OneIn(2) && analyzer->CanProveDivisible(axis.extent, n)) {
      step.factor = n;
    }
    Expr outer = analyzer->Simplify(FloorDiv(axis.extent + step.factor - 1, step.factor));
    axes[step.axis] = {FloorDiv(axis.index, step.factor), outer};
    axes.insert(axes.begin() + step.axis + 1, {FloorMod(axis.index, step.factor), step.factor});
    steps.push_back(step);
  }

  Random& random_;
  bool symbolic_;
};

struct Rate {
  int64_t good = 0, all = 0;
  double Percent() const { return all == 0 ? 100 : 100.0 * static_cast<double>(good) / static_cast<double>(all); }
};

int64_t Chains() { return FromEnvironment("TILEWRIGHT_ARITH_CHAINS", 4000); }
int64_t FirstSeed() { return FromEnvironment("TILEWRIGHT_ARITH_SEED", 1); }

Rate MeasureRoundTrips(bool symbolic, bool mixed, bool step_by_step) {
  Rate rate;
  int shown = 0;
  for (int64_t seed = FirstSeed(); seed < FirstSeed() + Chains(); ++seed) {
    Random random(seed);
    Chain chain(&random, symbolic, mixed);
    Analyzer analyzer;
    chain.Bind(&analyzer);
    int64_t length = random.Int(2, 10);
    for (int64_t s = 0; s < length; ++s) {
      chain.Transform(&analyzer);
      // As a schedule does: the indices are simplified after every primitive.
      if (step_by_step) {
        for (Axis& axis : chain.axes) axis.index = analyzer.Simplify(axis.index);
      }
    }
    chain.Undo();
    for (size_t a = 0; a < chain.domain.size(); ++a) {
      Expr result = analyzer.Simplify(chain.axes[a].index);
      ++rate.all;
      if (result.get() == chain.domain[a].first.get()) {
        ++rate.good;
      } else if (FromEnvironment("TILEWRIGHT_ARITH_SHOW", 0) > shown++) {
        std::printf("seed %ld: %s from %s\n", static_cast<long>(seed), ToText(result).c_str(),
                    ToText(chain.axes[a].index).c_str());
        for (const auto& [var, range] : chain.domain) {
          std::printf("  %s in %s\n", var.name().c_str(), ToText(range.extent).c_str());
        }
      }
    }
  }
  return rate;
}

TEST(ArithPowerTest, IndicesComeBackToTheOriginalForm) {
  for (int kind = 0; kind < 8; ++kind) {
    const bool symbolic = kind & 1, mixed = kind & 2, step_by_step = kind & 4;
    Rate rate = MeasureRoundTrips(symbolic, mixed, step_by_step);
    std::printf("%s extents%s, simplified %s: %.2f%% of %ld indices come back\n", symbolic ? "symbolic" : "constant",
                mixed ? " of 32 and 64 bits" : "", step_by_step ? "after every step" : "once at the end",
                rate.Percent(), static_cast<long>(rate.all));
    EXPECT_GE(rate.Percent(), 99.0);
  }
}

// All index tuples of the map in order of iteration.
std::vector<std::vector<int64_t>> Enumerate(const std::vector<Expr>& indices, const Domain& domain,
                                            const Expr& predicate) {
  std::vector<std::vector<int64_t>> tuples;
  Assignment values;
  for (const auto& [var, range] : domain) values.emplace_back(var, 0);
  while (true) {
    if (!predicate || *Evaluate(predicate, values) != 0) {
      std::vector<int64_t> tuple;
      for (const Expr& index : indices) tuple.push_back(*Evaluate(index, values));
      tuples.push_back(std::move(tuple));
    }
    size_t d = domain.size();
    while (d > 0 && ++values[d - 1].second == *AsInt(domain[d - 1].second.extent)) values[--d].second = 0;
    if (d == 0) return tuples;
  }
}

struct Truth {
  bool surjective, bijective;
};

// Over the box that the indices span.
Truth BruteForce(const std::vector<std::vector<int64_t>>& tuples) {
  std::set<std::vector<int64_t>> distinct(tuples.begin(), tuples.end());
  int64_t box = 1;
  for (size_t d = 0; d < tuples[0].size(); ++d) {
    auto [least, most] =
        std::minmax_element(tuples.begin(), tuples.end(), [&](const auto& a, const auto& b) { return a[d] < b[d]; });
    box *= (*most)[d] - (*least)[d] + 1;
  }
  bool surjective = static_cast<int64_t>(distinct.size()) == box;
  return {surjective, surjective && distinct.size() == tuples.size()};
}

// A random map: a chain, sometimes with an index dropped (surjective at most), a predicate or a spoilt index.
struct RandomMap {
  Domain domain;
  std::vector<Expr> indices;
  Expr predicate;
};

RandomMap MakeMap(Random* random) {
  Chain chain(random, false, random->OneIn(3));
  Analyzer analyzer;
  chain.Bind(&analyzer);
  int64_t length = random->Int(1, 8);
  for (int64_t s = 0; s < length; ++s) chain.Transform(&analyzer);
  RandomMap map;
  map.domain = chain.domain;
  for (const Axis& axis : chain.axes) map.indices.push_back(axis.index);
  if (random->OneIn(6))
    map.indices.erase(map.indices.begin() + random->Int(0, static_cast<int64_t>(map.indices.size()) - 1));
  if (map.indices.empty()) map.indices.push_back(chain.axes[0].index);
  if (random->OneIn(12)) {
    Expr& index = map.indices[0];
    index = random->OneIn(2) ? index + map.domain[0].first : index * 2;
  }
  if (random->OneIn(5)) {
    // The fused loops, bounded.
    Expr fused = map.domain[0].first;
    int64_t size = *AsInt(map.domain[0].second.extent);
    for (size_t d = 1; d < map.domain.size(); ++d) {
      fused = fused * map.domain[d].second.extent + map.domain[d].first;
      size *= *AsInt(map.domain[d].second.extent);
    }
    int64_t limit = random->Int(std::max<int64_t>(1, size / 2), size);
    map.predicate = fused < Expr(limit);
    if (random->OneIn(2)) {
      int64_t inner = random->Pick<int64_t>({2, 4, 8});
      map.indices = {FloorDiv(fused, Expr(inner)), FloorMod(fused, Expr(inner))};
      map.predicate = fused < Expr(std::max(inner, limit / inner * inner));
    }
  }
  return map;
}

TEST(ArithPowerTest, BijectiveMapsAreProven) {
  Rate bijective, surjective;
  int64_t refuted = 0, inverted = 0;
  int shown = 0;
  for (int64_t seed = FirstSeed(); seed < FirstSeed() + Chains(); ++seed) {
    Random random(seed);
    RandomMap map = MakeMap(&random);
    int64_t size = 1;
    for (const auto& [var, range] : map.domain) size *= *AsInt(range.extent);
    if (size > 20000) continue;
    auto tuples = Enumerate(map.indices, map.domain, map.predicate);
    Truth truth = BruteForce(tuples);
    Analyzer analyzer;
    IterMapError error;
    auto detected = DetectIterMap(map.indices, map.domain, map.predicate, IterMapLevel::kBijective, &analyzer, &error);
    bool covers =
        DetectIterMap(map.indices, map.domain, map.predicate, IterMapLevel::kSurjective, &analyzer).has_value();
    std::string text = "seed " + std::to_string(seed) + ":";
    for (const Expr& index : map.indices) text += " " + ToText(index) + ";";
    for (const auto& [var, range] : map.domain) text += " " + var.name() + "<" + ToText(range.extent);
    if (map.predicate) text += " where " + ToText(map.predicate);
    // Soundness. (Indices with steps larger than 1 do not fill a box.)
    bool unit = !detected || std::all_of(detected->indices.begin(), detected->indices.end(), [](const IterSum& sum) {
      return sum.args.empty() || sum.args.back().scale.IsOne();
    });
    if (detected && unit) EXPECT_TRUE(truth.bijective) << text;
    if (!truth.bijective && !detected) ++refuted;
    if (truth.bijective) {
      ++bijective.all;
      bijective.good += detected.has_value();
      if (!detected && FromEnvironment("TILEWRIGHT_ARITH_SHOW", 0) > shown++) {
        std::printf("not proven: %s: %s\n", text.c_str(), std::string(error.Reason()).c_str());
      }
    }
    if (truth.surjective) {
      ++surjective.all;
      surjective.good += covers;
    }
    if (!detected || !unit || map.predicate) continue;
    // The inverse takes every tuple back to its iteration.
    ++inverted;
    std::vector<Var> inputs;
    std::vector<Expr> values;
    Analyzer over_values;
    for (size_t i = 0; i < map.indices.size(); ++i) {
      inputs.emplace_back("y" + std::to_string(i), map.indices[i].dtype());
      values.push_back(inputs.back());
      over_values.Bind(inputs[i], Range{detected->indices[i].base, detected->extents[i].ToExpr(inputs[i].dtype())});
    }
    std::vector<Expr> inverse = InverseIterMap(*detected, values, &over_values);
    size_t position = 0;
    for (const auto& tuple : tuples) {
      Assignment at;
      for (size_t i = 0; i < tuple.size(); ++i) at.emplace_back(inputs[i], tuple[i]);
      int64_t iteration = 0;
      for (size_t d = 0; d < inverse.size(); ++d) {
        iteration = iteration * *AsInt(map.domain[d].second.extent) + *Evaluate(inverse[d], at);
      }
      ASSERT_EQ(iteration, static_cast<int64_t>(position++)) << text;
    }
  }
  std::printf("%.2f%% of %ld bijective maps are proven so; %ld others are all refused\n", bijective.Percent(),
              static_cast<long>(bijective.all), static_cast<long>(refuted));
  std::printf("%.2f%% of %ld surjective maps are proven so; %ld inverses checked\n", surjective.Percent(),
              static_cast<long>(surjective.all), static_cast<long>(inverted));
  EXPECT_GE(bijective.Percent(), 99.0);
}

}  // namespace
}  // namespace tilewright::arith
