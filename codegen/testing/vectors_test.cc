// Vectors in the LLVM back end: each program computes what the interpreter computes.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "codegen/llvm/object.h"
#include "codegen/testing/equivalence.h"
#include "ir/script/parse_or_die.h"
#include "target/target.h"

namespace tilewright {
namespace {

using absl::Substitute;
using testing::CompareWithInterpreter;

TEST(Vectors, Masks) {
  EXPECT_EQ(CompareWithInterpreter(R"(
@T.prim_func
def main(A: T.Buffer((50,), "float32"), B: T.Buffer((64,), "float32"), C: T.Buffer((50,), "float32")):
    for o in range(4):
        for i in T.vectorized(16):
            with T.block("B"):
                vi = T.axis.spatial(64, o * 16 + i)
                B[vi] = T.if_then_else(2 <= vi and vi < 50, A[vi - 2], T.float32(5))
    for o in range(4):
        for i in T.vectorized(16):
            with T.block("C"):
                vi = T.axis.spatial(50, o * 16 + i)
                T.where(o * 16 + i < 50)
                C[vi] = B[vi] * T.float32(2)
)"),
            "");
}

// A divisor that is 0 in one lane, which a condition leaves out, leaves the other lanes alone.
TEST(Vectors, ConstantDivisorsOfLanes) {
  for (const char* type : {"uint8", "int16", "int32", "uint32", "int64"}) {
    for (const char* operation : {"//", "%"}) {
      EXPECT_EQ(CompareWithInterpreter(Substitute(R"(
@T.prim_func
def main(X: T.Buffer((8, 8), "float32"), A: T.Buffer((8, 8), "$0"), C: T.Buffer((8, 8), "$0")):
    for i in range(8):
        for j in T.vectorized(8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.if_then_else(X[vi, vj] > T.float32(0), T.Cast("$0", vi), T.if_then_else(T.Cast("$0", vj) != T.Cast("$0", 0), A[vi, vj] $1 T.Cast("$0", vj), T.Cast("$0", 7)))
)",
                                                  type, operation),
                                       {.integers = 100}),
                "")
          << type << operation;
    }
  }
}

// Lanes that a condition leaves out may hold any place and any divisor.
TEST(Vectors, ConditionsOnValuesGuardLanes) {
  for (const char* value :
       {"T.if_then_else(D[v] != 0, X[v] // D[v], -1)", "T.if_then_else(D[v] == 0, -1, X[v] % D[v])",
        "T.if_then_else(D[v] != 0 and X[v] // D[v] > 0, 1, -1)", "T.if_then_else(D[v] == 0 or X[v] % D[v] == 1, 1, -1)",
        "T.if_then_else(0 <= D[v] and D[v] < 3 and X[D[v]] > 0, X[D[v]], -1)",
        "T.if_then_else(0 <= D[v] and D[v] < 3, T.if_then_else(X[D[v]] != 0, 7 // X[D[v]], 5), -1)",
        "T.if_then_else(D[v] != 0, 100 // D[v], X[v]) + T.if_then_else(X[v] != 0, 7 % X[v], 0)"}) {
    EXPECT_EQ(CompareWithInterpreter(Substitute(R"(
@T.prim_func
def main(D: T.Buffer((37,), "int32"), X: T.Buffer((37,), "int32"), B: T.Buffer((37,), "int32"), C: T.Buffer((37,), "int32")):
    for i in T.vectorized(37):
        with T.block("B"):
            v = T.axis.spatial(37, i)
            B[v] = $0
    for i in T.vectorized(37):
        with T.block("C"):
            v = T.axis.spatial(37, i)
            C[v] = 0
            if D[v] != 0 and X[v] // D[v] != 9:
                C[v] = X[v] % D[v]
)",
                                                value)),
              "")
        << value;
  }
}

TEST(Vectors, AcrossTwoOthers) {
  for (const char* type : {"float32", "float64", "int32", "float16"}) {
    for (const int lanes : {16, 64}) {
      EXPECT_EQ(CompareWithInterpreter(Substitute(R"(
@T.prim_func
def main(A: T.Buffer((6, 131), "$0"), B: T.Buffer((4, 128), "$0")):
    for i0, j0 in T.grid(2, $1):
        for i1 in T.unroll(2):
            for j1 in T.vectorized($2):
                with T.block("B"):
                    vi = T.axis.spatial(4, i0 * 2 + i1)
                    vj = T.axis.spatial(128, j0 * $2 + j1)
                    B[vi, vj] = A[vi, vj + 1] + A[vi + 1, vj] - A[vi + 1, vj + 1] + A[vi + 1, vj + 3] + A[vi + 2, vj + 1]
)",
                                                  type, 128 / lanes, lanes)),
                "")
          << type << lanes;
    }
  }
}

TEST(Vectors, Variables) {
  EXPECT_EQ(CompareWithInterpreter(R"(
@T.prim_func
def main(A: T.Buffer((3, 40), "float32"), I: T.Buffer((40,), "int32"), V: T.Buffer((40,), "float32")):
    for k in range(3):
        for j in T.vectorized(40):
            with T.block("argmax"):
                vk, vj = T.axis.remap("RS", [k, j])
                with T.init():
                    I[vj] = -1
                    V[vj] = T.min_value("float32")
                t: T.int32 = T.Select(A[vk, vj] > V[vj], vk * 64 + vj, I[vj])
                u: T.int32 = t
                I[vj] = u + 3 * (t - u)
                V[vj] = T.max(A[vk, vj], V[vj])
)"),
            "");
}

// One of three vectors of sums is padding, which nothing reads: products for it are not computed, however many loops
// sum them up.
TEST(Vectors, ThatNothingReadsAreNotComputed) {
  const std::string program = R"(
@T.prim_func
def main(A: T.Buffer((19,), "float32"), B: T.Buffer((4, 16, 48), "float32"), C: T.Buffer((32,), "float32")):
    R = T.alloc_buffer((48,), scope="register")
    for l in T.vectorized(48):
        with T.block("zero"):
            vl = T.axis.spatial(48, l)
            R[vl] = T.float32(0)
    for w, k in T.grid(4, 16):
        for v in T.unroll(3):
            for l in T.vectorized(16):
                with T.block("sum"):
                    vw, vk = T.axis.remap("RR", [w, k])
                    vl = T.axis.spatial(48, v * 16 + l)
                    R[vl] = R[vl] + A[vw + vk] * B[vw, vk, vl]
    for l in T.vectorized(48):
        with T.block("C"):
            vl = T.axis.spatial(32, l)
            T.where(l < 32)
            C[vl] = R[vl]
)";
  EXPECT_EQ(CompareWithInterpreter(program), "");
  const auto assembly = EmitAssembly(Module(ParseFunctionOrDie(program)), *NamedTarget("x86-znver4"));
  ASSERT_TRUE(assembly.ok()) << assembly.status().message();
  const std::vector<std::string> between = absl::StrSplit(*assembly, "vfmadd");
  EXPECT_EQ(between.size() - 1, 2u) << *assembly;
}

// Halves, both sides of both limits; clamped before and after rounding, and on one side only.
TEST(Vectors, RoundedToIntegers) {
  const char* const values[] = {"T.min(T.max(T.nearbyint(A[vi]), T.float32(-100)), T.float32(100))",
                                "T.nearbyint(T.min(T.max(A[vi], T.float32(-100)), T.float32(100)))",
                                "T.max(T.min(T.nearbyint(A[vi]), T.float32(99)), T.float32(3))",
                                "T.min(T.max(T.nearbyint(A[vi]), T.float32(-99.5)), T.float32(99.5))"};
  for (const char* value : values) {
    for (const char* type : {"int8", "int16", "int32", "int64"}) {
      for (const char* loop : {"vectorized", "serial"}) {
        const std::string program = Substitute(R"(
@T.prim_func
def main(I: T.Buffer((96,), "int32"), B: T.Buffer((96,), "$1")):
    A = T.alloc_buffer((96,), "float32")
    for i in range(96):
        with T.block("A"):
            vi = T.axis.spatial(96, i)
            A[vi] = T.Cast("float32", vi * 5 - 240 + T.floormod(I[vi], 2)) * T.float32(0.5)
    for i in T.$2(96):
        with T.block("B"):
            vi = T.axis.spatial(96, i)
            B[vi] = T.Cast("$1", $0)
)",
                                               value, type, loop);
        EXPECT_EQ(CompareWithInterpreter(program), "") << program;
        const auto assembly = EmitAssembly(Module(ParseFunctionOrDie(program)), *NamedTarget("x86-haswell"));
        ASSERT_TRUE(assembly.ok()) << assembly.status().message();
        const bool rounds_alone = std::string_view(value).ends_with("99.5))") || std::string_view(type) == "int64";
        EXPECT_EQ(assembly->find("vroundp") != std::string::npos || assembly->find("vrounds") != std::string::npos,
                  rounds_alone)
            << *assembly;
      }
    }
  }
}

// A loop over single numbers calls functions of vectors, also under a condition; where it cannot be one of vectors, it
// calls the C library, and the code has no functions of vectors.
TEST(Vectors, OfFunctionsInSerialLoops) {
  constexpr char kLoop[] = R"(
@T.prim_func
def main(A: T.Buffer((65,), "float32"), B: T.Buffer((65,), "float32"), flag: T.Buffer((1,), "int32")):
    for i in range(64):
        with T.block("B"):
            vi = T.axis.opaque(64, i)
            B[vi + 1] = T.if_then_else(flag[0] < 0, $0, A[vi])
)";
  const auto contains = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  const std::string apart =
      Substitute(kLoop, "T.sin(A[vi]) * T.pow(A[vi], T.float32(0.3)) + T.cos(T.float32(2) * A[vi])");
  const std::string chain = Substitute(kLoop, "T.sin(B[vi])");
  EXPECT_EQ(CompareWithInterpreter(apart), "");
  EXPECT_EQ(CompareWithInterpreter(chain), "");
  for (const auto& [target, lanes] : {std::pair("x86-haswell", "8"), {"x86-znver4", "16"}, {"arm-neoverse-n1", "4"}}) {
    const auto vectors = EmitAssembly(Module(ParseFunctionOrDie(apart)), *NamedTarget(target));
    ASSERT_TRUE(vectors.ok()) << vectors.status();
    for (const char* function : {"sin", "cos", "pow"}) {
      EXPECT_TRUE(contains(*vectors, Substitute("tw.vector.$0.$1:", function, lanes).c_str())) << target << *vectors;
    }
    const auto numbers = EmitAssembly(Module(ParseFunctionOrDie(chain)), *NamedTarget(target));
    ASSERT_TRUE(numbers.ok()) << numbers.status();
    EXPECT_TRUE(contains(*numbers, "sinf")) << *numbers;
    EXPECT_FALSE(contains(*numbers, "tw.vector")) << *numbers;
  }
}

// Tables of any power of two entries, by an instruction where the target has one for them; numbers wrap.
TEST(Vectors, LookupsPickEntriesByTheirLowBits) {
  for (const char* type : {"float32", "bfloat16", "float16", "int32", "uint8"}) {
    for (const int entries : {2, 8, 16, 32}) {
      for (const char* number : {"int32", "uint8"}) {
        EXPECT_EQ(CompareWithInterpreter(Substitute(R"(
@T.prim_func
def main(A: T.Buffer(($1,), "$0"), I: T.Buffer((32,), "$2"), C: T.Buffer((32,), "$0")):
    with T.block("C"):
        C[0:32] = T.lookup("$0x32", A[0:$1], I[0:32])
)",
                                                    type, entries, number),
                                         {.low = 0, .high = 100}),
                  "")
            << type << " " << entries << " " << number;
      }
    }
  }
}

// Lanes a constant distance apart, forwards and backwards, whether an instruction moves such elements or not.
TEST(Vectors, ElementsAConstantDistanceApart) {
  for (const char* type : {"uint8", "int16", "bfloat16", "float16", "float32", "int64", "bool"}) {
    for (const int lanes : {4, 8, 16}) {
      for (const char* place : {"vi * 6 + 3", "90 - vi * 6", "T.Cast(\"int32\", vi) * 5"}) {
        EXPECT_EQ(CompareWithInterpreter(Substitute(R"(
@T.prim_func
def main(A: T.Buffer((100,), "$0"), B: T.Buffer((100,), "$0")):
    for i in T.vectorized($1):
        with T.block("B"):
            vi = T.axis.spatial($1, i)
            B[vi * 5 + 1] = A[$2]
)",
                                                    type, lanes, place),
                                         {.integers = 1}),
                  "")
            << type << " " << lanes << " " << place;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
