// Equal functions are scheduled once, and what differs in more than its computation is not taken for equal.
#include "autoschedule/sketch/scheduled_programs.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ir/script/parse_or_die.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

Function Doubled(const std::string& input, const std::string& extent) {
  return ParseFunctionOrDie(absl::StrCat("@T.prim_func\ndef main(a: T.handle, c: T.handle):\n    ", extent,
                                         " = T.int32()\n    ", input, " = T.match_buffer(a, (", extent,
                                         ",))\n    C = T.match_buffer(c, (", extent, ",))\n    for i in range(", extent,
                                         "):\n        with T.block(\"C\"):\n            v = T.axis.spatial(", extent,
                                         ", i)\n            C[v] = ", input, "[v] * T.float32(2)\n"));
}

TEST(ScheduledPrograms, EqualProgramsAreScheduledOnce) {
  ScheduledPrograms programs(HostTarget());
  const auto first = programs.Of(Doubled("A", "n")), again = programs.Of(Doubled("A", "n"));
  EXPECT_EQ(first, again);
  EXPECT_NE(programs.Of(Doubled("B", "n")), first) << "parameters are found by their names";
  EXPECT_NE(programs.Of(Doubled("A", "m")), first) << "extents are given by their names";
  FunctionNode::Fields other = Doubled("A", "n")->fields();
  other.name = "other";
  const auto named = programs.Of(Function(other));
  EXPECT_EQ(named->schedule.module().functions()[0]->name, "other");
}

TEST(ScheduledPrograms, VerdictsAreThoseOfTheVerifier) {
  ScheduledPrograms programs(HostTarget());
  const Function wrong = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = A[v + 1]
)");
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(programs.IsRefuted(wrong));
    EXPECT_TRUE(programs.RefutationOf(wrong).starts_with("access bounds: block C reads A[v + 1]"))
        << programs.RefutationOf(wrong);
    EXPECT_FALSE(programs.IsRefuted(programs.Of(Doubled("A", "n"))->schedule.module().functions()[0]));
  }
}

// Steps that nothing refutes are those of the rules, and a fault of the program itself keeps no other nest from them.
TEST(ScheduledPrograms, VerifiedStepsAreThoseOfTheRules) {
  const std::string text = R"(
@T.prim_func
def main(X: T.Buffer((16, 4, 64), "float32"), Y: T.Buffer((16, 4, 64), "float32"), Z: T.Buffer((4, 64), "float32")):
    S = T.alloc_buffer((4, 64), "float32")
    for i, j in T.grid(4, 64):
        with T.block("init"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vi, vj] = T.float32(0)
    for t in range(16):
        with T.block("step"):
            v = T.axis.opaque(16, t)
            for i, j in T.grid(4, 64):
                with T.block("next"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    S[vi, vj] = T.tanh(X[v, vi, vj] + S[vi, vj])
            for i, j in T.grid(4, 64):
                with T.block("store"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    Y[v, vi, vj] = S[vi, vj]
    for i, j in T.grid(4, 64):
        with T.block("last"):
            vi, vj = T.axis.remap("SS", [i, j])
            Z[vi, vj] = S[vi, vj + INDEX]
)";
  for (const int index : {0, 1}) {
    ScheduledPrograms programs(HostTarget());
    const Function program = ParseFunctionOrDie(absl::StrReplaceAll(text, {{"INDEX", absl::StrCat(index)}}));
    EXPECT_EQ(programs.IsRefuted(program), index > 0);
    const auto scheduled = programs.Of(program), verified = programs.VerifiedOf(program);
    EXPECT_TRUE(StructuralEqual(scheduled->schedule.module().Main(), verified->schedule.module().Main()));
    EXPECT_FALSE(StructuralEqual(program, verified->schedule.module().Main()));
  }
}

}  // namespace
}  // namespace tilewright
