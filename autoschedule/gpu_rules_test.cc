// Programs that nobody scheduled, on GPUs: what the rules make of them is verified, runs in the CUDA emulator with all
// of its checks, and computes what the program computes in the interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "autoschedule/gpu_testing.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "codegen/lower/pipeline.h"
#include "codegen/testing/equivalence.h"
#include "ir/functor.h"
#include "ir/ops/conv.h"
#include "ir/ops/conv_transpose.h"
#include "ir/ops/depthwise.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/matmul.h"
#include "ir/ops/normalization.h"
#include "ir/ops/pooling.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/script/trace_text.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using ops::OperandTypes;
using testing::ExpectRightOnGpus;

constexpr DataType kF32 = DataType::Float(32), kF16 = DataType::Float(16), kBf16 = DataType::BFloat16();
constexpr DataType kS8 = DataType::Int(8), kU8 = DataType::UInt(8), kS32 = DataType::Int(32);

const OperandTypes kAllTypes[] = {{kF32, kF32, kF32},   {kF16, kF16, kF32}, {kF16, kF16, kF16},
                                  {kBf16, kBf16, kF32}, {kS8, kS8, kS32},   {kU8, kS8, kS32}};

// Sums of rounded terms in another order.
constexpr double kSums = 2e-2, kHalfSums = 2e-1;
double ToleranceOf(const OperandTypes& types) { return types.output == kF16 ? kHalfSums : kSums; }

class GpuRulesOfTypes : public ::testing::TestWithParam<OperandTypes> {};
INSTANTIATE_TEST_SUITE_P(Types, GpuRulesOfTypes, ::testing::ValuesIn(kAllTypes));

TEST_P(GpuRulesOfTypes, Products) {
  ExpectRightOnGpus(ops::BatchMatmul(2, 17, 19, 23, GetParam()), {.tolerance = kSums});
  ExpectRightOnGpus(ops::BatchMatmul(1, 40, 24, 33, GetParam(), /*b_transposed=*/true), {.tolerance = kSums});
  ExpectRightOnGpus(ops::TransposeBatchMatmul(1, 9, 3, 5, GetParam()), {.tolerance = kSums});
}

TEST_P(GpuRulesOfTypes, Convolutions) {
  const ops::Window window = {.kernel = 3, .stride = 1, .padding = 1};
  const auto conv = [&](const ops::ConvShape& shape) {
    ExpectRightOnGpus(ops::Conv(shape, GetParam()), {.tolerance = kSums});
  };
  conv({.batch = 2, .spatial = {13}, .in_channels = 5, .out_channels = 6, .windows = {window}});
  conv({.batch = 1, .spatial = {7, 6}, .in_channels = 3, .out_channels = 10, .windows = {{3, 2, 1}, {3, 2, 1}}});
  conv({.batch = 1, .spatial = {9, 8}, .in_channels = 4, .out_channels = 5, .windows = {{3, 1, 2, 2}, {3, 1, 2, 2}}});
  conv({.batch = 1, .spatial = {5, 5}, .in_channels = 12, .out_channels = 8, .windows = {window, window}, .groups = 4});
  conv({.batch = 1, .spatial = {3, 4, 5}, .in_channels = 3, .out_channels = 7, .windows = {window, window, window}});
  ExpectRightOnGpus(ops::ConvTranspose(1, 3, 4, 5, 6, {.kernel = 4, .stride = 2, .padding = 1}, GetParam()),
                    {.tolerance = kSums});
  ExpectRightOnGpus(ops::Depthwise(1, 7, 6, 19, {.kernel = 3, .stride = 2, .padding = 1}, 1, GetParam()),
                    {.tolerance = kSums});
}

// The name of the block that reduces.
std::string BlockName(const Function& function) {
  std::string name;
  PreOrder(function->body, [&](const Stmt& s) {
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    if (realize != nullptr && realize->block->init) name = realize->block->name;
    return true;
  });
  return name;
}

// The tiles that are chosen, by what the trace says of the block's sketch.
std::string SketchOf(const Function& function, Choices choices = Choices::Preferred()) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const AutoScheduled result = AutoSchedule(Module(function), *NamedTarget("cuda-sm80"), &intrins, choices);
  for (const Choice& choice : choices.made()) {
    if (!choice.name.ends_with(".sketch")) continue;
    return std::string(choice.label());
  }
  return "";
}

TEST_P(GpuRulesOfTypes, ProductsInTiles) {
  const OperandTypes types = GetParam();
  const bool warps = types.input != kF32;
  const Function product = ops::BatchMatmul(2, 60, 48, 32, types);
  EXPECT_EQ(SketchOf(product), warps ? "mma_tiles" : "thread_tiles");
  ExpectRightOnGpus(product, {.tolerance = ToleranceOf(GetParam())});
  ExpectRightOnGpus(ops::BatchMatmul(1, 33, 40, 72, types, /*b_transposed=*/true),
                    {.tolerance = ToleranceOf(GetParam())});
  const ops::Window window = {.kernel = 3, .stride = 1, .padding = 1};
  const Function convolution = ops::Conv(
      {.batch = 1, .spatial = {7, 6}, .in_channels = 16, .out_channels = 24, .windows = {window, window}}, types);
  EXPECT_EQ(SketchOf(convolution), warps ? "mma_tiles" : "thread_tiles");
  ExpectRightOnGpus(convolution, {.tolerance = ToleranceOf(GetParam())});
}

// Tensor cores of the first kind take half of a tile's depth at once.
TEST(GpuRules, HalvesInTilesWithoutDeepInstructions) {
  const Target target = *NamedTarget("cuda-sm75");
  for (const DataType sum : {kF32, kF16}) {
    for (const bool transposed : {false, true}) {
      const Function product = ops::BatchMatmul(1, 60, 48, 40, {kF16, kF16, sum}, transposed);
      IntrinRegistry intrins = IntrinRegistry::Builtin();
      const AutoScheduled result = AutoSchedule(Module(product), target, &intrins);
      const std::string trace = ToText(result.schedule.trace());
      EXPECT_NE(trace.find(transposed ? "_trans_k8" : "_k8"), trace.npos) << trace;
      EXPECT_EQ(testing::CompareWithInterpreter(
                    result.schedule.module(),
                    {.target = target, .original = product, .tolerance = sum == kF16 ? kHalfSums : kSums}),
                "");
    }
  }
}

// Whatever is drawn and not refuted is right.
TEST_P(GpuRulesOfTypes, DrawnTiles) {
  const Target target = *NamedTarget("cuda-sm80");
  const Function product = ops::BatchMatmul(1, 60, 48, 80, GetParam());
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    Choices choices = Choices::Drawn(seed);
    const AutoScheduled result = AutoSchedule(Module(product), target, &intrins, choices);
    const Function main = result.schedule.module().Main();
    const VerifyResult verified = VerifyProgram(main, &target);
    // A search refuses these, as it does what needs too much shared memory (Space::Make).
    if (verified.verdict() == Verdict::kRefuted) continue;
    EXPECT_EQ(
        testing::CompareWithInterpreter(result.schedule.module(),
                                        {.target = target, .original = product, .tolerance = ToleranceOf(GetParam())}),
        "")
        << Print(main);
  }
}

// Tiles that are smaller than what the threads can copy at once, in several stages.
TEST_P(GpuRulesOfTypes, CopiesByPartOfTheThreads) {
  const Target target = *NamedTarget("cuda-sm80");
  const Function product = ops::BatchMatmul(1, 64, 64, 128, GetParam(), /*b_transposed=*/true);
  for (const int64_t stages : {2, 3}) {
    std::vector<Choice> given;
    for (const auto& [what, value] :
         {std::pair("tile_m", int64_t{32}), {"tile_n", 32}, {"warps_m", 2}, {"warps_n", 2}, {"stages", stages}}) {
      given.push_back({.name = BlockName(product) + "." + what, .value = value});
    }
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    Choices choices = Choices::GivenOrPreferred(std::move(given));
    const AutoScheduled result = AutoSchedule(Module(product), target, &intrins, choices);
    EXPECT_EQ(
        testing::CompareWithInterpreter(result.schedule.module(),
                                        {.target = target, .original = product, .tolerance = ToleranceOf(GetParam())}),
        "")
        << Print(result.schedule.module().Main());
  }
}

// What padding and tiles add to an operand is nothing that a thread waits for.
TEST(GpuRules, PaddedOperandsAreCopiedAsynchronously) {
  const ops::Window window = {.kernel = 3, .stride = 1, .padding = 1};
  const Function function =
      ops::Conv({.batch = 1, .spatial = {9, 7}, .in_channels = 32, .out_channels = 32, .windows = {window, window}},
                {kF16, kF16, kF32});
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Target target = *NamedTarget("cuda-sm80");
  const AutoScheduled result = AutoSchedule(Module(function), target, &intrins);
  const auto lowered = Lower(result.schedule.module(), target);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const std::string text = Print(lowered->Main());
  EXPECT_NE(text.find("cuda.cp_async"), std::string::npos);
  EXPECT_EQ(text.find("if_then_else"), std::string::npos) << text;
}

TEST(GpuRules, TilesMustFitInSharedMemory) {
  const Function product = ops::BatchMatmul(1, 256, 256, 256, {kBf16, kBf16, kF32});
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  std::vector<Choice> given;
  for (const auto& [what, value] : {std::pair("tile_m", 128), {"tile_n", 128}, {"tile_k", 64}, {"stages", 4}}) {
    given.push_back({.name = BlockName(product) + "." + what, .value = value});
  }
  given.push_back(Choice::Of(BlockName(product) + ".sketch", "warp_tiles"));
  Choices choices = Choices::GivenOrPreferred(std::move(given));
  const AutoScheduled result = AutoSchedule(Module(product), *NamedTarget("cuda-sm80"), &intrins, choices);
  ASSERT_EQ(result.refused.size(), 1u);
  EXPECT_EQ(result.refused[0].ToString(),
            "warp_tile_rule: the tiles of block " + BlockName(product) + " do not fit in shared memory");
  EXPECT_TRUE(result.left_alone.empty());
}

// A vector that several rows' loops are fused with is one thread's four sums, not a row of them.
TEST(GpuRules, VectorsOfSums) {
  const Function function = ops::Depthwise(1, 56, 56, 64, {.kernel = 3, .stride = 1, .padding = 1});
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Choices choices = Choices::GivenOrPreferred({{.name = "depth_conv2d_nhwc.vector", .value = 4}});
  const Target target = *NamedTarget("cuda-sm80");
  const AutoScheduled result = AutoSchedule(Module(function), target, &intrins, choices);
  const auto lowered = Lower(result.schedule.module(), target);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  int64_t largest = 0;
  PreOrder(lowered->Main()->body, [&](const Stmt& s) {
    const auto* allocate = dyn_cast<AllocateNode>(s);
    if (allocate != nullptr) largest = std::max(largest, AsInt(allocate->buffer->shape[0]).value_or(1 << 20));
    return true;
  });
  EXPECT_EQ(largest, 4);
}

TEST(GpuRules, Rows) {
  ExpectRightOnGpus(ops::Softmax(5, 37), {.tolerance = 1e-5});
  ExpectRightOnGpus(ops::RowNorm(3, 70), {.tolerance = 1e-5});
  ExpectRightOnGpus(ops::LayerNorm(4, 45, 1e-5), {.tolerance = 1e-4});
}

TEST(GpuRules, ElementwiseAndWindows) {
  ExpectRightOnGpus(ops::Gelu({7, 33}), {.tolerance = 1e-5});
  ExpectRightOnGpus(ops::MaxPool(1, 9, 8, 12, {.kernel = 3, .stride = 2, .padding = 1}));
  ExpectRightOnGpus(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((30, 45), "float32"), B: T.Buffer((45, 30), "float32")):
    for i, j in T.grid(45, 30):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] + T.float32(1)
)"));
}

// A block whose output is the place of a sum that threads own must not be computed in another kernel.
TEST(GpuRules, ReductionsAndWhatReadsThem) {
  ExpectRightOnGpus(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((6, 11, 5), "float32"), B: T.Buffer((6, 11, 5), "float32")):
    M = T.alloc_buffer((6, 5))
    for i, k, j in T.grid(6, 11, 5):
        with T.block("M"):
            vi, vk, vj = T.axis.remap("SRS", [i, k, j])
            with T.init():
                M[vi, vj] = T.float32(0)
            M[vi, vj] = M[vi, vj] + A[vi, vk, vj]
    for i, k, j in T.grid(6, 11, 5):
        with T.block("B"):
            vi, vk, vj = T.axis.remap("SSS", [i, k, j])
            B[vi, vk, vj] = A[vi, vk, vj] - M[vi, vj]
)"),
                    {.tolerance = 1e-5});
}

TEST(GpuRules, PlacesOfPairs) {
  ExpectRightOnGpus(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((9, 21), "float32"), P: T.Buffer((9,), "int32"), M: T.Buffer((9,), "float32")):
    for i, k in T.grid(9, 21):
        with T.block("argmax"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                P[vi] = -1
                M[vi] = T.min_value("float32")
            p: T.int32 = T.Select(M[vi] >= A[vi, vk], P[vi], vk)
            m: T.float32 = T.Select(M[vi] >= A[vi, vk], M[vi], A[vi, vk])
            P[vi] = p
            M[vi] = m
)"));
}

// Steps of time in turn, channels at once; and steps alone, which one thread runs.
TEST(GpuRules, BlocksWithAnOrder) {
  ExpectRightOnGpus(ParseFunctionOrDie(R"(
@T.prim_func
def main(X: T.Buffer((40, 12), "float32"), Y: T.Buffer((40, 13), "float32")):
    for c in range(40):
        with T.block("start"):
            vc = T.axis.spatial(40, c)
            Y[vc, 0] = X[vc, 0]
    for c, t in T.grid(40, 12):
        with T.block("Y"):
            vc, vt = T.axis.remap("SS", [c, t])
            Y[vc, vt + 1] = X[vc, vt] - Y[vc, vt]
)"));
  ExpectRightOnGpus(ParseFunctionOrDie(R"(
@T.prim_func
def main(X: T.Buffer((12,), "float32"), Y: T.Buffer((13,), "float32")):
    for t in range(12):
        with T.block("Y"):
            vt = T.axis.spatial(12, t)
            Y[vt + 1] = X[vt] - Y[vt]
)"),
                    {.threads = false});
}

// Two blocks in one nest, with memory of an iteration.
TEST(GpuRules, NestsOfUsers) {
  ExpectRightOnGpus(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((50, 8), "float32"), B: T.Buffer((50, 8), "float32")):
    S = T.alloc_buffer((50,))
    for i in range(50):
        for k in range(8):
            with T.block("S"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + A[vi, vk]
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * S[vi]
)"),
                    {.tolerance = 1e-5});
}

TEST(GpuRules, SymbolicExtents) {
  ExpectRightOnGpus(ParseFunctionOrDie(R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n, m, 3), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    for i, j, k in T.grid(n, m, 3):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                B[vi, vj] = T.float32(0)
            B[vi, vj] = B[vi, vj] + A[vi, vj, vk]
)"),
                    {.tolerance = 1e-5, .variables = {7, 45}});
}

}  // namespace
}  // namespace tilewright
