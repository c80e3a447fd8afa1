// What rfactor refuses, and why.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "ir/script/parse_or_die.h"
#include "schedule/reduction/rfactor.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::LoopsOf;
using testing::ReasonOf;

TEST(Rfactor, RefusesLoops) {
  const Function f = testing::Matmul(4, 8, 16);
  const std::vector<uint32_t> loops = LoopsOf(f, "C");
  EXPECT_EQ(ReasonOf(Rfactor(f, 99, 0), f), "the loop no longer exists");
  EXPECT_EQ(ReasonOf(Rfactor(f, BlockNamed(f, "C"), 0), f), "C is a block, not a loop");
  EXPECT_EQ(ReasonOf(Rfactor(f, loops[1], 0), f), "j takes part in spatial iterators of C");
  EXPECT_EQ(ReasonOf(Rfactor(f, loops[2], 3), f), "the factor axis 3 is not in [-3, 2]: C has 2 dimensions");
  EXPECT_EQ(ReasonOf(Rfactor(f, loops[2], -4), f), "the factor axis -4 is not in [-3, 2]: C has 2 dimensions");
  const Function chain = testing::ElementwiseChain(4, 8);
  EXPECT_EQ(ReasonOf(Rfactor(chain, LoopsOf(chain, "C")[1], 0), chain), "C is not a reduction block: it has no init");
  const auto nest = [](std::string_view text) { return ParseFunctionOrDie(text); };
  const Function unrolled = nest(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4,), "float32")):
          for i in range(4):
              for k in T.unroll(16):
                  with T.block("C"):
                      vi, vk = T.axis.remap("SR", [i, k])
                      with T.init():
                          C[vi] = T.float32(0)
                      C[vi] = C[vi] + A[vi, vk])");
  EXPECT_EQ(ReasonOf(Rfactor(unrolled, LoopsOf(unrolled, "C")[1], 0), unrolled), "k is not serial");
  const Function fused = nest(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4,), "float32")):
          for f, u in T.grid(64, 2):
              with T.block("C"):
                  vi = T.axis.spatial(4, f // 16)
                  vk = T.axis.reduce(16, f % 16)
                  with T.init():
                      C[vi] = T.float32(0)
                  C[vi] = C[vi] + A[vi, vk])");
  EXPECT_EQ(ReasonOf(Rfactor(fused, LoopsOf(fused, "C")[0], 0), fused),
            "f takes part in spatial and in reduce iterators of C");
  const Function idle = nest(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4,), "float32")):
          for i, u, k in T.grid(4, 2, 16):
              with T.block("C"):
                  vi, vk = T.axis.remap("SR", [i, k])
                  with T.init():
                      C[vi] = T.float32(0)
                  C[vi] = C[vi] + A[vi, vk])");
  EXPECT_EQ(ReasonOf(Rfactor(idle, LoopsOf(idle, "C")[1], 0), idle), "u takes no part in the reduction of C");
  const Function triangle = nest(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4,), "float32")):
          for i in range(4):
              for k in range(i + 1):
                  with T.block("C"):
                      vi, vk = T.axis.remap("SR", [i, k])
                      with T.init():
                          C[vi] = T.float32(0)
                      C[vi] = C[vi] + A[vi, vk])");
  EXPECT_EQ(ReasonOf(Rfactor(triangle, LoopsOf(triangle, "C")[1], 0), triangle), "the range of k depends on i");
  const Function bound = nest(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 16), "float32"), D: T.Buffer((4,), "float32")):
          C = T.alloc_buffer((4,), scope="shared")
          for i in T.thread_binding(4, thread="blockIdx.x"):
              for k in range(16):
                  with T.block("C"):
                      vi, vk = T.axis.remap("SR", [i, k])
                      with T.init():
                          C[vi] = T.float32(0)
                      C[vi] = C[vi] + A[vi, vk]
              with T.block("D"):
                  vi = T.axis.spatial(4, i)
                  D[vi] = C[vi])");
  EXPECT_EQ(ReasonOf(Rfactor(bound, LoopsOf(bound, "C")[1], 0), bound),
            "partial results of C in shared memory would leave the threads that i is bound to");
}

// C[i] += A[i, k] with other blocks before and after the inner loop, and behind it in the outer one.
Function WithNeighbors(std::string_view first, std::string_view inside, std::string_view last) {
  std::string text = R"(
@T.prim_func
def main(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4,), "float32"), X: T.Buffer((4, 16), "float32")):
    for i in range(4):
        FIRST
        for k_0 in range(4):
            for k_1 in range(4):
                with T.block("C"):
                    vi = T.axis.spatial(4, i)
                    vk = T.axis.reduce(16, k_0 * 4 + k_1)
                    with T.init():
                        C[vi] = T.float32(0)
                    C[vi] = C[vi] + A[vi, vk]
            INSIDE
        LAST
)";
  auto fill = [&](std::string_view place, std::string_view statement) {
    text.replace(text.find(place), place.size(), statement.empty() ? "T.evaluate(0)" : statement);
  };
  fill("FIRST", first);
  fill("INSIDE", inside);
  fill("LAST", last);
  return ParseFunctionOrDie(text);
}

TEST(Rfactor, RefusesOtherBlocksInTheWay) {
  const auto reason = [](const Function& f) { return ReasonOf(Rfactor(f, LoopsOf(f, "C")[2], 0), f); };
  EXPECT_EQ(reason(WithNeighbors("", "", "")), "accepted");
  EXPECT_EQ(reason(WithNeighbors("with T.block(\"X\"):\n            X[0, 0] = T.float32(1)", "", "")),
            "X, not C, is the first block below i");
  EXPECT_EQ(reason(WithNeighbors("", "with T.block(\"X\"):\n                X[0, 0] = T.float32(1)", "")),
            "k_0, a loop of the reduction, holds other blocks than C");
  EXPECT_EQ(reason(WithNeighbors("", "", "with T.block(\"X\"):\n            A[0, 0] = T.float32(1)")),
            "X is also below i and writes A, which C reads");
  EXPECT_EQ(reason(WithNeighbors("", "", "with T.block(\"X\"):\n            X[0, 0] = T.float32(1)")), "accepted");
}

TEST(Rfactor, RefusesReductionsThatCannotBeTakenApart) {
  const auto reason = [](const std::string& body, const std::string& init = "C[vi] = T.float32(0)") {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4,), "float32"), D: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 16):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                INIT
            BODY
)";
    text.replace(text.find("INIT"), 4, init);
    text.replace(text.find("BODY"), 4, body);
    const Function f = ParseFunctionOrDie(text);
    return ReasonOf(Rfactor(f, LoopsOf(f, "C")[1], 0), f);
  };
  EXPECT_EQ(reason("C[vi] = C[vi] - A[vi, vk]"),
            "C[vi] - A[vi, vk], which C stores to C, is not a reduction that can be taken apart");
  EXPECT_EQ(reason("C[vi] = C[vi] * A[vi, vk] + T.float32(1)"),
            "C[vi] * A[vi, vk] + T.float32(1), which C stores to C, is not a reduction that can be taken apart");
  EXPECT_EQ(reason("C[vi] = C[vi] + C[vi] * A[vi, vk]"),
            "C[vi] + C[vi] * A[vi, vk], which C stores to C, is not a reduction that can be taken apart");
  EXPECT_EQ(reason("C[vi] = C[vi] + C[3 - vi]"),
            "C combines C[vi] + C[3 - vi] into C and reads other elements of its outputs");
  EXPECT_EQ(
      reason("C[vi] = T.Select(C[vi] > T.float32(1), C[vi], A[vi, vk])"),
      "T.Select(C[vi] > T.float32(1), C[vi], A[vi, vk]), which C stores to C, is not a reduction that can be taken "
      "apart");
  EXPECT_EQ(reason("C[vi] = C[vi] + A[vi, vk]", "C[0] = T.float32(0)"),
            "the init of C does not store to the element of C that the body stores to");
  EXPECT_EQ(reason("C[vi] = C[vi] + A[vi, vk]", "for t in range(1):\n                    C[vi] = T.float32(0)"),
            "the init of C is not one store to each of its outputs");
  EXPECT_EQ(reason("for t in range(1):\n                C[vi] = C[vi] + A[vi, vk]"),
            "the body of C is not one store to each of its outputs");
  const std::string both = "C[vi] = T.float32(0)\n                D[vi] = T.float32(0)";
  EXPECT_EQ(reason("C[vi] = C[vi] + A[vi, vk]\n            D[vi] = D[vi] + C[vi]", both),
            "C combines D[vi] + C[vi] into D and reads other elements of its outputs");
}

}  // namespace
}  // namespace tilewright
