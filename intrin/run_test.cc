// Every intrinsic's implementation computes what its description says: interpreted, and compiled where the tested
// machine has the features. Derived from the table of the registry.
#include <gtest/gtest.h>

#include <algorithm>

#include "codegen/backend.h"
#include "codegen/testing/equivalence.h"
#include "intrin/registry.h"
#include "ir/builder.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/substitute.h"
#include "schedule/recorder/schedule.h"
#include "target/target.h"

namespace tilewright {
namespace {

std::vector<std::string> AllExamples() {
  std::vector<std::string> names = IntrinRegistry::Builtin().names();
  const IntrinRegistry intrins = IntrinRegistry::Builtin();
  for (const IntrinFamily& family : intrins.families()) {
    names.insert(names.end(), family.examples.begin(), family.examples.end());
  }
  return names;
}

std::vector<Expr> Indices(const std::vector<Var>& vars) { return {vars.begin(), vars.end()}; }

// The description as a program: parameters in memory, from which those that the intrinsic has in other scopes are
// copied and to which they are copied back.
Function ProgramOf(const TensorIntrin& intrin) {
  FunctionBuilder f;
  std::vector<std::pair<Buffer, Buffer>> copies;  // parameter, what the intrinsic works on
  BufferMap dense;
  for (const Param& param : intrin.description->params) {
    BufferNode::Fields fields = param.buffer->fields();
    fields.elem_offset = Expr();
    const Buffer inner = dense.emplace(param.buffer, Buffer(std::move(fields))).first->second;
    if (inner->scope == Scope()) {
      f.Input(inner);
    } else {
      copies.emplace_back(f.Input(inner->name + "_param", inner->shape, inner->dtype), inner);
    }
  }
  auto copy = [&](const std::string& name, const Buffer& from, const Buffer& to) {
    f.Grid(from->shape, [&](const std::vector<Var>& at) {
      f.Block(name, [&](BlockBuilder& block) {
        std::vector<Var> vars;
        for (size_t d = 0; d < at.size(); ++d) vars.push_back(block.Spatial(from->shape[d], at[d]));
        f.Store(to, from.Load(Indices(vars)), Indices(vars));
      });
    });
  };
  for (const auto& [outer, inner] : copies) copy(inner->name + "_in", outer, inner);
  f.Add(Substitute(intrin.description->body, {}, dense));
  for (const auto& [outer, inner] : copies) copy(inner->name + "_out", inner, outer);
  Function function = f.Build();
  const auto* root = cast<BlockRealizeNode>(function->body);
  BlockNode::Fields block = root->block->fields();
  for (const auto& [outer, inner] : copies) block.alloc_buffers.push_back(inner);
  // The description brings ids of its own.
  uint32_t next_id = function->next_id;
  const Stmt body(new BlockRealizeNode(root->bindings, root->predicate, Block(std::move(block))));
  return function.WithBody(CopyWithFreshNames(body, &next_id), next_id);
}

class Intrinsics : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, Intrinsics, ::testing::ValuesIn(AllExamples()),
                         [](const auto& name) { return name.param; });

bool HasAll(const Target& target, const std::vector<std::string>& features) {
  return std::all_of(features.begin(), features.end(), [&](const std::string& f) { return target.has(f); });
}

// The first preset that has the features compiles the program, to the instructions that the features are for where the
// intrinsic computes something.
void ExpectCode(const TensorIntrin& intrin, const Module& module) {
  for (const std::string& name : TargetNames()) {
    const Target target = *NamedTarget(name);
    if (name == "host" || !HasAll(target, intrin.features)) continue;
    // Kernels around them are compiled in codegen/lower/gpu/tensor_cores_test.cc.
    if (target.kind == TargetKind::kCuda) return;
    const auto code = Compile(module, target, {.format = "s"});
    ASSERT_TRUE(code.ok()) << name << ": " << code.status();
    const std::string* const assembly = &code->bytes;
    if (intrin.name.starts_with("transpose_")) {
      // One group of each row needs loads only.
      const bool shuffles = !intrin.name.ends_with("x1");
      const auto has = [&](const char* text) { return assembly->find(text) != assembly->npos; };
      EXPECT_EQ(has("unpck") || has("vperm") || has("vshufps") || has("trn1") || has("zip1"), shuffles) << name;
      EXPECT_EQ(assembly->find("vpinsr"), assembly->npos) << name;
      return;
    }
    if (intrin.name.starts_with("amx_zero_")) {
      EXPECT_NE(assembly->find("tilezero"), assembly->npos) << name;
      return;
    }
    const MachineInstruction* row = intrin.instruction;
    ASSERT_NE(row, nullptr);
    // LLVM chooses among the forms of fused multiply-adds. usdot by an element of its first factor is sudot.
    const std::string_view instruction = row->family == "fma" ? row->name.substr(0, 6) : row->name;
    const bool by_element = instruction == "usdot" && assembly->find("sudot") != assembly->npos;
    EXPECT_TRUE(by_element || assembly->find(instruction) != assembly->npos) << name << ": " << instruction;
    if (row->InTileRegisters()) {
      EXPECT_NE(assembly->find("tileloadd"), assembly->npos) << name;
    }
    return;
  }
}

TEST_P(Intrinsics, ImplementationDoesWhatIsDescribed) {
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const TensorIntrin& intrin = *intrins.Find(GetParam());
  const Function described = ProgramOf(intrin);
  Schedule sch(Module(described), {.intrins = &intrins});
  const auto block = sch.GetBlock("tile");
  ASSERT_TRUE(block.ok());
  const auto loops = sch.GetLoops(*block);
  ASSERT_TRUE(loops.ok());
  const auto tensorized = sch.Tensorize((*loops)[0], intrin.name);
  ASSERT_TRUE(tensorized.ok()) << RenderLine(tensorized.refusal(), described);

  std::vector<interp::Argument> expected, actual;
  for (const Param& param : described->params) {
    std::vector<int64_t> shape;
    for (const Expr& extent : param.buffer->shape) shape.push_back(*AsInt(extent));
    NDArray array(param.buffer->dtype, std::move(shape));
    // Integers over their whole range; floats so small that every sum is exact.
    if (array.dtype().is_float()) {
      FillIntegers(array, expected.size() + 1);
    } else {
      const int64_t values = int64_t{1} << std::min(array.dtype().bits(), 16);
      const int64_t least = array.dtype().is_uint() ? 0 : -values / 2;
      FillUniform(array, expected.size() + 1, least, least + values - 1);
    }
    expected.emplace_back(array);
    actual.emplace_back(array.Clone());
  }
  const Function implemented = sch.module().Find("main");
  for (const auto& [function, arguments] : {std::pair(&described, &expected), std::pair(&implemented, &actual)}) {
    auto program = interp::Compile(*function, interp::CompileOptions::AllChecks());
    ASSERT_TRUE(program.ok()) << program.status();
    const absl::Status status = program->Run(*arguments);
    ASSERT_TRUE(status.ok()) << status;
  }
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(BitEqual(expected[i].array, actual[i].array)) << i;

  ExpectCode(intrin, sch.module());
  const Target target = testing::TestedTarget();
  for (const std::string& feature : intrin.features) {
    if (!target.has(feature)) GTEST_SKIP() << target.name << " has no " << feature << "; interpreted only";
  }
  EXPECT_EQ(testing::CompareWithInterpreter(sch.module()), "");
}

}  // namespace
}  // namespace tilewright
