#include "autoschedule/database/canonical_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "ir/structural.h"
#include "schedule/layout/hoist_prepack.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;

std::string Program(const std::string& function, const std::string& a, const std::string& t, const std::string& block) {
  return "@T.prim_func\ndef " + function + "(" + a +
         ": T.Buffer((64, 64), \"float32\"), S: T.Buffer((64,), \"float32\")):\n" + "    " + t +
         " = T.alloc_buffer((64, 64), \"float32\")\n" +
         "    for i, j in T.grid(64, 64):\n"
         "        with T.block(\"" +
         block +
         "\"):\n"
         "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
         "            " +
         t + "[vi, vj] = " + a +
         "[vi, vj] * T.float32(2)\n"
         "    for i, j in T.grid(64, 64):\n"
         "        with T.block(\"sum_of_" +
         block +
         "\"):\n"
         "            vi, vj = T.axis.remap(\"SR\", [i, j])\n"
         "            with T.init():\n"
         "                S[vi] = T.float32(0)\n"
         "            S[vi] = S[vi] + " +
         t + "[vi, vj]\n";
}

const Module& First() {
  static const Module module = ParseOrDie(Program("main", "A", "T0", "B"));
  return module;
}
const Module& Second() {
  static const Module module = ParseOrDie(Program("sums", "X", "doubled", "double"));
  return module;
}

TEST(CanonicalNames, DependOnStructureOnly) {
  EXPECT_NE(StructuralHash(First()), StructuralHash(Second()));
  EXPECT_EQ(WorkloadOf(First()), WorkloadOf(Second()));
  EXPECT_TRUE(StructuralEqual(CanonicalNames(First()), CanonicalNames(Second())));
  EXPECT_EQ(Print(CanonicalNames(First())), Print(CanonicalNames(Second())));
  EXPECT_THAT(Print(CanonicalNames(Second())), HasSubstr("def main(a0: T.Buffer"));
  const Module canonical = CanonicalNames(First());
  EXPECT_EQ(Print(CanonicalNames(canonical)), Print(canonical));
  std::string other = Program("main", "A", "T0", "B");
  other.replace(other.find("T.float32(2)"), 12, "T.float32(3)");
  EXPECT_NE(WorkloadOf(ParseOrDie(other)), WorkloadOf(First()));
}

// Blocks that primitives made are called after buffers.
TEST(CanonicalNames, TracesFollowBlocksUnderOtherNames) {
  const Module program(MarkConstant(First().Main(), {0}));
  Schedule schedule(program);
  const BlockRv copy = *schedule.CacheRead(*schedule.GetBlock("B"), 0, "global");
  ASSERT_TRUE(schedule.ComputeInline(*schedule.GetBlock("B")).ok());
  const std::vector<LoopRv> loops = *schedule.GetLoops(*schedule.GetBlock("A_global"));
  ASSERT_TRUE(schedule.Split(loops[0], {Value(), 8}).ok());
  ASSERT_TRUE(schedule.HoistPrepack(copy).ok());
  ASSERT_TRUE(schedule.Split((*schedule.GetLoops(*schedule.GetBlock("sum_of_B")))[0], {Value(), 4}).ok());

  const Module second(MarkConstant(Second().Main(), {0}));
  const auto renamed = ReplayRenamed(schedule.trace(), program, second, nullptr);
  ASSERT_TRUE(renamed.ok()) << renamed.status();
  EXPECT_EQ(WorkloadOf(renamed->module()), WorkloadOf(schedule.module()));
  EXPECT_TRUE(renamed->module().Find("sums_prepack"));
  Schedule again(second);
  ASSERT_TRUE(again.Replay(renamed->trace()).ok()) << "what is given is a schedule of the second program";
  EXPECT_TRUE(StructuralEqual(again.module(), renamed->module()));
}

TEST(CanonicalNames, RefusesNamesThatSeveralBlocksHave) {
  std::string twice = Program("main", "A", "T0", "B");
  twice.replace(twice.find("sum_of_B"), 8, "B");
  const Module ambiguous = ParseOrDie(twice);
  EXPECT_EQ(WorkloadOf(ambiguous), WorkloadOf(First()));
  Schedule schedule(First());
  ASSERT_TRUE(schedule.Split((*schedule.GetLoops(*schedule.GetBlock("B")))[0], {Value(), 4}).ok());
  const auto renamed = ReplayRenamed(schedule.trace(), First(), ambiguous, nullptr);
  EXPECT_THAT(std::string(renamed.status().message()), HasSubstr("several blocks are called B"));
}

}  // namespace
}  // namespace tilewright
