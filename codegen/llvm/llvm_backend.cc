#include "codegen/llvm/llvm_backend.h"

#include <string>
#include <utility>

#include "codegen/llvm/jit.h"
#include "codegen/llvm/object.h"
#include "codegen/llvm/x86/spills.h"

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
    auto bytes = options.format == "o"    ? EmitObject(module, target, options, wanted)
                 : options.format == "so" ? EmitSharedLibrary(module, target, options, wanted)
                 : options.format == "ll" ? EmitLlvmIr(module, target, options)
                                          : EmitAssembly(module, target, options);
    if (!bytes.ok()) return bytes.status();
    Artifact artifact{.bytes = *std::move(bytes)};
    if (options.count && options.format != "ll" && target.kind == TargetKind::kX86) {
      artifact.counters[kSpillsCounter] = CountInnerLoopVectorSpills(options.format == "s" ? artifact.bytes : assembly);
    }
    return artifact;
  }

  absl::StatusOr<std::unique_ptr<CompiledModule>> Load(const Module& module, const Target& target,
                                                       const CompileOptions& options) const override {
    return CompileToJit(module, target, options);
  }
};

}  // namespace

std::unique_ptr<Backend> MakeLlvmBackend() { return std::make_unique<LlvmBackend>(); }

}  // namespace tilewright
