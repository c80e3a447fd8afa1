#include "schedule/reduction/widen_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/script/parse_or_die.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::ExpectContains;
using testing::ExpectEquivalent;
using testing::ExpectProgram;
using testing::ReasonOf;

Function Widened(const Function& f, std::string_view block, int index = 0) {
  Outcome<WidenSumResult> result = WidenSum(f, BlockNamed(f, block), index, "float32");
  EXPECT_TRUE(result.ok()) << ReasonOf(result, f);
  return result.ok() ? result->function : f;
}

std::string Refused(const char* program, const char* dtype = "float32") {
  const Function f = ParseFunctionOrDie(program);
  return ReasonOf(WidenSum(f, BlockNamed(f, "C"), 0, dtype), f);
}

TEST(WidenSum, RoundsOnceBeforeTheResultIsRead) {
  const Function before = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4, 16), "float16"), W: T.Buffer((16, 8), "int8"), bias: T.Buffer((8,), "float16"), D: T.Buffer((4, 8), "float16")):
    C = T.alloc_buffer((4, 8), "float16")
    for i, j, k in T.grid(4, 8, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float16(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * T.Cast("float16", W[vk, vj])
    for i, j in T.grid(4, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + bias[vj]
)");
  const Function after = Widened(before, "C");
  ExpectProgram(after, R"(
@T.prim_func
def main(A: T.Buffer((4, 16), "float16"), W: T.Buffer((16, 8), "int8"), bias: T.Buffer((8,), "float16"), D: T.Buffer((4, 8), "float16")):
    C = T.alloc_buffer((4, 8), "float16")
    C_global = T.alloc_buffer((4, 8))
    for i, j, k in T.grid(4, 8, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], W[vk, vj])
            T.writes(C_global[vi, vj])
            with T.init():
                C_global[vi, vj] = T.float32(0)
            C_global[vi, vj] = C_global[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", W[vk, vj])
    for ax0, ax1 in T.grid(4, 8):
        with T.block("C_global"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            C[v0, v1] = T.Cast("float16", C_global[v0, v1])
    for i, j in T.grid(4, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] + bias[vj]
)");
  ExpectEquivalent(before, after);
}

TEST(WidenSum, MinimaAreExact) {
  const Function before = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4, 16), "bfloat16"), C: T.Buffer((4,), "bfloat16")):
    for i, k in T.grid(4, 16):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.bfloat16(100)
            C[vi] = T.min(A[vi, vk] * T.bfloat16(3), C[vi])
)");
  const Function after = Widened(before, "C");
  ExpectContains(after, R"(
      C_global[vi] = T.min(T.Cast("float32", A[vi, vk]) * T.float32(3), C_global[vi]))");
  ExpectEquivalent(before, after);
}

TEST(WidenSum, OneOfSeveralOutputs) {
  const Function before = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4, 16), "float16"), C: T.Buffer((4,), "float16"), D: T.Buffer((4,), "float16")):
    for i, k in T.grid(4, 16):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float16(0)
                D[vi] = T.float16(0)
            v_C: T.float16 = C[vi] + A[vi, vk]
            v_D: T.float16 = D[vi] + A[vi, vk] * A[vi, vk]
            C[vi] = v_C
            D[vi] = v_D
)");
  const Function first = Widened(before, "C", 0), both = Widened(first, "C", 1);
  ExpectContains(both, R"(
      v_C_global: T.float32 = C_global[vi] + T.Cast("float32", A[vi, vk])
      v_D_global: T.float32 = D_global[vi] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", A[vi, vk]))");
  ExpectEquivalent(before, first);
  ExpectEquivalent(before, both);
}

// What the program rounds on purpose: multiples of 2 between 2048 and 4096.
TEST(WidenSum, KeepsConversionsOfTheProgram) {
  const Function before = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4,), "float16")):
    for i, k in T.grid(4, 16):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float16(0)
            C[vi] = C[vi] + (T.Cast("float16", A[vi, vk] + T.float32(2049)) - T.float16(2048))
)");
  ExpectEquivalent(before, Widened(before, "C"));
}

// The error of the result against sums in double precision, in units of half the last place of the result.
double ErrorOf(const Function& function, uint64_t seed) {
  const NDArray a(DataType::Float(16), {4, 512}), b(DataType::Float(16), {512}), c(DataType::Float(16), {4});
  FillUniform(a, seed);
  FillUniform(b, seed + 1);
  const auto program = interp::Compile(function);
  EXPECT_TRUE(program.ok()) << program.status();
  std::vector<interp::Argument> arguments = {a, b, c};
  EXPECT_TRUE(program->Run(arguments).ok());
  double most = 0;
  for (int64_t i = 0; i < 4; ++i) {
    double sum = 0;
    for (int64_t k = 0; k < 512; ++k) sum += a.Get(i * 512 + k) * b.Get(k);
    const double half_of_last = std::ldexp(1, std::ilogb(sum) - 11);
    most = std::max(most, std::fabs(c.Get(i) - sum) / half_of_last);
  }
  return most;
}

TEST(WidenSum, IsNearerToTheExactSum) {
  const Function before = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4, 512), "float16"), B: T.Buffer((512,), "float16"), C: T.Buffer((4,), "float16")):
    for i, k in T.grid(4, 512):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float16(0)
            C[vi] = C[vi] + A[vi, vk] * B[vk]
)");
  const Function after = Widened(before, "C");
  double text = 0, widened = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    text = std::max(text, ErrorOf(before, seed));
    widened = std::max(widened, ErrorOf(after, seed));
  }
  EXPECT_GT(text, 5);
  EXPECT_LT(widened, 1.1);
}

TEST(WidenSum, Refuses) {
  const char* const sum = R"(
@T.prim_func
def main(A: T.Buffer((4, 16), "float16"), C: T.Buffer((4,), "float16")):
    for i, k in T.grid(4, 16):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float16(0)
            C[vi] = C[vi] + A[vi, vk]
)";
  EXPECT_EQ(Refused(sum, "bfloat16"), "\"bfloat16\" is not float32 or float64");
  EXPECT_EQ(Refused(sum, "float"), "\"float\" is not float32 or float64");
  EXPECT_EQ(Refused(R"(
@T.prim_func
def main(A: T.Buffer((4, 16), "int8"), C: T.Buffer((4,), "int16")):
    for i, k in T.grid(4, 16):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.int16(0)
            C[vi] = C[vi] + T.Cast("int16", A[vi, vk])
)"),
            "C, which C writes, does not hold floating-point numbers narrower than float32");
  EXPECT_EQ(Refused(R"(
@T.prim_func
def main(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 16):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]
)"),
            "C, which C writes, does not hold floating-point numbers narrower than float32");
  EXPECT_EQ(Refused(R"(
@T.prim_func
def main(A: T.Buffer((4, 16), "float16"), C: T.Buffer((4,), "float16")):
    for i, k in T.grid(4, 16):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            C[vi] = C[vi] + A[vi, vk]
)"),
            "the init of C is not one store to each of its outputs");
  // Each partial sum is rounded on purpose.
  EXPECT_EQ(Refused(R"(
@T.prim_func
def main(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4,), "float16")):
    for i, k in T.grid(4, 16):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float16(0)
            C[vi] = T.Cast("float16", T.Cast("float32", C[vi]) + A[vi, vk])
)"),
            "T.Cast(\"float16\", T.Cast(\"float32\", C[vi]) + A[vi, vk]), which C stores to C, is not a reduction that "
            "can be taken apart");
  // The place of the maximum follows it.
  EXPECT_EQ(Refused(R"(
@T.prim_func
def main(A: T.Buffer((4, 16), "float16"), C: T.Buffer((4,), "float16"), I: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 16):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi, vk])
            T.writes(C[vi], I[vi])
            with T.init():
                C[vi] = T.float16(-100)
                I[vi] = 0
            v_I: T.int32 = T.Select(C[vi] >= A[vi, vk], I[vi], vk)
            v_C: T.float16 = T.Select(C[vi] >= A[vi, vk], C[vi], A[vi, vk])
            I[vi] = v_I
            C[vi] = v_C
)"),
            "C does not combine a value into C by itself, as a sum, product, minimum or maximum");
  // What cache_write asks.
  EXPECT_EQ(Refused(R"(
@T.prim_func
def main(A: T.Buffer((4, 16), "float16"), C: T.Buffer((8,), "float16")):
    for i, k in T.grid(4, 16):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi * 2] = T.float16(0)
            C[vi * 2] = C[vi * 2] + A[vi, vk]
)"),
            "C may not write all elements of C that a copy of its output would overwrite");
}

}  // namespace
}  // namespace tilewright
