#include "codegen/remote/remote_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "codegen/backend.h"
#include "codegen/llvm/object.h"
#include "codegen/remote/launcher.h"
#include "codegen/runtime/tensor.h"
#include "codegen/runtime/thread_pool.h"
#include "ir/script/parse_or_die.h"
#include "target/target.h"

namespace tilewright {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr TwDataType kFloat = {.code = kTwFloat, .bits = 32, .lanes = 1};

// Doubles the rows of a view into the output, in parallel.
constexpr const char* kRows = R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    s = T.int32()
    A = T.match_buffer(a, (6, 4), "float32", strides=[s, 1])
    B = T.match_buffer(b, (6, 4), "float32")
    for i in T.parallel(6):
        for j in range(4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + A[vi, vj]
)";

// Code for the target in a worker; skips the test where the machine has none.
class InWorker : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const auto command = remote::WorkerCommand(target_, launcher_); !command.ok()) {
      GTEST_SKIP() << command.status().message();
    }
  }
  absl::StatusOr<std::unique_ptr<CompiledModule>> Load(const char* program, std::vector<std::string> libraries = {}) {
    return CompileAndLoad(ParseOrDie(program), target_, {.libraries = std::move(libraries), .launcher = launcher_});
  }

  const Target target_ = NamedTarget(GetParam()).value();
  // A loopback for the host's own code.
  const std::string launcher_ = remote::IsForeign(target_) ? "" : "env";
};

TEST_P(InWorker, ViewsAndThreads) {
  auto code = Load(kRows);
  ASSERT_TRUE(code.ok()) << code.status();
  alignas(64) std::array<float, 6 * 7> a;
  alignas(64) std::array<float, 6 * 4> b;
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i);
  int64_t shape[2] = {6, 4}, strides[2] = {7, 1};
  TwTensor view = {
      .data = a.data(), .device = {kTwCpu, 0}, .ndim = 2, .dtype = kFloat, .shape = shape, .strides = strides};
  TwTensor output = {.data = b.data(), .device = {kTwCpu, 0}, .ndim = 2, .dtype = kFloat, .shape = shape};
  runtime::ThreadPool pool({.num_threads = 2});
  const TwParallelHook hook = pool.hook();
  for (const TwParallelHook* parallel : {static_cast<const TwParallelHook*>(nullptr), &hook}) {
    b.fill(-1);
    ASSERT_EQ((*code)->Run("main", std::vector<TwTensor*>{&view, &output}, parallel), absl::OkStatus());
    for (size_t i = 0; i < 6; ++i) {
      for (size_t j = 0; j < 4; ++j) EXPECT_EQ(b[i * 4 + j], 2 * a[i * 7 + j]) << i << " " << j;
    }
  }
  EXPECT_GT((*code)->LastCall().nanoseconds, 0);
  if (remote::IsForeign(target_)) EXPECT_GT((*code)->LastCall().instructions, 24 / 4);
  EXPECT_EQ((*code)->Find("other"), nullptr);
  EXPECT_EQ((*code)->FindUnchecked("main"), nullptr);
}

TEST_P(InWorker, ArgumentsAreCheckedAsTheyLieHere) {
  auto code = Load(kRows);
  ASSERT_TRUE(code.ok()) << code.status();
  alignas(64) std::array<float, 128> memory;
  memory.fill(1);
  int64_t shape[2] = {6, 4}, strides[2] = {4, 1}, short_shape[2] = {5, 4};
  TwTensor a = {
      .data = memory.data(), .device = {kTwCpu, 0}, .ndim = 2, .dtype = kFloat, .shape = shape, .strides = strides};
  TwTensor b = {.data = memory.data() + 16, .device = {kTwCpu, 0}, .ndim = 2, .dtype = kFloat, .shape = shape};
  const auto message = [&] { return std::string((*code)->Run("main", std::vector<TwTensor*>{&a, &b}).message()); };
  EXPECT_THAT(message(), HasSubstr("overlap"));
  b.data = memory.data() + 32;
  EXPECT_EQ(message(), "");
  EXPECT_EQ(memory[32], 2);
  b.data = nullptr;
  EXPECT_THAT(message(), HasSubstr("B"));
  b.data = memory.data() + 32;
  b.shape = short_shape;
  EXPECT_THAT(message(), AllOf(HasSubstr("B"), HasSubstr("5")));
  b.shape = nullptr;
  EXPECT_NE(message(), "");
  b.shape = shape;
  b.dtype.bits = 16;
  EXPECT_THAT(message(), HasSubstr("not of type float32"));
}

TEST_P(InWorker, LibrariesAreSentToo) {
  const auto library = EmitSharedLibrary(ParseOrDie(R"(
@T.prim_func
def helper(A: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("A"):
            vi = T.axis.spatial(4, i)
            A[vi] = T.float32(1)
)"),
                                         target_);
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(Load(kRows, {"/no/such/library.so"}).status().message(), "cannot read /no/such/library.so");
  constexpr const char* kCalls = R"(
@T.prim_func
def main(A: T.Buffer((4,), "int64")):
    for i in range(4):
        with T.block("A"):
            vi = T.axis.spatial(4, i)
            A[vi] = T.call_extern("int64", "helper_workspace_bytes")
)";
  EXPECT_THAT(std::string(Load(kCalls).status().message()),
              AllOf(HasSubstr("the worker cannot open the code: "), HasSubstr("helper_workspace_bytes")));
  const std::string path = testing::TempDir() + "/libhelper.so";
  FILE* file = fopen(path.c_str(), "wb");
  fwrite(library->data(), 1, library->size(), file);
  fclose(file);
  auto code = Load(kCalls, {path});
  ASSERT_TRUE(code.ok()) << code.status();
  runtime::Tensor a = *runtime::Tensor::Allocate({.code = kTwInt, .bits = 64, .lanes = 1}, {4});
  ASSERT_EQ((*code)->Run("main", std::vector<TwTensor*>{a.abi()}), absl::OkStatus());
  EXPECT_EQ(static_cast<const int64_t*>(a.abi()->data)[3], 0);
}

TEST_P(InWorker, TheEndOfTheWorkerCostsOneCall) {
  auto code = Load(R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32"), n: T.int32):
    if n == 1:
        T.evaluate(T.call_extern("int32", "raise", 9))
    for i in range(4):
        with T.block("A"):
            vi = T.axis.spatial(4, i)
            A[vi] = n
)");
  ASSERT_TRUE(code.ok()) << code.status();
  constexpr TwDataType kInt = {.code = kTwInt, .bits = 32, .lanes = 1};
  runtime::Tensor a = *runtime::Tensor::Allocate(kInt, {4}), n = *runtime::Tensor::Allocate(kInt, {});
  auto& value = *static_cast<int32_t*>(n.abi()->data);
  const auto run = [&] { return (*code)->Run("main", std::vector<TwTensor*>{a.abi(), n.abi()}); };
  value = 7;
  EXPECT_EQ(run(), absl::OkStatus());
  value = 1;
  EXPECT_THAT(std::string(run().message()), HasSubstr("the worker ended with signal 9"));
  value = 5;
  EXPECT_EQ(run(), absl::OkStatus());
  EXPECT_EQ(static_cast<const int32_t*>(a.abi()->data)[2], 5);
}

INSTANTIATE_TEST_SUITE_P(Machines, InWorker, testing::Values("host", "arm-neoverse-n1"));

TEST(Launcher, WhatIsNoWorkerIsReported) {
  const auto load = [](const std::string& target, const std::string& launcher) {
    return std::string(
        CompileAndLoad(ParseOrDie(kRows), NamedTarget(target).value(), {.launcher = launcher}).status().message());
  };
  EXPECT_THAT(load("host", "no-such-launcher -x"),
              AllOf(HasSubstr("no-such-launcher -x"), HasSubstr("cannot be started: No such file")));
  EXPECT_EQ(load("host", "false"), "the worker ended with status 1");
  // It answers, but not what was asked.
  EXPECT_EQ(load("host", "echo hello: "), "the worker ended with status 0");
}

TEST(Launcher, AnotherArchitectureNeedsItsEmulator) {
  Target target = NamedTarget("arm-neoverse-n1").value();
  target.name = "a-board";
  target.triple = "pdp11-unknown-linux-gnu";
  EXPECT_THAT(std::string(remote::WorkerCommand(target, "").status().message()),
              AllOf(HasSubstr("code for a-board runs on this machine in qemu-pdp11"), HasSubstr("not installed")));
  EXPECT_THAT(std::string(remote::WorkerCommand(target, "ssh board").status().message()),
              HasSubstr("this build has no worker that runs code for a-board (apt-get install g++-pdp11-linux-gnu"));
}

}  // namespace
}  // namespace tilewright
