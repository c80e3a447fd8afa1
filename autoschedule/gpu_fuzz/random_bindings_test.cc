#include "autoschedule/gpu_fuzz/random_bindings.h"

#include <gtest/gtest.h>

#include <set>

#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"
#include "schedule/testing/equivalence.h"
#include "target/target.h"
#include "verify/verify.h"

namespace tilewright::fuzz {
namespace {

constexpr char kProduct[] = R"(
@T.prim_func
def main(A: T.Buffer((12, 20), "int32"), W: T.Buffer((20, 8), "int32"), C: T.Buffer((12, 8), "int32")):
    P = T.alloc_buffer((12, 8), "int32")
    for i, j, k in T.grid(12, 8, 20):
        with T.block("P"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                P[vi, vj] = 0
            P[vi, vj] = P[vi, vj] + A[vi, vk] % 7 * (W[vk, vj] % 7)
    for i, j in T.grid(12, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.max(P[vi, vj], 0)
)";

Function Bound(uint64_t seed) {
  Schedule sch(ParseOrDie(kProduct), {.seed = seed});
  Random random(seed);
  ApplyRandomBindings(sch, random);
  return sch.module().Find("main");
}

TEST(RandomBindings, DependOnTheSeedAlone) {
  std::set<std::string> texts;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::string text = Print(Bound(seed));
    EXPECT_EQ(text, Print(Bound(seed))) << seed;
    texts.insert(text);
  }
  EXPECT_GT(texts.size(), 10u);
}

// What is drawn may be refused, by kernels that share no memory for example; what is proven computes the same.
TEST(RandomBindings, WhatIsProvenComputesTheSame) {
  const Function plain = ParseFunctionOrDie(kProduct);
  const Target target = *NamedTarget("cuda-sm80");
  int with_threads = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Function bound = Bound(seed);
    if (Worst(VerifyProgram(bound, &target).diagnostics) == Verdict::kRefuted) continue;
    const std::string text = Print(bound);
    with_threads += text.find("threadIdx") != std::string::npos;
    EXPECT_TRUE(testing::SameResults(plain, bound)) << seed << "\n" << text;
  }
  EXPECT_GT(with_threads, 5);
}

}  // namespace
}  // namespace tilewright::fuzz
