// Attention and its relatives on GPUs: one launch, no score matrix, right in the emulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "autoschedule/cost/projected.h"
#include "autoschedule/program/top_nests.h"
#include "autoschedule/program/trace_choices.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "autoschedule/sketch/chained/chained_variants.h"
#include "autoschedule/sketch/gpu/chained/chained_gpu_testing.h"
#include "codegen/lower/pipeline.h"
#include "codegen/testing/equivalence.h"
#include "ir/functor.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using testing::ChainedVariant;
using testing::Scheduled;
using testing::Variants;

// Elements of the largest array in global memory.
int64_t LargestGlobal(const Module& scheduled, const Target& target) {
  const absl::StatusOr<Module> lowered = Lower(scheduled, target);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  int64_t largest = 0;
  if (!lowered.ok()) return largest;
  PreOrder(lowered->Main()->body, [&](const Stmt& s) {
    const auto* allocate = dyn_cast<AllocateNode>(s);
    if (allocate == nullptr || allocate->buffer->scope.kind() != MemoryKind::kGlobal) return true;
    int64_t elements = 1;
    for (const Expr& extent : allocate->buffer->shape) elements *= AsInt(extent).value_or(1 << 30);
    largest = std::max(largest, elements);
    return true;
  });
  return largest;
}

// The program becomes one launch by the sketch, which is right and not refuted.
void ExpectOneLaunch(const std::string& text, const char* target_name, const char* sketch, int64_t scores,
                     double tolerance) {
  const Target target = *NamedTarget(target_name);
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Function program = ParseFunctionOrDie(text);
  const AutoScheduled scheduled = Scheduled(program, target, intrins, sketch);
  const Module& module = scheduled.schedule.module();
  if (CountTopNests(module.Main()) != 1) {
    for (const RuleRefusal& refusal : scheduled.refused) ADD_FAILURE() << refusal.ToString();
    ADD_FAILURE() << CountTopNests(module.Main()) << " launches";
    return;
  }
  const std::vector<std::string> sketches = SketchesIn(scheduled.schedule.trace());
  EXPECT_NE(std::ranges::find(sketches, sketch), sketches.end()) << sketches.front();
  const VerifyResult verified = VerifyProgram(module.Main(), &target);
  EXPECT_NE(verified.verdict(), Verdict::kRefuted) << Render(verified, module.Main());
  EXPECT_LT(LargestGlobal(module, target), scores) << Print(module);
  EXPECT_EQ(testing::CompareWithInterpreter(module, {.target = target, .original = program, .tolerance = tolerance}),
            "")
      << Print(module);
}

class ChainedVariants : public ::testing::TestWithParam<ChainedVariant> {};
TEST_P(ChainedVariants, AreOneLaunch) {
  ChainedVariant v = GetParam();
  // Long to emulate.
  if (v.depth > 80) v = {.name = v.name, .rows = 64, .keys = 128, .depth = v.depth, .width = v.width};
  ExpectOneLaunch(TextOf(v), "cuda-sm80", "chained_tiles", v.heads * v.rows * v.keys,
                  v.type == "float32" ? 1e-4 : 1e-2);
}

INSTANTIATE_TEST_SUITE_P(All, ChainedVariants, ::testing::ValuesIn(Variants()), testing::NameOfVariant);

class ChainedFragments : public ::testing::TestWithParam<ChainedVariant> {};
TEST_P(ChainedFragments, AreOneLaunch) {
  const ChainedVariant& v = GetParam();
  for (const char* target : {"cuda-sm80", "cuda-sm90a"}) {
    ExpectOneLaunch(TextOf(v), target, "chained_fragments", v.heads * v.rows * v.keys, 1e-2);
  }
}

// All keys are one block, which is kept.
class ChainedWeights : public ::testing::TestWithParam<ChainedVariant> {};
TEST_P(ChainedWeights, AreOneLaunch) {
  const ChainedVariant& v = GetParam();
  ExpectOneLaunch(TextOf(v), "cuda-sm80", "chained_tiles", v.heads * v.rows * v.keys, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(All, ChainedWeights, ::testing::ValuesIn(testing::VariantsThatGiveWeights()),
                         testing::NameOfVariant);

INSTANTIATE_TEST_SUITE_P(All, ChainedFragments, ::testing::ValuesIn(testing::NarrowVariants()), testing::NameOfVariant);

// Several dimensions of blocks of threads: batch and heads.
TEST(ChainedTiles, BatchesOfHeadsAreOneLaunch) {
  ExpectOneLaunch(R"(
@T.prim_func
def main(Q: T.Buffer((2, 3, 16, 8), "float32"), K: T.Buffer((2, 3, 32, 8), "float32"), V: T.Buffer((2, 3, 32, 8), "float32"), O: T.Buffer((2, 3, 16, 8), "float32")):
    P = T.alloc_buffer((2, 3, 16, 32))
    M = T.alloc_buffer((2, 3, 16))
    E = T.alloc_buffer((2, 3, 16, 32))
    S = T.alloc_buffer((2, 3, 16))
    for b, h, i, j, d in T.grid(2, 3, 16, 32, 8):
        with T.block("P"):
            vb, vh, vi, vj, vd = T.axis.remap("SSSSR", [b, h, i, j, d])
            with T.init():
                P[vb, vh, vi, vj] = T.float32(0)
            P[vb, vh, vi, vj] = P[vb, vh, vi, vj] + Q[vb, vh, vi, vd] * K[vb, vh, vj, vd]
    for b, h, i, j in T.grid(2, 3, 16, 32):
        with T.block("M"):
            vb, vh, vi, vj = T.axis.remap("SSSR", [b, h, i, j])
            with T.init():
                M[vb, vh, vi] = T.float32(-3.0e+38)
            M[vb, vh, vi] = T.max(M[vb, vh, vi], P[vb, vh, vi, vj])
    for b, h, i, j in T.grid(2, 3, 16, 32):
        with T.block("E"):
            vb, vh, vi, vj = T.axis.remap("SSSS", [b, h, i, j])
            E[vb, vh, vi, vj] = T.exp(P[vb, vh, vi, vj] - M[vb, vh, vi])
    for b, h, i, j in T.grid(2, 3, 16, 32):
        with T.block("S"):
            vb, vh, vi, vj = T.axis.remap("SSSR", [b, h, i, j])
            with T.init():
                S[vb, vh, vi] = T.float32(0)
            S[vb, vh, vi] = S[vb, vh, vi] + E[vb, vh, vi, vj]
    for b, h, i, c, j in T.grid(2, 3, 16, 8, 32):
        with T.block("O"):
            vb, vh, vi, vc, vj = T.axis.remap("SSSSR", [b, h, i, c, j])
            with T.init():
                O[vb, vh, vi, vc] = T.float32(0)
            O[vb, vh, vi, vc] = O[vb, vh, vi, vc] + E[vb, vh, vi, vj] / S[vb, vh, vi] * V[vb, vh, vj, vc]
)",
                  "cuda-sm80", "chained_tiles", 2 * 3 * 16 * 32, 1e-4);
}

// Chains without a second product.
TEST(ChainedRows, AreOneLaunch) {
  for (const testing::RowsVariant& v : testing::RowsVariants()) {
    SCOPED_TRACE(v.name);
    ExpectOneLaunch(TextOf(v), "cuda-sm80", "chained_tiles", 2 * 128 * 256, 1e-4);
    ExpectOneLaunch(TextOfOddRows(v), "cuda-sm80", "chained_tiles", 2 * 83 * 131, 1e-4);
  }
}

TEST(ChainedRows, ThatNeedWholeRowsAreOneLaunch) {
  for (const testing::RowsVariant& v : testing::WholeRowsVariants()) {
    SCOPED_TRACE(v.name);
    ExpectOneLaunch(TextOf(v), "cuda-sm80", "chained_tiles", 2 * 128 * 256, 1e-4);
    ExpectOneLaunch(TextOfOddRows(v), "cuda-sm80", "chained_tiles", 2 * 83 * 131, 1e-4);
  }
}

// Blocks of keys of which a mask shows nothing to a block of rows are not computed.
TEST(ChainedTiles, LoopsOverKeysEndWhereAllIsMasked) {
  for (const ChainedVariant& v : Variants()) {
    if (v.name != "causal") continue;
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const AutoScheduled scheduled =
        Scheduled(ParseFunctionOrDie(TextOf(v)), *NamedTarget("cuda-sm80"), intrins, "chained_tiles");
    int bounded = 0;
    PreOrder(scheduled.schedule.module().Main()->body, [&](const Stmt& s) {
      const auto* loop = dyn_cast<ForNode>(s);
      if (loop != nullptr) bounded += AsInt(loop->extent) ? 0 : 1;
      return true;
    });
    EXPECT_EQ(bounded, 1) << Print(scheduled.schedule.module());
  }
}

// The sketch that P gets, and the projected microseconds of the function.
std::pair<std::string, double> ChosenFor(const ChainedVariant& variant, const Target& target,
                                         std::vector<Choice> given = {}) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Choices choices = Choices::GivenOrPreferred(std::move(given));
  const AutoScheduled scheduled = AutoSchedule(Module(ParseFunctionOrDie(TextOf(variant))), target, &intrins, choices);
  std::string sketch;
  for (const Choice& choice : choices.made()) {
    if (choice.name == "P.sketch") sketch = choice.label();
  }
  return {sketch, Project(scheduled.schedule.module().Main(), target).seconds * 1e6};
}

// Whatever is projected to be shorter is preferred: chains where scores would go through memory.
TEST(ChainedTiles, AreTakenWhereTheProjectionIsShorter) {
  const std::vector<ChainedVariant> variants = {
      {.name = "f32 12 x 128 x 64", .rows = 128, .keys = 128, .depth = 64, .width = 64, .heads = 12, .key_heads = 12},
      {.name = "f32 12 x 1024 x 64",
       .rows = 1024,
       .keys = 1024,
       .depth = 64,
       .width = 64,
       .heads = 12,
       .key_heads = 12},
      {.name = "f16 12 x 128 x 64",
       .rows = 128,
       .keys = 128,
       .depth = 64,
       .width = 64,
       .heads = 12,
       .key_heads = 12,
       .type = "float16"},
      {.name = "f16 16 x 1024 x 64",
       .rows = 1024,
       .keys = 1024,
       .depth = 64,
       .width = 64,
       .heads = 16,
       .key_heads = 16,
       .type = "float16"},
      {.name = "f16 16 x 4096 x 128",
       .rows = 4096,
       .keys = 4096,
       .depth = 128,
       .width = 128,
       .heads = 16,
       .key_heads = 16,
       .type = "float16"},
  };
  for (const char* name : {"cuda-sm80", "cuda-sm90a"}) {
    const Target target = *NamedTarget(name);
    for (const ChainedVariant& v : variants) {
      const auto [preferred, seconds] = ChosenFor(v, target);
      for (const char* sketch :
           {"chained_fragments", "chained_tiles", "warpgroup_tiles", "mma_tiles", "thread_tiles"}) {
        const auto [taken, other] = ChosenFor(v, target, {Choice::Of("P.sketch", sketch)});
        if (taken != sketch) continue;
        if (sketch == std::string("chained_tiles") && preferred == "chained_fragments") continue;
        EXPECT_LE(seconds, other * 1.01) << v.name << ", " << sketch;
      }
    }
  }
}

}  // namespace
}  // namespace tilewright
