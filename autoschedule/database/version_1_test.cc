#include "autoschedule/database/version_1.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "ir/script/parse_or_die.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

constexpr char kOld[] = R"(
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16,), "int8"), P: T.Buffer((16,), "uint8"), B: T.Buffer((16,), "uint8")):
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = (T.reinterpret("uint8", A[vi]) ^ T.uint8(128)) + P[vi]

    @T.prim_func
    def main_prepack(C: T.Buffer((16,), "uint8"), P: T.Buffer((16,), "uint8")):
        for i in range(16):
            with T.block("P"):
                vi = T.axis.spatial(16, i)
                P[vi] = C[vi]
)";

TEST(Version1, KnowsWhatIsWrittenInAnotherWayToday) {
  const Module old = ParseOrDie(kOld);
  const Module today = ParseOrDie(absl::StrReplaceAll(
      kOld, {{"(T.reinterpret(\"uint8\", A[vi]) ^ T.uint8(128))", "T.flip_sign_bit(T.reinterpret(\"uint8\", A[vi]))"},
             {"P: T.Buffer((16,), \"uint8\")):\n        for",
              "P: T.Buffer((16,), \"uint8\")):\n"
              "        T.func_attr({\"tilewright.prepack_of\": \"main\"})\n"
              "        for"}}));
  ASSERT_TRUE(today.PrepackOf("main"));
  EXPECT_EQ(today.PrepackOf("main")->name, "main_prepack");
  EXPECT_FALSE(old.PrepackOf("main"));
  EXPECT_NE(StructuralHash(today), StructuralHash(old));
  EXPECT_EQ(HashOfVersion1(today), StructuralHash(old));
  EXPECT_EQ(HashOfVersion1(old), StructuralHash(old));
}

}  // namespace
}  // namespace tilewright
