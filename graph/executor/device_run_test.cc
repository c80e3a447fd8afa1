// Plans on a device: what a run costs, several sizes, results that no kernel writes, and what is refused.
#include "codegen/remote/launcher.h"
#include "graph/device/device.h"
#include "graph/executor/bound_plan.h"
#include "graph/executor/device_kernels.h"
#include "graph/executor/export_model.h"
#include "graph/executor/kernel_cache.h"
#include "graph/executor/onnx_model.h"
#include "graph/executor/placed_array.h"
#include "graph/executor/split_function.h"
#include "graph/onnx/testing.h"
#include "gtest/gtest.h"
#include "ir/script/parse_or_die.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;

NDArray Random(std::vector<int64_t> shape, uint64_t seed) {
  NDArray array(DataType::Float(32), std::move(shape));
  FillUniform(array, seed);
  return array;
}
std::vector<float> Floats(int64_t count, uint64_t seed) {
  const NDArray array = Random({count}, seed);
  const auto* first = static_cast<const float*>(array.data());
  return {first, first + count};
}

// A product, a bias, a Relu and a normalization; a constant and an input are results too.
ModelWriter Layers() {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {"n", 32});
  m.Floats("w", {32, 16}, Floats(32 * 16, 1));
  m.Floats("b", {16}, Floats(16, 2));
  m.Node("MatMul", {"x", "w"}, {"h0"});
  m.Node("Add", {"h0", "b"}, {"h1"});
  m.Node("Relu", {"h1"}, {"h2"});
  m.Node("Softmax", {"h2"}, {"y"});
  m.Node("Identity", {"x"}, {"same"});
  for (const char* output : {"y", "same"}) m.Output(output);
  return m;
}

ExecutorOptions On(const std::shared_ptr<Device>& device) {
  return {.kernels = {.target = *NamedTarget("cuda-sm90a"), .use = KernelUse::kDevice, .emulate = true},
          .device = device};
}

void ExpectSame(const OnnxModel& model, const ModelWriter& writer, const OnnxModel::Inputs& inputs) {
  const auto plain = OnnxModel::Load(*writer.File(), {.executor = {.interpret = true}, .passes = {.opt_level = 0}});
  ASSERT_TRUE(plain.ok()) << plain.status();
  const auto want = (*plain)->Run(inputs), got = model.Run(inputs);
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->size(), want->size());
  for (size_t i = 0; i < got->size(); ++i) {
    ASSERT_EQ((*got)[i].arrays[0].shape(), (*want)[i].arrays[0].shape());
    EXPECT_LT(MaxError((*got)[i].arrays[0], (*want)[i].arrays[0]).max_abs, 1e-5) << "output " << i;
  }
}

OnnxModel::Inputs Inputs(int64_t n) { return {{"x", {Item::Kind::kTensor, {Random({n, 32}, 7)}}}}; }

TEST(DeviceRun, ConstantsAreCopiedOnceAndARunAllocatesNothing) {
  const auto device = EmulatedGpu();
  ASSERT_TRUE(device.ok());
  FusionReport report;
  const ModelWriter writer = Layers();
  const auto model = OnnxModel::Load(*writer.File(), {.executor = On(*device), .report = &report});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*device)->counts().allocations, 1);
  EXPECT_EQ((*device)->counts().copies_in, 1);
  ExpectSame(**model, writer, Inputs(6));
  const DeviceCounts first = (*device)->counts();
  ExpectSame(**model, writer, Inputs(6));
  const DeviceCounts second = (*device)->counts();
  EXPECT_EQ(second.allocations, first.allocations);
  EXPECT_EQ(second.copies_in, first.copies_in + 1);
  EXPECT_EQ(second.copies_out, first.copies_out + 2);
  EXPECT_EQ(second.runs, 2);
  // Launches are the loop nests that the plan counts.
  int nests = 0;
  for (const FusionReport::Kernel& kernel : report.kernels) nests += kernel.nests;
  EXPECT_EQ(second.launches, 2 * nests);
  // Another size has an arena of its own, and the same constants.
  ExpectSame(**model, writer, Inputs(3));
  const DeviceCounts third = (*device)->counts();
  EXPECT_EQ(third.copies_in, second.copies_in + 1);
  EXPECT_GT(third.allocations, second.allocations);
}

TEST(DeviceRun, BoundPlansSayTheirLaunches) {
  const auto device = EmulatedGpu();
  const auto model = OnnxModel::Load(*Layers().File(), {.executor = On(*device)});
  ASSERT_TRUE(model.ok()) << model.status();
  const auto bound = (*model)->executor().planned()->Bind({Random({6, 32}, 1)}, {});
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_TRUE((*model)->Run(Inputs(6)).ok());
  EXPECT_EQ((*device)->counts().launches, (*bound)->launches());
}

// A function that has a plan is one part, with its results.
TEST(DeviceRun, AFunctionOfCallsIsOnePart) {
  const auto model = OnnxModel::Load(*Layers().File(), {});
  ASSERT_TRUE(model.ok()) << model.status();
  const SplitFunction split = SplitAtObstacles((*model)->module().Main());
  ASSERT_EQ(split.parts.size(), 1u);
  EXPECT_EQ(split.parts[0]->name, "main.part0");
  EXPECT_EQ(split.parts[0]->params.size(), 1u);
  const Binding& call = split.function->body->blocks[0].bindings[0];
  EXPECT_EQ(DescribeStep(call), "value main.part0 of function main.part0");
}

std::vector<std::string> HostSteps(const OnnxModel& model) {
  std::vector<std::string> host;
  for (const ExecutorStep& step : model.executor().steps()) {
    host.push_back(step.part != nullptr ? "part" : step.host);
  }
  return host;
}

// A product, which elements of it are not 0, and those gathered: extents of what NonZero gives are
// known when it has run, on the host.
TEST(DeviceRun, OperatorsWithoutAProgramStayOnTheHost) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {"n", 32});
  m.Floats("w", {32, 16}, Floats(32 * 16, 1));
  m.Floats("b", {16}, Floats(16, 2));
  m.Node("MatMul", {"x", "w"}, {"h0"});
  m.Node("Relu", {"h0"}, {"h1"});
  m.Node("NonZero", {"h1"}, {"where"});
  m.Node("Transpose", {"where"}, {"at"});
  m.Node("GatherND", {"h1", "at"}, {"found"});
  m.Node("Tanh", {"found"}, {"y"});
  m.Node("Add", {"h1", "b"}, {"z"});
  for (const char* output : {"y", "where", "z"}) m.Output(output);
  const auto device = EmulatedGpu();
  const auto model = OnnxModel::Load(*m.File(), {.executor = On(*device)});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->executor().planned(), nullptr);
  const std::vector<std::string> host = HostSteps(**model);
  ASSERT_EQ(host.size(), 3u);
  EXPECT_EQ(host[0], "part");
  EXPECT_NE(host[1].find("of operator host.nonzero"), std::string::npos) << host[1];
  EXPECT_EQ(host[2], "part");
  for (const int64_t n : {6, 6, 3}) ExpectSame(**model, m, Inputs(n));
  EXPECT_GT((*device)->counts().launches, 0);
  // Another run at sizes that are known: x and the positions go in; h1, which the host reads, and two results come out;
  // h1 gets from part to part within the device.
  const DeviceCounts before = (*device)->counts();
  ASSERT_TRUE((*model)->Run(Inputs(6)).ok());
  const DeviceCounts run = (*device)->counts() - before;
  EXPECT_EQ(run.runs, 2);
  EXPECT_EQ(run.copies_in, 2);
  EXPECT_EQ(run.copies_out, 3);
  EXPECT_EQ(run.copies_within, 1);
  EXPECT_EQ(run.allocations, 0);
}

// Nobody here reads what the first part computes for the second alone, though a host operator stands between them.
TEST(DeviceRun, ValuesOfDevicePartsStayThere) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {"n", 32});
  m.Input("s", TensorProto::FLOAT, {4});
  m.Floats("w", {32, 16}, Floats(32 * 16, 1));
  m.Node("MatMul", {"x", "w"}, {"h0"});
  m.Node("Abs", {"s"}, {"t"});
  m.Node("NonZero", {"t"}, {"where"});
  m.Node("Cast", {"where"}, {"places"})->add_attribute()->CopyFrom([] {
    onnx::AttributeProto to;
    to.set_name("to");
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(TensorProto::FLOAT);
    return to;
  }());
  m.Node("ReduceSum", {"places"}, {"sum"});
  m.Node("Softmax", {"h0"}, {"h1"});
  m.Node("Add", {"h1", "sum"}, {"y"});
  m.Output("y");
  const auto device = EmulatedGpu();
  const auto model = OnnxModel::Load(*m.File(), {.executor = On(*device)});
  ASSERT_TRUE(model.ok()) << model.status();
  OnnxModel::Inputs inputs = Inputs(6);
  inputs["s"] = {Item::Kind::kTensor, {Random({4}, 9)}};
  for (int i = 0; i < 2; ++i) ExpectSame(**model, m, inputs);
  const DeviceCounts before = (*device)->counts();
  ASSERT_TRUE((*model)->Run(inputs).ok());
  const DeviceCounts run = (*device)->counts() - before;
  EXPECT_EQ(run.runs, 2);
  // x and s, then the places, go in; |s|, which NonZero reads, and y come out.
  EXPECT_EQ(run.copies_in, 3);
  EXPECT_EQ(run.copies_out, 2);
  EXPECT_EQ(run.copies_within, 1);
  EXPECT_EQ(run.allocations, 0);
}

// A result outlives the next run of the part that computed it.
TEST(DeviceRun, ResultsOnTheDeviceDoNotChange) {
  const auto device = EmulatedGpu();
  const auto model = OnnxModel::Load(*Layers().File(), {.executor = On(*device)});
  ASSERT_TRUE(model.ok()) << model.status();
  const PlannedFunction& planned = *(*model)->executor().planned();
  const auto first = PlacedArray::On(*device, Random({6, 32}, 1)),
             second = PlacedArray::On(*device, Random({6, 32}, 2));
  ASSERT_TRUE(first.ok() && second.ok());
  const auto kept = planned.RunThere({*first}, {});
  ASSERT_TRUE(kept.ok()) << kept.status();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(planned.RunThere({*second}, {}).ok());
  const auto here = (*kept)[0].Here();
  const auto again = planned.Run({Random({6, 32}, 1)}, {}, {});
  ASSERT_TRUE(here.ok() && again.ok()) << here.status() << again.status();
  EXPECT_TRUE(BitEqual(*here, (*again)[0]));
  // Arguments that lie there are copied once while they stay the same, and nothing comes out until it is read.
  const DeviceCounts before = (*device)->counts();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(planned.RunThere({*first}, {}).ok());
  const DeviceCounts runs = (*device)->counts() - before;
  EXPECT_EQ(runs.copies_in, 0);
  EXPECT_EQ(runs.copies_out, 0);
  EXPECT_EQ(runs.allocations, 0);
  EXPECT_EQ(runs.runs, 3);
}

TEST(DeviceRun, CodeForElsewhereNeedsATarget) {
  const auto model = OnnxModel::Load(*Layers().File(), {.executor = {.kernels = {.use = KernelUse::kExplain}}});
  EXPECT_TRUE(absl::IsInvalidArgument(model.status())) << model.status();
  const auto here = OnnxModel::Load(*Layers().File(), {});
  ASSERT_TRUE(here.ok()) << here.status();
  const auto exported = ExportFunction(*(*here)->executor().planned(), {.name = "f", .path = "f.so"});
  EXPECT_TRUE(absl::IsInvalidArgument(exported)) << exported;
}

// Bodies of loops and branches have parts too.
TEST(DeviceRun, LoopsAndBranchesStayOnTheHost) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {4, 32});
  m.Input("times", TensorProto::INT64, {});
  m.Input("c", TensorProto::BOOL, {});
  m.Floats("half", {}, {0.5f});
  auto* loop = m.Node("Loop", {"times", "", "x"}, {"h"});
  auto* body = loop->add_attribute();
  body->set_name("body");
  body->set_type(onnx::AttributeProto::GRAPH);
  onnx::GraphProto* inner = body->mutable_g();
  ModelWriter::AddValue(inner->add_input(), "i", TensorProto::INT64, {});
  ModelWriter::AddValue(inner->add_input(), "go", TensorProto::BOOL, {});
  ModelWriter::AddValue(inner->add_input(), "v", TensorProto::FLOAT, {4, 32});
  ModelWriter::AddNode(inner->add_node(), "Identity", {"go"}, {"go_on"});
  ModelWriter::AddNode(inner->add_node(), "Mul", {"v", "half"}, {"v1"});
  ModelWriter::AddNode(inner->add_node(), "Tanh", {"v1"}, {"v2"});
  for (const char* output : {"go_on", "v2"}) inner->add_output()->set_name(output);
  auto* branch = m.Node("If", {"c"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = branch->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    ModelWriter::AddNode(attribute->mutable_g()->add_node(), name[0] == 't' ? "Exp" : "Abs", {"h"}, {"r"});
    attribute->mutable_g()->add_output()->set_name("r");
  }
  m.Output("y");
  const auto device = EmulatedGpu();
  const auto model = OnnxModel::Load(*m.File(), {.executor = On(*device)});
  ASSERT_TRUE(model.ok()) << model.status();
  for (const int64_t times : {3, 0}) {
    NDArray trips(DataType::Int(64), {}), condition(DataType::Bool(), {});
    trips.SetInt(0, times);
    condition.SetInt(0, times > 0);
    const OnnxModel::Inputs inputs = {{"x", {Item::Kind::kTensor, {Random({4, 32}, 7)}}},
                                      {"times", {Item::Kind::kTensor, {trips}}},
                                      {"c", {Item::Kind::kTensor, {condition}}}};
    const DeviceCounts before = (*device)->counts();
    ExpectSame(**model, m, inputs);
    const DeviceCounts run = (*device)->counts() - before;
    EXPECT_EQ(run.launches, times + 1);
    // v goes in before the first iteration, then stays; the body's condition goes in and out each time. The branch
    // reads v where it lies, or x.
    EXPECT_EQ(run.copies_in, times + 1);
    EXPECT_EQ(run.copies_out, times + 1);
  }
}

// With NVRTC alone: no GPU is needed to compile.
TEST(DeviceRun, CubinsAreKept) {
  const Module module = ParseOrDie(R"(
@T.prim_func
def kernel(c: T.Buffer((64,), "float32")):
    for i in T.thread_binding(64, thread="threadIdx.x"):
        c[i] = T.float32(1)
)");
  const KernelCache cache(testing::TempDir() + "/cubins");
  const KernelOptions options{.target = *NamedTarget("cuda-sm90a"), .cache = &cache};
  const auto first = KeptCubin(module, "key", options);
  if (absl::IsFailedPrecondition(first.status())) GTEST_SKIP() << first.status();
  ASSERT_TRUE(first.ok()) << first.status();
  // The second is not compiled: another module under the same key gives the same bytes.
  const auto second = KeptCubin(Module(), "key", options);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(*first, *second);
}

TEST(DeviceRun, CodeForAnotherCpuRunsInAWorker) {
  const Target target = *NamedTarget("arm-neoverse-n1");
  if (const auto command = remote::WorkerCommand(target, ""); !command.ok()) GTEST_SKIP() << command.status();
  const ModelWriter writer = Layers();
  const auto model =
      OnnxModel::Load(*writer.File(), {.executor = {.kernels = {.target = target, .use = KernelUse::kExport},
                                                    .worker = WorkerOptions{.target = target}}});
  ASSERT_TRUE(model.ok()) << model.status();
  for (int64_t n : {6, 6, 3}) ExpectSame(**model, writer, Inputs(n));
}

}  // namespace
}  // namespace tilewright::graph
