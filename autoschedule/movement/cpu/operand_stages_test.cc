#include "autoschedule/movement/cpu/operand_stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Target kZen4 = *NamedTarget("x86-znver4");

// `pack` writes P from the constant B; `use` reads P.
std::string Program(const std::string& b, const std::string& p, const std::string& pack, const std::string& use) {
  return R"(
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer()" +
         b + R"(), C: T.Buffer((64,), "float32")):
    T.func_attr({"tilewright.constant_params": [1]})
    P = T.alloc_buffer()" +
         p + ")\n" + pack + R"(
    for j, k in T.grid(64, 8):
        with T.block("C"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                C[vj] = T.float32(0)
            C[vj] = C[vj] + A[vk] * )" +
         use + "\n";
}

NDArray Filled(const Buffer& buffer, uint64_t seed) {
  std::vector<int64_t> shape;
  for (const Expr& extent : buffer->shape) shape.push_back(*AsInt(extent));
  NDArray array(buffer->dtype, std::move(shape));
  FillIntegers(array, seed);
  return array;
}

// Runs a module's functions, the one ahead first, on parameters that go by their names; what becomes of C.
NDArray Result(const Module& module) {
  std::map<std::string, NDArray> by_name;
  for (const char* name : {"main_prepack", "main"}) {
    const Function function = module.Find(name);
    if (!function) continue;
    std::vector<interp::Argument> arguments;
    for (const Param& param : function->params) {
      const std::string& of = param.buffer->name;
      arguments.push_back(by_name.emplace(of, Filled(param.buffer, of[0])).first->second);
    }
    absl::StatusOr<interp::Program> program = interp::Compile(function, interp::CompileOptions::AllChecks());
    EXPECT_TRUE(program.ok()) << program.status();
    if (program.ok()) EXPECT_EQ(program->Run(arguments), absl::OkStatus()) << Print(function);
  }
  return by_name.at("C");
}

// The function ahead, as text, after its result was compared.
std::string PackedAhead(const std::string& text, int64_t many_reads) {
  const Module module(ParseFunctionOrDie(text));
  Schedule sch(module);
  const auto stage = sch.GetBlock("pack");
  EXPECT_TRUE(stage.ok());
  const auto packed = PackAhead(sch, *stage, kZen4, many_reads);
  EXPECT_TRUE(packed.ok()) << packed.refusal().reason;
  EXPECT_TRUE(BitEqual(Result(module), Result(sch.module())));
  return Print(sch.module().Find("main_prepack"));
}

const char* const kPanels = R"(
    for j, k in T.grid(64, 8):
        with T.block("pack"):
            vj, vk = T.axis.remap("SS", [j, k])
            P[vj // 32, vk, vj % 32] = B[vk, vj])";

TEST(PackAhead, PanelsInParallelByVectors) {
  const std::string text = Program(R"((8, 64), "float32")", "(2, 8, 32)", kPanels, "P[vj // 32, vk, vj % 32]");
  const std::string packed = PackedAhead(text, 8 * 64);
  EXPECT_THAT(packed, HasSubstr("T.parallel(2)"));
  EXPECT_THAT(packed, HasSubstr("T.vectorized(32)"));
}

TEST(PackAhead, FewElementsOneByOne) {
  const std::string text = Program(R"((8, 64), "float32")", "(2, 8, 32)", kPanels, "P[vj // 32, vk, vj % 32]");
  EXPECT_THAT(PackedAhead(text, 8 * 64 + 1), Not(HasSubstr("T.parallel")));
}

// What Winograd's algorithm makes of a kernel.
TEST(PackAhead, SumsOfElements) {
  const std::string text = Program(R"((3, 8, 64), "float32")", "(2, 4, 8, 32)", R"(
    for x, j, k in T.grid(4, 64, 8):
        with T.block("pack"):
            vx, vj, vk = T.axis.remap("SSS", [x, j, k])
            P[vj // 32, vx, vk, vj % 32] = B[0, vk, vj] * T.if_then_else(vx < 3, T.float32(1), T.float32(0)) + B[1, vk, vj] * T.if_then_else(vx == 1, T.float32(2), T.float32(-1)) + B[2, vk, vj])",
                                   "P[vj // 32, vk % 4, vk, vj % 32]");
  const std::string packed = PackedAhead(text, 0);
  EXPECT_THAT(packed, HasSubstr("T.parallel(2)"));
  EXPECT_THAT(packed, HasSubstr("T.vectorized(32)"));
}

TEST(PackAhead, GroupsAlongTheDepth) {
  const std::string text = Program(R"((8, 64), "int8")", R"((4, 2, 16, 4), "int8")", R"(
    for j, k in T.grid(64, 8):
        with T.block("pack"):
            vj, vk = T.axis.remap("SS", [j, k])
            P[vj // 16, vk // 4, vj % 16, vk % 4] = B[vk, vj])",
                                   "T.Cast(\"float32\", P[vj // 16, vk // 4, vj % 16, vk % 4])");
  EXPECT_THAT(PackedAhead(text, 0), HasSubstr("T.parallel(4)"));
}

// Panels that are cut off, and blocks that no panel is seen in, are packed as they are.
TEST(PackAhead, WhatHasNoWholePanels) {
  const std::string uneven = Program(R"((8, 64), "float32")", "(2, 8, 48)", R"(
    for j, k in T.grid(64, 8):
        with T.block("pack"):
            vj, vk = T.axis.remap("SS", [j, k])
            P[vj // 48, vk, vj % 48] = B[vk, vj])",
                                     "P[vj // 48, vk, vj % 48]");
  EXPECT_THAT(PackedAhead(uneven, 0), Not(HasSubstr("T.parallel")));
}

// Windows along rows: neighbouring columns are neighbours in the image, as neighbouring taps are. Rows are copied by
// vectors; nothing is transposed.
TEST(PackInLoop, PaddedRowsAreCopiedByVectors) {
  const Module module(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4, 2), "float32"), B: T.Buffer((4, 30), "float32"), C: T.Buffer((4, 32), "float32")):
    P = T.alloc_buffer((4, 2, 32))
    for h, s, j in T.grid(4, 2, 32):
        with T.block("pack"):
            vh, vs, vj = T.axis.remap("SSS", [h, s, j])
            P[vh, vs, vj] = T.if_then_else(1 <= vs + vj and vs + vj < 31, B[vh, vs + vj - 1], T.float32(0))
    for h, j, s in T.grid(4, 32, 2):
        with T.block("C"):
            vh, vj, vs = T.axis.remap("SSR", [h, j, s])
            with T.init():
                C[vh, vj] = T.float32(0)
            C[vh, vj] = C[vh, vj] + A[vh, vs] * P[vh, vs, vj]
)"));
  Schedule sch(module);
  const auto stage = sch.GetBlock("pack"), use = sch.GetBlock("C");
  ASSERT_TRUE(stage.ok() && use.ok());
  const auto loops = sch.GetLoops(*use);
  ASSERT_TRUE(loops.ok());
  const auto packed = PackInLoop(sch, *stage, (*loops)[0], kZen4);
  ASSERT_TRUE(packed.ok()) << packed.refusal().reason;
  const std::string text = Print(sch.module().Find("main"));
  EXPECT_THAT(text, HasSubstr("T.vectorized(32)"));
  EXPECT_THAT(text, Not(HasSubstr("T.Shuffle")));
  EXPECT_TRUE(BitEqual(Result(module), Result(sch.module())));
}

}  // namespace
}  // namespace tilewright
