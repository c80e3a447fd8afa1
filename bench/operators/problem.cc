#include "bench/operators/problem.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "codegen/runtime/tensor.h"

namespace tilewright::bench {
namespace {

// Keeps every product of a few extents far from overflow and every tensor within a machine's memory.
constexpr int64_t kLargestNumber = int64_t{1} << 24;
constexpr double kMostElements = 4e9;

template <typename... Parts>
absl::Status Refuse(const Shape& shape, const Parts&... why) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(Name(shape.op)), ":", NumbersText(shape), ": ", why...));
}

// Takes the numbers of a shape one after the other.
class Numbers {
 public:
  explicit Numbers(const Shape& shape) : next_(shape.numbers.data()) {}
  int64_t Next() { return *next_++; }

 private:
  const int64_t* next_;
};

MatmulProblem MakeMatmul(const Shape& shape) {
  Numbers numbers(shape);
  if (shape.op == Operator::kTbg) {
    const int64_t batch = numbers.Next(), sequence = numbers.Next(), heads = numbers.Next(), dim = numbers.Next();
    return {.batch = batch * heads,
            .m = sequence,
            .n = sequence,
            .k = dim,
            .b_transposed = true,
            .heads = heads,
            .b_constant = false};
  }
  const int64_t batch = numbers.Next(), m = numbers.Next(), n = numbers.Next(), k = numbers.Next();
  return {.batch = batch, .m = m, .n = n, .k = k, .b_transposed = shape.op == Operator::kGmmT};
}

ConvolutionProblem MakeConvolution(const Shape& shape) {
  Numbers numbers(shape);
  ConvolutionProblem conv = {.spatial_rank = shape.op == Operator::kC1d ? 1 : shape.op == Operator::kC3d ? 3 : 2};
  const size_t first = static_cast<size_t>(3 - conv.spatial_rank);
  conv.batch = numbers.Next();
  for (size_t i = first; i < 3; ++i) conv.in[i] = numbers.Next();
  conv.in_channels = numbers.Next();
  conv.out_channels = shape.op == Operator::kDep ? conv.in_channels : numbers.Next();
  const int64_t kernel = numbers.Next();
  conv.stride = numbers.Next();
  const int64_t padding = numbers.Next();
  if (shape.op == Operator::kDil) conv.dilation = numbers.Next();
  if (shape.op == Operator::kGrp) conv.groups = numbers.Next();
  if (shape.op == Operator::kDep) conv.groups = conv.in_channels;
  conv.transposed = shape.op == Operator::kT2d;
  conv.normalized = shape.op == Operator::kCbr;
  for (size_t i = first; i < 3; ++i) {
    conv.kernel[i] = kernel;
    conv.padding[i] = padding;
    const int64_t reach = conv.dilation * (kernel - 1) + 1;
    conv.out[i] = conv.transposed
                      ? (conv.in[i] - 1) * conv.stride - 2 * padding + kernel
                      : (conv.in[i] + 2 * padding < reach ? 0 : (conv.in[i] + 2 * padding - reach) / conv.stride + 1);
  }
  return conv;
}

AttentionProblem MakeAttention(const Shape& shape) {
  const auto number = [&](std::string_view name, int64_t otherwise) {
    const int64_t given = NumberOf(shape, name).value_or(0);
    return given == 0 ? otherwise : given;
  };
  const int64_t heads = number("heads", 0), keys = number("S", 0);
  return {.batch = number("B", 0),
          .heads = heads,
          .key_heads = number("key_heads", heads),
          .queries = number("queries", keys),
          .keys = keys,
          .dim = number("dim", 0),
          .causal = number("causal", 0) != 0,
          .window = number("window", 0)};
}

absl::Status CheckAttention(const Shape& shape, const AttentionProblem& p) {
  if (NumberOf(shape, "causal").value_or(0) > 1) return Refuse(shape, "causal is 0 or 1");
  if (p.heads % p.key_heads != 0) return Refuse(shape, p.key_heads, " key heads do not divide the heads");
  if ((p.causal || p.window > 0) && p.queries > p.keys) {
    return Refuse(shape, "the first queries see no key: there are more queries than keys");
  }
  return absl::OkStatus();
}

// Pairs of a query and a key that it sees, of one head.
double VisiblePairs(const AttentionProblem& p) {
  if (!p.causal && p.window == 0) return static_cast<double>(p.queries) * static_cast<double>(p.keys);
  double pairs = 0;
  for (int64_t i = 0; i < p.queries; ++i) {
    const int64_t position = i + p.keys - p.queries;
    const int64_t first = p.window > 0 ? std::max<int64_t>(0, position - p.window + 1) : 0;
    const int64_t last = p.causal ? position : std::min(p.keys - 1, position + p.window - 1);
    pairs += static_cast<double>(last - first + 1);
  }
  return pairs;
}

double Product(const std::vector<int64_t>& shape) {
  double product = 1;
  for (int64_t extent : shape) product *= static_cast<double>(extent);
  return product;
}

}  // namespace

absl::StatusOr<Problem> MakeProblem(const Shape& shape) {
  // Padding may be zero, and what stands for a default.
  constexpr std::string_view kMayBeZero[] = {"p", "causal", "queries", "key_heads", "window"};
  std::string_view names = Signature(shape.op);
  for (size_t i = 0; i < shape.numbers.size(); ++i) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    const int64_t least = std::ranges::find(kMayBeZero, name) != std::end(kMayBeZero) ? 0 : 1;
    if (shape.numbers[i] < least || shape.numbers[i] > kLargestNumber) {
      return Refuse(shape, std::string(name), " = ", shape.numbers[i], " is not within ", least, " and ",
                    kLargestNumber);
    }
  }

  Problem problem;
  switch (shape.op) {
    case Operator::kGmm:
    case Operator::kGmmT:
    case Operator::kTbg:
      problem = MakeMatmul(shape);
      break;
    case Operator::kAtt: {
      const AttentionProblem attention = MakeAttention(shape);
      TW_RETURN_IF_ERROR(CheckAttention(shape, attention));
      problem = attention;
      break;
    }
    case Operator::kSfm:
      problem = RowProblem{RowFunction::kSoftmax, shape.numbers[0], shape.numbers[1]};
      break;
    case Operator::kNrm:
      problem = RowProblem{RowFunction::kRowNorm, shape.numbers[0], shape.numbers[1]};
      break;
    case Operator::kLn:
      problem = RowProblem{RowFunction::kLayerNorm, shape.numbers[0], shape.numbers[1]};
      break;
    case Operator::kGelu:
      problem = RowProblem{RowFunction::kGelu, shape.numbers[0], shape.numbers[1]};
      break;
    default: {
      const ConvolutionProblem conv = MakeConvolution(shape);
      if (conv.in_channels % conv.groups != 0 || conv.out_channels % conv.groups != 0) {
        return Refuse(shape, conv.groups, " groups do not divide the channels");
      }
      for (int64_t extent : conv.out) {
        if (extent < 1) return Refuse(shape, "the kernel does not fit into the padded input");
      }
      problem = conv;
    }
  }
  const TensorShapes shapes = ShapesOf(problem);
  for (const std::vector<int64_t>* tensor : {&shapes.activation, &shapes.weight, &shapes.output}) {
    if (Product(*tensor) > kMostElements) return Refuse(shape, "a tensor has more than ", kMostElements, " elements");
  }
  return problem;
}

TensorShapes ShapesOf(const Problem& problem) {
  if (const auto* matmul = std::get_if<MatmulProblem>(&problem)) {
    const auto& [batch, m, n, k, b_transposed, heads, b_constant] = *matmul;
    TensorShapes shapes = {.activation = {batch, m, k}, .weight = {batch, k, n}, .output = {batch, m, n}};
    if (b_transposed) shapes.weight = {batch, n, k};
    if (!b_constant) {
      shapes.activation = {batch / heads, m, heads, k};
      shapes.weight = {batch / heads, n, heads, k};
    }
    return shapes;
  }
  if (const auto* conv = std::get_if<ConvolutionProblem>(&problem)) {
    TensorShapes shapes = {.activation = {conv->batch}, .output = {conv->batch}};
    for (size_t i = static_cast<size_t>(3 - conv->spatial_rank); i < 3; ++i) {
      shapes.activation.push_back(conv->in[i]);
      shapes.weight.push_back(conv->kernel[i]);
      shapes.output.push_back(conv->out[i]);
    }
    shapes.activation.push_back(conv->in_channels);
    shapes.weight.push_back(conv->in_channels / conv->groups);
    shapes.weight.push_back(conv->out_channels);
    shapes.output.push_back(conv->out_channels);
    if (conv->normalized) shapes.parameters = {3, conv->out_channels};
    return shapes;
  }
  if (const auto* p = std::get_if<AttentionProblem>(&problem)) {
    const std::vector<int64_t> queries = {p->batch, p->heads, p->queries, p->dim};
    const std::vector<int64_t> keys = {p->batch, p->key_heads, p->keys, p->dim};
    return {.activation = queries, .weight = keys, .parameters = keys, .output = queries};
  }
  const auto& rows = std::get<RowProblem>(problem);
  TensorShapes shapes = {.activation = {rows.rows, rows.columns}, .output = {rows.rows, rows.columns}};
  if (rows.function == RowFunction::kLayerNorm) shapes.parameters = {2, rows.columns};
  if (rows.function == RowFunction::kRowNorm) shapes.output = {rows.rows, 1};
  return shapes;
}

double Flops(const Problem& problem) {
  if (const auto* matmul = std::get_if<MatmulProblem>(&problem)) {
    return 2.0 * static_cast<double>(matmul->batch) * static_cast<double>(matmul->m) * static_cast<double>(matmul->n) *
           static_cast<double>(matmul->k);
  }
  if (const auto* conv = std::get_if<ConvolutionProblem>(&problem)) {
    // Every output position takes the whole kernel; of a transposed convolution, every input position gives it.
    const auto& positions = conv->transposed ? conv->in : conv->out;
    double flops = 2.0 * static_cast<double>(conv->batch) * static_cast<double>(conv->in_channels / conv->groups) *
                   static_cast<double>(conv->out_channels);
    for (size_t i = 0; i < 3; ++i) flops *= static_cast<double>(positions[i] * conv->kernel[i]);
    return flops;
  }
  if (const auto* p = std::get_if<AttentionProblem>(&problem)) {
    return 4.0 * static_cast<double>(p->batch * p->heads * p->dim) * VisiblePairs(*p);
  }
  return 0;
}

TwDataType OutputType(const Workload& workload) {
  const DType dtype = workload.dtype;
  if (IsRequantized(dtype)) return ResultType(dtype);
  const TwDataType activation = ActivationType(dtype);
  if (std::holds_alternative<RowProblem>(workload.problem)) {
    return activation.bits == 16 ? activation : runtime::kFloat32;
  }
  const auto* conv = std::get_if<ConvolutionProblem>(&workload.problem);
  const bool normalized = conv != nullptr && conv->normalized;
  return normalized && IsInteger(dtype) ? runtime::kFloat32 : ResultType(dtype);
}

double Bytes(const Workload& workload) {
  const TensorShapes shapes = ShapesOf(workload.problem);
  double weight = shapes.weight.empty() ? 0 : Product(shapes.weight) * WeightType(workload.dtype).bits;
  if (std::holds_alternative<AttentionProblem>(workload.problem)) weight *= 2;  // keys and values
  return (Product(shapes.activation) * ActivationType(workload.dtype).bits + weight +
          Product(shapes.output) * OutputType(workload).bits) /
         8;
}

}  // namespace tilewright::bench
