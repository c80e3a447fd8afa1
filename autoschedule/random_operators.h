// Operators of random shapes and types, for tests of the rules.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

#include "ir/ops/conv.h"
#include "ir/ops/conv_transpose.h"
#include "ir/ops/depthwise.h"
#include "ir/ops/matmul.h"
#include "ir/ops/operand_types.h"
#include "ir/ops/requantize.h"
#include "schedule/layout/hoist_prepack.h"

namespace tilewright {

struct OperatorSizes {
  int64_t extent;                 // of a matrix, at most
  int64_t image;                  // in each direction, at most
  std::vector<int64_t> channels;  // one of these
};
inline const OperatorSizes kLargeOperators = {200, 40, {1, 3, 4, 7, 16, 17, 24, 32, 48, 64, 80, 96, 128, 130, 256}};
// Those that an interpreter computes in milliseconds.
inline const OperatorSizes kSmallOperators = {24, 7, {1, 3, 4, 7, 8, 16, 17}};

// Odd images, windows that reach over the borders, channels that are not multiples of vectors, batches, groups.
class RandomOperators {
 public:
  RandomOperators(uint32_t seed, OperatorSizes sizes) : random_(seed), sizes_(std::move(sizes)) {}

  // Constant operands are marked as such where that is asked for.
  Function Next(bool constants = true) {
    const ops::OperandTypes types = Types();
    const Kind kind = Pick<Kind>({kConv, kConv, kConv, kConv, kProduct, kAttention, kConvTranspose, kDepthwise});
    Function function = Operator(kind, types);
    if (types.output == DataType::Int(32) && Up(3) == 1) {
      const DataType to = Pick<DataType>({DataType::UInt(8), DataType::Int(8)});
      function = ops::WithRequantization(function, {.scale = 0.01, .zero_point = 3, .to = to});
    }
    return constants && kind != kAttention ? MarkConstant(function, {1}) : function;
  }

 private:
  enum Kind { kConv, kProduct, kAttention, kConvTranspose, kDepthwise };

  int64_t Up(int64_t most) { return std::uniform_int_distribution<int64_t>(1, most)(random_); }
  template <class T = int64_t>
  T Pick(const std::vector<T>& values) {
    return values[static_cast<size_t>(Up(static_cast<int64_t>(values.size())) - 1)];
  }
  int64_t Channels() { return Pick(sizes_.channels); }
  int64_t Size(int64_t least) { return std::max(least, Up(sizes_.image)); }

  ops::OperandTypes Types() {
    constexpr const char* kTypes[] = {"f32", "f16", "f16f32", "bf16", "u8s8", "s8s8"};
    return *ops::OperandTypes::Parse(kTypes[Up(std::ssize(kTypes)) - 1]);
  }

  Function Operator(Kind kind, const ops::OperandTypes& types) {
    switch (kind) {
      case kProduct:
        return ops::BatchMatmul(Pick({1, 3}), Up(sizes_.extent), Up(sizes_.extent), Up(sizes_.extent), types);
      case kAttention:
        return ops::TransposeBatchMatmul(Up(2), Up(sizes_.extent / 2), Up(8), Up(sizes_.extent / 2), types);
      case kConvTranspose:
        return ops::ConvTranspose(Up(2), Size(2), Size(2), Channels(), Channels(), Upsampling(), types);
      case kDepthwise: {
        const ops::Window window = SomeWindow();
        const int64_t multiplier = Pick({1, 1, 2, 3});
        return ops::Depthwise(Up(3), Size(window.kernel), Size(window.kernel), Channels(), window, multiplier, types);
      }
      default:
        return ops::Conv(Convolution(), types);
    }
  }

  ops::Window SomeWindow() {
    const int64_t kernel = Pick({1, 2, 3, 3, 3, 4, 5, 7});
    return {.kernel = kernel, .stride = Pick({1, 1, 1, 2, 3}), .padding = Pick({0, kernel / 2})};
  }
  ops::Window Upsampling() {
    const int64_t kernel = Pick({2, 3, 4, 5});
    return {.kernel = kernel, .stride = Pick({1, 2, 3}), .padding = Pick({0, 1})};
  }

  ops::ConvShape Convolution() {
    const auto dims = static_cast<int>(Pick({1, 2, 2, 2, 3}));
    ops::ConvShape shape{.batch = Pick({1, 1, 2, 5}), .in_channels = Channels(), .out_channels = Channels()};
    if (dims == 2 && Up(4) == 1) {
      shape.groups = Pick({2, 3, 8});
      shape.in_channels *= shape.groups;
      shape.out_channels *= shape.groups;
    }
    ops::Window window = SomeWindow();
    if (dims == 2 && Up(5) == 1) window.dilation = Pick({2, 3});
    shape.windows = ops::Same(window, dims);
    for (int d = 0; d < dims; ++d) shape.spatial.emplace_back(Size((window.kernel - 1) * window.dilation + 1));
    return shape;
  }

  std::mt19937 random_;
  const OperatorSizes sizes_;
};

}  // namespace tilewright
