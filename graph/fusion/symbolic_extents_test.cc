// Programs of symbolic extents: what guards say of them, which sizes are likely, and kernels that are joined all the
// same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "autoschedule/program/sizes.h"
#include "graph/executor/onnx_model.h"
#include "graph/executor/optimize.h"
#include "graph/fusion/block_fuser.h"
#include "graph/fusion/known_extents.h"
#include "graph/fusion/likely_sizes.h"
#include "graph/ir/call_types.h"
#include "graph/onnx/testing.h"
#include "ir/ndarray.h"
#include "ir/script/printer.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t kPositions = 32, kWidth = 16;

// x[n, 16] + table[0:n], a table of 32 positions, then its norm's first step.
ModelWriter Positions() {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {"n", static_cast<int>(kWidth)});
  std::vector<float> table(static_cast<size_t>(kPositions * kWidth));
  for (size_t i = 0; i < table.size(); ++i) table[i] = 0.01f * static_cast<float>(i % 97);
  m.Floats("table", {kPositions, kWidth}, table);
  m.Int64s("zero", {0});
  m.Int64s("one", {1});
  m.Node("Shape", {"x"}, {"shape"});
  m.Node("Slice", {"shape", "zero", "one", "zero"}, {"length"});
  m.Node("Slice", {"table", "zero", "length", "zero"}, {"positions"});
  m.Node("Add", {"x", "positions"}, {"sum"});
  m.Node("Relu", {"sum"}, {"y"});
  m.Output("y");
  return m;
}

std::unique_ptr<OnnxModel> Load(const ModelWriter& writer, int opt_level) {
  OnnxModel::LoadOptions options;
  options.executor.interpret = true;
  options.passes.opt_level = opt_level;
  auto model = OnnxModel::Load(*writer.File(), options);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : nullptr;
}

std::string TextOf(const GraphModule& module) {
  std::string text;
  for (const ModuleEntry& entry : module.entries()) {
    if (entry.program) text += Print(entry.program);
  }
  return text;
}

TEST(KnownExtents, GuardsSimplifyPrograms) {
  const auto imported = Load(Positions(), 0);
  ASSERT_TRUE(imported != nullptr);
  EXPECT_THAT(TextOf(imported->module()), HasSubstr("Select"));
  OpTable ops;
  const auto simpler = KnownExtents(imported->module(), ops);
  ASSERT_TRUE(simpler.ok()) << simpler.status();
  for (const TensorTypeNode* type : TensorsOf(simpler->Main()->result_type)) {
    ASSERT_TRUE(type->shape.has_value());
    EXPECT_TRUE(isa<SymbolNode>((*type->shape)[0]));
  }
}

// One kernel that is right at all sizes that the guard admits, and refused at others.
TEST(KnownExtents, WhatIsAddedToPositionsIsJoinedWithThem) {
  const auto imported = Load(Positions(), 0), fused = Load(Positions(), 2);
  ASSERT_TRUE(imported != nullptr && fused != nullptr);
  EXPECT_EQ(CountProgramCalls(fused->module()), 1);
  for (const int64_t n : {int64_t{1}, int64_t{7}, kPositions}) {
    NDArray x(DataType::Float(32), {n, kWidth});
    FillUniform(x, 3, -1, 1);
    const auto wanted = imported->executor().Run({x}), found = fused->executor().Run({x});
    ASSERT_TRUE(wanted.ok() && found.ok()) << wanted.status() << found.status();
    EXPECT_EQ(MaxError((*found)[0], (*wanted)[0]).max_abs, 0) << n;
  }
  for (const OnnxModel* model : {imported.get(), fused.get()}) {
    EXPECT_FALSE(model->executor().Run({NDArray(DataType::Float(32), {kPositions + 1, kWidth})}).ok());
  }
}

// What is joined to a constant says how long the input is, so that its extent is a number. Programs that count with the
// extent, as a mean does, have that number in the place of the symbol too.
TEST(KnownExtents, ExtentsThatAreNumbersAreSoInValuesToo) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {2, "n"});
  m.Floats("c", {1, 5}, {1, 2, 3, 4, 5});
  ModelWriter::SetInt(m.Node("Concat", {"x", "c"}, {"all"}), "axis", 0);
  ModelWriter::SetInt(m.Node("ReduceMean", {"x"}, {"mean"}), "keepdims", 1);
  m.Output("all");
  m.Output("mean");
  const auto imported = Load(m, 0), simpler = Load(m, 1), fused = Load(m, 2);
  ASSERT_TRUE(imported != nullptr && simpler != nullptr && fused != nullptr);
  NDArray x(DataType::Float(32), {2, 5});
  FillUniform(x, 3, -1, 1);
  const auto wanted = imported->executor().Run({x});
  ASSERT_TRUE(wanted.ok()) << wanted.status();
  for (const OnnxModel* model : {simpler.get(), fused.get()}) {
    const auto found = model->executor().Run({x});
    ASSERT_TRUE(found.ok()) << found.status();
    for (size_t i = 0; i < 2; ++i) EXPECT_LT(MaxError((*found)[i], (*wanted)[i]).max_abs, 1e-6);
  }
}

TEST(LikelySizes, ProgramsKnowThoseOfTheirCalls) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {"n", 4, 1 << 20});
  m.Int64s("shape", {-1, 1 << 20});
  m.Node("Reshape", {"x", "shape"}, {"rows"});
  m.Node("Relu", {"rows"}, {"y"});
  m.Output("y");
  const auto model = Load(m, 0);
  ASSERT_TRUE(model != nullptr);
  // 16 MiB for each n: 2 of them are 64 MB at most.
  EXPECT_EQ(TypicalSizes(model->module().Main(), {}), (SizesByName{{"n", {1, 2}}}));
  EXPECT_EQ(TypicalSizes(model->module().Main(), {{"n", {37}}}), (SizesByName{{"n", {37}}}));
  EXPECT_THAT(TextOf(NameLikelySizes(model->module(), {{"n", {37}}})), HasSubstr("[T.int64(148)]"));
  EXPECT_THAT(TextOf(NameLikelySizes(model->module(), {{"n", {1, 37}}})), HasSubstr("[T.int64(4), T.int64(148)]"));
  EXPECT_THAT(TextOf(model->module()), Not(HasSubstr("likely_sizes")));
}

// Two functions of one input are one kernel; where one waits for a product of the other, all runs in its order.
TEST(Siblings, AreOneKernelWhereNoneWaitsForTheOther) {
  for (const bool waits : {false, true}) {
    ModelWriter m(17);
    m.Input("x", TensorProto::FLOAT, {64, 64});
    m.Node("Tanh", {"x"}, {"a"});
    // Each column of this needs all of a.
    if (waits) m.Node("MatMul", {"a", "a"}, {"c"});
    m.Node("Sigmoid", {"x"}, {"s"});
    if (waits) {
      m.Node("Mul", {"s", "c"}, {"b"});
    } else {
      m.Node("Identity", {"s"}, {"b"});
    }
    m.Output("a");
    m.Output("b");
    const auto model = Load(m, 2), imported = Load(m, 0);
    ASSERT_TRUE(model != nullptr && imported != nullptr);
    if (!waits) EXPECT_EQ(CountProgramCalls(model->module()), 1);
    NDArray x(DataType::Float(32), {64, 64});
    FillUniform(x, 3, -1, 1);
    const auto wanted = imported->executor().Run({x}), found = model->executor().Run({x});
    ASSERT_TRUE(wanted.ok() && found.ok()) << wanted.status() << found.status();
    for (size_t i = 0; i < 2; ++i) EXPECT_LT(MaxError((*found)[i], (*wanted)[i]).max_abs, 1e-5);
  }
}

}  // namespace
}  // namespace tilewright::graph
