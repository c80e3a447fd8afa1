#include "bench/report/report.h"

#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace tilewright::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Workload MakeWorkload(const char* text) {
  const Shape shape = ParseShapes(text)->front();
  return {.shape = shape, .dtype = DType::kF32, .problem = MakeProblem(shape).value()};
}

VariantResult Variant(const char* name, double ms) {
  return {.variant = name,
          .timing = {.median_ms = ms, .p10_ms = 0.9 * ms, .p90_ms = 1.1 * ms, .samples = 12},
          .max_relative_error = 1e-7};
}

Report MakeReport() {
  const Workload first = MakeWorkload("GMM:1,100,100,100"), second = MakeWorkload("C2D:1,7,7,8,8,3,1,1");
  Report report = {.machine = {.cpu = "Some <CPU>", .cpus = 4, .threads = 2},
                   .peak = {.f32_gflops = 16, .read_gbs = 20},
                   .commit = "abc",
                   .command = "operators --ops=GMM \xFF"};
  report.results.push_back({.workload = first,
                            .implementation = "tilewright",
                            .version = "1",
                            .variants = {Variant("", 0.25)},
                            .tolerance = 1e-6,
                            .tune_seconds = 30,
                            .trials = 64});
  report.results.push_back({.workload = first,
                            .implementation = "onednn",
                            .version = "2.6.3",
                            .variants = {Variant("any", 0.5), Variant("plain", 0.75)},
                            .tolerance = 1e-6});
  report.results.push_back({.workload = first, .implementation = "openblas", .error = "OpenBLAS has f32 only"});
  report.results.push_back(
      {.workload = second, .implementation = "tilewright", .variants = {Variant("", 0.001)}, .tolerance = 1e-6});
  report.results.push_back(
      {.workload = second, .implementation = "onednn", .variants = {Variant("plain", 0.0005)}, .tolerance = 1e-6});
  return report;
}

TEST(Report, JsonHasTheDocumentedFields) {
  const auto json = nlohmann::json::parse(ToJson(MakeReport()));
  EXPECT_EQ(json["machine"]["cpu"], "Some <CPU>");
  EXPECT_EQ(json["machine"]["threads"], 2);
  EXPECT_EQ(json["peak"]["f32"], 16);
  EXPECT_EQ(json["peak"]["read_gbs"], 20);
  EXPECT_EQ(json["peak"]["bf16"], 0);
  EXPECT_EQ(json["commit"], "abc");
  ASSERT_EQ(json["results"].size(), 5u);
  const auto& own = json["results"][0];
  EXPECT_EQ(own["op"], "GMM");
  EXPECT_EQ(own["shape"], "1,100,100,100");
  EXPECT_EQ(own["dtype"], "f32");
  EXPECT_EQ(own["flops"], 2e6);
  EXPECT_EQ(own["bytes"], 120000);
  EXPECT_EQ(own["impl"], "tilewright");
  EXPECT_EQ(own["version"], "1");
  EXPECT_EQ(own["median_ms"], 0.25);
  EXPECT_EQ(own["p10_ms"], 0.225);
  EXPECT_DOUBLE_EQ(own["p90_ms"], 0.275);
  EXPECT_EQ(own["samples"], 12);
  EXPECT_EQ(own["gflops"], 8);
  EXPECT_EQ(own["percent_of_peak"], 50);
  EXPECT_EQ(own["max_rel_error"], 1e-7);
  EXPECT_EQ(own["tolerance"], 1e-6);
  EXPECT_EQ(own["checked"], true);
  EXPECT_EQ(own["tune_seconds"], 30);
  EXPECT_EQ(own["trials"], 64);
  EXPECT_FALSE(own.contains("error"));
}

TEST(Report, JsonListsVariantsAndErrors) {
  const auto json = nlohmann::json::parse(ToJson(MakeReport()));
  EXPECT_EQ(json["results"][1]["median_ms"], 0.5);
  EXPECT_EQ(json["results"][1]["variant"], "any");
  EXPECT_EQ(json["results"][1]["variants"][1]["variant"], "plain");
  EXPECT_EQ(json["results"][1]["variants"][1]["median_ms"], 0.75);
  EXPECT_EQ(json["results"][2]["error"], "OpenBLAS has f32 only");
  EXPECT_FALSE(json["results"][2].contains("median_ms"));
}

TEST(Report, TextHasEveryLineAndTheMeans) {
  const std::string text = ToText(MakeReport());
  EXPECT_THAT(text, HasSubstr("Peak: f32 16 GFLOP/s, bf16 dot not on this CPU, int8 dot not on this CPU, read 20 GB/s; "
                              "measured on all threads before the results\n"));
  EXPECT_THAT(text, HasSubstr("GMM 1,100,100,100 f32\n"));
  EXPECT_THAT(text,
              ::testing::ContainsRegex("  tilewright +0.25000 +0.22500 +0.27500 +12 +8.0 GFLOP/s +50.0% +2.000\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("  onednn plain +0.75000 [^\n%]*\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("  openblas +OpenBLAS has f32 only\n"));
  // The mean of 2 and 0.5.
  EXPECT_THAT(text, HasSubstr("Geometric mean of tilewright against the fastest other peer: 1.000 over 2 workloads"));
  EXPECT_THAT(text, Not(HasSubstr("mean of openblas")));
}

TEST(Report, InexactPeersAreLinesWithTheirError) {
  Report report = MakeReport();
  report.results[1].variants[0].inexact = true;
  report.results[1].variants[0].max_relative_error = 0.25;
  report.results[4].operands = "weights of 7 bits, even";
  const std::string text = ToText(report);
  EXPECT_THAT(text, ::testing::ContainsRegex("  onednn any +0.50000 [^\n]*  inexact by 0.25\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("  onednn plain +0.00050 [^\n]*  weights of 7 bits, even\n"));
  EXPECT_THAT(text, HasSubstr("Inexact: "));
  EXPECT_THAT(text, HasSubstr("Weights of 7 bits: "));
  // The mean is that of the second workload alone.
  EXPECT_THAT(text, HasSubstr("Geometric mean of tilewright against the fastest other peer: 0.500 over 1 workloads"));
  report.results[1].variants[1].max_relative_error = INFINITY;
  const auto json = nlohmann::json::parse(ToJson(report));
  EXPECT_EQ(json["results"][1]["inexact"], 0.25);
  EXPECT_EQ(json["results"][1]["median_ms"], 0.5);
  EXPECT_EQ(json["results"][1]["variants"][1]["max_rel_error"], "not a number");
  EXPECT_EQ(json["results"][4]["operands"], "weights of 7 bits, even");
  EXPECT_FALSE(json["results"][0].contains("inexact"));
}

TEST(Report, SaysWhatOtherProcessesDisturbed) {
  Report report = MakeReport();
  EXPECT_THAT(ToText(report), Not(HasSubstr("  disturbed\n")));
  report.other_load = 0.3;
  Timing& timing = report.results[0].variants[0].timing;
  timing.blocks = 20;
  timing.quiet_blocks = 1;
  EXPECT_THAT(ToText(report), HasSubstr("Other processes took 30.0% of the CPU time\n"));
  EXPECT_THAT(ToText(report), ::testing::ContainsRegex("  tilewright [^\n]* 2.000  disturbed\n"));
  const auto json = nlohmann::json::parse(ToJson(report));
  EXPECT_EQ(json["other_load"], 0.3);
  EXPECT_EQ(json["results"][0]["blocks"], 20);
  EXPECT_EQ(json["results"][0]["quiet_blocks"], 1);
}

TEST(Report, HtmlIsEscapedAndHasOneChartPerWorkload) {
  const std::string html = ToHtml(MakeReport());
  EXPECT_THAT(html, HasSubstr("Some &lt;CPU&gt;"));
  EXPECT_THAT(html, Not(HasSubstr("Some <CPU>")));
  size_t charts = 0;
  for (size_t at = html.find("<svg"); at != std::string::npos; at = html.find("<svg", at + 1)) ++charts;
  EXPECT_EQ(charts, 2u);
}

}  // namespace
}  // namespace tilewright::bench
