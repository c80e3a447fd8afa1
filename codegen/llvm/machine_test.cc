#include "codegen/llvm/machine.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/phases.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/MCSubtargetInfo.h"

namespace tilewright::codegen {
namespace {

TEST(Machine, HasTheFeaturesOfTheTarget) {
  const auto machine = MakeMachine(*NamedTarget("x86-znver4"));
  ASSERT_TRUE(machine.ok()) << machine.status();
  const llvm::MCSubtargetInfo& features = *(*machine)->getMCSubtargetInfo();
  EXPECT_TRUE(features.checkFeatures("+avx512bf16"));
  // Processors of one maker alone have it: code for this preset runs on others with the same features.
  EXPECT_FALSE(features.checkFeatures("+sse4a"));
}

// A loop of a few statements goes through all passes; with less effort through fewer, and its phases have other names.
TEST(Machine, LessEffortRunsFewerPasses) {
  const auto passes_with = [](CodeEffort effort) {
    PhaseReport report;
    const ReportPhases here({.report = &report});
    llvm::LLVMContext context;
    SetEffort(context, effort);
    const auto machine = MakeMachine(*NamedTarget("x86-znver4"), effort);
    llvm::Module module("module", context);
    module.setDataLayout((*machine)->createDataLayout());
    auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
    auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "f", module);
    llvm::ReturnInst::Create(context, llvm::BasicBlock::Create(context, "entry", function));
    Optimize(module, **machine, effort);
    EXPECT_TRUE(Generate(module, **machine, MachineOutput::kObject).ok());
    return report.Phases();
  };
  const auto full = passes_with(CodeEffort::kFull), less = passes_with(CodeEffort::kSmallShare);
  const auto calls = [](const std::vector<PhaseReport::Entry>& phases) {
    int64_t sum = 0;
    for (const PhaseReport::Entry& phase : phases) sum += phase.calls;
    return sum;
  };
  EXPECT_GT(calls(full), calls(less));
  EXPECT_EQ(full.front().path, "LLVM passes");
  EXPECT_EQ(less.front().path, "LLVM passes, less effort");
  EXPECT_EQ(less.back().path, "LLVM code, less effort");
}

TEST(Machine, LessEffortLeavesPassesOut) {
  for (const CodeEffort effort : {CodeEffort::kFull, CodeEffort::kSmallShare, CodeEffort::kQuick}) {
    llvm::LLVMContext context;
    SetEffort(context, effort);
    llvm::OptPassGate& gate = context.getOptPassGate();
    const auto runs = [&](const char* pass) { return !gate.isEnabled() || gate.shouldRunPass(pass, ""); };
    EXPECT_EQ(runs("Loop Strength Reduction"), effort == CodeEffort::kFull);
    EXPECT_EQ(runs("Machine Instruction Scheduler"), effort == CodeEffort::kFull);
    EXPECT_TRUE(runs("CodeGen Prepare"));
  }
}

TEST(Machine, RefusesGpus) {
  EXPECT_EQ(MakeMachine(*NamedTarget("cuda-sm90")).status().message(), "target cuda-sm90 is not a CPU");
}

}  // namespace
}  // namespace tilewright::codegen
