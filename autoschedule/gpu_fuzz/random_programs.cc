#include "autoschedule/gpu_fuzz/random_programs.h"

#include <algorithm>

#include "base/check.h"
#include "ir/builder.h"
#include "ir/ops/conv.h"
#include "ir/ops/conv_bn_relu.h"
#include "ir/ops/conv_transpose.h"
#include "ir/ops/depthwise.h"
#include "ir/ops/elementwise.h"
#include "ir/ops/matmul.h"
#include "ir/ops/normalization.h"
#include "ir/ops/pooling.h"
#include "ir/script/parse_or_die.h"
#include "schedule/core/random.h"

namespace tilewright::fuzz {
namespace {

constexpr DataType kF32 = DataType::Float(32), kF16 = DataType::Float(16), kBf16 = DataType::BFloat16();
constexpr DataType kS8 = DataType::Int(8), kU8 = DataType::UInt(8), kS32 = DataType::Int(32);

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}

  int64_t UpTo(int64_t most) { return 1 + static_cast<int64_t>(random_.Below(static_cast<uint64_t>(most))); }
  template <class T>
  T Of(const std::vector<T>& values) {
    return values[random_.Below(values.size())];
  }
  // Multiples of vectors and tiles as often as other extents.
  int64_t Extent(int64_t most) {
    return Of<int64_t>({0, 1}) != 0 ? UpTo(most) : std::min(most, 8 * UpTo((most + 7) / 8));
  }
  ops::OperandTypes Types() {
    return Of<ops::OperandTypes>({{kF32, kF32, kF32},
                                  {kF16, kF16, kF32},
                                  {kF16, kF16, kF16},
                                  {kBf16, kBf16, kF32},
                                  {kS8, kS8, kS32},
                                  {kU8, kS8, kS32}});
  }
  ops::Window SomeWindow() {
    const int64_t kernel = Of<int64_t>({1, 2, 3, 3, 5});
    return {.kernel = kernel, .stride = Of<int64_t>({1, 1, 2, 3}), .padding = Of<int64_t>({0, kernel / 2})};
  }
  int64_t Image(const ops::Window& window) {
    return std::max<int64_t>((window.kernel - 1) * window.dilation + 1, UpTo(9));
  }

 private:
  Random random_;
};

// Sums of halves differ by the order of addition, but not those of small integers.
GpuProgram OfSums(Function function, const ops::OperandTypes& types) {
  if (!types.output.is_float()) return {std::move(function)};
  if (types.output == kF16) return {std::move(function), 0.02, /*integers=*/2};
  return {std::move(function), 0.02};
}

GpuProgram Product(Draw& draw) {
  const ops::OperandTypes types = draw.Types();
  const bool transposed = draw.Of<int64_t>({0, 1}) != 0;
  return OfSums(ops::BatchMatmul(draw.UpTo(2), draw.Extent(40), draw.Extent(40), draw.Extent(72), types, transposed),
                types);
}

GpuProgram ProductWithAVector(Draw& draw) {
  const ops::OperandTypes types = draw.Types();
  const bool transposed = draw.Of<int64_t>({0, 1}) != 0;
  return OfSums(ops::Matmul(1, draw.Extent(70), draw.Extent(300), types, transposed), types);
}

ops::ConvShape Convolved(Draw& draw) {
  ops::ConvShape shape{.batch = draw.UpTo(2), .in_channels = draw.Extent(20), .out_channels = draw.Extent(20)};
  const int64_t dims = draw.Of<int64_t>({1, 2, 2, 3});
  ops::Window window = draw.SomeWindow();
  if (dims == 3) window.kernel = std::min<int64_t>(window.kernel, 3);
  if (draw.UpTo(4) == 1) window.dilation = 2;
  if (draw.UpTo(4) == 1) {
    shape.groups = draw.Of<int64_t>({2, 3});
    shape.in_channels *= shape.groups;
    shape.out_channels *= shape.groups;
  }
  for (int64_t d = 0; d < dims; ++d) {
    shape.windows.push_back(window);
    shape.spatial.emplace_back(draw.Image(window));
  }
  return shape;
}

GpuProgram Convolution(Draw& draw) {
  const ops::OperandTypes types = draw.Types();
  return OfSums(ops::Conv(Convolved(draw), types), types);
}

GpuProgram ConvolutionAndWhatFollows(Draw& draw) { return {ops::ConvBnRelu(Convolved(draw)), 2e-2}; }

GpuProgram TransposedConvolution(Draw& draw) {
  const ops::OperandTypes types = draw.Types();
  const ops::Window window = {
      .kernel = draw.Of<int64_t>({2, 3, 4}), .stride = draw.UpTo(3), .padding = draw.Of<int64_t>({0, 1})};
  return OfSums(
      ops::ConvTranspose(1, 1 + draw.UpTo(5), 1 + draw.UpTo(5), draw.Extent(16), draw.Extent(16), window, types),
      types);
}

GpuProgram DepthwiseConvolution(Draw& draw) {
  const ops::OperandTypes types = draw.Types();
  const ops::Window window = draw.SomeWindow();
  return OfSums(ops::Depthwise(draw.UpTo(2), draw.Image(window), draw.Image(window), draw.Extent(40), window,
                               draw.UpTo(2), types),
                types);
}

GpuProgram Pool(Draw& draw) {
  const ops::Window window = draw.SomeWindow();
  const DataType type = draw.Of<DataType>({kF32, kF16});
  const int64_t height = draw.Image(window), width = draw.Image(window), channels = draw.Extent(40);
  const int64_t batch = draw.UpTo(2);
  switch (draw.UpTo(3)) {
    case 1:
      return {ops::MaxPool(batch, height, width, channels, window, type), 0};
    case 2:
      return {ops::AveragePool(batch, height, width, channels, window, type), 1e-2};
    default:
      return {ops::GlobalAveragePool(batch, height, width, channels, type), 1e-2};
  }
}

GpuProgram Elementwise(Draw& draw) {
  std::vector<Expr> shape;
  for (int64_t d = draw.UpTo(3); d > 0; --d) shape.emplace_back(draw.Extent(40));
  const DataType type = draw.Of<DataType>({kF32, kF16, kBf16});
  switch (draw.UpTo(3)) {
    case 1:
      return {ops::Gelu(shape, type), 2e-2};
    case 2:
      return {ops::BiasAdd(shape, type), 2e-2};
    default:
      return {ops::Relu(shape, type), 0};
  }
}

GpuProgram Rows(Draw& draw) {
  const ops::RowTypes types = draw.Of<ops::RowTypes>({{kF32, kF32}, {kF16, kF16}, {kBf16, kF32}, {kF16, kF32}});
  const int64_t rows = draw.UpTo(12), columns = draw.Extent(300);
  switch (draw.UpTo(3)) {
    case 1:
      return {ops::Softmax(rows, columns, types), 2e-2};
    case 2:
      return {ops::RowNorm(rows, columns, types), 2e-2};
    default:
      return {ops::LayerNorm(rows, columns, 1e-5, types), 3e-2};
  }
}

// A reduction of an array of two to four dimensions over some of them, and what reads the result.
GpuProgram Reduction(Draw& draw) {
  const DataType type = draw.Of<DataType>({kF32, kS32, kF16, kS8, kU8, DataType::Int(16), DataType::UInt(16)});
  std::vector<Expr> shape;
  std::vector<bool> reduced;
  const int64_t dims = 1 + draw.UpTo(3);
  for (int64_t d = 0; d < dims; ++d) {
    shape.emplace_back(draw.Extent(dims == 2 ? 80 : 14));
    reduced.push_back(draw.UpTo(2) == 1);
  }
  if (std::ranges::find(reduced, true) == reduced.end()) reduced[static_cast<size_t>(draw.UpTo(dims) - 1)] = true;
  FunctionBuilder f;
  Buffer a = f.Input("A", shape, type);
  std::vector<Expr> kept;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!reduced[d]) kept.push_back(shape[d]);
  }
  if (kept.empty()) kept.emplace_back(1);
  std::vector<ReduceAxis> axes;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (reduced[d]) axes.emplace_back("k" + std::to_string(d), shape[d]);
  }
  const bool largest = draw.UpTo(2) == 1;
  Buffer result = f.Compute("S", kept, [&](const std::vector<Var>& at) {
    std::vector<Expr> place;
    size_t next = 0, axis = 0;
    for (const bool each : reduced) place.push_back(each ? Expr(axes[axis++]) : at[next++]);
    return largest ? MaxOver(a.Load(place), axes) : Sum(a.Load(place), axes);
  });
  Buffer output = f.Compute("B", kept, [&](const std::vector<Var>& at) {
    const std::vector<Expr> place(at.begin(), at.end());
    return result.Load(place) + result.Load(place);
  });
  return {f.Build({output}), largest || type.is_integer() ? 0 : 1e-3, /*integers=*/type == kF16 ? 2 : 0};
}

// Sums of rows that threads cannot share as they are: differences, terms behind the sum, conditions that mix the row
// with what is summed.
GpuProgram SumOfARow(Draw& draw) {
  const int64_t rows = draw.UpTo(12), columns = draw.Extent(120);
  const auto update = draw.Of<std::string>({"R[vi] - X[vi, vk]", "R[vi] + X[vi, vk] + T.float32(2)",
                                            "T.max(R[vi], X[vi, vk]) + T.float32(1)", "R[vi] + X[vi, vk]"});
  const auto where =
      draw.Of<std::string>({"k <= i", "k < i * 3 + 1", "k <= i or i >= 0", "k < " + std::to_string(columns)});
  const std::string size = std::to_string(rows) + ", " + std::to_string(columns);
  return {ParseFunctionOrDie("@T.prim_func\ndef main(X: T.Buffer((" + size + "), \"float32\"), R: T.Buffer((" +
                             std::to_string(rows) + ",), \"float32\")):\n    for i, k in T.grid(" + size +
                             "):\n        with T.block(\"r\"):\n            vi, vk = T.axis.remap(\"SR\", [i, k])\n" +
                             "            T.where(" + where + ")\n            with T.init():\n                " +
                             "R[vi] = T.float32(1)\n            R[vi] = " + update + "\n"),
          1e-3, /*integers=*/2};
}

// Tiles of warpgroups, more than one of them along each side: what copies of boxes and clusters are for.
ops::OperandTypes TensorCoreTypes(Draw& draw) {
  return draw.Of<ops::OperandTypes>({{kF16, kF16, kF32}, {kF16, kF16, kF16}, {kBf16, kBf16, kF32}, {kS8, kS8, kS32}});
}

GpuProgram ProductInTiles(Draw& draw) {
  const ops::OperandTypes types = TensorCoreTypes(draw);
  const bool transposed = draw.Of<int64_t>({0, 1}) != 0;
  const int64_t m = 64 * draw.UpTo(4) - draw.Of<int64_t>({0, 0, 1, 7, 60}), n = 8 * draw.UpTo(20),
                k = 16 * draw.UpTo(12) + draw.Of<int64_t>({0, 0, 0, 8, 1});
  return OfSums(ops::BatchMatmul(draw.UpTo(2), m, n, k, types, transposed), types);
}

// Channels that the engine for bulk copies takes, and some that it does not.
GpuProgram ConvolutionInTiles(Draw& draw) {
  const ops::OperandTypes types = TensorCoreTypes(draw);
  const int64_t dims = draw.Of<int64_t>({1, 2, 2, 3});
  ops::ConvShape shape{.batch = draw.UpTo(3),
                       .in_channels = draw.Of<int64_t>({16, 32, 64, 3}),
                       .out_channels = draw.Of<int64_t>({16, 32, 40, 64})};
  const ops::Window window = {.kernel = draw.Of<int64_t>({1, 2, 3}),
                              .stride = draw.Of<int64_t>({1, 1, 2}),
                              .padding = draw.Of<int64_t>({0, 1}),
                              .dilation = draw.Of<int64_t>({1, 1, 2})};
  for (int64_t d = 0; d < dims; ++d) {
    shape.windows.push_back(window);
    shape.spatial.emplace_back(dims == 1 ? 40 + draw.UpTo(100) : dims == 2 ? 6 + draw.UpTo(7) : 4 + draw.UpTo(3));
  }
  return OfSums(ops::Conv(shape, types), types);
}

// An array with its dimensions in another order, and its neighbours' sum.
GpuProgram Transposed(Draw& draw) {
  const DataType type = draw.Of<DataType>({kF32, kF16, kS8});
  const int64_t rows = draw.Extent(70), columns = draw.Extent(70);
  FunctionBuilder f;
  Buffer a = f.Input("A", {rows, columns}, type);
  Buffer turned = f.Compute("T", {columns, rows}, [&](const std::vector<Var>& at) { return a.Load({at[1], at[0]}); });
  Buffer output = f.Compute("B", {columns, rows}, [&](const std::vector<Var>& at) {
    return turned.Load({at[0], at[1]}) + turned.Load({at[0], FloorMod(at[1] + 1, rows)});
  });
  return {f.Build({output}), type == kF16 ? 1e-2 : 0};
}

// Results of one input that do not read each other: products with weights of their own, elements, rows, other ways
// along; perhaps with what reads two of them. Their kernels may become one.
GpuProgram SiblingsOf(Draw& draw, int64_t rows, int64_t depth, int64_t columns, const ops::OperandTypes& types) {
  FunctionBuilder f;
  const Buffer x = f.Input("X", {rows, depth}, types.input);
  const auto value = [&](const Expr& i, const Expr& k) { return CastTo(types.output, x(i, k)); };
  const bool products = draw.UpTo(2) == 1;
  std::vector<Buffer> results;
  for (int64_t n = 1 + draw.UpTo(3); n > 0; --n) {
    const std::string number = std::to_string(n);
    const ReduceAxis k("k" + number, depth), i("i" + number, rows);
    switch (products ? 1 : draw.UpTo(5)) {
      case 1: {
        const Buffer w = f.Input("W" + number, {depth, columns}, types.weight);
        results.push_back(f.Compute("P" + number, {rows, columns}, [&](const std::vector<Var>& at) {
          return Sum(value(at[0], k) * CastTo(types.output, w(k, at[1])), k);
        }));
        break;
      }
      case 2:
        results.push_back(
            f.Compute("R" + number, {rows}, [&](const std::vector<Var>& at) { return Sum(value(at[0], k), {k}); }));
        break;
      case 3:
        results.push_back(f.Compute("C" + number, {depth},
                                    [&](const std::vector<Var>& at) { return MaxOver(value(i, at[0]), {i}); }));
        break;
      default:
        results.push_back(f.Compute("E" + number, {rows, depth}, [&](const std::vector<Var>& at) {
          return value(at[0], at[1]) + CastTo(types.output, Expr(n));
        }));
    }
  }
  const Buffer first = results[0], second = results[1];
  const bool alike = first->shape.size() == 2 && (products || first->name[0] == second->name[0]);
  if (alike && draw.UpTo(2) == 1) {
    results.push_back(f.Compute("G", {rows, AsInt(first->shape[1]).value()}, [&](const std::vector<Var>& at) {
      return first(at[0], at[1]) + second(at[0], at[1]);
    }));
    results.erase(results.begin());
  }
  return OfSums(f.Build(results), types);
}

GpuProgram Siblings(Draw& draw) {
  return SiblingsOf(draw, draw.Extent(40), draw.Extent(72), draw.Extent(40), draw.Types());
}

GpuProgram SiblingsInTiles(Draw& draw) {
  const int64_t rows = 64 * draw.UpTo(3) - draw.Of<int64_t>({0, 0, 7});
  return SiblingsOf(draw, rows, 16 * draw.UpTo(8), 8 * draw.UpTo(12), TensorCoreTypes(draw));
}

struct Kind {
  const char* name;
  GpuProgram (*draw)(Draw& draw);
};
constexpr Kind kKinds[] = {
    {"product", Product},
    {"product_with_vector", ProductWithAVector},
    {"convolution", Convolution},
    {"convolution_and_relu", ConvolutionAndWhatFollows},
    {"transposed_convolution", TransposedConvolution},
    {"depthwise", DepthwiseConvolution},
    {"pool", Pool},
    {"elementwise", Elementwise},
    {"rows", Rows},
    {"reduction", Reduction},
    {"sum_of_a_row", SumOfARow},
    {"product_in_tiles", ProductInTiles},
    {"convolution_in_tiles", ConvolutionInTiles},
    {"transposed", Transposed},
    {"siblings", Siblings},
    {"siblings_in_tiles", SiblingsInTiles},
};

}  // namespace

std::vector<std::string> GpuProgramKinds() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

GpuProgram DrawGpuProgram(const std::string& kind, uint64_t seed) {
  const auto found = std::ranges::find_if(kKinds, [&](const Kind& each) { return each.name == kind; });
  TW_CHECK(found != std::end(kKinds)) << kind;
  Draw draw(seed);
  return found->draw(draw);
}

}  // namespace tilewright::fuzz
