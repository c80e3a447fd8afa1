#include "schedule/fuzz/families.h"

#include <utility>

#include "ir/ops/conv.h"
#include "ir/ops/conv_transpose.h"
#include "ir/ops/depthwise.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/matmul.h"
#include "ir/ops/normalization.h"
#include "ir/ops/pooling.h"
#include "ir/script/parse_or_die.h"
#include "schedule/fuzz/cascade_programs.h"
#include "schedule/fuzz/index_programs.h"
#include "schedule/fuzz/ordered_programs.h"
#include "schedule/fuzz/script_programs.h"
#include "schedule/fuzz/sized_programs.h"
#include "schedule/testing/programs.h"

namespace tilewright::fuzz {
namespace {

Function Convolution(std::vector<Expr> spatial, std::vector<ops::Window> windows, int64_t channels, int64_t groups) {
  return ops::Conv({.spatial = std::move(spatial),
                    .in_channels = channels,
                    .out_channels = 4,
                    .windows = std::move(windows),
                    .groups = groups});
}

}  // namespace

std::vector<Family> Families() {
  const ops::Window three{.kernel = 3, .padding = 1}, two{.kernel = 2}, strided{.kernel = 3, .stride = 2, .padding = 1},
      dilated{.kernel = 2, .dilation = 2};
  const ops::OperandTypes integers{DataType::Int(8), DataType::Int(8), DataType::Int(32)};
  const auto script = [](const char* text) { return ParseFunctionOrDie(text); };
  return {
      {"elementwise chain",
       {testing::ElementwiseChain(6, 10), testing::ElementwiseInOneNest(4, 9, 0),
        testing::ElementwiseInOneNest(4, 9, 2)}},
      {"matmul",
       {ops::Matmul(6, 8, 12), ops::Matmul(5, 7, 9, integers), testing::Matmul(4, 6, 8),
        ops::TransposeBatchMatmul(1, 4, 2, 3)}},
      {"matmul with bias", {script(kMatmulBias), script(kPackedWeights)}},
      {"batch matmul", {ops::BatchMatmul(2, 4, 5, 6), ops::BatchMatmul(3, 4, 4, 4, integers)}},
      {"quantized matmul", {script(kZeroPoints), script(kFarZeroPoint), script(kZeroBetweenLargeFactors)}},
      {"sums that wrap", {script(kSumsThatWrap)}},
      {"halves", {script(kHalfProducts), script(kRoundedTerms)}},
      {"conv1d", {Convolution({10}, {three}, 3, 1), Convolution({9}, {strided}, 2, 1)}},
      {"conv2d", {Convolution({5, 4}, {three, three}, 2, 1), Convolution({5, 6}, {two, strided}, 2, 1)}},
      {"conv3d", {Convolution({3, 3, 4}, {two, two, two}, 2, 1)}},
      {"depthwise", {ops::Depthwise(1, 5, 4, 4, three)}},
      {"grouped conv", {Convolution({5, 4}, {two, two}, 4, 2)}},
      {"dilated conv", {Convolution({6, 5}, {dilated, dilated}, 2, 1)}},
      {"rows with gaps", {script(kRows)}},
      {"transposed conv",
       {ops::ConvTranspose(1, 3, 3, 2, 2, {.kernel = 3, .stride = 2, .padding = 1}), script(kZeroTerms),
        script(kWindows)}},
      {"softmax", {ops::Softmax(4, 8)}, true, 3},
      {"layer norm", {ops::LayerNorm(4, 8), ops::RowNorm(4, 8)}, true},
      {"cascades",
       {script(kLogSumExp), script(kCausalAttention), script(kMaskedWindow), script(kNormOfRows), script(kTwoScales)},
       true},
      {"argmax", {script(kArgMax)}},
      {"pooling", {ops::MaxPool(1, 6, 6, 2, strided), ops::AveragePool(1, 6, 4, 2, {.kernel = 2, .stride = 2})}},
      {"scan", {script(kScan), script(kOpaque), script(kAccumulation)}},
      {"padded", {script(kPaddedConvolution), script(kInPlaceRowSum)}},
      {"stencil", {script(kStencil), script(kCascade), script(kEnlarged)}},
      {"part of tiles", {script(kUnevenTiles), script(kOneColumn)}},
      {"gather", {script(kGather), script(kSparseRows), script(kResize)}},
      {"symbolic", {script(kSymbolicChain), ops::Matmul(Var("m"), 6, Var("k"))}, false, 3},
      {"symbolic grid", {script(kSymbolicGrid), script(kSymbolicRows)}},
      {"all sizes",
       {script(kTilesWithATail), script(kPrefixSums), script(kTriangularSums), script(kUpperTriangle),
        script(kTransposedTiles), script(kRotation), script(kJoined), script(kHalves), script(kPaddedWindows),
        script(kTwoColours), script(kHalos)}},
      {"64 bits", {script(kWideMatmul), script(kMixedWidths)}},
      {"places by name", {script(kPages), script(kScatter)}},
      {"in place",
       {script(kFilter), script(kSweep), script(kEditing), script(kButterfly), script(kOwnOutput), script(kShift),
        script(kRunningSums), script(kOddFromEven)},
       false,
       10},
      {"ordered reduction",
       {script(kHorner), script(kAlternating), script(kLastIndex), script(kFirstOfGreatest), script(kMovingElements)},
       false,
       5},
      {"guarded", {script(kGuardedQuotients), script(kGuardedPlaces), script(kPartsOfAll), script(kRaggedSums)}},
      {"threads", {script(kThreadedMatmul), script(kThreadedRows), script(kThreadedReverse)}, false, 4},
  };
}

}  // namespace tilewright::fuzz
