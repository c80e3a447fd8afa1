// What an operator computes at a shape, in terms that every implementation and the reference share.
//
// A problem is one of four kinds:
//   MatmulProblem       out[b, m, n] = sum over k of a[b, m, k] * b[b, k, n]              (GMM, GMMt, TBG)
//   ConvolutionProblem  convolutions of one to three spatial dimensions, channels last     (C1D, ..., T2D, CBR)
//   AttentionProblem    softmax of scaled scores of queries and keys, by values                 (ATT)
//   RowProblem          each row of a matrix by itself                                     (SFM, NRM, LN, GELU):
//                       softmax; the square root of the sum of squares; layer norm with epsilon 1e-5; x Phi(x)
//
// Tensor layouts are the plain ones that a user has: channels last, weights [kernel..., CI/groups, CO].
#pragma once

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/harness/dtype.h"
#include "bench/operators/shapes.h"

namespace tilewright::bench {

struct MatmulProblem {
  int64_t batch, m, n, k;
  // The second operand is [b, n, k] instead of [b, k, n].
  bool b_transposed = false;
  // Attention scores: the operands are activations [batch / heads, m or n, heads, k], so nothing is packed ahead of
  // time. One head stands for the plain layouts.
  int64_t heads = 1;
  bool b_constant = true;
};

struct ConvolutionProblem {
  int spatial_rank;  // 1, 2 or 3. The leading entries of the arrays below are then 1 (padding: 0).
  int64_t batch, in_channels, out_channels;
  std::array<int64_t, 3> in = {1, 1, 1}, kernel = {1, 1, 1}, out = {1, 1, 1};
  std::array<int64_t, 3> padding = {0, 0, 0};
  int64_t stride = 1, dilation = 1, groups = 1;
  bool transposed = false;
  // CBR: max(0, (sum + bias) * scale + offset) per output channel; scale and offset are those of a batch normalization.
  bool normalized = false;
};

// softmax(q k^T / sqrt(dim)) v for each head. Query i stands at position i + keys - queries; with `causal` it sees the
// keys up to there, with a window those fewer positions away. heads / key_heads heads share a key head.
struct AttentionProblem {
  int64_t batch, heads, key_heads, queries, keys, dim;
  bool causal = false;
  int64_t window = 0;  // 0: none
};

enum class RowFunction { kSoftmax, kRowNorm, kLayerNorm, kGelu };

struct RowProblem {
  RowFunction function;
  int64_t rows, columns;
};

inline constexpr double kLayerNormEpsilon = 1e-5;

using Problem = std::variant<MatmulProblem, ConvolutionProblem, AttentionProblem, RowProblem>;

// Refuses numbers that make no problem, as ParseShapes() says. `shape.numbers` must have the operator's count.
absl::StatusOr<Problem> MakeProblem(const Shape& shape);

struct TensorShapes {
  std::vector<int64_t> activation;
  std::vector<int64_t> weight;  // Empty for a RowProblem.
  // What is in f32 beside the weight: [bias, scale, offset] x channels of CBR, [scale, shift] x columns of LN; the
  // values of ATT, rounded to their type.
  std::vector<int64_t> parameters;  // Empty for all others.
  std::vector<int64_t> output;
};
TensorShapes ShapesOf(const Problem& problem);

// Multiplications and additions, those with padding counted as if it were data, with masked keys not; 0 for a
// RowProblem.
double Flops(const Problem& problem);

// A shape in a data type, which is what one line of the report is about.
struct Workload {
  Shape shape;
  DType dtype;
  Problem problem;
};

// The type of the output.
TwDataType OutputType(const Workload& workload);

// Every tensor read or written once.
double Bytes(const Workload& workload);

}  // namespace tilewright::bench
