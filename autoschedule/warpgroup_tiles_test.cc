// Products that nobody scheduled, for wgmma and bulk copies (sm_90a): right in the emulator, made of these
// instructions, and without spills where NVRTC is installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "codegen/counters.h"
#include "codegen/cuda/nvrtc.h"
#include "codegen/cuda/preamble.h"
#include "codegen/cuda/ptxas_log.h"
#include "codegen/cuda/testing/scheduled_kernels.h"
#include "codegen/testing/equivalence.h"
#include "ir/ops/conv.h"
#include "ir/ops/conv_transpose.h"
#include "ir/ops/converted_output.h"
#include "ir/ops/matmul.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTarget[] = "cuda-sm90a";
constexpr DataType kF32 = DataType::Float(32), kF16 = DataType::Float(16), kBf16 = DataType::BFloat16();
constexpr DataType kS8 = DataType::Int(8), kU8 = DataType::UInt(8), kS32 = DataType::Int(32);

Function Scheduled(const Function& function, std::vector<Choice> given = {}) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Choices choices = Choices::GivenOrPreferred(std::move(given));
  const AutoScheduled result = AutoSchedule(Module(function), *NamedTarget(kTarget), &intrins, choices);
  for (const RuleRefusal& refusal : result.left_alone) ADD_FAILURE() << refusal.ToString();
  for (const RuleRefusal& refusal : result.refused) ADD_FAILURE() << refusal.ToString();
  return result.schedule.module().Main();
}

void ExpectCompiles(const std::string& text) {
  if (!cuda::NvrtcIsInstalled()) return;
  const auto cubin = cuda::CompileWithNvrtc(cuda::PreambleFor(text) + text, "sm_90a");
  ASSERT_TRUE(cubin.ok()) << cubin.status();
  Counters counters = cuda::CountersOfLog(cubin->log);
  EXPECT_EQ(counters[kSpillBytesCounter], 0) << cubin->log;
  EXPECT_EQ(counters[kStackBytesCounter], 0) << cubin->log;
  EXPECT_EQ(counters[kPtxasWarningsCounter], 0) << cubin->log;
}

// What is loaded by the engine and multiplied by warpgroups, and compiles without spills.
void ExpectMadeOfWgmma(const Function& scheduled) {
  const std::string text = cuda::testing::KernelText(scheduled, kTarget);
  EXPECT_THAT(text, HasSubstr("tw::wgmma<"));
  EXPECT_THAT(text, HasSubstr("tw::tma_load"));
  EXPECT_THAT(text, Not(HasSubstr("tw::cp_async<")));
  ExpectCompiles(text);
}

void ExpectRight(const Function& function, const Function& scheduled) {
  EXPECT_EQ(testing::CompareWithInterpreter(Module(scheduled),
                                            {.target = *NamedTarget(kTarget), .original = function, .tolerance = 5e-2}),
            "")
      << Print(scheduled);
}

void ExpectWgmma(const Function& function, std::vector<Choice> given = {}) {
  const Function scheduled = Scheduled(function, std::move(given));
  ExpectMadeOfWgmma(scheduled);
  ExpectRight(function, scheduled);
}

TEST(WarpgroupTiles, ProductsOfAllTypes) {
  ExpectWgmma(ops::Matmul(128, 64, 128, {kF16, kF16, kF32}));
  ExpectWgmma(ops::Matmul(128, 64, 128, {kBf16, kBf16, kF32}, /*transposed=*/true));
  ExpectWgmma(ops::Matmul(64, 64, 256, {kS8, kS8, kS32}, /*transposed=*/true));
  // Two sums share a register.
  ExpectWgmma(ops::Matmul(128, 64, 64, {kF16, kF16, kF16}));
}

// The engine fills up with zeros, and lanes store what there is.
TEST(WarpgroupTiles, ExtentsThatTilesDoNotDivide) {
  ExpectWgmma(ops::BatchMatmul(2, 100, 88, 72, {kF16, kF16, kF32}));
  ExpectWgmma(ops::Matmul(70, 37, 96, {kBf16, kBf16, kF32}, /*transposed=*/true));
  // A quarter of a tile has rows: some warps have nothing to store.
  ExpectWgmma(ops::Matmul(16, 64, 128, {kF16, kF16, kF32}));
  // A lane of each four has a pair of the last columns.
  ExpectWgmma(ops::Matmul(64, 10, 96, {kF16, kF16, kF16}, /*transposed=*/true));
}

TEST(WarpgroupTiles, LargeTiles) {
  const Function product = ops::Matmul(256, 256, 192, {kF16, kF16, kF32});
  for (const auto& [m, n] : {std::pair(128, 128), {128, 256}, {64, 256}}) {
    ExpectWgmma(product, {{.name = "C.tile_m", .value = m}, {.name = "C.tile_n", .value = n}});
  }
}

// What all blocks of a cluster need each of them copies in part, where the grid divides into clusters.
TEST(WarpgroupTiles, Clusters) {
  const auto text = [](int64_t m, int64_t blocks, int64_t columns, bool transposed) {
    const Function product = ops::Matmul(m, 128, 96, {kF16, kF16, kF32}, transposed);
    const Function scheduled = Scheduled(product, {{.name = "C.tile_m", .value = 64},
                                                   {.name = "C.tile_n", .value = 64},
                                                   {.name = "C.tile_k", .value = 32},
                                                   {.name = "C.cluster", .value = blocks},
                                                   {.name = "C.cluster_columns", .value = columns}});
    ExpectMadeOfWgmma(scheduled);
    ExpectRight(product, scheduled);
    return cuda::testing::KernelText(scheduled, kTarget);
  };
  EXPECT_THAT(text(256, 2, 0, false), AllOf(HasSubstr("__cluster_dims__(2, 1, 1)"), HasSubstr(", &B_map, full")));
  EXPECT_THAT(text(256, 4, 0, true),
              AllOf(HasSubstr("__cluster_dims__(4, 1, 1)"), HasSubstr("tw::tma_load_multicast(")));
  EXPECT_THAT(text(64, 2, 1, true),
              AllOf(HasSubstr("__cluster_dims__(2, 1, 1)"), HasSubstr("tw::tma_load_multicast(")));
  EXPECT_THAT(text(192, 4, 0, false), Not(HasSubstr("__cluster_dims__(4")));
}

// Blocks multiply several tiles: stages and their barriers go on from one to the next.
TEST(WarpgroupTiles, Turns) {
  const auto expect = [](const Function& product, int64_t turns, int64_t stages, std::vector<Choice> given = {}) {
    given.insert(given.end(), {{.name = "C.tile_m", .value = 64},
                               {.name = "C.tile_n", .value = 32},
                               {.name = "C.tile_k", .value = 32},
                               {.name = "C.stages", .value = stages},
                               {.name = "C.turns", .value = turns}});
    ExpectWgmma(product, std::move(given));
  };
  // 4 x 4 tiles in 8 and 16 / 3 blocks, of 6 and 5 steps.
  expect(ops::Matmul(256, 128, 192, {kF16, kF16, kF32}), 2, 3);
  expect(ops::Matmul(256, 128, 160, {kF16, kF16, kF32}), 3, 3);
  expect(ops::BatchMatmul(3, 100, 88, 72, {kF16, kF16, kF32}), 2, 2);
  const ops::OperandTypes types = {kF16, kF16, kF32};
  for (const char* store : {"lanes", "vectors", "bulk"}) {
    expect(ops::WithConvertedOutput(ops::Matmul(256, 128, 160, types), kF16), 3, 4, {Choice::Of("C.store", store)});
    // The last tiles are in part outside.
    expect(ops::WithConvertedOutput(ops::Matmul(200, 88, 96, types), kF16), 3, 2, {Choice::Of("C.store", store)});
  }
  // Blocks of a cluster go on together, and end together.
  for (const int64_t columns : {0, 1}) {
    expect(ops::Matmul(256, 128, 160, types), 2, 3,
           {{.name = "C.cluster", .value = 2}, {.name = "C.cluster_columns", .value = columns}});
  }
}

// Results wait in bytes of operands that were multiplied, or beside them where the next tile's come meanwhile.
TEST(WarpgroupTiles, ResultsShareBytesWithOperands) {
  const Function product = ops::WithConvertedOutput(ops::Matmul(256, 512, 512, {kF16, kF16, kF32}), kF16);
  for (const int64_t turns : {1, 2}) {
    ExpectWgmma(product, {{.name = "C.tile_m", .value = 128},
                          {.name = "C.tile_n", .value = 256},
                          {.name = "C.turns", .value = turns},
                          Choice::Of("C.store", "bulk")});
  }
}

// Operands that other blocks transpose are read where they are.
TEST(WarpgroupTiles, TransposedOperands) { ExpectWgmma(ops::TransposeBatchMatmul(1, 64, 3, 32, {kBf16, kBf16, kF32})); }

// A bias, a residual, an activation and a cast are done to the sums in registers.
TEST(WarpgroupTiles, Epilogues) {
  const Function function = ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64, 128), "float16"), B: T.Buffer((128, 48), "float16"), bias: T.Buffer((48,), "float16"), R: T.Buffer((64, 48), "float16"), D: T.Buffer((64, 48), "float16")):
    C = T.alloc_buffer((64, 48), "float32")
    for i, j, k in T.grid(64, 48, 128):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])
    for i, j in T.grid(64, 48):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.Cast("float16", T.max(C[vi, vj] + T.Cast("float32", bias[vj]), T.float32(0)) + T.Cast("float32", R[vi, vj]))
)");
  const Function scheduled = Scheduled(function);
  ExpectMadeOfWgmma(scheduled);
  ExpectRight(function, scheduled);
}

ops::Window WindowOf(int64_t kernel, int64_t stride, int64_t padding, int64_t dilation = 1) {
  return {.kernel = kernel, .stride = stride, .padding = padding, .dilation = dilation};
}
Function Conv(int64_t batch, std::vector<int64_t> spatial, int64_t in, int64_t out, const ops::Window& window,
              int64_t groups = 1, DataType type = kF16) {
  const auto dims = static_cast<int>(spatial.size());
  return ops::Conv({.batch = batch,
                    .spatial = std::vector<Expr>(spatial.begin(), spatial.end()),
                    .in_channels = in,
                    .out_channels = out,
                    .windows = ops::Same(window, dims),
                    .groups = groups},
                   {type, type, type == kS8 ? kS32 : kF32});
}

// Turns where threads copy, where the engine finds pixels, and where other kernels add up parts of the depth.
TEST(WarpgroupTiles, TurnsOfOtherKernels) {
  const auto expect = [](const Function& function, const std::string& block, std::vector<Choice> given) {
    given.insert(given.end(), {{.name = block + ".tile_m", .value = 64},
                               {.name = block + ".tile_n", .value = 32},
                               {.name = block + ".turns", .value = 3}});
    const Function scheduled = Scheduled(function, std::move(given));
    const std::string text = cuda::testing::KernelText(scheduled, kTarget);
    EXPECT_THAT(text, AllOf(HasSubstr("tw::wgmma<"), HasSubstr("_turn")));
    ExpectCompiles(text);
    ExpectRight(function, scheduled);
  };
  const Function image = Conv(2, {9, 7}, 64, 72, WindowOf(3, 1, 1));
  for (const char* copies : {"bulk", "threads"}) {
    expect(image, "conv2d_nhwc", {Choice::Of("conv2d_nhwc.copies", copies)});
    expect(ops::WithConvertedOutput(image, kF16), "conv2d_nhwc", {Choice::Of("conv2d_nhwc.copies", copies)});
  }
  expect(ops::BatchMatmul(2, 70, 40, 512, {kF16, kF16, kF32}), "C", {{.name = "C.parts", .value = 4}});
}

// Results of 16 bits by each way there is.
void ExpectStores(const Function& sums, DataType type, const std::string& block, bool matrices, bool map = true) {
  const Function function = ops::WithConvertedOutput(sums, type);
  for (const char* way : {"lanes", "vectors", "bulk"}) {
    const Function scheduled =
        Scheduled(function, {Choice::Of(block + ".store", way), {.name = block + ".tile_n", .value = 32}});
    const std::string text = cuda::testing::KernelText(scheduled, kTarget);
    EXPECT_THAT(text, HasSubstr("tw::wgmma<"));
    const bool staged = way != std::string("lanes"), bulk = map && way == std::string("bulk");
    EXPECT_EQ(absl::StrContains(text, "tw::stmatrix_x4("), staged && matrices) << way << text;
    EXPECT_EQ(absl::StrContains(text, "tw::tma_store("), bulk) << way << text;
    EXPECT_EQ(absl::StrContains(text, "tw::bulk_wait_read<0>();"), bulk) << way << text;
    EXPECT_EQ(absl::StrContains(text, "_reindex_shared_dyn_vec);"), staged && !bulk) << way << text;
    ExpectCompiles(text);
    ExpectRight(function, scheduled);
  }
}
TEST(WarpgroupTiles, StoresOfProducts) {
  ExpectStores(ops::Matmul(128, 128, 96, {kF16, kF16, kF32}), kF16, "C", true);
  ExpectStores(ops::Matmul(64, 32, 96, {kBf16, kBf16, kF32}), kBf16, "C", true);
  // The engine clips at the edges of each matrix of the batch.
  ExpectStores(ops::BatchMatmul(2, 100, 88, 72, {kF16, kF16, kF32}), kF16, "C", false);
}
TEST(WarpgroupTiles, StoresOfConvolutions) {
  // Pixels that follow each other are rows of a matrix.
  ExpectStores(Conv(2, {8, 8}, 64, 64, WindowOf(3, 1, 1)), kF16, "conv2d_nhwc", true);
  ExpectStores(Conv(3, {9, 7}, 64, 72, WindowOf(3, 1, 1)), kF16, "conv2d_nhwc", false);
  // Groups are columns of that matrix.
  ExpectStores(Conv(1, {8, 8}, 64, 64, WindowOf(1, 1, 0), /*groups=*/2), kF16, "conv2d_nhwc", true);
  // Pixels of a phase are no such rows.
  ExpectStores(ops::ConvTranspose(1, 8, 8, 32, 32, {.kernel = 4, .stride = 2, .padding = 1}, {kF16, kF16, kF32}), kF16,
               "conv2d_transpose_nhwc", true, /*map=*/false);
}
// Rows that do not begin at multiples of 16 bytes, and 32 bits that fill sectors, are stored by lanes.
TEST(WarpgroupTiles, StoresByLanes) {
  for (const Function& function : {ops::WithConvertedOutput(ops::Matmul(64, 60, 64, {kF16, kF16, kF32}, true), kF16),
                                   ops::Matmul(64, 64, 64, {kF16, kF16, kF32})}) {
    EXPECT_THAT(cuda::testing::KernelText(Scheduled(function), kTarget), Not(HasSubstr("tw::tma_store(")));
  }
  const Function wide = ops::Matmul(128, 64, 64, {kF16, kF16, kF32});
  const Function scheduled = Scheduled(wide, {Choice::Of("C.store", "bulk")});
  EXPECT_THAT(cuda::testing::KernelText(scheduled, kTarget), HasSubstr("tw::tma_store("));
  ExpectMadeOfWgmma(scheduled);
  ExpectRight(wide, scheduled);
}

// The engine finds the pixels of an image: strides, padding and dilation are in its map, and one map does for a kernel.
TEST(WarpgroupTiles, ConvolutionsByPixels) {
  const ops::Window same = WindowOf(3, 1, 1), strided = WindowOf(3, 2, 1);
  for (const Function& function :
       {Conv(1, {9, 7}, 32, 40, same), Conv(3, {9, 7}, 64, 64, strided), Conv(2, {14, 14}, 16, 32, same),
        Conv(2, {16, 4}, 128, 64, same), Conv(1, {13, 6}, 64, 32, WindowOf(3, 1, 2, 2)),
        Conv(1, {8, 8}, 128, 128, same, /*groups=*/2), Conv(2, {70}, 32, 64, WindowOf(5, 2, 2)),
        Conv(1, {4, 7, 5}, 64, 32, same), Conv(2, {4, 8, 8}, 32, 48, strided),
        ops::ConvTranspose(1, 5, 5, 32, 16, {.kernel = 4, .stride = 2, .padding = 1}, {kBf16, kBf16, kF32})}) {
    std::vector<Choice> by_the_engine;
    for (const char* name : {"conv1d_nlc", "conv2d_nhwc", "conv3d_ndhwc", "conv2d_transpose_nhwc"}) {
      by_the_engine.push_back({.name = std::string(name) + ".copies", .value = 1});
    }
    const Function scheduled = Scheduled(function, std::move(by_the_engine));
    ExpectMadeOfWgmma(scheduled);
    const std::string text = cuda::testing::KernelText(scheduled, kTarget);
    EXPECT_THAT(text, HasSubstr("tw::tma_load_im2col_"));
    EXPECT_THAT(text, HasSubstr(" TwTensorMap inputs_map,"));
    EXPECT_THAT(text, Not(HasSubstr("inputs_map_1")));
    ExpectRight(function, scheduled);
  }
}

// What the engine cannot find, and what it is not asked to find, threads copy, several neighbours each.
TEST(WarpgroupTiles, ConvolutionsByThreads) {
  const auto expect = [](const Function& function, std::vector<Choice> given) {
    const Function scheduled = Scheduled(function, std::move(given));
    const std::string text = cuda::testing::KernelText(scheduled, kTarget);
    EXPECT_THAT(text, HasSubstr("tw::wgmma<"));
    EXPECT_THAT(text, HasSubstr("tw::cp_async<16>"));
    EXPECT_THAT(text, Not(HasSubstr("tw::tma_load(")));
    EXPECT_THAT(text, Not(HasSubstr("im2col")));
    ExpectCompiles(text);
    ExpectRight(function, scheduled);
  };
  // Steps of K would be of several window elements.
  expect(Conv(1, {9, 7}, 24, 40, WindowOf(3, 1, 1)), {});
  expect(Conv(1, {9, 7}, 64, 40, WindowOf(3, 1, 1)), {Choice::Of("conv2d_nhwc.copies", "threads")});
}

// Parts of the depth: two kernels, the second with the epilogue.
TEST(WarpgroupTiles, PartsOfTheDepth) {
  const Function product = ops::BatchMatmul(2, 70, 40, 512, {kF16, kF16, kF32});
  ExpectWgmma(product, {{.name = "C.parts", .value = 4}});
  const Function scheduled = Scheduled(product, {{.name = "C.parts", .value = 4}});
  EXPECT_THAT(cuda::testing::KernelText(scheduled, kTarget), HasSubstr("main_kernel_1("));
}

// Operands that nothing copies as they lie: a kernel of its own packs them.
TEST(WarpgroupTiles, PackedOperands) {
  // Bytes of B[k, n] are not transposed on their way into the instruction.
  ExpectWgmma(ops::Matmul(128, 64, 128, {kS8, kS8, kS32}));
  ExpectWgmma(ops::BatchMatmul(2, 70, 48, 96, {kU8, kS8, kS32}));
  // Rows of 74 bytes are not boxes, and their elements none that threads copy asynchronously.
  ExpectWgmma(ops::Matmul(64, 64, 37, {kF16, kF16, kF32}, /*transposed=*/true));
  ExpectWgmma(ops::Matmul(50, 37, 75, {kBf16, kBf16, kF32}));
}

// Weights are packed, images are not but for few channels.
TEST(WarpgroupTiles, ConvolutionsWithPackedOperands) {
  const ops::Window window = {.kernel = 3, .stride = 1, .padding = 1},
                    strided = {.kernel = 3, .stride = 2, .padding = 1}, wide = {.kernel = 5, .stride = 2, .padding = 2},
                    point = {.kernel = 1, .stride = 1, .padding = 0};
  const auto conv = [](const ops::Window& kernel, int64_t in, int64_t out, int64_t groups, ops::OperandTypes types) {
    return ops::Conv({.batch = 2,
                      .spatial = {9, 7},
                      .in_channels = in,
                      .out_channels = out,
                      .windows = {kernel, kernel},
                      .groups = groups},
                     types);
  };
  const ops::OperandTypes bytes = {kU8, kS8, kS32};
  for (const Function& function :
       {conv(window, 32, 40, 1, bytes), conv(point, 64, 32, 1, bytes), conv(strided, 16, 32, 1, bytes),
        conv(window, 64, 64, 2, bytes), conv(window, 4, 24, 1, bytes), conv(strided, 3, 32, 1, {kF16, kF16, kF32}),
        conv(window, 5, 17, 1, {kBf16, kBf16, kF32}), conv(wide, 3, 32, 1, bytes), conv(strided, 64, 128, 4, bytes),
        ops::ConvTranspose(1, 5, 5, 32, 16, {.kernel = 4, .stride = 2, .padding = 1}, bytes)}) {
    const Function scheduled = Scheduled(function);
    const std::string text = cuda::testing::KernelText(scheduled, kTarget);
    EXPECT_THAT(text, HasSubstr("tw::wgmma<"));
    ExpectCompiles(text);
    ExpectRight(function, scheduled);
  }
}

}  // namespace
}  // namespace tilewright
