// A small campaign: kernels of every kind, by the rules and by random primitives.
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "autoschedule/gpu_fuzz/judge.h"
#include "autoschedule/gpu_fuzz/random_programs.h"
#include "codegen/cuda/testing/kernel_kinds.h"
#include "ir/script/printer.h"

namespace tilewright::fuzz {
namespace {

constexpr uint64_t kFirst = 201, kCases = 192;
// Cases of kinds that few have: copies of pixels, roles.
constexpr uint64_t kRare[] = {540, 843};

TEST(GpuFuzz, KernelsOfEveryKindAreRight) {
  std::map<std::string, int> kernels, made;
  int all = 0;
  std::vector<uint64_t> numbers(std::begin(kRare), std::end(kRare));
  for (uint64_t number = kFirst; number < kFirst + kCases; ++number) numbers.push_back(number);
  for (const uint64_t number : numbers) {
    const GpuCase each = CaseOf(number);
    const Judged judged = Judge(each);
    EXPECT_NE(judged.result, CaseResult::kWrong) << ToString(each) << "\n"
                                                 << judged.why << "\n"
                                                 << Print(judged.schedule.module());
    kernels[each.kind] += judged.kernels;
    for (const std::string& kind : judged.kernel_kinds) ++made[kind];
    all += judged.kernels;
  }
  EXPECT_GE(all, 100);
  for (const std::string& kind : GpuProgramKinds()) EXPECT_GE(kernels[kind], 4) << kind;
  for (const std::string& kind : cuda::testing::AllKernelKinds()) EXPECT_GE(made[kind], 1) << kind;
}

TEST(GpuFuzz, CasesDependOnTheirNumberAlone) {
  for (const uint64_t number : {uint64_t{7}, uint64_t{17}, uint64_t{27}}) {
    const Judged a = Judge(CaseOf(number)), b = Judge(CaseOf(number));
    EXPECT_EQ(Print(a.schedule.module()), Print(b.schedule.module()));
    EXPECT_EQ(a.result, b.result);
  }
}

}  // namespace
}  // namespace tilewright::fuzz
