// Kernels of lowered programs in emulation compute what the interpreter computes, and what is wrong is found.
#include "codegen/cuda/emulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/abi/abi_type.h"
#include "codegen/backend.h"
#include "codegen/cuda/cuda_module.h"
#include "codegen/cuda/emit_program.h"
#include "codegen/lower/pipeline.h"
#include "codegen/runtime/tensor.h"
#include "codegen/testing/equivalence.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;

const Target& Gpu() {
  static const Target* const target = new Target(NamedTarget("cuda-sm80").value());
  return *target;
}

std::string Compare(const std::string& text, std::vector<int64_t> variables = {}) {
  return testing::CompareWithInterpreter(text, {.target = Gpu(), .variables = std::move(variables)});
}

constexpr char kAdd[] = R"(
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle, alpha: T.float32):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    C = T.match_buffer(c, (n,), "float32")
    for i_0 in T.thread_binding((n + 127) // 128, thread="blockIdx.x"):
        for i_1 in T.thread_binding(128, thread="threadIdx.x"):
            with T.block("C"):
                vi = T.axis.spatial(n, i_0 * 128 + i_1)
                T.where(i_0 * 128 + i_1 < n)
                C[vi] = A[vi] + B[vi] * alpha
)";

TEST(Emulation, GridsDependOnExtents) {
  for (int64_t n : {1, 127, 128, 1000}) EXPECT_EQ(Compare(kAdd, {n}), "") << n;
}

// $barrier is between the writes of the tile and its reads.
std::string Transpose(const std::string& barrier) {
  return R"(
@T.prim_func
def main(A: T.Buffer((100, 70), "float32"), B: T.Buffer((70, 100), "float32")):
    for i_0 in T.thread_binding(5, thread="blockIdx.y"):
        for j_0 in T.thread_binding(7, thread="blockIdx.x"):
            with T.block("tile"):
                vi = T.axis.opaque(5, i_0)
                vj = T.axis.opaque(7, j_0)
                tile = T.alloc_buffer((16, 16), scope="shared")
                for y in T.thread_binding(16, thread="threadIdx.y"):
                    for x in T.thread_binding(16, thread="threadIdx.x"):
                        if vj * 16 + y < 100 and vi * 16 + x < 70:
                            tile[y, x] = A[vj * 16 + y, vi * 16 + x]
                        )" +
         barrier + R"(
                        if vi * 16 + y < 70 and vj * 16 + x < 100:
                            B[vi * 16 + y, vj * 16 + x] = tile[x, y]
)";
}

TEST(Emulation, SharedMemoryIsOrderedByBarriers) {
  EXPECT_EQ(Compare(Transpose("T.tvm_storage_sync(\"shared\")")), "");
}

TEST(Emulation, FindsWhatNothingOrders) {
  const std::string problem = Compare(R"(
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((1,), "float32")):
    for i in T.thread_binding(4, thread="blockIdx.x"):
        with T.block("B"):
            v = T.axis.opaque(4, i)
            B[0] = A[v]
)");
  EXPECT_THAT(problem, HasSubstr("emulation of main_kernel found 1 faults: main_kernel: race: store by thread 0"));
  EXPECT_THAT(problem, HasSubstr("at B byte 0"));
}

// A vector that a branch loads lies outside of the buffer where the branch is not taken.
TEST(Emulation, BranchesLoadVectorsUnderTheirConditions) {
  for (const char* condition : {"i >= 2 and i < 7", "i * 4 + v >= 9 and i * 4 + v < 27"}) {
    EXPECT_EQ(Compare(std::string(R"(
@T.prim_func
def main(A: T.Buffer((20,), "float32"), B: T.Buffer((40,), "float32")):
    for i in T.thread_binding(10, thread="threadIdx.x"):
        for v in T.vectorized(4):
            with T.block("B"):
                vi = T.axis.spatial(40, i * 4 + v)
                T.reads(A[0:20])
                T.writes(B[vi])
                B[vi] = T.if_then_else(i < 10, T.if_then_else()") +
                      condition + R"(, A[i * 4 + v - 8], T.float32(0)), T.float32(1))
)"),
              "")
        << condition;
  }
}

// What a branch does not load keeps its sign.
TEST(Emulation, BranchesGiveTheirOwnZeros) {
  for (const char* other : {"0", "-0.0", "3"}) {
    EXPECT_EQ(Compare(std::string(R"(
@T.prim_func
def main(A: T.Buffer((20,), "float16"), B: T.Buffer((40,), "float32")):
    for i in T.thread_binding(5, thread="threadIdx.x"):
        for v in T.vectorized(8):
            with T.block("B"):
                vi = T.axis.spatial(40, i * 8 + v)
                T.reads(A[0:20])
                T.writes(B[vi])
                B[vi] = T.float32(1) / T.Cast("float32", T.if_then_else(i >= 1 and i < 3, A[i * 8 + v - 8], T.float16()") +
                      other + R"()))
)"),
              "")
        << other;
  }
}

// Minima and maxima in each other are the second operand where one is NaN, in order.
TEST(Emulation, ChoicesOfChoicesForgetNanInOrder) {
  for (const char* type : {"float32", "float64", "float16"}) {
    std::string text = R"(
@T.prim_func
def main(A: T.Buffer((64,), "TYPE"), B: T.Buffer((64, 4), "TYPE")):
    for i in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("B"):
            v = T.axis.spatial(64, i)
            B[v, 0] = T.max(T.max(T.TYPE(0), A[v] / T.TYPE(0)), T.TYPE(0))
            B[v, 1] = T.min(T.min(T.TYPE(0), A[v] / T.TYPE(0)), T.TYPE(0))
            B[v, 2] = T.max(T.TYPE(0), T.max(A[v] / T.TYPE(0), T.TYPE(0)))
            B[v, 3] = T.max(T.Select(v > 3, A[v] / T.TYPE(0), T.TYPE(0)), T.TYPE(-1))
)";
    for (size_t at; (at = text.find("TYPE")) != std::string::npos;) text.replace(at, 4, type);
    EXPECT_EQ(testing::CompareWithInterpreter(text, {.target = Gpu(), .integers = 1}), "") << type;
  }
}

// What a block allocates its threads share; what a thread allocates is its own, so that no barrier has to stand in a
// loop that each runs as often as its memory says.
TEST(Emulation, MemoryThatThreadsAndBlocksAllocate) {
  constexpr std::string_view kText = R"(
@T.prim_func
def main(A: T.Buffer((4, 64), "int32"), C: T.Buffer((4, 64), "int32")):
    for b in T.thread_binding(4, thread="blockIdx.x"):
        with T.block("k"):
            v = T.axis.spatial(4, b)
            T.reads(A[v, 0:64])
            T.writes(C[v, 0:64])
            W = T.alloc_buffer((64,), "int32")
            for t in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("W"):
                    vt = T.axis.spatial(64, t)
                    S = T.alloc_buffer((1,), "int32")
                    S[0] = A[v, vt]
                    while S[0] < 9:
                        S[0] = S[0] + 1 + vt % 4
                    W[vt] = S[0]
            for t in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("C"):
                    vt = T.axis.spatial(64, t)
                    C[v, vt] = W[63 - vt]
)";
  EXPECT_EQ(testing::CompareWithInterpreter(kText, {.target = Gpu(), .integers = 4}), "");
}

// The second operand of zeros of both signs is chosen.
TEST(Emulation, ChoicesOfZerosGiveTheSecond) {
  constexpr std::string_view kText = R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64, 4), "float32")):
    for i in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("B"):
            v = T.axis.spatial(64, i)
            zero: T.float32 = T.copysign(T.float32(0), A[v])
            B[v, 0] = T.copysign(T.float32(1), T.min(T.max(zero, T.float32(-2)), T.float32(0)))
            B[v, 1] = T.copysign(T.float32(1), T.max(T.min(zero, T.float32(2)), T.float32(-0.0)))
            B[v, 2] = T.copysign(T.float32(1), T.max(T.min(zero, T.float32(2)), T.float32(0)))
            B[v, 3] = T.copysign(T.float32(1), T.min(zero, T.float32(0)))
)";
  EXPECT_EQ(testing::CompareWithInterpreter(kText, {.target = Gpu(), .integers = 1}), "");
}

// Halves are chosen as they are, without conversions.
TEST(Emulation, ChoicesOfHalvesStayHalves) {
  constexpr std::string_view kText = R"(
@T.prim_func
def main(A: T.Buffer((40,), "float16"), C: T.Buffer((40,), "float16"), B: T.Buffer((40,), "float16")):
    for i in T.thread_binding(40, thread="threadIdx.x"):
        with T.block("B"):
            vi = T.axis.spatial(40, i)
            B[vi] = T.if_then_else(vi < 30, T.Select(C[vi] > T.float16(0), A[vi], C[vi]), A[vi] + C[vi])
)";
  EXPECT_EQ(Compare(std::string(kText)), "");
  const auto lowered = Lower(Module(ParseFunctionOrDie(kText)), Gpu());
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const auto program = cuda::EmitProgram(*lowered, Gpu());
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_THAT(program->text, HasSubstr("? tw::f16(A[i]) : tw::f16(C[i])")) << program->text;
}

// exp(-v) overflows below -88.72 where the result does not.
TEST(Emulation, SigmoidOfLargeNegatives) {
  EXPECT_EQ(Compare(R"(
@T.prim_func
def main(B: T.Buffer((200,), "float32")):
    for i in T.thread_binding(200, thread="threadIdx.x"):
        with T.block("B"):
            v = T.axis.spatial(200, i)
            B[v] = T.sigmoid(T.Cast("float32", v) * T.float32(1.0625) - T.float32(103)) * T.float32(1e38)
)"),
            "");
}

// The same memory by names of other types, also where it is read alone.
TEST(Emulation, ViewsOfOtherTypes) {
  EXPECT_EQ(Compare(R"(
@T.prim_func
def main(A: T.Buffer((64,), "int8"), B: T.Buffer((16,), "int32"), C: T.Buffer((16,), "float32")):
    W = T.decl_buffer((16,), "int32", data=A.data)
    F = T.decl_buffer((16,), "int32", data=C.data)
    for i in T.thread_binding(16, thread="threadIdx.x"):
        with T.block("B"):
            v = T.axis.spatial(16, i)
            B[v] = (W[v] & 255) + (W[v] >> 24)
            F[v] = W[v] & 1056964608
)"),
            "");
}

// Lanes exchange 32 bits: types that are narrower are widened for that.
TEST(Emulation, NarrowTypesAreReducedAcrossThreads) {
  for (const char* type : {"bool", "int8", "uint8", "int16", "uint16", "int32", "float16", "float32"}) {
    const bool truth = std::string(type) == "bool";
    std::string text = R"(
@T.prim_func
def main(X: T.Buffer((6, 64), "TYPE"), R: T.Buffer((6,), "TYPE")):
    for i in T.thread_binding(6, thread="blockIdx.x"):
        for k in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("R"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    R[vi] = INIT
                R[vi] = UPDATE
)";
    const std::pair<std::string, std::string> places[] = {
        {"INIT", truth ? "False" : absl::StrCat("T.min_value(\"", type, "\")")},
        {"UPDATE", truth ? "R[vi] or X[vi, vk]" : "T.max(R[vi], X[vi, vk])"},
        {"TYPE", type}};
    for (const auto& [from, to] : places) text = absl::StrReplaceAll(text, {{from, to}});
    EXPECT_EQ(Compare(text), "") << type;
  }
}

TEST(Emulation, LooksUpLaneByLane) {
  const std::string lookup = R"(
@T.prim_func
def main(A: T.Buffer((4,), "float16"), I: T.Buffer((64,), "int32"), C: T.Buffer((64,), "float16")):
    for i in T.thread_binding(16, thread="threadIdx.x"):
        with T.block("C"):
            v = T.axis.spatial(16, i)
            C[v * 4:v * 4 + 4] = T.lookup("float16x4", A[0:4], I[v * 4:v * 4 + 4])
)";
  EXPECT_EQ(testing::CompareWithInterpreter(lookup, {.target = Gpu(), .low = -50, .high = 50}), "");
}

TEST(Emulation, KernelsRunInOrderWithTemporariesBetween) {
  EXPECT_EQ(Compare(R"(
@T.prim_func
def main(A: T.Buffer((300,), "float32"), B: T.Buffer((300,), "float32")):
    T_1 = T.alloc_buffer((300,), "float32")
    for r in range(3):
        for i in T.thread_binding(300, thread="blockIdx.x"):
            with T.block("T"):
                v = T.axis.spatial(300, i)
                w = T.axis.opaque(3, r)
                T_1[v] = A[v] * T.float32(2) + T.Cast("float32", w)
    for i in T.thread_binding(300, thread="threadIdx.x"):
        with T.block("B"):
            v = T.axis.spatial(300, i)
            B[v] = T_1[299 - v] + T.float32(1)
)"),
            "");
}

// An emulated device that says that its memory is not the host's.
class Apart : public cuda::Device {
 public:
  explicit Apart(std::unique_ptr<cuda::Device> device) : device_(std::move(device)) {}
  TwDeviceType type() const override { return kTwCuda; }
  absl::Status Launch(const cuda::LaunchArguments& arguments) override { return device_->Launch(arguments); }
  absl::Status Encode(const cuda::TensorMapSpec& spec, cuda::EncodedTensorMap* map) override {
    return device_->Encode(spec, map);
  }
  void* Allocate(int64_t bytes, void* stream) override { return device_->Allocate(bytes, stream); }
  void Free(void* memory, void* stream) override { device_->Free(memory, stream); }
  bool CopyIn(void* to, const void* from, int64_t bytes) override { return device_->CopyIn(to, from, bytes); }
  bool CopyOut(void* to, const void* from, int64_t bytes) override { return device_->CopyOut(to, from, bytes); }

 private:
  const std::unique_ptr<cuda::Device> device_;
};

// As a module on a GPU is called with tensors of the host.
TEST(Emulation, TensorsOfTheHostAreCopied) {
  const auto lowered = Lower(Module(ParseFunctionOrDie(kAdd)), Gpu());
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const auto program = cuda::EmitProgram(*lowered, Gpu());
  ASSERT_TRUE(program.ok()) << program.status();
  auto device = cuda::EmulatedDevice(*program);
  ASSERT_TRUE(device.ok()) << device.status();
  const auto module = cuda::CudaModule::Make(*program, std::make_unique<Apart>(*std::move(device)));
  ASSERT_TRUE(module.ok()) << module.status();
  std::vector<float> a(300, 1), b(300, 2), c(300), alpha = {3};
  const TwDataType type = AbiType(DataType::Float(32));
  runtime::Tensor tensors[] = {
      runtime::Tensor::Borrow(a.data(), type, {300}), runtime::Tensor::Borrow(b.data(), type, {300}),
      runtime::Tensor::Borrow(c.data(), type, {300}), runtime::Tensor::Borrow(alpha.data(), type, {})};
  std::vector<TwTensor*> args;
  for (runtime::Tensor& tensor : tensors) args.push_back(tensor.abi());
  const absl::Status status = (*module)->Run("main", args);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(c, ::testing::Each(7));
}

// Scalars without a sign, whose differences wrap and whose upper half is large, in a condition of the host.
TEST(Emulation, UnsignedScalarsDecideAsInTheProgram) {
  const auto code = CompileAndLoad(Module(ParseOrDie(R"(
@T.prim_func
def main(A: T.Buffer((64,), "int32"), x: T.uint32, y: T.uint64):
    if x - T.uint32(2) > T.uint32(5) and y // T.uint64(2) > T.uint64(9):
        for i in T.thread_binding(64, thread="threadIdx.x"):
            A[i] = 1
)")),
                                   Gpu(), {.emulate = true});
  ASSERT_TRUE(code.ok()) << code.status();
  struct Call {
    uint32_t x;
    uint64_t y;
    int32_t taken;
  };
  for (Call call :
       {Call{1, ~uint64_t{0}, 1}, {7, ~uint64_t{0}, 0}, {8, uint64_t{1} << 63, 1}, {8, 19, 0}, {8, 20, 1}}) {
    alignas(64) int32_t a[64] = {};
    runtime::Tensor tensors[] = {runtime::Tensor::Borrow(a, AbiType(DataType::Int(32)), {64}),
                                 runtime::Tensor::Borrow(&call.x, AbiType(DataType::UInt(32)), {}),
                                 runtime::Tensor::Borrow(&call.y, AbiType(DataType::UInt(64)), {})};
    ASSERT_TRUE(
        (*code)->Run("main", std::vector<TwTensor*>{tensors[0].abi(), tensors[1].abi(), tensors[2].abi()}).ok());
    EXPECT_THAT(a, ::testing::Each(call.taken)) << call.x << ", " << call.y;
  }
}

TEST(Emulation, ArgumentsAreChecked) {
  const auto code = CompileAndLoad(Module(ParseOrDie(kAdd)), Gpu(), {.emulate = true});
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ((*code)->Find("other"), nullptr);
  char message[128] = "";
  const TwCall call = {.message = message, .message_bytes = sizeof(message)};
  TwTensor* none[4] = {};
  EXPECT_EQ((*code)->Find("main")(&call, none, 3), kTwErrorArgumentCount);
  EXPECT_STREQ(message, "main takes 4 arguments, got 3");
  EXPECT_EQ((*code)->Find("main")(&call, none, 4), kTwErrorNullArgument);
  EXPECT_STREQ(message, "argument 0 (A) is null");
}

TEST(Emulation, TextIsReadable) {
  const auto text = Compile(Module(ParseOrDie(kAdd)), Gpu(), {.format = "cu"});
  ASSERT_TRUE(text.ok()) << text.status();
  for (const char* part :
       {"__launch_bounds__(128)", "tw::Global<const float> __restrict__ A", "C, int32_t n, float alpha) {",
        "const int32_t i_0 = int32_t(blockIdx.x);", "if (i_0 * 128 + i_1 < n) {"}) {
    EXPECT_THAT(text->bytes, HasSubstr(part));
  }
}

}  // namespace
}  // namespace tilewright
