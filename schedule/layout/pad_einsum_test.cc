#include "schedule/layout/pad_einsum.h"

#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "ir/structural.h"
#include "schedule/blocks/query.h"
#include "schedule/recorder/schedule.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

constexpr char kProgram[] = R"(
@T.prim_func
def main(A: T.Buffer((14, 9), "float32"), B: T.Buffer((9, 5), "float32"), C: T.Buffer((14, 5), "float32")):
    for i, j, k in T.grid(14, 5, 9):
        with T.block("product"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] += A[vi, vk] * B[vk, vj]
)";

Function Program(std::string_view from = "", std::string_view to = "") {
  std::string text(kProgram);
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return ParseOrDie(text).functions()[0];
}

TEST(PadEinsum, CopiesWhatIsPadded) {
  const Function before = Program();
  Outcome<PadEinsumResult> after = PadEinsum(before, *GetBlock(before, "product"), {4, 1, 1});
  ASSERT_TRUE(after.ok()) << after.refusal().reason;
  const Function expected = ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((14, 9), "float32"), B: T.Buffer((9, 5), "float32"), C: T.Buffer((14, 5), "float32")):
    A_pad = T.alloc_buffer((16, 9), "float32")
    C_pad = T.alloc_buffer((16, 5), "float32")
    for i0, i1 in T.grid(16, 9):
        with T.block("A_pad"):
            v0, v1 = T.axis.remap("SS", [i0, i1])
            T.reads(A[v0, v1])
            T.writes(A_pad[v0, v1])
            A_pad[v0, v1] = T.if_then_else(v0 < 14, A[v0, v1], T.float32(0))
    for i, j, k in T.grid(16, 5, 9):
        with T.block("product"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C_pad[vi, vj] = T.float32(0)
            C_pad[vi, vj] += A_pad[vi, vk] * B[vk, vj]
    for i0, i1 in T.grid(14, 5):
        with T.block("C_pad"):
            v0, v1 = T.axis.remap("SS", [i0, i1])
            C[v0, v1] = C_pad[v0, v1]
)")
                                .functions()[0];
  Mismatch mismatch;
  EXPECT_TRUE(StructuralEqual(after->function, expected, &mismatch)) << mismatch.path << ": " << mismatch.reason;
}

TEST(PadEinsum, ComputesTheSame) {
  const Function before = Program();
  const uint32_t product = *GetBlock(before, "product");
  for (const std::vector<int64_t>& padding :
       {std::vector<int64_t>{4, 4, 1}, {1, 1, 4}, {16, 16, 16}, {7, 5, 3}, {1, 1, 1}}) {
    Outcome<PadEinsumResult> after = PadEinsum(before, product, padding);
    ASSERT_TRUE(after.ok());
    testing::ExpectEquivalent(before, after->function);
    EXPECT_EQ(VerifyProgram(after->function).diagnostics.size(), 0u) << Render(VerifyProgram(after->function), before);
  }
}

// Any block of this form: no reduction, constants as indices, symbolic extents, other blocks in an outer loop.
TEST(PadEinsum, PadsElementwiseBlocks) {
  const Function before = ParseOrDie(R"(
@T.prim_func
def main(a: T.handle, B: T.Buffer((9, 1), "float32"), c: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, 9), "float32")
    C = T.match_buffer(c, (n, 9), "float32")
    S = T.alloc_buffer((n, 9), "float32")
    for i in range(n):
        for j in range(9):
            with T.block("product"):
                vi, vj = T.axis.remap("SS", [i, j])
                S[vi, vj] = A[vi, vj] + B[vj, 0]
        for j in range(9):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = S[vi, vj]
)")
                              .functions()[0];
  Outcome<PadEinsumResult> after = PadEinsum(before, *GetBlock(before, "product"), {1, 4});
  ASSERT_TRUE(after.ok()) << after.refusal().reason;
  EXPECT_TRUE(GetBlock(after->function, "A_pad").ok());
  EXPECT_TRUE(GetBlock(after->function, "S_pad").ok());
  testing::ExpectEquivalent(before, after->function, {.dims = {{"n", 3}}});
}

// The padding of spatial iterators takes what the buffer has there.
TEST(PadEinsum, TakesBuffersThatAreLargerThanDomains) {
  const Function before = Program("A: T.Buffer((14, 9)", "A: T.Buffer((15, 9)");
  Outcome<PadEinsumResult> after = PadEinsum(before, *GetBlock(before, "product"), {4, 1, 1});
  ASSERT_TRUE(after.ok()) << after.refusal().reason;
  testing::ExpectContains(after->function, "A_pad[v0, v1] = T.if_then_else(v0 < 15, A[v0, v1], T.float32(0))");
  testing::ExpectEquivalent(before, after->function);
  EXPECT_EQ(VerifyProgram(after->function).diagnostics.size(), 0u) << Render(VerifyProgram(after->function), before);
  // No condition where the buffer has all of the padding.
  const Function larger = Program("A: T.Buffer((14, 9)", "A: T.Buffer((20, 9)");
  after = PadEinsum(larger, *GetBlock(larger, "product"), {4, 1, 1});
  ASSERT_TRUE(after.ok()) << after.refusal().reason;
  testing::ExpectContains(after->function, "A_pad[v0, v1] = A[v0, v1]");
  testing::ExpectEquivalent(larger, after->function);
}

// Channels of a convolution: what the other indices are does not matter.
TEST(PadEinsum, WindowsBesideThePaddedIterator) {
  const Function function = ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((9, 3), "float32"), B: T.Buffer((3, 3, 5), "float32"), C: T.Buffer((4, 5), "float32")):
    for i, j, r, k in T.grid(4, 5, 3, 3):
        with T.block("product"):
            vi, vj, vr, vk = T.axis.remap("SSRR", [i, j, r, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] += A[vi * 2 + vr, vk] * B[vr, vk, vj]
)")
                                .functions()[0];
  const Outcome<PadEinsumResult> after = PadEinsum(function, *GetBlock(function, "product"), {1, 1, 1, 4});
  ASSERT_TRUE(after.ok()) << after.refusal().reason;
  testing::ExpectContains(after->function, "C[vi, vj] = C[vi, vj] + A_pad[vi * 2 + vr, vk] * B_pad[vr, vk, vj]");
  testing::ExpectEquivalent(function, after->function);
}

std::string Reason(const Function& function, std::vector<int64_t> padding = {4, 4, 1}) {
  Outcome<PadEinsumResult> result = PadEinsum(function, *GetBlock(function, "product"), padding);
  return result.ok() ? "accepted" : result.refusal().reason;
}

// The region that cache_index leaves says B[vk, vj], the load B[vk, index_var_0[vj]].
TEST(PadEinsum, RefusesLoadedIndices) {
  Schedule sch{Module(Program("B[vk, vj]", "B[vk, vj % 4 + vj // 4 * 4]"))};
  const BlockRv product = *sch.GetBlock("product");
  ASSERT_TRUE(sch.CacheIndex(product, "global", 1).ok());
  const auto padded = sch.PadEinsum(product, {4, 4, 1});
  ASSERT_FALSE(padded.ok());
  EXPECT_EQ(padded.refusal().reason, "{block0} uses {text0} at more than a padded iterator");
}

TEST(PadEinsum, Refuses) {
  EXPECT_EQ(Reason(Program(), {4, 4}), "{num0} paddings are given for the {num1} iterators of {block0}");
  EXPECT_EQ(Reason(Program(), {4, 0, 1}), "the padding of the iterator {text0} is {num0}, which is not positive");
  EXPECT_EQ(Reason(Program("A[vi, vk] * B", "A[13 - vi, vk] * B")),
            "{block0} uses {text0} at more than a padded iterator");
  EXPECT_EQ(Reason(Program("            with T.init():\n                C[vi, vj] = T.float32(0)\n", "")),
            "{block0} uses {text0} more than once");
  // What is there need not be zero, and may not be written.
  EXPECT_EQ(Reason(Program("A: T.Buffer((14, 9)", "A: T.Buffer((14, 12)"), {1, 1, 4}),
            "{text0} is not indexed by the iterator {text1} over a whole dimension");
  EXPECT_EQ(Reason(ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((14,), "float32"), C: T.Buffer((14,), "float32")):
    B = T.alloc_buffer((20,), "float32")
    for i in range(14):
        with T.block("B"):
            vi = T.axis.spatial(14, i)
            B[vi] = A[vi]
    for i in range(14):
        with T.block("product"):
            vi = T.axis.spatial(14, i)
            C[vi] = B[vi]
)")
                       .functions()[0],
                   {4}),
            "{text0} is not indexed by the iterator {text1} over a whole dimension");
  EXPECT_EQ(Reason(Program("C: T.Buffer((14, 5)", "C: T.Buffer((14, 6)"), {4, 1, 1}),
            "{block0} does not write all of {text0}");
  EXPECT_EQ(Reason(Program("            with T.init", "            T.where(i < 13)\n            with T.init")),
            "{block0} has the predicate {expr0}");
}

// The peer pads these with zeros all the same.
TEST(PadEinsum, RefusesWhereZerosCount) {
  EXPECT_EQ(Reason(Program(), {1, 1, 4}), "accepted");
  const char* reason = "zeros along the padded iterator {text0} change what {block0} computes";
  EXPECT_EQ(Reason(Program("C[vi, vj] += A[vi, vk] * B[vk, vj]", "C[vi, vj] += A[vi, vk] * B[vk, vj] + T.float32(1)"),
                   {1, 1, 4}),
            reason);
  EXPECT_EQ(Reason(Program("C[vi, vj] += A[vi, vk] * B[vk, vj]", "C[vi, vj] = T.max(C[vi, vj], A[vi, vk] * B[vk, vj])"),
                   {1, 1, 4}),
            reason);
  // Zero times exp(0 + 100) is not zero in float32.
  const std::string product = "C[vi, vj] += A[vi, vk] * B[vk, vj]";
  EXPECT_EQ(Reason(Program(product, "C[vi, vj] += T.exp(A[vi, vk] + T.float32(100)) * B[vk, vj]"), {1, 1, 4}), reason);
  EXPECT_EQ(Reason(Program(product, "C[vi, vj] += A[vi, vk] * B[vk, vj] / T.float32(0)"), {1, 1, 4}), reason);
  EXPECT_EQ(Reason(Program(product, "C[vi, vj] += (A[vi, vk] - T.float32(3)) * B[vk, vj]"), {1, 1, 4}), "accepted");
}

}  // namespace
}  // namespace tilewright
