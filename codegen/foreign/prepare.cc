#include "codegen/foreign/prepare.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "codegen/cuda/emulator/generic.h"
#include "codegen/foreign/find_kernel.h"
#include "codegen/foreign/rewrite.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Utils/Mem2Reg.h"

namespace tilewright::foreign {
namespace {

// Address spaces of the front end.
constexpr unsigned kSharedSpace = 3, kConstantSpace = 4;
// Bytes that belong to nobody between two shared variables, so that an index that leaves one is seen.
constexpr uint32_t kRoomBetween = 64;

// The managers of analyses that passes need.
class Passes {
 public:
  Passes() {
    builder_.registerModuleAnalyses(modules_);
    builder_.registerCGSCCAnalyses(components_);
    builder_.registerFunctionAnalyses(functions_);
    builder_.registerLoopAnalyses(loops_);
    builder_.crossRegisterProxies(loops_, functions_, components_, modules_);
  }
  llvm::PassBuilder& builder() { return builder_; }
  void Run(llvm::Module& module, llvm::ModulePassManager passes) { passes.run(module, modules_); }
  template <class Pass>
  void OnFunctions(llvm::Module& module, Pass pass) {
    llvm::ModulePassManager passes;
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(pass)));
    Run(module, std::move(passes));
  }

 private:
  llvm::PassBuilder builder_;
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager components_;
  llvm::ModuleAnalysisManager modules_;
};

// Makes functions of a GPU functions of the host, which are inlined wherever that can be.
void MakeHostFunctions(llvm::Module& module) {
  for (const char* name : {"llvm.used", "llvm.compiler.used"}) {
    if (llvm::GlobalVariable* used = module.getGlobalVariable(name)) used->eraseFromParent();
  }
  if (llvm::NamedMDNode* annotations = module.getNamedMetadata("nvvm.annotations")) annotations->eraseFromParent();
  for (llvm::Function& function : module) {
    function.setCallingConv(llvm::CallingConv::C);
    for (const char* name : {"target-cpu", "target-features", "uniform-work-group-size", "frame-pointer"}) {
      function.removeFnAttr(name);
    }
    if (function.isDeclaration()) continue;
    function.setComdat(nullptr);
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    function.removeFnAttr(llvm::Attribute::Convergent);
    if (function.getName() == kEntry) continue;
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
}

uint32_t AlignedUp(uint32_t value, uint64_t alignment) {
  return static_cast<uint32_t>((value + alignment - 1) / alignment * alignment);
}

std::string NameOfVariable(const llvm::GlobalVariable& variable) {
  const std::string name = llvm::demangle(variable.getName().str());
  const size_t scope = name.rfind("::");
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

// Gives each shared variable its constant address.
void PlaceSharedVariables(llvm::Module& module, PreparedKernel& prepared) {
  const llvm::DataLayout& layout = module.getDataLayout();
  std::vector<llvm::GlobalVariable*> fixed, dynamic;
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (variable.getAddressSpace() != kSharedSpace || variable.use_empty()) continue;
    (variable.isDeclaration() ? dynamic : fixed).push_back(&variable);
  }
  const auto put = [&](llvm::GlobalVariable* variable, uint32_t at) {
    auto* address = llvm::ConstantInt::get(llvm::Type::getInt64Ty(module.getContext()), emulator::GenericOfShared(at));
    auto* generic = llvm::ConstantExpr::getIntToPtr(address, llvm::PointerType::get(module.getContext(), 0));
    variable->replaceAllUsesWith(llvm::ConstantExpr::getAddrSpaceCast(generic, variable->getType()));
  };
  uint32_t end = 0, counted = 0;
  for (llvm::GlobalVariable* variable : fixed) {
    const auto bytes = static_cast<uint32_t>(layout.getTypeAllocSize(variable->getValueType()));
    const uint64_t alignment = std::max<uint64_t>(variable->getAlign().valueOrOne().value(), 1);
    end = AlignedUp(end, alignment);
    counted = AlignedUp(counted, alignment) + bytes;
    prepared.shared.push_back({NameOfVariable(*variable), end, bytes});
    put(variable, end);
    end += bytes + kRoomBetween;
  }
  uint64_t alignment = 16;
  for (const llvm::GlobalVariable* variable : dynamic) {
    alignment = std::max(alignment, variable->getAlign().valueOrOne().value());
  }
  prepared.static_bytes = counted;
  prepared.dynamic_begin = AlignedUp(end, alignment);
  prepared.uses_dynamic = !dynamic.empty();
  for (llvm::GlobalVariable* variable : dynamic) {
    prepared.dynamic_name = NameOfVariable(*variable);
    put(variable, prepared.dynamic_begin);
  }
}

// Variables of global and constant memory, which the emulator has to know.
void FindDeviceVariables(llvm::Module& module, PreparedKernel& prepared) {
  const llvm::DataLayout& layout = module.getDataLayout();
  int count = 0;
  for (llvm::GlobalVariable& variable : module.globals()) {
    if (variable.isDeclaration() || variable.getAddressSpace() == kSharedSpace) continue;
    const bool constant = variable.getAddressSpace() == kConstantSpace || variable.isConstant();
    const std::string name = variable.hasPrivateLinkage() ? "a constant" : NameOfVariable(variable);
    variable.setName(absl::StrCat("tw_variable_", count++));
    variable.setLinkage(llvm::GlobalValue::ExternalLinkage);
    variable.setComdat(nullptr);
    prepared.variables.push_back(
        {name, variable.getName().str(), layout.getTypeAllocSize(variable.getValueType()), constant});
  }
}

absl::Status CheckVariables(llvm::Module& module) {
  for (const llvm::GlobalVariable& variable : module.globals()) {
    if (!variable.isDeclaration() || variable.use_empty() || variable.getAddressSpace() == kSharedSpace) continue;
    return absl::UnimplementedError(
        absl::StrCat("the variable ", NameOfVariable(variable), " has no definition in the text"));
  }
  return absl::OkStatus();
}

absl::Status Verified(const llvm::Module& module, const char* when) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (!llvm::verifyModule(module, &stream)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the code ", when, " is not valid: ", stream.str()));
}

template <class Visit>
absl::Status ForEachFunction(llvm::Module& module, const Visit& visit) {
  std::vector<llvm::Function*> functions;
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) functions.push_back(&function);
  }
  for (llvm::Function* function : functions) TW_RETURN_IF_ERROR(visit(*function));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PreparedKernel> PrepareKernel(llvm::Module& module, const std::string& kernel) {
  PreparedKernel prepared;
  TW_ASSIGN_OR_RETURN(llvm::Function* const function, FindKernel(module, kernel));
  prepared.name = NameOfFunction(function->getName().str());
  TW_ASSIGN_OR_RETURN(prepared.parameters, ParametersOf(*function));
  for (const KernelParameter& parameter : prepared.parameters) {
    prepared.argument_bytes = std::max(prepared.argument_bytes, parameter.offset + parameter.bytes);
  }
  prepared.cluster = TakeClusterDims(*function);
  MakeEntry(*function, prepared.parameters);
  MakeHostFunctions(module);
  Passes passes;
  llvm::ModulePassManager inlining;
  inlining.addPass(llvm::GlobalDCEPass());
  inlining.addPass(llvm::AlwaysInlinerPass());
  inlining.addPass(llvm::GlobalDCEPass());
  passes.Run(module, std::move(inlining));
  TW_RETURN_IF_ERROR(CheckVariables(module));
  passes.OnFunctions(module, llvm::PromotePass());
  PlaceSharedVariables(module, prepared);
  Places places;
  Rewriter rewriter(module, places, prepared.programs);
  TW_RETURN_IF_ERROR(ForEachFunction(module, [&](llvm::Function& f) -> absl::Status {
    TW_RETURN_IF_ERROR(rewriter.Calls(f));
    rewriter.Accumulators(f);
    rewriter.Copies(f);
    return absl::OkStatus();
  }));
  Passes later;
  later.OnFunctions(module, llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  FindDeviceVariables(module, prepared);
  TW_RETURN_IF_ERROR(ForEachFunction(module, [&](llvm::Function& f) {
    rewriter.Accesses(f);
    rewriter.Locals(f);
    rewriter.Loops(f);
    rewriter.Divisions(f);
    return absl::OkStatus();
  }));
  prepared.places = places.Take();
  TW_RETURN_IF_ERROR(Verified(module, "of the kernel"));
  return prepared;
}

void OptimizeForHost(llvm::Module& module) {
  Passes passes;
  passes.Run(module, passes.builder().buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O1));
}

}  // namespace tilewright::foreign
