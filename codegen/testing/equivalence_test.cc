// Programs of every type and statement kind: compiled code computes what the interpreter computes.
#include "codegen/testing/equivalence.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "codegen/testing/programs.h"
#include "ir/ops/conv.h"
#include "ir/ops/matmul.h"

namespace tilewright {
namespace {

using testing::CompareWithInterpreter;

std::string Substitute(const char* program, const std::string& a, const std::string& b = "") {
  return absl::Substitute(program, a, b);
}

// ---- Dot products: by one instruction, and where the target has none

TEST(DotAdd, ComputesTheSameWithAndWithoutInstructions) {
  struct {
    const char *a, *b, *c;
    int group;
  } const kTypes[] = {{"bfloat16", "bfloat16", "float32", 2}, {"uint8", "int8", "int32", 4},
                      {"int8", "int8", "int32", 4},           {"int16", "int16", "int32", 2},
                      {"float16", "float16", "float32", 2},   {"int8", "int8", "int32", 1}};
  for (const auto& types : kTypes) {
    for (int extent : {16, 21, 1}) {
      const std::string program = absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer(($3,), "$0"), B: T.Buffer(($4, $3), "$1"), C: T.Buffer(($4,), "$2")):
    for i in T.vectorized($4):
        with T.block("C"):
            vi = T.axis.spatial($4, i)
            C[vi] = T.dot_add(C[vi], A[T.Ramp(0, 1, $3)], B[vi, T.Ramp(0, 1, $3)])
)",
                                                   types.a, types.b, types.c, types.group, extent);
      EXPECT_EQ(CompareWithInterpreter(program), "") << types.a << " " << extent;
      testing::ComparisonOptions plain;
      for (const char* feature : {"avx512bf16", "avx512vnni"}) std::erase(plain.target.features, feature);
      EXPECT_EQ(CompareWithInterpreter(program, plain), "") << types.a << " " << extent << " plain";
    }
  }
}

// ---- Storage: padded rows, software pipelines, double buffers

// A product over panels. $0, $1: annotations of the loop over panels and of the blocks that load; $2: the panels'
// scope.
constexpr char kPanels[] = R"(
@T.prim_func
def main(A: T.Buffer((16, 24), "float32"), B: T.Buffer((24, 32), "float32"), C: T.Buffer((16, 32), "float32")):
    with T.block("root"):
        As = T.alloc_buffer((16, 24), "float32", scope="$2")
        Bs = T.alloc_buffer((24, 32), "float32", scope="$2")
        for i0 in T.parallel(2):
            for k0 in T.serial(6, annotations={$0}):
                for i, k in T.grid(8, 4):
                    with T.block("As"):
                        vi = T.axis.spatial(16, i0 * 8 + i)
                        vk = T.axis.spatial(24, k0 * 4 + k)
                        T.block_attr({$1})
                        As[vi, vk] = A[vi, vk]
                for k in range(4):
                    for j in T.vectorized(32):
                        with T.block("Bs"):
                            vk = T.axis.spatial(24, k0 * 4 + k)
                            vj = T.axis.spatial(32, j)
                            T.block_attr({$1})
                            Bs[vk, vj] = B[vk, vj]
                for i, k in T.grid(8, 4):
                    for j in T.vectorized(32):
                        with T.block("C"):
                            vi = T.axis.spatial(16, i0 * 8 + i)
                            vj = T.axis.spatial(32, j)
                            vk = T.axis.reduce(24, k0 * 4 + k)
                            with T.init():
                                C[vi, vj] = T.float32(0)
                            C[vi, vj] = C[vi, vj] + As[vi, vk] * Bs[vk, vj]
)";

TEST(Storage, PaddedRowsAndPipelinesComputeTheSame) {
  const std::string padded = R"("buffer_dim_align": [[0, 0, 32, 7]])", doubled = R"("double_buffer_scope": 0)";
  for (const char* scope : {"global", "local", "register"}) {
    for (const char* stages : {"[0, 0, 0]", "[0, 0, 1]", "[0, 1, 3]", "[0, 0, 9]"}) {
      const std::string pipeline =
          absl::Substitute(R"("software_pipeline_stage": $0, "software_pipeline_order": [2, 0, 1])", stages);
      const bool reordered = std::string_view(stages) != "[0, 0, 0]";  // As would come after its use
      EXPECT_EQ(CompareWithInterpreter(absl::Substitute(kPanels, reordered ? pipeline : "", padded, scope)), "")
          << scope << stages;
    }
    EXPECT_EQ(CompareWithInterpreter(absl::Substitute(kPanels, "", absl::StrCat(padded, ", ", doubled), scope)), "")
        << scope;
  }
}

// An intrinsic's view of a tile takes the padded strides of what it is a part of.
TEST(Storage, ViewsTakePaddedStrides) {
  EXPECT_EQ(CompareWithInterpreter(R"(
@T.prim_func
def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32")):
    with T.block("root"):
        X = T.alloc_buffer((16, 16), "float32")
        for i, j in T.grid(16, 16):
            with T.block("X"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.block_attr({"buffer_dim_align": [[0, 0, 32, 5]]})
                X[vi, vj] = A[vi, vj]
        for i0, j0 in T.grid(4, 4):
            with T.block("tile"):
                vi, vj = T.axis.remap("SS", [i0, j0])
                T.reads(X[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4])
                T.writes(B[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4])
                s0, s1 = T.int32(), T.int32()
                tile = T.match_buffer(X[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4], (4, 4), "float32", strides=[s0, s1],
                                      offset_factor=1)
                for i, j in T.grid(4, 4):
                    B[vi * 4 + i, vj * 4 + j] = tile[j, i]
)"),
            "");
}

// ---- Caches

// Rows that are aligned, and rows that are not.
TEST(Caches, HintsChangeNoResult) {
  for (const char* kind : {"serial", "parallel"}) {
    for (const int columns : {64, 50}) {
      EXPECT_EQ(CompareWithInterpreter(absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((9, $1), "float32"), O: T.Buffer((9, $1), "float32")):
    for i in T.$0(9, annotations={"tilewright.prefetch_next": 1, "tilewright.stream": 1}):
        S = T.decl_buffer((16,))
        S[0:16] = T.Broadcast(T.float32(0), 16)
        for k in range(3):
            S[0:16] = S[0:16] + A[i, k * 16:k * 16 + 16]
        for k in range(3):
            O[i, k * 16:k * 16 + 16] = A[i, k * 16:k * 16 + 16] * S[0:16]
        for k in range($1 - 48):
            O[i, k + 48] = A[i, k + 48]
)",
                                                        kind, columns)),
                "")
          << kind << columns;
    }
  }
}

// ---- Types

class AllTypes : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Types, AllTypes,
                         ::testing::Values("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
                                           "float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2"),
                         [](const auto& name) { return name.param; });

TEST_P(AllTypes, Arithmetic) {
  for (const char* kind : {"serial", "vectorized", "unroll", "parallel"}) {
    EXPECT_EQ(CompareWithInterpreter(Substitute(R"(
@T.prim_func
def main(A: T.Buffer((37,), "$0"), B: T.Buffer((37,), "$0"), C: T.Buffer((37,), "$0"), D: T.Buffer((37,), "$0")):
    for i in T.$1(37):
        with T.block("C"):
            vi = T.axis.spatial(37, i)
            C[vi] = A[vi] * B[vi] + A[vi]
            D[vi] = T.max(T.min(A[vi], B[vi]), A[vi] - B[vi])
)",
                                                GetParam(), kind)),
              "")
        << kind;
  }
}

TEST_P(AllTypes, ConvertsToAndFrom) {
  for (const char* other : {"int8", "int32", "float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "bool"}) {
    const bool narrow = std::string_view(GetParam()).starts_with("u");
    EXPECT_EQ(CompareWithInterpreter(Substitute(R"(
@T.prim_func
def main(A: T.Buffer((40,), "$0"), B: T.Buffer((40,), "$1"), C: T.Buffer((40,), "$0")):
    for i in T.vectorized(40):
        with T.block("C"):
            vi = T.axis.spatial(40, i)
            B[vi] = T.Cast("$1", A[vi])
            C[vi] = T.Cast("$0", B[vi])
)",
                                                GetParam(), other),
                                     {.low = narrow ? 0.0 : -100.0, .high = 100, .tolerance = 0}),
              "")
        << other;
  }
}

TEST_P(AllTypes, ComparesAndSelects) {
  EXPECT_EQ(CompareWithInterpreter(Substitute(R"(
@T.prim_func
def main(A: T.Buffer((24,), "$0"), B: T.Buffer((24,), "$0"), C: T.Buffer((24,), "bool"), D: T.Buffer((24,), "$0")):
    for i in T.vectorized(24):
        with T.block("C"):
            vi = T.axis.spatial(24, i)
            C[vi] = (A[vi] < B[vi]) or (A[vi] == B[vi]) and not (B[vi] >= A[vi])
            D[vi] = T.Select(A[vi] <= B[vi], A[vi], B[vi])
)",
                                              GetParam())),
            "");
}

TEST_P(AllTypes, Reduces) {
  EXPECT_EQ(CompareWithInterpreter(Substitute(R"(
@T.prim_func
def main(A: T.Buffer((7, 19), "$0"), B: T.Buffer((7,), "$0")):
    for i, k in T.grid(7, 19):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.Cast("$0", T.float32(0))
            B[vi] = B[vi] + A[vi, vk]
)",
                                              GetParam()),
                                   {.low = -1, .high = 1}),
            "");
}

class IntegerTypes : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Types, IntegerTypes, ::testing::Values("int8", "uint8", "int32", "uint32", "int64"),
                         [](const auto& name) { return name.param; });

TEST_P(IntegerTypes, DividesAndShifts) {
  const bool is_unsigned = std::string_view(GetParam()).starts_with("u");
  for (const char* kind : {"serial", "vectorized"}) {
    EXPECT_EQ(CompareWithInterpreter(Substitute(R"(
@T.prim_func
def main(A: T.Buffer((64,), "$0"), B: T.Buffer((64,), "$0"), C: T.Buffer((9, 64), "$0")):
    for i in T.$1(64):
        with T.block("C"):
            vi = T.axis.spatial(64, i)
            C[0, vi] = A[vi] // (T.bitwise_and(B[vi], T.Cast("$0", 3)) + T.Cast("$0", 1))
            C[1, vi] = A[vi] % (T.bitwise_and(B[vi], T.Cast("$0", 3)) + T.Cast("$0", 1))
            C[2, vi] = T.truncdiv(A[vi], T.Cast("$0", 7))
            C[3, vi] = T.truncmod(A[vi], T.Cast("$0", 7))
            C[4, vi] = T.bitwise_xor(A[vi], T.bitwise_or(B[vi], T.bitwise_not(A[vi])))
            C[5, vi] = T.shift_right(A[vi], T.Cast("$0", 2))
            C[6, vi] = T.shift_left(A[vi], T.Cast("$0", 1))
            C[7, vi] = T.popcount(A[vi])
            C[8, vi] = T.flip_sign_bit(A[vi])
)",
                                                GetParam(), kind),
                                     {.low = is_unsigned ? 0.0 : -60.0, .high = 60}),
              "")
        << kind;
  }
}

// ---- Operators

TEST(Operators, TiledMatmul) {
  for (int64_t m : {24, 29, 5}) {
    const Module module(testing::MakeTiledMatmul({.m = m, .n = 64, .k = 9, .rows = 12, .columns = 32}));
    EXPECT_EQ(CompareWithInterpreter(module, {.tolerance = 1e-5, .parallel = true}), "") << m;
  }
}

TEST(Operators, TiledConvolution) {
  for (int64_t size : {14, 7}) {
    const Module module(
        testing::MakeTiledConv({.size = size, .in = 3, .out = 32, .kernel = 3, .pixels = 7, .columns = 16}));
    EXPECT_EQ(CompareWithInterpreter(module, {.tolerance = 1e-5}), "") << size;
  }
}

TEST(Operators, AsWritten) {
  EXPECT_EQ(CompareWithInterpreter(Module(ops::Matmul(9, 10, 11)), {.tolerance = 1e-5}), "");
  EXPECT_EQ(CompareWithInterpreter(Module(ops::BatchMatmul(2, 9, 10, 11)), {.tolerance = 1e-5}), "");
}

}  // namespace
}  // namespace tilewright
