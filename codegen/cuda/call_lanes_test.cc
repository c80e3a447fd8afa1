#include "codegen/cuda/call_lanes.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "ir/script/printer.h"

namespace tilewright::cuda {
namespace {

// Variables NAME0, NAME1, ...
ExprLanes Variables(const std::string& name, size_t count, DataType type) {
  ExprLanes lanes;
  for (size_t i = 0; i < count; ++i) lanes.push_back(Var(absl::StrCat(name, i), type));
  return lanes;
}

std::string TextOf(const ExprLanes& lanes) {
  std::string text;
  for (const Expr& lane : lanes) absl::StrAppend(&text, text.empty() ? "" : "; ", Print(lane));
  return text;
}

constexpr DataType kS32 = DataType::Int(32), kU32 = DataType::UInt(32), kU8 = DataType::UInt(8),
                   kF32 = DataType::Float(32);

TEST(CallLanes, ADotAddsNeighbouringTermsToEachSum) {
  EXPECT_EQ(TextOf(DotLanes(kS32, Variables("c", 2, kS32), Variables("a", 4, kS32), Variables("b", 4, kS32))),
            "c0 + a0 * b0 + a1 * b1; c1 + a2 * b2 + a3 * b3");
}

TEST(CallLanes, ADotWidensItsTerms) {
  EXPECT_EQ(TextOf(DotLanes(kS32, Variables("c", 1, kS32), Variables("a", 1, kU8), Variables("b", 1, kU8))),
            "c0 + T.Cast(\"int32\", a0) * T.Cast(\"int32\", b0)");
}

TEST(CallLanes, ALookupWrapsItsNumbers) {
  const std::string text = TextOf(LookupLanes(Variables("t", 2, kF32), Variables("i", 1, kS32)));
  EXPECT_EQ(text, "T.Select(i0 & 1 == 1, t1, t0)");
}

TEST(CallLanes, BytesBecomeAWordLowestFirst) {
  const ExprLanes words = ReinterpretLanes(kU32, 1, Variables("x", 4, kU8));
  ASSERT_EQ(words.size(), 1u);
  EXPECT_EQ(words[0].dtype(), kU32);
  EXPECT_EQ(TextOf(words),
            "T.Cast(\"uint32\", x0) | T.Cast(\"uint32\", x1) << T.uint32(8) | T.Cast(\"uint32\", x2) << T.uint32(16) | "
            "T.Cast(\"uint32\", x3) << T.uint32(24)");
}

TEST(CallLanes, AWordBecomesBytesLowestFirst) {
  const ExprLanes bytes = ReinterpretLanes(kU8, 4, Variables("x", 1, kF32));
  ASSERT_EQ(bytes.size(), 4u);
  EXPECT_EQ(bytes[0].dtype(), kU8);
  EXPECT_EQ(Print(bytes[0]), "T.Cast(\"uint8\", T.reinterpret(\"uint32\", x0))");
  EXPECT_EQ(Print(bytes[3]), "T.Cast(\"uint8\", T.reinterpret(\"uint32\", x0) >> T.uint32(24))");
}

TEST(CallLanes, ValuesOfOneWidthKeepTheirLanes) {
  EXPECT_EQ(TextOf(ReinterpretLanes(kU32, 2, Variables("x", 2, kF32))),
            "T.reinterpret(\"uint32\", x0); T.reinterpret(\"uint32\", x1)");
}

}  // namespace
}  // namespace tilewright::cuda
