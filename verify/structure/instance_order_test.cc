#include "verify/structure/instance_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "ir/functor.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "verify/structure/commuting_updates.h"
#include "verify/structure/instances.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const BlockNode& OnlyBlock(const Function& function) {
  const BlockNode* found = nullptr;
  PreOrder(function->body, [&](const Stmt& s) {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize != nullptr && realize->block->name == "B") found = realize->block.get();
    return found == nullptr;
  });
  return *found;
}

Function Program(const std::string& iterators, const std::string& statements, const std::string& init = "",
                 const std::string& type = "int32") {
  std::string text = R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "TYPE"), C: T.Buffer((64, 64), "TYPE"), J: T.Buffer((64,), "TYPE"), R: T.Buffer((64,), "TYPE")):
    for i, j in T.grid(8, 16):
        with T.block("B"):
            vi, vj = T.axis.remap(")" +
                     iterators + R"(", [i, j])
)";
  if (!init.empty()) text += "            with T.init():\n                " + init + "\n";
  size_t begin = 0;
  while (begin < statements.size()) {
    const size_t end = std::min(statements.find('\n', begin), statements.size());
    text += "            " + statements.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return ParseFunctionOrDie(absl::StrReplaceAll(text, {{"TYPE", type}}));
}

// Names of the iterators along which instances are ordered.
std::vector<std::string> Ordered(const std::string& iterators, const std::string& statements,
                                 const std::string& init = "") {
  const Function function = Program(iterators, statements, init);
  const BlockNode& block = OnlyBlock(function);
  std::vector<std::string> names;
  for (const size_t i : FindOrderedInstances(block).iterators) names.push_back(block.iter_vars[i].var.name());
  return names;
}

TEST(InstanceOrder, OfOneElementEach) {
  EXPECT_THAT(Ordered("SS", "C[vi, vj] = A[vi, vj + 1]"), IsEmpty());
  EXPECT_THAT(Ordered("SS", "C[vi, vj] = C[vi, vj] * 2"), IsEmpty());
}

TEST(InstanceOrder, OfElementsOfOthers) {
  EXPECT_THAT(Ordered("SS", "C[vi, vj + 1] = C[vi, vj] + 1"), ElementsAre("vj"));
  EXPECT_THAT(Ordered("SS", "C[vi + 1, vj] = C[vi, vj] + 1"), ElementsAre("vi"));
  EXPECT_THAT(Ordered("SS", "C[vi + 1, vj + 1] = C[vi, vj]"), ElementsAre("vi", "vj"));
  EXPECT_THAT(Ordered("SS", "A[vi, vj] = C[vi, vj]\nC[vi, vj] = A[vi, 15 - vj]"), ElementsAre("vj"));
  // If memory decides, any other may be meant.
  EXPECT_THAT(Ordered("SS", "C[vi, vj] = C[J[vi], vj]"), ElementsAre("vi"));
}

TEST(InstanceOrder, OfElementsThatNeverMeet) {
  EXPECT_THAT(Ordered("SS", "C[vi, vj * 2 + 1] = C[vi, vj * 2]"), IsEmpty());
  EXPECT_THAT(Ordered("SS", "C[vi, vj // 4 * 9 + vj % 4] = C[vi, vj // 4 * 9 + vj % 4] + 1"), IsEmpty());
  EXPECT_THAT(Ordered("SS", "C[vi, vj + 16] = C[vi, vj]"), IsEmpty());
  EXPECT_THAT(Ordered("SS", "C[vi, vj + 15] = C[vi, vj]"), ElementsAre("vj"));
  EXPECT_THAT(Ordered("SS",
                      "C[vi, vj // 4 * 8 + vj % 4] = C[vi, vj // 4 * 8 + vj % 4 + 4]\n"
                      "C[vi, vj // 4 * 8 + vj % 4 + 4] = A[vi, vj]"),
              IsEmpty());
  EXPECT_THAT(Ordered("SS",
                      "C[vi, vj // 4 * 8 + vj % 4] = C[vi, vj // 4 * 8 + vj % 4 + 3]\n"
                      "C[vi, vj // 4 * 8 + vj % 4 + 3] = A[vi, vj]"),
              ElementsAre("vj"));
}

TEST(InstanceOrder, IteratorsOfRemainders) {
  arith::Analyzer analyzer;
  const Var u("u"), v("v");
  const auto below = [](int64_t n) { return Range{Const(DataType::Int(32), 0), Const(DataType::Int(32), n)}; };
  const arith::Domain both = {{u, below(8)}, {v, below(16)}};
  for (const auto& [var, range] : both) analyzer.Bind(var, range);
  const auto determine = [&](std::vector<Expr> indices) { return DetermineIterators(indices, both, &analyzer); };
  EXPECT_TRUE(determine({u, FloorMod(v * 5 + 2, 16)}));
  EXPECT_TRUE(determine({u, FloorMod(v * 5 + 2, 17)}));
  EXPECT_TRUE(determine({u * 16 + FloorMod(v * 5 + 2, 16)}));
  EXPECT_TRUE(determine({FloorMod(u * 3, 8), FloorMod(v * 5, 16)}));
  // A common divisor, more values than remainders, remainders that depend on two iterators, no place of its own.
  EXPECT_FALSE(determine({u, FloorMod(v * 6 + 2, 16)}));
  EXPECT_FALSE(determine({u, FloorMod(v * 5 + 2, 13)}));
  EXPECT_FALSE(determine({FloorMod(v * 5 + u, 16)}));
  EXPECT_FALSE(determine({u * 15 + FloorMod(v * 5 + 2, 16)}));
}

// One index says what an iterator is, and another one then what the rest is, for all sizes.
TEST(InstanceOrder, IteratorsThatIndicesTellOneByOne) {
  arith::Analyzer analyzer;
  const Var c("c"), u("u"), v("v"), n("n"), m("m");
  const Expr zero = Const(DataType::Int(32), 0);
  const arith::Domain both = {{u, {zero, n}}, {v, {zero, m}}};
  for (const auto& [var, range] : both) analyzer.Bind(var, range);
  const auto determine = [&](std::vector<Expr> indices) { return DetermineIterators(indices, both, &analyzer); };
  EXPECT_TRUE(determine({u + 1, v * 2 + FloorMod(u + c, 2) + 1}));
  EXPECT_TRUE(determine({v * 2 + FloorMod(u + c, 2) + 1, u + c}));
  EXPECT_TRUE(determine({u, FloorMod(v + u * c, m)}));
  EXPECT_TRUE(determine({u, FloorMod(c * u - v, m)}));
  EXPECT_FALSE(determine({FloorDiv(u, 2), v * 2 + FloorMod(u + c, 2)}));
  EXPECT_FALSE(determine({u, FloorDiv(v, 2) * 2 + FloorMod(u + c, 2)}));
  EXPECT_FALSE(determine({u, FloorMod(v + u, n)}));
  EXPECT_FALSE(determine({u + v, v * 2 + FloorMod(u + c, 2)}));
}

// Indices drawn at random of iterators with few values: what is said to tell them apart does, counted.
TEST(InstanceOrder, WhatTellsIteratorsApartDoesSoCounted) {
  std::mt19937 random(2026);
  const auto below = [&](int n) { return static_cast<int64_t>(random() % static_cast<unsigned>(n)); };
  int64_t told = 0;
  for (int round = 0; round < 4000; ++round) {
    arith::Analyzer analyzer;
    arith::Domain domain;
    for (const char* name : {"u", "v", "w"}) {
      const Range range{Const(DataType::Int(32), below(3) - 1), Const(DataType::Int(32), 1 + below(6))};
      domain.push_back({Var(name), range});
      analyzer.Bind(domain.back().first, range);
    }
    const auto term = [&]() -> Expr {
      Expr e = domain[static_cast<size_t>(below(3))].first;
      if (below(3) == 0) e = e + domain[static_cast<size_t>(below(3))].first;
      if (below(4) == 0) e = e + 1;
      if (below(6) == 0) e = 3 - e;
      const Expr by = Const(DataType::Int(32), 2 + below(4));
      const int64_t kind = below(4);
      if (kind == 1) e = FloorMod(e, by);
      if (kind == 2) e = FloorDiv(e, by);
      return below(2) == 0 ? e * (1 + below(6)) : e;
    };
    std::vector<Expr> indices;
    for (int64_t left = 1 + below(3); left > 0; --left) {
      Expr index = term();
      for (int64_t more = below(3); more > 0; --more) index = below(5) == 0 ? index - term() : index + term();
      if (below(5) == 0) index = FloorMod(index, Const(DataType::Int(32), 2 + below(9)));
      indices.push_back(index);
    }
    if (!DetermineIterators(indices, domain, &analyzer)) continue;
    ++told;
    const auto values = InstancesInOrder(domain, {}, indices);
    ASSERT_TRUE(values);
    const std::set<InstanceValues> different(values->begin(), values->end());
    ASSERT_EQ(different.size(), values->size())
        << round << ": " << absl::StrJoin(indices, ", ", [](auto* out, auto& e) { *out += Print(e); });
  }
  EXPECT_GT(told, 300);
}

// Elements on a diagonal: neighbours share them in one direction, not in the other.
TEST(InstanceOrder, OfElementsMovedInTwoDimensions) {
  EXPECT_THAT(Ordered("SS", "C[vi * 2, vj * 2] = C[vi * 2 + 1, vj * 2 + 1]"), IsEmpty());
  EXPECT_THAT(Ordered("SS", "C[vi, vj + 1] = C[vi + 1, vj]"), ElementsAre("vi", "vj"));
}

// Among those that agree in some iterators, and for which a condition holds.
TEST(InstanceOrder, OfOneSweep) {
  const auto ordered = [](const std::string& statement, std::vector<bool> fixed, bool below_the_diagonal = false) {
    const Function function = Program("OS", statement, "");
    const BlockNode& block = OnlyBlock(function);
    const Expr condition = below_the_diagonal ? block.iter_vars[0].var < block.iter_vars[1].var : Expr();
    std::vector<std::string> names;
    for (const size_t i : FindOrderedInstances(block, {std::move(fixed), condition}).iterators) {
      names.push_back(block.iter_vars[i].var.name());
    }
    return names;
  };
  // The next row of the one before; two rows in turn.
  EXPECT_THAT(ordered("C[vi + 1, vj] = C[vi, vj] + C[vi, vj + 1]", {}), ElementsAre("vi", "vj"));
  EXPECT_THAT(ordered("C[vi + 1, vj] = C[vi, vj] + C[vi, vj + 1]", {true, false}), IsEmpty());
  EXPECT_THAT(ordered("C[(vi + 1) % 2, vj] = C[vi % 2, vj] + C[vi % 2, vj + 1]", {true, false}), IsEmpty());
  EXPECT_THAT(ordered("C[vi % 2, vj] = C[vi % 2, vj + 1]", {true, false}), ElementsAre("vj"));
  EXPECT_THAT(ordered("C[(vi + 1) % 2, vj] = C[vi % 2, vj] + C[vi % 2, vj + 1]", {false, true}), ElementsAre("vi"));
  // An elimination: row vi is read, rows behind it are written.
  EXPECT_THAT(ordered("C[vj, 5] = C[vj, 5] - C[vi, 5]", {true, false}), ElementsAre("vj"));
  EXPECT_THAT(ordered("C[vj, 5] = C[vj, 5] - C[vi, 5]", {true, false}, true), IsEmpty());
  EXPECT_THAT(ordered("C[vj, 5] = C[vj, 5] - C[vi, 5]", {false, false}, true), ElementsAre("vi", "vj"));
}

TEST(InstanceOrder, OfReductions) {
  EXPECT_THAT(Ordered("SR", "R[vi] = R[vi] + A[vi, vj]", "R[vi] = 0"), IsEmpty());
  EXPECT_THAT(Ordered("SR", "R[vi] = R[vi] * 2 + A[vi, vj]", "R[vi] = 0"), ElementsAre("vj"));
  EXPECT_THAT(Ordered("SR", "R[vi] = vj"), ElementsAre("vj"));
  EXPECT_THAT(Ordered("SR", "R[vi] = R[vi] + A[vi, vj]"), IsEmpty());
}

// A spatial iterator does not tell apart by itself what another one moves.
TEST(InstanceOrder, OfElementsThatReductionsMove) {
  EXPECT_THAT(Ordered("SR", "R[(vi + vj) % 16] = R[(vi + vj) % 16] * 2 + A[vi, vj]"), ElementsAre("vi", "vj"));
  EXPECT_THAT(Ordered("SO", "R[(vi + vj) % 16] = A[vi, vj]"), ElementsAre("vi", "vj"));
  EXPECT_THAT(Ordered("SR", "R[(vi + vj) % 16] = R[(vi + vj) % 16] + A[vi, vj]"), IsEmpty());
  EXPECT_THAT(Ordered("SR", "R[vi * 16 + vj] = R[vi * 16 + vj] * 2 + A[vi, vj]"), IsEmpty());
  EXPECT_THAT(Ordered("SR", "C[vi, vj % 2] = C[vi, vj % 2] * 2 + A[vi, vj]"), ElementsAre("vj"));
  EXPECT_THAT(Ordered("SR", "C[vi, (vi + vj) % 15] = C[vi, (vi + vj) % 15] * 2 + A[vi, vj]"), ElementsAre("vj"));
  // The row says what is moved by.
  EXPECT_THAT(Ordered("SR", "C[vi, (vi + vj) % 16] = C[vi, (vi + vj) % 16] * 2 + A[vi, vj]"), IsEmpty());
}

TEST(InstanceOrder, OfElementsThatFixedIteratorsMove) {
  for (const bool all_apart : {false, true}) {
    const std::string place = all_apart ? "R[(vi + vj) % 16]" : "R[(vi + vj) % 15]";
    const Function function = Program("SO", place + " = " + place + " * 2 + A[vi, vj]", "");
    const BlockNode& block = OnlyBlock(function);
    EXPECT_THAT(FindOrderedInstances(block, {.fixed = {false, true}}).iterators, IsEmpty());
    const auto ordered = FindOrderedInstances(block, {.fixed = {true, false}}).iterators;
    EXPECT_EQ(ordered, all_apart ? std::vector<size_t>() : std::vector<size_t>{1});
  }
}

bool Commute(const std::string& statements, const std::string& init = "R[vi] = 0") {
  const Function function = Program("SR", statements, init);
  return UpdatesCommute(OnlyBlock(function));
}

TEST(CommutingUpdates, Known) {
  EXPECT_TRUE(Commute("R[vi] = R[vi] + A[vi, vj]"));
  EXPECT_TRUE(Commute("R[vi] = A[vi, vj] + R[vi] - C[vi, vj]"));
  EXPECT_TRUE(Commute("R[vi] = R[vi] * A[vi, vj]"));
  EXPECT_TRUE(Commute("R[vi] = T.max(R[vi], A[vi, vj])"));
  EXPECT_TRUE(Commute("R[vi] = T.min(A[vi, vj], R[vi])"));
  EXPECT_TRUE(Commute("R[vi] = R[vi] | A[vi, vj]"));
  EXPECT_TRUE(Commute("R[vi] = A[vi, vj] & R[vi]"));
  EXPECT_TRUE(Commute("R[vi] = R[vi] ^ A[vi, vj]"));
  EXPECT_TRUE(Commute("if A[vi, vj] > 0:\n    R[vi] = R[vi] + A[vi, vj]"));
  EXPECT_TRUE(Commute("R[vi] = T.if_then_else(A[vi, vj] > 0, R[vi] + A[vi, vj], R[vi])"));
  EXPECT_TRUE(Commute("for t in range(4):\n    R[vi] = R[vi] + A[vi + t, vj]"));
  EXPECT_TRUE(
      Commute("R[vi] = R[vi] + A[vi, vj]\nJ[vi] = T.max(J[vi], A[vi, vj])", "R[vi] = 0\n                J[vi] = 0"));
}

// T.max gives its second operand where one of both is NaN: the element has to be the first one.
TEST(CommutingUpdates, ExtremesThatPassNanOn) {
  const auto commute = [](const std::string& value) {
    return UpdatesCommute(OnlyBlock(Program("SR", "R[vi] = " + value, "R[vi] = T.float32(0)", "float32")));
  };
  EXPECT_TRUE(commute("T.Select(T.isnan(R[vi]), R[vi], T.max(R[vi], A[vi, vj]))"));
  EXPECT_TRUE(commute("T.if_then_else(T.isnan(R[vi]), R[vi], T.min(R[vi], A[vi, vj]))"));
  EXPECT_FALSE(commute("T.Select(T.isnan(R[vi]), R[vi], T.max(A[vi, vj], R[vi]))"));
  EXPECT_FALSE(commute("T.Select(T.isnan(R[vi]), A[vi, vj], T.max(R[vi], A[vi, vj]))"));
  EXPECT_FALSE(commute("T.Select(T.isnan(R[vi] + A[vi, vj]), R[vi], T.max(R[vi], A[vi, vj]))"));
  EXPECT_FALSE(commute("T.Select(T.isnan(R[vi]), R[vi], R[vi] * T.float32(2) + A[vi, vj])"));
}

// An intrinsic of LLVM adds to the operand that its instruction adds to; others do anything.
TEST(CommutingUpdates, IntrinsicsOfLlvm) {
  const auto commute = [](const std::string& value) {
    return UpdatesCommute(OnlyBlock(Program("SR", "R[vi] = " + value, "R[vi] = T.float32(0)", "float32")));
  };
  const std::string fma = "T.call_llvm_pure_intrin(\"float32\", \"llvm.fma.f32\", ";
  EXPECT_TRUE(commute(fma + "A[vi, vj], C[vi, vj], R[vi])"));
  EXPECT_FALSE(commute(fma + "R[vi], T.float32(0.5), A[vi, vj])"));
  EXPECT_FALSE(commute(fma + "A[vi, vj], C[vi, vj], R[vi] * T.float32(2))"));
  EXPECT_FALSE(commute("T.call_llvm_pure_intrin(\"float32\", \"llvm.copysign.f32\", R[vi], A[vi, vj])"));
  const auto dot = [](const std::string& sum, const std::string& a) {
    return Commute("R[vi] = T.call_llvm_pure_intrin(\"int32\", \"llvm.x86.avx512.vpdpbusd.512\", " + sum + ", " + a +
                   ", A[vi, vj])");
  };
  EXPECT_TRUE(dot("R[vi]", "A[vi, vj]"));
  EXPECT_FALSE(dot("A[vi, vj]", "R[vi]"));
}

TEST(CommutingUpdates, Others) {
  EXPECT_FALSE(Commute("R[vi] = A[vi, vj] - R[vi]"));
  EXPECT_FALSE(Commute("R[vi] = R[vi] * 31 + A[vi, vj]"));
  EXPECT_FALSE(Commute("R[vi] = (R[vi] | A[vi, vj]) ^ C[vi, vj]"));
  EXPECT_FALSE(Commute("R[vi] = R[vi] | (R[vi] + A[vi, vj])"));
  EXPECT_FALSE(Commute("R[vi] = T.shift_left(R[vi], A[vi, vj])"));
  EXPECT_FALSE(Commute("R[vi] = T.max(R[vi] + A[vi, vj], 0)"));
  EXPECT_FALSE(Commute("R[vi] = A[vi, vj]"));
  EXPECT_FALSE(Commute("R[vi] = T.if_then_else(A[vi, vj] > 0, vj, R[vi])"));
  EXPECT_FALSE(Commute("R[vi] = T.if_then_else(R[vi] > 9, R[vi], R[vi] + A[vi, vj])"));
  EXPECT_FALSE(Commute("R[vi] = R[vi] + A[vi, vj]\nR[vi] = R[vi] * 2"));
  EXPECT_FALSE(Commute("R[vi] = R[vi] + A[vi, vj]\nJ[vi] = J[vi] + R[vi]", "R[vi] = 0\n                J[vi] = 0"));
}

}  // namespace
}  // namespace tilewright
