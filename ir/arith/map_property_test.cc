// Regions, divisions and inverses on random index expressions, compared with enumeration.
//
//   TILEWRIGHT_ARITH_MAPS=100000   how many (3000 by default)
//   TILEWRIGHT_ARITH_SEED=17       where to start
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "ir/arith/expr_text.h"
#include "ir/arith/iter_map.h"
#include "ir/arith/region.h"
#include "ir/arith/testing.h"
#include "ir/arith/uses.h"

namespace tilewright::arith {
namespace {

using Tuple = std::vector<int64_t>;

Domain RandomDomain(Random* random, size_t most) {
  Domain domain;
  const char* names[] = {"i", "j", "k", "l"};
  size_t count = random->Int(1, static_cast<int64_t>(most));
  for (size_t d = 0; d < count; ++d) {
    int64_t min = random->OneIn(5) ? random->Int(-3, 5) : 0;
    domain.push_back({Var(names[d]), Range{Expr(min), Expr(random->Pick<int64_t>({1, 2, 3, 4, 6, 8, 12}))}});
  }
  return domain;
}

// Mostly fused and split loops, sometimes anything.
Expr RandomIndex(const Domain& domain, Random* random) {
  Expr e(0);
  int64_t scale = random->OneIn(3) ? random->Pick<int64_t>({2, 3, 4, 8}) : 1;
  for (size_t d = domain.size(); d-- > 0;) {
    if (random->OneIn(3)) continue;
    Expr loop = domain[d].first;
    if (random->OneIn(6)) loop = FloorDiv(loop, Expr(random->Pick<int64_t>({2, 3, 4})));
    if (random->OneIn(6)) loop = FloorMod(loop, Expr(random->Pick<int64_t>({2, 3, 4})));
    e = loop * Expr(scale) + e;
    scale = random->OneIn(8) ? random->Int(1, 6) : scale * *AsInt(domain[d].second.extent);
  }
  if (random->OneIn(4)) e = FloorDiv(e, Expr(random->Pick<int64_t>({2, 3, 4, 8})));
  if (random->OneIn(5)) e = FloorMod(e, Expr(random->Pick<int64_t>({2, 3, 4, 8})));
  if (random->OneIn(4)) e = e + Expr(random->Int(-4, 4));
  return e;
}

Expr RandomPredicate(const Domain& domain, Random* random) {
  if (!random->OneIn(3)) return {};
  Expr e = RandomIndex(domain, random);
  return random->OneIn(3) ? Expr(random->Int(0, 3)) <= e : e < Expr(random->Int(1, 40));
}

template <class Visit>
void ForEach(const Domain& domain, const Expr& predicate, const Visit& visit) {
  Assignment values;
  for (const auto& [var, range] : domain) values.emplace_back(var, *AsInt(range.min));
  while (true) {
    if (!predicate || *Evaluate(predicate, values) != 0) visit(values);
    size_t d = domain.size();
    while (d > 0 && ++values[d - 1].second == *AsInt(domain[d - 1].second.min) + *AsInt(domain[d - 1].second.extent)) {
      --d;
      values[d].second = *AsInt(domain[d].second.min);
    }
    if (d == 0) return;
  }
}

std::string Text(const std::vector<Expr>& exprs, const Domain& domain, const Expr& predicate, int64_t seed) {
  std::string text = "seed " + std::to_string(seed) + ":";
  for (const Expr& e : exprs) text += " " + ToText(e) + ";";
  for (const auto& [var, range] : domain) {
    text += " " + var.name() + " in [" + ToText(range.min) + "; " + ToText(range.extent) + "]";
  }
  return predicate ? text + " where " + ToText(predicate) : text;
}

int64_t Maps() { return FromEnvironment("TILEWRIGHT_ARITH_MAPS", 3000); }
int64_t FirstSeed() { return FromEnvironment("TILEWRIGHT_ARITH_SEED", 1); }

TEST(MapPropertyTest, RegionsBoundWhatIsTouched) {
  int64_t covered = 0, exact = 0;
  for (int64_t seed = FirstSeed(); seed < FirstSeed() + Maps(); ++seed) {
    Random random(seed);
    Domain domain = RandomDomain(&random, 3);
    Region region;
    std::vector<Expr> starts;
    for (int64_t d = random.Int(1, 2); d > 0; --d) {
      starts.push_back(RandomIndex(domain, &random));
      region.push_back({starts.back(), Expr(random.Pick<int64_t>({1, 1, 2, 4}))});
    }
    Expr predicate = RandomPredicate(domain, &random);
    std::set<Tuple> touched;
    ForEach(domain, predicate, [&](const Assignment& values) {
      Domain window;
      for (size_t d = 0; d < region.size(); ++d) {
        window.push_back({Var("w"), Range{Expr(*Evaluate(starts[d], values)), region[d].extent}});
      }
      ForEach(window, {}, [&](const Assignment& at) {
        Tuple element;
        for (const auto& [var, value] : at) element.push_back(value);
        touched.insert(element);
      });
    });
    if (touched.empty()) continue;
    Analyzer analyzer;
    std::string text = Text(starts, domain, predicate, seed);
    auto may = MayTouch(region, domain, predicate, &analyzer);
    ASSERT_TRUE(may) << text;
    for (const Tuple& element : touched) {
      for (size_t d = 0; d < element.size(); ++d) {
        int64_t min = *AsInt((*may)[d].min), extent = *AsInt((*may)[d].extent);
        ASSERT_TRUE(min <= element[d] && element[d] < min + extent) << text << " touches " << element[d];
      }
    }
    auto must = MustCover(region, domain, predicate, &analyzer);
    int64_t box = 1;
    for (const Range& range : *may) box *= *AsInt(range.extent);
    exact += box == static_cast<int64_t>(touched.size());
    if (!must) continue;
    covered += box == static_cast<int64_t>(touched.size());
    Domain elements;
    for (const Range& range : *must) elements.push_back({Var("e"), range});
    ForEach(elements, {}, [&](const Assignment& at) {
      Tuple element;
      for (const auto& [var, value] : at) element.push_back(value);
      EXPECT_TRUE(touched.count(element)) << text << ": " << element[0] << " is not covered";
    });
  }
  std::printf("%ld of %ld regions that are boxes are known to be covered\n", static_cast<long>(covered),
              static_cast<long>(exact));
}

TEST(MapPropertyTest, DivisionsAddUp) {
  int64_t divided = 0;
  for (int64_t seed = FirstSeed(); seed < FirstSeed() + Maps(); ++seed) {
    Random random(seed);
    Domain domain = RandomDomain(&random, 4);
    std::vector<Expr> indices;
    for (int64_t d = random.Int(1, 2); d > 0; --d) indices.push_back(RandomIndex(domain, &random));
    Expr predicate = RandomPredicate(domain, &random);
    size_t inner_count = random.Int(0, static_cast<int64_t>(domain.size()));
    Analyzer analyzer;
    auto division = SubspaceDivide(indices, domain, inner_count, predicate, &analyzer);
    if (!division) continue;
    ++divided;
    std::string text = Text(indices, domain, predicate, seed);
    for (size_t i = 0; i < indices.size(); ++i) {
      const DividedIndex& part = division->indices[i];
      auto uses = [&](const Expr& e, size_t first, size_t last) {
        return UsesVar(e, [&](const VarNode* var) {
          for (size_t d = first; d < last; ++d) {
            if (domain[d].first.get() == var) return true;
          }
          return false;
        });
      };
      EXPECT_FALSE(uses(part.outer, domain.size() - inner_count, domain.size())) << text << " " << ToText(part.outer);
      EXPECT_FALSE(uses(part.inner, 0, domain.size() - inner_count)) << text << " " << ToText(part.inner);
      ForEach(domain, predicate, [&](const Assignment& values) {
        int64_t outer = *Evaluate(part.outer, values), inner = *Evaluate(part.inner, values);
        ASSERT_EQ(outer * *AsInt(part.inner_extent) + inner, *Evaluate(indices[i], values)) << text;
      });
    }
    ForEach(domain, {}, [&](const Assignment& values) {
      bool both =
          *Evaluate(division->outer_predicate, values) != 0 && *Evaluate(division->inner_predicate, values) != 0;
      ASSERT_EQ(both, !predicate || *Evaluate(predicate, values) != 0) << text;
    });
  }
  EXPECT_GT(divided, Maps() / 20);
}

TEST(MapPropertyTest, SimplifiedIndicesKeepTheirValues) {
  for (int64_t seed = FirstSeed(); seed < FirstSeed() + Maps(); ++seed) {
    Random random(seed);
    Domain domain = RandomDomain(&random, 3);
    std::vector<Expr> indices = {RandomIndex(domain, &random), RandomIndex(domain, &random)};
    Expr predicate = RandomPredicate(domain, &random);
    Analyzer analyzer;
    std::vector<Expr> simplified = IterMapSimplify(indices, domain, predicate, &analyzer);
    ForEach(domain, predicate, [&](const Assignment& values) {
      for (size_t i = 0; i < indices.size(); ++i) {
        ASSERT_EQ(*Evaluate(simplified[i], values), *Evaluate(indices[i], values))
            << Text(indices, domain, predicate, seed) << " became " << ToText(simplified[i]);
      }
    });
  }
}

// A layout: splits and fusions of a shape, padded where they do not divide.
TEST(MapPropertyTest, PaddedInversesUndoLayouts) {
  int64_t inverted = 0;
  for (int64_t seed = FirstSeed(); seed < FirstSeed() + Maps(); ++seed) {
    Random random(seed);
    std::vector<Var> inputs;
    std::vector<Expr> shape, outputs;
    for (int64_t d = random.Int(1, 3); d > 0; --d) {
      Var var("x" + std::to_string(d));
      Expr extent(random.Int(1, 14));
      inputs.push_back(var);
      shape.push_back(extent);
      Expr index = var;
      if (random.OneIn(5)) index = index + Expr(random.Int(1, 4));
      if (random.OneIn(2)) {
        Expr factor(random.Pick<int64_t>({2, 3, 4, 8}));
        outputs.push_back(FloorDiv(index, factor));
        index = FloorMod(index, factor);
        if (random.OneIn(4)) {
          outputs.push_back(FloorDiv(index, Expr(2)));
          index = FloorMod(index, Expr(2));
        }
      }
      outputs.push_back(index);
    }
    for (size_t i = outputs.size(); i-- > 1;) std::swap(outputs[i], outputs[random.Int(0, static_cast<int64_t>(i))]);
    if (inputs.size() == 2 && random.OneIn(4)) outputs = {inputs[0] * shape[1] + inputs[1]};
    IndexMap map(inputs, outputs);
    Analyzer analyzer;
    auto result = PaddedInverseIndexMap(map, shape, &analyzer);
    Domain domain, results;
    for (size_t d = 0; d < inputs.size(); ++d) domain.push_back({inputs[d], Range{Expr(0), shape[d]}});
    std::string text = Text(outputs, domain, {}, seed);
    if (!result) continue;
    ++inverted;
    std::set<Tuple> reached;
    ForEach(domain, {}, [&](const Assignment& values) {
      Tuple tuple;
      Assignment at;
      for (size_t i = 0; i < outputs.size(); ++i) {
        tuple.push_back(*Evaluate(outputs[i], values));
        at.emplace_back(result->inverse->inputs[i], tuple.back());
      }
      reached.insert(tuple);
      for (size_t d = 0; d < inputs.size(); ++d) {
        ASSERT_EQ(*Evaluate(result->inverse->outputs[d], at), values[d].second) << text;
      }
    });
    for (size_t i = 0; i < outputs.size(); ++i) {
      results.push_back({result->inverse->inputs[i], Range{Expr(0), result->shape[i]}});
    }
    ForEach(results, {}, [&](const Assignment& at) {
      Tuple tuple;
      for (const auto& [var, value] : at) tuple.push_back(value);
      ASSERT_EQ(*Evaluate(result->padding, at) == 0, reached.count(tuple) != 0)
          << text << " padding " << ToText(result->padding);
    });
  }
  std::printf("%ld of %ld layouts inverted\n", static_cast<long>(inverted), static_cast<long>(Maps()));
  EXPECT_GT(inverted, Maps() * 9 / 10);
}

}  // namespace
}  // namespace tilewright::arith
