#include "verify/structure/index_cases.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <string>

#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "ir/substitute.h"
#include "verify/structure/instance_order.h"
#include "verify/structure/instances.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

Verdict Judge(const std::string& text) { return Worst(VerifyProgram(ParseFunctionOrDie(text)).diagnostics); }

// O[place] = A[v] for each v below twice n.
Verdict Permute(const std::string& place, const std::string& extent = "n * 2") {
  return Judge(R"(
@T.prim_func
def main(z: T.handle, a: T.handle, o: T.handle):
    n = T.int32()
    Z = T.match_buffer(z, (n,), "float32")
    A = T.match_buffer(a, ()" +
               extent + R"(,), "float32")
    O = T.match_buffer(o, ()" +
               extent + R"(,), "float32")
    for i in range()" +
               extent + R"():
        with T.block("o"):
            v = T.axis.spatial()" +
               extent + R"(, i)
            O[)" +
               place +
               R"(] = A[v]
)");
}

TEST(IndexCases, PermutationsOfAnySizeAreProven) {
  EXPECT_EQ(Permute("v ^ 1"), Verdict::kProven);
  EXPECT_EQ(Permute("v ^ 4", "n * 8"), Verdict::kProven);
  EXPECT_EQ(Permute("v ^ 5", "n * 8"), Verdict::kProven);
  EXPECT_EQ(Permute("T.if_then_else(v % 2 == 0, v + 1, v - 1)"), Verdict::kProven);
  EXPECT_EQ(Permute("T.Select(v < n, v + n, v - n)"), Verdict::kProven);
  EXPECT_EQ(Permute("T.if_then_else(v < n, v * 2, (v - n) * 2 + 1)", "n * 2"), Verdict::kProven);
}

TEST(IndexCases, PlacesThatMeetOrLeaveAreRefused) {
  EXPECT_EQ(Permute("v ^ 2"), Verdict::kRefuted);
  EXPECT_EQ(Permute("v ^ 1", "n"), Verdict::kRefuted);
  EXPECT_EQ(Permute("T.if_then_else(v % 2 == 0, v + 1, v + 1)"), Verdict::kRefuted);
  EXPECT_EQ(Permute("T.if_then_else(v % 2 == 0, v, v - 1)"), Verdict::kRefuted);
  EXPECT_EQ(Permute("T.if_then_else(v % 3 == 0, v + 1, v - 1)"), Verdict::kRefuted);
  EXPECT_EQ(Permute("T.Select(v < n, v + n, v - n + 1)"), Verdict::kRefuted);
  EXPECT_EQ(Permute("T.Select(v <= n, v + n, v - n)"), Verdict::kRefuted);
}

// Rows of a sweep at once; `condition` says which places of a colour it updates.
Verdict Sweep(const std::string& condition, const std::string& read = "A[vi, vj + 1]") {
  return Judge(R"(
@T.prim_func
def main(A: T.Buffer((1026, 1026), "float32")):
    for c in range(2):
        for i in T.parallel(1024):
            for j in range(1024):
                with T.block("s"):
                    vc = T.axis.opaque(2, c)
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.where()" +
               condition + R"()
                    A[vi + 1, vj + 1] = )" +
               read + " * T.float32(0.5)\n");
}

TEST(IndexCases, SweepsByColourRunTheirRowsAtOnce) {
  EXPECT_EQ(Sweep("(i + j) % 2 == c"), Verdict::kProven);
  EXPECT_EQ(Sweep("(i + j) % 3 == c"), Verdict::kProven);
  EXPECT_EQ(Sweep("j % 2 == c"), Verdict::kRefuted);
  EXPECT_EQ(Sweep("(i + j * 2) % 2 == c", "A[vi, vj]"), Verdict::kProven);
  EXPECT_EQ(Sweep("(i + j) % 2 == c", "A[vi, vj]"), Verdict::kRefuted);
}

// The loop j of another iteration ends where that iteration says.
TEST(IndexCases, TrianglesOfOtherIterationsAreLonger) {
  const auto judge = [](const std::string& kind) {
    return Judge(R"(
@T.prim_func
def main(A: T.Buffer((4097,), "float32"), B: T.Buffer((4096, 4096), "float32")):
    for i in )" + kind +
                 R"((4096):
        for j in range(i + 1):
            with T.block("s"):
                vi = T.axis.opaque(4096, i)
                T.writes(A[vi + 1])
                A[vi + 1] = T.float32(1)
            with T.block("t"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vj + 1])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vj + 1]
)");
  };
  EXPECT_EQ(judge("range"), Verdict::kProven);
  EXPECT_EQ(judge("T.parallel"), Verdict::kRefuted);
}

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}
  int64_t Below(int64_t end) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(end)); }
  Expr Index(const Var& v, int depth) {
    if (depth == 0) return v * (Below(4) == 0 ? -1 : 1 + Below(2)) + (Below(9) - 4);
    if (Below(3) == 0) return Call(v.dtype(), "bitwise_xor", {v, Const(v.dtype(), 1 + Below(5))}) + Below(2);
    const Expr condition =
        Below(2) == 0 ? FloorMod(v, 2 + Below(2)) == Const(v.dtype(), Below(2)) : v < Const(v.dtype(), 1 + Below(8));
    return IfThenElse(condition, Index(v, depth - 1), Index(v, depth - 1));
  }

 private:
  std::mt19937 random_;
};

// What is said of random indices holds when they are counted.
TEST(IndexCases, WhatIsToldApartDiffers) {
  Draw draw(7);
  int64_t told = 0, wrong = 0;
  for (int round = 0; round < 3000; ++round) {
    const Var v("v", DataType::Int(32));
    const int64_t extent = 2 + draw.Below(10);
    const Expr index = draw.Index(v, 1 + static_cast<int>(draw.Below(2)));
    arith::Analyzer analyzer;
    const Range range{Const(v.dtype(), 0), Const(v.dtype(), extent)};
    analyzer.Bind(v, range);
    if (!DetermineIterators({index}, {{v, range}}, &analyzer)) continue;
    ++told;
    const auto instances = InstancesInOrder({{v, range}}, {}, {index});
    ASSERT_TRUE(instances.has_value());
    const std::set<InstanceValues> values(instances->begin(), instances->end());
    if (std::ssize(values) == extent) continue;
    ++wrong;
    ADD_FAILURE() << Print(index) << " for v below " << extent;
  }
  EXPECT_GE(told, 500);
  EXPECT_EQ(wrong, 0);
}

// The form in digits is the same number wherever the condition holds.
TEST(IndexCases, DigitsAreTheNumber) {
  const Var v("v", DataType::Int(32));
  const auto number = [](int64_t value) { return Const(DataType::Int(32), value); };
  arith::Analyzer plain;
  for (int64_t place : {1, 2, 4}) {
    for (int64_t modulus : {2, 3}) {
      for (int64_t value = -1; value <= 2; ++value) {
        const Expr digit = FloorMod(FloorDiv(v, number(place)), number(modulus));
        for (const Expr& condition : {digit == number(value), digit != number(value), Not(digit == number(value))}) {
          const Expr digits = InDigits(v + 3, condition);
          for (int64_t i = -20; i < 20; ++i) {
            const VarMap at = {{v, number(i)}};
            if (!plain.CanProve(Substitute(condition, at))) continue;
            EXPECT_EQ(AsInt(plain.Simplify(Substitute(digits, at))), i + 3) << Print(digits) << " at " << i;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
