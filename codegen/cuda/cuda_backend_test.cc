#include "codegen/cuda/cuda_backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/cuda/driver.h"
#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kTwice[] = R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.thread_binding(64, thread="threadIdx.x"):
        B[i] = A[i] * T.float32(2)
)";

TEST(CudaBackend, IsTheOneOfGpus) {
  const auto backend = MakeCudaBackend();
  EXPECT_EQ(backend->name(), "cuda");
  EXPECT_THAT(backend->formats(), ElementsAre("so", "cu", "ptx", "cubin"));
  EXPECT_TRUE(backend->Supports(*NamedTarget("cuda-sm75")));
  EXPECT_FALSE(backend->Supports(*NamedTarget("x86-haswell")));
  EXPECT_FALSE(backend->Supports(*NamedTarget("arm-neoverse-n1")));
}

// Text of kernels comes with text that starts them where a name says in which file their code will lie.
TEST(CudaBackend, WritesTheHostsPartForANamedFile) {
  const auto backend = MakeCudaBackend();
  const Module module = ParseOrDie(kTwice);
  const Target target = *NamedTarget("cuda-sm90a");
  const auto kernels = backend->Compile(module, target, {.format = "cu"});
  ASSERT_TRUE(kernels.ok()) << kernels.status();
  EXPECT_THAT(kernels->bytes, HasSubstr("__global__"));
  EXPECT_EQ(kernels->host_part, "");
  const auto both = backend->Compile(module, target, {.format = "cu", .cubin_name = "twice.cubin"});
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->bytes, kernels->bytes);
  EXPECT_THAT(both->host_part, HasSubstr("twice.cubin"));
  EXPECT_THAT(both->host_part, Not(HasSubstr("#error")));
}

TEST(CudaBackend, NeedsADriverToLoadCode) {
  std::string why;
  if (cuda::Driver::Open(&why) != nullptr) GTEST_SKIP() << "this machine has a driver";
  const auto loaded = MakeCudaBackend()->Load(ParseOrDie(kTwice), *NamedTarget("cuda-sm90a"), {});
  EXPECT_EQ(loaded.status(), absl::FailedPreconditionError(why));
  EXPECT_NE(why, "");
}

}  // namespace
}  // namespace tilewright
