#include "codegen/llvm/object.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/run_command.h"
#include "codegen/abi/c_header.h"
#include "codegen/llvm/emit_sizes.h"
#include "codegen/runtime/loaded_module.h"
#include "codegen/runtime/tensor.h"
#include "codegen/testing/programs.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

constexpr char kDouble[] = R"(
@T.prim_func
def twice(A: T.Buffer((20,), "float32"), B: T.Buffer((20,), "float32")):
    for i in T.vectorized(20):
        with T.block("B"):
            vi = T.axis.spatial(20, i)
            B[vi] = A[vi] * T.float32(2)
)";

void WriteLibrary(const Target& target, const std::string& path) {
  const auto library = EmitSharedLibrary(ParseOrDie(kDouble), target);
  ASSERT_TRUE(library.ok()) << library.status().message();
  std::ofstream(path, std::ios::binary) << *library;
}

TEST(Object, SharedLibraryLoadsAndRuns) {
  const std::string path = ::testing::TempDir() + "/twice.so";
  WriteLibrary(HostTarget(), path);
  std::string error;
  auto module = runtime::LoadedModule::Open(path, &error);
  ASSERT_TRUE(module.has_value()) << error;
  const TwFunction twice = module->Find("twice");
  ASSERT_NE(twice, nullptr);
  EXPECT_EQ(module->Find("thrice"), nullptr);
  EXPECT_EQ(module->WorkspaceBytes("twice"), 0);
  auto a = runtime::Tensor::Allocate(runtime::kFloat32, {20}), b = runtime::Tensor::Allocate(runtime::kFloat32, {20});
  for (int i = 0; i < 20; ++i) a->data<float>()[i] = static_cast<float>(i);
  TwTensor* args[] = {a->abi(), b->abi()};
  ASSERT_EQ(twice(nullptr, args, 2), kTwOk);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(b->data<float>()[i], 2 * i);
}

TEST(Object, LibraryForAnotherProcessorIsRefused) {
  Target target = HostTarget();
  target.features.push_back("no-such-feature");
  const std::string path = ::testing::TempDir() + "/other.so";
  WriteLibrary(target, path);
  std::string error;
  EXPECT_FALSE(runtime::LoadedModule::Open(path, &error).has_value());
  EXPECT_EQ(error, path + " was compiled for a processor with no-such-feature, which this machine lacks");
}

// Two objects in one library have each constant of the whole once, and the version says how they are called.
TEST(Object, SeveralObjectsLinkIntoOneLibraryOfTheirVersion) {
  const std::string folder = ::testing::TempDir() + "/", library = folder + "both.so";
  std::string thrice = kDouble;
  thrice.replace(thrice.find("twice"), 5, "thrice");
  std::ofstream(folder + "a.o", std::ios::binary) << *EmitObject(ParseOrDie(kDouble), HostTarget());
  std::ofstream(folder + "b.o", std::ios::binary) << *EmitObject(ParseOrDie(thrice), HostTarget());
  std::string output;
  ASSERT_EQ(RunCommand({"ld.lld-19", "-shared", folder + "a.o", folder + "b.o", "-o", library}, &output), 0) << output;
  std::string error;
  const auto module = runtime::LoadedModule::Open(library, &error);
  ASSERT_TRUE(module.has_value()) << error;
  EXPECT_NE(module->Find("twice"), nullptr);
  EXPECT_NE(module->Find("thrice"), nullptr);

  // The same with another version.
  std::ofstream(folder + "version.c") << "const int tw_abi_version = 7; const char tw_required_features[] = \"\";";
  ASSERT_EQ(RunCommand({"clang-19", "-shared", "-fPIC", folder + "version.c", "-o", folder + "seven.so"}, &output), 0)
      << output;
  EXPECT_FALSE(runtime::LoadedModule::Open(folder + "seven.so", &error).has_value());
  EXPECT_EQ(error, folder + "seven.so has version 7 of the C interface, and this program calls version 1");
}

TEST(Object, WhatIsNoLibraryIsRefused) {
  std::string error;
  EXPECT_FALSE(runtime::LoadedModule::Open("/nonexistent.so", &error).has_value());
  EXPECT_NE(error.find("/nonexistent.so"), error.npos);
}

TEST(Object, CompilesForEveryCpuTarget) {
  const Module module(testing::MakeTiledMatmul({.m = 13, .n = 32, .k = 8, .rows = 4, .columns = 16}));
  for (const std::string& name : TargetNames()) {
    const Target target = NamedTarget(name).value();
    auto assembly = EmitAssembly(module, target);
    if (target.is_gpu()) {
      EXPECT_EQ(assembly.status().message(), "target " + name + " is not a CPU");
      continue;
    }
    ASSERT_TRUE(assembly.ok()) << assembly.status().message();
    if (target.kind == TargetKind::kArm) EXPECT_NE(assembly->find("fmla"), assembly->npos) << name;
    auto object = EmitObject(module, target);
    ASSERT_TRUE(object.ok());
    EXPECT_EQ(object->substr(1, 3), "ELF");
    // The object and its assembly from one run of code generation.
    std::string text;
    auto assembled = EmitObject(module, target, {}, &text);
    ASSERT_TRUE(assembled.ok()) << assembled.status().message();
    EXPECT_EQ(text, *assembly) << name;
    EXPECT_EQ(assembled->size(), object->size()) << name;
  }
}

TEST(Object, HintsAboutCachesBecomeInstructions) {
  const auto assembly =
      [](const std::string& annotations) {
        auto text = EmitAssembly(ParseOrDie(R"(
@T.prim_func
def rows(A: T.Buffer((9, 64), "float32"), O: T.Buffer((9, 64), "float32")):
    for i in T.parallel(9, annotations={)" + annotations +
                                            R"(}):
        S = T.decl_buffer((16,))
        S[0:16] = T.Broadcast(T.float32(0), 16)
        for k in range(4):
            S[0:16] = S[0:16] + A[i, k * 16:k * 16 + 16]
        for k in range(4):
            O[i, k * 16:k * 16 + 16] = A[i, k * 16:k * 16 + 16] * S[0:16]
)"),
                                 NamedTarget("x86-znver4").value());
        EXPECT_TRUE(text.ok()) << text.status();
        return *text;
      };
  const std::string plain = assembly("");
  for (const char* instruction : {"vmovntps", "prefetcht0", "mfence"}) {
    EXPECT_EQ(plain.find(instruction), plain.npos) << instruction;
  }
  const std::string streaming = assembly(R"("tilewright.stream": 1)");
  const size_t store = streaming.find("vmovntps"), fence = streaming.find("mfence");
  ASSERT_NE(store, streaming.npos) << streaming;
  ASSERT_NE(fence, streaming.npos) << streaming;
  EXPECT_LT(store, fence);
  EXPECT_NE(assembly(R"("tilewright.prefetch_next": 1)").find("prefetcht0"), std::string::npos);
}

TEST(Object, IrAndHeader) {
  auto ir = EmitLlvmIr(ParseOrDie(kDouble), HostTarget());
  ASSERT_TRUE(ir.ok());
  EXPECT_NE(ir->find("define i32 @twice("), ir->npos);
}

// An index of 32 bits is computed in 64, as addresses are: what is converted is the loop's variable.
TEST(Object, IndicesAreAsWideAsAddresses) {
  constexpr char kRows[] = R"(
@T.prim_func
def rows(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]
)";
  const auto ir = EmitLlvmIr(ParseOrDie(kRows), HostTarget(), {.effort = CodeEffort::kQuick});
  ASSERT_TRUE(ir.ok());
  EXPECT_NE(ir->find("mul nsw i64"), ir->npos);
  EXPECT_EQ(ir->find("mul nsw i32"), ir->npos) << *ir;
}

// What updates an element wraps; other sums do not.
TEST(Object, UpdatesWrap) {
  const auto ir_of = [](const std::string& value) {
    const auto ir = EmitLlvmIr(ParseOrDie("@T.prim_func\ndef add(A: T.Buffer((64,), \"int64\"), B: T.Buffer((64,), "
                                          "\"int64\")):\n    for i in range(64):\n        B[i] = " +
                                          value + "\n"),
                               HostTarget(), {.effort = CodeEffort::kQuick});
    return ir.ok() ? *ir : ir.status().ToString();
  };
  EXPECT_NE(ir_of("A[i] + A[i]").find("nsw i64"), std::string::npos) << ir_of("A[i] + A[i]");
  EXPECT_EQ(ir_of("B[i] + A[i]").find("nsw i64"), std::string::npos) << ir_of("B[i] + A[i]");
}

TEST(Header, DeclaresTheFunctions) {
  const std::string header = EmitHeader(ParseOrDie(kDouble));
  EXPECT_NE(header.find("// (A: float32[20], B: float32[20])\n"
                        "int twice(const TwCall* call, TwTensor* const* args, int32_t num_args);\n"
                        "int64_t twice_workspace_bytes(void);"),
            header.npos);
}

TEST(SizeTable, NumbersAndArraysHaveOneSlotEach) {
  const Var n("n", DataType::Int(64)), m("m", DataType::Int(64));
  const Expr four = Const(DataType::Int(64), 4);
  codegen::SizeTable table;
  EXPECT_EQ(table.SlotOf(n), 0);
  EXPECT_EQ(table.SlotOf(std::vector<Expr>{n, four, m}), 1);
  EXPECT_EQ(table.SlotOf(std::vector<Expr>{n, Const(DataType::Int(64), 4), m}), 1);
  EXPECT_EQ(table.SlotOf(std::vector<Expr>{n, m}), 4);
  EXPECT_EQ(table.SlotOf(m), 6);
  EXPECT_EQ(table.SlotOf(n), 0);
  EXPECT_EQ(table.slots().size(), 7u);
}

TEST(Object, RefusesWhatACpuHasNot) {
  auto refused = [](const char* text) {
    auto assembly = EmitAssembly(ParseOrDie(text), HostTarget());
    return assembly.ok() ? "compiled" : std::string(assembly.status().message());
  };
  EXPECT_EQ(refused(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32")):
    for i in T.thread_binding(16, thread="threadIdx.x"):
        with T.block("A"):
            vi = T.axis.spatial(16, i)
            A[vi] = T.float32(0)
)"),
            "function main: loop i is bound to threadIdx.x, which this CPU target does not support");
  EXPECT_EQ(refused(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32")):
    with T.block("root"):
        S = T.alloc_buffer((16,), "float32", scope="shared")
        for i in range(16):
            with T.block("S"):
                vi = T.axis.spatial(16, i)
                S[vi] = A[vi]
        for i in range(16):
            with T.block("A"):
                vi = T.axis.spatial(16, i)
                A[vi] = S[15 - vi]
)"),
            "function main: buffer S lies in scope \"shared\", which this CPU target does not support");
}

}  // namespace
}  // namespace tilewright
