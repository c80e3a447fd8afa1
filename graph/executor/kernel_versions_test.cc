#include "graph/executor/kernel_versions.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/executor/onnx_model.h"
#include "graph/onnx/testing.h"
#include "gtest/gtest.h"
#include "ir/script/parse_or_die.h"
#include "target/target.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;

// Rows times weights of four bits, two in a byte.
PrimFunc Nibbles() {
  return CanonicalProgram(ParseFunctionOrDie(R"(
@T.prim_func
def main(a: T.handle, q: T.Buffer((256, 128), "uint8"), c: T.handle):
    m = T.int32()
    A = T.match_buffer(a, (m, 256))
    C = T.match_buffer(c, (m, 256))
    W = T.alloc_buffer((256, 256))
    for k, j in T.grid(256, 256):
        with T.block("W"):
            vk, vj = T.axis.remap("SS", [k, j])
            W[vk, vj] = T.Cast("float32", T.Cast("int32", q[vj, vk // 2]) >> vk % 2 * 4 & 15)
    for i, j, k in T.grid(m, 256, 256):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]
)"));
}

TEST(KernelVersions, OneRowReadsTheSamePackedConstants) {
  const Target target = *NamedTarget("x86-znver4");
  const std::vector<bool> constant = {false, true, false};
  absl::StatusOr<ScheduledKernel> kernel = ScheduleKernel(Nibbles(), constant, target, "");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  AddVersions(Nibbles(), constant, target, &*kernel);
  ASSERT_EQ(kernel->versions.size(), 1u);
  EXPECT_EQ(kernel->versions[0].when, (std::vector<KernelVersion::Extent>{{0, 0, 1}}));
  EXPECT_TRUE(kernel->module.Find(kKernelAtOne));
  EXPECT_EQ(kernel->versions[0].function.params, kernel->main_params);
  EXPECT_EQ(kernel->packed.size(), 1u);

  const Kernel loaded{.main = {.name = "main"}, .versions = kernel->versions};
  const std::vector<int64_t> one = {1, 256}, two = {2, 256}, weights = {256, 128};
  EXPECT_EQ(loaded.MainFor({&one, &weights, &one}).name, kKernelAtOne);
  EXPECT_EQ(loaded.MainFor({&two, &weights, &two}).name, "main");
}

TEST(KernelVersions, UnpackedConstantsHaveNone) {
  const Target target = *NamedTarget("x86-znver4");
  const std::vector<bool> constant = {false, false, false};
  absl::StatusOr<ScheduledKernel> kernel = ScheduleKernel(Nibbles(), constant, target, "");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  AddVersions(Nibbles(), constant, target, &*kernel);
  EXPECT_TRUE(kernel->versions.empty());
}

// Attention of m queries over n keys: the version is for one query and keys of any number.
TEST(KernelVersions, OneQueryOfKeysOfAnyNumber) {
  const PrimFunc attention = CanonicalProgram(ParseFunctionOrDie(R"(
@T.prim_func
def main(q: T.handle, k: T.handle, c: T.handle):
    m = T.int64()
    n = T.int64()
    Q = T.match_buffer(q, (8, m, 64))
    K = T.match_buffer(k, (8, n, 64))
    C = T.match_buffer(c, (8, m, 64))
    S = T.alloc_buffer((8, m, n))
    for h, i, j, d in T.grid(8, m, n, 64):
        with T.block("S"):
            vh, vi, vj, vd = T.axis.remap("SSSR", [h, i, j, d])
            with T.init():
                S[vh, vi, vj] = T.float32(0)
            S[vh, vi, vj] = S[vh, vi, vj] + Q[vh, vi, vd] * K[vh, vj, vd]
    for h, i, d, j in T.grid(8, m, 64, n):
        with T.block("C"):
            vh, vi, vd, vj = T.axis.remap("SSSR", [h, i, d, j])
            with T.init():
                C[vh, vi, vd] = T.float32(0)
            C[vh, vi, vd] = C[vh, vi, vd] + S[vh, vi, vj] * K[vh, vj, vd]
)"));
  const Target target = *NamedTarget("x86-znver4");
  const std::vector<bool> constant = {false, false, false};
  absl::StatusOr<ScheduledKernel> kernel = ScheduleKernel(attention, constant, target, "");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  AddVersions(attention, constant, target, &*kernel);
  ASSERT_EQ(kernel->versions.size(), 1u);
  EXPECT_EQ(kernel->versions[0].when, (std::vector<KernelVersion::Extent>{{0, 1, 1}}));
}

// Queries and keys of a model, of lengths that are not known when it is compiled.
TEST(KernelVersions, AttentionRunsAtAllSizes) {
  ModelWriter m(17);
  m.Input("q", TensorProto::FLOAT, {2, "rows", 32});
  m.Input("k", TensorProto::FLOAT, {2, 32, "keys"});
  m.Input("v", TensorProto::FLOAT, {2, "keys", 32});
  m.Output("y");
  m.Node("MatMul", {"q", "k"}, {"scores"});
  ModelWriter::SetInt(m.Node("Softmax", {"scores"}, {"weights"}), "axis", -1);
  m.Node("MatMul", {"weights", "v"}, {"y"});
  const auto compiled = OnnxModel::Load(*m.File(), {});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto interpreted = OnnxModel::Load(*m.File(), {.executor = {.interpret = true}});
  ASSERT_TRUE(interpreted.ok()) << interpreted.status();
  for (const auto& [rows, keys] : std::vector<std::pair<int64_t, int64_t>>{{1, 5}, {3, 70}, {1, 70}, {1, 1}, {20, 1}}) {
    OnnxModel::Inputs inputs;
    const std::map<std::string, std::vector<int64_t>> shapes = {
        {"q", {2, rows, 32}}, {"k", {2, 32, keys}}, {"v", {2, keys, 32}}};
    for (const auto& [name, shape] : shapes) {
      NDArray array(DataType::Float(32), shape);
      FillUniform(array, static_cast<uint64_t>(rows + keys) + name.size());
      inputs[name] = {Item::Kind::kTensor, {array}};
    }
    const auto got = (*compiled)->Run(inputs), want = (*interpreted)->Run(inputs);
    ASSERT_TRUE(got.ok() && want.ok()) << got.status() << want.status();
    EXPECT_LT(MaxError((*got)[0].arrays[0], (*want)[0].arrays[0]).max_abs, 1e-5) << rows << ", " << keys;
  }
}

// A prompt and a decode of one load, by exact activations and by such of 8 bits.
class PackedProducts : public ::testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(PackedProducts, RunAtAllSizes) {
  const auto [bits, level] = GetParam();
  ModelWriter m(17);
  auto* import = m.model().add_opset_import();
  import->set_domain("com.microsoft");
  import->set_version(1);
  m.Input("x", TensorProto::FLOAT, {"rows", 64});
  m.Output("y");
  TensorProto* weights = m.graph().add_initializer();
  weights->set_name("w");
  weights->set_data_type(TensorProto::UINT8);
  for (const int dim : {80, 2, 4 * bits}) weights->add_dims(dim);
  std::string bytes;
  for (int i = 0; i < 80 * 8 * bits; ++i) bytes.push_back(static_cast<char>(i * 37));
  weights->set_raw_data(bytes);
  std::vector<float> scales;
  for (int i = 0; i < 80 * 2; ++i) scales.push_back(static_cast<float>(i % 9) * 0.01f);
  m.Floats("s", {160}, scales);
  auto* node = m.Node("MatMulNBits", {"x", "w", "s"}, {"y"});
  node->set_domain("com.microsoft");
  const std::pair<const char*, int64_t> attributes[] = {
      {"K", 64}, {"N", 80}, {"bits", bits}, {"block_size", 32}, {"accuracy_level", level}};
  for (const auto& [name, value] : attributes) ModelWriter::SetInt(node, name, value);

  const auto compiled = OnnxModel::Load(*m.File(), {});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto interpreted = OnnxModel::Load(*m.File(), {.executor = {.interpret = true}});
  ASSERT_TRUE(interpreted.ok()) << interpreted.status();
  for (const int64_t rows : {1, 5, 1, 17}) {
    NDArray x(DataType::Float(32), {rows, 64});
    FillUniform(x, static_cast<uint64_t>(rows));
    const auto got = (*compiled)->Run({{"x", {Item::Kind::kTensor, {x}}}});
    const auto want = (*interpreted)->Run({{"x", {Item::Kind::kTensor, {x}}}});
    ASSERT_TRUE(got.ok() && want.ok()) << got.status() << want.status();
    EXPECT_LT(MaxError((*got)[0].arrays[0], (*want)[0].arrays[0]).max_abs, 4e-6 * (1 << bits)) << rows;
  }
}
INSTANTIATE_TEST_SUITE_P(BitsAndLevels, PackedProducts,
                         ::testing::Combine(::testing::Values(2, 4, 8), ::testing::Values(0, 4)));

}  // namespace
}  // namespace tilewright::graph
