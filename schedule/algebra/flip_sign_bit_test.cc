#include "schedule/algebra/flip_sign_bit.h"

#include <gtest/gtest.h>

#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/recorder/schedule.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

// B holds a copy of A, which C uses.
Module CopyAndUse(const std::string& type, const std::string& value, const std::string& result = "int32") {
  return ParseOrDie("@T.prim_func\ndef main(A: T.Buffer((16,), \"" + type + "\"), C: T.Buffer((16,), \"" + result +
                    "\")):\n    B = T.alloc_buffer((16,), \"" + type + R"(")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi]
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = )" +
                    value + "\n");
}

std::string Flipped(const Module& module) {
  Schedule sch{module};
  EXPECT_TRUE(sch.FlipSignBit("B", 0).ok());
  testing::ExpectEquivalent(module.Main(), sch.module().Main());
  return Print(sch.module().Main());
}

bool Has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(FlipSignBit, TakesOffWhatItAddsWhereElementsAreWidened) {
  const std::string text = Flipped(CopyAndUse("int8", "T.Cast(\"int32\", B[vi]) * 3"));
  EXPECT_TRUE(Has(text, "B = T.alloc_buffer((16,), \"uint8\")")) << text;
  EXPECT_TRUE(Has(text, "B[vi] = T.flip_sign_bit(T.reinterpret(\"uint8\", A[vi]))")) << text;
  EXPECT_TRUE(Has(text, "C[vi] = (T.Cast(\"int32\", B[vi]) - 128) * 3")) << text;
}

TEST(FlipSignBit, FlipsBackElsewhere) {
  const std::string narrow = Flipped(CopyAndUse("int8", "B[vi]", "int8"));
  EXPECT_TRUE(Has(narrow, "C[vi] = T.reinterpret(\"int8\", T.flip_sign_bit(B[vi]))")) << narrow;
  Flipped(CopyAndUse("int8", "T.Cast(\"float32\", B[vi]) * T.float32(3)", "float32"));
  Flipped(CopyAndUse("int8", "T.Cast(\"int16\", B[vi]) - T.Cast(\"int16\", B[15 - vi])", "int16"));
}

TEST(FlipSignBit, FlipsUnsignedBytesToo) {
  const std::string text = Flipped(CopyAndUse("uint8", "T.Cast(\"int32\", B[vi]) * 3"));
  EXPECT_TRUE(Has(text, "B[vi] = T.flip_sign_bit(T.reinterpret(\"int8\", A[vi]))")) << text;
  EXPECT_TRUE(Has(text, "C[vi] = (T.Cast(\"int32\", B[vi]) - -128) * 3")) << text;
  Flipped(CopyAndUse("uint8", "B[vi]", "uint8"));
}

std::string Refused(const Module& module, const char* block) {
  Schedule sch{module};
  const auto result = sch.FlipSignBit(block, 0);
  return result.ok() ? "" : RenderLine(result.refusal(), sch.refused_function());
}

TEST(FlipSignBit, Refuses) {
  EXPECT_EQ(Refused(CopyAndUse("int32", "T.Cast(\"int32\", B[vi])"), "B"), "flip_sign_bit: B holds int32, no bytes");
  EXPECT_EQ(Refused(CopyAndUse("int8", "B[vi]", "int8"), "C"),
            "flip_sign_bit: C, which block C writes, is not allocated by a block");
}

}  // namespace
}  // namespace tilewright
