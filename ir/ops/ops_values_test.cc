// Every operator, run by the interpreter with all detectors, against plain loops.
#include <gtest/gtest.h>

#include <cmath>

#include "ir/float_format.h"
#include "ir/interp/interp.h"
#include "ir/ops/attention.h"
#include "ir/ops/conv.h"
#include "ir/ops/conv_bn_relu.h"
#include "ir/ops/conv_transpose.h"
#include "ir/ops/converted_output.h"
#include "ir/ops/depthwise.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/matmul.h"
#include "ir/ops/normalization.h"
#include "ir/ops/pooling.h"
#include "ir/ops/requantize.h"

namespace tilewright::ops {
namespace {

// Arrays for the parameters of a function: integers in all but the last, which is the output.
std::vector<NDArray> MakeArrays(const Function& f) {
  std::vector<NDArray> arrays;
  for (const Param& param : f->params) {
    std::vector<int64_t> shape;
    for (const Expr& extent : param.buffer->shape) shape.push_back(*AsInt(extent));
    arrays.emplace_back(param.buffer->dtype, shape);
    FillIntegers(arrays.back(), arrays.size());
  }
  return arrays;
}

// Runs with all detectors on small integers and returns the arrays, the output last.
std::vector<NDArray> Results(const Function& f, std::vector<NDArray> arrays) {
  std::vector<interp::Argument> arguments(arrays.begin(), arrays.end());
  arguments.back().uninitialized = true;
  absl::StatusOr<interp::Program> program = interp::Compile(f, interp::CompileOptions::AllChecks());
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return arrays;
  const absl::Status status = program->Run(arguments);
  EXPECT_TRUE(status.ok()) << status;
  return arrays;
}
std::vector<NDArray> Results(const Function& f) { return Results(f, MakeArrays(f)); }

// The element at indices, 0 outside of the array.
double At(const NDArray& array, std::initializer_list<int64_t> indices) {
  int64_t position = 0;
  size_t dim = 0;
  for (int64_t index : indices) {
    if (index < 0 || index >= array.shape()[dim]) return 0;
    position = position * array.shape()[dim++] + index;
  }
  return array.Get(position);
}

// Calls `check` with the indices of every element.
template <class Check>
void ForEach(const NDArray& array, const Check& check) {
  std::vector<int64_t> index(array.shape().size());
  for (int64_t i = 0; i < array.size(); ++i) {
    int64_t rest = i;
    for (size_t dim = index.size(); dim-- > 0;) {
      index[dim] = rest % array.shape()[dim];
      rest /= array.shape()[dim];
    }
    check(index, array.Get(i));
  }
}

TEST(Values, BatchMatmul) {
  for (bool transposed : {false, true}) {
    const auto arrays = Results(BatchMatmul(2, 3, 4, 5, OperandTypes::Float32(), transposed));
    ForEach(arrays[2], [&](const std::vector<int64_t>& v, double value) {
      double sum = 0;
      for (int64_t k = 0; k < 5; ++k) {
        sum += At(arrays[0], {v[0], v[1], k}) *
               (transposed ? At(arrays[1], {v[0], v[2], k}) : At(arrays[1], {v[0], k, v[2]}));
      }
      EXPECT_EQ(value, sum);
    });
  }
}

TEST(Values, TransposeBatchMatmul) {
  const auto arrays = Results(TransposeBatchMatmul(1, 3, 2, 4, *OperandTypes::Parse("bf16")));
  ForEach(arrays[2], [&](const std::vector<int64_t>& v, double value) {
    double sum = 0;
    for (int64_t k = 0; k < 4; ++k) sum += At(arrays[0], {v[0], v[2], v[1], k}) * At(arrays[1], {v[0], v[3], v[1], k});
    EXPECT_EQ(value, sum);
  });
}

TEST(Values, Attention) {
  struct Case {
    int64_t key_heads, queries, keys;
    bool causal;
    int64_t window;
    const char* types;
  };
  for (const Case& test :
       {Case{4, 5, 5, false, 0, "f32"}, Case{2, 3, 7, true, 0, "f32"}, Case{1, 7, 7, true, 3, "f32"},
        Case{4, 2, 6, false, 2, "f32"}, Case{2, 1, 9, false, 0, "f32"}, Case{2, 5, 5, true, 0, "bf16"}}) {
    const OperandTypes types = *OperandTypes::Parse(test.types);
    const auto arrays = Results(Attention({.batch = 2,
                                           .heads = 4,
                                           .key_heads = test.key_heads,
                                           .queries = test.queries,
                                           .keys = test.keys,
                                           .dim = 3,
                                           .causal = test.causal,
                                           .window = test.window},
                                          types));
    EXPECT_EQ(arrays[3].shape(), (std::vector<int64_t>{2, 4, test.queries, 3}));
    ForEach(arrays[3], [&](const std::vector<int64_t>& v, double result) {
      const int64_t key_head = v[1] / (4 / test.key_heads), position = v[2] + test.keys - test.queries;
      double total = 0, sum = 0;
      for (int64_t j = 0; j < test.keys; ++j) {
        const int64_t distance = test.causal ? position - j : std::abs(position - j);
        if ((test.causal && distance < 0) || (test.window > 0 && distance >= test.window)) continue;
        double score = 0;
        for (int64_t d = 0; d < 3; ++d)
          score += At(arrays[0], {v[0], v[1], v[2], d}) * At(arrays[1], {v[0], key_head, j, d});
        const double weight = std::exp(score / std::sqrt(3.0));
        total += weight;
        sum += weight * At(arrays[2], {v[0], key_head, j, v[3]});
      }
      EXPECT_NEAR(result, sum / total, types.input.bits() == 32 ? 1e-5 : 0.05) << test.keys;
    });
  }
}

TEST(Values, Conv1d) {
  const Window window = {.kernel = 3, .stride = 2, .padding = 1};
  const auto arrays =
      Results(Conv({.batch = 2, .spatial = {9}, .in_channels = 3, .out_channels = 4, .windows = {window}}));
  EXPECT_EQ(arrays[2].shape(), (std::vector<int64_t>{2, 5, 4}));
  ForEach(arrays[2], [&](const std::vector<int64_t>& v, double value) {
    double sum = 0;
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t c = 0; c < 3; ++c) sum += At(arrays[0], {v[0], v[1] * 2 + r - 1, c}) * At(arrays[1], {r, c, v[2]});
    }
    EXPECT_EQ(value, sum);
  });
}

TEST(Values, Conv2d) {
  struct Case {
    Window window;
    int64_t groups;
    const char* types;
  };
  for (const Case& test :
       {Case{{.kernel = 3, .padding = 1}, 1, "f32"}, Case{{.kernel = 3, .stride = 2, .padding = 2}, 2, "u8s8"},
        Case{{.kernel = 2, .padding = 1, .dilation = 2}, 1, "s8s8"}, Case{{.kernel = 1, .stride = 2}, 4, "f16"}}) {
    const ConvShape shape = {.batch = 2,
                             .spatial = {7, 6},
                             .in_channels = 4,
                             .out_channels = 8,
                             .windows = Same(test.window, 2),
                             .groups = test.groups};
    const auto arrays = Results(Conv(shape, *OperandTypes::Parse(test.types)));
    const Window& w = test.window;
    ForEach(arrays[2], [&](const std::vector<int64_t>& v, double value) {
      double sum = 0;
      for (int64_t r = 0; r < w.kernel; ++r) {
        for (int64_t s = 0; s < w.kernel; ++s) {
          for (int64_t c = 0; c < 4 / test.groups; ++c) {
            const int64_t channel = v[3] / (8 / test.groups) * (4 / test.groups) + c;
            sum += At(arrays[0], {v[0], v[1] * w.stride + r * w.dilation - w.padding,
                                  v[2] * w.stride + s * w.dilation - w.padding, channel}) *
                   At(arrays[1], {r, s, c, v[3]});
          }
        }
      }
      EXPECT_EQ(value, sum) << test.types;
    });
  }
}

TEST(Values, Conv3d) {
  const auto arrays =
      Results(Conv({.spatial = {4, 5, 3},
                    .in_channels = 2,
                    .out_channels = 3,
                    .windows = {{.kernel = 3, .padding = 1}, {.kernel = 2}, {.kernel = 1, .stride = 2}}}));
  EXPECT_EQ(arrays[2].shape(), (std::vector<int64_t>{1, 4, 4, 2, 3}));
  ForEach(arrays[2], [&](const std::vector<int64_t>& v, double value) {
    double sum = 0;
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t s = 0; s < 2; ++s) {
        for (int64_t c = 0; c < 2; ++c) {
          sum += At(arrays[0], {0, v[1] + r - 1, v[2] + s, v[3] * 2, c}) * At(arrays[1], {r, s, 0, c, v[4]});
        }
      }
    }
    EXPECT_EQ(value, sum);
  });
}

TEST(Values, Depthwise) {
  for (int64_t multiplier : {1, 2}) {
    const auto arrays = Results(Depthwise(1, 6, 5, 3, {.kernel = 3, .stride = 2, .padding = 1}, multiplier));
    ForEach(arrays[2], [&](const std::vector<int64_t>& v, double value) {
      double sum = 0;
      for (int64_t r = 0; r < 3; ++r) {
        for (int64_t s = 0; s < 3; ++s) {
          sum += At(arrays[0], {0, v[1] * 2 + r - 1, v[2] * 2 + s - 1, v[3] / multiplier}) *
                 At(arrays[1], {r, s, 0, v[3]});
        }
      }
      EXPECT_EQ(value, sum);
    });
  }
}

TEST(Values, ConvTranspose) {
  for (const Window& w :
       {Window{.kernel = 4, .stride = 2, .padding = 1}, Window{.kernel = 3, .stride = 1, .padding = 1},
        Window{.kernel = 3, .stride = 3, .padding = 0}, Window{.kernel = 5, .stride = 2, .padding = 2}}) {
    const auto arrays = Results(ConvTranspose(1, 4, 3, 2, 3, w));
    // Each input element adds its products to a window of the output.
    NDArray expected(arrays[2].dtype(), arrays[2].shape());
    const int64_t height = expected.shape()[1], width = expected.shape()[2];
    EXPECT_EQ(height, 3 * w.stride - 2 * w.padding + w.kernel);
    ForEach(arrays[0], [&](const std::vector<int64_t>& v, double value) {
      for (int64_t r = 0; r < w.kernel; ++r) {
        for (int64_t s = 0; s < w.kernel; ++s) {
          const int64_t h = v[1] * w.stride + r - w.padding, x = v[2] * w.stride + s - w.padding;
          if (h < 0 || h >= height || x < 0 || x >= width) continue;
          for (int64_t co = 0; co < 3; ++co) {
            const int64_t at = (h * width + x) * 3 + co;
            expected.Set(at, expected.Get(at) + value * At(arrays[1], {r, s, v[3], co}));
          }
        }
      }
    });
    EXPECT_TRUE(BitEqual(arrays[2], expected)) << w.kernel << w.stride << w.padding;
  }
}

TEST(Values, ConvBnRelu) {
  const ConvShape shape = {
      .spatial = {5, 5}, .in_channels = 2, .out_channels = 3, .windows = Same({.kernel = 3, .padding = 1}, 2)};
  const auto arrays = Results(ConvBnRelu(shape));
  ForEach(arrays[5], [&](const std::vector<int64_t>& v, double value) {
    double sum = 0;
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t s = 0; s < 3; ++s) {
        for (int64_t c = 0; c < 2; ++c)
          sum += At(arrays[0], {0, v[1] + r - 1, v[2] + s - 1, c}) * At(arrays[1], {r, s, c, v[3]});
      }
    }
    EXPECT_EQ(value, std::max(0.0, (sum + At(arrays[2], {v[3]})) * At(arrays[3], {v[3]}) + At(arrays[4], {v[3]})));
  });
}

TEST(Values, ConvBnReluOfIntegers) {
  const ConvShape shape = {.spatial = {4, 4}, .in_channels = 2, .out_channels = 3, .windows = Same({}, 2)};
  const auto arrays = Results(ConvBnRelu(shape, *OperandTypes::Parse("u8s8")));
  EXPECT_EQ(arrays[2].dtype(), DataType::Float(32));
  ForEach(arrays[5], [&](const std::vector<int64_t>& v, double value) {
    double sum = 0;
    for (int64_t c = 0; c < 2; ++c) sum += At(arrays[0], {0, v[1], v[2], c}) * At(arrays[1], {0, 0, c, v[3]});
    EXPECT_EQ(value, std::max(0.0, (sum + At(arrays[2], {v[3]})) * At(arrays[3], {v[3]}) + At(arrays[4], {v[3]})));
  });
}

TEST(Values, Softmax) {
  const auto arrays = Results(Softmax(3, 7));
  for (int64_t i = 0; i < 3; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < 7; ++j) sum += std::exp(At(arrays[0], {i, j}));
    for (int64_t j = 0; j < 7; ++j) EXPECT_NEAR(At(arrays[1], {i, j}), std::exp(At(arrays[0], {i, j})) / sum, 1e-6);
  }
}

TEST(Values, RowNormAndLayerNorm) {
  const auto norms = Results(RowNorm(3, 7));
  const auto layers = Results(LayerNorm(3, 7));
  for (int64_t i = 0; i < 3; ++i) {
    double squares = 0, mean = 0, variance = 0;
    for (int64_t j = 0; j < 7; ++j) squares += std::pow(At(norms[0], {i, j}), 2);
    EXPECT_NEAR(At(norms[1], {i}), std::sqrt(squares), 1e-6);
    for (int64_t j = 0; j < 7; ++j) mean += At(layers[0], {i, j}) / 7;
    for (int64_t j = 0; j < 7; ++j) variance += std::pow(At(layers[0], {i, j}) - mean, 2) / 7;
    for (int64_t j = 0; j < 7; ++j) {
      const double expected =
          (At(layers[0], {i, j}) - mean) / std::sqrt(variance + 1e-5) * At(layers[1], {j}) + At(layers[2], {j});
      EXPECT_NEAR(At(layers[3], {i, j}), expected, 1e-5);
    }
  }
}

TEST(Values, RowsInOtherTypes) {
  const auto softmax = Results(Softmax(3, 7, {DataType::Int(8), DataType::BFloat16()}));
  const auto norms = Results(RowNorm(3, 7, {DataType::UInt(8), DataType::Float(32)}));
  const auto layers = Results(LayerNorm(3, 7, 1e-5, {DataType::BFloat16(), DataType::Float(64)}));
  EXPECT_EQ(softmax[1].dtype(), DataType::BFloat16());
  EXPECT_EQ(layers[1].dtype(), DataType::Float(64));
  for (int64_t i = 0; i < 3; ++i) {
    double sum = 0, squares = 0, mean = 0, variance = 0;
    for (int64_t j = 0; j < 7; ++j) {
      sum += std::exp(At(softmax[0], {i, j}));
      squares += std::pow(At(norms[0], {i, j}), 2);
      mean += At(layers[0], {i, j}) / 7;
    }
    EXPECT_NEAR(At(norms[1], {i}), std::sqrt(squares), 1e-6 * std::sqrt(squares));
    for (int64_t j = 0; j < 7; ++j) variance += std::pow(At(layers[0], {i, j}) - mean, 2) / 7;
    for (int64_t j = 0; j < 7; ++j) {
      const double share = std::exp(At(softmax[0], {i, j})) / sum;
      EXPECT_NEAR(At(softmax[1], {i, j}), share, 0x1.01p-8 * share);
      const double expected =
          (At(layers[0], {i, j}) - mean) / std::sqrt(variance + 1e-5) * At(layers[1], {j}) + At(layers[2], {j});
      EXPECT_NEAR(At(layers[3], {i, j}), expected, 1e-12);
    }
  }
}

TEST(Values, Pooling) {
  const Window w = {.kernel = 3, .stride = 2, .padding = 1};
  const auto largest = Results(MaxPool(1, 6, 5, 2, w));
  ForEach(largest[1], [&](const std::vector<int64_t>& v, double value) {
    double expected = -1e30;
    for (int64_t h = v[1] * 2 - 1; h < v[1] * 2 + 2; ++h) {
      for (int64_t x = v[2] * 2 - 1; x < v[2] * 2 + 2; ++x) {
        if (h >= 0 && h < 6 && x >= 0 && x < 5) expected = std::max(expected, At(largest[0], {0, h, x, v[3]}));
      }
    }
    EXPECT_EQ(value, expected);
  });
  const auto mean = Results(AveragePool(1, 6, 5, 2, w));
  ForEach(mean[1], [&](const std::vector<int64_t>& v, double value) {
    double sum = 0;
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t s = 0; s < 3; ++s) sum += At(mean[0], {0, v[1] * 2 + r - 1, v[2] * 2 + s - 1, v[3]});
    }
    EXPECT_NEAR(value, sum / 9, 1e-6);
  });
  const auto global = Results(GlobalAveragePool(2, 3, 4, 2));
  ForEach(global[1], [&](const std::vector<int64_t>& v, double value) {
    double sum = 0;
    for (int64_t h = 0; h < 3; ++h) {
      for (int64_t x = 0; x < 4; ++x) sum += At(global[0], {v[0], h, x, v[1]});
    }
    EXPECT_NEAR(value, sum / 12, 1e-6);
  });
}

TEST(Values, Elementwise) {
  const auto sums = Results(Add({3, 4}, DataType::BFloat16()));
  ForEach(sums[2], [&](const std::vector<int64_t>& v, double value) {
    EXPECT_EQ(value, At(sums[0], {v[0], v[1]}) + At(sums[1], {v[0], v[1]}));
  });
  const auto relu = Results(Relu({12}, DataType::Int(8)));
  ForEach(relu[1],
          [&](const std::vector<int64_t>& v, double value) { EXPECT_EQ(value, std::max(0.0, At(relu[0], {v[0]}))); });
  const auto gelu = Results(Gelu({2, 6}));
  ForEach(gelu[1], [&](const std::vector<int64_t>& v, double value) {
    const double x = At(gelu[0], {v[0], v[1]});
    EXPECT_NEAR(value, x * (1 + std::erf(x / std::sqrt(2.0))) / 2, 1e-6);
  });
  const auto biased = Results(BiasAdd({2, 3, 4}));
  ForEach(biased[2], [&](const std::vector<int64_t>& v, double value) {
    EXPECT_EQ(value, At(biased[0], {v[0], v[1], v[2]}) + At(biased[1], {v[2]}));
  });
}

TEST(Values, Requantize) {
  const Requantization how = {.scale = 0.5, .zero_point = 3, .to = DataType::UInt(8)};
  const auto arrays = Results(MatmulRequantize(4, 5, 6, *OperandTypes::Parse("u8s8"), how));
  ForEach(arrays[3], [&](const std::vector<int64_t>& v, double value) {
    double sum = At(arrays[2], {v[1]});
    for (int64_t k = 0; k < 6; ++k) sum += At(arrays[0], {v[0], k}) * At(arrays[1], {k, v[1]});
    EXPECT_EQ(value, std::min(255.0, std::max(0.0, std::nearbyint(sum * 0.5) + 3)));
  });
  const auto conv =
      Results(ConvRequantize({.spatial = {4, 4}, .in_channels = 2, .out_channels = 2, .windows = Same({}, 2)},
                             *OperandTypes::Parse("s8s8"), {.scale = 2, .to = DataType::Int(8)}));
  ForEach(conv[3], [&](const std::vector<int64_t>& v, double value) {
    double sum = At(conv[2], {v[3]});
    for (int64_t c = 0; c < 2; ++c) sum += At(conv[0], {0, v[1], v[2], c}) * At(conv[1], {0, 0, c, v[3]});
    EXPECT_EQ(value, std::min(127.0, std::max(-128.0, sum * 2)));
  });
}

TEST(Values, WithRequantization) {
  const Function sums = Depthwise(1, 5, 5, 4, {.kernel = 3, .padding = 1}, 1, *OperandTypes::Parse("s8s8"));
  const auto exact = Results(sums);
  const auto arrays = Results(WithRequantization(sums, {.scale = 0.37, .to = DataType::Int(8)}));
  ASSERT_EQ(arrays.size(), exact.size());
  EXPECT_EQ(arrays[2].dtype(), DataType::Int(8));
  ForEach(arrays[2], [&](const std::vector<int64_t>& v, double value) {
    const float scaled = static_cast<float>(At(exact[2], {v[0], v[1], v[2], v[3]})) * 0.37f;
    EXPECT_EQ(value, std::min(127.0f, std::max(-128.0f, std::nearbyint(scaled))));
  });
}

TEST(Values, WithConvertedOutput) {
  const Function sums = Matmul(5, 7, 9, *OperandTypes::Parse("f16f32"));
  const auto exact = Results(sums), arrays = Results(WithConvertedOutput(sums, DataType::Float(16)));
  ASSERT_EQ(arrays.size(), exact.size());
  EXPECT_EQ(arrays[2].dtype(), DataType::Float(16));
  ForEach(arrays[2], [&](const std::vector<int64_t>& v, double value) {
    EXPECT_EQ(value, RoundTo(DataType::Float(16), At(exact[2], {v[0], v[1]})));
  });
}

}  // namespace
}  // namespace tilewright::ops
