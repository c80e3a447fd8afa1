#include "bench/peers/peer_openblas.h"

#include <cblas.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bench/operators/tensor_sets.h"
#include "codegen/runtime/available_cpus.h"
#include "codegen/runtime/thread_pool.h"

namespace tilewright::bench {
namespace {

using runtime::Tensor;

class MatmulRunner : public Runner {
 public:
  MatmulRunner(const MatmulProblem& problem, TensorSets sets, Tensor weight)
      : problem_(problem), sets_(std::move(sets)), weight_(std::move(weight)) {}

  void Run(int set) override {
    const auto& [batch, m, n, k, b_transposed, heads, b_constant] = problem_;
    const float *a = sets_.input(set).data<float>(), *b = weight_.data<float>();
    float* c = sets_.output(set).data<float>();
    for (int64_t i = 0; i < batch; ++i) {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, b_transposed ? CblasTrans : CblasNoTrans, static_cast<blasint>(m),
                  static_cast<blasint>(n), static_cast<blasint>(k), 1.0f, a + i * m * k, static_cast<blasint>(k),
                  b + i * n * k, static_cast<blasint>(b_transposed ? k : n), 0.0f, c + i * m * n,
                  static_cast<blasint>(n));
    }
  }
  void SpoilOutput(int set) override { sets_.SpoilOutput(set); }
  absl::Status CopyOutput(int set, Tensor& output) override { return sets_.CopyOutput(set, output); }

 private:
  const MatmulProblem problem_;
  TensorSets sets_;
  const Tensor weight_;
};

class ConvolutionRunner : public Runner {
 public:
  ConvolutionRunner(const ConvolutionProblem& problem, TensorSets sets, Tensor weight, Tensor patches,
                    const RunSettings& settings)
      : problem_(problem),
        sets_(std::move(sets)),
        weight_(std::move(weight)),
        patches_(std::move(patches)),
        pool_({.num_threads = settings.num_threads, .cpus = settings.cpus}) {}

  // A kernel of one pixel needs no patches: the image is the matrix.
  static bool NeedsPatches(const ConvolutionProblem& problem) {
    return problem.in != problem.out || Depth(problem) != problem.in_channels;
  }

  static int64_t Positions(const ConvolutionProblem& problem) {
    return problem.batch * problem.out[1] * problem.out[2];
  }
  static int64_t Depth(const ConvolutionProblem& problem) {
    return problem.kernel[1] * problem.kernel[2] * problem.in_channels;
  }

  void Run(int set) override {
    const float* rows = sets_.input(set).data<float>();
    if (NeedsPatches(problem_)) {
      pool_.ParallelFor(problem_.batch * problem_.out[1], [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) CopyPatches(rows, row);
      });
      rows = patches_.data<float>();
    }
    const auto depth = static_cast<blasint>(Depth(problem_)), columns = static_cast<blasint>(problem_.out_channels);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<blasint>(Positions(problem_)), columns, depth,
                1.0f, rows, depth, weight_.data<float>(), columns, 0.0f, sets_.output(set).data<float>(), columns);
  }
  void SpoilOutput(int set) override { sets_.SpoilOutput(set); }
  absl::Status CopyOutput(int set, Tensor& output) override { return sets_.CopyOutput(set, output); }

 private:
  // The patches of one row of output pixels.
  void CopyPatches(const float* image, int64_t row) {
    const int64_t n = row / problem_.out[1], y = row % problem_.out[1];
    const auto channels = static_cast<size_t>(problem_.in_channels);
    float* patch = patches_.data<float>() + row * problem_.out[2] * Depth(problem_);
    for (int64_t x = 0; x < problem_.out[2]; ++x) {
      for (int64_t ky = 0; ky < problem_.kernel[1]; ++ky) {
        for (int64_t kx = 0; kx < problem_.kernel[2]; ++kx, patch += channels) {
          const int64_t iy = y * problem_.stride - problem_.padding[1] + ky * problem_.dilation;
          const int64_t ix = x * problem_.stride - problem_.padding[2] + kx * problem_.dilation;
          if (iy < 0 || iy >= problem_.in[1] || ix < 0 || ix >= problem_.in[2]) {
            std::fill_n(patch, channels, 0.0f);
          } else {
            std::copy_n(image + ((n * problem_.in[1] + iy) * problem_.in[2] + ix) * problem_.in_channels, channels,
                        patch);
          }
        }
      }
    }
  }

  const ConvolutionProblem problem_;
  TensorSets sets_;
  const Tensor weight_;
  Tensor patches_;
  runtime::ThreadPool pool_;
};

class OpenBlas : public Implementation {
 public:
  std::string name() const override { return "openblas"; }

  std::string version() const override {
    // The configuration reads "OpenBLAS 0.3.21 DYNAMIC_ARCH ...".
    const std::vector<std::string> words = absl::StrSplit(openblas_get_config(), ' ', absl::SkipEmpty());
    return absl::StrCat(words.size() > 1 ? words[1] : "unknown", " ", openblas_get_corename());
  }

  absl::StatusOr<std::vector<std::unique_ptr<Runner>>> Prepare(const Workload& workload, const Operands& operands,
                                                               const RunSettings& settings) override {
    if (workload.dtype != DType::kF32) return absl::UnimplementedError("OpenBLAS has f32 only");
    const auto* matmul = std::get_if<MatmulProblem>(&workload.problem);
    const auto* conv = std::get_if<ConvolutionProblem>(&workload.problem);
    const bool plain_matmul = matmul != nullptr && matmul->heads == 1;
    const bool plain_conv =
        conv != nullptr && conv->spatial_rank <= 2 && conv->groups == 1 && !conv->transposed && !conv->normalized;
    if (!plain_matmul && !plain_conv) {
      return absl::UnimplementedError(absl::StrCat("OpenBLAS has no ", std::string(Name(workload.shape.op)),
                                                   " and none was built around its sgemm"));
    }
    absl::StatusOr<TensorSets> sets = TensorSets::Make(workload, operands, settings.num_sets);
    absl::StatusOr<Tensor> weight = Copy(operands.weight);
    if (!sets.ok()) return sets.status();
    if (!weight.ok()) return weight.status();
    StartThreads(settings);
    std::vector<std::unique_ptr<Runner>> runners;
    if (plain_matmul) {
      runners.push_back(std::make_unique<MatmulRunner>(*matmul, *std::move(sets), *std::move(weight)));
      return runners;
    }
    const bool needs_patches = ConvolutionRunner::NeedsPatches(*conv);
    std::optional<Tensor> patches = Tensor::Allocate(
        runtime::kFloat32, {needs_patches ? ConvolutionRunner::Positions(*conv) : 0, ConvolutionRunner::Depth(*conv)});
    if (!patches.has_value()) return absl::ResourceExhaustedError("not enough memory for the patches");
    runners.push_back(std::make_unique<ConvolutionRunner>(*conv, *std::move(sets), *std::move(weight),
                                                          *std::move(patches), settings));
    return runners;
  }

 private:
  // OpenBLAS starts threads with the affinity of the thread that asks, and then never binds them.
  void StartThreads(const RunSettings& settings) {
    if (openblas_get_num_threads() == settings.num_threads) return;
    runtime::SetAffinity(settings.cpus);
    openblas_set_num_threads(settings.num_threads);
    runtime::SetAffinity({settings.cpus.front()});
    for (int i = 1; i < settings.num_threads; ++i) {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(settings.cpus[static_cast<size_t>(i)], &set);
      openblas_setaffinity(i - 1, sizeof(set), &set);
    }
  }
};

}  // namespace

std::unique_ptr<Implementation> MakeOpenBlas() { return std::make_unique<OpenBlas>(); }

}  // namespace tilewright::bench
