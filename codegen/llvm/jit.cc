#include "codegen/llvm/jit.h"

#include "absl/strings/str_cat.h"
#include "base/phases.h"
#include "base/status_macros.h"
#include "codegen/abi/c_symbol.h"
#include "codegen/llvm/compile.h"
#include "codegen/llvm/function_symbols.h"
#include "codegen/llvm/machine.h"
#include "codegen/runtime/perf_map.h"
#include "ir/annotations.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/Error.h"

namespace tilewright {
namespace {

absl::Status ToStatus(llvm::Error error) {
  if (!error) return absl::OkStatus();
  return absl::InternalError(llvm::toString(std::move(error)));
}

absl::Status CheckHostRuns(const Target& target) {
  const Target host = HostTarget();
  if (target.kind != host.kind) {
    return absl::FailedPreconditionError(absl::StrCat("code for target ", target.name, " cannot run on this machine"));
  }
  for (const std::string& feature : target.features) {
    if (!host.has(feature)) {
      return absl::FailedPreconditionError(
          absl::StrCat("target ", target.name, " needs the processor feature ", feature, ", which this machine lacks"));
    }
  }
  return absl::OkStatus();
}

// Symbols begin with their function's name, in the place of which the map has the global symbol where there is one.
std::vector<runtime::CodeSymbol> Named(const Module& module, std::vector<runtime::CodeSymbol> symbols) {
  for (runtime::CodeSymbol& symbol : symbols) {
    for (const Function& function : module.functions()) {
      if (!symbol.name.starts_with(function->name)) continue;
      const auto attribute = function->attrs.find(kGlobalSymbol);
      const auto* value = attribute == function->attrs.end() ? nullptr : std::get_if<Expr>(&attribute->second.value);
      const auto* name = value == nullptr ? nullptr : dyn_cast<StringImmNode>(*value);
      if (name != nullptr) symbol.name.replace(0, function->name.size(), name->value);
      break;
    }
  }
  return symbols;
}

class JitModule : public CompiledModule {
 public:
  explicit JitModule(std::unique_ptr<llvm::orc::LLJIT> jit) : jit_(std::move(jit)) {}

  TwFunction Find(std::string_view name) const override { return Address<TwFunction>(CSymbol(name)); }
  TwUncheckedFunction FindUnchecked(std::string_view name) const override {
    return Address<TwUncheckedFunction>(absl::StrCat(std::string(name), "_unchecked"));
  }
  int64_t WorkspaceBytes(std::string_view name) const override {
    auto function = Address<TwWorkspaceBytes>(absl::StrCat(std::string(name), "_workspace_bytes"));
    return function == nullptr ? 0 : function();
  }

 private:
  template <typename T>
  T Address(std::string_view name) const {
    auto symbol = jit_->lookup(llvm::StringRef(name.data(), name.size()));
    if (!symbol) {
      llvm::consumeError(symbol.takeError());
      return nullptr;
    }
    return symbol->toPtr<T>();
  }

  const std::unique_ptr<llvm::orc::LLJIT> jit_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CompiledModule>> CompileToJit(const Module& module, const Target& target,
                                                             const CompileOptions& options) {
  TW_RETURN_IF_ERROR(CheckHostRuns(target));
  TW_ASSIGN_OR_RETURN(auto program, codegen::CompileToLlvm(module, target, options));
  TW_ASSIGN_OR_RETURN(auto object,
                      codegen::Generate(*program.module, *program.machine, codegen::MachineOutput::kObject));

  const Phase phase("link");
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit) return ToStatus(jit.takeError());
  // LLVM reports what went wrong here, and returns only that something did.
  auto reports = std::make_shared<std::string>();
  (*jit)->getExecutionSession().setErrorReporter(
      [reports](llvm::Error error) { absl::StrAppend(reports.get(), llvm::toString(std::move(error))); });
  llvm::orc::JITDylib& library = (*jit)->getMainJITDylib();
  const char prefix = (*jit)->getDataLayout().getGlobalPrefix();
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(prefix);
  if (!process) return ToStatus(process.takeError());
  library.addGenerator(std::move(*process));
  for (const std::string& path : options.libraries) {
    auto loaded = llvm::orc::DynamicLibrarySearchGenerator::Load(path.c_str(), prefix);
    if (!loaded) return ToStatus(loaded.takeError());
    library.addGenerator(std::move(*loaded));
  }
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object.data(), object.size()), "kernel");
  if (llvm::Error error = (*jit)->addObjectFile(std::move(buffer))) return ToStatus(std::move(error));
  // Link now: what cannot be resolved is this call's error, not a crash of a later one.
  for (const Function& function : module.functions()) {
    auto symbol = (*jit)->lookup(function->attrs.contains(kUncheckedOnly) ? absl::StrCat(function->name, "_unchecked")
                                                                          : CSymbol(function->name));
    if (!symbol) {
      const std::string failure = llvm::toString(symbol.takeError());
      return absl::InvalidArgumentError(absl::StrCat(*reports, reports->empty() ? failure : ""));
    }
  }
  if (runtime::WantsPerfMap()) {
    runtime::AddToPerfMap(
        Named(module, codegen::FunctionsOf({object.data(), object.size()}, [&](std::string_view name) -> uint64_t {
                auto symbol = (*jit)->lookup(llvm::StringRef(name.data(), name.size()));
                if (symbol) return symbol->getValue();
                llvm::consumeError(symbol.takeError());
                return 0;
              })));
  }
  return std::make_unique<JitModule>(std::move(*jit));
}

}  // namespace tilewright
