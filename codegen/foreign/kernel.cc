#include "codegen/foreign/kernel.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "codegen/cuda/emulator/generic.h"
#include "codegen/foreign/front_end.h"
#include "codegen/foreign/prepare.h"
#include "codegen/foreign/runtime.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/TargetSelect.h"

namespace tilewright::foreign {
namespace {

using emulator::Fault;
using emulator::GlobalMemory;
using emulator::LaunchResult;

using Entry = void (*)(const std::byte* arguments);

absl::Status ToStatus(llvm::Error error) { return absl::InternalError(llvm::toString(std::move(error))); }

absl::StatusOr<std::unique_ptr<llvm::orc::LLJIT>> MakeJit() {
  static const bool initialized = !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
  if (!initialized) return absl::InternalError("LLVM has no code for this machine");
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit) return ToStatus(jit.takeError());
  llvm::orc::JITDylib& library = (*jit)->getMainJITDylib();
  auto process =
      llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess((*jit)->getDataLayout().getGlobalPrefix());
  if (!process) return ToStatus(process.takeError());
  library.addGenerator(std::move(*process));
  llvm::orc::SymbolMap symbols;
  for (const RuntimeFunction& function : RuntimeFunctions()) {
    symbols[(*jit)->mangleAndIntern(function.name)] = {llvm::orc::ExecutorAddr::fromPtr(function.address),
                                                       llvm::JITSymbolFlags::Exported};
  }
  if (llvm::Error error = library.define(llvm::orc::absoluteSymbols(std::move(symbols))))
    return ToStatus(std::move(error));
  return std::move(*jit);
}

// A loop that is not unrolled as the text asks is as right as one that is.
struct OnlyErrors : llvm::DiagnosticHandler {
  bool handleDiagnostics(const llvm::DiagnosticInfo& diagnostic) override {
    return diagnostic.getSeverity() != llvm::DS_Error;
  }
};

// What is launched now.
const PreparedKernel* launched = nullptr;

std::string NameOf(const PreparedKernel& prepared, uint32_t place) {
  if (place >= prepared.places.size()) return "";
  std::string name;
  for (const TextPlace::Line& line : prepared.places[place].lines) {
    absl::StrAppend(&name, name.empty() ? "" : ", called from ", line.file, ":", line.line);
  }
  return name;
}

// A kernel of LLVM's code in this process.
class LoadedKernel : public ForeignKernel {
 public:
  LoadedKernel(std::unique_ptr<llvm::orc::LLJIT> jit, PreparedKernel prepared, Entry entry,
               std::vector<void*> variables)
      : jit_(std::move(jit)), prepared_(std::move(prepared)), entry_(entry), variables_(std::move(variables)) {
    for (size_t i = 0; i < variables_.size(); ++i) {
      const auto* first = static_cast<const std::byte*>(variables_[i]);
      initial_.emplace_back(first, first + prepared_.variables[i].bytes);
    }
  }

  const std::string& name() const override { return prepared_.name; }
  const std::vector<ForeignParameter>& parameters() const override { return prepared_.parameters; }
  uint64_t argument_bytes() const override { return prepared_.argument_bytes; }
  const std::vector<int64_t>& cluster() const override { return prepared_.cluster; }
  bool uses_dynamic_shared() const override { return prepared_.uses_dynamic; }
  LaunchResult Launch(const ForeignLaunch& launch, const std::vector<ForeignArray>& arrays,
                      const std::byte* arguments) override;

 private:
  std::string NameOfPlace(uint32_t place) const { return NameOf(prepared_, place); }
  emulator::LaunchOptions OptionsFor(const ForeignLaunch& launch) const;

  const std::unique_ptr<llvm::orc::LLJIT> jit_;
  const PreparedKernel prepared_;
  const Entry entry_;
  const std::vector<void*> variables_;           // of the text
  std::vector<std::vector<std::byte>> initial_;  // what they hold before a launch
};

emulator::LaunchOptions LoadedKernel::OptionsFor(const ForeignLaunch& launch) const {
  emulator::LaunchOptions options;
  options.kernel = prepared_.name;
  options.grid = launch.grid;
  options.block = launch.block;
  options.cluster = launch.cluster;
  options.device = launch.device;
  options.concurrent_clusters = launch.concurrent_clusters;
  options.seed = launch.seed;
  options.stack_bytes = launch.stack_bytes;
  if (launch.budget != 0) options.budget = launch.budget;
  options.variables = prepared_.shared;
  if (prepared_.uses_dynamic || launch.shared_bytes > 0) {
    const std::string name = prepared_.dynamic_name.empty() ? "dynamic shared memory" : prepared_.dynamic_name;
    options.variables.push_back({name, prepared_.dynamic_begin, launch.shared_bytes});
  }
  // Without shared memory at all nothing is within.
  if (options.variables.empty()) options.variables.push_back({"shared memory", 0, 0});
  // The room between variables is ours, and counts towards no limit.
  const uint32_t room = prepared_.dynamic_begin - std::min(prepared_.dynamic_begin, prepared_.static_bytes);
  options.shared_bytes = prepared_.dynamic_begin + launch.shared_bytes;
  options.device.shared_bytes += room;
  options.places = {CurrentPlace(), [this](uint32_t place) { return NameOfPlace(place); }};
  return options;
}

LaunchResult LoadedKernel::Launch(const ForeignLaunch& launch, const std::vector<ForeignArray>& arrays,
                                  const std::byte* arguments) {
  GlobalMemory memory;
  std::vector<std::vector<std::byte>> before;
  for (const ForeignArray& array : arrays) {
    memory.Add(array.name, array.data, array.bytes, array.use);
    const auto* first = static_cast<const std::byte*>(array.data);
    before.emplace_back();
    if (array.use == GlobalMemory::kInOut) before.back().assign(first, first + array.bytes);
  }
  for (size_t i = 0; i < variables_.size(); ++i) {
    const DeviceVariable& variable = prepared_.variables[i];
    memory.Add(variable.name, variables_[i], variable.bytes,
               variable.constant ? GlobalMemory::kInput : GlobalMemory::kInOut);
  }
  emulator::LaunchOptions options = OptionsFor(launch);
  std::vector<emulator::WatchedAccess> watched;
  options.watched = &watched;
  const auto run = [&] {
    for (size_t i = 0; i < variables_.size(); ++i) {
      if (!prepared_.variables[i].constant) std::memcpy(variables_[i], initial_[i].data(), initial_[i].size());
    }
    *CurrentPlace() = 0;
    return emulator::Launch(options, memory, [&] { entry_(arguments); });
  };
  launched = &prepared_;
  LaunchResult result = run();
  if (watched.empty()) {
    launched = nullptr;
    return result;
  }
  // The same launch once more tells where the other side of each race stood.
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (!before[i].empty()) std::memcpy(arrays[i].data, before[i].data(), before[i].size());
  }
  run();
  launched = nullptr;
  for (Fault& fault : result.faults) {
    if (fault.watched >= 0) fault.other.where = NameOfPlace(watched[static_cast<size_t>(fault.watched)].place);
  }
  return result;
}

}  // namespace

std::string ForeignKernel::PlaceNow() { return launched == nullptr ? "" : NameOf(*launched, *CurrentPlace()); }

absl::StatusOr<std::unique_ptr<ForeignKernel>> ForeignKernel::Load(const std::string& path,
                                                                   const ForeignSource& source) {
  TW_ASSIGN_OR_RETURN(auto jit, MakeJit());
  auto context = std::make_unique<llvm::LLVMContext>();
  context->setDiagnosticHandler(std::make_unique<OnlyErrors>());
  TW_ASSIGN_OR_RETURN(std::unique_ptr<llvm::Module> module, ReadCuda(path, source, *context));
  module->setDataLayout(jit->getDataLayout());
  module->setTargetTriple(jit->getTargetTriple().str());
  TW_ASSIGN_OR_RETURN(PreparedKernel prepared, PrepareKernel(*module, source.kernel));
  OptimizeForHost(*module);
  if (llvm::Error error = jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context)))) {
    return ToStatus(std::move(error));
  }
  auto entry = jit->lookup(kEntry);
  if (!entry) return ToStatus(entry.takeError());
  std::vector<void*> variables;
  for (const DeviceVariable& variable : prepared.variables) {
    auto address = jit->lookup(variable.symbol);
    if (!address) return ToStatus(address.takeError());
    variables.push_back(address->toPtr<void*>());
  }
  return std::make_unique<LoadedKernel>(std::move(jit), std::move(prepared), entry->toPtr<Entry>(),
                                        std::move(variables));
}

}  // namespace tilewright::foreign
