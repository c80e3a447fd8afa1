#include "tools/programs/cautions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> TextsOf(const std::string& text) {
  std::vector<std::string> texts;
  for (const Caution& caution : CautionsOf(ParseFunctionOrDie(text))) texts.push_back(caution.text);
  return texts;
}

// A product of matrices: types of the operands, of the result, and what is added up.
std::vector<std::string> OfProduct(const std::string& in, const std::string& out, const std::string& product) {
  return TextsOf(R"(
@T.prim_func
def main(A: T.Buffer((8, 8), ")" +
                 in + R"("), B: T.Buffer((8, 8), ")" + in + R"("), C: T.Buffer((8, 8), ")" + out + R"(")):
    for i, j, k in T.grid(8, 8, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.cast(0, ")" +
                 out + R"(")
            C[vi, vj] = C[vi, vj] + )" +
                 product + "\n");
}

TEST(Cautions, ProductsOfNarrowIntegersWrap) {
  EXPECT_THAT(OfProduct("int8", "int8", "A[vi, vk] * B[vk, vj]"),
              ElementsAre("block C: A[vi, vk] * B[vk, vj] is computed in int8 and wraps beyond 127; T.Cast(\"int32\", "
                          "...) of both factors multiplies in int32"));
  EXPECT_THAT(OfProduct("uint8", "int32", "T.Cast(\"int32\", A[vi, vk] * B[vk, vj])"),
              ElementsAre(HasSubstr("is computed in uint8 and wraps beyond 255")));
  EXPECT_THAT(OfProduct("int8", "int32", "T.Cast(\"int32\", A[vi, vk]) * T.Cast(\"int32\", B[vk, vj])"), IsEmpty());
  EXPECT_THAT(OfProduct("int8", "int8", "A[vi, vk] * T.int8(2)"), IsEmpty());
  EXPECT_THAT(OfProduct("float16", "float16", "A[vi, vk] * B[vk, vj]"), IsEmpty());
}

// Doubles A with a loop nest of these extents, in a block or without one.
std::vector<std::string> OfDoubling(const std::string& grid, bool block, const std::string& attributes = "") {
  const std::string write = block ? R"(
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
)"
                                  : R"(
        B[i, j] = A[i, j] * T.float32(2)
)";
  return TextsOf(R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    T.func_attr({)" +
                 attributes + R"(})
    for i, j in T.grid()" +
                 grid + "):" + write);
}

TEST(Cautions, OutputsThatAreWrittenInPart) {
  EXPECT_THAT(OfDoubling("64, 64", true), IsEmpty());
  EXPECT_THAT(OfDoubling("32, 64", true),
              ElementsAre("output B: in dimension 0 [32, 64) is not written and keeps what the caller gave"));
  EXPECT_THAT(OfDoubling("64, 63", true), ElementsAre(HasSubstr("in dimension 1 [63, 64)")));
  // What is read too may be meant to keep its other elements.
  EXPECT_THAT(TextsOf(R"(
@T.prim_func
def main(B: T.Buffer((64,), "float32")):
    for i in range(32):
        with T.block("B"):
            vi = T.axis.spatial(32, i)
            B[vi] = B[vi] + T.float32(1)
)"),
              IsEmpty());
}

TEST(Cautions, LoopsThatNoScheduleReaches) {
  EXPECT_THAT(OfDoubling("64, 64", false), ElementsAre(HasSubstr("loop i holds no block, and no schedule")));
  // A block may hold loops, and threads are a schedule.
  EXPECT_THAT(TextsOf(R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            for j in range(64):
                B[vi, j] = A[vi, j] * T.float32(2)
)"),
              IsEmpty());
  EXPECT_THAT(TextsOf(R"(
@T.prim_func
def copy(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    with T.block("root"):
        T.reads(A[0:64])
        T.writes(B[0:64])
        for i in range(64):
            B[i] = A[i]
)"),
              IsEmpty());
  EXPECT_THAT(TextsOf(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.thread_binding(64, thread="threadIdx.x"):
        for j in range(1):
            B[i + j] = A[i + j] * T.float32(2)
)"),
              IsEmpty());
}

TEST(Cautions, MisspeltAttributes) {
  EXPECT_THAT(OfDoubling("64, 64", true, "\"constant_params\": [0]"),
              ElementsAre("nobody reads the attribute constant_params; did you mean tilewright.constant_params?"));
  EXPECT_THAT(OfDoubling("64, 64", true, "\"tilewright.constant_parms\": [0]"),
              ElementsAre(HasSubstr("did you mean tilewright.constant_params?")));
  EXPECT_THAT(OfDoubling("64, 64", true, "\"tilewright.constant_params\": [0], \"op_pattern\": 8"), IsEmpty());
}

}  // namespace
}  // namespace tilewright
