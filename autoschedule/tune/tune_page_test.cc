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
                                .least_seconds = 0.9e-3 / (i + 1),
                                .most_seconds = 1.1e-3 / (i + 1),
                                .choices = {{"C.rows", i, {0, 1, 2, 3}}, {"C.depth", 7, {7}}},
                                .projected = 1.0 / (i + 1),
                                .learned = i == 0 ? std::optional<double>() : i});
  }
  run.measurements.push_back({.at_seconds = 6, .failure = "crash"});
  run.statistics = {.tries = 20, .repeated = 3, .refused = {{"split: no", 2}}, .measured = 5, .failed = {{"crash", 1}}};
  run.facts = {{"threads", "2"}};
  run.failures = {"crash: it < fell"};
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

TEST(TunePage, ComparesWithTheRules) {
  const std::string html = ToHtml(SmallRun());
  EXPECT_THAT(
      html, HasSubstr("The rules' schedule took 1 ms, 4 times as long as the fastest, which differs in: C.rows=3</p>"));
  EXPECT_THAT(html, HasSubstr("<th>threads</th><td>2</td>"));
  // Fastest first, with what the rules do not choose; the rules' own with all.
  EXPECT_THAT(
      html, HasSubstr("0.25</td><td>0.225 to 0.275</td><td class=\"number\">4.0</td><td class=\"choices\">C.rows=3<"));
  EXPECT_THAT(html, HasSubstr("the rules' schedule: C.rows=0 C.depth=7"));
  EXPECT_THAT(html, HasSubstr("crash: it &lt; fell"));
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
