#include "codegen/cuda/wgmma_forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"

namespace tilewright::cuda {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

// The largest number of an operand of the assembly.
int LastOperand(const std::string& text) {
  int last = -1;
  for (size_t at = text.find('%'); at != std::string::npos; at = text.find('%', at + 1)) {
    last = std::max(last, std::atoi(text.c_str() + at + 1));
  }
  return last;
}

std::string Call(int columns, const std::string& types, const std::string& majors, const char* function = "wgmma") {
  return absl::Substitute("  tw::$0<$1, $2, $3>(d, a, b, 1);\n", function, columns, types, majors);
}

constexpr char kHalves[] = "float, tw::f16, tw::f16", kMajors[] = "tw::kMajorK, tw::kMajorMN";

TEST(WgmmaForms, AreThoseThatTheTextCalls) {
  EXPECT_EQ(WgmmaForms("void f() { tw::mma(d, a, b); }"), "");
  const std::string call = Call(128, kHalves, kMajors);
  const std::string forms = WgmmaForms(call + call + Call(64, "int32_t, int8_t, uint8_t", "tw::kMajorK, tw::kMajorK"));
  EXPECT_EQ(CountOf(forms, "template <>"), 2);
  EXPECT_THAT(forms, HasSubstr("struct WgmmaForm<128, float, tw::f16, tw::f16, tw::kMajorK, tw::kMajorMN> {"));
  EXPECT_THAT(forms, HasSubstr("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"));
  EXPECT_THAT(forms, HasSubstr("wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.u8"));
  EXPECT_EQ(CountOf(forms, "RunRs("), 0);
}

// A lane holds 64 x columns / 128 sums of 32 bits. Behind them come A, B, and whether the sums count.
TEST(WgmmaForms, HaveAnOperandForEachRegister) {
  for (const int columns : {8, 96, 256}) {
    const std::string memory = WgmmaForms(Call(columns, kHalves, kMajors));
    EXPECT_EQ(CountOf(memory, "\"+f\"(d.r["), columns / 2);
    EXPECT_EQ(LastOperand(memory), columns / 2 + 2);
    EXPECT_THAT(memory, HasSubstr(absl::StrCat("setp.ne.b32 p, %", columns / 2 + 2, ", 0;")));
    const std::string registers = WgmmaForms(Call(columns, kHalves, "tw::kMajorMN", "wgmma_rs"));
    EXPECT_EQ(CountOf(registers, "\"+f\"(d.r["), columns / 2);
    EXPECT_EQ(LastOperand(registers), columns / 2 + 5);
    EXPECT_EQ(CountOf(registers, "\"r\"(a["), 4);
  }
}

// Signs of A and B of floats, and how 16-bit operands in memory lie: 0 along K.
TEST(WgmmaForms, SayHowOperandsLie) {
  EXPECT_THAT(WgmmaForms(Call(64, kHalves, "tw::kMajorK, tw::kMajorMN")), HasSubstr(", p, 1, 1, 0, 1;"));
  EXPECT_THAT(WgmmaForms(Call(64, kHalves, "tw::kMajorMN, tw::kMajorK")), HasSubstr(", p, 1, 1, 1, 0;"));
  EXPECT_THAT(WgmmaForms(Call(64, kHalves, "tw::kMajorMN", "wgmma_rs")), HasSubstr(", p, 1, 1, 1;"));
  const std::string k = "tw::kMajorK, tw::kMajorK";
  EXPECT_THAT(WgmmaForms(Call(64, "float, tw::e4m3, tw::e4m3", k)), HasSubstr(", p, 1, 1;"));
  EXPECT_THAT(WgmmaForms(Call(64, "int32_t, int8_t, int8_t", k)), HasSubstr(", p;"));
}

TEST(WgmmaForms, OfMemoryAndRegistersAreOneType) {
  const std::string forms =
      WgmmaForms(Call(64, kHalves, "tw::kMajorK, tw::kMajorK") + Call(64, kHalves, "tw::kMajorK", "wgmma_rs"));
  EXPECT_EQ(CountOf(forms, "template <>"), 1);
  EXPECT_EQ(CountOf(forms, " Run("), 1);
  EXPECT_EQ(CountOf(forms, " RunRs("), 1);
}

// Columns that no instruction has: multiples of 8 to 256 for floats, of 16 beyond 32 for bytes.
TEST(WgmmaForms, NoInstructionIsNoForm) {
  for (const int columns : {0, 4, 12, 264}) EXPECT_EQ(WgmmaForms(Call(columns, kHalves, kMajors)), "") << columns;
  EXPECT_EQ(WgmmaForms(Call(64, "float, tw::f16, tw::bf16", kMajors)), "");
  EXPECT_EQ(WgmmaForms("tw::wgmma<64, float>"), "");
  EXPECT_THAT(WgmmaForms("tw::wgmma<64, float>" + Call(64, kHalves, kMajors)), Not(HasSubstr("WgmmaForm<64, float>")));
}

}  // namespace
}  // namespace tilewright::cuda
