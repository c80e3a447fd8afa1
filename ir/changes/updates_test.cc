#include "ir/changes/updates.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "ir/functor.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

// What wraps in the statements of a function of C and X, each in a line, separated by spaces.
std::string Wrapping(const std::string& body, const std::string& type = "int32") {
  const Function function =
      ParseFunctionOrDie(absl::StrCat("@T.prim_func\ndef main(C: T.Buffer((4,), \"", type, "\"), X: T.Buffer((4,), \"",
                                      type, "\")):\n    for i in range(3):\n", body));
  std::string result;
  PreOrder(function->body, [&](const Stmt& s) {
    for (const BinaryNode* op : WrappingUpdates(s)) absl::StrAppend(&result, Print(Expr(op)), "; ");
    return true;
  });
  return result;
}

TEST(Updates, SumsAndProductsOfTheArray) {
  EXPECT_EQ(Wrapping("        C[i] = C[i] + X[i] * X[0]\n"), "C[i] + X[i] * X[0]; ");
  EXPECT_EQ(Wrapping("        C[i] = X[i] + X[0] + C[i]\n"), "X[i] + X[0]; X[i] + X[0] + C[i]; ");
  EXPECT_EQ(Wrapping("        C[i] = C[i] + X[i] - X[0]\n"), "C[i] + X[i]; C[i] + X[i] - X[0]; ");
  EXPECT_EQ(Wrapping("        C[i] = C[i] + X[i] * 3 - 6\n"), "X[i] * 3; C[i] + X[i] * 3; C[i] + X[i] * 3 - 6; ");
  EXPECT_EQ(Wrapping("        C[i] = X[i] * C[i]\n"), "X[i] * C[i]; ");
  EXPECT_EQ(Wrapping("        C[i] = C[X[i]] + i\n"), "C[X[i]] + i; ");
  EXPECT_EQ(Wrapping("        C[i] = T.Cast(\"float64\", T.Cast(\"int32\", C[i]) + i)\n", "float64"),
            "T.Cast(\"int32\", C[i]) + i; ");
  EXPECT_EQ(Wrapping("        C[i] = T.Select(X[i] < 3, C[i] + X[i], C[i])\n"), "C[i] + X[i]; ");
  EXPECT_EQ(Wrapping("        v: T.int32 = C[i] + X[i]\n        C[i] = v\n"), "C[i] + X[i]; ");
}

TEST(Updates, OtherArithmeticDoesNotWrap) {
  EXPECT_EQ(Wrapping("        C[i] = X[i] - C[i]\n"), "");
  EXPECT_EQ(Wrapping("        C[i] = C[i] * X[0] + X[i]\n"), "");
  EXPECT_EQ(Wrapping("        C[i] = X[i] + X[i]\n"), "");
  EXPECT_EQ(Wrapping("        v: T.int32 = C[i] + X[i]\n        X[i] = v + C[i] * 2\n"), "");
  EXPECT_EQ(Wrapping("        C[i] = C[i] + X[i]\n", "float32"), "");
}

}  // namespace
}  // namespace tilewright
