#include "tools/command_line/flag_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

using testing::Optional;
using testing::StartsWith;

std::optional<std::string> Wrong(ValueForm form, const std::string& value, std::string_view shown = "N") {
  return WrongValue({.flag = "--flag", .value = shown, .form = form}, value);
}

TEST(FlagValue, Numbers) {
  EXPECT_EQ(Wrong(ValueForm::kPositive, "2.5"), std::nullopt);
  EXPECT_THAT(Wrong(ValueForm::kPositive, "0"), Optional(std::string("--flag must be a positive number, got 0")));
  for (const char* bad : {"-1", "nan", "inf", "1e999", "x", "1 2", ""}) {
    EXPECT_TRUE(Wrong(ValueForm::kPositive, bad)) << bad;
  }
  EXPECT_EQ(Wrong(ValueForm::kCount, "1"), std::nullopt);
  EXPECT_EQ(Wrong(ValueForm::kNatural, "0"), std::nullopt);
  for (const char* bad : {"0", "-1", "1.5", "99999999999999999999"}) EXPECT_TRUE(Wrong(ValueForm::kCount, bad)) << bad;
  EXPECT_THAT(Wrong(ValueForm::kCount, "99999999999999999999"),
              Optional(std::string("--flag must be a number below 2^63, got 99999999999999999999")));
  EXPECT_EQ(Wrong(ValueForm::kLevel, "3"), std::nullopt);
  EXPECT_THAT(Wrong(ValueForm::kLevel, "9"), Optional(std::string("--flag must be a number from 0 to 3, got 9")));
}

TEST(FlagValue, ChoicesAndTargetsListTheNearest) {
  EXPECT_EQ(Wrong(ValueForm::kChoice, "llvm", "interp|llvm|cuda"), std::nullopt);
  EXPECT_THAT(Wrong(ValueForm::kChoice, "lvlm", "interp|llvm|cuda"),
              Optional(std::string("--flag must be one of interp, llvm, cuda, got lvlm; did you mean llvm?")));
  EXPECT_EQ(Wrong(ValueForm::kTarget, "host"), std::nullopt);
  EXPECT_EQ(Wrong(ValueForm::kTarget, "/no/such/file.json"), std::nullopt);
  EXPECT_THAT(Wrong(ValueForm::kTarget, "x86-znver44"),
              Optional(StartsWith("--flag=x86-znver44: there is no such target; did you mean x86-znver4")));
}

TEST(FlagValue, Dimensions) {
  EXPECT_EQ(Wrong(ValueForm::kDim, "n=0"), std::nullopt);
  for (const char* bad : {"n", "=4", "n=", "n=-1", "n=1,2", "n=m=4", "n=x"}) {
    EXPECT_TRUE(Wrong(ValueForm::kDim, bad)) << bad;
  }
  EXPECT_EQ(Wrong(ValueForm::kDims, "n=1,37,512"), std::nullopt);
  for (const ValueForm form : {ValueForm::kDims, ValueForm::kDimSizes}) EXPECT_TRUE(Wrong(form, "n=1,0"));
  EXPECT_EQ(Wrong(ValueForm::kDimSizes, "n=0"), std::nullopt);
  EXPECT_EQ(Wrong(ValueForm::kDimSizes, "n=1,37,512"), std::nullopt);
  EXPECT_TRUE(Wrong(ValueForm::kDims, "n=0"));
  EXPECT_EQ(ReadDim("n=1,37"), std::make_pair(std::string("n"), std::vector<int64_t>{1, 37}));
}

TEST(FlagValue, EnginesFollowTargets) {
  EXPECT_EQ(EngineFor(std::nullopt), "interp");
  EXPECT_EQ(EngineFor("host"), "llvm");
  EXPECT_EQ(EngineFor("arm-neoverse-n1"), "llvm");
  EXPECT_EQ(EngineFor("cuda-sm90a"), "cuda-emulation");
}

}  // namespace
}  // namespace tilewright
