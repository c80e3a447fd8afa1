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
  EXPECT_EQ(reason(f, "B", 0, "no scope"), "\"no scope\" is no storage scope");
  EXPECT_EQ(reason(f, "B", 0, "shred"), "\"shred\" is no storage scope");
  EXPECT_TRUE(SetScope(f, BlockNamed(f, "B"), 0, "my_unit.tile").ok());
  EXPECT_EQ(reason(f, "C", 0, "shared"), "C, which C writes, is not allocated by a block");
  const Function matched = ParseFunctionOrDie(Program("B_1 = T.match_buffer(B[v], (1,), offset_factor=1)", kGlobal));
  EXPECT_EQ(reason(matched, "B", 0, "shared"), "C matches a part of B in its scope");
}

}  // namespace
}  // namespace tilewright
