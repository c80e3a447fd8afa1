// The text of kernels compiles for GPUs by NVRTC, with no spills; skipped where NVRTC is not installed.
#include "codegen/cuda/nvrtc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/substitute.h"
#include "codegen/backend.h"
#include "codegen/cuda/preamble.h"
#include "codegen/cuda/ptxas_log.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Preamble, HoldsWhatTheTextUses) {
  const std::string text = cuda::PreambleFor(
      "extern \"C\" __global__ void k(tw::Global<const tw::f16> A, float* B) { B[0] = tw::exp(tw::widen(A[0])); }\n");
  for (const char* part : {"using Global = T*;", "struct f16", "TW_FUNCTION(exp, expf, exp)", "float widen(f16 v)"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  for (const char* part : {"struct bf16", "mma", "tw_dynamic_shared", "ldmatrix", "expm1", "widen(bf16"}) {
    EXPECT_THAT(text, Not(HasSubstr(part)));
  }
  const std::string products = cuda::PreambleFor(
      "extern \"C\" __global__ void k(float* d, const unsigned* a) { tw::mma_m16n8k16_f32_f16(d, a, a); }\n");
  for (const char* part : {"TW_MMA(m16n8k16_f32_f16,", "#define TW_MMA_442(", "#define TW_SUM_float"}) {
    EXPECT_THAT(products, HasSubstr(part));
  }
  EXPECT_THAT(products, Not(HasSubstr("TW_MMA(m16n8k16_f32_bf16")));
}

TEST(Preamble, HasNoPairsForOlderGpus) {
  const std::string kernel =
      "extern \"C\" __global__ void k(float* A, tw::f16* B, tw::bf16* C) { B[0] = tw::narrow<tw::f16>(A[0]); C[0] = "
      "tw::narrow<tw::bf16>(A[0]); tw::Store(B, tw::pack_f16(A[0], A[1])); tw::Store(C, tw::pack_bf16(A[0], A[1])); "
      "}\n";
  const std::string pairs = cuda::PreambleFor(kernel) + kernel, single = cuda::PreambleFor(kernel, false) + kernel;
  EXPECT_THAT(pairs, HasSubstr("cvt.rn.bf16x2.f32"));
  EXPECT_THAT(single, Not(HasSubstr("x2.f32")));
  if (!cuda::NvrtcIsInstalled()) GTEST_SKIP() << "NVRTC is not installed";
  EXPECT_EQ(cuda::CompileWithNvrtc(single, "sm_75").status(), absl::OkStatus());
  EXPECT_EQ(cuda::CompileWithNvrtc(pairs, "sm_80").status(), absl::OkStatus());
}

TEST(PtxasLog, IsCounted) {
  const Counters counters = cuda::CountersOfLog(
      "ptxas info    : Compiling entry function 'a' for 'sm_90a'\n"
      "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 2 barriers\n"
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 40 registers\n");
  EXPECT_EQ(
      counters,
      (Counters{
          {kRegistersCounter, 168}, {kStackBytesCounter, 8}, {kSpillBytesCounter, 16}, {kPtxasWarningsCounter, 1}}));
  EXPECT_TRUE(ExceededLimit(counters, GpuLimits()).has_value());
  EXPECT_FALSE(ExceededLimit({{kRegistersCounter, 255}, {kStackBytesCounter, 0}}, GpuLimits()).has_value());
}

// Every type, every function of numbers, conversions from and to it.
std::string Program(const std::string& type) {
  std::string value = "A[v] * A[v] + A[v]";
  const bool real = type.find("float") != std::string::npos;
  if (real) {
    for (const char* f : {"exp",   "exp2", "exp10",   "log",   "log2", "log10", "log1p", "sqrt",       "rsqrt", "sin",
                          "cos",   "tan",  "asin",    "acos",  "atan", "sinh",  "cosh",  "tanh",       "asinh", "acosh",
                          "atanh", "erf",  "sigmoid", "floor", "ceil", "trunc", "round", "round_away", "abs"}) {
      value += absl::Substitute(" + T.$0(A[v])", f);
    }
    for (const char* f : {"pow", "atan2", "hypot", "fmod", "copysign", "nextafter"}) {
      value += absl::Substitute(" + T.$0(A[v], A[v])", f);
    }
    value += " + T.fma(A[v], A[v], A[v]) + T.ldexp(A[v], 3)";
  } else {
    value += " + A[v] // A[v] + A[v] % A[v] + T.truncdiv(A[v], A[v]) + T.bitwise_not(A[v]) + T.min(A[v], A[v])";
  }
  for (const char* other : {"int8", "uint64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float64"}) {
    if (type != other) value += absl::Substitute(" + T.Cast(\"$0\", T.Cast(\"$1\", A[v]))", type, other);
  }
  return absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((1024,), "$0"), B: T.Buffer((1024,), "$0")):
    for i in T.thread_binding(8, thread="blockIdx.x"):
        for j in T.thread_binding(128, thread="threadIdx.x"):
            with T.block("B"):
                v = T.axis.spatial(1024, i * 128 + j)
                B[v] = $1
)",
                          type, value);
}

TEST(Nvrtc, CompilesEveryTypeAndFunction) {
  if (!cuda::NvrtcIsInstalled()) GTEST_SKIP() << "NVRTC is not installed";
  for (const char* type : {"float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int8", "uint8",
                           "int32", "int64", "uint32", "uint64"}) {
    for (const char* target : {"cuda-sm80", "cuda-sm90a"}) {
      const auto cubin = Compile(Module(ParseOrDie(Program(type))), NamedTarget(target).value(), {.format = "cubin"});
      ASSERT_TRUE(cubin.ok()) << type << ": " << cubin.status();
      EXPECT_EQ(cubin->bytes.substr(1, 3), "ELF");
      EXPECT_EQ(cubin->counters.at(kSpillBytesCounter), 0) << type;
    }
  }
}

TEST(Nvrtc, WritesPtxAndCounts) {
  if (!cuda::NvrtcIsInstalled()) GTEST_SKIP() << "NVRTC is not installed";
  const auto ptx = Compile(Module(ParseOrDie(Program("int32"))), NamedTarget("cuda-sm90a").value(), {.format = "ptx"});
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  EXPECT_THAT(ptx->bytes, HasSubstr(".target sm_90a"));
  EXPECT_GT(ptx->counters.at(kRegistersCounter), 0);
  EXPECT_EQ(ExceededLimit(ptx->counters, GpuLimits()), std::nullopt);
}

// Each thread has an array for itself, and chooses elements of it by `place`.
std::string WithAnArray(const std::string& function, const std::string& place) {
  return absl::Substitute(R"(
@T.prim_func
def main(A: T.Buffer((64, 40), "float32"), P: T.Buffer((40,), "int32"), B: T.Buffer((64,), "float32")):
    for i in T.thread_binding(64, thread="threadIdx.x"):
        own = T.alloc_buffer((40,), "float32", scope="local")
        for j in T.unroll(40):
            own[j] = T.$0(A[i, j]) + T.$0(A[i, 39 - j])
        for j in T.unroll(40):
            own[$1] = own[$1] * T.cos(A[i, j]) + T.tan(A[i, 1])
        B[i] = own[0] + own[1]
)",
                          function, place);
}

TEST(Nvrtc, FramesOfCudaAreNoReasonToRefuse) {
  if (!cuda::NvrtcIsInstalled()) GTEST_SKIP() << "NVRTC is not installed";
  const Target target = NamedTarget("cuda-sm90a").value();
  const auto frame = [&](const std::string& function, const std::string& element) {
    const auto cubin =
        Compile(Module(ParseOrDie(WithAnArray(function, element))), target, {.format = "cubin", .count = true});
    EXPECT_TRUE(cubin.ok()) << cubin.status();
    return cubin.ok() ? cubin->counters.at(kStackBytesCounter) : -1;
  };
  EXPECT_EQ(frame("sin", "j"), 0);
  // An index that is known at run time alone keeps the array out of registers.
  EXPECT_EQ(frame("sin", "P[j]"), 160);
  EXPECT_EQ(frame("exp", "P[j]"), 160);
}

TEST(Nvrtc, RefusesKernelsWithoutRoom) {
  const char* text = R"(
@T.prim_func
def main(A: T.Buffer((50000,), "float32"), B: T.Buffer((50000,), "float32")):
    for i in T.thread_binding(1, thread="blockIdx.x"):
        S = T.alloc_buffer((50000,), "float32", scope="shared")
        for j in range(50000):
            S[j] = A[j]
        for j in range(50000):
            B[j] = S[49999 - j]
)";
  const auto compiled = Compile(Module(ParseOrDie(text)), NamedTarget("cuda-sm80").value(), {.format = "cu"});
  EXPECT_EQ(compiled.status().message(),
            "the kernel main_kernel needs 200000 bytes of shared memory, cuda-sm80 has 166912");
  EXPECT_TRUE(Compile(Module(ParseOrDie(text)), NamedTarget("cuda-sm90a").value(), {.format = "cu"}).ok());
}

TEST(Nvrtc, RefusesWrongText) {
  if (!cuda::NvrtcIsInstalled()) GTEST_SKIP() << "NVRTC is not installed";
  EXPECT_THAT(std::string(cuda::CompileWithNvrtc("int f(;", "sm_80").status().message()),
              HasSubstr("NVRTC refuses the text of the kernels: "));
}

}  // namespace
}  // namespace tilewright
