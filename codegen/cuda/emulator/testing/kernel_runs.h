// Runs each test kernel on random inputs and compares it with sums in double precision.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/check.h"
#include "codegen/cuda/emulator/kernels/attention.h"
#include "codegen/cuda/emulator/kernels/convolution.h"
#include "codegen/cuda/emulator/kernels/product_mma.h"
#include "codegen/cuda/emulator/kernels/product_wgmma.h"
#include "codegen/cuda/emulator/kernels/rows.h"
#include "codegen/cuda/emulator/launch.h"
#include "codegen/cuda/emulator/tensor_map.h"
#include "codegen/cuda/emulator/testing/arrays.h"

namespace tilewright::emulator {

struct Outcome {
  LaunchResult result;
  double error = 0;             // the largest of an output, infinite where one is NaN
  std::vector<uint8_t> output;  // its bytes, to compare launches
};

// Calls expected(i) for each element of the output.
template <class T, class Expected>
Outcome Compare(LaunchResult result, const Array<T>& output, const Expected& expected) {
  Outcome outcome = {std::move(result)};
  for (size_t i = 0; i < output.size(); ++i) {
    const double error = std::abs(static_cast<double>(ToFloat(output[i])) - expected(i));
    outcome.error = std::max(outcome.error, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
  }
  const auto* bytes = reinterpret_cast<const uint8_t*>(output.data());
  outcome.output.assign(bytes, bytes + output.bytes());
  return outcome;
}

inline TwTensorMap Encode(const TiledMap& map) {
  const auto encoded = EncodeTiled(map);
  TW_CHECK(encoded.ok()) << std::string(encoded.status().message());
  return *encoded;
}

// The product of rows of A and columns of B, element (m, n).
struct Product {
  Product(int M, int N, int K, uint32_t seed) : M(M), N(N), K(K), a(Count(M, K)), b(Count(K, N)), c(Count(M, N)) {
    std::mt19937 random(seed);
    Fill(a, random);
    Fill(b, random);
    memory.Add("A", a.data(), a.bytes());
    memory.Add("B", b.data(), b.bytes());
    memory.Add("C", c.data(), c.bytes(), GlobalMemory::kOutput);
  }
  static size_t Count(int x, int y) { return static_cast<size_t>(x) * static_cast<size_t>(y); }
  double Expected(size_t i, bool transposed) const {
    const size_t m = i / static_cast<size_t>(N), n = i % static_cast<size_t>(N), depth = static_cast<size_t>(K);
    double sum = 0;
    for (size_t k = 0; k < depth; ++k) {
      sum += static_cast<double>(ToFloat(a[m * depth + k])) *
             static_cast<double>(ToFloat(b[transposed ? n * depth + k : k * static_cast<size_t>(N) + n]));
    }
    return sum;
  }

  int M, N, K;
  Array<tw::f16> a, b, c;
  GlobalMemory memory;
};

inline uint32_t Blocks(int extent, int tile) { return static_cast<uint32_t>((extent + tile - 1) / tile); }

template <Planted kPlanted = kNone>
Outcome RunProductMma(int M, int N, int K, uint64_t seed = 0) {
  Product p(M, N, K, 1);
  const LaunchOptions options = {.kernel = "product_mma",
                                 .grid = {Blocks(N, product_mma::kTile), Blocks(M, product_mma::kTile)},
                                 .block = {product_mma::kThreads},
                                 .shared_bytes = product_mma::kSharedBytes,
                                 .seed = seed};
  LaunchResult result =
      Launch(options, p.memory, [&] { product_mma::Kernel<kPlanted>(p.a.data(), p.b.data(), p.c.data(), M, N, K); });
  return Compare(std::move(result), p.c, [&](size_t i) { return p.Expected(i, false); });
}

template <int kCluster, bool kTransposed, Planted kPlanted = kNone>
Outcome RunProductWgmma(int M, int N, int K, uint64_t seed = 0) {
  Product p(M, N, K, 1);
  const auto map = [](tw::f16* data, int inner, int outer, uint32_t rows) {
    return Encode({.address = data,
                   .extents = {static_cast<uint64_t>(inner), static_cast<uint64_t>(outer)},
                   .strides = {static_cast<uint64_t>(inner) * 2},
                   .box = {64, rows},
                   .swizzle_bytes = 128});
  };
  const TwTensorMap a = map(p.a.data(), K, M, 128), c = map(p.c.data(), N, M, 64);
  const TwTensorMap b = kTransposed ? map(p.b.data(), K, N, 64) : map(p.b.data(), N, K, 64);
  const LaunchOptions options = {.kernel = "product_wgmma",
                                 .grid = {kCluster * 2},
                                 .block = {product_wgmma::kThreads},
                                 .cluster = {kCluster},
                                 .shared_bytes = product_wgmma::kSharedBytes,
                                 .seed = seed};
  LaunchResult result =
      Launch(options, p.memory, [&] { product_wgmma::Kernel<kCluster, kTransposed, kPlanted>(a, b, c, {M, N, K}); });
  return Compare(std::move(result), p.c, [&](size_t i) { return p.Expected(i, kTransposed); });
}

// The element at `i` of a convolution's output.
inline double ExpectedConvolution(const Array<tw::f16>& image, const Array<tw::f16>& weights,
                                  const convolution::Shape& s, size_t i) {
  const int at = static_cast<int>(i), co = at % s.out_channels, q = at / s.out_channels % s.out_width;
  const int p = at / s.out_channels / s.out_width % s.out_height, n = at / s.out_channels / s.out_width / s.out_height;
  double sum = 0;
  for (int tap = 0; tap < s.window * s.window; ++tap) {
    const int y = p * s.stride - s.padding + tap / s.window * s.dilation;
    const int x = q * s.stride - s.padding + tap % s.window * s.dilation;
    if (y < 0 || y >= s.height || x < 0 || x >= s.width) continue;
    for (int ci = 0; ci < s.in_channels; ++ci) {
      sum +=
          static_cast<double>(
              ToFloat(image[static_cast<size_t>(((n * s.height + y) * s.width + x) * s.in_channels + ci)])) *
          static_cast<double>(ToFloat(weights[static_cast<size_t>((tap * s.in_channels + ci) * s.out_channels + co)]));
    }
  }
  return sum;
}

template <Planted kPlanted = kNone>
Outcome RunConvolution(convolution::Shape s, uint64_t seed = 0) {
  const int reach = (s.window - 1) * s.dilation;
  s.out_height = (s.height + 2 * s.padding - reach - 1) / s.stride + 1;
  s.out_width = (s.width + 2 * s.padding - reach - 1) / s.stride + 1;
  const auto count = [](std::initializer_list<int> extents) {
    size_t n = 1;
    for (const int extent : extents) n *= static_cast<size_t>(extent);
    return n;
  };
  Array<tw::f16> image(count({s.images, s.height, s.width, s.in_channels}));
  Array<tw::f16> weights(count({s.window, s.window, s.in_channels, s.out_channels}));
  Array<tw::f16> out(count({s.images, s.out_height, s.out_width, s.out_channels}));
  std::mt19937 random(1);
  Fill(image, random);
  Fill(weights, random);
  GlobalMemory memory;
  memory.Add("I", image.data(), image.bytes());
  memory.Add("W", weights.data(), weights.bytes());
  memory.Add("O", out.data(), out.bytes(), GlobalMemory::kOutput);
  const auto u = [](int v) { return static_cast<uint64_t>(v); };
  const uint64_t pixel = u(s.in_channels) * 2;
  const auto image_map = EncodeIm2col({.address = image.data(),
                                       .extents = {u(s.in_channels), u(s.width), u(s.height), u(s.images)},
                                       .strides = {pixel, pixel * u(s.width), pixel * u(s.width) * u(s.height)},
                                       .lower = {-s.padding, -s.padding},
                                       .upper = {s.padding - reach, s.padding - reach},
                                       .channels = 64,
                                       .pixels = convolution::kPixels,
                                       .steps = {static_cast<uint32_t>(s.stride), static_cast<uint32_t>(s.stride)},
                                       .swizzle_bytes = 128});
  TW_CHECK(image_map.ok()) << std::string(image_map.status().message());
  const TwTensorMap weight_map = Encode({.address = weights.data(),
                                         .extents = {u(s.out_channels), u(s.in_channels), u(s.window * s.window)},
                                         .strides = {u(s.out_channels) * 2, u(s.out_channels * s.in_channels) * 2},
                                         .box = {64, 64, 1},
                                         .swizzle_bytes = 128});
  const int pixels = s.images * s.out_height * s.out_width;
  const LaunchOptions options = {
      .kernel = "convolution",
      .grid = {Blocks(pixels, convolution::kPixels), Blocks(s.out_channels, convolution::kChannels)},
      .block = {convolution::kThreads},
      .shared_bytes = convolution::kSharedBytes,
      .seed = seed};
  LaunchResult result =
      Launch(options, memory, [&] { convolution::Kernel<kPlanted>(*image_map, weight_map, out.data(), s); });
  return Compare(std::move(result), out, [&](size_t i) { return ExpectedConvolution(image, weights, s, i); });
}

template <Planted kPlanted = kNone>
Outcome RunAttention(int heads, int length, uint64_t seed = 0) {
  constexpr size_t kHead = attention::kHead;
  const auto n = static_cast<size_t>(length);
  const size_t count = static_cast<size_t>(heads) * n * kHead;
  Array<tw::f16> q(count), k(count), v(count), out(count);
  std::mt19937 random(1);
  for (Array<tw::f16>* array : {&q, &k, &v}) {
    for (size_t i = 0; i < count; ++i) (*array)[i] = tw::to_f16(std::normal_distribution<float>(0, 1)(random));
  }
  GlobalMemory memory;
  memory.Add("Q", q.data(), q.bytes());
  memory.Add("K", k.data(), k.bytes());
  memory.Add("V", v.data(), v.bytes());
  memory.Add("O", out.data(), out.bytes(), GlobalMemory::kOutput);
  const auto map = [&](tw::f16* data, uint32_t rows) {
    return Encode({.address = data,
                   .extents = {kHead, n, static_cast<uint64_t>(heads)},
                   .strides = {kHead * 2, n * kHead * 2},
                   .box = {64, rows, 1},
                   .swizzle_bytes = 128});
  };
  const TwTensorMap mq = map(q.data(), attention::kQueries), mk = map(k.data(), attention::kKeys),
                    mv = map(v.data(), attention::kKeys);
  const LaunchOptions options = {.kernel = "attention",
                                 .grid = {Blocks(length, attention::kQueries), static_cast<uint32_t>(heads)},
                                 .block = {attention::kThreads},
                                 .shared_bytes = attention::kSharedBytes,
                                 .seed = seed};
  LaunchResult result = Launch(options, memory, [&] { attention::Kernel<kPlanted>(mq, mk, mv, out.data(), length); });
  std::vector<double> weights(n);
  return Compare(std::move(result), out, [&](size_t i) {
    const size_t row = i / kHead, first = row / n * n;
    if (i % kHead == 0) {
      double sum = 0;
      for (size_t j = 0; j < n; ++j) {
        double score = 0;
        for (size_t d = 0; d < kHead; ++d) {
          score += static_cast<double>(ToFloat(q[row * kHead + d])) *
                   static_cast<double>(ToFloat(k[(first + j) * kHead + d])) / 8;
        }
        sum += weights[j] = std::exp(score);
      }
      for (double& w : weights) w /= sum;
    }
    double result_of_row = 0;
    for (size_t j = 0; j < n; ++j)
      result_of_row += weights[j] * static_cast<double>(ToFloat(v[(first + j) * kHead + i % kHead]));
    return result_of_row;
  });
}

template <Planted kPlanted = kNone>
Outcome RunSoftmax(int row_count, int columns, uint64_t seed = 0) {
  Array<float> x(Product::Count(row_count, columns)), y(x.size());
  std::mt19937 random(1);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::normal_distribution<float>(0, 4)(random);
  GlobalMemory memory;
  memory.Add("X", x.data(), x.bytes());
  memory.Add("Y", y.data(), y.bytes(), GlobalMemory::kOutput);
  const LaunchOptions options = {.kernel = "softmax",
                                 .grid = {static_cast<uint32_t>(row_count)},
                                 .block = {rows::kThreads},
                                 .shared_bytes = 64,
                                 .seed = seed};
  LaunchResult result = Launch(options, memory, [&] { rows::Softmax<kPlanted>(x.data(), y.data(), columns); });
  return Compare(std::move(result), y, [&](size_t i) {
    const size_t n = static_cast<size_t>(columns), first = i / n * n;
    double sum = 0;
    for (size_t j = 0; j < n; ++j) sum += std::exp(static_cast<double>(x[first + j]) - static_cast<double>(x[i]));
    return 1 / sum;
  });
}

template <Planted kPlanted = kNone>
Outcome RunMatrixVector(int M, int K, uint64_t seed = 0) {
  Array<float> a(Product::Count(M, K)), x(static_cast<size_t>(K)), y(static_cast<size_t>(M));
  std::mt19937 random(1);
  Fill(a, random);
  Fill(x, random);
  GlobalMemory memory;
  memory.Add("A", a.data(), a.bytes());
  memory.Add("x", x.data(), x.bytes());
  memory.Add("y", y.data(), y.bytes(), GlobalMemory::kOutput);
  const LaunchOptions options = {.kernel = "matrix_vector",
                                 .grid = {Blocks(M, rows::kWarps)},
                                 .block = {rows::kThreads},
                                 .shared_bytes = static_cast<uint32_t>(K) * 4,
                                 .seed = seed};
  LaunchResult result =
      Launch(options, memory, [&] { rows::MatrixVector<kPlanted>(a.data(), x.data(), y.data(), M, K); });
  return Compare(std::move(result), y, [&](size_t m) {
    double sum = 0;
    for (size_t k = 0; k < x.size(); ++k) sum += static_cast<double>(a[m * x.size() + k]) * static_cast<double>(x[k]);
    return sum;
  });
}

template <Planted kPlanted = kNone>
Outcome RunProductWmma(int M, int N, int K, uint64_t seed = 0) {
  Product p(M, N, K, 1);
  Array<float> c(p.c.size());
  GlobalMemory memory;
  memory.Add("A", p.a.data(), p.a.bytes());
  memory.Add("B", p.b.data(), p.b.bytes());
  memory.Add("C", c.data(), c.bytes(), GlobalMemory::kOutput);
  const LaunchOptions options = {.kernel = "product_wmma",
                                 .grid = {Blocks(N, 32), Blocks(M, 32)},
                                 .block = {rows::kThreads},
                                 .shared_bytes = 5120,
                                 .seed = seed};
  LaunchResult result =
      Launch(options, memory, [&] { rows::ProductWmma<kPlanted>(p.a.data(), p.b.data(), c.data(), N, K); });
  return Compare(std::move(result), c, [&](size_t i) { return p.Expected(i, false); });
}

inline Outcome RunProductBytes(int M, int N, int K, uint64_t seed = 0) {
  Array<int8_t> a(Product::Count(M, K)), b(Product::Count(N, K));
  Array<int32_t> y(Product::Count(M, N));
  std::mt19937 random(1);
  Fill(a, random);
  Fill(b, random);
  GlobalMemory memory;
  memory.Add("A", a.data(), a.bytes());
  memory.Add("B", b.data(), b.bytes());
  memory.Add("Y", y.data(), y.bytes(), GlobalMemory::kOutput);
  const LaunchOptions options = {.kernel = "product_bytes",
                                 .grid = {Blocks(N, rows::kThreads), static_cast<uint32_t>(M)},
                                 .block = {rows::kThreads},
                                 .seed = seed};
  LaunchResult result = Launch(options, memory, [&] { rows::ProductBytes(a.data(), b.data(), y.data(), N, K); });
  const auto depth = static_cast<size_t>(K), columns = static_cast<size_t>(N);
  return Compare(std::move(result), y, [&](size_t i) {
    double sum = 0;
    for (size_t k = 0; k < depth; ++k) sum += a[i / columns * depth + k] * b[i % columns * depth + k];
    return sum;
  });
}

}  // namespace tilewright::emulator
