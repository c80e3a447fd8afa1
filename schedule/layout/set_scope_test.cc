#include "schedule/layout/set_scope.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::ReasonOf;

// `match` goes into block C, which reads B.
std::string Program(const std::string& match, const std::string& allocation) {
  return R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    )" + allocation +
         R"(
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            T.reads(B[v])
            T.writes(C[v])
            )" +
         match + R"(
            C[v] = B[v]
)";
}
constexpr char kGlobal[] = "B = T.alloc_buffer((8,))";

TEST(SetScope, ReplacesTheBuffer) {
  const Function f = ParseFunctionOrDie(Program("", kGlobal));
  Outcome<SetScopeResult> result = SetScope(f, BlockNamed(f, "B"), 0, "shared");
  ASSERT_TRUE(result.ok());
  std::string expected = Program("", "B = T.alloc_buffer((8,), scope=\"shared\")");
  testing::ExpectProgram(result->function, expected);
  const auto* root = cast<BlockRealizeNode>(result->function->body);
  EXPECT_EQ(root->block->alloc_buffers[0]->name, "B_shared");
  // It is there already.
  Outcome<SetScopeResult> again = SetScope(result->function, BlockNamed(f, "B"), 0, "shared");
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->function.same_as(result->function));
}

TEST(SetScope, Refuses) {
  const Function f = ParseFunctionOrDie(Program("", kGlobal));
  auto reason = [](const Function& function, const char* block, int index, const char* scope) {
    return ReasonOf(SetScope(function, BlockNamed(function, block), index, scope), function);
  };
  EXPECT_EQ(reason(f, "B", 1, "shared"), "B writes 1 regions, there is no number 1");
  EXPECT_EQ(reason(f, "B", 0, "no scope"), "\"no scope\" is not a storage scope");
  EXPECT_EQ(reason(f, "B", 0, "l1"),
            "\"l1\" is not a storage scope (known are global, shared, shared.dyn, local, register, warp, amx.tile, "
            "wgmma.accumulator, wmma.accumulator, wmma.matrix_a, wmma.matrix_b, m16n8k8.matrixA, m16n8k8.matrixB, "
            "m16n8k8.matrixC)");
  EXPECT_EQ(reason(f, "B", 0, "shred"), "\"shred\" is not a storage scope; did you mean shared?");
  EXPECT_TRUE(SetScope(f, BlockNamed(f, "B"), 0, "my_unit.tile").ok());
  EXPECT_EQ(reason(f, "C", 0, "shared"), "C, which C writes, is not allocated by a block");
}

// Parts that blocks match move along, and parts of these.
TEST(SetScope, MovesMatchedParts) {
  const auto with_parts = [](const std::string& allocation, const std::string& scope) {
    std::string program = Program("P = T.match_buffer(B[v], (1,), " + scope +
                                      "offset_factor=1)\n            with T.block(\"D\"):\n                "
                                      "T.reads(P[0])\n                T.writes(C[v])\n                "
                                      "Q = T.match_buffer(P[0:1], (), " +
                                      scope + "offset_factor=1)\n                C[v] = Q[()] + P[0]",
                                  allocation);
    // The block D is the body.
    return program.substr(0, program.rfind("            C[v] = B[v]"));
  };
  const Function f = ParseFunctionOrDie(with_parts(kGlobal, ""));
  Outcome<SetScopeResult> result = SetScope(f, BlockNamed(f, "B"), 0, "shared");
  ASSERT_TRUE(result.ok());
  testing::ExpectProgram(result->function,
                         with_parts("B = T.alloc_buffer((8,), scope=\"shared\")", "scope=\"shared\", "));
}

}  // namespace
}  // namespace tilewright
