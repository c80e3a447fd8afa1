#include "graph/executor/copy_parts.h"

#include <tuple>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/builder.h"
#include "ir/ops/movement.h"

namespace tilewright::graph {

bool operator==(const CopyPart& a, const CopyPart& b) {
  return std::tie(a.from, a.to, a.source, a.target, a.count) == std::tie(b.from, b.to, b.source, b.target, b.count);
}

namespace {

using testing::ElementsAre;
using testing::Optional;

const DataType kFloat = DataType::Float(32);

TEST(CopyParts, SlicesOfTheOutermostDimension) {
  FunctionBuilder f("slice");
  const Buffer x = f.Input("x", {Expr(1), Expr(6), Expr(16)}, kFloat);
  const Buffer out = ops::Slice(f, x, {{Expr(0), Expr(1)}, {Expr(2), Expr(3)}, {Expr(0), Expr(16)}});
  EXPECT_THAT(CopyPartsOf(f.Build({out})), Optional(ElementsAre(CopyPart{0, 1, 32, 0, 48})));
}

TEST(CopyParts, SlicesOfInnerDimensionsAreApart) {
  FunctionBuilder f("slice");
  const Buffer x = f.Input("x", {Expr(6), Expr(16)}, kFloat);
  EXPECT_EQ(CopyPartsOf(f.Build({ops::Slice(f, x, {{Expr(0), Expr(6)}, {Expr(0), Expr(8)}})})), std::nullopt);
  FunctionBuilder g("steps");
  const Buffer y = g.Input("y", {Expr(6), Expr(16)}, kFloat);
  EXPECT_EQ(CopyPartsOf(g.Build({ops::Slice(g, y, {{Expr(0), Expr(3), 2}, {Expr(0), Expr(16)}})})), std::nullopt);
  FunctionBuilder h("backwards");
  const Buffer z = h.Input("z", {Expr(6)}, kFloat);
  EXPECT_EQ(CopyPartsOf(h.Build({ops::Slice(h, z, {{Expr(5), Expr(6), -1}})})), std::nullopt);
}

TEST(CopyParts, ConcatenationAlongTheOutermostDimension) {
  FunctionBuilder f("concat");
  const Buffer x = f.Input("x", {Expr(4), Expr(8)}, kFloat), y = f.Input("y", {Expr(3), Expr(8)}, kFloat);
  const Buffer out = ops::Concat(f, {x, y, x}, 0);
  EXPECT_THAT(CopyPartsOf(f.Build({out})),
              Optional(ElementsAre(CopyPart{0, 2, 0, 0, 32}, CopyPart{1, 2, 0, 32, 24}, CopyPart{0, 2, 0, 56, 32})));
}

TEST(CopyParts, ConcatenationAlongAnInnerDimensionIsWork) {
  FunctionBuilder f("concat");
  const Buffer x = f.Input("x", {Expr(4), Expr(8)}, kFloat), y = f.Input("y", {Expr(4), Expr(8)}, kFloat);
  EXPECT_EQ(CopyPartsOf(f.Build({ops::Concat(f, {x, y}, 1)})), std::nullopt);
}

TEST(CopyParts, TransposesThatMoveNothingCopy) {
  FunctionBuilder f("transpose");
  const Buffer x = f.Input("x", {Expr(1), Expr(4), Expr(8)}, kFloat);
  EXPECT_THAT(CopyPartsOf(f.Build({ops::Transpose(f, x, {1, 0, 2})})), Optional(ElementsAre(CopyPart{0, 1, 0, 0, 32})));
  FunctionBuilder g("transpose");
  const Buffer y = g.Input("y", {Expr(4), Expr(8)}, kFloat);
  EXPECT_EQ(CopyPartsOf(g.Build({ops::Transpose(g, y, {1, 0})})), std::nullopt);
}

TEST(CopyParts, WhatComputesOrRepeatsIsNoCopy) {
  FunctionBuilder f("double");
  const Buffer x = f.Input("x", {Expr(8)}, kFloat);
  EXPECT_EQ(
      CopyPartsOf(f.Build({f.Compute("y", {Expr(8)}, [&](const std::vector<Var>& v) { return x(v[0]) + x(v[0]); })})),
      std::nullopt);
  FunctionBuilder g("repeat");
  const Buffer y = g.Input("y", {Expr(8)}, kFloat);
  EXPECT_EQ(CopyPartsOf(g.Build({ops::Tile(g, y, {Expr(2)})})), std::nullopt);
  FunctionBuilder h("broadcast");
  const Buffer z = h.Input("z", {Expr(1)}, kFloat);
  EXPECT_EQ(CopyPartsOf(h.Build({h.Compute("y", {Expr(8)}, [&](const std::vector<Var>&) { return z(Expr(0)); })})),
            std::nullopt);
}

}  // namespace
}  // namespace tilewright::graph
