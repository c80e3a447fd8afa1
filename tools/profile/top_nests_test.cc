#include "tools/profile/top_nests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kTwo[] = R"(@T.prim_func
def main(X: T.Buffer((16,), "float32"), Y: T.Buffer((16,), "float32")):
    Z = T.alloc_buffer((16,))
    for i in T.parallel(16):
        with T.block("Z"):
            vi = T.axis.spatial(16, i)
            Z[vi] = X[vi] * T.float32(2)
    for j in range(16):
        with T.block("Y"):
            vj = T.axis.spatial(16, j)
            Y[vj] = Z[vj] + T.float32(1)
)";

TEST(TopNests, AreNamedByTheirBlocks) {
  const std::vector<TopNest> nests = TopNestsOf(ParseOrDie(kTwo).Main());
  ASSERT_EQ(nests.size(), 2);
  EXPECT_EQ(nests[0].name, "Z");
  EXPECT_EQ(nests[0].place, "for i");
  EXPECT_EQ(nests[1].name, "Y");
  const std::string alone = Print(nests[1].alone);
  EXPECT_THAT(alone, HasSubstr("for j in"));
  EXPECT_THAT(alone, Not(HasSubstr("for i in")));
}

TEST(TopNests, StatementsWithoutBlocksAreNamedByWhatTheyStore) {
  const std::vector<TopNest> nests = TopNestsOf(ParseOrDie(R"(@T.prim_func
def main(X: T.Buffer((16,), "float32"), Y: T.Buffer((16,), "float32")):
    T.func_attr({"global_symbol": "main"})
    Y[0] = X[1]
    for j in range(1, 16):
        Y[j] = X[j]
)")
                                                    .Main());
  ASSERT_EQ(nests.size(), 2);
  EXPECT_EQ(nests[0].name, "Y");
  EXPECT_EQ(nests[0].place, "-");
  EXPECT_EQ(nests[1].place, "for j");
}

TEST(WithClock, ReadsItBeforeAndAfterEachNest) {
  const Function function = WithClock(ParseOrDie(kTwo).Main());
  EXPECT_EQ(function->params.size(), 3);
  const std::string text = Print(function);
  EXPECT_THAT(text, HasSubstr("(4, 2)"));
  const size_t first = text.find("\"clock_gettime\""), nest = text.find("for i in");
  EXPECT_LT(first, nest);
  size_t calls = 0;
  for (size_t at = 0; (at = text.find("\"clock_gettime\"", at)) != text.npos; ++at) ++calls;
  EXPECT_EQ(calls, 4);
}

}  // namespace
}  // namespace tilewright
