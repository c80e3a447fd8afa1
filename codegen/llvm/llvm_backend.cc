#include "codegen/llvm/llvm_backend.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "codegen/llvm/jit.h"
#include "codegen/llvm/object.h"
#include "codegen/llvm/processors.h"
#include "codegen/remote/launcher.h"
#include "codegen/remote/remote_module.h"

namespace tilewright {
namespace {

class LlvmBackend : public Backend {
 public:
  std::string_view name() const override { return "llvm"; }
  bool Supports(const Target& target) const override { return !target.is_gpu(); }
  std::vector<std::string> formats() const override { return {"o", "so", "ll", "s"}; }

  absl::StatusOr<Artifact> Compile(const Module& module, const Target& target,
                                   const CompileOptions& options) const override {
    std::string assembly;
    std::string* const wanted = options.count ? &assembly : nullptr;
    TW_ASSIGN_OR_RETURN(auto bytes, options.format == "o"    ? EmitObject(module, target, options, wanted)
                                    : options.format == "so" ? EmitSharedLibrary(module, target, options, wanted)
                                    : options.format == "ll" ? EmitLlvmIr(module, target, options)
                                                             : EmitAssembly(module, target, options));
    Artifact artifact{.bytes = std::move(bytes)};
    if (options.count && options.format != "ll") {
      const std::string& text = options.format == "s" ? artifact.bytes : assembly;
      artifact.counters[kSpillsCounter] = codegen::ProcessorOf(target).CountInnerLoopVectorSpills(text);
    }
    return artifact;
  }

  absl::StatusOr<std::unique_ptr<CompiledModule>> Load(const Module& module, const Target& target,
                                                       const CompileOptions& options) const override {
    if (!options.launcher.empty() || remote::IsForeign(target)) return LoadInWorker(module, target, options);
    return CompileToJit(module, target, options);
  }

 private:
  static absl::StatusOr<std::unique_ptr<CompiledModule>> LoadInWorker(const Module& module, const Target& target,
                                                                      const CompileOptions& options) {
    TW_ASSIGN_OR_RETURN(auto command, remote::WorkerCommand(target, options.launcher));
    std::vector<std::string> libraries;
    for (const std::string& path : options.libraries) {
      TW_ASSIGN_OR_RETURN(std::string library, ReadFile(path));
      libraries.push_back(std::move(library));
    }
    TW_ASSIGN_OR_RETURN(auto library, EmitSharedLibrary(module, target, options));
    libraries.push_back(std::move(library));
    return remote::RemoteModule::Open(std::move(command), std::move(libraries));
  }
};

}  // namespace

std::unique_ptr<Backend> MakeLlvmBackend() { return std::make_unique<LlvmBackend>(); }

}  // namespace tilewright
