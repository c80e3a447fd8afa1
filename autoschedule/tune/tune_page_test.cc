#include "autoschedule/tune/tune_page.h"

#include <gtest/gtest.h>

#include "gmock/gmock.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TuningRun SmallRun() {
  TuningRun run{.title = "a<b>.py", .command = "tune a<b>.py", .target = "host"};
  for (int i = 0; i < 4; ++i) {
    run.measurements.push_back({.at_seconds = 1.0 + i,
                                .seconds = 1e-3 / (i + 1),
                                .projected = 1.0 / (i + 1),
                                .learned = i == 0 ? std::optional<double>() : i});
  }
  run.measurements.push_back({.at_seconds = 6, .failure = "crash"});
  run.statistics = {.tries = 20, .repeated = 3, .refused = {{"split: no", 2}}, .measured = 5, .failed = {{"crash", 1}}};
  run.best_seconds = 0.25e-3;
  run.bound_seconds = 0.2e-3;
  run.trace = "b0 = sch.get_block(\"C\")";
  run.program = "for i in range(4) < 5";
  return run;
}

TEST(TunePage, ShowsTheRun) {
  const std::string html = ToHtml(SmallRun());
  EXPECT_THAT(html, HasSubstr("Tuning of a&lt;b&gt;.py"));
  EXPECT_THAT(html, HasSubstr("Best: 0.25 ms, 80.0% of what no schedule passes"));
  EXPECT_THAT(html, HasSubstr("refused: split: no</td><td class=\"number\">2"));
  EXPECT_THAT(html, HasSubstr("failed: crash</td><td class=\"number\">1"));
  EXPECT_THAT(html, HasSubstr("with a time</td><td class=\"number\">4"));
  // The order is right for the first model and wrong for the second.
  EXPECT_THAT(html, HasSubstr("The projected model, asked before each was measured: rank correlation 1.000 over 4"));
  EXPECT_THAT(html, HasSubstr("The learned model, asked before each was measured: rank correlation -1.000 over 3"));
  EXPECT_THAT(html, HasSubstr("b0 = sch.get_block(&quot;C&quot;)"));
  EXPECT_THAT(html, HasSubstr("</html>"));
}

TEST(TunePage, StandsAlone) {
  const std::string html = ToHtml(SmallRun());
  for (const char* loads : {"<script", "<link", "<img", "http:", "https:", "url("}) {
    EXPECT_THAT(html, Not(HasSubstr(loads)));
  }
}

TEST(TunePage, SaysWhenThereIsNothing) {
  const std::string html = ToHtml({.title = "a.py"});
  EXPECT_THAT(html, HasSubstr("Nothing was measured."));
  EXPECT_THAT(html, HasSubstr("predicted too few"));
}

}  // namespace
}  // namespace tilewright
