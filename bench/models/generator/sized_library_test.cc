// Models that are compiled once, for every batch and length: their libraries compute what the planned functions do,
// with the workspace that they ask for.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "bench/models/generator/testing.h"
#include "codegen/abi/abi_type.h"
#include "codegen/abi/function_abi.h"
#include "graph/executor/export_model.h"
#include "gtest/gtest.h"

namespace tilewright::bench {
namespace {

using graph::OnnxModel;

class SizedLibrary : public testing::TestWithParam<std::string> {
 protected:
  void TearDown() override {
    if (library_ != nullptr) dlclose(library_);
  }

  void Open(const std::string& name) {
    const auto generated = GenerateModel(name, {.seed = 7, .symbolic = true, .tiny = true});
    ASSERT_TRUE(generated.ok()) << generated.status();
    generated_ = *generated;
    auto model = OnnxModel::Load(FileOf(generated_.proto), {});
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
    ASSERT_NE(model_->executor().planned(), nullptr);
    const std::string path = absl::StrCat(testing::TempDir(), "/sized_", name, ".so");
    const absl::Status status =
        graph::ExportFunction(*model_->executor().planned(), {.name = "model", .path = path, .target = HostTarget()});
    ASSERT_TRUE(status.ok()) << status;
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    run_ = reinterpret_cast<TwFunction>(dlsym(library_, "model"));
    bytes_ = dlsym(library_, "model_workspace_bytes");
    ASSERT_TRUE(run_ != nullptr && bytes_ != nullptr);
  }

  // In the order in which the inputs have the extents; a function of fewer takes the first ones alone.
  int64_t Bytes(int64_t batch, int64_t sequence) const {
    return reinterpret_cast<int64_t (*)(int64_t, int64_t)>(bytes_)(batch, sequence);
  }

  static TwTensor View(const NDArray& array) {
    return {.data = array.data(),
            .device = {kTwCpu, 0},
            .ndim = static_cast<int32_t>(array.shape().size()),
            .dtype = AbiType(array.dtype()),
            .shape = const_cast<int64_t*>(array.shape().data())};
  }

  // The library on the inputs, in arrays of the shapes of `like`; with a workspace behind which nothing is written.
  int Call(const graph::Arrays& inputs, const graph::Arrays& outputs, int64_t bytes, std::string* message) const {
    std::vector<TwTensor> tensors;
    for (const NDArray& array : inputs) tensors.push_back(View(array));
    for (const NDArray& array : outputs) tensors.push_back(View(array));
    std::vector<TwTensor*> args;
    for (TwTensor& tensor : tensors) args.push_back(&tensor);
    constexpr int64_t kGuard = 4096;
    const auto room = static_cast<size_t>((std::max<int64_t>(bytes, 0) + kGuard + 63) / 64 * 64);
    const std::unique_ptr<char, void (*)(void*)> workspace(static_cast<char*>(std::aligned_alloc(64, room)), std::free);
    std::memset(workspace.get(), 0xff, room);
    char text[256] = "";
    const TwCall call = {
        .workspace = workspace.get(), .workspace_bytes = bytes, .message = text, .message_bytes = sizeof text};
    const int code = run_(&call, args.data(), static_cast<int32_t>(args.size()));
    for (size_t i = room - kGuard; i < room; ++i) EXPECT_EQ(workspace.get()[i], '\xff') << "byte " << i;
    *message = text;
    return code;
  }

  void Compare(int64_t batch, int64_t sequence) const {
    SCOPED_TRACE(absl::StrCat(batch, "x", sequence));
    const OnnxModel::Inputs inputs = InputsOf(generated_, batch, sequence);
    const auto want = model_->Run(inputs);
    const auto arguments = model_->ArgumentsOf(inputs);
    ASSERT_TRUE(want.ok()) << want.status();
    ASSERT_TRUE(arguments.ok()) << arguments.status();
    graph::Arrays outputs;
    for (const OnnxModel::Tensors& tensors : *want) {
      outputs.emplace_back(tensors.arrays[0].dtype(), tensors.arrays[0].shape());
    }
    std::string message;
    const int64_t bytes = Bytes(batch, sequence);
    EXPECT_GE(bytes, 0);
    ASSERT_EQ(Call(*arguments, outputs, bytes, &message), kTwOk) << message;
    for (size_t i = 0; i < outputs.size(); ++i) EXPECT_TRUE(BitEqual(outputs[i], (*want)[i].arrays[0])) << i;
  }

  GeneratedModel generated_;
  std::unique_ptr<OnnxModel> model_;
  void* library_ = nullptr;
  TwFunction run_ = nullptr;
  void* bytes_ = nullptr;
};

TEST_P(SizedLibrary, ServesEverySize) {
  Open(GetParam());
  if (HasFatalFailure()) return;
  Compare(1, 16);
  Compare(1, 128);
  Compare(8, 25);
  Compare(3, 1);
}
INSTANTIATE_TEST_SUITE_P(Models, SizedLibrary, testing::ValuesIn(ModelNames()));
INSTANTIATE_TEST_SUITE_P(Parts, SizedLibrary, testing::ValuesIn(PartNames()));

// Extents that the model does not take are refused with a code and a sentence that names them.
TEST_F(SizedLibrary, RefusesExtents) {
  Open("bert_base");
  if (HasFatalFailure()) return;
  EXPECT_GT(Bytes(1, 512), Bytes(1, 16));
  EXPECT_EQ(Bytes(1, -1), -kTwErrorShape);
  EXPECT_EQ(Bytes(1, 513), -kTwErrorShape);
  EXPECT_EQ(Bytes(INT64_MAX / 8, 512), -kTwErrorShape);
  const auto call = [&](int64_t batch, int64_t sequence) {
    const auto arguments = model_->ArgumentsOf(InputsOf(generated_, batch, sequence));
    std::string message;
    graph::Arrays outputs;
    const graph::ExecutablePlan& plan = model_->executor().planned()->plan();
    for (const int result : plan.results) {
      const graph::PlanTensor& tensor = plan.tensors[static_cast<size_t>(result)];
      outputs.emplace_back(tensor.dtype, std::vector<int64_t>(tensor.shape.size(), 1));
    }
    const int code = Call(*arguments, outputs, 0, &message);
    return absl::StrCat(code, ": ", message);
  };
  // The model has 512 positions. The sentence is that of a run.
  const auto refused = model_->Run(InputsOf(generated_, 1, 513));
  EXPECT_EQ(call(1, 513), absl::StrCat("6: ", refused.status().message()));
  EXPECT_NE(call(1, 513).find("but sequence = 513"), std::string::npos) << call(1, 513);
  EXPECT_EQ(call(1, 512), "6: argument 3 (result0): dimension 1 has extent 1, expected 512");
}

}  // namespace
}  // namespace tilewright::bench
