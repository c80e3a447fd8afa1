#include "codegen/cuda/host/launcher_text.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "base/status_macros.h"
#include "codegen/abi/c_symbol.h"
#include "codegen/abi/function_abi.h"
#include "codegen/cuda/host/function_text.h"
#include "codegen/cuda/host/sequence_text.h"

namespace tilewright::cuda {
namespace {

// Made by tilewright for $0. ...
constexpr char kStart[] = R"(// Made by tilewright for $0: starts the kernels of $1 in the order of the program.
//
//   c++ -std=c++20 -O1 -fPIC -shared -I TILEWRIGHT THIS_FILE.cc -o NAME.so -ldl
//
// makes a library that needs NVIDIA's driver when it runs, and nothing else. TILEWRIGHT is the root of its sources, or
// the include/tilewright of an installation; -I names the folder of $1 too where that is not the current one.
// How functions are called: codegen/abi/function_abi.h.
#include "codegen/cuda/host/launcher.h"

)";

constexpr char kSymbols[] = R"(
#if defined(__x86_64__)
TW_EXPORT const char tw_required_features[] = "x86_64:";
#else
TW_EXPORT const char tw_required_features[] = "aarch64:";
#endif
TW_EXPORT const char tw_required_gpu[] = "$0";
TW_EXPORT const int32_t tw_abi_version = $1;
)";

std::string ImagesText(std::span<const LauncherImage> images) {
  std::string text, table = "Image images[] = {\n";
  size_t number = 0;
  for (const LauncherImage& image : images) {
    absl::StrAppend(&text, "TW_EMBED(tw_image_", number, ", ", Quoted(image.file), ");\n");
    absl::StrAppend(&table, "    {tw_image_", number++, "},\n");
  }
  return absl::StrCat(text,
                      "\nnamespace {\n\nusing namespace tilewright::cuda;\nusing namespace tilewright::cuda::host;\n\n",
                      table, "};\n");
}

std::string KernelsText(std::span<const LauncherImage> images) {
  std::string text =
      "// With their dynamic shared memory in bytes; true: begins before the kernel in front has ended, and waits "
      "itself.\nKernel kernels[] = {\n";
  size_t image = 0;
  for (const LauncherImage& made : images) {
    for (const DeviceFunction& function : made.program->functions) {
      for (const Kernel& kernel : function.kernels) {
        absl::StrAppend(&text, "    {", Quoted(kernel.name), ", &images[", image, "], ", kernel.shared_bytes,
                        kernel.dependent ? ", true},\n" : "},\n");
      }
    }
    ++image;
  }
  return text + "};\n";
}

std::string LibraryText(const Target& target, const SizedSequence* sequence) {
  const GpuTarget gpu = target.gpu_part();
  const Architecture architecture = ArchitectureOf(target);
  const bool has_constants = sequence != nullptr && sequence->constants_bytes > 0;
  return absl::Substitute(
      "Library library({.target = $0,\n                 .capability = $1,\n                 .exact = $2,\n             "
      "    "
      ".most_threads = $3,\n                 .most_blocks = {$4}},\n                images, kernels$5);\n",
      Quoted(target.name), architecture.capability, architecture.exact ? "true" : "false", gpu.max_threads_per_block,
      absl::StrJoin(gpu.max_grid_dims, ", "),
      has_constants ? absl::StrCat(", tw_constants, ", sequence->constants_bytes) : "");
}

}  // namespace

Architecture ArchitectureOf(const Target& target) {
  std::string digits = target.cpu.substr(target.cpu.find('_') + 1);
  Architecture found{.exact = absl::EndsWith(digits, "a")};
  if (found.exact) digits.pop_back();
  (void)absl::SimpleAtoi(digits, &found.capability);
  return found;
}

absl::StatusOr<std::string> LauncherText(std::span<const LauncherImage> images, const Target& target,
                                         const SizedSequence* sequence) {
  std::vector<std::string> files;
  for (const LauncherImage& image : images) files.push_back(image.file);
  const bool has_constants = sequence != nullptr && sequence->constants_bytes > 0;
  std::string text = absl::Substitute(kStart, target.name, files.size() == 1 ? files[0] : "its images");
  if (has_constants) absl::StrAppend(&text, "TW_EMBED(tw_constants, ", Quoted(kConstantsFile), ");\n");
  absl::StrAppend(&text, ImagesText(images), "\n", KernelsText(images), "\n", LibraryText(target, sequence));
  std::set<std::string> bases;
  const auto base_of = [&bases](const std::string& name) {
    std::string base = CIdentifier(name);
    for (int i = 1; !bases.insert(base).second; ++i) base = absl::StrCat(CIdentifier(name), "_", i);
    return base;
  };
  std::map<std::string, FunctionText> functions;
  std::string exported;
  size_t first_kernel = 0;
  for (const LauncherImage& image : images) {
    for (const DeviceFunction& function : image.program->functions) {
      TW_ASSIGN_OR_RETURN(FunctionText made, TextOfFunction(function, base_of(function.name), first_kernel));
      first_kernel += function.kernels.size();
      absl::StrAppend(&text, "\n", made.signature.text(), "\n", made.start);
      if (sequence == nullptr) absl::StrAppend(&exported, made.signature.Exported(made.workspace_bytes));
      functions.emplace(function.name, std::move(made));
    }
  }
  if (sequence != nullptr) {
    TW_ASSIGN_OR_RETURN(const SequenceText made, TextOfSequence(*sequence, base_of(sequence->name), functions));
    absl::StrAppend(&text, "\n", made.definitions);
    exported = made.exported;
  }
  return absl::StrCat(text, "\n}  // namespace\n", exported, absl::Substitute(kSymbols, target.cpu, TW_ABI_VERSION));
}

}  // namespace tilewright::cuda
