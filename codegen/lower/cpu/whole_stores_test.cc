#include "codegen/lower/cpu/whole_stores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/substitute.h"
#include "codegen/lower/common/pass_testing.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A row of 21 elements by way of a temporary, whose vector from 16 on is stored under the mask `first` < `limit`.
Function Row(const char* scope, int first, int limit) {
  return ParseFunctionOrDie(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((4, 21), "float32"), B: T.Buffer((84,), "float32")):
    for i in range(4):
        with T.decl_buffer((21,), "float32", scope="$0") as E:
            for j in range(21):
                E[j] = T.float32(0)
            E[0:16] = A[i, 0:16] * T.Broadcast(T.float32(2), 16)
            E.vstore([T.Ramp(16, 1, 16)], T.Broadcast(T.float32(3), 16), predicate=T.Ramp($1, 1, 16) < T.Broadcast($2, 16))
            for j in range(21):
                B[i * 21 + j] = E[j] + E[20]
)",
                                             scope, first, limit));
}

TEST(WholeStores, LanesBehindTheEndHaveRoom) {
  const Function before = Row("global", 0, 5);
  const Function after = StoreWhole(before);
  EXPECT_THAT(Print(after), HasSubstr("T.decl_buffer((32,))"));
  EXPECT_THAT(Print(after), HasSubstr("E[16:32] = "));
  EXPECT_THAT(Print(after), Not(HasSubstr("predicate")));
  testing::ExpectSameAtAllSizes(before, after);
  // Lanes are counted from another one on.
  testing::ExpectSameAtAllSizes(before, StoreWhole(Row("global", 7, 12)));
  EXPECT_THAT(Print(StoreWhole(Row("global", 7, 12))), Not(HasSubstr("predicate")));
}

// Lanes that other elements have, vectors of which nothing is stored, registers, and what callers own.
TEST(WholeStores, LeavesOtherMasks) {
  for (const Function& f : {Row("global", 0, 4), Row("global", 16, 5), Row("register", 0, 5)}) {
    EXPECT_EQ(Print(StoreWhole(f)), Print(f));
  }
  const Function owned = ParseFunctionOrDie(R"(
@T.prim_func
def main(B: T.Buffer((21,), "float32")):
    B.vstore([T.Ramp(16, 1, 16)], T.Broadcast(T.float32(3), 16), predicate=T.Ramp(0, 1, 16) < T.Broadcast(5, 16))
)");
  EXPECT_EQ(Print(StoreWhole(owned)), Print(owned));
}

}  // namespace
}  // namespace tilewright
