// What the rules prefer for a target, untuned: which of two ways, in which order, and what is computed together.
#include <gtest/gtest.h>

#include <algorithm>

#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/choices.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "autoschedule/tensorize/contraction_form.h"
#include "codegen/lower/pipeline.h"
#include "codegen/testing/equivalence.h"
#include "ir/ops/conv.h"
#include "ir/ops/conv_bn_relu.h"
#include "ir/ops/conv_transpose.h"
#include "ir/ops/depthwise.h"
#include "ir/ops/matmul.h"
#include "ir/ops/normalization.h"
#include "ir/ops/pooling.h"
#include "ir/ops/requantize.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/layout/hoist_prepack.h"
#include "schedule/script/trace_text.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using ops::OperandTypes;

// Everything runs in one parallel loop, and nothing but the parameters outlives an iteration of it.
void ExpectOneLoop(const Function& op) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const AutoScheduled result = AutoSchedule(Module(op), *NamedTarget("x86-znver4"), &intrins);
  const Function main = result.schedule.module().Find("main");
  const std::string text = Print(main);
  const size_t parallel = text.find("T.parallel(");
  EXPECT_NE(parallel, std::string::npos) << text;
  EXPECT_EQ(text.find("T.parallel(", parallel + 1), std::string::npos) << text;
  EXPECT_EQ(cast<BlockRealizeNode>(main->body)->block->body->kind(), Kind::kFor);
}

TEST(PreferredRules, FusesPrologueAndEpilogue) {
  ExpectOneLoop(MarkConstant(
      ops::ConvBnRelu({.spatial = {9, 9}, .in_channels = 5, .out_channels = 32, .windows = ops::Same({3, 1, 1}, 2)}),
      {1}));
  ExpectOneLoop(ops::Depthwise(1, 11, 13, 32, {.kernel = 3, .stride = 1, .padding = 1}));
  ExpectOneLoop(ops::AveragePool(1, 16, 16, 64, {.kernel = 2, .stride = 2}));
  ExpectOneLoop(ops::TransposeBatchMatmul(2, 16, 4, 32));
  ExpectOneLoop(ops::Softmax(64, 128));
  ExpectOneLoop(ops::LayerNorm(64, 128));
  // Also where lanes of the last step have no work.
  ExpectOneLoop(ops::Softmax(64, 133));
  ExpectOneLoop(ops::LayerNorm(64, 333));
  ExpectOneLoop(ops::RowNorm(64, 1023));
  ExpectOneLoop(ops::RowNorm(64, 128));
  for (const ops::RowTypes& types :
       {ops::RowTypes{DataType::BFloat16(), DataType::BFloat16()}, ops::RowTypes{DataType::UInt(8)}}) {
    ExpectOneLoop(ops::Softmax(64, 133, types));
    ExpectOneLoop(ops::LayerNorm(64, 128, 1e-5, types));
    ExpectOneLoop(ops::RowNorm(64, 1023, types));
  }
  ExpectOneLoop(ops::WithRequantization(ops::Softmax(64, 128, {DataType::UInt(8)}), {.scale = 100}));
}

// Each vector of 8-bit floats is hundreds of instructions: 259 of them took half a minute to compile.
TEST(PreferredRules, WritesOutFewStatementsOf8BitFloats) {
  const Function op = ParseFunctionOrDie(R"(
@T.prim_func
def main(B: T.Buffer((7, 37), "float8_e4m3fn"), C: T.Buffer((7, 37), "float8_e5m2")):
    for i, c, j in T.grid(7, 37, 37):
        with T.block("C"):
            vi, vc, vj = T.axis.remap("SSR", [i, c, j])
            with T.init():
                C[vi, vc] = T.Cast("float8_e5m2", 0)
            C[vi, vc] = T.max(C[vi, vc], T.Cast("float8_e5m2", B[vi, vj]))
)");
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const AutoScheduled result = AutoSchedule(Module(op), *NamedTarget("x86-znver4"), &intrins);
  EXPECT_EQ(Print(result.schedule.module()).find("T.unroll(37)"), std::string::npos);
}

// A vector by packed weights: each is taken apart once, in registers, and summed along its row. Packing them as floats
// would write and read eight times as much.
TEST(PreferredRules, TakesPackedWeightsApartInRegisters) {
  const Function op = ParseFunctionOrDie(R"(
@T.prim_func
def main(w: T.Buffer((48, 16), "uint32"), scale: T.Buffer((48, 4), "float32"), x: T.Buffer((1, 128), "float32"), y: T.Buffer((1, 48), "float32")):
    weights = T.alloc_buffer((48, 128), "float32")
    for i, j in T.grid(48, 128):
        with T.block("weights"):
            vi, vj = T.axis.remap("SS", [i, j])
            weights[vi, vj] = (T.Cast("float32", w[vi, vj // 8] >> T.Cast("uint32", vj % 8 * 4) & T.uint32(15)) - T.float32(7)) * scale[vi, vj // 32]
    for i, o, k in T.grid(1, 48, 128):
        with T.block("y"):
            vi, vo, vk = T.axis.remap("SSR", [i, o, k])
            with T.init():
                y[vi, vo] = T.float32(0)
            y[vi, vo] = y[vi, vo] + x[vi, vk] * weights[vo, vk]
)");
  for (const Function& program : {op, MarkConstant(op, {0, 1})}) {
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const AutoScheduled result = AutoSchedule(Module(program), HostTarget(), &intrins);
    EXPECT_EQ(Print(result.schedule.module()).find("weights = T.alloc_buffer"), std::string::npos);
    EXPECT_EQ(testing::CompareWithInterpreter(result.schedule.module(), {.tolerance = 1e-4, .parallel = true}), "");
  }
}

// Too large to be enumerated: tiles that are transposed in registers are proven by what each vector touches.
TEST(PreferredRules, LargeAttentionScoresAreValid) {
  for (const char* types : {"f32", "bf16", "u8s8"}) {
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const Module module(ops::TransposeBatchMatmul(1, 128, 12, 64, *OperandTypes::Parse(types)));
    const AutoScheduled result = AutoSchedule(module, *NamedTarget("x86-znver4"), &intrins);
    const Function main = result.schedule.module().Find("main");
    const VerifyResult verified = VerifyProgram(main);
    EXPECT_NE(verified.verdict(), Verdict::kRefuted) << Render(verified, main);
  }
}

// The inputs of a group are a line of each place in the image; with windows around it there is more to do meanwhile.
TEST(PreferredRules, FetchesShortRowsOfGroupsAhead) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const auto fetches = [&](const ops::Window& window, int64_t groups) {
    const Function op = MarkConstant(ops::Conv({.spatial = {28, 28},
                                                .in_channels = 64,
                                                .out_channels = 64,
                                                .windows = {window, window},
                                                .groups = groups}),
                                     {1});
    const AutoScheduled result = AutoSchedule(Module(op), *NamedTarget("x86-znver4"), &intrins);
    return ToText(result.schedule.trace()).find("tilewright.prefetch_rows") != std::string::npos;
  };
  EXPECT_TRUE(fetches({.kernel = 1}, 4));
  EXPECT_TRUE(fetches({.kernel = 1}, 2));
  EXPECT_FALSE(fetches({.kernel = 1}, 1));
  EXPECT_FALSE(fetches({.kernel = 3, .stride = 1, .padding = 1}, 4));
}

// What the rules prefer for two cores where the second operand is constant; -1 where they have no such choice.
int64_t Preferred(const Function& op, std::string_view choice, const char* target_name = "x86-znver4") {
  Target target = *NamedTarget(target_name);
  target.cores = 2;
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Choices choices = Choices::Preferred();
  AutoSchedule(Module(MarkConstant(op, {1})), target, &intrins, choices);
  const auto made =
      std::ranges::find_if(choices.made(), [&](const Choice& other) { return other.name.ends_with(choice); });
  return made == choices.made().end() ? -1 : made->value;
}

// Columns that stay in the second-level cache are inside of the loops over rows that the cores share.
TEST(PreferredRules, EachCoreComputesRowsOfItsOwn) {
  const auto loops_outside = [](const Function& op) { return Preferred(op, ".columns_after"); };
  EXPECT_EQ(loops_outside(ops::Matmul(256, 128, 128)), 1);
  EXPECT_EQ(loops_outside(ops::Matmul(256, 1024, 512)), 0);  // 2 MiB of columns
  EXPECT_EQ(loops_outside(ops::Matmul(14, 128, 128)), 0);    // one tile of rows, for two cores
  const ops::Window window = {.kernel = 1};
  // Loops over the batch and the image's rows are outside, and tiles of a row inside; of one row, its tiles too.
  const auto conv = [&](int64_t rows, int64_t groups) {
    return ops::Conv(
        {.spatial = {rows, 56}, .in_channels = 64, .out_channels = 128, .windows = {window, window}, .groups = groups});
  };
  EXPECT_EQ(loops_outside(conv(28, 1)), 2);
  EXPECT_EQ(loops_outside(conv(1, 1)), 3);
  // Groups are inside of all rows.
  EXPECT_EQ(Preferred(conv(28, 2), ".batch_after"), 3);
}

TEST(PreferredRules, LeaveEmptyOutputsAlone) {
  const ops::Window window = {.kernel = 2, .stride = 1, .padding = 1};
  const Function op = ops::ConvTranspose(1, 1, 1, 16, 16, window);
  ASSERT_EQ(AsInt(op->params.back().buffer->shape[1]), 0);
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const AutoScheduled result = AutoSchedule(Module(op), *NamedTarget("x86-haswell"), &intrins);
  EXPECT_EQ(Print(result.schedule.module().Find("main")), Print(op));
}

// AMX reads rows from where that takes least: in place where tiles fill up, copied for windows along the row where that
// is much less than what all products read, and packed where rows of the image are shorter than tiles.
TEST(PreferredRules, AmxReadsRowsWhereThatTakesLeast) {
  const auto rows = [](int64_t batch, int64_t size, int64_t channels, ops::Window window) {
    const ops::ConvShape shape = {.batch = batch,
                                  .spatial = {size, size},
                                  .in_channels = channels,
                                  .out_channels = 64,
                                  .windows = ops::Same(window, 2)};
    const ops::OperandTypes types = {DataType::BFloat16(), DataType::BFloat16(), DataType::Float(32)};
    return Preferred(ops::Conv(shape, types), ".rows", "x86-sapphirerapids");
  };
  const auto value = [](RowPlace place) { return static_cast<int64_t>(place); };
  EXPECT_EQ(rows(1, 56, 64, {3, 1, 1}), value(RowPlace::kInPlace));
  EXPECT_EQ(rows(4, 48, 48, {5, 1, 2}), value(RowPlace::kWindows));  // 4.8 MB, and 22 MB of packed rows
  EXPECT_EQ(rows(1, 10, 320, {3, 2, 1}), value(RowPlace::kPacked));  // rows of 5
}

// Phases of a transposed convolution whose columns do not stay near are outside of all rows.
TEST(PreferredRules, FarColumnsOfPhasesAreReadOnce) {
  const auto place = [](int64_t channels) {
    const ops::Window window = {.kernel = 3, .stride = 2, .padding = 1};
    return Preferred(ops::ConvTranspose(1, 7, 7, channels, channels, window), ".batch_after");
  };
  EXPECT_EQ(place(256), 0);
  EXPECT_GT(place(64), 0);
}

// The same of depthwise convolutions: vectors are outermost only where the image leaves a core idle.
TEST(PreferredRules, EachCoreComputesWindowsOfItsOwn) {
  const auto vector_loop = [](int64_t size, int64_t kernel) {
    const ops::Window window = {.kernel = kernel, .stride = 1, .padding = kernel / 2};
    return Preferred(ops::Depthwise(1, size, size, 256, window), ".vector_loop");
  };
  EXPECT_EQ(vector_loop(14, 3), 2);  // 9 KiB of weights
  EXPECT_EQ(vector_loop(14, 7), 0);  // 49 KiB of weights
  EXPECT_EQ(vector_loop(1, 3), 1);
}

// Columns that are not constant are copied by whole vectors: into registers where they are used, or into panels, which
// all rows of tiles share.
TEST(PreferredRules, CopiesColumnsByVectors) {
  // Tiles of few rows take several steps of the depth at once.
  for (const auto& [rows, packed] : {std::pair(24, false), {24, true}, {3, false}}) {
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    const Module module(ops::Matmul(rows, packed ? 4096 : 64, 1024));
    AutoScheduled result = AutoSchedule(module, *NamedTarget("x86-znver4"), &intrins);
    Schedule& sch = result.schedule;
    const auto loops = *sch.GetLoops(*sch.GetBlock(packed ? "B_reindex_reindex" : "B_reindex_global"));
    const auto tile_loops = *sch.GetLoops(*sch.GetBlock("C_update_o"));
    const ForNode& innermost = LoopOf(sch, loops.back());
    EXPECT_EQ(innermost.kind, ForKind::kVectorized);
    EXPECT_GE(*AsInt(innermost.extent), 16);
    const auto shared = [&](const LoopRv& loop) { return &LoopOf(sch, loop) == &LoopOf(sch, tile_loops.back()); };
    EXPECT_EQ(std::ranges::any_of(loops, shared), !packed);
  }
}

// The tile of sums is requantized where it is written: no buffer of int32 outlives an iteration.
TEST(PreferredRules, FusesRequantization) {
  const OperandTypes u8s8 = *OperandTypes::Parse("u8s8"), s8s8 = *OperandTypes::Parse("s8s8");
  const ops::Requantization to_u8 = {.scale = 0.01}, to_s8 = {.scale = 0.01, .to = DataType::Int(8)};
  const auto weights_constant = [](const Function& op) { return MarkConstant(op, {1}); };
  const ops::ConvShape conv = {
      .spatial = {8, 8}, .in_channels = 32, .out_channels = 64, .windows = ops::Same({3, 1, 1}, 2)};
  for (const auto& [types, how] : {std::pair(u8s8, to_u8), std::pair(s8s8, to_s8)}) {
    ExpectOneLoop(weights_constant(ops::WithRequantization(ops::BatchMatmul(1, 64, 96, 64, types), how)));
    ExpectOneLoop(weights_constant(ops::WithRequantization(ops::Conv(conv, types), how)));
    ExpectOneLoop(weights_constant(
        ops::WithRequantization(ops::Depthwise(1, 8, 8, 64, {.kernel = 3, .padding = 1}, 1, types), how)));
    ExpectOneLoop(weights_constant(ops::ConvBnRelu(conv, types)));
    ExpectOneLoop(weights_constant(ops::WithRequantization(ops::ConvBnRelu(conv, types), how)));
  }
}

// Equal schedules are lowered to equal programs, wherever their buffers lie in memory.
TEST(PreferredRules, LoweringIsReproducible) {
  const Target zen4 = *NamedTarget("x86-znver4");
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  std::vector<Module> kept;  // so that no program reuses the addresses of another one
  for (int i = 0; i < 12; ++i) {
    const Function op = ops::LayerNorm(64, 1024, 1e-5);
    kept.push_back(AutoSchedule(Module(op), zen4, &intrins).schedule.module());
    const auto first = Lower(kept.front(), zen4), now = Lower(kept.back(), zen4);
    ASSERT_TRUE(first.ok() && now.ok());
    ASSERT_EQ(Print(*now), Print(*first));
  }
}

}  // namespace
}  // namespace tilewright
