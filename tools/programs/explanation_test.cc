#include "tools/programs/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "ir/script/parse_or_die.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Explanation OfCopy() {
  return Explain(ParseFunctionOrDie(R"(
@T.prim_func
def main(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32")):
    for i in range(4096):
        with T.block("B"):
            vi = T.axis.spatial(4096, i)
            B[vi] = A[vi]
)"),
                 *NamedTarget("x86-znver4"));
}

TEST(Explanation, SaysTheSameAsTextAndAsAPage) {
  const Explanation explanation = OfCopy();
  std::ostringstream text;
  PrintExplanation(explanation, text);
  EXPECT_THAT(text.str(), HasSubstr("main on x86-znver4 (znver4, 2 cores)\n  projected "));
  const std::string page = ExplanationPage({.title = "a<b>.py",
                                            .remarks = {"r < s"},
                                            .parts = {explanation},
                                            .texts = {{"Schedule", "sch.x()"}, {"Program", "A < B"}}});
  for (const ExplanationSection& section : explanation.sections) {
    EXPECT_THAT(page, HasSubstr("<h2>" + section.title + "</h2>"));
    for (const auto& row : section.rows) EXPECT_THAT(page, HasSubstr(row.value));
  }
  EXPECT_THAT(page, HasSubstr("Explanation of a&lt;b&gt;.py"));
  EXPECT_THAT(page, HasSubstr("<p>r &lt; s</p>"));
  EXPECT_THAT(page, HasSubstr("<pre>sch.x()</pre>"));
  EXPECT_THAT(page, HasSubstr("<pre>A &lt; B</pre>"));
  EXPECT_THAT(page, HasSubstr("<div class=\"bar\" style=\"width:"));
  EXPECT_THAT(page, HasSubstr("</html>"));
  for (const char* loads : {"<script", "<link", "<img", "http:", "https:", "url("}) {
    EXPECT_THAT(page, Not(HasSubstr(loads)));
  }
}

TEST(Explanation, ProgramsWithoutASchedule) {
  EXPECT_THAT(ExplanationPage({.title = "a.py", .texts = {{"Schedule", ""}}}), Not(HasSubstr("<h2>Schedule</h2>")));
}

}  // namespace
}  // namespace tilewright
