// Writes cases for gpu_check of the emulator's own test kernels: what the emulator believes of mma.sync, ldmatrix,
// wgmma, bulk tensor copies, im2col, clusters and shuffles, to be compared with a GPU.
//
//   make_kernel_cases FOLDER SM80.cubin SM90.cubin        both compiled from codegen/cuda/emulator/kernels/all.cu
#include <cmath>
#include <cstring>
#include <functional>
#include <iostream>

#include "base/files.h"
#include "bench/gpu/case_file.h"
#include "codegen/cuda/emulator/testing/kernel_runs.h"

namespace tilewright::gpu {
namespace {

using emulator::Array;
using emulator::Blocks;
using emulator::Fill;
using emulator::GlobalMemory;
using emulator::LaunchOptions;

class KernelCase {
 public:
  KernelCase(std::string name, const std::string& cubin, double tolerance) {
    file_.name = "kernel_" + std::move(name);
    file_.cubin = cubin;
    file_.cubin_name = cubin.find("wgmma") == std::string::npos ? "kernels_sm80" : "kernels_sm90";
    file_.tolerance = tolerance;
    file_.launches.emplace_back();
  }

  template <class T>
  size_t Add(const std::string& name, const std::string& type, Array<T>& array, bool output) {
    memory_.Add(name, array.data(), array.bytes(), output ? GlobalMemory::kOutput : GlobalMemory::kInput);
    CaseArray entry{name, type, static_cast<int64_t>(array.bytes()), -1, -1};
    if (!output) {
      entry.input = static_cast<int64_t>(file_.data.size());
      file_.data.append(reinterpret_cast<const char*>(array.data()), array.bytes());
    } else {
      output_ = file_.arrays.size();
      output_data_ = reinterpret_cast<const char*>(array.data());
    }
    file_.traffic += static_cast<double>(array.bytes());
    file_.arrays.push_back(entry);
    return file_.arrays.size() - 1;
  }
  template <class T>
  void Scalar(const T& value) {
    CaseParam param;
    param.kind = CaseParam::kScalar;
    static_assert(sizeof(T) <= sizeof(param.bits));
    std::memcpy(param.bits, &value, sizeof(T));
    file_.launches[0].params.push_back(param);
  }
  void Pointer(size_t array) {
    CaseParam param;
    param.array = array;
    file_.launches[0].params.push_back(param);
  }
  // A map of halves, for both sides.
  TwTensorMap Map(size_t array, void* data, const std::vector<uint64_t>& extents, const std::vector<uint64_t>& strides,
                  const std::vector<uint32_t>& box) {
    CaseParam param;
    param.kind = CaseParam::kMap;
    param.array = array;
    param.map = {.extents = extents, .strides = strides, .box = box, .swizzle = 3};
    file_.launches[0].params.push_back(param);
    return emulator::Encode(
        {.address = data, .extents = extents, .strides = strides, .box = box, .swizzle_bytes = 128});
  }
  TwTensorMap Im2col(size_t array, const emulator::Im2colMap& map) {
    CaseParam param;
    param.kind = CaseParam::kMap;
    param.array = array;
    param.map = {.extents = map.extents,
                 .strides = map.strides,
                 .swizzle = 3,
                 .im2col = true,
                 .lower = map.lower,
                 .upper = map.upper,
                 .channels = map.channels,
                 .pixels = map.pixels};
    param.map.steps = map.steps;
    file_.launches[0].params.push_back(param);
    return EncodeIm2col(map).value();
  }

  // `key`: how the kernel's mangled name begins.
  bool Run(const std::string& folder, const std::string& key, const LaunchOptions& options, double operations,
           const std::function<void()>& kernel) {
    const emulator::LaunchResult result = Launch(options, memory_, kernel);
    if (!result.ok()) {
      std::cerr << file_.name << ": " << (result.faults.empty() ? "not finished" : ToString(result.faults[0])) << "\n";
      return false;
    }
    CaseLaunch& launch = file_.launches[0];
    const size_t at = file_.cubin.find(std::string("\0", 1) + key);
    if (at == std::string::npos) {
      std::cerr << file_.name << ": no kernel " << key << " in the cubin\n";
      return false;
    }
    launch.kernel = file_.cubin.c_str() + at + 1;
    launch.grid = {options.grid.x, options.grid.y, options.grid.z};
    launch.block = {options.block.x, options.block.y, options.block.z};
    launch.shared_bytes = options.shared_bytes;
    file_.operations = operations;
    CaseArray& output = file_.arrays[output_];
    output.expected = static_cast<int64_t>(file_.data.size());
    file_.data.append(output_data_, static_cast<size_t>(output.bytes));
    return WriteCase(folder, file_);
  }

 private:
  CaseFile file_;
  GlobalMemory memory_;
  size_t output_ = 0;
  const char* output_data_ = nullptr;
};

size_t Size(int a, int b) { return static_cast<size_t>(a) * static_cast<size_t>(b); }

bool Softmax(const std::string& folder, const std::string& cubin) {
  constexpr int kRows = 512, kColumns = 1000;
  Array<float> x(Size(kRows, kColumns)), y(x.size());
  std::mt19937 random(1);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::normal_distribution<float>(0, 4)(random);
  KernelCase test("softmax", cubin, 2e-5);
  test.Pointer(test.Add("X", "float32", x, false));
  test.Pointer(test.Add("Y", "float32", y, true));
  test.Scalar(kColumns);
  return test.Run(folder, "_ZN4rows7Softmax", {.grid = {kRows}, .block = {rows::kThreads}, .shared_bytes = 64}, 0,
                  [&] { rows::Softmax<kNone>(x.data(), y.data(), kColumns); });
}

bool MatrixVector(const std::string& folder, const std::string& cubin) {
  constexpr int kM = 512, kK = 1024;
  Array<float> a(Size(kM, kK)), x(kK), y(kM);
  std::mt19937 random(1);
  Fill(a, random);
  Fill(x, random);
  KernelCase test("matrix_vector", cubin, 1e-4);
  test.Pointer(test.Add("A", "float32", a, false));
  test.Pointer(test.Add("x", "float32", x, false));
  test.Pointer(test.Add("y", "float32", y, true));
  test.Scalar(kM);
  test.Scalar(kK);
  return test.Run(folder, "_ZN4rows12MatrixVector",
                  {.grid = {Blocks(kM, rows::kWarps)}, .block = {rows::kThreads}, .shared_bytes = kK * 4},
                  2.0 * kM * kK, [&] { rows::MatrixVector<kNone>(a.data(), x.data(), y.data(), kM, kK); });
}

bool ProductMma(const std::string& folder, const std::string& cubin) {
  constexpr int kM = 200, kN = 136, kK = 72;
  bool good = true;
  for (const int scale : {1, 4}) {
    const int M = kM * scale, N = kN * scale, K = kK * scale;
    Array<tw::f16> a(Size(M, K)), b(Size(K, N)), c(Size(M, N));
    std::mt19937 random(1);
    Fill(a, random);
    Fill(b, random);
    KernelCase test("product_mma_" + std::to_string(M), cubin, 1e-2);
    test.Pointer(test.Add("A", "float16", a, false));
    test.Pointer(test.Add("B", "float16", b, false));
    test.Pointer(test.Add("C", "float16", c, true));
    for (int extent : {M, N, K}) test.Scalar(extent);
    good &= test.Run(folder, "_ZN11product_mma6Kernel",
                     {.grid = {Blocks(N, product_mma::kTile), Blocks(M, product_mma::kTile)},
                      .block = {product_mma::kThreads},
                      .shared_bytes = product_mma::kSharedBytes},
                     2.0 * M * N * K, [&] { product_mma::Kernel<kNone>(a.data(), b.data(), c.data(), M, N, K); });
  }
  return good;
}

bool ProductWmma(const std::string& folder, const std::string& cubin) {
  constexpr int kM = 128, kN = 160, kK = 96;
  Array<tw::f16> a(Size(kM, kK)), b(Size(kK, kN));
  Array<float> c(Size(kM, kN));
  std::mt19937 random(1);
  Fill(a, random);
  Fill(b, random);
  KernelCase test("product_wmma", cubin, 1e-3);
  test.Pointer(test.Add("A", "float16", a, false));
  test.Pointer(test.Add("B", "float16", b, false));
  test.Pointer(test.Add("C", "float32", c, true));
  test.Scalar(kN);
  test.Scalar(kK);
  return test.Run(folder, "_ZN4rows11ProductWmma",
                  {.grid = {Blocks(kN, 32), Blocks(kM, 32)}, .block = {rows::kThreads}, .shared_bytes = 5120},
                  2.0 * kM * kN * kK, [&] { rows::ProductWmma<kNone>(a.data(), b.data(), c.data(), kN, kK); });
}

template <int kCluster, bool kTransposed>
bool ProductWgmma(const std::string& folder, const std::string& cubin, const std::string& key, int M, int N, int K) {
  Array<tw::f16> a(Size(M, K)), b(Size(K, N)), c(Size(M, N));
  std::mt19937 random(1);
  Fill(a, random);
  Fill(b, random);
  KernelCase test("product_wgmma_" + std::to_string(kCluster) + (kTransposed ? "_nk_" : "_kn_") + std::to_string(M),
                  cubin, 1e-2);
  const size_t na = test.Add("A", "float16", a, false), nb = test.Add("B", "float16", b, false),
               nc = test.Add("C", "float16", c, true);
  const auto map = [&](size_t array, void* data, int inner, int outer, uint32_t rows) {
    return test.Map(array, data, {static_cast<uint64_t>(inner), static_cast<uint64_t>(outer)},
                    {static_cast<uint64_t>(inner) * 2}, {64, rows});
  };
  const TwTensorMap ma = map(na, a.data(), K, M, 128);
  const TwTensorMap mb = kTransposed ? map(nb, b.data(), K, N, 64) : map(nb, b.data(), N, K, 64);
  const TwTensorMap mc = map(nc, c.data(), N, M, 64);
  test.Scalar(product_wgmma::Sizes{M, N, K});
  return test.Run(folder, key,
                  {.grid = {kCluster * 2},
                   .block = {product_wgmma::kThreads},
                   .cluster = {kCluster},
                   .shared_bytes = product_wgmma::kSharedBytes},
                  2.0 * M * N * K, [&] { product_wgmma::Kernel<kCluster, kTransposed, kNone>(ma, mb, mc, {M, N, K}); });
}

bool Convolution(const std::string& folder, const std::string& cubin, convolution::Shape s) {
  const int reach = (s.window - 1) * s.dilation;
  s.out_height = (s.height + 2 * s.padding - reach - 1) / s.stride + 1;
  s.out_width = (s.width + 2 * s.padding - reach - 1) / s.stride + 1;
  const auto u = [](int v) { return static_cast<uint64_t>(v); };
  Array<tw::f16> image(u(s.images * s.height * s.width * s.in_channels));
  Array<tw::f16> weights(u(s.window * s.window * s.in_channels * s.out_channels));
  Array<tw::f16> out(u(s.images * s.out_height * s.out_width * s.out_channels));
  std::mt19937 random(1);
  Fill(image, random);
  Fill(weights, random);
  std::string name = "convolution";
  for (int part : {s.images, s.height, s.in_channels, s.out_channels, s.window, s.stride, s.padding, s.dilation}) {
    name += "_" + std::to_string(part);
  }
  KernelCase test(name, cubin, 1e-2);
  const size_t ni = test.Add("I", "float16", image, false), nw = test.Add("W", "float16", weights, false),
               no = test.Add("O", "float16", out, true);
  const uint64_t pixel = u(s.in_channels) * 2;
  const TwTensorMap image_map =
      test.Im2col(ni, {.address = image.data(),
                       .extents = {u(s.in_channels), u(s.width), u(s.height), u(s.images)},
                       .strides = {pixel, pixel * u(s.width), pixel * u(s.width) * u(s.height)},
                       .lower = {-s.padding, -s.padding},
                       .upper = {s.padding - reach, s.padding - reach},
                       .channels = 64,
                       .pixels = convolution::kPixels,
                       .steps = {static_cast<uint32_t>(s.stride), static_cast<uint32_t>(s.stride)},
                       .swizzle_bytes = 128});
  const TwTensorMap weight_map =
      test.Map(nw, weights.data(), {u(s.out_channels), u(s.in_channels), u(s.window * s.window)},
               {u(s.out_channels) * 2, u(s.out_channels * s.in_channels) * 2}, {64, 64, 1});
  test.Pointer(no);
  test.Scalar(s);
  const int pixels = s.images * s.out_height * s.out_width;
  return test.Run(folder, "_ZN11convolution6Kernel",
                  {.grid = {Blocks(pixels, convolution::kPixels), Blocks(s.out_channels, convolution::kChannels)},
                   .block = {convolution::kThreads},
                   .shared_bytes = convolution::kSharedBytes},
                  2.0 * pixels * s.out_channels * s.in_channels * s.window * s.window,
                  [&] { convolution::Kernel<kNone>(image_map, weight_map, out.data(), s); });
}

bool Attention(const std::string& folder, const std::string& cubin, int heads, int length) {
  constexpr size_t kHead = attention::kHead;
  const auto n = static_cast<size_t>(length);
  const size_t count = static_cast<size_t>(heads) * n * kHead;
  Array<tw::f16> q(count), k(count), v(count), out(count);
  std::mt19937 random(1);
  for (Array<tw::f16>* array : {&q, &k, &v}) {
    for (size_t i = 0; i < count; ++i) (*array)[i] = tw::to_f16(std::normal_distribution<float>(0, 1)(random));
  }
  KernelCase test("attention_" + std::to_string(length), cubin, 1e-2);
  const size_t nq = test.Add("Q", "float16", q, false), nk = test.Add("K", "float16", k, false),
               nv = test.Add("V", "float16", v, false), no = test.Add("O", "float16", out, true);
  const auto map = [&](size_t array, void* data, uint32_t rows) {
    return test.Map(array, data, {kHead, n, static_cast<uint64_t>(heads)}, {kHead * 2, n * kHead * 2}, {64, rows, 1});
  };
  const TwTensorMap mq = map(nq, q.data(), attention::kQueries), mk = map(nk, k.data(), attention::kKeys),
                    mv = map(nv, v.data(), attention::kKeys);
  test.Pointer(no);
  test.Scalar(length);
  return test.Run(folder, "_ZN9attention6Kernel",
                  {.grid = {Blocks(length, attention::kQueries), static_cast<uint32_t>(heads)},
                   .block = {attention::kThreads},
                   .shared_bytes = attention::kSharedBytes},
                  4.0 * heads * length * length * static_cast<double>(kHead),
                  [&] { attention::Kernel<kNone>(mq, mk, mv, out.data(), length); });
}

bool All(const std::string& folder, const std::string& sm80, const std::string& sm90) {
  bool good = Softmax(folder, sm80);
  good &= MatrixVector(folder, sm80);
  good &= ProductMma(folder, sm80);
  good &= ProductWmma(folder, sm80);
  good &= ProductWgmma<1, false>(folder, sm90, "_ZN13product_wgmma6KernelILi1ELb0E", 256, 512, 320);
  good &= ProductWgmma<1, false>(folder, sm90, "_ZN13product_wgmma6KernelILi1ELb0E", 200, 328, 136);
  good &= ProductWgmma<1, true>(folder, sm90, "_ZN13product_wgmma6KernelILi1ELb1E", 200, 328, 136);
  good &= ProductWgmma<2, false>(folder, sm90, "_ZN13product_wgmma6KernelILi2ELb0E", 512, 512, 256);
  for (const convolution::Shape& shape : std::vector<convolution::Shape>{{1, 28, 28, 64, 64, 3, 1, 1, 1},
                                                                         {2, 15, 15, 72, 40, 3, 2, 1, 1},
                                                                         {1, 20, 20, 16, 24, 5, 1, 2, 1},
                                                                         {1, 20, 20, 64, 96, 3, 1, 2, 2},
                                                                         {3, 14, 14, 8, 64, 7, 2, 3, 1},
                                                                         {1, 14, 14, 128, 64, 1, 1, 0, 1}}) {
    good &= Convolution(folder, sm90, shape);
  }
  good &= Attention(folder, sm90, 2, 512);
  good &= Attention(folder, sm90, 3, 200);
  return good;
}

}  // namespace
}  // namespace tilewright::gpu

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: make_kernel_cases FOLDER SM80.cubin SM90.cubin\n";
    return 2;
  }
  return tilewright::gpu::All(argv[1], *tilewright::ReadFile(argv[2]), *tilewright::ReadFile(argv[3])) ? 0 : 1;
}
