#include "autoschedule/tune/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilewright {
namespace {

using ::testing::HasSubstr;
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

}  // namespace
}  // namespace tilewright
