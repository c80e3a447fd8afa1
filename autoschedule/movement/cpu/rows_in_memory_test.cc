#include "autoschedule/movement/cpu/rows_in_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "ir/ops/conv.h"
#include "ir/ops/matmul.h"
#include "schedule/testing/equivalence.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;

const Target kAmx = *NamedTarget("x86-sapphirerapids");

const ops::OperandTypes kTypes = {DataType::BFloat16(), DataType::BFloat16(), DataType::Float(32)};

Function Convolution(int64_t size, int64_t channels, const ops::Window& window) {
  return ops::Conv(
      {.spatial = {size, size}, .in_channels = channels, .out_channels = 16, .windows = ops::Same(window, 2)}, kTypes);
}

// The plan of the program's contraction as the contraction rule begins it, then with its rows.
struct Planned {
  Schedule sch;
  ContractionPlan plan;
  std::vector<Choice> made;
};
std::optional<Planned> Plan(const Function& op, const std::string& place = "") {
  Schedule sch{Module(op)};
  for (const BlockRv block : BlocksInRoot(sch, op->name)) {
    const BlockRealizeNode& realize = RealizeOf(sch, block);
    const absl::StatusOr<Contraction> contraction = MatchContraction(realize);
    if (!contraction.ok()) continue;
    const auto instruction = FindTileInstruction(kAmx, contraction->row_operand->dtype,
                                                 contraction->column_operand->dtype, contraction->product_type);
    EXPECT_TRUE(instruction && instruction->amx());
    const ContractionPlan plan{*contraction,
                               *instruction,
                               {},
                               contraction->rows.back(),
                               contraction->columns.back(),
                               DepthIterator(*realize.block, *contraction)};
    std::vector<Choice> given;
    if (!place.empty()) given.push_back(Choice::Of(realize.block->name + ".rows", place));
    Choices choices = Choices::GivenOrPreferred(given);
    const Outcome<ContractionPlan> done = PlanRowsInMemory(sch, block, kAmx, choices, plan);
    EXPECT_TRUE(done.ok());
    return Planned{sch, *done, choices.made().ToVector()};
  }
  return std::nullopt;
}

// The program computes what it did, and the plan is one of the block as it is now.
void ExpectRight(const Function& op, const Planned& planned) {
  const Function after = planned.sch.module().Main();
  testing::ExpectEquivalent(op, after);
  EXPECT_EQ(VerifyProgram(after).diagnostics.size(), 0u) << Render(VerifyProgram(after), after);
  EXPECT_THAT(planned.plan.tiles, Not(IsEmpty()));
  EXPECT_EQ(planned.plan.row, planned.plan.contraction.rows.back());
}

TEST(RowsInMemory, WideRowsMayBeReadWhereTheyLie) {
  const Function op = Convolution(56, 64, {3, 1, 1});
  const auto planned = Plan(op, "in_place");
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->plan.row_place, RowPlace::kInPlace);
  EXPECT_THAT(planned->plan.tiles, Not(IsEmpty()));
  EXPECT_TRUE(planned->sch.module().Main().same_as(op));
  ASSERT_EQ(planned->made.size(), 1u);
  EXPECT_EQ(planned->made[0].label(), "in_place");
  EXPECT_THAT(planned->made[0].meanings, Contains(Field(&Choice::Meaning::label, "packed")));
}

TEST(RowsInMemory, ShortRowsOfAnImageArePackedAsOne) {
  const Function op = Convolution(5, 32, {3, 1, 1});
  auto planned = Plan(op, "packed");
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->plan.row_place, RowPlace::kPacked);
  ExpectRight(op, *planned);
  // Height and width are one iterator.
  const BlockRealizeNode& fused = RealizeOf(planned->sch, *planned->sch.GetBlock("conv2d_nhwc"));
  EXPECT_EQ(IteratorExtent(fused, planned->plan.row), 25);
  EXPECT_EQ(MatchContraction(fused)->rows, planned->plan.contraction.rows);
}

TEST(RowsInMemory, CopiesForWindowsAlongTheRow) {
  const Function op = Convolution(9, 32, {3, 2, 1});
  const auto planned = Plan(op, "windows");
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->plan.row_place, RowPlace::kWindows);
  EXPECT_TRUE(planned->plan.copies_images());
  EXPECT_NE(planned->plan.contraction.row_operand->name, "pad_temp");
  ExpectRight(op, *planned);
}

TEST(RowsInMemory, CopiesAtAPitch) {
  const Function op = Convolution(6, 32, {3, 1, 1});
  const auto planned = Plan(op, "pitched");
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->plan.row_place, RowPlace::kPitched);
  EXPECT_TRUE(planned->plan.write_back.has_value());
  EXPECT_THAT(planned->plan.last_inner, Not(IsEmpty()));
  ExpectRight(op, *planned);
}

// Rows that are two elements apart have no pitch: what there is not is not chosen.
TEST(RowsInMemory, WhatCannotBeIsNotAChoice) {
  const auto planned = Plan(Convolution(9, 32, {3, 2, 1}), "pitched");
  ASSERT_TRUE(planned);
  EXPECT_NE(planned->plan.row_place, RowPlace::kPitched);
  for (const Choice& choice : planned->made) {
    EXPECT_THAT(choice.meanings, Not(Contains(Field(&Choice::Meaning::label, "pitched"))));
  }
}

// A depth that is not whole steps cannot be read in place, and without windows there is nothing to copy.
TEST(RowsInMemory, OneWayIsNotAChoice) {
  const Function op = ops::Matmul(32, 16, 35, kTypes);
  const auto planned = Plan(op);
  ASSERT_TRUE(planned);
  EXPECT_EQ(planned->plan.row_place, RowPlace::kPacked);
  EXPECT_THAT(planned->made, IsEmpty());
  ExpectRight(op, *planned);
}

}  // namespace
}  // namespace tilewright
