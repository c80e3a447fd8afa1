#include "codegen/cuda/names.h"

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>

#include "absl/strings/ascii.h"

namespace tilewright::cuda {
namespace {

TEST(Names, AreKeptWhereTheyAreFree) {
  Names names;
  EXPECT_EQ(names.Make("i"), "i");
  EXPECT_EQ(names.Make("i"), "i_1");
  EXPECT_EQ(names.Make("i"), "i_2");
  EXPECT_EQ(names.Make("i_1"), "i_1_1");
  EXPECT_EQ(Names().Make("A_local"), "A_local");
}

TEST(Names, OfAnythingAreDistinctIdentifiers) {
  Names names;
  std::set<std::string> made;
  for (const char* name :
       {"a.b", "a_b", "a b", "", "", "7", "_", "__", "_x", "\xc3\xa4", "v", "v7", "x-1", "x_1", "x"}) {
    const std::string text = names.Make(name);
    EXPECT_TRUE(made.insert(text).second) << name << " became " << text;
    EXPECT_TRUE(absl::ascii_isalpha(static_cast<unsigned char>(text[0]))) << text;
    for (const char c : text) EXPECT_TRUE(absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_') << text;
  }
}

TEST(Names, OfTheLanguagesAreAvoided) {
  for (const char* name :
       {"int",    "class", "threadIdx", "warpSize", "tw",  "half",     "uint8_t", "min",  "exp",       "sinf",
        "printf", "main",  "tw_abs",    "NULL",     "NAN", "INFINITY", "INT_MAX", "M_PI", "TW_DEVICE", "atomicAdd"}) {
    EXPECT_NE(Names().Make(name), name);
  }
}

}  // namespace
}  // namespace tilewright::cuda
