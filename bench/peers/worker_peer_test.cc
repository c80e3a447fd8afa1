#include "bench/peers/worker_peer.h"

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/operators/run_workload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/ndarray.h"
#include "nlohmann/json.hpp"

namespace tilewright::bench {
namespace {

using ::testing::HasSubstr;

Workload MakeWorkload(const char* text, DType dtype) {
  const Shape shape = ParseShapes(text)->front();
  return {.shape = shape, .dtype = dtype, .problem = MakeProblem(shape).value()};
}

std::string TemporaryPath(const char* name) { return std::string(std::getenv("TEST_TMPDIR")) + "/" + name; }

// What a worker of that behaviour brings about. Its output is `result`.
Result RunWorker(const char* behaviour, const NDArray& result, const Workload& workload) {
  EXPECT_TRUE(WriteNpy(result, TemporaryPath("result.npy")).ok());
  setenv("RESULT_NPY", TemporaryPath("result.npy").c_str(), 1);
  setenv("REQUEST_JSON", TemporaryPath("request.json").c_str(), 1);
  std::vector<std::unique_ptr<Implementation>> implementations;
  implementations.push_back(MakeWorkerPeer(
      "fake", {std::string(std::getenv("TEST_SRCDIR")) + "/tilewright/bench/peers/fake_worker.sh", behaviour}));
  return RunWorkload(workload, implementations, {.cpus = {0}}, {.seconds = 0, .pause_nanoseconds = 0}).front();
}

NDArray Product() {
  // Sums of the seeded operands, as the reference has them.
  const Workload workload = MakeWorkload("GMM:1,2,3,4", DType::kInt8);
  const Operands operands = MakeOperands(workload).value();
  const NDArray product(DataType::Int(32), {1, 2, 3});
  for (int64_t m = 0; m < 2; ++m)
    for (int64_t n = 0; n < 3; ++n)
      for (int64_t k = 0; k < 4; ++k) {
        product.SetInt(m * 3 + n, product.GetInt(m * 3 + n) + operands.activation.data<uint8_t>()[m * 4 + k] *
                                                                  operands.weight.data<int8_t>()[k * 3 + n]);
      }
  return product;
}

TEST(WorkerPeer, TimesAreThoseOfTheWorker) {
  const Workload workload = MakeWorkload("GMM:1,2,3,4", DType::kInt8);
  const Result result = RunWorker("right", Product(), workload);
  ASSERT_EQ(result.error, "");
  EXPECT_EQ(result.version, "7 --threads=1 --cpus=0");
  ASSERT_EQ(result.variants.size(), 2u);
  EXPECT_EQ(result.best().variant, "fast");
  EXPECT_EQ(result.best().timing.median_ms, 2);
  EXPECT_EQ(result.variants[1].timing.median_ms, 3);
  EXPECT_EQ(result.best().timing.quiet_blocks, 1);
  EXPECT_EQ(result.tune_seconds, 12);
  EXPECT_EQ(result.trials, 34);
}

TEST(WorkerPeer, TheRequestSaysWhatIsToBeDone) {
  const Workload workload = MakeWorkload("GMM:1,2,3,4", DType::kInt8);
  RunWorker("right", Product(), workload);
  std::ifstream file(TemporaryPath("request.json"));
  const nlohmann::json request = nlohmann::json::parse(file);
  EXPECT_EQ(request["op"], "GMM");
  EXPECT_EQ(request["shape"], "1,2,3,4");
  EXPECT_EQ(request["dtype"], "int8");
  EXPECT_EQ(request["problem"]["kind"], "matmul");
  EXPECT_EQ(request["problem"]["k"], 4);
  EXPECT_EQ(request["output_shape"], nlohmann::json({1, 2, 3}));
  EXPECT_GE(request["sets"], 2);
  EXPECT_THAT(request["program"].get<std::string>(), HasSubstr("def main("));
  // The inputs are everybody's, byte for byte.
  const Operands operands = MakeOperands(workload).value();
  const NDArray activation = ReadNpy(TemporaryPath("activation.npy")).value();
  ASSERT_EQ(activation.dtype(), DataType::UInt(8));
  ASSERT_EQ(activation.shape(), (std::vector<int64_t>{1, 2, 4}));
  for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(activation.GetInt(i), operands.activation.data<uint8_t>()[i]);
}

TEST(WorkerPeer, WrongOutputsAreFound) {
  const Workload workload = MakeWorkload("GMM:1,2,3,4", DType::kInt8);
  const NDArray wrong = Product();
  wrong.SetInt(5, wrong.GetInt(5) + 1);
  const Result result = RunWorker("right", wrong, workload);
  EXPECT_TRUE(result.inexact());
  EXPECT_FALSE(result.wrong) << "a peer's wrong result is no error of the run";
  EXPECT_GT(result.best().timing.samples, 0);
  EXPECT_EQ(RunWorker("right", NDArray(DataType::Float(32), {1, 2, 3}), workload).error,
            "the peer's output has another shape or type");
  EXPECT_EQ(RunWorker("right", NDArray(DataType::Int(32), {3, 2}), workload).error,
            "the peer's output has another shape or type");
}

TEST(WorkerPeer, WhatGoesWrongIsTheResult) {
  const Workload workload = MakeWorkload("GMM:1,2,3,4", DType::kInt8);
  EXPECT_EQ(RunWorker("refuses", Product(), workload).error, "no such operator");
  EXPECT_EQ(RunWorker("nothing", Product(), workload).error, "the worker prepared nothing");
  EXPECT_EQ(RunWorker("babbles", Product(), workload).error, "the worker answered hello, hello");
  EXPECT_EQ(RunWorker("ends", Product(), workload).error, "the worker ended with status 3: out of luck");
  std::vector<std::unique_ptr<Implementation>> implementations;
  implementations.push_back(MakeWorkerPeer("fake", {"/nonexistent/program"}));
  EXPECT_THAT(RunWorkload(workload, implementations, {.cpus = {0}}, {.seconds = 0}).front().error,
              HasSubstr("/nonexistent/program"));
}

}  // namespace
}  // namespace tilewright::bench
