#include "verify/structure/constant_params.h"

#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

// What is said of Y = X W + n with this value of the attribute; empty where that is nothing.
std::string Finding(const std::string& value) {
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(X: T.Buffer((16, 16), "float32"), W: T.Buffer((16, 16), "float32"), n: T.float32, Y: T.Buffer((16, 16), "float32")):
    T.func_attr({"tilewright.constant_params": )" +
                                               value + R"(})
    for i, j, k in T.grid(16, 16, 16):
        with T.block("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = n
            Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vk, vj]
)");
  const Diagnostics diagnostics = CheckConstantParams(function);
  EXPECT_EQ(VerifyProgram(function).diagnostics.size(), diagnostics.size());
  return diagnostics.empty() ? "" : diagnostics[0].reason;
}

TEST(ConstantParams, MayBeAllThatIsOnlyRead) {
  EXPECT_EQ(Finding("[]"), "");
  EXPECT_EQ(Finding("[0, 1]"), "");
}

TEST(ConstantParams, NothingElse) {
  EXPECT_EQ(Finding("[7]"), "tilewright.constant_params: there is no parameter 7: main has 4, the first of which is 0");
  EXPECT_EQ(Finding("[-1]"),
            "tilewright.constant_params: there is no parameter -1: main has 4, the first of which is 0");
  EXPECT_EQ(Finding("[2]"), "tilewright.constant_params: parameter 2, n, is not a buffer");
  EXPECT_EQ(Finding("[1, 3]"),
            "tilewright.constant_params: parameter 3, Y, is written, so its contents are not the same in every call");
  EXPECT_EQ(Finding("1"), "tilewright.constant_params: the value is not a list of positions");
  EXPECT_EQ(Finding("\"W\""), "tilewright.constant_params: the value is not a list of positions");
  EXPECT_EQ(Finding("[\"W\"]"), "tilewright.constant_params: an entry of the list is not a position of a parameter");
}

}  // namespace
}  // namespace tilewright
