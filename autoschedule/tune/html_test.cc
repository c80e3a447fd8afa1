#include "autoschedule/tune/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Html, EscapesWhatTagsAndAttributesAreMadeOf) {
  EXPECT_EQ(EscapeHtml("A[i] < 3 && \"b\" > 'c'"), "A[i] &lt; 3 &amp;&amp; &quot;b&quot; &gt; 'c'");
  EXPECT_EQ(EscapeHtml(""), "");
}

TEST(Html, PagesNameWhatTheyAreAbout) {
  const std::string page = PageBegin("<main>", "td { color: red; }");
  EXPECT_THAT(page, HasSubstr("<title>&lt;main&gt;</title>"));
  EXPECT_THAT(page, HasSubstr("<h1>&lt;main&gt;</h1>"));
  EXPECT_THAT(page, HasSubstr("td { color: red; }"));
  EXPECT_THAT(page, Not(HasSubstr("<main>")));
}

TEST(Html, TicksAreRound) {
  EXPECT_THAT(RoundTicks(0.3, 47, 5), ElementsAre(10, 20, 30, 40));
  EXPECT_THAT(RoundTicks(0, 1, 4), ElementsAre(0, 0.5, 1));
  EXPECT_THAT(RoundTicks(5, 5, 4), IsEmpty());
  EXPECT_THAT(RoundTicksOfLogarithm(0.9, 30), ElementsAre(1, 2, 5, 10, 20));
  EXPECT_THAT(RoundTicksOfLogarithm(0.0005, 200),
              ElementsAre(DoubleNear(1e-3, 1e-9), DoubleNear(1e-2, 1e-9), DoubleNear(0.1, 1e-9), DoubleNear(1, 1e-9),
                          DoubleNear(10, 1e-9), DoubleNear(100, 1e-9)));
  EXPECT_THAT(RoundTicksOfLogarithm(1.1, 1.9).size(), testing::Ge(3u));
  EXPECT_THAT(RoundTicksOfLogarithm(0, 4), IsEmpty());
}

TEST(Html, FactsAreEscaped) {
  EXPECT_EQ(FactsTable({{"a", "b < c"}}), "<table>\n<tr><th>a</th><td>b &lt; c</td></tr>\n</table>\n");
}

}  // namespace
}  // namespace tilewright
