#include "bench/peers/peer_cublaslt.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/device/device_sets.h"
#include "bench/device/timed_graph.h"
#include "bench/peers/cublaslt_library.h"
#include "codegen/cuda/graph_runs.h"

namespace tilewright::bench {
namespace {

using Library = CublasLtLibrary;

constexpr int64_t kWorkspaceBytes = 64 << 20;
constexpr int kMostAlgorithms = 32;
// Launches of a graph that each algorithm is tried with, of which the fastest counts.
constexpr int kTrials = 5;

absl::Status LibraryStatus(int code, const char* what) {
  if (code == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("cuBLASLt: ", what, " fails with status ", code));
}

// The types of a product: of both factors, of the results, of the factors alpha and beta, and what sums are made in.
struct Types {
  Library::Type factor, result, scale;
  Library::Compute compute;
};

std::optional<Types> TypesOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return Types{Library::kF32, Library::kF32, Library::kF32, Library::kComputeF32};
    case DType::kBf16:
      return Types{Library::kBf16, Library::kF32, Library::kF32, Library::kComputeF32};
    case DType::kF16:
      return Types{Library::kF16, Library::kF16, Library::kF16, Library::kComputeF16};
    case DType::kF16F32:
      return Types{Library::kF16, Library::kF32, Library::kF32, Library::kComputeF32};
    case DType::kF16H:
      return Types{Library::kF16, Library::kF16, Library::kF32, Library::kComputeF32};
    case DType::kBf16H:
      return Types{Library::kBf16, Library::kBf16, Library::kF32, Library::kComputeF32};
    case DType::kE4M3:
      return Types{Library::kE4M3, Library::kF32, Library::kF32, Library::kComputeF32};
    case DType::kS8S8:
      return Types{Library::kS8, Library::kS32, Library::kS32, Library::kComputeS32};
    default:
      return std::nullopt;
  }
}

// The library's factors and sums, whose matrices are column-major: the transposed ones of ours. Its first factor is our
// B, its second our A.
struct Matrices {
  const Library& library;
  void *desc = nullptr, *first = nullptr, *second = nullptr, *sums = nullptr, *preference = nullptr;

  explicit Matrices(const Library& opened) : library(opened) {}
  ~Matrices() {
    if (desc != nullptr) library.desc_destroy(desc);
    for (void* layout : {first, second, sums}) {
      if (layout != nullptr) library.layout_destroy(layout);
    }
    if (preference != nullptr) library.preference_destroy(preference);
  }
  Matrices(const Matrices&) = delete;
  Matrices& operator=(const Matrices&) = delete;

  // Distances between the rows of our matrices and between those of a batch.
  struct Layout {
    int64_t rows, columns, leading, batch_stride;
  };
  absl::Status Make(const Types& types, bool b_transposed, int64_t batch, const Layout& b, const Layout& a,
                    const Layout& c) {
    const auto layout = [&](Library::Type type, const Layout& of, void** made) {
      const auto count = static_cast<int32_t>(batch);
      int code = library.layout_create(made, type, static_cast<uint64_t>(of.columns), static_cast<uint64_t>(of.rows),
                                       of.leading);
      if (code == 0) code = library.layout_set(*made, Library::kBatchCount, &count, sizeof(count));
      if (code == 0) code = library.layout_set(*made, Library::kBatchStride, &of.batch_stride, sizeof(int64_t));
      return code;
    };
    const int32_t transposed = b_transposed ? 1 : 0;
    const uint64_t workspace = kWorkspaceBytes;
    int code = library.desc_create(&desc, types.compute, types.scale);
    if (code == 0) code = library.desc_set(desc, Library::kTransposeA, &transposed, sizeof(transposed));
    if (code == 0) code = layout(types.factor, b, &first);
    if (code == 0) code = layout(types.factor, a, &second);
    if (code == 0) code = layout(types.result, c, &sums);
    if (code == 0) code = library.preference_create(&preference);
    if (code == 0) {
      code = library.preference_set(preference, Library::kWorkspaceBytes, &workspace, sizeof(workspace));
    }
    return LibraryStatus(code, "the description of the product");
  }
};

// One and zero in the type of the factors of a product.
struct Scales {
  alignas(8) std::array<char, 8> one = {}, zero = {};
};
Scales ScalesOf(Library::Type type) {
  Scales scales;
  const float one = 1;
  const uint16_t half_one = 0x3C00;
  const int32_t integer_one = 1;
  const void* from = type == Library::kF16   ? static_cast<const void*>(&half_one)
                     : type == Library::kS32 ? static_cast<const void*>(&integer_one)
                                             : static_cast<const void*>(&one);
  std::memcpy(scales.one.data(), from, type == Library::kF16 ? sizeof(half_one) : sizeof(one));
  return scales;
}

// B [batch, k, n] as [batch, n, k].
std::vector<char> Transposed(const runtime::Tensor& weight, const MatmulProblem& p) {
  const auto bytes = static_cast<size_t>(weight.dtype().bits / 8);
  std::vector<char> transposed(static_cast<size_t>(weight.num_elements()) * bytes);
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t k = 0; k < p.k; ++k) {
      for (int64_t n = 0; n < p.n; ++n) {
        std::memcpy(transposed.data() + static_cast<size_t>((b * p.n + n) * p.k + k) * bytes,
                    weight.data<char>() + static_cast<size_t>((b * p.k + k) * p.n + n) * bytes, bytes);
      }
    }
  }
  return transposed;
}

class CublasLtRunner : public Runner {
 public:
  CublasLtRunner(const Library& library, void* handle, const Types& types, std::string variant)
      : library_(library),
        handle_(handle),
        scales_(ScalesOf(types.scale)),
        variant_(std::move(variant)),
        matrices_(library) {}

  absl::Status Prepare(const cuda::Driver& driver, const Types& types, const Workload& workload, bool transposed,
                       const Operands& operands, int num_sets) {
    const auto& p = std::get<MatmulProblem>(workload.problem);
    TW_ASSIGN_OR_RETURN(auto sets, DeviceSets::Make(driver, workload, operands, num_sets));
    sets_.emplace(std::move(sets));
    const bool here = transposed && !p.b_transposed;
    const std::vector<char> packed = here ? Transposed(operands.weight, p) : std::vector<char>();
    TW_ASSIGN_OR_RETURN(auto weight,
                        here ? cuda::DeviceArray::CopyOf(driver, packed.data(), static_cast<int64_t>(packed.size()))
                             : ToDevice(driver, operands.weight));
    weight_.emplace(std::move(weight));
    TW_ASSIGN_OR_RETURN(auto workspace, cuda::DeviceArray::Allocate(driver, kWorkspaceBytes));
    workspace_.emplace(std::move(workspace));
    // Rows of operands [rows, heads, k] are as far apart as all heads are wide, and a head as far from the next as its
    // k.
    const bool heads = p.heads > 1;
    const auto operand = [&](int64_t rows, int64_t columns) {
      return Matrices::Layout{rows, columns, heads ? columns * p.heads : columns, heads ? columns : rows * columns};
    };
    TW_RETURN_IF_ERROR(matrices_.Make(types, transposed, p.batch, transposed ? operand(p.n, p.k) : operand(p.k, p.n),
                                      operand(p.m, p.k), {p.m, p.n, p.n, p.m * p.n}));
    return ChooseAlgorithm(driver, num_sets);
  }

  std::string variant() const override { return variant_; }
  absl::Status FirstRun(int set) override {
    TW_RETURN_IF_ERROR(Multiply(heuristic_, set, /*stream=*/nullptr));
    return cuda::DeviceStatus(*driver_, driver_->Synchronize(nullptr), "cuBLASLt");
  }
  void Run(int set) override { FirstRun(set).IgnoreError(); }
  std::optional<TimedBlock> RunBlock(int64_t warmup_nanoseconds, int64_t nanoseconds) override {
    return bench::RunBlock(*runs_, warmup_nanoseconds, nanoseconds);
  }
  int64_t trials() const override { return trials_; }
  void SpoilOutput(int set) override { sets_->SpoilOutput(set); }
  absl::Status CopyOutput(int set, runtime::Tensor& output) override { return sets_->CopyOutput(set, output); }

 private:
  absl::Status Multiply(const Library::Heuristic& by, int set, void* stream) {
    const Matrices& m = matrices_;
    return LibraryStatus(
        library_.matmul(handle_, m.desc, scales_.one.data(), weight_->data(), m.first, sets_->input(set), m.second,
                        scales_.zero.data(), sets_->output(set), m.sums, sets_->output(set), m.sums, &by.algorithm,
                        workspace_->data(), static_cast<size_t>(kWorkspaceBytes), stream),
        "the product");
  }

  absl::Status ChooseAlgorithm(const cuda::Driver& driver, int num_sets) {
    driver_ = &driver;
    std::array<Library::Heuristic, kMostAlgorithms> found;
    int count = 0;
    const Matrices& m = matrices_;
    const int code = library_.heuristics(handle_, m.desc, m.first, m.second, m.sums, m.sums, m.preference,
                                         kMostAlgorithms, found.data(), &count);
    if (code != 0 || count == 0) return absl::UnimplementedError("cuBLASLt has no algorithm for this shape and type");
    double best = -1;
    for (int i = 0; i < count; ++i) {
      if (found[static_cast<size_t>(i)].state != 0) continue;
      const Library::Heuristic& by = found[static_cast<size_t>(i)];
      auto runs =
          cuda::GraphRuns::Record(driver, num_sets, [&](int set, void* stream) { return Multiply(by, set, stream); });
      if (!runs.ok()) continue;
      ++trials_;
      double least = (*runs)->LaunchOnce();
      for (int trial = 1; trial < kTrials && least >= 0; ++trial) least = std::min(least, (*runs)->LaunchOnce());
      if (least < 0) return absl::InternalError("cuBLASLt: a product fails on the device");
      if (best >= 0 && least >= best) continue;
      best = least;
      heuristic_ = by;
      runs_ = *std::move(runs);
    }
    return runs_ ? absl::OkStatus() : absl::UnimplementedError("no algorithm of cuBLASLt runs in a CUDA graph");
  }

  const Library& library_;
  void* const handle_;
  const Scales scales_;
  const std::string variant_;
  const cuda::Driver* driver_ = nullptr;
  Matrices matrices_;
  std::optional<DeviceSets> sets_;
  std::optional<cuda::DeviceArray> weight_, workspace_;
  Library::Heuristic heuristic_ = {};
  std::unique_ptr<cuda::GraphRuns> runs_;
  int64_t trials_ = 0;
};

class CublasLt : public Implementation {
 public:
  std::string name() const override { return "cublaslt"; }
  std::string version() const override { return version_; }

  absl::StatusOr<std::vector<std::unique_ptr<Runner>>> Prepare(const Workload& workload, const Operands& operands,
                                                               const RunSettings& settings) override {
    const auto* p = std::get_if<MatmulProblem>(&workload.problem);
    const std::optional<Types> types = TypesOf(workload.dtype);
    if (p == nullptr || !types) {
      return absl::UnimplementedError(absl::StrCat("cuBLASLt has no ", std::string(Name(workload.shape.op)), " in ",
                                                   std::string(Name(workload.dtype))));
    }
    if (p->heads > 1 && p->batch != p->heads) {
      return absl::UnimplementedError("cuBLASLt has one distance between the matrices of a batch: one image only");
    }
    std::string error;
    const cuda::Driver* driver = cuda::Driver::Open(&error);
    const Library* library = driver == nullptr ? nullptr : Library::Open(&error);
    if (library == nullptr) return absl::FailedPreconditionError(error);
    driver->MakeCurrent();
    version_ = absl::StrCat(library->version());
    if (handle_ == nullptr) {
      TW_RETURN_IF_ERROR(LibraryStatus(library->create(&handle_), "its start"));
    }
    std::vector<std::unique_ptr<Runner>> runners;
    absl::Status status;
    for (const bool transposed : {false, true}) {
      // What is not constant, or transposed already, is given as it is.
      if (transposed ? !p->b_transposed && !p->b_constant : p->b_transposed) continue;
      auto runner = std::make_unique<CublasLtRunner>(*library, handle_, *types, transposed ? "B [n, k]" : "B [k, n]");
      status = runner->Prepare(*driver, *types, workload, transposed, operands, settings.num_sets);
      if (status.ok()) runners.push_back(std::move(runner));
    }
    if (runners.empty()) return status;
    return runners;
  }

 private:
  std::string version_;
  void* handle_ = nullptr;  // kept until the process ends
};

}  // namespace

std::unique_ptr<Implementation> MakeCublasLt() { return std::make_unique<CublasLt>(); }

}  // namespace tilewright::bench
