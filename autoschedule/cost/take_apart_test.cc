#include "autoschedule/cost/take_apart.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "autoschedule/cost/program_facts.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

ProgramFacts Apart(const std::string& loop, const std::string& first, const std::string& second) {
  ProgramFacts facts = GatherFacts(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    for f in )" + loop + R"(:
        with T.block("C"):
            v = T.axis.spatial(32, f)
            C[v] = A[)" + first + "] + B[" + second + "]\n"));
  TakeLoopsApart(&facts);
  return facts;
}

std::vector<int64_t> Extents(const ProgramFacts& facts) {
  std::vector<int64_t> extents;
  for (const LoopFacts& loop : facts.loops) extents.push_back(loop.extent);
  return extents;
}

TEST(TakeApart, QuotientsAndRemaindersShowTheLoops) {
  const ProgramFacts facts = Apart("range(32)", "v // 8", "v % 8");
  EXPECT_EQ(Extents(facts), (std::vector<int64_t>{4, 8}));
  for (const AccessFacts& access : facts.accesses) {
    for (const IndexForm& form : access.index) {
      for (const IndexTerm& term : form.terms) {
        EXPECT_EQ(term.lower, 1);
        EXPECT_EQ(term.extent, facts.loops[static_cast<size_t>(term.loop)].extent);
      }
    }
  }
}

TEST(TakeApart, WhatNoIndexDividesStaysOneLoop) {
  EXPECT_EQ(Extents(Apart("range(32)", "v", "31 - v")), std::vector<int64_t>{32});
}

TEST(TakeApart, SeveralDivisorsMakeSeveralLoops) {
  EXPECT_EQ(Extents(Apart("range(32)", "v // 8", "v // 2 % 4")), (std::vector<int64_t>{4, 4, 2}));
}

}  // namespace
}  // namespace tilewright
