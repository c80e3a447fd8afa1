#include "autoschedule/sketch/cpu/packed_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/substitute.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "autoschedule/sketch/cpu/packed_testing.h"
#include "codegen/testing/equivalence.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using testing::Chosen;
using testing::kSymbolicRows;

// Rows times weights of 4 bits, two in a byte, with scales and zero points for blocks of 16.
Function Nibbles(const std::string& rows, int depth, int columns) {
  const std::string head = rows == "m" ? R"(
def main(a: T.handle, q: T.Buffer(($2, $3), "uint8"), s: T.Buffer(($2, $4), "float32"), z: T.Buffer(($2, $4), "uint8"), c: T.handle):
    T.func_attr({"tilewright.constant_params": [1, 2, 3], "tir.noalias": True})
    m = T.int32()
    A = T.match_buffer(a, (m, $1))
    C = T.match_buffer(c, (m, $2)))"
                                       : R"(
def main(A: T.Buffer(($0, $1), "float32"), q: T.Buffer(($2, $3), "uint8"), s: T.Buffer(($2, $4), "float32"), z: T.Buffer(($2, $4), "uint8"), C: T.Buffer(($0, $2), "float32")):
    T.func_attr({"tilewright.constant_params": [1, 2, 3], "tir.noalias": True}))";
  return ParseFunctionOrDie(absl::Substitute("@T.prim_func" + head + R"(
    W = T.alloc_buffer(($1, $2))
    P = T.alloc_buffer(($0, $2))
    for k, j in T.grid($1, $2):
        with T.block("W"):
            vk, vj = T.axis.remap("SS", [k, j])
            W[vk, vj] = (T.Cast("float32", T.Cast("int32", q[vj, vk // 2]) >> vk % 2 * 4 & 15) -
                         T.Cast("float32", T.Cast("int32", z[vj, vk // 16]) & 15)) * s[vj, vk // 16]
    for i, j, k in T.grid($0, $2, $1):
        with T.block("P"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                P[vi, vj] = T.float32(0)
            P[vi, vj] = P[vi, vj] + A[vi, vk] * W[vk, vj]
    for i, j in T.grid($0, $2):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.max(P[vi, vj], T.float32(-3))
)",
                                             rows, depth, columns, depth / 2, (depth + 15) / 16));
}

// One of such rows, which has no iterator.
Function Row(int depth, int columns) {
  return ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer(($0,), "float32"), q: T.Buffer(($1, $2), "uint8"), s: T.Buffer(($1, $3), "float32"), C: T.Buffer((1, $1), "float32")):
    T.func_attr({"tilewright.constant_params": [1, 2], "tir.noalias": True})
    W = T.alloc_buffer(($0, $1))
    for k, j in T.grid($0, $1):
        with T.block("W"):
            vk, vj = T.axis.remap("SS", [k, j])
            W[vk, vj] = (T.Cast("float32", T.Cast("int32", q[vj, vk // 2]) >> vk % 2 * 4 & 15) -
                         T.float32(8)) * s[vj, vk // 16]
    for j, k in T.grid($1, $0):
        with T.block("P"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                C[0, vj] = T.float32(0)
            C[0, vj] = C[0, vj] + A[vk] * W[vk, vj]
)",
                                             depth, columns, depth / 2, depth / 16));
}

void Fill(const Buffer& buffer, const NDArray& array) { FillIntegers(array, buffer->name[0], 60); }
std::string Wrong(const Function& program, const Module& scheduled) {
  return testing::WhatIsWrong(program, scheduled, Fill);
}

// The largest parameter or buffer in memory of the scheduled function, in bytes.
int64_t LargestBuffer(const Module& module) {
  int64_t largest = 0;
  const auto meet = [&](const Buffer& buffer) {
    if (buffer->scope.kind() != MemoryKind::kGlobal) return;
    int64_t bytes = buffer->dtype.bytes();
    for (const Expr& extent : buffer->shape) bytes *= AsInt(extent).value_or(1);
    largest = std::max(largest, bytes);
  };
  const Function main = module.Find("main");
  for (const Param& param : main->params) meet(param.buffer);
  for (const Buffer& buffer : cast<BlockRealizeNode>(main->body)->block->alloc_buffers) meet(buffer);
  return largest;
}

TEST(PackedRule, FewRowsReadPackedConstants) {
  for (const char* name : {"x86-znver4", "x86-haswell"}) {
    const Target target = *NamedTarget(name);
    // As many rows as a tile has, or as registers hold sums of beside a vector of weights.
    const std::string most = std::to_string(std::min(16, target.cpu_part().vector_registers - 3));
    for (const std::string& rows : {std::string("1"), std::string("2"), std::string("3"), most}) {
      for (const int columns : {64, 37, 3, 129}) {
        const Function program = Nibbles(rows, 32, columns);
        IntrinRegistry intrins = IntrinRegistry::Builtin();
        Choices choices = Choices::Preferred();
        const AutoScheduled made = AutoSchedule(Module(program), target, &intrins, choices);
        EXPECT_EQ(Chosen(choices, "P.sketch"), "packed") << name << " " << rows << " " << columns;
        EXPECT_EQ(Wrong(program, made.schedule.module()), "");
        const int64_t results = std::stoi(rows) * 64 * 4;
        if (columns == 64) EXPECT_EQ(LargestBuffer(made.schedule.module()), std::max<int64_t>(results, 32 * 64 / 2));
      }
    }
  }
}

// A row multiplies the sums of blocks by their scales, where tiles divide the columns.
TEST(PackedRule, OneRowScalesSums) {
  struct {
    const char* target;
    int columns;
    const char* scaled;
  } const kCases[] = {{"x86-znver4", 64, "sums"}, {"x86-haswell", 64, "sums"}, {"x86-haswell", 37, ""}};
  for (const auto& one : kCases) {
    const Function program = Row(64, one.columns);
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    for (const char* scaled : {"weights", "sums"}) {
      Choices choices = Choices::GivenOrPreferred({Choice::Of("P.scaled", scaled)});
      const AutoScheduled made = AutoSchedule(Module(program), *NamedTarget(one.target), &intrins, choices);
      EXPECT_EQ(Chosen(choices, "P.scaled"), *one.scaled == 0 ? "" : scaled);
      EXPECT_EQ(Wrong(program, made.schedule.module()), "") << scaled;
    }
    // The same where the row has an iterator.
    for (const Function& row : {program, Nibbles("1", 64, one.columns)}) {
      Choices choices = Choices::Preferred();
      const AutoScheduled made = AutoSchedule(Module(row), *NamedTarget(one.target), &intrins, choices);
      EXPECT_EQ(Chosen(choices, "P.scaled"), one.scaled);
      EXPECT_EQ(Wrong(row, made.schedule.module()), "");
    }
  }
}

// What registers do not hold the sums of is multiplied by panels that are unpacked one at a time.
TEST(PackedRule, ManyAndSymbolicRowsUnpackPanels) {
  for (const char* name : {"x86-znver4", "x86-haswell"}) {
    const Target target = *NamedTarget(name);
    for (const char* rows : {"33", "m"}) {
      for (const int columns : {192, 37}) {
        const Function program = Nibbles(rows, 32, columns);
        IntrinRegistry intrins = IntrinRegistry::Builtin();
        Choices choices = Choices::Preferred();
        const AutoScheduled made = AutoSchedule(Module(program), target, &intrins, choices);
        EXPECT_EQ(Chosen(choices, "P.sketch"), "contraction");
        EXPECT_EQ(Chosen(choices, "P.columns_stored"), "packed");
        EXPECT_EQ(Wrong(program, made.schedule.module()), "");
      }
    }
  }
}

// Blocks that do not divide the depth would be panels of a scale for each weight.
TEST(PackedRule, PanelsThatAreNoSmallerAreNotMade) {
  const Function program = Nibbles("1", 36, 64);
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Choices choices = Choices::Preferred();
  const AutoScheduled made = AutoSchedule(Module(program), *NamedTarget("x86-znver4"), &intrins, choices);
  EXPECT_NE(Chosen(choices, "P.sketch"), "packed");
  EXPECT_EQ(Wrong(program, made.schedule.module()), "");
}

}  // namespace
}  // namespace tilewright
