#include "schedule/layout/pad_einsum_in_place.h"

#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "ir/structural.h"
#include "schedule/blocks/query.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

constexpr char kProgram[] = R"(
@T.prim_func
def main(A: T.Buffer((14, 9), "float32"), B: T.Buffer((9, 5), "float32"), C: T.Buffer((14, 5), "float32")):
    A_copy = T.alloc_buffer((14, 9), "float32")
    B_copy = T.alloc_buffer((9, 5), "float32")
    C_copy = T.alloc_buffer((14, 5), "float32")
    for i, k in T.grid(14, 9):
        with T.block("A_copy"):
            vi, vk = T.axis.remap("SS", [i, k])
            A_copy[vi, vk] = A[vi, vk]
    for k, j in T.grid(9, 5):
        with T.block("B_copy"):
            vk, vj = T.axis.remap("SS", [k, j])
            B_copy[vk, vj] = B[vk, vj]
    for i, j, k in T.grid(14, 5, 9):
        with T.block("product"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C_copy[vi, vj] = T.float32(0)
            C_copy[vi, vj] += A_copy[vi, vk] * B_copy[vk, vj]
    for i, j in T.grid(14, 5):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = C_copy[vi, vj]
)";

Function Program(std::string_view from = "", std::string_view to = "") {
  std::string text(kProgram);
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return ParseOrDie(text).functions()[0];
}

TEST(PadEinsumInPlace, RoundsUpAndFillsWithZeros) {
  const Function before = Program();
  Outcome<PadEinsumInPlaceResult> after = PadEinsumInPlace(before, *GetBlock(before, "product"), {4, 4, 1});
  ASSERT_TRUE(after.ok()) << after.refusal().reason;
  const Function expected = ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((14, 9), "float32"), B: T.Buffer((9, 5), "float32"), C: T.Buffer((14, 5), "float32")):
    A_copy = T.alloc_buffer((16, 9), "float32")
    B_copy = T.alloc_buffer((9, 8), "float32")
    C_copy = T.alloc_buffer((16, 8), "float32")
    for i, k in T.grid(16, 9):
        with T.block("A_copy"):
            vi, vk = T.axis.remap("SS", [i, k])
            T.reads(A[vi, vk])
            T.writes(A_copy[vi, vk])
            A_copy[vi, vk] = T.if_then_else(vi < 14, A[vi, vk], T.float32(0))
    for k, j in T.grid(9, 8):
        with T.block("B_copy"):
            vk, vj = T.axis.remap("SS", [k, j])
            T.reads(B[vk, vj])
            T.writes(B_copy[vk, vj])
            B_copy[vk, vj] = T.if_then_else(vj < 5, B[vk, vj], T.float32(0))
    for i, j, k in T.grid(16, 8, 9):
        with T.block("product"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C_copy[vi, vj] = T.float32(0)
            C_copy[vi, vj] += A_copy[vi, vk] * B_copy[vk, vj]
    for i, j in T.grid(14, 5):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = C_copy[vi, vj]
)")
                                .functions()[0];
  Mismatch mismatch;
  EXPECT_TRUE(StructuralEqual(after->function, expected, &mismatch)) << mismatch.path << ": " << mismatch.reason;
}

TEST(PadEinsumInPlace, ComputesTheSame) {
  const Function before = Program();
  const uint32_t product = *GetBlock(before, "product");
  for (const std::vector<int64_t>& padding :
       {std::vector<int64_t>{4, 4, 1}, {1, 1, 4}, {16, 16, 16}, {7, 5, 3}, {1, 1, 1}}) {
    Outcome<PadEinsumInPlaceResult> after = PadEinsumInPlace(before, product, padding);
    ASSERT_TRUE(after.ok());
    testing::ExpectEquivalent(before, after->function);
    EXPECT_EQ(VerifyProgram(after->function).diagnostics.size(), 0u) << Render(VerifyProgram(after->function), before);
  }
}

// An operand read at sums of spatial iterators gets as long as these reach.
TEST(PadEinsumInPlace, EnlargesWhatWindowsRead) {
  const Function before = ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((9, 4), "float32"), B: T.Buffer((3, 4, 5), "float32"), C: T.Buffer((7, 5), "float32")):
    A_copy = T.alloc_buffer((9, 4), "float32")
    C_copy = T.alloc_buffer((7, 5), "float32")
    for i, k in T.grid(9, 4):
        with T.block("A_copy"):
            vi, vk = T.axis.remap("SS", [i, k])
            A_copy[vi, vk] = A[vi, vk]
    for i, j, r, k in T.grid(7, 5, 3, 4):
        with T.block("product"):
            vi, vj, vr, vk = T.axis.remap("SSRR", [i, j, r, k])
            with T.init():
                C_copy[vi, vj] = T.float32(0)
            C_copy[vi, vj] += A_copy[vi + vr, vk] * B[vr, vk, vj]
    for i, j in T.grid(7, 5):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = C_copy[vi, vj]
)")
                              .functions()[0];
  const uint32_t product = *GetBlock(before, "product");
  Outcome<PadEinsumInPlaceResult> after = PadEinsumInPlace(before, product, {4, 1, 1, 1});
  ASSERT_TRUE(after.ok()) << after.refusal().reason;
  testing::ExpectContains(after->function, "A_copy = T.alloc_buffer((10, 4))");
  testing::ExpectContains(after->function, "A_copy[vi, vk] = T.if_then_else(vi < 9, A[vi, vk], T.float32(0))");
  testing::ExpectContains(after->function, "C_copy = T.alloc_buffer((8, 5))");
  testing::ExpectEquivalent(before, after->function);
  EXPECT_EQ(VerifyProgram(after->function).diagnostics.size(), 0u) << Render(VerifyProgram(after->function), before);
  // Along a window all of the factors would have to be zero.
  after = PadEinsumInPlace(before, product, {1, 1, 4, 1});
  ASSERT_FALSE(after.ok());
  EXPECT_EQ(after.refusal().reason, "{text0} is not indexed by the iterator {text1} alone, over a whole dimension");
}

std::string Reason(const Function& function, std::vector<int64_t> padding = {4, 4, 1}) {
  Outcome<PadEinsumInPlaceResult> result = PadEinsumInPlace(function, *GetBlock(function, "product"), padding);
  return result.ok() ? "accepted" : result.refusal().reason;
}

TEST(PadEinsumInPlace, Refuses) {
  EXPECT_EQ(Reason(Program(), {4, 4}), "{num0} paddings are given for the {num1} iterators of {block0}");
  EXPECT_EQ(Reason(Program(), {4, 0, 1}), "the padding of the iterator {text0} is {num0}, which is not positive");
  EXPECT_EQ(Reason(Program("C_copy[vi, vj] += A_copy[vi, vk] * B_copy[vk, vj]",
                           "C_copy[vi, vj] += A_copy[vi, vk] + B_copy[vk, vj]")),
            "{block0} does not add a product of elements to its output");
  // Padding is zero, what is computed of it need not be.
  EXPECT_EQ(Reason(Program("C_copy[vi, vj] += A_copy[vi, vk] * B_copy[vk, vj]",
                           "C_copy[vi, vj] += (A_copy[vi, vk] - B_copy[vk, vj]) * B_copy[vk, vj]")),
            "{block0} does not add a product of elements to its output");
  EXPECT_EQ(Reason(Program("A_copy[vi, vk] * B_copy[vk, vj]", "A_copy[vi, 0] * B_copy[0, vj]"), {1, 1, 4}),
            "{block0} adds the same along the padded iterator {text0}");
  EXPECT_EQ(Reason(Program("A_copy[vi, vk] * B_copy", "A_copy[13 - vi, vk] * B_copy")),
            "{text0} is not indexed by the iterator {text1} alone, over a whole dimension");
  EXPECT_EQ(Reason(Program("A_copy[vi, vk] * B_copy", "A[vi, vk] * B_copy")),
            "{text0} is not allocated by the block around {block0}");
  EXPECT_EQ(Reason(Program("A_copy[vi, vk] = A[vi, vk]", "A_copy[13 - vi, vk] = A[vi, vk]")),
            "block {text0} does not write {text1} at a spatial iterator that runs over the whole dimension");
}

}  // namespace
}  // namespace tilewright
