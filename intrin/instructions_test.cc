#include "intrin/instructions.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>

#include "intrin/registry.h"

namespace tilewright {
namespace {

constexpr DataType kS8 = DataType::Int(8), kU8 = DataType::UInt(8), kS16 = DataType::Int(16), kS32 = DataType::Int(32);
constexpr DataType kF32 = DataType::Float(32), kBF16 = DataType::BFloat16(), kF16 = DataType::Float(16);

std::string Found(const char* target, const char* family, DataType a, DataType b, DataType c) {
  const MachineInstruction* row = FindInstruction(*NamedTarget(target), family, a, b, c);
  return row == nullptr ? "none" : std::string(row->name) + (row->flips() ? " flipped " : " ") + std::to_string(row->n);
}

TEST(Instructions, RowsAreComplete) {
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> names;
  for (const MachineInstruction& row : Instructions()) {
    EXPECT_TRUE(names.insert({row.family, row.types, row.suffix}).second) << row.name;
    EXPECT_EQ(InstructionNamed(row.family, row.types, row.suffix), &row);
    EXPECT_FALSE(row.FeatureNames().empty()) << row.name;
    EXPECT_EQ(row.k % row.group(), 0) << row.name;
    EXPECT_GT(row.registers, row.OtherRegisters(1)) << row.name;
    // Multiply-adds are plain IR, what flips signs becomes another instruction.
    const bool plain = row.family == "fma" || row.family == "widening";
    EXPECT_EQ(row.llvm.empty() && row.ptx.empty(), plain || row.flips()) << row.name;
    bool executed = false;
    for (const std::string& target : TargetNames()) executed |= Executes(*NamedTarget(target), row);
    EXPECT_TRUE(executed || row.suffix == "avxvnniint8") << row.name << " is executed by no preset";
  }
}

TEST(Instructions, TheBestOfATargetIsFound) {
  EXPECT_EQ(Found("x86-haswell", "fma", kF32, kF32, kF32), "vfmadd231ps 8");
  EXPECT_EQ(Found("x86-znver4", "fma", kF32, kF32, kF32), "vfmadd231ps 16");
  EXPECT_EQ(Found("x86-znver4", "dot", kU8, kS8, kS32), "vpdpbusd 16");
  EXPECT_EQ(Found("x86-znver4", "dot", kS8, kS8, kS32), "vpdpbusd flipped 16");
  EXPECT_EQ(Found("x86-znver4", "dot", kS16, kS16, kS32), "vpdpwssd 16");
  EXPECT_EQ(Found("x86-znver3", "dot", kS16, kS16, kS32), "vpmaddwd 8");
  EXPECT_EQ(Found("x86-skylake-avx512", "dot", kS16, kS16, kS32), "vpmaddwd 16");
  EXPECT_EQ(Found("x86-znver3", "dot", kU8, kS8, kS32), "vpmaddwd 8");
  EXPECT_EQ(Found("x86-znver3", "dot", kS8, kS8, kS32), "vpmaddwd 8");
  EXPECT_EQ(Found("x86-znver3", "dot", kU8, kU8, kS32), "none");
  EXPECT_EQ(Found("x86-znver4", "dot", kS8, kU8, kS32), "vpdpbusd 16");
  EXPECT_EQ(Found("x86-znver3", "dot", kS8, kU8, kS32), "vpmaddwd 8");
  EXPECT_EQ(Found("x86-znver3", "narrow_dot", kS8, kU8, kS32), "vpmaddubsw 8");
  EXPECT_EQ(Found("x86-znver3", "narrow_dot", kS8, kU8, kS16), "vpmaddubsw 16");
  EXPECT_EQ(Found("arm-neoverse-v1", "dot", kS8, kU8, kS32), "usdot 4");
  EXPECT_EQ(Found("x86-znver4", "amx", kS8, kS8, kS32), "none");
  EXPECT_EQ(Found("x86-sapphirerapids", "amx", kS8, kS8, kS32), "tdpbssd 16");
  EXPECT_EQ(Found("arm-neoverse-n1", "fma", kF32, kF32, kF32), "fmla 4");
  EXPECT_EQ(Found("arm-neoverse-n1", "fma", kF16, kF16, kF16), "fmla 8");
  EXPECT_EQ(Found("arm-cortex-a72", "fma", kF16, kF16, kF16), "none");
  EXPECT_EQ(Found("arm-neoverse-n1", "dot", kS8, kS8, kS32), "sdot 4");
  EXPECT_EQ(Found("arm-neoverse-n1", "dot", kU8, kU8, kS32), "udot 4");
  EXPECT_EQ(Found("arm-neoverse-n1", "dot", kU8, kS8, kS32), "sdot flipped 4");
  EXPECT_EQ(Found("arm-neoverse-n1", "dot", kBF16, kBF16, kF32), "none");
  EXPECT_EQ(Found("arm-neoverse-v1", "dot", kU8, kS8, kS32), "usdot 4");
  EXPECT_EQ(Found("arm-neoverse-v1", "dot", kBF16, kBF16, kF32), "bfdot 4");
  EXPECT_EQ(Found("arm-neoverse-v1", "mmla", kU8, kS8, kS32), "usmmla 2");
  EXPECT_EQ(Found("arm-neoverse-v2", "mmla", kBF16, kBF16, kF32), "bfmmla 2");
  EXPECT_EQ(Found("arm-neoverse-n1", "mmla", kS8, kS8, kS32), "none");
  EXPECT_EQ(Found("arm-cortex-a72", "dot", kS8, kS8, kS32), "none");
  EXPECT_EQ(Found("arm-cortex-a72", "widening", kS16, kS16, kS32), "smlal 4");
  EXPECT_EQ(Found("x86-znver4", "widening", kS16, kS16, kS32), "none");
  EXPECT_EQ(Found("x86-znver4", "lookup", kF32, kS32, kF32), "vpermps 16");
  EXPECT_EQ(Found("x86-znver4", "lookup", kU8, kU8, kU8), "vpermi2b 64");
  EXPECT_EQ(Found("x86-skylake-avx512", "lookup", kU8, kU8, kU8), "vpshufb 64");
  EXPECT_EQ(Found("x86-znver3", "lookup", kU8, kU8, kU8), "vpshufb 32");
  EXPECT_EQ(Found("arm-neoverse-v1", "lookup", kU8, kU8, kU8), "none");
  EXPECT_EQ(Found("cuda-sm90", "fma", kF32, kF32, kF32), "none");
  EXPECT_EQ(Found("cuda-sm80", "mma", kF16, kF16, kF32), "mma.sync 8");
  EXPECT_EQ(FindInstruction(*NamedTarget("cuda-sm75"), "mma", kF16, kF16, kF32)->k, 8);
  EXPECT_EQ(Found("cuda-sm75", "mma", kBF16, kBF16, kF32), "none");
  EXPECT_EQ(Found("cuda-sm80", "dp4a", kU8, kS8, kS32), "dp4a 1");
  EXPECT_EQ(Found("x86-znver4", "dp4a", kU8, kS8, kS32), "none");
  EXPECT_EQ(Found("cuda-sm90a", "wgmma", kF16, kF16, kF32), "wgmma.mma_async 256");
  // Rows of tf32 multiply what floats are rounded to.
  EXPECT_EQ(Found("cuda-sm90a", "wgmma", kF32, kF32, kF32), "none");
  EXPECT_EQ(Found("cuda-sm80", "mma", kF32, kF32, kF32), "none");
}

TEST(Instructions, SignedBytesAreMultipliedDirectlyWhereThatIsPossible) {
  Target target = *NamedTarget("x86-haswell");
  target.features = {"avx2", "avxvnni", "avxvnniint8", "fma"};
  EXPECT_EQ(FindInstruction(target, "dot", kS8, kS8, kS32)->name, "vpdpbssd");
  target.features = {"avx2", "avxvnni", "fma"};
  EXPECT_TRUE(FindInstruction(target, "dot", kS8, kS8, kS32)->flips());
}

TEST(Instructions, RatesAreThoseOfTheUnit) {
  const Target zen4 = *NamedTarget("x86-znver4"), amx = *NamedTarget("x86-sapphirerapids");
  EXPECT_EQ(StartsPerCycle(*InstructionNamed("fma", "f32", "avx512"), zen4), 1);
  EXPECT_EQ(StartsPerCycle(*InstructionNamed("dot", "u8s8", "avx512vnni"), zen4), 1);
  EXPECT_EQ(StartsPerCycle(*InstructionNamed("dot", "s16s16", "avx512vnni"), zen4), 1);
  EXPECT_EQ(StartsPerCycle(*InstructionNamed("dot", "s16s16", "avx2"), *NamedTarget("x86-znver3")), 2);
  // The unit of tiles is faster than two vectors per cycle.
  EXPECT_EQ(StartsPerCycle(*InstructionNamed("dot", "u8s8", "avx512vnni"), amx), 2);
  EXPECT_EQ(StartsPerCycle(*InstructionNamed("amx", "u8s8"), amx), 1.0 / 16);
  const Target n1 = *NamedTarget("arm-neoverse-n1"), v1 = *NamedTarget("arm-neoverse-v1");
  EXPECT_EQ(StartsPerCycle(*InstructionNamed("dot", "s8s8", "dotprod"), n1), 2);
  EXPECT_EQ(StartsPerCycle(*InstructionNamed("dot", "s8s8", "dotprod"), v1), 4);
  EXPECT_EQ(StartsPerCycle(*InstructionNamed("mmla", "s8s8", "i8mm"), v1), 4);
  EXPECT_EQ(StartsPerCycle(*InstructionNamed("mmla", "bf16", "bf16"), v1), 4);
}

TEST(Instructions, IntrinsicsKnowWhatTheyAreMadeOf) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  for (const char* name : {"fma_f32_12x32x1_avx512", "dot_s16s16_12x32x2_avx512vnni", "amx_bf16_16x16x32"}) {
    const TensorIntrin* intrin = intrins.Find(name);
    ASSERT_NE(intrin, nullptr) << name;
    ASSERT_NE(intrin->instruction, nullptr) << name;
    EXPECT_EQ(intrin->features, intrin->instruction->FeatureNames());
    EXPECT_EQ(intrin->instruction->scope, ExecScope::kThread);
  }
}

TEST(Instructions, CallsSayWhoExecutesThem) {
  EXPECT_EQ(ScopeOfCall("tvm_mma_sync"), ExecScope::kWarp);
  EXPECT_EQ(ScopeOfCall("dot_add"), ExecScope::kThread);
  EXPECT_EQ(ScopeOfCall("of a user"), ExecScope::kThread);
}

}  // namespace
}  // namespace tilewright
