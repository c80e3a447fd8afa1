// Which parallel loops may be run by the caller alone.
#include "autoschedule/sketch/threads_by_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "ir/script/parse_or_die.h"
#include "ir/script/printer.h"

namespace tilewright {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Exponentials of rows of 64 elements.
constexpr char kRows[] = R"(
@T.prim_func
def main(A: T.Buffer((ROWS, 64), "float32"), C: T.Buffer((ROWS, 64), "float32"), n: T.int32):
    for i in T.KIND(ROWS):
        for j in range(64):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.exp(A[vi, vj])
)";

struct Asked {
  std::string program;
  std::vector<std::string> labels;  // of the choices that were made
};
Asked Ask(const std::string& rows, const std::string& kind, int cores, const std::vector<Choice>& given = {}) {
  const std::string text = absl::StrReplaceAll(kRows, {{"ROWS", rows}, {"KIND", kind}});
  Schedule sch{Module(ParseFunctionOrDie(text))};
  Target target = *NamedTarget("x86-znver4");
  target.cores = cores;
  Choices choices = Choices::GivenOrPreferred(given);
  ChooseThreadsBySize(sch, "main", target, choices);
  Asked asked{.program = Print(sch.module().Find("main"))};
  for (const Choice& choice : choices.made()) asked.labels.push_back(choice.name + " " + std::string(choice.label()));
  return asked;
}

TEST(ThreadsBySize, AreAChoiceWhereSizesAreNotKnown) {
  const Asked asked = Ask("n", "parallel", 2);
  EXPECT_THAT(asked.labels, ElementsAre("C.threads_from where_worth"));
  EXPECT_THAT(asked.program, HasSubstr("tilewright.threads_from"));
  const Asked always = Ask("n", "parallel", 2, {Choice::Of("C.threads_from", "always")});
  EXPECT_THAT(always.labels, ElementsAre("C.threads_from always"));
  EXPECT_THAT(always.program, Not(HasSubstr("tilewright.threads_from")));
}

// A step of a recurrent net has loops of its own.
TEST(ThreadsBySize, AreAskedInsideOfBlocks) {
  Schedule sch{Module(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((20, n, 64), "float32"), C: T.Buffer((n, 64), "float32"), n: T.int32):
    for t in range(20):
        with T.block("step"):
            vt = T.axis.opaque(20, t)
            for i in T.parallel(n):
                for j in range(64):
                    with T.block("C"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        C[vi, vj] = T.exp(A[vt, vi, vj]) + C[vi, vj]
)"))};
  Choices choices = Choices::Preferred();
  Target target = *NamedTarget("x86-znver4");
  target.cores = 2;
  ChooseThreadsBySize(sch, "main", target, choices);
  ASSERT_EQ(choices.made().size(), 1u);
  EXPECT_EQ(choices.made()[0].name, "C.threads_from");
  EXPECT_THAT(Print(sch.module().Find("main")), HasSubstr("tilewright.threads_from"));
}

TEST(ThreadsBySize, AreNotAskedOfOtherLoops) {
  EXPECT_THAT(Ask("32", "parallel", 2).labels, IsEmpty());
  EXPECT_THAT(Ask("n", "serial", 2).labels, IsEmpty());
  EXPECT_THAT(Ask("n", "parallel", 1).labels, IsEmpty());
}

}  // namespace
}  // namespace tilewright
