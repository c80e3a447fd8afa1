#include "autoschedule/normalize/flip_rows.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "autoschedule/program/block_loops.h"
#include "ir/script/parse_or_die.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

// Bytes of A times constant bytes of B.
constexpr char kProduct[] = R"(
@T.prim_func
def main(A: T.Buffer((32, 64), "int8"), B: T.Buffer((64, 48), "int8"), C: T.Buffer((32, 48), "int32")):
    T.func_attr({"tilewright.constant_params": [1]})
    for i, j, k in T.grid(32, 48, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
)";

// The type of the rows that the contraction reads afterwards, or "" where nothing was flipped.
std::string Flipped(const std::string& text, const char* target) {
  const Module module(ParseFunctionOrDie(text));
  Schedule sch(module);
  const BlockRv block = *sch.GetBlock("C");
  if (!FlipRows(sch, block, *NamedTarget(target))) return "";
  testing::ExpectEquivalent(module.Main(), sch.module().Main());
  const auto& reads = RealizeOf(sch, block).block->reads;
  for (const BufferRegion& read : reads) {
    if (read.buffer->name != "B") return read.buffer->dtype.ToString();
  }
  return "nothing";
}

TEST(FlipRows, WhereTheInstructionMultipliesUnsignedBySigned) {
  EXPECT_EQ(Flipped(kProduct, "x86-znver4"), "uint8");
  // sdot multiplies signed bytes; without dot products there is no tile.
  EXPECT_EQ(Flipped(kProduct, "arm-neoverse-n1"), "");
  EXPECT_EQ(Flipped(kProduct, "x86-haswell"), "");
}

TEST(FlipRows, UnsignedRowsStayForSuchAnInstruction) {
  const std::string unsigned_rows =
      absl::StrReplaceAll(kProduct, {{"A: T.Buffer((32, 64), \"int8\")", "A: T.Buffer((32, 64), \"uint8\")"}});
  EXPECT_EQ(Flipped(unsigned_rows, "x86-znver4"), "");
  EXPECT_EQ(Flipped(unsigned_rows, "arm-neoverse-n1"), "int8");
}

// Sums of columns that are not constant would be made in each call.
TEST(FlipRows, NeedsConstantColumns) {
  EXPECT_EQ(Flipped(absl::StrReplaceAll(kProduct, {{"[1]", "[]"}}), "x86-znver4"), "");
}

// The rows are padded by `more` on each side of 32: flipped in the block that pads, where little of it is padding.
TEST(FlipRows, PaddedRowsAreFlippedWhereTheyAreCopied) {
  const auto padded = [](int more) {
    const std::string n = std::to_string(32 + 2 * more), begin = std::to_string(more), end = std::to_string(32 + more);
    return R"(
@T.prim_func
def main(X: T.Buffer((32, 64), "int8"), B: T.Buffer((64, 48), "int8"), C: T.Buffer(()" +
           n + R"(, 48), "int32")):
    T.func_attr({"tilewright.constant_params": [1]})
    A = T.alloc_buffer(()" +
           n + R"(, 64), "int8")
    for i, k in T.grid()" +
           n + R"(, 64):
        with T.block("A"):
            vi, vk = T.axis.remap("SS", [i, k])
            A[vi, vk] = T.if_then_else()" +
           begin + " <= vi and vi < " + end + ", X[vi - " + begin + R"(, vk], T.int8(0))
    for i, j, k in T.grid()" +
           n + R"(, 48, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
)";
  };
  EXPECT_EQ(Flipped(padded(2), "x86-znver4"), "uint8");  // 36 of 32 rows
  EXPECT_EQ(Flipped(padded(8), "x86-znver4"), "");       // 48
}

}  // namespace
}  // namespace tilewright
