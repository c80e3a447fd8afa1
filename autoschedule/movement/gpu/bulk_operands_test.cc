#include "autoschedule/movement/gpu/bulk_operands.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "autoschedule/program/block_loops.h"
#include "ir/script/parse_or_die.h"
#include "target/target.h"

namespace tilewright {
namespace {

const Target kSm90 = *NamedTarget("cuda-sm90a");

// A copy of X, of 2-byte elements, into P[rows, columns]; K is the last iterator, or the one before it.
BulkCopy CopyOf(const std::string& shape, const std::string& element, int64_t rows, int64_t columns,
                bool depth_is_last = true) {
  const std::string extents = std::to_string(rows) + ", " + std::to_string(columns);
  const Module module(ParseFunctionOrDie(R"(
@T.prim_func
def main(X: T.Buffer()" + shape + R"(, "float16"), P: T.Buffer(()" +
                                         extents + R"(), "float16")):
    for m, k in T.grid()" + extents + R"():
        with T.block("P"):
            vm, vk = T.axis.remap("SS", [m, k])
            P[vm, vk] = )" + element + "\n"));
  Schedule sch(module);
  const Block block = RealizeOf(sch, *sch.GetBlock("P")).block;
  return BulkCopyOf({.block = block.get(),
                     .depth_is_last = depth_is_last,
                     .depth = 64,
                     .sides = {64, 128},
                     .gpu = &kSm90.gpu_part()});
}

TEST(BulkCopyOf, RowsOfAnArrayAreBoxes) {
  EXPECT_EQ(CopyOf("(512, 256)", "X[vm, vk]", 512, 256), BulkCopy::kBoxes);
  // With K along rows: the iterator before the last one is K.
  EXPECT_EQ(CopyOf("(256, 512)", "X[vm, vk]", 256, 512, /*depth_is_last=*/false), BulkCopy::kBoxes);
  // Padding of the copy: boxes end at the array.
  EXPECT_EQ(CopyOf("(500, 256)", "T.if_then_else(vm < 500, X[vm, vk], T.float16(0))", 512, 256), BulkCopy::kBoxes);
  EXPECT_EQ(CopyOf("(3, 512, 256)", "X[1, vm, vk]", 512, 256), BulkCopy::kBoxes);
}

TEST(BulkCopyOf, WhatTheEngineCannotRead) {
  // The last dimension is not K's.
  EXPECT_EQ(CopyOf("(256, 512)", "X[vk, vm]", 512, 256), BulkCopy::kNone);
  // Rows of 500 bytes: no multiple of 16.
  EXPECT_EQ(CopyOf("(512, 250)", "X[vm, vk]", 512, 250), BulkCopy::kNone);
  // Each second element, two dimensions by one iterator, an array of one dimension, more dimensions than maps have.
  EXPECT_EQ(CopyOf("(512, 512)", "X[vm, vk * 2]", 512, 256), BulkCopy::kNone);
  EXPECT_EQ(CopyOf("(512, 512, 256)", "X[vm, vm, vk]", 512, 256), BulkCopy::kNone);
  EXPECT_EQ(CopyOf("(131072,)", "X[vm * 256 + vk]", 512, 256), BulkCopy::kNone);
  EXPECT_EQ(CopyOf("(1, 1, 1, 1, 512, 256)", "X[0, 0, 0, 0, vm, vk]", 512, 256), BulkCopy::kNone);
  // What is computed, not copied.
  EXPECT_EQ(CopyOf("(512, 256)", "X[vm, vk] + T.float16(1)", 512, 256), BulkCopy::kNone);
}

// A 3 x 3 window over an image of 64 channels: 9 steps of K, one for each element of the window.
TEST(BulkCopyOf, WindowsOfImagesArePixels) {
  const std::string pixels = "X[vm // 196, vm % 196 // 14 + vk // 192, vm % 14 + vk % 192 // 64, vk % 64]";
  EXPECT_EQ(CopyOf("(2, 16, 16, 64)", pixels, 392, 576), BulkCopy::kPixels);
  // 32 channels: a step of 64 is of two elements of the window.
  EXPECT_EQ(
      CopyOf("(2, 16, 16, 32)", "X[vm // 196, vm % 196 // 14 + vk // 96, vm % 14 + vk % 96 // 32, vk % 32]", 392, 288),
      BulkCopy::kNone);
}

}  // namespace
}  // namespace tilewright
