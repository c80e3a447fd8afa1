#include "schedule/reduction/rfactor.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/loops/reorder.h"
#include "schedule/loops/split.h"
#include "schedule/testing/equivalence.h"
#include "schedule/testing/expect.h"
#include "schedule/testing/programs.h"

namespace tilewright {
namespace {

using testing::BlockNamed;
using testing::ExpectContains;
using testing::ExpectEquivalent;
using testing::ExpectProgram;
using testing::LoopsOf;
using testing::ReasonOf;

// The loop at that place above the block, split by `factor`.
Function SplitLoop(const Function& f, std::string_view block, size_t place, int factor) {
  Outcome<SplitResult> result = Split(f, LoopsOf(f, block)[place], {Expr(), factor});
  EXPECT_TRUE(result.ok());
  return result->function;
}

Function Factored(const Function& f, uint32_t loop, int axis) {
  Outcome<RfactorResult> result = Rfactor(f, loop, axis);
  EXPECT_TRUE(result.ok()) << ReasonOf(result, f);
  if (!result.ok()) return f;
  EXPECT_TRUE(FindBlock(result->function, result->block)->block->name.ends_with("_rf"));
  return result->function;
}

TEST(Rfactor, FactorsPartOfTheReduction) {
  const Function before = SplitLoop(testing::Matmul(4, 8, 16), "C", 2, 4);
  const Function after = Factored(before, LoopsOf(before, "C")[3], 2);
  ExpectProgram(after, R"(
      @T.prim_func
      def main(A: T.Buffer((4, 16), "float32"), B: T.Buffer((8, 16), "float32"), C: T.Buffer((4, 8), "float32")):
          T.func_attr({"tir.noalias": True})
          C_rf = T.alloc_buffer((4, 8, 4))
          for i, j, k_0, k_1 in T.grid(4, 8, 4, 4):
              with T.block("C_rf"):
                  vk_1, vi, vj, vk_0 = T.axis.remap("SSSR", [k_1, i, j, k_0])
                  T.reads(A[vi, vk_0 * 4 + vk_1], B[vj, vk_0 * 4 + vk_1])
                  T.writes(C_rf[vi, vj, vk_1])
                  with T.init():
                      C_rf[vi, vj, vk_1] = T.float32(0)
                  C_rf[vi, vj, vk_1] = C_rf[vi, vj, vk_1] + A[vi, vk_0 * 4 + vk_1] * B[vj, vk_0 * 4 + vk_1]
          for i, j, k_1 in T.grid(4, 8, 4):
              with T.block("C"):
                  vk_1, vi, vj = T.axis.remap("RSS", [k_1, i, j])
                  T.reads(C_rf[vi, vj, vk_1])
                  T.writes(C[vi, vj])
                  with T.init():
                      C[vi, vj] = T.float32(0)
                  C[vi, vj] = C[vi, vj] + C_rf[vi, vj, vk_1])");
  ExpectEquivalent(before, after);
  // The original block and the loops that remain are the second step's.
  EXPECT_EQ(BlockNamed(after, "C"), BlockNamed(before, "C"));
  const std::vector<uint32_t> old_loops = LoopsOf(before, "C");
  EXPECT_EQ(LoopsOf(after, "C"), (std::vector<uint32_t>{old_loops[0], old_loops[1], old_loops[3]}));
}

TEST(Rfactor, StoresTheValuesWhenNothingIsLeftToReduce) {
  const Function before = testing::Matmul(4, 8, 16);
  const Function after = Factored(before, LoopsOf(before, "C")[2], -3);
  ExpectContains(after, R"(
      with T.block("C_rf"):
          vk, vi, vj = T.axis.remap("SSS", [k, i, j])
          T.reads(A[vi, vk], B[vj, vk])
          T.writes(C_rf[vk, vi, vj])
          C_rf[vk, vi, vj] = A[vi, vk] * B[vj, vk])");
  ExpectEquivalent(before, after);
}

TEST(Rfactor, KeepsUntouchedIteratorsAndLoopsInAnyOrder) {
  const Function conv = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(A: T.Buffer((4, 16, 3), "float32"), C: T.Buffer((4,), "float32")):
          for i, p, q in T.grid(4, 16, 3):
              with T.block("C"):
                  x, y, z = T.axis.remap("SRR", [i, p, q])
                  with T.init():
                      C[x] = T.float32(0)
                  C[x] = C[x] + A[x, y, z])");
  const Function split = SplitLoop(conv, "C", 1, 4);
  const std::vector<uint32_t> loops = LoopsOf(split, "C");
  Outcome<ReorderResult> reordered = Reorder(split, {loops[2], loops[0], loops[1]});
  ASSERT_TRUE(reordered.ok());
  const Function after = Factored(reordered->function, loops[2], 0);
  ExpectContains(after, R"(
      for p_1, i, p_0, q in T.grid(4, 4, 4, 3):
          with T.block("C_rf"):
              vp_1, x, vp_0, z = T.axis.remap("SSRR", [p_1, i, p_0, q]))");
  ExpectContains(after, R"(
      for p_1, i in T.grid(4, 4):
          with T.block("C"):
              vp_1, x = T.axis.remap("RS", [p_1, i]))");
  ExpectEquivalent(conv, after);
  // Twice.
  ExpectEquivalent(conv, Factored(after, LoopsOf(after, "C_rf")[3], 1));
}

// Two iterators are made of f: in the first step f itself is one, and neither of them.
TEST(Rfactor, MakesOneIteratorOfALoopThatSeveralAreMadeOf) {
  const Function before = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4, 4, 2), "float32"), C: T.Buffer((4,), "float32")):
    for i, k_0, f in T.grid(4, 2, 4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            vk = T.axis.reduce(4, k_0 * 2 + f // 2)
            vr = T.axis.reduce(2, f % 2)
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk, vr]
)");
  const Function after = Factored(before, LoopsOf(before, "C")[1], 0);
  ExpectContains(after, R"(
        with T.block("C_rf"):
            vk_0, vi, vf = T.axis.remap("SSR", [k_0, i, f])
            T.reads(A[vi, vk_0 * 2 + vf // 2, vf % 2])
)");
  ExpectEquivalent(before, after);
}

TEST(Rfactor, CombinesOnlyPartsThatHaveAValue) {
  // The spatial condition stays; parts whose reduction never starts are left out.
  Function before = SplitLoop(SplitLoop(testing::Matmul(4, 8, 16), "C", 2, 5), "C", 0, 3);
  Function after = Factored(before, LoopsOf(before, "C")[4], 0);
  ExpectContains(after, R"(
      with T.block("C"):
          vk_1 = T.axis.reduce(5, k_1)
          vi = T.axis.spatial(4, i_0 * 3 + i_1)
          vj = T.axis.spatial(8, j)
          T.where(i_0 * 3 + i_1 < 4))");
  ExpectEquivalent(before, after);
  const Function matmul = testing::Matmul(4, 8, 16);
  before = Split(matmul, LoopsOf(matmul, "C")[2], {6, 5})->function;
  after = Factored(before, LoopsOf(before, "C")[2], 0);
  ExpectContains(after, R"(
      with T.block("C"):
          vk_0, vi, vj = T.axis.remap("RSS", [k_0, i, j])
          T.where(k_0 < 4))");
  ExpectEquivalent(before, after);
  after = Factored(before, LoopsOf(before, "C")[3], 0);
  ExpectEquivalent(before, after);
}

// Partial results of which other terms than the first are left out begin with the identity.
TEST(Rfactor, GivesTheIdentityToPartsThatBeginLater) {
  for (const char* condition : {"d % 2 == 0", "d % 5 != 1", "d == 0 or d > 6", "d < 3 or (d > 4 and d != 7)"}) {
    Function before = ParseFunctionOrDie(std::string(R"(
@T.prim_func
def main(A: T.Buffer((9, 12), "float32"), Y: T.Buffer((9,), "float32")):
    for i, d in T.grid(9, 12):
        with T.block("y"):
            vi, vd = T.axis.remap("SR", [i, d])
            T.where()") + condition + R"()
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + A[vi, vd]
)");
    ExpectEquivalent(before, Factored(before, LoopsOf(before, "y")[1], 0));
    before = SplitLoop(before, "y", 1, 3);
    ExpectEquivalent(before, Factored(before, LoopsOf(before, "y")[1], 0));
    ExpectEquivalent(before, Factored(before, LoopsOf(before, "y")[2], 0));
  }
}

// A symbolic size decides which partial results have a value: all of them are computed.
TEST(Rfactor, GivesTheIdentityToPartsWithoutAValue) {
  const Function rows = ParseFunctionOrDie(R"(
@T.prim_func
def main(a: T.handle, M: T.Buffer((3,), "float32")):
    n = T.int64()
    A = T.match_buffer(a, (3, n), "float32")
    for i, k in T.grid(3, n):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.float32(-100)
            M[vi] = T.max(M[vi], A[vi, vk])
)");
  const Function before = SplitLoop(rows, "M", 1, 8);
  const Function after = Factored(before, LoopsOf(before, "M")[2], 0);
  ExpectContains(after,
                 "M_rf[vk_1, vi] = T.max(M_rf[vk_1, vi], T.if_then_else(vk_0 * T.int64(8) + vk_1 < n, "
                 "A[vi, vk_0 * T.int64(8) + vk_1], T.float32(-100)))");
  for (const int64_t n : {1, 7, 8, 9, 20}) {
    ExpectEquivalent(before, after, {.dims = {{"n", n}}});
  }
}

constexpr char kArgmax[] = R"(
@T.prim_func
def main(idx: T.Buffer((4, 20), "int32"), val: T.Buffer((4, 20), "float32"), P: T.Buffer((4,), "int32"), M: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 20):
        with T.block("argmax"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(val[vi, vk], idx[vi, vk])
            T.writes(P[vi], M[vi])
            with T.init():
                P[vi] = -1
                M[vi] = T.float32(-1000)
            v_P: T.int32 = CONDITION(P[vi], idx[vi, vk])
            v_M: T.float32 = T.Select(M[vi] >= val[vi, vk], M[vi], val[vi, vk])
            P[vi] = v_P
            M[vi] = v_M
)";

Function Argmax(std::string choice) {
  std::string text = kArgmax;
  text.replace(text.find("CONDITION(P[vi], idx[vi, vk])"), 29, choice);
  return ParseFunctionOrDie(text);
}

TEST(Rfactor, FactorsArgmax) {
  const Function argmax = Argmax("T.Select(M[vi] >= val[vi, vk], P[vi], idx[vi, vk])");
  Function before = SplitLoop(argmax, "argmax", 1, 5);
  Function after = Factored(before, LoopsOf(before, "argmax")[1], 0);
  ExpectContains(after, R"(
      for i, k_0, k_1 in T.grid(4, 4, 5):
          with T.block("argmax_rf"):
              vk_0, vi, vk_1 = T.axis.remap("SSR", [k_0, i, k_1])
              T.reads(val[vi, vk_0 * 5 + vk_1], idx[vi, vk_0 * 5 + vk_1])
              T.writes(P_rf[vk_0, vi], M_rf[vk_0, vi])
              with T.init():
                  P_rf[vk_0, vi] = -1
                  M_rf[vk_0, vi] = T.float32(-1000)
              v_P_rf: T.int32 = T.Select(M_rf[vk_0, vi] >= val[vi, vk_0 * 5 + vk_1], P_rf[vk_0, vi], idx[vi, vk_0 * 5 + vk_1])
              v_M_rf: T.float32 = T.Select(M_rf[vk_0, vi] >= val[vi, vk_0 * 5 + vk_1], M_rf[vk_0, vi], val[vi, vk_0 * 5 + vk_1])
              P_rf[vk_0, vi] = v_P_rf
              M_rf[vk_0, vi] = v_M_rf)");
  ExpectContains(after, R"(
      for i, k_0 in T.grid(4, 4):
          with T.block("argmax"):
              vk_0, vi = T.axis.remap("RS", [k_0, i])
              T.reads(P_rf[vk_0, vi], M_rf[vk_0, vi])
              T.writes(P[vi], M[vi])
              with T.init():
                  P[vi] = -1
                  M[vi] = T.float32(-1000)
              v_P: T.int32 = T.Select(M[vi] >= M_rf[vk_0, vi], P[vi], P_rf[vk_0, vi])
              v_M: T.float32 = T.Select(M[vi] >= M_rf[vk_0, vi], M[vi], M_rf[vk_0, vi])
              P[vi] = v_P
              M[vi] = v_M)");
  // Runs of consecutive values keep their order, so that ties go to the first one as before.
  ExpectEquivalent(argmax, after);
  ExpectEquivalent(argmax, Factored(argmax, LoopsOf(argmax, "argmax")[1], 1));
  // Ties go to the smaller index, in any order.
  const Function ties =
      Argmax("T.Select(M[vi] > val[vi, vk] or M[vi] == val[vi, vk] and P[vi] < idx[vi, vk], P[vi], idx[vi, vk])");
  before = SplitLoop(ties, "argmax", 1, 5);
  after = Factored(before, LoopsOf(before, "argmax")[2], 0);
  ExpectEquivalent(ties, after);
  // The other way round, and with the new value first.
  const Function turned = Argmax("T.if_then_else(val[vi, vk] > M[vi], idx[vi, vk], P[vi])");
  ExpectEquivalent(turned, Factored(turned, LoopsOf(turned, "argmax")[1], 1));
}

constexpr char kTwo[] = R"(
@T.prim_func
def main(A: T.Buffer((4, 12), "float32"), S: T.Buffer((4,), "float32"), M: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 12):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(3)
                M[vi] = T.float32(2)
            S[vi] = A[vi, vk] + S[vi]
            M[vi] = T.max(M[vi], A[vi, vk])
)";

TEST(Rfactor, FactorsIndependentOutputsAndAnyStart) {
  const Function two = ParseFunctionOrDie(kTwo);
  const Function split = SplitLoop(two, "B", 1, 3);
  for (size_t loop : {1, 2}) {
    const Function after = Factored(split, LoopsOf(split, "B")[loop], -1);
    ExpectEquivalent(two, after);
  }
  // What a sum starts with is added once; the parts start with nothing.
  ExpectContains(Factored(split, LoopsOf(split, "B")[1], -1), R"(
      with T.init():
          S_rf[vi, vk_0] = T.float32(0)
          M_rf[vi, vk_0] = T.float32(2)
      S_rf[vi, vk_0] = A[vi, vk_0 * 3 + vk_1] + S_rf[vi, vk_0]
      M_rf[vi, vk_0] = T.max(M_rf[vi, vk_0], A[vi, vk_0 * 3 + vk_1]))");
}

// The combination of partial maxima passes NaN on too.
TEST(Rfactor, FactorsMaximaThatPassNanOn) {
  for (const std::string extreme : {"T.max", "T.min"}) {
    const Function whole = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((6, 8), "float32"), M: T.Buffer((6,), "float32")):
    for i, k in T.grid(6, 8):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.float32(-4)
            M[vi] = T.Select(T.isnan(M[vi]), M[vi], )" +
                                              extreme + "(M[vi], A[vi, vk]))\n");
    const Function before = SplitLoop(whole, "M", 1, 4);
    const Function after = Factored(before, LoopsOf(before, "M")[2], 1);
    ExpectEquivalent(before, after);
    ExpectContains(after, "M[vi] = T.Select(T.isnan(M[vi]), M[vi], " + extreme + "(M[vi], M_rf[vi, vk_1]))");
  }
}

TEST(Rfactor, LeavesLaterBlocksOfTheNestInPlace) {
  const Function before = ParseFunctionOrDie(R"(
      @T.prim_func
      def main(a: T.handle, d: T.handle):
          n = T.int32()
          A = T.match_buffer(a, (n, 16), "float32")
          D = T.match_buffer(d, (n,), "float32")
          C = T.alloc_buffer((n,))
          for i in range(n):
              for k in range(16):
                  with T.block("C"):
                      vi, vk = T.axis.remap("SR", [i, k])
                      with T.init():
                          C[vi] = T.float32(0)
                      C[vi] = C[vi] + A[vi, vk]
              with T.block("D"):
                  vi = T.axis.spatial(n, i)
                  D[vi] = C[vi] * T.float32(2))");
  const Function after = Factored(before, LoopsOf(before, "C")[1], 0);
  EXPECT_EQ(LoopsOf(after, "C")[0], LoopsOf(after, "D")[0]);
  EXPECT_NE(LoopsOf(after, "C_rf")[0], LoopsOf(after, "D")[0]);
  ExpectEquivalent(before, after);
}

// A loop of the reduction without iterations sets no partial result, and the result stays what it was.
TEST(Rfactor, ReductionsThatMayHaveNoTerms) {
  for (const char* update : {"C[vi] + A[vi, vk]", "T.max(C[vi], A[vi, vk])"}) {
    const Function f = ParseFunctionOrDie(std::string(R"(
@T.prim_func
def main(a: T.handle, C: T.Buffer((5,), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (5, n), "float32")
    for i, k, l in T.grid(5, n // 4, 4):
        with T.block("C"):
            vi = T.axis.spatial(5, i)
            vk = T.axis.reduce(n // 4 * 4, k * 4 + l)
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = )") + update + "\n");
    for (const size_t loop : {1, 2}) {
      const Outcome<RfactorResult> result = Rfactor(f, LoopsOf(f, "C")[loop], 0);
      ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
      for (const int64_t n : {0, 3, 4, 9}) ExpectEquivalent(f, result->function, {.dims = {{"n", n}}});
    }
  }
}

// What the init reads of an array of terms stands in the declarations of the second step, the terms do not.
TEST(Rfactor, InitThatReadsWhatIsCombined) {
  const Function f = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((12, 12), "float32"), B: T.Buffer((12,), "float32"), O: T.Buffer((12,), "float32")):
    for i, k in T.grid(12, 12):
        with T.block("O"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                O[vi] = B[vi] + B[11 - vi]
            O[vi] = O[vi] + A[vi, vk] * B[vk]
)");
  const Outcome<RfactorResult> result = Rfactor(f, LoopsOf(f, "O")[1], 0);
  ASSERT_TRUE(result.ok()) << ReasonOf(result, f);
  ExpectEquivalent(f, ParseFunctionOrDie(Print(result->function)));
}

// Sums and products whose parts leave the type, while all terms in their order do not.
TEST(Rfactor, PartsThatLeaveTheTypeWrap) {
  for (const auto& [update, init, terms, expected] :
       {std::tuple("C[0] + A[vk]", "0", std::vector<int64_t>{2147483647, -2147483647, 2147483647, -5},
                   int64_t{2147483642}),
        std::tuple("C[0] * A[vk]", "1", std::vector<int64_t>{0, 65536, 1, 65536}, int64_t{0})}) {
    const Function before = SplitLoop(ParseFunctionOrDie(std::string(R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), C: T.Buffer((1,), "int32")):
    for k in range(4):
        with T.block("C"):
            vk = T.axis.reduce(4, k)
            with T.init():
                C[0] = )") + init +
                                                         "\n            C[0] = " + update + "\n"),
                                      "C", 0, 2);
    for (size_t loop : {0, 1}) {
      const Function after = Factored(before, LoopsOf(before, "C")[loop], 0);
      const NDArray a(DataType::Int(32), {4}), c(DataType::Int(32), {1});
      for (int64_t i = 0; i < 4; ++i) a.SetInt(i, terms[static_cast<size_t>(i)]);
      const auto program = interp::Compile(after, interp::CompileOptions::AllChecks());
      ASSERT_TRUE(program.ok());
      EXPECT_EQ(program->Run({a, c}).message(), "") << update << loop;
      EXPECT_EQ(c.GetInt(0), expected) << update << loop;
    }
  }
}

}  // namespace
}  // namespace tilewright
