#include "schedule/algebra/split_offset.h"

#include <gtest/gtest.h>

#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/recorder/schedule.h"
#include "schedule/testing/equivalence.h"

namespace tilewright {
namespace {

// C[vi, vj] adds up `term`, from `init` on.
Module Sum(const std::string& term, const std::string& init = "0") {
  return ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4, 6), "uint8"), B: T.Buffer((6, 5), "int8"), z: T.Buffer((5,), "int32"), y: T.Buffer((6,), "int32"), C: T.Buffer((4, 5), "int32")):
    for i, j, k in T.grid(4, 5, 6):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = )" +
                    init + "\n            C[vi, vj] = C[vi, vj] + " + term + "\n");
}

constexpr char kA[] = "T.Cast(\"int32\", A[vi, vk])", kB[] = "T.Cast(\"int32\", B[vk, vj])";

// The program with the offset of that factor split off.
Module Split(const Module& module, int64_t factor) {
  Schedule sch{module};
  const auto result = sch.Apply("split_offset", {*sch.GetBlock("C"), factor});
  EXPECT_TRUE(result.ok());
  testing::ExpectEquivalent(module.Main(), sch.module().Main());
  return sch.module();
}

TEST(SplitOffset, LeavesAProductOfElements) {
  const std::string text = Print(Split(Sum(std::string("(") + kA + " - 7) * " + kB), 0).Main());
  EXPECT_NE(text.find("C_offset[v0] = C_offset[v0] + T.Cast(\"int32\", B[v1, v0])\n"), text.npos) << text;
  EXPECT_NE(text.find("C_sum[vi, vj] = C_sum[vi, vj] + T.Cast(\"int32\", A[vi, vk]) * T.Cast(\"int32\", B[vk, vj])\n"),
            text.npos)
      << text;
  EXPECT_NE(text.find("C[v0, v1] = C_sum[v0, v1] - 7 * C_offset[v1]\n"), text.npos) << text;
}

TEST(SplitOffset, KeepsResults) {
  const std::string a = kA, b = kB;
  Split(Sum("(" + a + " + 7) * " + b), 0);
  Split(Sum("(9 - " + a + ") * " + b), 0);
  Split(Sum(a + " * (" + b + " - z[vj])"), 1);
  Split(Sum("(z[vj] - " + b + ") * " + a, "z[vj]"), 0);
  // The others use no spatial iterator.
  Split(Sum("(" + a + " - z[vj]) * y[vk]", "5"), 0);
  // Terms that are the same for all: 6 * 7.
  Split(Sum("(" + a + " - 7) * 3 * " + b), 0);
}

TEST(SplitOffset, OneFactorAfterTheOther) {
  Schedule sch{Sum(std::string("(") + kA + " - 7) * (z[vj] + " + kB + ")")};
  const Module before = sch.module();
  const BlockRv block = *sch.GetBlock("C");
  // z may have any value: what is multiplied by A - 7 first would leave int32.
  for (int64_t factor : {1, 0}) ASSERT_TRUE(sch.Apply("split_offset", {block, factor}).ok());
  testing::ExpectEquivalent(before.Main(), sch.module().Main());
  EXPECT_NE(Print(sch.module().Main()).find("T.Cast(\"int32\", A[vi, vk]) * T.Cast(\"int32\", B[vk, vj])\n"),
            std::string::npos);
}

// Sums that end at the ends of int32, of parts that lie outside.
TEST(SplitOffset, AtTheEndsOfTheType) {
  const std::string low = "T.Cast(\"int32\", T.Cast(\"int32\", B[vk, vj]) % 2 != 0)";
  // At most 6 terms.
  for (const auto& [term, wraps] : {std::pair("(" + std::string(kA) + " - 357913941) * " + low, false),
                                    {"(" + std::string(kA) + " - 357913942) * " + low, true}}) {
    const std::string text = Print(Split(Sum(term), 0).Main());
    EXPECT_EQ(text.find("uint32") != text.npos, wraps) << text;
  }
  const Module before = ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((2, 2), "int32"), B: T.Buffer((2,), "int32"), z: T.Buffer((1,), "int32"), C: T.Buffer((2,), "int32")):
    for i, k in T.grid(2, 2):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + (A[vi, vk] - z[0]) * B[vk]
)");
  const Module after = Split(before, 0);
  for (const Module& module : {before, after}) {
    const NDArray a(DataType::Int(32), {2, 2}), b(DataType::Int(32), {2}), z(DataType::Int(32), {1});
    const NDArray c(DataType::Int(32), {2});
    const int64_t zero = 2147483646;
    z.SetInt(0, zero);
    // (1, 0) and (0, -2)
    for (int64_t i = 0; i < 4; ++i) a.SetInt(i, zero + (i == 0 ? 1 : i == 3 ? -2 : 0));
    b.SetInt(0, 2147483647);
    b.SetInt(1, 1073741824);
    const auto program = interp::Compile(module.Main(), interp::CompileOptions::AllChecks());
    ASSERT_TRUE(program.ok());
    EXPECT_EQ(program->Run({a, b, z, c}).message(), "");
    EXPECT_EQ(c.GetInt(0), 2147483647);
    EXPECT_EQ(c.GetInt(1), -2147483648);
  }
}

// Sums wrap around: only what adds both up needs the unsigned type where the depth, or an offset, is unknown.
TEST(SplitOffset, SumsOfAnyLengthKeepTheirType) {
  const std::string text = Print(Split(ParseOrDie(R"(
@T.prim_func
def main(a: T.handle, b: T.handle, C: T.Buffer((4, 5), "int32"), n: T.int32):
    A = T.match_buffer(a, (4, n), "uint8")
    B = T.match_buffer(b, (n, 5), "int8")
    for i, j, k in T.grid(4, 5, n):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + (T.Cast("int32", A[vi, vk]) - 7) * T.Cast("int32", B[vk, vj])
)"),
                                       0)
                                     .Main());
  EXPECT_NE(text.find("C_offset = T.alloc_buffer((5,), \"int32\")"), text.npos) << text;
  EXPECT_NE(text.find("C_sum = T.alloc_buffer((4, 5), \"int32\")"), text.npos) << text;
  EXPECT_NE(text.find("C[v0, v1] = T.Cast(\"int32\", T.Cast(\"uint32\", C_sum[v0, v1]) - "), text.npos) << text;
}

std::string Refused(const Module& module, int64_t factor) {
  Schedule sch{module};
  const auto result = sch.Apply("split_offset", {*sch.GetBlock("C"), factor});
  return result.ok() ? "" : RenderLine(result.refusal(), sch.refused_function());
}

TEST(SplitOffset, Refuses) {
  const std::string a = kA, b = kB, product = "(" + a + " - 7) * " + b;
  EXPECT_EQ(Refused(Sum(product), 2), "split_offset: 2 names none of several factors of block C; it has 2");
  EXPECT_EQ(Refused(Sum("(" + a + " - 7)"), 0), "split_offset: 0 names none of several factors of block C; it has 1");
  EXPECT_EQ(
      Refused(Sum(product), 1),
      "split_offset: T.Cast(\"int32\", B[vk, vj]) in block C is not a sum of which one side is the same for all terms");
  EXPECT_EQ(
      Refused(Sum("(" + a + " - y[vk]) * " + b), 0),
      "split_offset: T.Cast(\"int32\", A[vi, vk]) - y[vk] in block C is not a sum of which one side is the same for "
      "all terms");
  EXPECT_EQ(Refused(Sum("(" + a + " - 7) * C[vi, vj]"), 0), "split_offset: C[vi, vj] reads what block C stores to");
  const auto other = [](const char* statements) {
    return Refused(ParseOrDie(std::string(R"(
@T.prim_func
def main(A: T.Buffer((4, 6), "float32"), C: T.Buffer((5,), "float32")):
    for i, k in T.grid(4, 6):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
)") + statements),
                   0);
  };
  EXPECT_EQ(other("            C[vi] = C[vi] + (A[vi, vk] - T.float32(7)) * A[vi, vk]\n"),
            "split_offset: block C is not a sum of terms with an init");
  EXPECT_EQ(other(R"(            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + (A[vi, vk] - T.float32(7)) * A[vi, vk]
)"),
            "split_offset: block C adds up float32, no integers");
  EXPECT_EQ(other(R"(            with T.init():
                C[vi + 1] = T.float32(0)
            C[vi] = C[vi] + (A[vi, vk] - T.float32(7)) * A[vi, vk]
)"),
            "split_offset: the init of block C does not only store where it adds");
  EXPECT_EQ(
      other(R"(            with T.init():
                C[vi + 1] = T.float32(0)
            C[vi + 1] = C[vi + 1] + (A[vi, vk] - T.float32(7)) * A[vi, vk]
)"),
      "split_offset: block C does not store at its spatial iterators, each one index and from 0, and add up along "
      "others");
}

}  // namespace
}  // namespace tilewright
