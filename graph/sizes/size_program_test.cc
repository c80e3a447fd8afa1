#include "graph/sizes/size_program.h"

#include <random>

#include "graph/ir/symbols.h"
#include "graph/memory/check_placement.h"
#include "graph/memory/memory_plan.h"
#include "graph/sizes/sized_arena.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

const Symbol n("n", DataType::Int(64)), m("m", DataType::Int(64)), other("other", DataType::Int(64));

// The values of extents and sizes, as a library computes them.
SymbolValues ValuesOf(const SizeProgram& sizes, const std::vector<int64_t>& extents) {
  SymbolValues values;
  for (size_t i = 0; i < extents.size(); ++i) values.Set(sizes.extents()[i], extents[i]);
  for (const SizedSequence::Size& size : sizes.sizes()) {
    const auto value = values.Evaluate(size.value);
    EXPECT_TRUE(value.ok()) << value.status();
    values.Set(size.var, value.value_or(0));
  }
  return values;
}

TEST(SizeProgram, NumbersAreComputedOnce) {
  SizeProgram sizes;
  sizes.AddInput({n, Extent(64), m});
  sizes.AddInput({n});
  ASSERT_EQ(sizes.extents().size(), 2u);
  EXPECT_EQ(AsInt(*sizes.Number(n - n + 7)), 7);
  EXPECT_EQ(sizes.Number(n)->get(), sizes.extents()[0].get());
  EXPECT_EQ(sizes.Number(Select(n == Extent(1), Extent(1), n))->get(), sizes.extents()[0].get());
  EXPECT_NE(sizes.Number(Select(n == Extent(1), Extent(2), n))->get(), sizes.extents()[0].get());
  const size_t before = sizes.sizes().size();
  const auto product = sizes.Number(n * m), again = sizes.Number(n * m);
  ASSERT_TRUE(product.ok() && again.ok());
  EXPECT_EQ(product->get(), again->get());
  EXPECT_EQ(sizes.sizes().size(), before + 1);
  EXPECT_EQ(*ValuesOf(sizes, {3, 5}).Evaluate(*product), 15);
  EXPECT_EQ(sizes.Number(other + 1).status().message(),
            "the extent other is that of no input; a library finds its extents in the shapes of its inputs");
}

TEST(SizeProgram, WhatIsProvenIsNotChecked) {
  SizeProgram sizes;
  sizes.AddInput({n});
  EXPECT_EQ(sizes.Require(n + 1 > Extent(0)), absl::OkStatus());
  EXPECT_TRUE(sizes.checks().empty());
  EXPECT_EQ(sizes.Require(n >= Extent(4)), absl::OkStatus());
  EXPECT_EQ(sizes.Require(n >= Extent(2), "value y"), absl::OkStatus());
  ASSERT_EQ(sizes.checks().size(), 1u);
  EXPECT_EQ(sizes.checks()[0].sentence, "the model needs n >= 4, but ");
  ASSERT_EQ(sizes.checks()[0].named.size(), 1u);
  EXPECT_EQ(sizes.checks()[0].named[0].first, "n");
  EXPECT_EQ(sizes.Require(Extent(1) == Extent(2)).code(), absl::StatusCode::kInvalidArgument);
}

TEST(SizeProgram, RoundsAsThePlanOfMemoryDoes) {
  SizeProgram sizes;
  sizes.AddInput({n});
  const Expr rounded = RoundedSize(sizes, sizes.extents()[0]);
  for (const int64_t bytes : {0, 1, 63, 64, 65, 4032, 4033, 4095, 4096, 4097, 8192, 8193, 1 << 20}) {
    EXPECT_EQ(*ValuesOf(sizes, {bytes}).Evaluate(rounded), RoundedBytes(bytes)) << bytes;
    EXPECT_EQ(AsInt(RoundedSize(sizes, Extent(bytes))), RoundedBytes(bytes));
  }
}

TEST(SizedArena, PlacesAreSoundForAllExtents) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20; ++round) {
    SizeProgram sizes;
    sizes.AddInput({n, m});
    std::vector<SizedTenant> tenants;
    for (int i = 0; i < 30; ++i) {
      const auto factor = static_cast<int64_t>(random() % 100);
      const Expr bytes[] = {Extent(factor), n * factor, n * m * factor, n * m * m};
      const int first = static_cast<int>(random() % 20);
      tenants.push_back({*sizes.Number(bytes[random() % 4]), first, first + static_cast<int>(random() % 5)});
    }
    const auto arena = PlaceForAllSizes(tenants, sizes);
    ASSERT_TRUE(arena.ok()) << arena.status();
    for (const std::vector<int64_t>& extents : {std::vector<int64_t>{1, 16}, {1, 128}, {8, 25}, {0, 3}, {1000, 1}}) {
      const SymbolValues values = ValuesOf(sizes, extents);
      std::vector<Tenant> numbers;
      std::vector<int64_t> offsets;
      for (size_t i = 0; i < tenants.size(); ++i) {
        numbers.push_back({*values.Evaluate(tenants[i].bytes), tenants[i].first, tenants[i].last});
        offsets.push_back(*values.Evaluate(arena->offsets[i]));
      }
      const int64_t bytes = *values.Evaluate(arena->bytes);
      EXPECT_EQ(CheckPlacement(numbers, offsets, bytes), absl::OkStatus());
      EXPECT_LE(bytes, 2 * PlanMemory(numbers).bytes + 4096);
    }
  }
}

}  // namespace
}  // namespace tilewright::graph
