// Exported models: loaded from their library, they compute what the planned function computes.
#include "graph/executor/export_model.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "codegen/abi/abi_type.h"
#include "codegen/abi/c_symbol.h"
#include "codegen/runtime/loaded_module.h"
#include "graph/executor/executor.h"
#include "graph/executor/onnx_model.h"
#include "graph/executor/sized_plan.h"
#include "graph/ir/basic_ops.h"
#include "graph/onnx/testing.h"
#include "graph/rewrite/basic_lowering.h"
#include "graph/rewrite/legalize.h"
#include "graph/testing/random_graph.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

namespace fs = std::filesystem;
using onnx::TensorProto;

NDArray Random(std::vector<int64_t> shape, uint64_t seed) {
  NDArray array(DataType::Float(32), std::move(shape));
  FillUniform(array, seed);
  return array;
}
std::vector<float> Floats(size_t count, uint64_t seed) {
  const NDArray array = Random({static_cast<int64_t>(count)}, seed);
  const auto* first = static_cast<const float*>(array.data());
  return {first, first + count};
}

// Two products with packed weights. Of the results one is an inner value as well, one an input, one a constant.
ModelWriter Layers(ModelWriter::Dim batch) {
  ModelWriter m(17);
  m.Input("x/in", TensorProto::FLOAT, {batch, 64});
  m.Floats("w", {64, 48}, Floats(64 * 48, 1));
  m.Floats("v", {48, 64}, Floats(48 * 64, 2));
  m.Floats("b", {48}, Floats(48, 3));
  m.Node("MatMul", {"x/in", "w"}, {"h0"});
  m.Node("Add", {"h0", "b"}, {"h1"});
  m.Node("Relu", {"h1"}, {"h2"});
  m.Node("MatMul", {"h2", "v"}, {"h3"});
  m.Node("Softmax", {"h3"}, {"y"});
  for (const char* name : {"h2", "y", "x/in", "b"}) m.Output(name);
  return m;
}

TwTensor View(const NDArray& array) {
  return {.data = array.data(),
          .device = {kTwCpu, 0},
          .ndim = static_cast<int32_t>(array.shape().size()),
          .dtype = {.code = kTwFloat, .bits = 32, .lanes = 1},
          .shape = const_cast<int64_t*>(array.shape().data())};
}

class ExportModel : public testing::Test {
 protected:
  // The folder's name has what strings of assembly treat specially.
  ExportModel() : folder_(fs::path(testing::TempDir()) / "it's \"a\\nfolder\" $0") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~ExportModel() override { fs::remove_all(folder_); }

  static std::unique_ptr<OnnxModel> Load(const ModelWriter& writer, KernelUse use = KernelUse::kHere) {
    auto model = OnnxModel::Load(*writer.File(), {.executor = {.kernels = {.target = HostTarget(), .use = use}}});
    EXPECT_TRUE(model.ok()) << model.status();
    return model.ok() ? *std::move(model) : nullptr;
  }
  absl::Status Export(const OnnxModel& model, const std::string& path) const {
    return ExportFunction(
        *model.executor().planned(),
        {.name = "layers", .path = path, .results = {"h2", "y", "x/in", "b"}, .target = HostTarget()});
  }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  const fs::path folder_;
};

TEST_F(ExportModel, LibraryComputesWhatThePlanComputes) {
  const std::unique_ptr<OnnxModel> model = Load(Layers(5));
  ASSERT_NE(model, nullptr);
  const std::string path = Path("layers.so");
  const absl::Status status = Export(*model, path);
  ASSERT_TRUE(status.ok()) << status;
  std::string error;
  const auto library = runtime::LoadedModule::Open(path, &error);
  ASSERT_TRUE(library.has_value()) << error;
  const TwFunction layers = library->Find("layers");
  ASSERT_NE(layers, nullptr);
  const int64_t bytes = library->WorkspaceBytes("layers");
  ASSERT_GT(bytes, 0);
  const std::unique_ptr<void, void (*)(void*)> workspace(std::aligned_alloc(64, static_cast<size_t>(bytes + 63) & ~63u),
                                                         std::free);
  const NDArray x = Random({5, 64}, 9);
  const NDArray got[] = {Random({5, 48}, 0), Random({5, 64}, 0), Random({5, 64}, 0), Random({48}, 0)};
  std::vector<TwTensor> tensors = {View(x)};
  for (const NDArray& array : got) tensors.push_back(View(array));
  std::vector<TwTensor*> args;
  for (TwTensor& tensor : tensors) args.push_back(&tensor);
  char message[256] = "";
  TwCall call = {
      .workspace = workspace.get(), .workspace_bytes = bytes, .message = message, .message_bytes = sizeof message};
  ASSERT_EQ(layers(&call, args.data(), 5), kTwOk) << message;
  const auto want = model->Run({{"x/in", {Item::Kind::kTensor, {x}}}});
  ASSERT_TRUE(want.ok()) << want.status();
  for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(BitEqual(got[i], (*want)[i].arrays[0])) << "result " << i;

  // It checks its arguments, as functions of programs do.
  EXPECT_EQ(layers(&call, args.data(), 4), kTwErrorArgumentCount);
  EXPECT_EQ(std::string(message), "layers takes 5 arguments, got 4");
  const NDArray narrow = Random({5, 63}, 9);
  tensors[0] = View(narrow);
  EXPECT_NE(layers(&call, args.data(), 5), kTwOk);
  EXPECT_NE(std::string(message).find("argument 0 (x_in)"), std::string::npos) << message;
  // Nothing else is left beside the library and its header.
  std::ostringstream header;
  header << std::ifstream(Path("layers.h")).rdbuf();
  EXPECT_NE(header.str().find("(x_in: float32[5, 64], h2: float32[5, 48], y: float32[5, 64], x_in: float32[5, 64], "
                              "b: float32[48])\nint layers("),
            std::string::npos)
      << header.str();
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
}

// One library for all extents: results that are inner values, inputs and constants too.
TEST_F(ExportModel, SymbolicExtentsAreThoseOfTheCall) {
  const std::unique_ptr<OnnxModel> model = Load(Layers("a batch"));
  ASSERT_NE(model, nullptr);
  const std::string path = Path("layers.so");
  const absl::Status status = Export(*model, path);
  ASSERT_TRUE(status.ok()) << status;
  std::string error;
  const auto library = runtime::LoadedModule::Open(path, &error);
  ASSERT_TRUE(library.has_value()) << error;
  const TwFunction layers = library->Find("layers");
  ASSERT_NE(layers, nullptr);
  char message[256] = "";
  const TwCall call = {.message = message, .message_bytes = sizeof message};
  for (const int64_t batch : {1, 5, 33}) {
    const NDArray x = Random({batch, 64}, 9);
    const NDArray got[] = {Random({batch, 48}, 0), Random({batch, 64}, 0), Random({batch, 64}, 0), Random({48}, 0)};
    std::vector<TwTensor> tensors = {View(x)};
    for (const NDArray& array : got) tensors.push_back(View(array));
    std::vector<TwTensor*> args;
    for (TwTensor& tensor : tensors) args.push_back(&tensor);
    ASSERT_EQ(layers(&call, args.data(), 5), kTwOk) << message;
    const auto want = model->Run({{"x/in", {Item::Kind::kTensor, {x}}}});
    ASSERT_TRUE(want.ok()) << want.status();
    for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(BitEqual(got[i], (*want)[i].arrays[0])) << batch << ", result " << i;
    // Results of another batch than the input's.
    const NDArray other = Random({batch + 1, 64}, 0);
    tensors[2] = View(other);
    EXPECT_EQ(layers(&call, args.data(), 5), kTwErrorShape);
    EXPECT_EQ(std::string(message),
              absl::StrCat("argument 2 (y): dimension 0 has extent ", batch + 1, ", expected ", batch));
  }
  // Softmax of nothing.
  const NDArray none(DataType::Float(32), {0, 64});
  TwTensor empty = View(none);
  TwTensor* args[] = {&empty, &empty, &empty, &empty, &empty};
  const NDArray bias(DataType::Float(32), {48});
  TwTensor row = View(bias);
  args[4] = &row;
  EXPECT_EQ(layers(&call, args, 5), kTwErrorShape);
  EXPECT_EQ(std::string(message), "the model needs a_batch >= 1, but a batch = 0");
  std::ostringstream header;
  header << std::ifstream(Path("layers.h")).rdbuf();
  EXPECT_NE(header.str().find("(x_in: float32[a_batch, 64], h2: float32[a_batch, 48], y: float32[a_batch, 64], "
                              "x_in: float32[a_batch, 64], b: float32[48])\nint layers("),
            std::string::npos)
      << header.str();
  EXPECT_NE(header.str().find("int64_t layers_workspace_bytes(int64_t a_batch);"), std::string::npos) << header.str();
}

// A model that is loaded to be exported: its kernels are compiled once, as parts of the library.
TEST_F(ExportModel, KernelsOfALibraryAreNotCompiledForThisProcess) {
  for (const ModelWriter::Dim batch : {ModelWriter::Dim("n"), ModelWriter::Dim(5)}) {
    const std::unique_ptr<OnnxModel> model = Load(Layers(batch)), exported = Load(Layers(batch), KernelUse::kExport);
    ASSERT_TRUE(model != nullptr && exported != nullptr);
    const std::vector<Kernel>& here = model->executor().planned()->kernels();
    const std::vector<Kernel>& there = exported->executor().planned()->kernels();
    ASSERT_EQ(here.size(), there.size());
    for (size_t i = 0; i < here.size(); ++i) {
      EXPECT_EQ(there[i].main.run, nullptr);
      EXPECT_EQ(there[i].versions.size(), here[i].versions.size());
    }
    const std::string path = Path("layers.so");
    const absl::Status status = Export(*exported, path);
    ASSERT_TRUE(status.ok()) << status;
    std::string error;
    const auto library = runtime::LoadedModule::Open(path, &error);
    ASSERT_TRUE(library.has_value()) << error;
    char message[256] = "";
    const TwCall call = {.message = message, .message_bytes = sizeof message};
    const NDArray x = Random({5, 64}, 9);
    const NDArray got[] = {Random({5, 48}, 0), Random({5, 64}, 0), Random({5, 64}, 0), Random({48}, 0)};
    TwTensor tensors[] = {View(x), View(got[0]), View(got[1]), View(got[2]), View(got[3])};
    TwTensor* args[] = {&tensors[0], &tensors[1], &tensors[2], &tensors[3], &tensors[4]};
    ASSERT_EQ(library->Find("layers")(&call, args, 5), kTwOk) << message;
    const auto want = model->Run({{"x/in", {Item::Kind::kTensor, {x}}}});
    ASSERT_TRUE(want.ok()) << want.status();
    for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(BitEqual(got[i], (*want)[i].arrays[0])) << "result " << i;
  }
}

TEST_F(ExportModel, PlanOfAllSizesHasTheCallsOfThePlan) {
  const std::unique_ptr<OnnxModel> model = Load(Layers("n"));
  ASSERT_NE(model, nullptr);
  const PlannedFunction& planned = *model->executor().planned();
  const auto name = [](size_t program) { return absl::StrCat("kernel", program); };
  const auto plan = PlanForAllSizes(planned, name, {"h2"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const SizedSequence* const sequence = &plan->sequence;
  EXPECT_EQ(sequence->calls.size(), planned.plan().steps.size());
  EXPECT_EQ(sequence->calls[0].function, "kernel0");
  ASSERT_EQ(sequence->extents.size(), 1u);
  EXPECT_EQ(sequence->params[1].buffer->name, "h2");
  EXPECT_EQ(sequence->params[1].buffer->shape[0].get(), sequence->extents[0].get());
}

// Graphs of all kinds with one symbol: the library of all sizes computes what the plan computes, to the bit, and
// refuses what the plan refuses.
TEST_F(ExportModel, RandomGraphsServeEverySize) {
  OpTable ops;
  AddBasicOps(&ops);
  AddHostOps(&ops);
  LoweringTable lowerings;
  AddBasicLowerings(&lowerings);
  int compared = 0;
  for (uint64_t seed = 100; seed < 124; ++seed) {
    SCOPED_TRACE(seed);
    const GraphModule module = RandomGraph(seed, ops, {.bindings = 8, .branches = false, .functions = false});
    const auto legal = LegalizeOps(module, ops, lowerings);
    ASSERT_TRUE(legal.ok()) << legal.status();
    const auto executor = Executor::Compile(*legal, {.kernels = {.schedule = false, .quick = true}, .num_threads = 1});
    ASSERT_TRUE(executor.ok()) << executor.status();
    const PlannedFunction* planned = (*executor)->planned();
    if (planned == nullptr) continue;
    const std::string path = Path(absl::StrCat("random", seed, ".so"));
    const absl::Status status = ExportFunction(*planned, {.name = "random", .path = path, .target = HostTarget()});
    ASSERT_TRUE(status.ok()) << status;
    std::string error;
    const auto library = runtime::LoadedModule::Open(path, &error);
    ASSERT_TRUE(library.has_value()) << error;
    for (const int64_t n : {3, 4, 1, 9}) {
      Arrays arrays;
      for (const std::vector<int64_t>& shape : {std::vector<int64_t>{n, 4}, {n, 4}, {n, 4}, {4, 4}}) {
        arrays.push_back(Random(shape, seed * 10 + arrays.size()));
      }
      arrays.emplace_back(DataType::Bool(), std::vector<int64_t>{});
      const auto want = (*executor)->Run(arrays);
      const size_t inputs = arrays.size();
      for (size_t i = 0; i < planned->plan().results.size(); ++i) {
        const PlanTensor& result = planned->plan().tensors[static_cast<size_t>(planned->plan().results[i])];
        const std::vector<int64_t> ones(result.shape.size(), 1);
        arrays.emplace_back(result.dtype, want.ok() ? (*want)[i].shape() : ones);
      }
      std::vector<TwTensor> tensors;
      for (const NDArray& array : arrays) {
        tensors.push_back(View(array));
        tensors.back().dtype = AbiType(array.dtype());
      }
      std::vector<TwTensor*> args;
      for (TwTensor& tensor : tensors) args.push_back(&tensor);
      char message[256] = "";
      const TwCall call = {.message = message, .message_bytes = sizeof message};
      const int code = library->Find("random")(&call, args.data(), static_cast<int32_t>(args.size()));
      ASSERT_EQ(code == kTwOk, want.ok()) << message << ", " << want.status();
      if (!want.ok()) continue;
      for (size_t i = 0; i < want->size(); ++i) EXPECT_TRUE(BitEqual(arrays[inputs + i], (*want)[i])) << n << ", " << i;
      ++compared;
    }
  }
  EXPECT_GT(compared, 30);
}

TEST_F(ExportModel, RefusesPathsThatCannotBeWritten) {
  for (const ModelWriter::Dim batch : {ModelWriter::Dim("n"), ModelWriter::Dim(2)}) {
    const std::unique_ptr<OnnxModel> model = Load(Layers(batch));
    ASSERT_NE(model, nullptr);
    const std::string path = Path("nowhere/layers.o");
    EXPECT_EQ(Export(*model, path).message(),
              absl::StrCat(path, ".constants cannot be written: No such file or directory"));
  }
}

TEST(CIdentifier, ReplacesWhatCDoesNotHave) {
  EXPECT_EQ(CIdentifier("resnet50"), "resnet50");
  EXPECT_EQ(CIdentifier("a/b:0.é"), "a_b_0___");
  EXPECT_EQ(CIdentifier("7"), "_7");
  EXPECT_EQ(CIdentifier(""), "_");
}

}  // namespace
}  // namespace tilewright::graph
