#include "bench/operators/product_source.h"

#include <algorithm>

namespace tilewright::bench {
namespace {

class MatmulSource : public ProductSource {
 public:
  explicit MatmulSource(const MatmulProblem& problem) : problem_(problem) {
    groups = problem.batch;
    rows_per_group = problem.m;
    depth = problem.k;
    columns = problem.n;
  }

  void GatherRow(int64_t group, int64_t row, const double* activation, double* out) const override {
    std::copy_n(activation + RowOffset(group, row, problem_.m), problem_.k, out);
  }

  double MatrixElement(int64_t group, int64_t k, int64_t c, const double* weight) const override {
    if (problem_.b_transposed) return weight[RowOffset(group, c, problem_.n) + k];
    return weight[(group * problem_.k + k) * problem_.n + c];
  }

  int64_t OutputOffset(int64_t group, int64_t row) const override { return (group * problem_.m + row) * problem_.n; }

 private:
  // The offset of a row of an operand [batch / heads, rows, heads, k].
  int64_t RowOffset(int64_t group, int64_t row, int64_t rows) const {
    const int64_t heads = problem_.heads;
    return ((group / heads * rows + row) * heads + group % heads) * problem_.k;
  }

  const MatmulProblem problem_;
};

class ConvolutionSource : public ProductSource {
 public:
  explicit ConvolutionSource(const ConvolutionProblem& problem)
      : problem_(problem), in_(problem.in_channels / problem.groups) {
    groups = problem.groups;
    rows_per_group = problem.batch * problem.out[0] * problem.out[1] * problem.out[2];
    depth = problem.kernel[0] * problem.kernel[1] * problem.kernel[2] * in_;
    columns = problem.out_channels / problem.groups;
  }

  void GatherRow(int64_t group, int64_t row, const double* activation, double* out) const override {
    const auto& in = problem_.in;
    const auto& kernel = problem_.kernel;
    const int64_t x = row % problem_.out[2];
    const int64_t y = row / problem_.out[2] % problem_.out[1];
    const int64_t z = row / (problem_.out[2] * problem_.out[1]) % problem_.out[0];
    const int64_t image = row / (problem_.out[2] * problem_.out[1] * problem_.out[0]);
    for (int64_t kz = 0; kz < kernel[0]; ++kz) {
      for (int64_t ky = 0; ky < kernel[1]; ++ky) {
        for (int64_t kx = 0; kx < kernel[2]; ++kx, out += in_) {
          const int64_t iz = InputPosition(0, z, kz), iy = InputPosition(1, y, ky), ix = InputPosition(2, x, kx);
          if (iz < 0 || iy < 0 || ix < 0) {
            std::fill_n(out, in_, 0.0);
          } else {
            const int64_t position = ((image * in[0] + iz) * in[1] + iy) * in[2] + ix;
            std::copy_n(activation + position * problem_.in_channels + group * in_, in_, out);
          }
        }
      }
    }
  }

  double MatrixElement(int64_t group, int64_t k, int64_t c, const double* weight) const override {
    return weight[k * problem_.out_channels + group * columns + c];
  }

  int64_t OutputOffset(int64_t group, int64_t row) const override {
    return row * problem_.out_channels + group * columns;
  }

 private:
  // Input position that meets kernel position `k` at output position `out`, or -1 where there is none.
  int64_t InputPosition(size_t dimension, int64_t out, int64_t k) const {
    int64_t position;
    if (problem_.transposed) {
      const int64_t scaled = out + problem_.padding[dimension] - k;
      if (scaled < 0 || scaled % problem_.stride != 0) return -1;
      position = scaled / problem_.stride;
    } else {
      // Dimensions beyond the rank have extent 1 everywhere, and the stride does nothing.
      position = out * problem_.stride - problem_.padding[dimension] + k * problem_.dilation;
    }
    return position >= 0 && position < problem_.in[dimension] ? position : -1;
  }

  const ConvolutionProblem problem_;
  const int64_t in_;  // Input channels of a group.
};

}  // namespace

std::unique_ptr<ProductSource> MakeProductSource(const Problem& problem) {
  if (const auto* matmul = std::get_if<MatmulProblem>(&problem)) return std::make_unique<MatmulSource>(*matmul);
  if (const auto* conv = std::get_if<ConvolutionProblem>(&problem)) return std::make_unique<ConvolutionSource>(*conv);
  return nullptr;
}

}  // namespace tilewright::bench
