#include "autoschedule/sketch/cpu/block_sums_rule.h"

#include <gtest/gtest.h>

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

constexpr std::string_view kHalves = R"(    H = T.alloc_buffer(($0, 3))
    for i, b in T.grid($0, 3):
        with T.block("H"):
            vi, vb = T.axis.remap("SS", [i, b])
            H[vi, vb] = t_1[vi, vb] / T.float32(2)
)";

// Rows of three blocks of 32 bytes by weights of 4 bits, two in a byte, with a scale and a zero point for each block.
// `computed`: another block makes the scales of rows.
Function Nibbles(const std::string& rows, int columns, bool computed = false) {
  const std::string head = rows == "m" ? R"(
def main(a: T.handle, t: T.handle, u: T.handle, q: T.Buffer(($1, 3, 16), "uint8"), s: T.Buffer(($1, 3), "float32"), z: T.Buffer((3, $1), "uint8"), c: T.handle):
    T.func_attr({"tilewright.constant_params": [3, 4, 5], "tir.noalias": True})
    m = T.int32()
    A = T.match_buffer(a, (m, 3, 2, 16), "int8")
    t_1 = T.match_buffer(t, (m, 3))
    u_1 = T.match_buffer(u, (m, 3), "int32")
    C = T.match_buffer(c, (m, $1)))"
                                       : R"(
def main(A: T.Buffer(($0, 3, 2, 16), "int8"), t_1: T.Buffer(($0, 3), "float32"), u_1: T.Buffer(($0, 3), "int32"), q: T.Buffer(($1, 3, 16), "uint8"), s: T.Buffer(($1, 3), "float32"), z: T.Buffer((3, $1), "uint8"), C: T.Buffer(($0, $1), "float32")):
    T.func_attr({"tilewright.constant_params": [3, 4, 5], "tir.noalias": True}))";
  return ParseFunctionOrDie(
      absl::Substitute("@T.prim_func" + head + R"(
    W = T.alloc_buffer((3, 2, 16, $1), "uint8")
    S = T.alloc_buffer((3, $0, $1), "int32")
    P = T.alloc_buffer(($0, $1))
$3    for b, e, y, j in T.grid(3, 2, 16, $1):
        with T.block("W"):
            vb, ve, vy, vj = T.axis.remap("SSSS", [b, e, y, j])
            W[vb, ve, vy, vj] = q[vj, vb, vy] >> T.Cast("uint8", ve) * T.uint8(4) & T.uint8(15)
    for b, i, j, e, y in T.grid(3, $0, $1, 2, 16):
        with T.block("S"):
            vb, vi, vj, ve, vy = T.axis.remap("SSSRR", [b, i, j, e, y])
            with T.init():
                S[vb, vi, vj] = 0
            S[vb, vi, vj] = S[vb, vi, vj] + T.Cast("int32", A[vi, vb, ve, vy]) * T.Cast("int32", W[vb, ve, vy, vj])
    for i, j, b in T.grid($0, $1, 3):
        with T.block("P"):
            vi, vj, vb = T.axis.remap("SSR", [i, j, b])
            with T.init():
                P[vi, vj] = T.float32(0)
            P[vi, vj] = P[vi, vj] + T.Cast("float32", S[vb, vi, vj] - u_1[vi, vb] * T.Cast("int32", z[vb, vj])) * ($2[vi, vb] * s[vj, vb])
    for i, j in T.grid($0, $1):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.max(P[vi, vj], T.float32(-3))
)",
                       rows, columns, computed ? "H" : "t_1",
                       computed ? absl::Substitute(absl::string_view(kHalves.data(), kHalves.size()), rows) : ""));
}

// A row of bytes, which has no iterator, by whole bytes.
Function Row(int columns) {
  return ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((4, 16), "int8"), t: T.Buffer((4,), "float32"), q: T.Buffer(($0, 4, 16), "uint8"), s: T.Buffer(($0, 4), "float32"), C: T.Buffer(($0,), "float32")):
    T.func_attr({"tilewright.constant_params": [2, 3], "tir.noalias": True})
    S = T.alloc_buffer((4, $0), "int32")
    for b, j, y in T.grid(4, $0, 16):
        with T.block("S"):
            vb, vj, vy = T.axis.remap("SSR", [b, j, y])
            with T.init():
                S[vb, vj] = 0
            S[vb, vj] = S[vb, vj] + T.Cast("int32", A[vb, vy]) * T.Cast("int32", q[vj, vb, vy])
    for j, b in T.grid($0, 4):
        with T.block("C"):
            vj, vb = T.axis.remap("SR", [j, b])
            with T.init():
                C[vj] = T.float32(0)
            C[vj] = C[vj] + T.Cast("float32", S[vb, vj]) * (t[vb] * s[vj, vb])
)",
                                             columns));
}

void Fill(const Buffer& buffer, const NDArray& array) {
  FillIntegers(array, static_cast<uint64_t>(buffer->name[0]), buffer->dtype.is_float() ? 4 : 120);
  // What saturates where pairs of products are added in 16 bits, and sums of too many pairs.
  if (buffer->dtype == DataType::Int(8)) {
    for (int64_t i = 0; i < array.size(); ++i) {
      if (i % 100 < 80) array.SetInt(i, -128);
    }
  }
  if (buffer->dtype == DataType::UInt(8) && buffer->name == "q") {
    for (int64_t i = 0; i < array.size(); ++i) {
      if (i % 130 < 110) array.SetInt(i, 255);
    }
  }
}
std::string Wrong(const Function& program, const Module& scheduled) {
  return testing::WhatIsWrong(program, scheduled, Fill);
}

// The first refusal of a rule.
std::string Why(const AutoScheduled& made) { return made.refused.empty() ? "" : made.refused[0].ToString(); }

constexpr const char* kTargets[] = {"x86-znver4", "x86-haswell", "x86-sapphirerapids", "arm-neoverse-n1",
                                    "arm-neoverse-v1"};

TEST(BlockSumsRule, AnyNumberOfRowsReadsPackedWeights) {
  for (const char* name : kTargets) {
    for (const char* rows : {"1", "3", "33", "m"}) {
      for (const int columns : {64, 37, 192}) {
        const Function program = Nibbles(rows, columns);
        IntrinRegistry intrins = IntrinRegistry::Builtin();
        Choices choices = Choices::Preferred();
        const AutoScheduled made = AutoSchedule(Module(program), *NamedTarget(name), &intrins, choices);
        EXPECT_EQ(Chosen(choices, "S.sketch"), "block_sums")
            << name << " " << rows << " " << columns << " " << Why(made);
        EXPECT_EQ(Wrong(program, made.schedule.module()), "") << name << " " << rows << " " << columns;
      }
    }
  }
}

TEST(BlockSumsRule, SumsFollowWhatReadsOtherBlocks) {
  for (const char* name : kTargets) {
    for (const char* rows : {"1", "6", "33", "m"}) {
      const Function program = Nibbles(rows, 192, true);
      IntrinRegistry intrins = IntrinRegistry::Builtin();
      Choices choices = Choices::Preferred();
      const AutoScheduled made = AutoSchedule(Module(program), *NamedTarget(name), &intrins, choices);
      EXPECT_EQ(Chosen(choices, "S.sketch"), "block_sums") << name << " " << rows << " " << Why(made);
      EXPECT_EQ(Wrong(program, made.schedule.module()), "") << name << " " << rows;
    }
  }
}

TEST(BlockSumsRule, ProductsWithAVectorOfWholeBytes) {
  for (const char* name : kTargets) {
    for (const int columns : {64, 37}) {
      const Function program = Row(columns);
      IntrinRegistry intrins = IntrinRegistry::Builtin();
      Choices choices = Choices::Preferred();
      const AutoScheduled made = AutoSchedule(Module(program), *NamedTarget(name), &intrins, choices);
      EXPECT_EQ(Chosen(choices, "S.sketch"), "block_sums") << name << " " << columns << " " << Why(made);
      EXPECT_EQ(Wrong(program, made.schedule.module()), "") << name << " " << columns;
    }
  }
}

TEST(BlockSumsRule, AllTilesAreRight) {
  const Function program = Nibbles("m", 80);
  for (const char* name : {"x86-znver4", "x86-haswell"}) {
    for (uint64_t seed = 0; seed < 6; ++seed) {
      IntrinRegistry intrins = IntrinRegistry::Builtin();
      Choices choices = Choices::Drawn(seed);
      const AutoScheduled made = AutoSchedule(Module(program), *NamedTarget(name), &intrins, choices);
      EXPECT_EQ(Wrong(program, made.schedule.module()), "") << name << " " << seed;
    }
  }
}

}  // namespace
}  // namespace tilewright
