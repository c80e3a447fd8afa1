#include "codegen/cuda/host/launcher_library.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/phases.h"
#include "base/status_macros.h"
#include "base/temporary_folder.h"
#include "codegen/cuda/cxx_compiler.h"
#include "codegen/cuda/emulation.h"
#include "codegen/cuda/host/compile_kernels.h"
#include "codegen/cuda/host/header_text.h"
#include "codegen/cuda/host/launcher_text.h"

namespace tilewright::cuda {
namespace {

namespace fs = std::filesystem;

// The C++ library comes with the host part, hidden: a library needs that of C alone, and the driver.
constexpr const char* kFlags[] = {
    "-std=c++20",
    "-O1",
    "-w",
    "-fPIC",
    "-shared",
    "-fwrapv",
    "-fno-exceptions",
    "-fno-rtti",
    "-fvisibility=hidden",
    "-static-libgcc",
    "-static-libstdc++",
    "-Wl,--exclude-libs,ALL",
};

// Kernels of one function each, so that one that spills is compiled again alone.
struct Part {
  Program program;
  std::string image;
};

absl::StatusOr<Part> CompilePart(const Module& module, const Target& target, const CompileOptions& options) {
  TW_ASSIGN_OR_RETURN(EmittedProgram emitted, ProgramFor(module, target, options));
  Part part{.program = std::move(emitted.program)};
  if (options.emulate) {
    TW_ASSIGN_OR_RETURN(part.image, EmulatedKernels(part.program));
    return part;
  }
  emitted.program = part.program;
  TW_ASSIGN_OR_RETURN(CompiledKernels kernels, CompileKernels(emitted, target, target.cpu));
  part.image = std::move(kernels.cubin.binary);
  return part;
}

// In the order of the modules, by all processors.
absl::StatusOr<std::vector<Part>> CompileParts(const std::vector<Module>& modules, const Target& target,
                                               const CompileOptions& options) {
  std::vector<Part> parts(modules.size());
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  absl::Status status;
  const auto work = [&] {
    for (size_t i = next++; i < modules.size(); i = next++) {
      auto part = CompilePart(modules[i], target, options);
      if (part.ok()) {
        parts[i] = *std::move(part);
        continue;
      }
      const std::lock_guard<std::mutex> lock(mutex);
      status.Update(part.status());
      next = modules.size();
    }
  };
  std::vector<std::thread> threads;
  // Passes are shown in order.
  const size_t all = options.after_pass ? 1 : std::thread::hardware_concurrency();
  const size_t wanted = std::min(all, modules.size());
  for (size_t t = 1; t < wanted; ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (!status.ok()) return status;
  return parts;
}

std::vector<Module> PartsOf(const Module& module, const CompileOptions& options) {
  // The emulator's headers are compiled with each.
  if (options.emulate) return {module};
  std::vector<Module> parts;
  for (const Function& function : module.functions()) parts.emplace_back(function);
  return parts;
}

absl::StatusOr<std::string> Link(const std::string& text, const std::vector<Part>& parts,
                                 const std::vector<LauncherImage>& images, const SizedSequence* sequence) {
  const Phase phase("host part");
  const TemporaryFolder folder;
  bool written = !folder.path().empty() && folder.Write("launcher.cc", text);
  for (const DeviceHeader& header : HostHeaders()) written = written && folder.Write(header.path, header.text);
  for (size_t i = 0; i < parts.size(); ++i) written = written && folder.Write(images[i].file, parts[i].image);
  if (sequence != nullptr && !sequence->constants_file.empty()) {
    std::error_code error;
    fs::create_symlink(fs::absolute(sequence->constants_file), folder.path() / kConstantsFile, error);
    written = written && !error;
  }
  if (!written) return absl::InternalError(absl::StrCat("cannot write into ", folder.path().string()));
  std::vector<std::string> arguments(std::begin(kFlags), std::end(kFlags));
  const std::string library = (folder.path() / "library.so").string();
  for (const std::string& argument :
       {absl::StrCat("-I", folder.path().string()), (folder.path() / "launcher.cc").string(), std::string("-o"),
        library, std::string("-ldl")}) {
    arguments.push_back(argument);
  }
  TW_RETURN_IF_ERROR(RunCxxCompiler(arguments, "a library for a GPU"));
  return ReadFile(library);
}

}  // namespace

absl::StatusOr<std::string> CompileLibrary(const Module& module, const Target& target, const SizedSequence* sequence,
                                           const CompileOptions& options) {
  TW_ASSIGN_OR_RETURN(const std::vector<Part> parts, CompileParts(PartsOf(module, options), target, options));
  std::vector<LauncherImage> images;
  for (const Part& part : parts) images.push_back({&part.program, absl::StrCat("kernels_", images.size(), ".cubin")});
  TW_ASSIGN_OR_RETURN(const std::string text, LauncherText(images, target, sequence));
  return Link(text, parts, images, sequence);
}

}  // namespace tilewright::cuda
