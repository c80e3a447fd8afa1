#include "autoschedule/normalize/widen_sums.h"

#include <gtest/gtest.h>

#include <string>

#include "autoschedule/sketch/auto_schedule.h"
#include "codegen/testing/equivalence.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/script/trace_text.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

constexpr const char* kSquares = R"(
@T.prim_func
def main(A: T.Buffer((4, 16), "TYPE"), C: T.Buffer((4,), "TYPE")):
    for i, k in T.grid(4, 16):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])INIT
            C[vi] = C[vi] + A[vi, vk] * A[vi, vk]
)";

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// The text of squares summed up in `type`, as the target's rules get it.
std::string Widened(const std::string& type, bool with_init, const char* target) {
  const std::string init = with_init ? "\n            with T.init():\n                C[vi] = T.TYPE(0)" : "";
  const std::string text = Replaced(Replaced(kSquares, "INIT", init), "TYPE", type);
  Schedule sch{Module(ParseFunctionOrDie(text))};
  const bool widened = WidenSums(sch, "main", *NamedTarget(target));
  return widened ? Print(sch.module().Main()) : "unchanged";
}

TEST(WidenSums, WhereTheTargetHasNoArithmeticOfTheType) {
  EXPECT_NE(Widened("float16", true, "x86-znver4").find("C_global[vi] = C_global[vi] + T.Cast(\"float32\", A[vi, vk])"),
            std::string::npos);
  EXPECT_NE(Widened("bfloat16", true, "arm-neoverse-n1").find("C[v0] = T.Cast(\"bfloat16\", C_global[v0])"),
            std::string::npos);
  EXPECT_EQ(Widened("float16", true, "x86-sapphirerapids"), "unchanged");
  EXPECT_EQ(Widened("float16", true, "arm-neoverse-n1"), "unchanged");
  EXPECT_EQ(Widened("float32", true, "x86-znver4"), "unchanged");
  EXPECT_EQ(Widened("float16", true, "cuda-sm80"), "unchanged");
}

TEST(WidenSums, WhatIsAddedToAnArrayIsASumFirst) {
  const std::string text = Widened("float16", false, "x86-znver4");
  EXPECT_NE(text.find("C_sum_global[vi] = C_sum_global[vi] + T.Cast(\"float32\", A[vi, vk])"), std::string::npos)
      << text;
  EXPECT_EQ(Widened("float32", false, "x86-znver4"), "unchanged");
}

// Sums in halves whose partial sums are exact: a product with a bias, one with weights of four bits that are scaled,
// one with a vector, a padded convolution, and rows.
constexpr const char* kProduct = R"(
@T.prim_func
def main(A: T.Buffer((19, 24), "TYPE"), B: T.Buffer((24, 40), "TYPE"), E: T.Buffer((40,), "TYPE"), D: T.Buffer((19, 40), "TYPE")):
    C = T.alloc_buffer((19, 40), "TYPE")
    for i, j, k in T.grid(19, 40, 24):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.TYPE(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * T.TYPE(0.25) * B[vk, vj]
    for i, j in T.grid(19, 40):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj] + E[vj], T.TYPE(0))
)";
constexpr const char* kFourBits = R"(
@T.prim_func
def main(W: T.Buffer((48, 4), "uint32"), S: T.Buffer((48, 2), "TYPE"), X: T.Buffer((ROWS, 32), "TYPE"), C: T.Buffer((ROWS, 48), "TYPE")):
    B = T.alloc_buffer((48, 32), "TYPE")
    for i, j in T.grid(48, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = (T.Cast("TYPE", W[vi, vj // 8] >> T.Cast("uint32", vj % 8 * 4) & T.uint32(15)) - T.TYPE(1)) * S[vi, vj // 16]
    for i, j, k in T.grid(ROWS, 48, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.TYPE(0)
            C[vi, vj] = C[vi, vj] + X[vi, vk] * T.TYPE(0.125) * B[vj, vk]
)";
constexpr const char* kConvolution = R"(
@T.prim_func
def main(X: T.Buffer((8, 9, 9), "TYPE"), W: T.Buffer((16, 8, 3, 3), "TYPE"), C: T.Buffer((16, 9, 9), "TYPE")):
    P = T.alloc_buffer((8, 11, 11), "TYPE")
    for c, y, x in T.grid(8, 11, 11):
        with T.block("P"):
            vc, vy, vx = T.axis.remap("SSS", [c, y, x])
            P[vc, vy, vx] = T.if_then_else(1 <= vy and vy < 10 and 1 <= vx and vx < 10, X[vc, vy - 1, vx - 1], T.TYPE(0))
    for f, y, x, c, r, s in T.grid(16, 9, 9, 8, 3, 3):
        with T.block("C"):
            vf, vy, vx, vc, vr, vs = T.axis.remap("SSSRRR", [f, y, x, c, r, s])
            with T.init():
                C[vf, vy, vx] = T.TYPE(0)
            C[vf, vy, vx] = C[vf, vy, vx] + P[vc, vy + vr, vx + vs] * T.TYPE(0.0625) * W[vf, vc, vr, vs]
)";
constexpr const char* kRows = R"(
@T.prim_func
def main(A: T.Buffer((7, 40), "TYPE"), D: T.Buffer((7, 40), "TYPE")):
    M = T.alloc_buffer((7,), "TYPE")
    S = T.alloc_buffer((7,), "TYPE")
    for i, k in T.grid(7, 40):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.TYPE(-1000)
            M[vi] = T.max(M[vi], A[vi, vk])
    for i, k in T.grid(7, 40):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.TYPE(0)
            S[vi] = S[vi] + (A[vi, vk] - M[vi]) * T.TYPE(0.5)
    for i, k in T.grid(7, 40):
        with T.block("D"):
            vi, vk = T.axis.remap("SS", [i, k])
            D[vi, vk] = A[vi, vk] - S[vi]
)";

// The module by the rules; what it computes on this machine is what the program computes.
void ExpectSame(const std::string& text, const char* type) {
  const Function program = ParseFunctionOrDie(Replaced(text, "TYPE", type));
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Target host = HostTarget();
  for (const char* native : {"avx512fp16", "fullfp16"}) std::erase(host.features, native);
  for (const Target& target : {host, *NamedTarget("x86-znver3"), *NamedTarget("arm-cortex-a72")}) {
    const AutoScheduled result = AutoSchedule(Module(program), target, &intrins);
    ASSERT_TRUE(result.refused.empty()) << result.refused[0].ToString();
    EXPECT_NE(ToText(result.schedule.trace()).find("widen_sum"), std::string::npos) << target.name;
    const Function scheduled = result.schedule.module().Find("main");
    EXPECT_NE(VerifyProgram(scheduled, &target).verdict(), Verdict::kRefuted) << target.name;
    if (target.name != host.name) continue;
    EXPECT_EQ(testing::CompareWithInterpreter(result.schedule.module(),
                                              {.target = host, .original = program, .integers = 4, .tolerance = 0}),
              "")
        << Print(scheduled);
  }
}

TEST(WidenSums, ComputesTheSameByTheRules) {
  for (const char* type : {"float16", "bfloat16"}) {
    for (const char* text : {kProduct, kConvolution, kRows}) ExpectSame(text, type);
    for (const char* rows : {"1", "2", "16"}) ExpectSame(Replaced(kFourBits, "ROWS", rows), type);
  }
}

}  // namespace
}  // namespace tilewright
