#include "bench/operators/choose_schedule.h"

#include <string>
#include <string_view>

#include "bench/operators/program.h"
#include "gtest/gtest.h"
#include "ir/script/printer.h"
#include "target/target.h"

namespace tilewright::bench {
namespace {

Module ProgramOf(std::string_view text) {
  const Shape shape = ParseShapes(text)->front();
  return Module(MakeProgram({.shape = shape, .dtype = DType::kF16F32, .problem = MakeProblem(shape).value()}).function);
}

// The extents of the blocks of threads, which the tiles decide.
std::string Threads(const Module& module) {
  const std::string text = Print(module.Find("main"));
  std::string threads;
  for (size_t at = text.find("thread=\"threadIdx"); at != text.npos; at = text.find("thread=\"threadIdx", at + 1)) {
    const size_t begin = text.rfind('(', at);
    threads += text.substr(begin, at - begin) + " ";
  }
  return threads;
}

TEST(ChooseSchedule, TakesOverTheTilesOfASimilarProgram) {
  const Target target = *NamedTarget("cuda-sm80");
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const Module small = ProgramOf("GMM:1,128,128,128");
  const auto of_large = ChooseSchedule(ProgramOf("GMM:1,4096,4096,4096"), target, &intrins, {}, {});
  const auto own = ChooseSchedule(small, target, &intrins, {}, {});
  const auto like = ChooseSchedule(small, target, &intrins, {.like = of_large->trace}, {});
  ASSERT_TRUE(of_large.ok() && own.ok() && like.ok());
  EXPECT_NE(Threads(own->module), Threads(of_large->module));
  EXPECT_EQ(Threads(like->module), Threads(of_large->module)) << Print(like->module.Find("main"));
}

}  // namespace
}  // namespace tilewright::bench
