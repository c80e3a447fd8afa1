// Small versions of the generated models as libraries for a GPU, called beside an emulated driver, compute what the
// interpreter does at opt_level 0.
#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "bench/models/generator/testing.h"
#include "codegen/cuda/host/testing/library_call.h"
#include "gmock/gmock.h"
#include "graph/executor/export_model.h"
#include "gtest/gtest.h"

namespace tilewright::bench {
namespace {

using cuda::testing::CallLibrary;
using cuda::testing::LibraryCall;
using graph::OnnxModel;
using ::testing::HasSubstr;

constexpr int64_t kTokens = 5;

// What the model as it was generated gives.
std::vector<OnnxModel::Tensors> Expected(const GeneratedModel& model, const OnnxModel::Inputs& inputs) {
  const auto plain =
      OnnxModel::Load(FileOf(model.proto), {.executor = {.interpret = true}, .passes = {.opt_level = 0}});
  EXPECT_TRUE(plain.ok()) << plain.status();
  auto want = (*plain)->Run(inputs);
  EXPECT_TRUE(want.ok()) << want.status();
  return want.ok() ? *std::move(want) : std::vector<OnnxModel::Tensors>();
}

struct Library {
  std::unique_ptr<OnnxModel> model;
  std::string path, bytes;
};

Library Export(const GeneratedModel& generated, const std::string& name, const graph::PassContext& passes) {
  const Target target = *NamedTarget("cuda-sm90a");
  auto model = OnnxModel::Load(
      FileOf(generated.proto),
      {.executor = {.kernels = {.target = target, .use = graph::KernelUse::kExport}}, .passes = passes});
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return {};
  Library library{.model = *std::move(model), .path = absl::StrCat(testing::TempDir(), "/gpu_", name, ".so")};
  const absl::Status exported = graph::ExportFunction(
      *library.model->executor().planned(), {.name = "model", .path = library.path, .target = target, .emulate = true});
  EXPECT_TRUE(exported.ok()) << exported;
  library.bytes = ReadFile(library.path).value_or("");
  return library;
}

// Three calls, of which the second only starts kernels, as a graph that the third finds: the first has loaded them and
// has uploaded the constants. A library for all sizes is called without a workspace.
void CompareCall(const Library& library, const OnnxModel::Inputs& inputs, const std::vector<OnnxModel::Tensors>& want,
                 bool sized, double tolerance) {
  auto arrays = library.model->ArgumentsOf(inputs);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  const size_t num_inputs = arrays->size();
  for (const OnnxModel::Tensors& tensors : want) {
    arrays->emplace_back(tensors.arrays[0].dtype(), tensors.arrays[0].shape());
  }
  std::vector<NDArray*> pointers;
  for (NDArray& array : *arrays) pointers.push_back(&array);
  const LibraryCall call =
      CallLibrary(library.bytes, "model", pointers, {.place = sized ? "gpu" : "stream", .calls = 3});
  EXPECT_EQ(call.sentence, "code 0: ");
  ASSERT_EQ(call.costs.size(), 3u);
  EXPECT_THAT(call.costs[0], HasSubstr(" copies_in 1 copies_out 0 "));
  EXPECT_THAT(call.costs[1], HasSubstr(" copies_in 0 copies_out 0 "));
  // Temporaries of a kernel whose own size depends on extents are those of each call.
  if (!sized) {
    EXPECT_THAT(call.costs[1], HasSubstr("allocations 0 "));
    EXPECT_THAT(call.costs[1], HasSubstr(" graphs 1 graph_launches 1"));
    EXPECT_THAT(call.costs[2], HasSubstr(" graphs 0 graph_launches 1"));
  }
  for (size_t i = 0; i < want.size(); ++i) {
    const NDArray& expected = want[i].arrays[0];
    const double largest = std::max(1.0, MaxError(expected, NDArray(expected.dtype(), expected.shape())).max_abs);
    EXPECT_LT(MaxError((*arrays)[num_inputs + i], expected).max_abs, tolerance * largest) << "output " << i;
  }
}

void Compare(const std::string& name, const graph::PassContext& passes, double tolerance) {
  const auto generated = GenerateModel(name, {.seed = 7, .sequence = kTokens, .tiny = true});
  ASSERT_TRUE(generated.ok()) << generated.status();
  const OnnxModel::Inputs inputs = InputsOf(*generated, 1, kTokens);
  const Library library = Export(*generated, name, passes);
  if (library.bytes.empty()) return;
  CompareCall(library, inputs, Expected(*generated, inputs), /*sized=*/false, tolerance);
}

class GpuLibrary : public testing::TestWithParam<std::string> {};

TEST_P(GpuLibrary, ComputesTheModel) { Compare(GetParam(), {}, 1e-4); }

INSTANTIATE_TEST_SUITE_P(Models, GpuLibrary, testing::ValuesIn(ModelNames()),
                         [](const auto& info) { return info.param; });

TEST(GpuLibraryHalf, ComputesInHalfPrecision) {
  for (const char* name : {"resnet50", "bert_base"}) {
    SCOPED_TRACE(name);
    Compare(name, {.precision = graph::Precision::kFloat16}, 1e-2);
  }
}

// One library for every batch and length.
TEST(GpuLibrarySized, ServesEverySize) {
  const auto generated = GenerateModel("bert_base", {.seed = 7, .symbolic = true, .tiny = true});
  ASSERT_TRUE(generated.ok()) << generated.status();
  const Library library = Export(*generated, "sized", {});
  ASSERT_FALSE(library.bytes.empty());
  for (const auto& [batch, tokens] : {std::pair(1, 5), std::pair(2, 3)}) {
    SCOPED_TRACE(absl::StrCat(batch, "x", tokens));
    const OnnxModel::Inputs inputs = InputsOf(*generated, batch, tokens);
    CompareCall(library, inputs, Expected(*generated, inputs), /*sized=*/true, 1e-4);
  }
  void* const opened = dlopen(library.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(opened, nullptr) << dlerror();
  const auto bytes = reinterpret_cast<int64_t (*)(int64_t, int64_t)>(dlsym(opened, "model_workspace_bytes"));
  ASSERT_NE(bytes, nullptr);
  EXPECT_GT(bytes(1, 512), bytes(1, 16));
  EXPECT_EQ(bytes(1, -1), -kTwErrorShape);
  EXPECT_EQ(bytes(1, 513), -kTwErrorShape);
  EXPECT_EQ(bytes(INT64_MAX / 8, 512), -kTwErrorShape);
  dlclose(opened);
}

}  // namespace
}  // namespace tilewright::bench
