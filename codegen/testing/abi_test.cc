// The checks of exported functions: every code with its exact message.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/llvm/jit.h"
#include "codegen/runtime/tensor.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using runtime::kFloat32;
using runtime::Tensor;

constexpr char kProgram[] = R"(
@T.prim_func
def main(a: T.handle, B: T.Buffer((4, 8), "float32"), s: T.int32):
    n = T.int32()
    A = T.match_buffer(a, (n, 8), "float32")
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi % n, vj] + T.Cast("float32", s)
)";

class Abi : public ::testing::Test {
 protected:
  void SetUp() override {
    auto compiled = CompileToJit(ParseOrDie(kProgram), HostTarget());
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    compiled_ = *std::move(compiled);
    function_ = compiled_->Find("main");
    a_ = Tensor::Allocate(kFloat32, {2, 8});
    b_ = Tensor::Allocate(kFloat32, {4, 8});
    s_ = Tensor::Allocate(runtime::kInt32, std::initializer_list<int64_t>{});
    args_ = {a_->abi(), b_->abi(), s_->abi()};
  }
  int Call(int count = 3) {
    TwCall call = {.message = message_, .message_bytes = sizeof(message_)};
    return function_(&call, args_.data(), count);
  }

  std::unique_ptr<CompiledModule> compiled_;
  TwFunction function_ = nullptr;
  std::optional<Tensor> a_, b_, s_;
  std::vector<TwTensor*> args_;
  char message_[128] = "";
};

TEST_F(Abi, RunsWithAndWithoutACall) {
  a_->data<float>()[9] = 5;
  *s_->data<int32_t>() = 2;
  EXPECT_EQ(Call(), kTwOk);
  EXPECT_EQ(function_(nullptr, args_.data(), 3), kTwOk);
  EXPECT_EQ(b_->data<float>()[9], 7);
  EXPECT_EQ(b_->data<float>()[25], 7);
}

TEST_F(Abi, UncheckedTakesPointers) {
  a_->data<float>()[9] = 5;
  *s_->data<int32_t>() = 2;
  void* data[] = {a_->data<float>(), b_->data<float>(), s_->data<int32_t>()};
  const int64_t a_shape[] = {2, 8}, b_shape[] = {4, 8};
  const int64_t* shapes[] = {a_shape, b_shape, nullptr};
  const TwUncheckedFunction unchecked = compiled_->FindUnchecked("main");
  ASSERT_NE(unchecked, nullptr);
  EXPECT_EQ(unchecked(nullptr, data, shapes), kTwOk);
  EXPECT_EQ(b_->data<float>()[9], 7);
  EXPECT_EQ(b_->data<float>()[25], 7);
  EXPECT_EQ(compiled_->FindUnchecked("none"), nullptr);
}

TEST_F(Abi, ErrorsWithoutRoomForAMessage) {
  EXPECT_EQ(function_(nullptr, args_.data(), 2), kTwErrorArgumentCount);
  TwCall call = {.message = message_, .message_bytes = 10};
  EXPECT_EQ(function_(&call, args_.data(), 2), kTwErrorArgumentCount);
  EXPECT_STREQ(message_, "main take");
}

TEST_F(Abi, Count) {
  EXPECT_EQ(Call(2), kTwErrorArgumentCount);
  EXPECT_STREQ(message_, "main takes 3 arguments, got 2");
}

TEST_F(Abi, Null) {
  args_[1] = nullptr;
  EXPECT_EQ(Call(), kTwErrorNullArgument);
  EXPECT_STREQ(message_, "argument 1 (B) is null");
  args_[1] = b_->abi();
  b_->abi()->data = nullptr;
  EXPECT_EQ(Call(), kTwErrorNullArgument);
  EXPECT_STREQ(message_, "argument 1 (B) has no data");
}

TEST_F(Abi, Device) {
  a_->abi()->device.device_type = kTwCuda;
  EXPECT_EQ(Call(), kTwErrorDevice);
  EXPECT_STREQ(message_, "argument 0 (A) lies on a device of type 2, not on the CPU");
}

TEST_F(Abi, Rank) {
  a_->abi()->ndim = 1;
  EXPECT_EQ(Call(), kTwErrorRank);
  EXPECT_STREQ(message_, "argument 0 (A) has 1 dimensions, expected 2");
}

TEST_F(Abi, Type) {
  b_->abi()->dtype = runtime::kInt32;
  EXPECT_EQ(Call(), kTwErrorType);
  EXPECT_STREQ(message_, "argument 1 (B) is not of type float32");
  b_->abi()->dtype = kFloat32;
  s_->abi()->dtype = runtime::kInt64;
  EXPECT_EQ(Call(), kTwErrorType);
  EXPECT_STREQ(message_, "argument 2 (s) is not of type int32");
}

TEST_F(Abi, Shape) {
  b_->abi()->shape[0] = 5;
  EXPECT_EQ(Call(), kTwErrorShape);
  EXPECT_STREQ(message_, "argument 1 (B): dimension 0 has extent 5, expected 4");
}

TEST_F(Abi, ShapeThatAVariableCannotHold) {
  a_->abi()->shape[0] = (int64_t{1} << 32) + 2;
  EXPECT_EQ(Call(), kTwErrorShape);
  EXPECT_STREQ(message_, "argument 0 (A): dimension 0 has extent 4294967298, expected 2");
}

TEST_F(Abi, Strides) {
  b_->abi()->strides[0] = 9;
  EXPECT_EQ(Call(), kTwErrorStrides);
  EXPECT_STREQ(message_, "argument 1 (B): dimension 0 has stride 9, expected 8");
  b_->abi()->strides = nullptr;  // compact
  EXPECT_EQ(Call(), kTwOk);
}

TEST_F(Abi, Alignment) {
  Tensor storage = *Tensor::Allocate(kFloat32, {40});
  b_->abi()->data = storage.data<float>() + 1;
  EXPECT_EQ(Call(), kTwErrorAlignment);
  EXPECT_STREQ(message_, "argument 1 (B) is not aligned to 64 bytes");
  b_->abi()->data = storage.data<float>();
  b_->abi()->byte_offset = 8;
  EXPECT_EQ(Call(), kTwErrorAlignment);
}

TEST_F(Abi, Aliasing) {
  Tensor storage = *Tensor::Allocate(kFloat32, {48});
  a_->abi()->data = storage.data<float>();
  b_->abi()->data = storage.data<float>() + 16;
  EXPECT_EQ(Call(), kTwOk);  // side by side
  a_->abi()->data = storage.data<float>() + 32;
  EXPECT_EQ(Call(), kTwErrorAliasing);
  EXPECT_STREQ(message_, "argument 0 (A) and argument 1 (B) overlap, and one of them is written");
}

// More arguments than one function checks. All have as many rows as the first one; the last but one is written.
class AbiOfMany : public ::testing::Test {
 protected:
  static constexpr int kInputs = 70;

  void SetUp() override {
    std::string params, buffers, sum;
    for (int i = 0; i < kInputs; ++i) {
      absl::StrAppend(&params, "a", i, ": T.handle, ");
      absl::StrAppend(&buffers, "    A", i, " = T.match_buffer(a", i, ", (n, 8), \"float32\")\n");
      absl::StrAppend(&sum, " + A", i, "[vi, vj]");
    }
    auto compiled =
        CompileToJit(ParseOrDie(absl::StrCat(
                         "@T.prim_func\ndef main(", params, "b: T.handle, s: T.float32):\n    n = T.int32()\n", buffers,
                         "    B = T.match_buffer(b, (n + 1, 8), \"float32\")\n",
                         "    for i, j in T.grid(n, 8):\n        with T.block(\"B\"):\n",
                         "            vi, vj = T.axis.remap(\"SS\", [i, j])\n            B[vi, vj] = s", sum, "\n")),
                     HostTarget());
    ASSERT_TRUE(compiled.ok()) << compiled.status().message();
    compiled_ = *std::move(compiled);
    for (int i = 0; i < kInputs; ++i) tensors_.push_back(*Tensor::Allocate(kFloat32, {2, 8}));
    tensors_.push_back(*Tensor::Allocate(kFloat32, {3, 8}));
    tensors_.push_back(*Tensor::Allocate(kFloat32, std::initializer_list<int64_t>{}));
    for (Tensor& tensor : tensors_) args_.push_back(tensor.abi());
  }
  std::string Refusal() { return std::string(compiled_->Run("main", args_).message()); }

  std::unique_ptr<CompiledModule> compiled_;
  std::vector<Tensor> tensors_;
  std::vector<TwTensor*> args_;
};

TEST_F(AbiOfMany, ReadsWhatEachIsGiven) {
  for (int i = 0; i < kInputs; ++i) tensors_[static_cast<size_t>(i)].data<float>()[9] = static_cast<float>(i);
  *tensors_.back().data<float>() = 0.5F;
  EXPECT_EQ(Refusal(), "");
  EXPECT_EQ(tensors_[kInputs].data<float>()[9], 0.5F + kInputs * (kInputs - 1) / 2);
  EXPECT_EQ(tensors_[kInputs].data<float>()[8], 0.5F);
}

// One fault after the other, so that each call has all of those before it: what comes later in the order of the checks
// does not show.
TEST_F(AbiOfMany, AreRefusedInTheOrderOfTheChecks) {
  Tensor storage = *Tensor::Allocate(kFloat32, {40});
  args_[65]->data = tensors_[kInputs].data<float>() + 16;
  EXPECT_EQ(Refusal(), "argument 65 (A65) and argument 70 (B) overlap, and one of them is written");
  args_[3]->data = tensors_[kInputs].data<float>();
  EXPECT_EQ(Refusal(), "argument 3 (A3) and argument 70 (B) overlap, and one of them is written");
  args_[69]->data = storage.data<float>() + 1;
  EXPECT_EQ(Refusal(), "argument 69 (A69) is not aligned to 64 bytes");
  args_[2]->data = storage.data<float>() + 1;
  EXPECT_EQ(Refusal(), "argument 2 (A2) is not aligned to 64 bytes");
  args_[68]->data = nullptr;
  EXPECT_EQ(Refusal(), "argument 68 (A68) has no data");
  args_[67]->strides[0] = 9;
  EXPECT_EQ(Refusal(), "argument 67 (A67): dimension 0 has stride 9, expected 8");
  args_[70]->shape[0] = 2;
  EXPECT_EQ(Refusal(), "argument 70 (B): dimension 0 has extent 2, expected 3");
  args_[66]->shape[0] = 3;
  EXPECT_EQ(Refusal(), "argument 66 (A66): dimension 0 has extent 3, expected 2");
  args_[71]->dtype = runtime::kInt32;
  EXPECT_EQ(Refusal(), "argument 71 (s) is not of type float32");
  args_[64]->ndim = 1;
  EXPECT_EQ(Refusal(), "argument 64 (A64) has 1 dimensions, expected 2");
  args_[40]->device.device_type = kTwCuda;
  EXPECT_EQ(Refusal(), "argument 40 (A40) lies on a device of type 2, not on the CPU");
  args_[33] = nullptr;
  EXPECT_EQ(Refusal(), "argument 33 (A33) is null");
}

TEST_F(AbiOfMany, SizesAreThoseOfTheFirst) {
  for (int i = 0; i < kInputs; ++i) args_[static_cast<size_t>(i)]->shape[0] = 1;
  EXPECT_EQ(Refusal(), "argument 70 (B): dimension 0 has extent 3, expected 2");
}

TEST(Assertions, StopTheCall) {
  auto compiled = CompileToJit(ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32")):
    for i in T.parallel(4):
        with T.block("A"):
            vi = T.axis.spatial(4, i)
            assert A[vi] < 10, "too large"
            A[vi] = A[vi] + 1
)"),
                               HostTarget());
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  Tensor a = *Tensor::Allocate(runtime::kInt32, {4});
  TwTensor* args[] = {a.abi()};
  EXPECT_TRUE((*compiled)->Run("main", args).ok());
  EXPECT_EQ(a.data<int32_t>()[3], 1);
  a.data<int32_t>()[2] = 10;
  EXPECT_EQ((*compiled)->Run("main", args).message(), "assertion failed: too large");
  EXPECT_EQ((*compiled)->Run("other", args).message(), "no function other");
}

TEST(Workspace, IsUsedWhenItIsLargeEnough) {
  auto compiled = CompileToJit(ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((50000,), "float32"), B: T.Buffer((50000,), "float32")):
    with T.block("root"):
        X = T.alloc_buffer((50000,), "float32")
        for i in range(50000):
            with T.block("X"):
                vi = T.axis.spatial(50000, i)
                X[vi] = A[vi] + T.float32(1)
        for i in range(50000):
            with T.block("B"):
                vi = T.axis.spatial(50000, i)
                B[vi] = X[49999 - vi]
)"),
                               HostTarget());
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  ASSERT_EQ((*compiled)->WorkspaceBytes("main"), 200000 / 64 * 64 + 64 * (200000 % 64 != 0));
  Tensor a = *Tensor::Allocate(kFloat32, {50000}), b = *Tensor::Allocate(kFloat32, {50000});
  Tensor workspace = *Tensor::Allocate(kFloat32, {60000});
  TwTensor* args[] = {a.abi(), b.abi()};
  const TwFunction function = (*compiled)->Find("main");
  TwCall call = {.workspace = workspace.data<void>(), .workspace_bytes = 100};
  EXPECT_EQ(function(&call, args, 2), kTwOk);
  EXPECT_EQ(workspace.data<float>()[0], 0);  // too small: not touched
  call.workspace_bytes = 240000;
  EXPECT_EQ(function(&call, args, 2), kTwOk);
  EXPECT_EQ(workspace.data<float>()[0], 1);
  EXPECT_EQ(b.data<float>()[7], 1);
}

// Every iteration as a range of its own, all at once.
int RunEachInAThread(void* /*pool*/, TwParallelBody body, void* closure, int64_t extent, int64_t /*max_threads*/) {
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < extent; ++i) threads.emplace_back(body, i, i + 1, closure);
  for (std::thread& thread : threads) thread.join();
  return 0;
}

TEST(Workspace, HasAPartForEachIterationOfAParallelLoop) {
  auto compiled = CompileToJit(ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((8, 50000), "float32"), B: T.Buffer((8, 50000), "float32")):
    with T.block("root"):
        X = T.alloc_buffer((8, 50000), "float32")
        for i in T.parallel(8):
            for j in range(50000):
                with T.block("X"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    X[vi, vj] = A[vi, vj] + T.float32(1)
            for j in range(50000):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = X[vi, 49999 - vj]
)"),
                               HostTarget());
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  ASSERT_EQ((*compiled)->WorkspaceBytes("main"), 8 * 200000);
  Tensor a = *Tensor::Allocate(kFloat32, {8, 50000}), b = *Tensor::Allocate(kFloat32, {8, 50000});
  for (int64_t i = 0; i < 8 * 50000; ++i) a.data<float>()[i] = static_cast<float>(i);
  Tensor workspace = *Tensor::Allocate(kFloat32, {8 * 50000});
  TwTensor* args[] = {a.abi(), b.abi()};
  const TwParallelHook hook = {.pool = nullptr, .num_threads = 8, .parallel_for = RunEachInAThread};
  const TwCall call = {.parallel = &hook, .workspace = workspace.data<void>(), .workspace_bytes = 8 * 200000};
  ASSERT_EQ((*compiled)->Find("main")(&call, args, 2), kTwOk);
  for (int64_t i = 0; i < 8; ++i) {
    for (int64_t j = 0; j < 50000; ++j) {
      ASSERT_EQ(b.data<float>()[i * 50000 + j], static_cast<float>(i * 50000 + 49999 - j + 1));
      ASSERT_EQ(workspace.data<float>()[i * 50000 + j], static_cast<float>(i * 50000 + j + 1));
    }
  }
}

int RunAndCount(void* pool, TwParallelBody body, void* closure, int64_t extent, int64_t /*max_threads*/) {
  ++*static_cast<int*>(pool);
  body(0, extent, closure);
  return 0;
}

TEST(ThreadsFrom, SmallSizesRunInTheCaller) {
  auto compiled = CompileToJit(ParseOrDie(R"(
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 8), "float32")
    B = T.match_buffer(b, (n, 8), "float32")
    for i in T.parallel(n, annotations={"tilewright.threads_from": 80}):
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)
)"),
                               HostTarget());
  ASSERT_TRUE(compiled.ok()) << compiled.status().message();
  for (const int64_t n : {0, 1, 9, 10, 11}) {
    Tensor a = *Tensor::Allocate(kFloat32, {n, 8}), b = *Tensor::Allocate(kFloat32, {n, 8});
    for (int64_t i = 0; i < n * 8; ++i) a.data<float>()[i] = static_cast<float>(i);
    TwTensor* args[] = {a.abi(), b.abi()};
    int shared = 0;
    const TwParallelHook hook = {.pool = &shared, .num_threads = 8, .parallel_for = RunAndCount};
    const TwCall call = {.parallel = &hook};
    ASSERT_EQ((*compiled)->Find("main")(&call, args, 2), kTwOk);
    EXPECT_EQ(shared, n * 8 >= 80 ? 1 : 0) << n;
    for (int64_t i = 0; i < n * 8; ++i) ASSERT_EQ(b.data<float>()[i], static_cast<float>(i + 1));
  }
}

TEST(Target, FeaturesThatTheMachineLacksAreRefused) {
  Target target = HostTarget();
  target.features.push_back("no-such-feature");
  auto compiled = CompileToJit(ParseOrDie(kProgram), target);
  EXPECT_EQ(compiled.status().message(),
            "target host needs the processor feature no-such-feature, which this machine lacks");
}

TEST(Extern, UnknownFunctionsAreAnError) {
  auto compiled = CompileToJit(ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("A"):
            vi = T.axis.spatial(4, i)
            A[vi] = T.call_extern("float32", "no_such_function", A[vi])
)"),
                               HostTarget());
  EXPECT_EQ(compiled.status().message(), "Symbols not found: [ no_such_function ]");
}

}  // namespace
}  // namespace tilewright
