// Products by AMX's tile registers: what stays in them, and that it is what the interpreter computes.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "absl/strings/substitute.h"
#include "codegen/llvm/object.h"
#include "codegen/testing/equivalence.h"
#include "ir/script/parser.h"

namespace tilewright {
namespace {

// $0: what is done with C. Parameters have more elements than the calls need.
constexpr char kProgram[] = R"(
@T.prim_func
def main(A: T.Buffer((4096,), "int8"), B: T.Buffer((8192,), "int8"), C: T.Buffer((1024,), "int32"), D: T.Buffer((8,), "int32")):
$0
)";
constexpr char kZero[] = "    T.evaluate(T.amx_zero(C.access_ptr(\"w\"), 448, 32, 2, 14, 32))\n";
constexpr char kAdd[] =
    "T.evaluate(T.amx_dot_add(C.access_ptr(\"rw\"), 448, 32, A.access_ptr(\"r\", offset=k * 64), 1792, 128, "
    "B.access_ptr(\"r\", offset=k * 2048), 128, 2, 14, 32, 64))\n";

std::string Program(const std::string& body) { return absl::Substitute(kProgram, body); }

std::string AssemblyOf(const std::string& program) {
  const auto module = ParseModule(program, "amx");
  EXPECT_TRUE(module.ok()) << module.status();
  const auto assembly = EmitAssembly(*module, *NamedTarget("x86-sapphirerapids"));
  EXPECT_TRUE(assembly.ok()) << assembly.status();
  return *assembly;
}

size_t Count(std::string_view text, std::string_view what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

void ExpectSame(const std::string& program) {
  if (HostTarget().has("amx-int8")) EXPECT_EQ(testing::CompareWithInterpreter(program), "") << program;
}

TEST(Amx, SumsStayInRegistersOverALoop) {
  const std::string program = Program(kZero + ("    for k in range(2):\n        " + std::string(kAdd)));
  const std::string assembly = AssemblyOf(program);
  EXPECT_EQ(Count(assembly, "tilezero"), 4u);
  EXPECT_EQ(Count(assembly, "tileloadd"), 4u);  // two of A and two of B
  EXPECT_EQ(Count(assembly, "tilestored"), 4u);
  EXPECT_EQ(Count(assembly, "ldtilecfg"), 1u);
  EXPECT_EQ(Count(assembly, "tilerelease"), 1u);
  ExpectSame(program);
}

TEST(Amx, SumsThatAreNotZeroAreLoaded) {
  const std::string program = Program("    for k in range(2):\n        " + std::string(kAdd));
  EXPECT_EQ(Count(AssemblyOf(program), "tileloadd"), 8u);
  ExpectSame(program);
}

TEST(Amx, EmptyLoopsLeaveZeros) {
  const std::string program = Program(kZero + ("    for k in range(0):\n        " + std::string(kAdd)));
  EXPECT_EQ(Count(AssemblyOf(program), "tilestored"), 4u);
  ExpectSame(program);
}

// Elsewhere each product loads and stores the sums.
TEST(Amx, SumsThatAreUsedInTheLoopAreInMemory) {
  for (const std::string use : {"        D[k] = C[k]\n", "        C[k] = C[k] + 1\n"}) {
    const std::string program = Program(kZero + ("    for k in range(2):\n        " + std::string(kAdd)) + use);
    EXPECT_EQ(Count(AssemblyOf(program), "tilestored"), 8u) << use;  // the zeros too
    ExpectSame(program);
  }
  const std::string under_condition =
      Program(kZero + ("    for k in range(2):\n        if D[k] > 0:\n            " + std::string(kAdd)));
  EXPECT_EQ(Count(AssemblyOf(under_condition), "tilestored"), 8u);
  ExpectSame(under_condition);
}

// After so many products the next store of a tile would take long.
TEST(Amx, LongSumsStoreATileAmongTheirProducts) {
  const auto stores = [](int outer, int inner) {
    const std::string program = Program(absl::Substitute(
        "$0    for k in range($1):\n        for j in range($2):\n            $3", kZero, outer, inner, kAdd));
    ExpectSame(program);
    return Count(AssemblyOf(program), "tilestored");
  };
  EXPECT_EQ(stores(2, 8), 4u);
  EXPECT_EQ(stores(2, 9), 5u);   // after each 36 products
  EXPECT_EQ(stores(2, 40), 5u);  // after each 4 of them
}

TEST(Amx, RegistersAreConfiguredForEachOfDifferentSizes) {
  const std::string program = Program(
      kZero + ("    for k in range(2):\n        " + std::string(kAdd)) +
      "    T.evaluate(T.amx_dot_add(C.access_ptr(\"rw\"), 0, 16, A.access_ptr(\"r\"), 0, 8, B.access_ptr(\"r\"), 64, "
      "1, 3, 16, 8))\n");
  const std::string assembly = AssemblyOf(program);
  EXPECT_EQ(Count(assembly, "ldtilecfg"), 2u);
  EXPECT_EQ(Count(assembly, "tilerelease"), 2u);
  ExpectSame(program);
}

TEST(Amx, EachThreadConfiguresItsRegisters) {
  const std::string program = Program(
      "    for i in T.parallel(2):\n        for k in range(2):\n            "
      "T.evaluate(T.amx_dot_add(C.access_ptr(\"rw\", "
      "offset=i * 512), 256, 16, A.access_ptr(\"r\", offset=k * 64), 2048, 128, B.access_ptr(\"r\", offset=k * 1024), "
      "64, 2, 16, 16, 64))\n");
  EXPECT_EQ(Count(AssemblyOf(program), "ldtilecfg"), 1u);
  if (HostTarget().has("amx-int8")) EXPECT_EQ(testing::CompareWithInterpreter(program, {.parallel = true}), "");
}

TEST(Amx, SizesThatRegistersDoNotHoldAreRefused) {
  const auto module =
      ParseModule(Program("    T.evaluate(T.amx_dot_add(C.access_ptr(\"rw\"), 0, 32, A.access_ptr(\"r\"), 0, 64, "
                          "B.access_ptr(\"r\"), 128, 1, 17, 32, 64))\n"),
                  "amx");
  ASSERT_TRUE(module.ok()) << module.status();
  const auto assembly = EmitAssembly(*module, *NamedTarget("x86-sapphirerapids"));
  ASSERT_FALSE(assembly.ok());
  EXPECT_NE(std::string(assembly.status().message()).find("amx_dot_add of types or sizes"), std::string::npos);
}

}  // namespace
}  // namespace tilewright
