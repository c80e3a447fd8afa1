// Calls of compiled libraries under TVM-FFI's convention, with structs of our own that have its layout.
#include "codegen/abi/tvm_ffi.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "codegen/abi/function_abi.h"
#include "codegen/llvm/object.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using testing::HasSubstr;

std::string& Raised() {
  static auto* const raised = new std::string;
  return *raised;
}

#if HAS_TVM_FFI
extern "C" __attribute__((visibility("default"), used)) void TVMFFIErrorSetRaisedFromCStr(const char* kind,
                                                                                          const char* message) {
  Raised() = std::string(kind) + ": " + message;
}
#endif

struct Value {
  int32_t type_index = 0;
  uint32_t zeros = 0;
  union {
    int64_t whole = 0;
    double real;
    void* pointer;
  };
};
static_assert(sizeof(Value) == 16);

// An object of a foreign library that holds a tensor.
struct TensorObject {
  uint64_t counts = 1;
  int32_t type_index = kTvmFfiTensor;
  uint32_t zeros = 0;
  void* deleter = nullptr;
  TwTensor tensor = {};
};
static_assert(offsetof(TensorObject, tensor) == kTvmFfiObjectBytes);

using FfiFunction = int (*)(void*, const Value*, int32_t, Value*);

constexpr char kAxpy[] = R"(
@T.prim_func
def axpy(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32"), s: T.float32, n: T.int32, h: T.float16,
         go: T.bool):
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.if_then_else(go, A[vi, vj] * s + T.Cast("float32", n) + T.Cast("float32", h), T.float32(0))
)";

class TvmFfi : public testing::Test {
 protected:
  TvmFfi() {
    const std::string path = testing::TempDir() + "/axpy.so";
    const auto library = EmitSharedLibrary(ParseOrDie(kAxpy), HostTarget());
    EXPECT_TRUE(library.ok()) << library.status().message();
    if (library.ok()) std::ofstream(path, std::ios::binary) << *library;
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library_, nullptr) << dlerror();
    if (library_ != nullptr) axpy_ = reinterpret_cast<FfiFunction>(dlsym(library_, "__tvm_ffi_axpy"));
    EXPECT_NE(axpy_, nullptr);
    for (float*& data : data_) data = static_cast<float*>(std::aligned_alloc(64, 4 * 8 * sizeof(float)));
    for (int i = 0; i < 32; ++i) data_[0][i] = static_cast<float>(i);
    a_.tensor = {.data = data_[0], .device = {kTwCpu, 0}, .ndim = 2, .dtype = {kTwFloat, 32, 1}, .shape = shape_};
    b_ = a_.tensor;
    b_.data = data_[1];
    args_ = {{kTvmFfiTensor, 0, {}}, {kTvmFfiTensorPointer, 0, {}}, {kTvmFfiFloat, 0, {}},
             {kTvmFfiInt, 0, {}},    {kTvmFfiFloat, 0, {}},         {kTvmFfiBool, 0, {}}};
    args_[0].pointer = &a_;
    args_[1].pointer = &b_;
    args_[2].real = 0.5;
    args_[3].whole = -3;
    args_[4].real = 0.25;
    args_[5].whole = 1;
  }
  ~TvmFfi() override {
    for (float* data : data_) std::free(data);
    if (library_ != nullptr) dlclose(library_);
  }

  int Call() {
    Raised().clear();
    result_ = {kTvmFfiInt, 7, {}};
    return axpy_(nullptr, args_.data(), static_cast<int32_t>(args_.size()), &result_);
  }
  // What a call that fails says. Without the library that raises errors nothing is said.
  void ExpectError([[maybe_unused]] const std::string& text) {
    EXPECT_EQ(Call(), -1);
#if HAS_TVM_FFI
    EXPECT_THAT(Raised(), HasSubstr(text));
#else
    EXPECT_EQ(Raised(), "");
#endif
  }

  void* library_ = nullptr;
  FfiFunction axpy_ = nullptr;
  int64_t shape_[2] = {4, 8};
  int64_t strides_[2] = {8, 1};
  float* data_[2] = {};
  TensorObject a_;
  TwTensor b_ = {};
  std::vector<Value> args_;
  Value result_;
};

TEST_F(TvmFfi, ComputesOnTensorsAndNumbers) {
  EXPECT_EQ(Call(), 0);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(data_[1][i], 0.5f * static_cast<float>(i) - 2.75f);
  EXPECT_EQ(result_.type_index, 0);  // None
  EXPECT_EQ(result_.whole, 0);
  EXPECT_EQ(result_.zeros, 0);
  args_[2] = {kTvmFfiInt, 0, {}};  // a whole number where a real one is wanted
  args_[2].whole = 2;
  a_.tensor.strides = strides_;
  EXPECT_EQ(Call(), 0);
  EXPECT_EQ(data_[1][10], 20 - 2.75f);
  args_[5].whole = 0;
  EXPECT_EQ(Call(), 0);
  EXPECT_EQ(data_[1][10], 0);
}

TEST_F(TvmFfi, ScalarsMayBeTensorsOfRankZero) {
  float s = 3;
  TwTensor scalar = {.data = &s, .device = {kTwCpu, 0}, .dtype = {kTwFloat, 32, 1}};
  args_[2] = {kTvmFfiTensorPointer, 0, {}};
  args_[2].pointer = &scalar;
  EXPECT_EQ(Call(), 0);
  EXPECT_EQ(data_[1][1], 3 - 2.75f);
}

TEST_F(TvmFfi, RefusesAndNamesTheArgument) {
  args_[3] = {kTvmFfiFloat, 0, {}};
  ExpectError("TypeError: argument 3 (n) is not a whole number (its type index is 3)");
  args_[3] = {kTvmFfiInt, 0, {}};
  args_[3].whole = int64_t{1} << 40;
  ExpectError("TypeError: argument 3 (n): 1099511627776 does not fit int32");
  args_[3].whole = 0;
  args_[2].type_index = 8;
  ExpectError("TypeError: argument 2 (s) is not a number (its type index is 8)");
  args_[2].type_index = kTvmFfiFloat;
  args_[1].type_index = kTvmFfiInt;
  ExpectError("TypeError: argument 1 (B) is not a tensor (its type index is 1)");
  args_[1].type_index = kTvmFfiTensorPointer;
  args_.pop_back();
  ExpectError("TypeError: axpy takes 6 arguments, got 5");
}

TEST_F(TvmFfi, RefusesTensorsThatDoNotFit) {
  b_.dtype.bits = 64;
  ExpectError("TypeError: argument 1 (B) is not of type float32");
  b_.dtype.bits = 32;
  b_.ndim = 1;
  ExpectError("ValueError: argument 1 (B) has 1 dimensions, expected 2");
  b_.ndim = 2;
  shape_[1] = 9;
  ExpectError("ValueError: argument 0 (A): dimension 1 has extent 9, expected 8");
  shape_[1] = 8;
  strides_[0] = 16;
  b_.strides = strides_;
  ExpectError("ValueError: argument 1 (B): dimension 0 has stride 16, expected 8");
  b_.strides = nullptr;
  b_.byte_offset = 4;
  ExpectError("ValueError: argument 1 (B) is not aligned to 64 bytes");
  b_.byte_offset = 0;
  b_.device.device_type = kTwCuda;
  ExpectError("ValueError: argument 1 (B) lies on a device of type 2, not on the CPU");
  b_.device.device_type = kTwCpu;
  b_.data = data_[0];
  ExpectError("ValueError: argument 0 (A) and argument 1 (B) overlap");
  args_[1].pointer = nullptr;
  ExpectError("ValueError: argument 1 (B) is null");
}

}  // namespace
}  // namespace tilewright
