#include "verify/declared_regions.h"

#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

Diagnostics Check(const char* text) { return CheckDeclaredRegions(ParseOrDie(text).functions()[0]); }

TEST(DeclaredRegions, AcceptsTilesThatHoldTheirBody) {
  EXPECT_TRUE(Check(R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("tile"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16])
            T.writes(B[vi * 16:vi * 16 + 16, vj * 16:vj * 16 + 16])
            for i1, j1 in T.grid(16, 16):
                B[vi * 16 + i1, vj * 16 + j1] = A[vi * 16 + i1, vj * 16 + j1]
)")
                  .empty());
}

TEST(DeclaredRegions, RefusesWhatIsNotDeclared) {
  Diagnostics found = Check(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((15,), "float32")):
    for i in range(15):
        with T.block("B"):
            vi = T.axis.spatial(15, i)
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = A[vi + 1]
)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].verdict, Verdict::kRefuted);
  EXPECT_EQ(found[0].reason, "block B reads A[vi + 1], but declares only A[vi]");
}

TEST(DeclaredRegions, NamesABufferThatIsNotDeclaredAtAll) {
  Diagnostics found = Check(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            T.reads()
            T.writes(B[vi])
            B[vi] = A[vi]
)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].reason, "block B reads A[vi], which it does not declare");
}

TEST(DeclaredRegions, ExternalCallsAreAssumed) {
  Diagnostics found = Check(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    with T.block("call"):
        T.reads(A[0:16])
        T.writes(B[0:16])
        T.evaluate(T.call_extern("int32", "copy16", B.access_ptr("w"), A.access_ptr("r")))
)");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].verdict, Verdict::kAssumed);
}

}  // namespace
}  // namespace tilewright
