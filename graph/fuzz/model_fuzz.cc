// Runs random models without optimizations, interpreted, and with all of them, compiled, and compares.
//
//   bazel run //graph/fuzz:model_fuzz -- --first=0 --count=1000 --seconds=300
//   bazel run //graph/fuzz:model_fuzz -- --first=17 --count=1 --write=/tmp/models  # the model, its inputs, its outputs
//   bazel run //graph/fuzz:model_fuzz -- --damage=20 --count=500                     # damaged files of each model
//
// What --write leaves is what tools outside compare with: NAME.onnx, NAME.inputs/, NAME.outputs/ at opt_level 0.

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/limit_memory.h"
#include "base/status_macros.h"
#include "graph/device/device.h"
#include "graph/executor/onnx_model.h"
#include "graph/fuzz/damage.h"
#include "graph/fuzz/random_model.h"

ABSL_FLAG(uint64_t, first, 0, "the first seed");
ABSL_FLAG(uint64_t, count, 100, "how many seeds");
ABSL_FLAG(double, seconds, 1e9, "ends after that time");
ABSL_FLAG(int, nodes, 12, "about as many nodes a model");
ABSL_FLAG(int, opt_level, 2, "what is compared with opt_level 0");
ABSL_FLAG(std::string, precision, "f32", "f32, integer, f16 or bf16: as of run");
ABSL_FLAG(bool, interpret, false, "optimized models are interpreted too: the passes alone are tested");
ABSL_FLAG(bool, quick, false, "LLVM optimizes kernels little: two and a half times as many models a second");
ABSL_FLAG(std::string, write, "", "a folder to write every model to, with its inputs and its outputs at opt_level 0");
ABSL_FLAG(std::string, disable, "", "a pass that does not run");
ABSL_FLAG(std::string, target, "host", "the machine that runs the optimized models; others than the host are emulated");
ABSL_FLAG(int, damage, 0, "as many damaged files of each model are imported, optimized and run instead");
ABSL_FLAG(std::string, last, "", "where each damaged file is written before it is read, to have the one that crashes");

namespace tilewright::graph {
namespace {

namespace fs = std::filesystem;
// Bytes of address space that a damaged file may take; opt_level 2 compiles nothing.
constexpr uint64_t kMostMemory = uint64_t{8} << 30;
// What importing and optimizing one may take.
constexpr double kMostSeconds = 10;

OnnxModel::Inputs InputsOf(const RandomModel& random) {
  OnnxModel::Inputs inputs;
  for (const auto& [name, array] : random.inputs) inputs[name] = {Item::Kind::kTensor, {array}};
  return inputs;
}

absl::StatusOr<std::unique_ptr<ModelFile>> FileOf(std::string bytes) {
  auto owner = std::make_shared<std::string>(std::move(bytes));
  const absl::Span<const std::byte> view(reinterpret_cast<const std::byte*>(owner->data()), owner->size());
  return ModelFile::FromBytes(owner, view, "");
}

using Outputs = std::vector<OnnxModel::Tensors>;

absl::StatusOr<Outputs> Run(const RandomModel& random, const ExecutorOptions& executor, const PassContext& passes) {
  const OnnxModel::Inputs inputs = InputsOf(random);
  TW_ASSIGN_OR_RETURN(std::unique_ptr<ModelFile> file, FileOf(random.model.SerializeAsString()));
  TW_ASSIGN_OR_RETURN(const std::unique_ptr<OnnxModel> model,
                      OnnxModel::Load(std::move(file), {.inputs = &inputs, .executor = executor, .passes = passes}));
  return model->Run(inputs);
}

// What differs between two arrays; nothing where they are close.
std::string Difference(const NDArray& expected, const NDArray& actual) {
  if (expected.dtype() != actual.dtype() || expected.shape() != actual.shape()) return "another type or shape";
  double largest = 1, error = 0;
  for (int64_t i = 0; i < expected.size(); ++i) {
    const double a = expected.Get(i), b = actual.Get(i);
    if (std::isnan(a) != std::isnan(b)) return absl::StrCat("element ", i, ": ", a, " and ", b);
    if (std::isnan(a) || a == b) continue;
    if (std::isinf(a) || std::isinf(b)) return absl::StrCat("element ", i, ": ", a, " and ", b);
    largest = std::max(largest, std::abs(a));
    error = std::max(error, std::abs(a - b));
  }
  const std::string precision = absl::GetFlag(FLAGS_precision);
  const double of_floats = precision == "bf16" ? 3e-2 : precision == "f16" ? 5e-3 : 2e-3;
  const double tolerance = expected.dtype().is_float() ? of_floats : 0;
  return error > tolerance * largest ? absl::StrCat("error ", error, ", largest ", largest) : "";
}

absl::Status Write(const std::string& folder, uint64_t seed, const RandomModel& random, const Outputs& outputs) {
  const std::string base = absl::StrCat(folder, "/", seed);
  fs::create_directories(base + ".inputs");
  fs::create_directories(base + ".outputs");
  std::ofstream(base + ".onnx", std::ios::binary) << random.model.SerializeAsString();
  for (const auto& [name, array] : random.inputs) {
    TW_RETURN_IF_ERROR(WriteNpy(array, absl::StrCat(base, ".inputs/", name, ".npy")));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = random.model.graph().output(static_cast<int>(i)).name();
    TW_RETURN_IF_ERROR(WriteNpy(outputs[i].arrays[0], absl::StrCat(base, ".outputs/", name, ".npy")));
  }
  return absl::OkStatus();
}

// What runs the optimized models.
absl::StatusOr<ExecutorOptions> Machine(const std::string& name) {
  TW_ASSIGN_OR_RETURN(const Target target, NamedTarget(name));
  ExecutorOptions executor = {.kernels = {.target = target, .quick = absl::GetFlag(FLAGS_quick)},
                              .interpret = absl::GetFlag(FLAGS_interpret),
                              .num_threads = 2};
  if (target.is_gpu()) {
    executor.kernels.use = KernelUse::kDevice;
    executor.kernels.emulate = true;
    TW_ASSIGN_OR_RETURN(executor.device, EmulatedGpu());
  } else if (name != "host") {
    executor.kernels.use = KernelUse::kExport;
    executor.worker = WorkerOptions{.target = target};
  }
  return executor;
}

// What is expected: the model as it stands; where floats have 16 bits, the same floats in kernels that are not joined.
PassContext Expected(Precision precision) {
  const bool narrow = precision == Precision::kFloat16 || precision == Precision::kBFloat16;
  if (!narrow) return {.opt_level = 0};
  return {.disabled = {"FuseKernels", "ShareKernels"}, .precision = precision, .check = true};
}

enum class Verdict { kSame, kDifferent, kRefused };

Verdict Check(uint64_t seed, std::string* why) {
  const RandomModel random = MakeRandomModel(seed, absl::GetFlag(FLAGS_nodes));
  const std::map<std::string, Precision> precisions = {{"f32", Precision::kExact},
                                                       {"integer", Precision::kInteger},
                                                       {"f16", Precision::kFloat16},
                                                       {"bf16", Precision::kBFloat16}};
  const auto precision = precisions.find(absl::GetFlag(FLAGS_precision));
  TW_CHECK(precision != precisions.end()) << "--precision: f32, integer, f16 or bf16";
  const auto expected = Run(random, {.interpret = true}, Expected(precision->second));
  if (!expected.ok()) {
    *why = expected.status().ToString();
    return Verdict::kRefused;
  }
  if (const std::string folder = absl::GetFlag(FLAGS_write); !folder.empty()) {
    if (const absl::Status written = Write(folder, seed, random, *expected); !written.ok()) *why = written.ToString();
  }
  PassContext passes{.opt_level = absl::GetFlag(FLAGS_opt_level), .precision = precision->second, .check = true};
  if (const std::string disabled = absl::GetFlag(FLAGS_disable); !disabled.empty()) passes.disabled = {disabled};
  const auto executor = Machine(absl::GetFlag(FLAGS_target));
  if (!executor.ok()) {
    *why = executor.status().ToString();
    return Verdict::kDifferent;
  }
  const auto actual = Run(random, *executor, passes);
  if (!actual.ok()) {
    *why = actual.status().ToString();
    const bool refused = absl::GetFlag(FLAGS_target) != "host" && absl::IsUnimplemented(actual.status());
    return refused ? Verdict::kRefused : Verdict::kDifferent;
  }
  for (size_t i = 0; i < expected->size(); ++i) {
    const std::string difference = Difference((*expected)[i].arrays[0], (*actual)[i].arrays[0]);
    if (difference.empty()) continue;
    *why = absl::StrCat("output ", random.model.graph().output(static_cast<int>(i)).name(), ": ", difference);
    return Verdict::kDifferent;
  }
  return Verdict::kSame;
}

// Imports, optimizes and runs damaged copies of the model. Errors about the input are what is expected. What is
// accepted stays inside of its tensors, which the interpreter checks.
void CheckDamaged(uint64_t seed, int copies, std::map<absl::StatusCode, int>& counts) {
  const RandomModel random = MakeRandomModel(seed, absl::GetFlag(FLAGS_nodes));
  const OnnxModel::Inputs inputs = InputsOf(random);
  std::mt19937_64 numbers(seed);
  for (int i = 0; i < copies; ++i) {
    std::string bytes = DamagedFile(random.model, numbers);
    if (const std::string path = absl::GetFlag(FLAGS_last); !path.empty()) {
      std::ofstream(path, std::ios::binary) << bytes;
    }
    const auto before = std::chrono::steady_clock::now();
    auto file = FileOf(std::move(bytes));
    absl::Status status = file.status();
    if (file.ok()) {
      const auto model =
          OnnxModel::Load(*std::move(file), {.executor = {.interpret = true}, .passes = {.check = true}});
      status = model.status();
      const absl::Status run = model.ok() ? (*model)->Run(inputs).status() : status;
      if (absl::StrContains(run.message(), "out of bounds")) {
        std::cout << "seed " << seed << " copy " << i << ": " << run << std::endl;
      }
    }
    ++counts[status.code()];
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
    const bool good = status.ok() || absl::IsInvalidArgument(status) || absl::IsUnimplemented(status);
    if (!good) std::cout << "seed " << seed << " copy " << i << ": " << status << std::endl;
    if (took > kMostSeconds) std::cout << "seed " << seed << " copy " << i << " took " << took << " s" << std::endl;
  }
}

int Main() {
  const uint64_t first = absl::GetFlag(FLAGS_first), count = absl::GetFlag(FLAGS_count);
  const int damage = absl::GetFlag(FLAGS_damage);
  if (damage > 0) LimitMemory(kMostMemory);
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  uint64_t same = 0, different = 0, refused = 0, seed = first;
  std::map<absl::StatusCode, int> damaged;
  for (; seed < first + count && seconds() < absl::GetFlag(FLAGS_seconds); ++seed) {
    if (damage > 0) {
      CheckDamaged(seed, damage, damaged);
      continue;
    }
    std::string why;
    const Verdict verdict = Check(seed, &why);
    (verdict == Verdict::kSame ? same : verdict == Verdict::kDifferent ? different : refused) += 1;
    if (!why.empty()) {
      std::cout << "seed " << seed << (verdict == Verdict::kRefused ? " is refused: " : ": ") << why << std::endl;
    }
  }
  for (const auto& [code, files] : damaged) std::cout << files << " damaged files: " << code << "\n";
  std::cout << "seeds " << first << " to " << seed << ": " << same << " the same, " << different << " different, "
            << refused << " refused; " << seconds() << " s\n";
  return different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tilewright::graph

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return tilewright::graph::Main();
}
