// Blocks that read where they compute: samples between the elements of images, by the rules on several targets.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "codegen/testing/equivalence.h"
#include "intrin/registry.h"
#include "ir/functor.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

// The names of loops around the last block that is computed in vectors, outermost first.
std::string LoopsOfPlaces(const Function& function) {
  std::string names;
  PreOrder(function->body, [&](const Stmt& s) {
    if (const auto* loop = dyn_cast<ForNode>(s)) names += loop->var.name() + " ";
    return true;
  });
  return names;
}

// $row and $column stand for places in an image of 6 x 7 that are computed from P.
Function Program(std::string text) {
  const std::string place = "T.Cast(\"int32\", T.min(T.max(T.floor($1), T.float32(0)), T.float32($2)))";
  const auto placed = [&](const std::string& at, const std::string& most) {
    return absl::StrReplaceAll(place, {{"$1", at}, {"$2", most}});
  };
  text = absl::StrReplaceAll(
      text, {{"$row", placed("P[vi, vj] * T.float32(0.5) + T.float32(3)", "5")},
             {"$column", placed("P[vj, vi] * T.float32(0.75) + T.float32(3)", "6")},
             {"$tap", placed("T.Cast(\"float32\", vj) * T.float32(0.3) + T.Cast(\"float32\", vk)", "6")}});
  return ParseFunctionOrDie(text);
}

void ExpectRight(const Function& program) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  for (const char* target : {"x86-znver4", "x86-haswell", "arm-neoverse-n1"}) {
    const AutoScheduled result = AutoSchedule(Module(program), *NamedTarget(target), &intrins);
    EXPECT_TRUE(result.left_alone.empty());
    const Module& scheduled = result.schedule.module();
    EXPECT_EQ(testing::CompareWithInterpreter(scheduled, {.original = program, .integers = 3, .variables = {5, 21}}),
              "")
        << target << Print(scheduled.Main());
  }
}

TEST(Gathered, PlacesAreComputedOnceForAllChannels) {
  const Function program = Program(R"(
@T.prim_func
def main(X: T.Buffer((5, 6, 7), "float32"), P: T.Buffer((40, 40), "float32"), Y: T.Buffer((5, 40, 40), "float32")):
    for c, i, j in T.grid(5, 40, 40):
        with T.block("Y"):
            vc, vi, vj = T.axis.remap("SSS", [c, i, j])
            Y[vc, vi, vj] = X[vc, $row, $column] * (P[vi, vj] + T.float32(1)) + X[vc, $row, 0]
)");
  ExpectRight(program);
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const AutoScheduled result = AutoSchedule(Module(program), *NamedTarget("x86-znver4"), &intrins);
  const std::string loops = LoopsOfPlaces(result.schedule.module().Main());
  EXPECT_LT(loops.find("i "), loops.find("c ")) << loops;
}

TEST(Gathered, FewTermsAreVectors) {
  ExpectRight(Program(R"(
@T.prim_func
def main(X: T.Buffer((5, 6, 7), "float32"), Y: T.Buffer((5, 6, 21), "float32")):
    for c, i, j, k in T.grid(5, 6, 21, 2):
        with T.block("Y"):
            vc, vi, vj, vk = T.axis.remap("SSSR", [c, i, j, k])
            with T.init():
                Y[vc, vi, vj] = T.float32(0)
            Y[vc, vi, vj] = Y[vc, vi, vj] + X[vc, vi, $tap] * T.Cast("float32", vk + 1)
)"));
}

// Samples of cells that are fewer than lanes, and what is made of their maximum.
TEST(Gathered, ResultsAreWrittenByWhatFollows) {
  ExpectRight(Program(R"(
@T.prim_func
def main(X: T.Buffer((5, 6, 7), "float32"), P: T.Buffer((7, 7), "float32"), Y: T.Buffer((7, 5, 7), "float32")):
    Z = T.alloc_buffer((7, 5, 7), "float32")
    for i, c, j, k, l in T.grid(7, 5, 7, 2, 2):
        with T.block("Z"):
            vi, vc, vj, vk, vl = T.axis.remap("SSSRR", [i, c, j, k, l])
            with T.init():
                Z[vi, vc, vj] = T.float32(-1000)
            Z[vi, vc, vj] = T.max(Z[vi, vc, vj], X[vc, $row, $tap] * T.Cast("float32", vl + 1))
    for i, c, j in T.grid(7, 5, 7):
        with T.block("Y"):
            vi, vc, vj = T.axis.remap("SSS", [i, c, j])
            Y[vi, vc, vj] = Z[vi, vc, vj] * T.float32(2)
)"));
}

TEST(Gathered, ManyTermsAreLoopsAroundChannels) {
  ExpectRight(Program(R"(
@T.prim_func
def main(X: T.Buffer((5, 6, 7), "float32"), P: T.Buffer((7, 7), "float32"), Y: T.Buffer((7, 5, 7), "float32")):
    for i, c, j, k in T.grid(7, 5, 7, 40):
        with T.block("Y"):
            vi, vc, vj, vk = T.axis.remap("SSSR", [i, c, j, k])
            with T.init():
                Y[vi, vc, vj] = T.float32(0)
            Y[vi, vc, vj] = Y[vi, vc, vj] + X[vc, $row, $tap]
)"));
}

// Deformable convolutions: a product of samples, which panels hold.
TEST(Gathered, ProductsOfSamples) {
  const Function program = Program(R"(
@T.prim_func
def main(X: T.Buffer((5, 6, 7), "float32"), P: T.Buffer((13, 13), "float32"), W: T.Buffer((9, 5, 3), "float32"), Y: T.Buffer((9, 13, 13), "float32")):
    T.func_attr({"tilewright.constant_params": [2]})
    S = T.alloc_buffer((5, 3, 13, 13), "float32")
    for c, k, i, j in T.grid(5, 3, 13, 13):
        with T.block("S"):
            vc, vk, vi, vj = T.axis.remap("SSSS", [c, k, i, j])
            S[vc, vk, vi, vj] = X[vc, $row, $tap] * P[vi, vj]
    for o, i, j, c, k in T.grid(9, 13, 13, 5, 3):
        with T.block("Y"):
            vo, vi, vj, vc, vk = T.axis.remap("SSSRR", [o, i, j, c, k])
            with T.init():
                Y[vo, vi, vj] = T.float32(0)
            Y[vo, vi, vj] = Y[vo, vi, vj] + S[vc, vk, vi, vj] * W[vo, vc, vk]
)");
  ExpectRight(program);
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const AutoScheduled result = AutoSchedule(Module(program), *NamedTarget("x86-znver4"), &intrins);
  EXPECT_EQ(Print(result.schedule.module().Main()).find("T.Shuffle"), std::string::npos) << "transposed";
}

// Samples beyond the borders are zero: conditions load what samples and weights load, too.
TEST(Gathered, GuardedSamples) {
  ExpectRight(Program(R"(
@T.prim_func
def main(X: T.Buffer((5, 6, 7), "float32"), P: T.Buffer((40, 40), "float32"), Q: T.Buffer((5,), "float32"), Y: T.Buffer((5, 40, 40), "float32")):
    for c, i, j in T.grid(5, 40, 40):
        with T.block("Y"):
            vc, vi, vj = T.axis.remap("SSS", [c, i, j])
            Y[vc, vi, vj] = T.Select(P[vi, vj] * T.float32(2) <= T.float32(1) and (Q[vc] < P[vi, vj] or P[vj, vi] < T.float32(2)), X[vc, $row, $column] * Q[vc], T.float32(0)) * P[vi, vj]
)"));
}

TEST(Gathered, OfSymbolicExtents) {
  ExpectRight(Program(R"(
@T.prim_func
def main(x: T.handle, p: T.handle, y: T.handle):
    n = T.int64()
    m = T.int64()
    X = T.match_buffer(x, (n, 6, 7), "float32")
    P = T.match_buffer(p, (m, m), "float32")
    Y = T.match_buffer(y, (n, m, m), "float32")
    for c, i, j in T.grid(n, m, m):
        with T.block("Y"):
            vc, vi, vj = T.axis.remap("SSS", [c, i, j])
            Y[vc, vi, vj] = X[vc, $row, $column]
)"));
}

}  // namespace
}  // namespace tilewright
