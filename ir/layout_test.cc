#include "ir/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/arith/exact.h"
#include "ir/named_layouts.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using Indices = std::vector<int64_t>;

const DataType kInt = DataType::Int(32);

void ForEach(const Indices& shape, const std::function<void(const Indices&)>& visit) {
  Indices indices(shape.size());
  const int64_t elements = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies());
  for (int64_t i = 0; i < elements; ++i) {
    int64_t rest = i;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) indices[d] = rest % shape[d];
    visit(indices);
  }
}

int64_t Value(const Expr& e) {
  if (const auto* call = dyn_cast<CallNode>(e)) return Value(call->args[0]) ^ Value(call->args[1]);
  if (const auto* op = dyn_cast<BinaryNode>(e)) return *arith::EvaluateExactly(op->op, Value(op->a), Value(op->b));
  return *AsInt(e);
}

// The map's results, computed from its expressions.
Indices Results(const IndexMap& map, const Indices& indices) {
  VarMap values;
  for (size_t i = 0; i < indices.size(); ++i) values[map->inputs[i]] = Const(kInt, indices[i]);
  Indices results;
  for (const Expr& result : map->outputs) results.push_back(Value(Substitute(result, values)));
  return results;
}

Expr Xor(const Expr& a, const Expr& b) { return Call(kInt, "bitwise_xor", {a, b}); }

struct RandomMap {
  IndexMap map;
  Indices shape;
};
// Digits of random extents, dealt to random places in random order, some with others of the same extent on them.
RandomMap Random(std::mt19937& random) {
  const auto draw = [&](size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); };
  const size_t count = 1 + draw(6), indices = 1 + draw(3), places = 1 + draw(3);
  RandomMap result;
  result.shape.assign(indices, 1);
  std::vector<Var> inputs;
  for (size_t i = 0; i < indices; ++i) inputs.emplace_back(absl::StrCat("i", i), kInt);
  struct Digit {
    size_t index;
    int64_t divisor, extent;
  };
  std::vector<Digit> digits;
  for (size_t i = 0; i < count; ++i) {
    const size_t index = draw(indices);
    const int64_t extent = Indices{2, 2, 3, 4, 5}[draw(5)];
    digits.push_back({index, result.shape[index], extent});
    result.shape[index] *= extent;
  }
  const auto text = [&](const Digit& digit) {
    return FloorMod(FloorDiv(inputs[digit.index], Const(kInt, digit.divisor)), Const(kInt, digit.extent));
  };
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, random);
  std::vector<Expr> outputs(places, Const(kInt, 0));
  Indices strides(places, 1);
  for (const size_t i : order) {
    Expr value = text(digits[i]);
    for (size_t other = 0; other < i; ++other) {
      const bool bits = digits[i].extent == 2 || digits[i].extent == 4;
      if (bits && digits[other].extent == digits[i].extent && draw(3) == 0) value = Xor(value, text(digits[other]));
    }
    const size_t place = draw(places);
    outputs[place] = outputs[place] + value * Const(kInt, strides[place]);
    strides[place] *= digits[i].extent;
  }
  result.map = IndexMap(inputs, outputs);
  return result;
}

TileLayout Identity(const Indices& shape) {
  std::vector<Var> inputs;
  for (size_t i = 0; i < shape.size(); ++i) inputs.emplace_back("i", kInt);
  return *TileLayout::Of(IndexMap(inputs, {inputs.begin(), inputs.end()}), shape);
}

class RandomLayouts : public ::testing::TestWithParam<int> {
 protected:
  std::mt19937 random_{static_cast<unsigned>(GetParam())};
};

TEST_P(RandomLayouts, AreTheMapsTheyWereMadeOf) {
  const RandomMap random = Random(random_);
  const auto layout = TileLayout::Of(random.map, random.shape);
  ASSERT_TRUE(layout.ok()) << layout.status();
  std::vector<Expr> inputs(random.map->inputs.begin(), random.map->inputs.end());
  const IndexMap written(random.map->inputs, layout->Apply(inputs));
  ForEach(random.shape, [&](const Indices& indices) {
    EXPECT_EQ(layout->At(indices), Results(random.map, indices));
    EXPECT_EQ(layout->At(indices), Results(written, indices));
  });
  const auto again = TileLayout::Of(written, random.shape);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, *layout);
}

TEST_P(RandomLayouts, ComposedWithTheirInverseAreTheIdentity) {
  const RandomMap random = Random(random_);
  const TileLayout layout = *TileLayout::Of(random.map, random.shape), inverse = layout.Inverse();
  EXPECT_EQ(*layout.Compose(inverse), Identity(layout.shape()));
  EXPECT_EQ(*inverse.Compose(layout), Identity(layout.places()));
  EXPECT_EQ(inverse.Inverse(), layout);
  ForEach(layout.shape(), [&](const Indices& indices) { EXPECT_EQ(inverse.At(layout.At(indices)), indices); });
}

TEST_P(RandomLayouts, ComposeAsFunctionsDo) {
  const RandomMap first_map = Random(random_);
  const TileLayout first = *TileLayout::Of(first_map.map, first_map.shape);
  // Another order of the digits that the first one has.
  const TileLayout then = first.Inverse();
  const auto both = first.Compose(then);
  ASSERT_TRUE(both.ok()) << both.status();
  const auto thrice = both->Compose(first);
  ASSERT_TRUE(thrice.ok()) << thrice.status();
  EXPECT_EQ(*thrice, first);
}

TEST_P(RandomLayouts, DividedAndComposedAreWhatTheyWere) {
  const RandomMap random = Random(random_);
  const TileLayout layout = *TileLayout::Of(random.map, random.shape);
  Indices tile;
  for (const int64_t extent : layout.shape()) {
    int64_t side = 1 + static_cast<int64_t>(random_() % static_cast<unsigned>(extent));
    while (extent % side != 0) --side;
    tile.push_back(side);
  }
  const TileLayout tiles = *TileLayout::Tiles(layout.shape(), tile);
  const auto divided = layout.Divide(tile);
  if (!divided.ok()) return;  // a side of 3 of an extent of 12 whose digits are 4 and 3
  EXPECT_EQ(*tiles.Compose(*divided), layout);
  ForEach(layout.shape(),
          [&](const Indices& indices) { EXPECT_EQ(divided->At(tiles.At(indices)), layout.At(indices)); });
}

TEST_P(RandomLayouts, RepeatBesideThemselves) {
  const RandomMap random = Random(random_);
  const TileLayout layout = *TileLayout::Of(random.map, random.shape);
  const size_t index = random_() % layout.shape().size(), place = random_() % layout.places().size();
  const TileLayout repeated = layout.Repeat(index, 3, place);
  EXPECT_EQ(repeated.shape()[index], 3 * layout.shape()[index]);
  ForEach(repeated.shape(), [&](const Indices& indices) {
    Indices in_tile = indices;
    in_tile[index] %= layout.shape()[index];
    Indices expected = layout.At(in_tile);
    expected[place] += indices[index] / layout.shape()[index] * layout.places()[place];
    EXPECT_EQ(repeated.At(indices), expected);
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLayouts, ::testing::Range(0, 100));

class Written : public ::testing::Test {
 protected:
  absl::StatusOr<TileLayout> Of(std::vector<Expr> outputs, Indices shape) const {
    return TileLayout::Of(IndexMap({i_, j_}, std::move(outputs)), std::move(shape), 1);
  }
  static Expr Div(const Expr& e, int64_t by) { return FloorDiv(e, Const(kInt, by)); }
  static Expr Mod(const Expr& e, int64_t by) { return FloorMod(e, Const(kInt, by)); }
  static Expr Times(const Expr& e, int64_t by) { return e * Const(kInt, by); }
  const Var i_{"i", kInt}, j_{"j", kInt};
};

TEST_F(Written, LanesOwnSumsOfAWarp) {
  const TileLayout sums = *Of({Times(Mod(i_, 8), 4) + Div(j_, 2), Times(Div(i_, 8), 2) + Mod(j_, 2)}, {16, 8});
  EXPECT_EQ(sums.owners(), 1);
  EXPECT_THAT(sums.places(), ElementsAre(32, 4));
  EXPECT_THAT(sums.At({9, 3}), ElementsAre(5, 3));
  EXPECT_THAT(sums.Inverse().At({5, 3}), ElementsAre(9, 3));
  EXPECT_THAT(sums.Repeat(1, 2, 1).At({9, 11}), ElementsAre(5, 7));
}

TEST_F(Written, DifferentTextsAreOneValue) {
  const auto a = Of({Div(Mod(i_, 8), 4) + Times(Div(i_, 8), 2), Mod(i_, 4) + Times(j_, 4)}, {16, 3});
  const auto b = Of({Mod(Div(i_, 4), 2) + Times(Div(Div(i_, 4), 2), 2), Mod(Times(j_, 4) + Mod(i_, 4), 12)}, {16, 3});
  ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
  EXPECT_EQ(*a, *b);
  EXPECT_THAT(a->digits(), testing::SizeIs(3));
}

TEST_F(Written, WhatIsNotABijectionIsRefused) {
  EXPECT_FALSE(Of({i_, i_}, {4, 4}).ok());
  EXPECT_FALSE(Of({i_ + j_}, {4, 4}).ok());
  EXPECT_FALSE(Of({Times(i_, 8) + j_}, {4, 4}).ok());  // places between are empty
  EXPECT_FALSE(Of({Times(Div(i_, 2), 2), j_}, {4, 4}).ok());
  EXPECT_FALSE(Of({Div(i_, 2), j_}, {4, 4}).ok());
  EXPECT_FALSE(Of({Div(i_, 3), Mod(i_, 3), j_}, {4, 4}).ok());  // 3 does not divide 4
  EXPECT_FALSE(Of({Xor(i_, j_), Xor(i_, j_)}, {4, 4}).ok());
  EXPECT_FALSE(Of({Xor(i_, j_), j_}, {3, 3}).ok());
  EXPECT_FALSE(Of({i_ + Const(kInt, 1), j_}, {4, 4}).ok());
  EXPECT_FALSE(Of({Min(i_, j_), j_}, {4, 4}).ok());
  EXPECT_FALSE(Of({Var("k", kInt), j_}, {4, 4}).ok());
  EXPECT_TRUE(Of({Xor(i_, j_), j_}, {4, 4}).ok());
}

TEST_F(Written, OtherPlacesDoNotCompose) {
  const TileLayout twelve = Identity({12}), eight = Identity({8});
  EXPECT_FALSE(twelve.Compose(eight).ok());
  EXPECT_FALSE(TileLayout::Tiles({12}, {5}).ok());
  // Thirds of what the first one took in quarters.
  const TileLayout thirds = *TileLayout::Tiles({12}, {4}), quarters = *TileLayout::Tiles({12}, {3});
  EXPECT_FALSE(thirds.Inverse().Compose(quarters).ok());
}

TEST(Swizzles, AreTheirOwnInverse) {
  for (const int64_t span : {32, 64, 128}) {
    const auto named = LayoutNamed(SwizzleNamed(span), {Expr(16), Expr(static_cast<int>(span))}, DataType::UInt(8));
    ASSERT_TRUE(named.ok()) << named.status();
    const auto layout = TileLayout::Of(named->map, {16, span});
    ASSERT_TRUE(layout.ok()) << layout.status();
    const TileLayout inverse = layout->Inverse();
    ForEach({16, span}, [&](const Indices& indices) {
      const Indices place = layout->At(indices), back = inverse.At({0, indices[0], indices[1]});
      EXPECT_EQ(place, (Indices{0, back[0], back[1]}));
      // Chunks of 16 bytes trade places, by what 128 bytes they lie in.
      const int64_t byte = indices[0] * span + indices[1];
      EXPECT_EQ(place[1] * span + place[2], byte ^ ((byte / 128 % (span / 16)) * 16));
    });
  }
}

}  // namespace
}  // namespace tilewright
