#include "codegen/lower/cpu/threads_from.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Placed(const std::string& loop) {
  return Print(PlaceThreadConditions(ParseFunctionOrDie(R"(
@T.prim_func
def main(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    for i in )" + loop + R"(:
        for j in range(64):
            A[i] = T.float32(j)
)")));
}

TEST(ThreadsFrom, ParallelLoopsHaveConditions) {
  const std::string text = Placed(R"(T.parallel(n, annotations={"tilewright.threads_from": 4096}))");
  EXPECT_THAT(text, HasSubstr(R"(
    T.attr(0, "tilewright.threads_from", T.int64(4096) <= n * T.int64(64))
    for i in T.parallel(n):
)"));
}

TEST(ThreadsFrom, LoopsOfOtherKindsAndWithoutTheAnnotationHaveNone) {
  EXPECT_THAT(Placed(R"(T.serial(n, annotations={"tilewright.threads_from": 4096}))"), Not(HasSubstr("threads_from")));
  EXPECT_THAT(Placed("T.parallel(n)"), Not(HasSubstr("threads_from")));
}

}  // namespace
}  // namespace tilewright
