#include "codegen/llvm/machine.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/phases.h"
#include "codegen/llvm/join_choices.h"
#include "codegen/llvm/processors.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/MCAsmBackend.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCObjectWriter.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

namespace tilewright::codegen {
namespace {

void InitializeTargets() {
  static const bool done = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace

absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeMachine(const Target& target, CodeEffort effort) {
  InitializeTargets();
  if (target.is_gpu()) {
    return absl::InvalidArgumentError(absl::StrCat("target ", target.name, " is not a CPU"));
  }
  std::string error;
  const llvm::Target* llvm_target = llvm::TargetRegistry::lookupTarget(target.triple, error);
  if (llvm_target == nullptr) return absl::InvalidArgumentError(error);
  llvm::TargetOptions options;
  // The flags on each operation say what may be fused (emit_stmt.cc).
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  const std::string features = target.FeatureString() + ProcessorOf(target).MoreFeatures(target);
  std::unique_ptr<llvm::TargetMachine> machine(llvm_target->createTargetMachine(
      target.triple, target.cpu, features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      effort == CodeEffort::kFull ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::Less));
  if (machine == nullptr)
    return absl::InvalidArgumentError(absl::StrCat("LLVM has no target machine for ", target.name));
  return machine;
}

// A third of what -O2 runs: there is nothing to inline, to unroll or to deduce between functions. Buffers in registers
// become values (sroa), sums that nothing reads go with the loops around them (adce), addresses become sums with
// constant offsets (early-cse, instcombine), invariants leave their loops. What instcombine has made equal becomes one
// value before that: else licm gives the address of each access of a tile a base of its own, outside of the loop.
// Induction variables are emitted in their simplest form: indvars takes a fifth of the time of all of these, and what
// it does to them makes no code faster.
constexpr char kPasses[] =
    "function<eager-inv>("
    "sroa<modify-cfg>,early-cse<memssa>,simplifycfg,join-choices,instcombine<no-verify-fixpoint>,adce,early-cse,"
    "loop-mssa(loop-instsimplify,loop-simplifycfg,licm<allowspeculation>),"
    "loop(loop-idiom,loop-deletion),"
    "early-cse<memssa>,simplifycfg,"
    "loop-vectorize,join-choices,instcombine<no-verify-fixpoint>,early-cse,"
    "loop-mssa(licm<allowspeculation>),"
    "simplifycfg<hoist-common-insts;sink-common-insts>,dce)";

// Half of these: a quarter less time, and code that is 1% slower.
constexpr char kSmallSharePasses[] =
    "function<eager-inv>("
    "sroa<modify-cfg>,early-cse<memssa>,simplifycfg,join-choices,instcombine<no-verify-fixpoint>,adce,early-cse,"
    "loop-mssa(licm<allowspeculation>),"
    "loop-vectorize,simplifycfg,dce)";

constexpr char kQuickPasses[] = "function(sroa,early-cse)";

const char* PassesOf(CodeEffort effort) {
  if (effort == CodeEffort::kFull) return kPasses;
  return effort == CodeEffort::kQuick ? kQuickPasses : kSmallSharePasses;
}

// Passes of the code generator that take a third of its time and make code 2% faster.
constexpr std::string_view kFullEffortPasses[] = {
    "Loop Strength Reduction",
    "Machine Instruction Scheduler",
    "Post RA top-down list latency scheduler",
    "X86 cmov Conversion",
};

// Leaves them out.
class LessEffort : public llvm::OptPassGate {
 public:
  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) override {
    return std::ranges::find(kFullEffortPasses, std::string_view(pass)) == std::end(kFullEffortPasses);
  }
};

// A phase of LLVM is listed apart for code that gets less effort.
std::string PhaseOf(std::string_view name, const llvm::TargetMachine& machine) {
  const bool full = machine.getOptLevel() == llvm::CodeGenOptLevel::Default;
  return absl::StrCat(std::string(name), full ? "" : ", less effort");
}

// Each pass of LLVM becomes a phase. Managers of passes do not: what they do beside their passes is computing analyses.
class PassPhases {
 public:
  void Register(llvm::PassInstrumentationCallbacks& callbacks) {
    const auto is_manager = [](llvm::StringRef pass) {
      return pass.contains("PassManager") || pass.contains("PassAdaptor");
    };
    const auto end = [this, is_manager](llvm::StringRef pass) {
      if (!is_manager(pass)) running_.pop_back();
    };
    callbacks.registerBeforeNonSkippedPassCallback([this, is_manager](llvm::StringRef pass, const llvm::Any&) {
      if (!is_manager(pass)) running_.push_back(std::make_unique<Phase>(std::string_view(pass)));
    });
    callbacks.registerAfterPassCallback(
        [end](llvm::StringRef pass, const llvm::Any&, const llvm::PreservedAnalyses&) { end(pass); });
    callbacks.registerAfterPassInvalidatedCallback(
        [end](llvm::StringRef pass, const llvm::PreservedAnalyses&) { end(pass); });
  }

 private:
  std::vector<std::unique_ptr<Phase>> running_;
};

void SetEffort(llvm::LLVMContext& context, CodeEffort effort) {
  static LessEffort less;
  if (effort != CodeEffort::kFull) context.setOptPassGate(less);
}

void Optimize(llvm::Module& module, llvm::TargetMachine& machine, CodeEffort effort) {
  Phase phase(PhaseOf("LLVM passes", machine));
  const int64_t before = phase.reported() ? module.getInstructionCount() : 0;
  llvm::PassInstrumentationCallbacks callbacks;
  PassPhases phases;
  if (phase.reported()) phases.Register(callbacks);
  llvm::PassBuilder builder(&machine, llvm::PipelineTuningOptions(), std::nullopt,
                            phase.reported() ? &callbacks : nullptr);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.registerPipelineParsingCallback([](llvm::StringRef name, llvm::FunctionPassManager& manager, auto) {
    if (name == JoinChoices::kName) manager.addPass(JoinChoices());
    return name == JoinChoices::kName;
  });
  llvm::ModulePassManager passes;
  llvm::cantFail(builder.parsePassPipeline(passes, PassesOf(effort)));
  passes.run(module, modules);
  phase.End();
  if (phase.reported()) phase.Nodes(before, module.getInstructionCount());
}

absl::StatusOr<llvm::SmallVector<char, 0>> Generate(llvm::Module& module, llvm::TargetMachine& machine,
                                                    MachineOutput output) {
  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  llvm::legacy::PassManager passes;
  const auto type =
      output == MachineOutput::kObject ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type)) {
    return absl::InternalError("LLVM cannot write this kind of file for the target");
  }
  const Phase phase(PhaseOf("LLVM code", machine));
  passes.run(module);
  return buffer;
}

absl::StatusOr<llvm::SmallVector<char, 0>> Assemble(llvm::StringRef assembly, const llvm::TargetMachine& machine) {
  const llvm::Target& target = machine.getTarget();
  const llvm::MCSubtargetInfo& subtarget = *machine.getMCSubtargetInfo();
  const llvm::MCTargetOptions& options = machine.Options.MCOptions;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(assembly, "assembly"), llvm::SMLoc());
  llvm::MCContext context(machine.getTargetTriple(), machine.getMCAsmInfo(), machine.getMCRegisterInfo(), &subtarget,
                          &sources, &options);
  const std::unique_ptr<llvm::MCObjectFileInfo> sections(target.createMCObjectFileInfo(context, /*PIC=*/true));
  context.setObjectFileInfo(sections.get());
  llvm::SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream stream(buffer);
  std::unique_ptr<llvm::MCAsmBackend> backend(
      target.createMCAsmBackend(subtarget, *machine.getMCRegisterInfo(), options));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(stream);
  const std::unique_ptr<llvm::MCStreamer> streamer(target.createMCObjectStreamer(
      machine.getTargetTriple(), context, std::move(backend), std::move(writer),
      std::unique_ptr<llvm::MCCodeEmitter>(target.createMCCodeEmitter(*machine.getMCInstrInfo(), context)), subtarget));
  const std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(sources, context, *streamer, *machine.getMCAsmInfo()));
  const std::unique_ptr<llvm::MCTargetAsmParser> instructions(
      target.createMCAsmParser(subtarget, *parser, *machine.getMCInstrInfo(), options));
  if (instructions == nullptr) return absl::InternalError("LLVM has no assembler for the target");
  parser->setTargetParser(*instructions);
  if (parser->Run(/*NoInitialTextSection=*/false)) return absl::InternalError("LLVM cannot assemble its own assembly");
  return buffer;
}

}  // namespace tilewright::codegen
