#include "graph/executor/planned_function.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "graph/executor/executor.h"
#include "graph/executor/kernel_cache.h"
#include "graph/executor/onnx_model.h"
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

Arrays ArgumentsOf(int64_t n, uint64_t seed) {
  Arrays arguments;
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{n, 4}, {n, 4}, {n, 4}, {4, 4}}) {
    arguments.push_back(Random(shape, seed * 10 + arguments.size()));
  }
  arguments.emplace_back(DataType::Bool(), std::vector<int64_t>{});
  return arguments;
}

void ExpectClose(const Arrays& got, const Arrays& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].shape(), want[i].shape());
    EXPECT_LT(MaxError(got[i], want[i]).max_rel, 1e-3) << "result " << i;
  }
}

// Plans against the interpreter, with an arena of NaNs: whatever is read before it is written is seen. Each plan runs
// at two sizes, at each twice.
TEST(PlannedFunction, RandomGraphsAreInterpretedAlike) {
  OpTable ops;
  AddBasicOps(&ops);
  AddHostOps(&ops);
  LoweringTable lowerings;
  AddBasicLowerings(&lowerings);
  int planned = 0, compared = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const GraphModule module = RandomGraph(seed, ops, {.bindings = 8, .branches = false, .functions = false});
    const auto legal = LegalizeOps(module, ops, lowerings);
    ASSERT_TRUE(legal.ok()) << legal.status();
    const auto compiled = Executor::Compile(*legal, {.poison = true, .num_threads = 2});
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const auto interpreted = Executor::Compile(*legal, {.interpret = true});
    ASSERT_TRUE(interpreted.ok()) << interpreted.status();
    planned += (*compiled)->planned() != nullptr;
    for (int64_t n : {3, 4, 3}) {
      const Arrays arguments = ArgumentsOf(n, seed);
      const auto want = (*interpreted)->Run(arguments), got = (*compiled)->Run(arguments);
      ASSERT_EQ(want.ok(), got.ok()) << want.status() << " " << got.status();
      if (!want.ok()) continue;  // a guard does not hold
      ExpectClose(*got, *want);
      ++compared;
      const PlannedFunction* const plan = (*compiled)->planned();
      if (plan == nullptr) continue;
      const auto shapes = plan->ResultShapes(arguments, {});
      ASSERT_TRUE(shapes.ok()) << shapes.status();
      for (size_t i = 0; i < want->size(); ++i) EXPECT_EQ((*shapes)[i], (*want)[i].shape());
    }
  }
  EXPECT_GT(planned, 50);
  EXPECT_GT(compared, 100);
}

// Products with constant weights, one of them twice, and a result that is also an inner value.
ModelWriter Layers() {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {"n", 64});
  m.Floats("w", {64, 64}, Floats(64 * 64, 1));
  m.Floats("b", {64}, Floats(64, 2));
  m.Node("MatMul", {"x", "w"}, {"h0"});
  m.Node("Add", {"h0", "b"}, {"h1"});
  m.Node("Relu", {"h1"}, {"h2"});
  m.Node("MatMul", {"h2", "w"}, {"h3"});
  m.Node("Sigmoid", {"h3"}, {"y"});
  m.Output("h2");
  m.Output("y");
  m.Output("x");
  return m;
}

TEST(PlannedFunction, ThreadsRunAtTheSameTime) {
  const ModelWriter m = Layers();
  const auto model = OnnxModel::Load(*m.File(), {.executor = {.poison = true, .num_threads = 2}});
  ASSERT_TRUE(model.ok()) << model.status();
  const auto reference = OnnxModel::Load(*m.File(), {.executor = {.interpret = true}});
  ASSERT_TRUE(reference.ok()) << reference.status();
  std::vector<OnnxModel::Inputs> inputs;
  std::vector<std::vector<OnnxModel::Tensors>> want;
  for (int64_t i = 0; i < 4; ++i) {
    inputs.push_back({{"x", {Item::Kind::kTensor, {Random({1 + i % 3, 64}, static_cast<uint64_t>(i))}}}});
    want.push_back(*(*reference)->Run(inputs.back()));
  }
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 50; ++round) {
        const auto got = (*model)->Run(inputs[t]);
        for (size_t i = 0; got.ok() && i < got->size(); ++i) {
          wrong += MaxError((*got)[i].arrays[0], want[t][i].arrays[0]).max_abs > 1e-4;
        }
        wrong += !got.ok();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(PlannedFunction, SharedWeightsArePackedOnce) {
  // Without fusion, so that both layers are the same kernel.
  const auto model = OnnxModel::Load(*Layers().File(), {.passes = {.opt_level = 1}});
  ASSERT_TRUE(model.ok()) << model.status();
  const PlannedFunction* planned = (*model)->executor().planned();
  ASSERT_NE(planned, nullptr);
  // The weight once, in whatever form its readers take, and the bias.
  EXPECT_LT(planned->constants().bytes(), 2 * 64 * 64 * 4);
  EXPECT_GE(planned->constants().bytes(), 64 * 64 * 4);
}

TEST(PlannedFunction, ErrorsNameWhatDoesNotFit) {
  const auto model = OnnxModel::Load(*Layers().File(), {});
  ASSERT_TRUE(model.ok()) << model.status();
  const auto message = [&](const NDArray& x) {
    return std::string((*model)->Run({{"x", {Item::Kind::kTensor, {x}}}}).status().message());
  };
  EXPECT_EQ(message(Random({2, 63}, 1)), "an extent of x is 63, expected 64");
  EXPECT_EQ(message(Random({64}, 1)), "x has 1 dimensions, expected 2");
  EXPECT_EQ(message(NDArray(DataType::Int(32), {2, 64})), "x is int32, expected float32");
  const PlannedFunction* planned = (*model)->executor().planned();
  ASSERT_NE(planned, nullptr);
  EXPECT_EQ(planned->Run({}, {}, {}).status().message(), "main takes 1 arguments, not 0");
  const Arrays arguments = {Random({2, 64}, 1)};
  EXPECT_EQ(planned->RunInto(arguments, {}, {}, {}).message(), "main has 3 results, not 0");
  const NDArray good = Random({2, 64}, 1), bad = Random({64, 2}, 1);
  EXPECT_EQ(planned->RunInto(arguments, {good, bad, good}, {}, {}).message(),
            "result 1 has another shape or type than its array");
}

// Three products, a slice of one and concatenations, all along the axis: consecutive along the first that is not 1.
ModelWriter Parts(int axis) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {1, 32, 32});
  m.Input("y", TensorProto::FLOAT, {1, 32, 32});
  m.Int64s("starts", {16});
  m.Int64s("ends", {32});
  m.Int64s("axis", {axis});
  m.Node("MatMul", {"x", "y"}, {"a"});
  m.Node("MatMul", {"y", "x"}, {"b"});
  m.Node("MatMul", {"a", "b"}, {"c"});
  m.Node("Slice", {"a", "starts", "ends", "axis"}, {"part"});
  ModelWriter::SetInt(m.Node("Softmax", {"part"}, {"p"}), "axis", 3 - axis);
  ModelWriter::SetInt(m.Node("Concat", {"b", "c"}, {"both"}), "axis", axis);
  ModelWriter::SetInt(m.Node("Concat", {"both", "p"}, {"all"}), "axis", axis);
  ModelWriter::SetInt(m.Node("Softmax", {"all"}, {"q"}), "axis", axis);
  m.Output("q");
  m.Output("c");
  return m;
}

size_t StepsOf(const ModelWriter& m, const OnnxModel::Inputs& inputs) {
  const auto model = OnnxModel::Load(*m.File(), {.executor = {.poison = true}, .passes = {.opt_level = 1}});
  const auto reference = OnnxModel::Load(*m.File(), {.executor = {.interpret = true}, .passes = {.opt_level = 0}});
  EXPECT_TRUE(model.ok() && reference.ok()) << model.status() << reference.status();
  const auto want = (*reference)->Run(inputs), got = (*model)->Run(inputs);
  EXPECT_TRUE(want.ok() && got.ok()) << want.status() << got.status();
  for (size_t i = 0; i < want->size(); ++i) ExpectClose((*got)[i].arrays, (*want)[i].arrays);
  return (*model)->executor().planned()->plan().steps.size();
}

TEST(PlannedFunction, ConsecutivePartsAreNotCopied) {
  const OnnxModel::Inputs inputs = {{"x", {Item::Kind::kTensor, {Random({1, 32, 32}, 1)}}},
                                    {"y", {Item::Kind::kTensor, {Random({1, 32, 32}, 2)}}}};
  EXPECT_EQ(StepsOf(Parts(1), inputs), 5u);
  EXPECT_EQ(StepsOf(Parts(2), inputs), 8u);
}

class KernelCacheTest : public testing::Test {
 protected:
  KernelCacheTest() : folder_(fs::path(testing::TempDir()) / "kernels") { fs::remove_all(folder_); }
  ~KernelCacheTest() override { fs::remove_all(folder_); }

  // How many kernels of the model came from the cache, and how many there are.
  std::pair<int, int> Load(const KernelCache& cache) {
    const auto model = OnnxModel::Load(*Layers().File(), {.executor = {.kernels = {.cache = &cache}}});
    EXPECT_TRUE(model.ok()) << model.status();
    const auto got = (*model)->Run({{"x", {Item::Kind::kTensor, {Random({5, 64}, 3)}}}});
    EXPECT_TRUE(got.ok()) << got.status();
    if (!first_) first_ = (*got)[1].arrays[0];
    EXPECT_TRUE(BitEqual(*first_, (*got)[1].arrays[0]));
    int cached = 0;
    const std::vector<Kernel>& kernels = (*model)->executor().planned()->kernels();
    for (const Kernel& kernel : kernels) cached += kernel.from_cache;
    return {cached, static_cast<int>(kernels.size())};
  }
  std::vector<fs::path> Files(const char* extension) const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().extension() == extension) files.push_back(entry.path());
    }
    return files;
  }

  const fs::path folder_;
  std::optional<NDArray> first_;
};

TEST_F(KernelCacheTest, SecondLoadCompilesNothing) {
  const KernelCache cache(folder_);
  const auto [cached, all] = Load(cache);
  EXPECT_EQ(cached, 0);
  EXPECT_EQ(Load(cache), std::make_pair(all, all));
}

TEST_F(KernelCacheTest, DamagedFilesAreCompiledAgain) {
  const KernelCache cache(folder_);
  const int all = Load(cache).second;
  const std::vector<fs::path> libraries = Files(".so");
  ASSERT_GE(libraries.size(), 2u);
  const fs::path facts = fs::path(libraries[0]).replace_extension(".json");
  fs::resize_file(libraries[0], fs::file_size(libraries[0]) / 2);
  EXPECT_LT(Load(cache).first, all);
  EXPECT_EQ(Load(cache).first, all);
  std::ofstream(facts) << "{\"key\": 3";
  EXPECT_LT(Load(cache).first, all);
  EXPECT_EQ(Load(cache).first, all);
  std::ofstream(facts) << "{}";
  EXPECT_LT(Load(cache).first, all);
}

TEST_F(KernelCacheTest, FolderThatCannotBeWrittenIsNoError) {
  const KernelCache cache("/proc/nothing");
  EXPECT_EQ(Load(cache).first, 0);
  EXPECT_EQ(Load(cache).first, 0);
}

// Files may not grow beyond half a kernel: what cannot be written whole is not there, and nothing fails.
TEST_F(KernelCacheTest, AFullFolderIsNoError) {
  const KernelCache cache(folder_);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  cache.StoreText("key", "a text\n");
  rlimit full = before;
  full.rlim_cur = 1000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &full), 0);
  cache.StoreText("key", std::string(5000, 'x'));
  cache.Store("kernel", {}, /*scheduled=*/false, std::string(5000, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(cache.LoadText("key"), "a text\n") << "what was there before stays";
  EXPECT_FALSE(cache.Load("kernel"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1) << "nothing is left behind";
}

TEST_F(KernelCacheTest, TwoProcessesShareIt) {
  const pid_t other = fork();
  ASSERT_GE(other, 0);
  const KernelCache cache(folder_);
  for (int i = 0; i < 200; ++i) {
    const std::string key = "key " + std::to_string(i % 5), text(static_cast<size_t>(1000 + i % 5), 'x');
    cache.StoreText(key, text);
    const auto read = cache.LoadText(key);
    if (other == 0 && read && *read != text) _exit(1);
    if (read) EXPECT_EQ(*read, text);
    if (i % 20 == 0) KernelCache(folder_, 3000).Thin();
  }
  if (other == 0) _exit(0);
  int status = 0;
  ASSERT_EQ(waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
}

TEST_F(KernelCacheTest, WhatEndedProcessesLeftIsRemoved) {
  const KernelCache cache(folder_);
  cache.StoreText("key", "a text\n");
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(2);
  for (const char* name : {"a.so.123.0", "b.json.123.1", "c.so", "d.so.124.0"}) {
    std::ofstream(folder_ / name) << "part";
    if (name[0] != 'd') fs::last_write_time(folder_ / name, long_ago);
  }
  cache.Thin();
  EXPECT_EQ(cache.LoadText("key"), "a text\n");
  EXPECT_TRUE(fs::exists(folder_ / "d.so.124.0")) << "it may still be written";
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
}

TEST_F(KernelCacheTest, TextsAreKeptUntilTheyAreDamaged) {
  const KernelCache cache(folder_);
  EXPECT_EQ(cache.LoadText("key"), std::nullopt);
  cache.StoreText("key", "a text\n");
  EXPECT_EQ(cache.LoadText("key"), "a text\n");
  EXPECT_EQ(cache.LoadText("another key"), std::nullopt);
  const fs::path file = Files(".json").at(0);
  std::ofstream(file) << R"({"key": "key", "text": "another text", "hash": "0"})";
  EXPECT_EQ(cache.LoadText("key"), std::nullopt);
  std::ofstream(file) << R"({"key": "key")";
  EXPECT_EQ(cache.LoadText("key"), std::nullopt);
  cache.StoreText("key", "a text\n");
  KernelCache(folder_, 1).Thin();
  EXPECT_EQ(cache.LoadText("key"), std::nullopt);
}

TEST_F(KernelCacheTest, IsThinnedOut) {
  const KernelCache roomy(folder_);
  Load(roomy);
  const size_t before = Files(".so").size();
  roomy.Thin();
  EXPECT_EQ(Files(".so").size(), before);
  KernelCache(folder_, 1).Thin();
  EXPECT_TRUE(Files(".so").empty());
  EXPECT_TRUE(Files(".json").empty());
}

}  // namespace
}  // namespace tilewright::graph
