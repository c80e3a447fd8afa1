#include "codegen/llvm/jit.h"

#include "absl/strings/str_cat.h"
#include "codegen/abi/c_symbol.h"
#include "codegen/llvm/compile.h"
#include "codegen/llvm/machine.h"
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

}  // namespace

struct CompiledModule::Code {
  std::unique_ptr<llvm::orc::LLJIT> jit;

  template <typename T>
  T Address(std::string_view name) const {
    auto symbol = jit->lookup(llvm::StringRef(name.data(), name.size()));
    if (!symbol) {
      llvm::consumeError(symbol.takeError());
      return nullptr;
    }
    return symbol->toPtr<T>();
  }
};

CompiledModule::CompiledModule(std::unique_ptr<Code> code) : code_(std::move(code)) {}
CompiledModule::CompiledModule(CompiledModule&&) noexcept = default;
CompiledModule::~CompiledModule() = default;

TwFunction CompiledModule::Find(std::string_view name) const { return code_->Address<TwFunction>(CSymbol(name)); }

int64_t CompiledModule::WorkspaceBytes(std::string_view name) const {
  auto function = code_->Address<TwWorkspaceBytes>(absl::StrCat(std::string(name), "_workspace_bytes"));
  return function == nullptr ? 0 : function();
}

absl::Status CompiledModule::Run(std::string_view name, std::span<TwTensor* const> args,
                                 const TwParallelHook* parallel) const {
  const TwFunction function = Find(name);
  if (function == nullptr) return absl::NotFoundError(absl::StrCat("no function ", std::string(name)));
  char message[256] = "";
  TwCall call = {.parallel = parallel, .message = message, .message_bytes = sizeof(message)};
  const int code = function(&call, args.data(), static_cast<int32_t>(args.size()));
  if (code == kTwOk) return absl::OkStatus();
  if (code == kTwErrorAssertion) return absl::FailedPreconditionError(message);
  if (code == kTwErrorMemory) return absl::ResourceExhaustedError(message);
  return absl::InvalidArgumentError(message);
}

absl::StatusOr<std::unique_ptr<CompiledModule>> CompileToJit(const Module& module, const Target& target,
                                                             const CompileOptions& options) {
  if (absl::Status status = CheckHostRuns(target); !status.ok()) return status;
  auto program = codegen::CompileToLlvm(module, target, options);
  if (!program.ok()) return program.status();
  auto object = codegen::Generate(*program->module, *program->machine, codegen::MachineOutput::kObject);
  if (!object.ok()) return object.status();

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
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object->data(), object->size()), "kernel");
  if (llvm::Error error = (*jit)->addObjectFile(std::move(buffer))) return ToStatus(std::move(error));
  // Link now: what cannot be resolved is this call's error, not a crash of a later one.
  for (const Function& function : module.functions()) {
    auto symbol = (*jit)->lookup(CSymbol(function->name));
    if (!symbol) {
      const std::string failure = llvm::toString(symbol.takeError());
      return absl::InvalidArgumentError(absl::StrCat(*reports, reports->empty() ? failure : ""));
    }
  }
  auto code = std::make_unique<CompiledModule::Code>();
  code->jit = std::move(*jit);
  return std::unique_ptr<CompiledModule>(new CompiledModule(std::move(code)));
}

}  // namespace tilewright
