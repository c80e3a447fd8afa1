#include "bench/models/nodes/node_report.h"

#include "gtest/gtest.h"

namespace tilewright::bench {
namespace {

ModelResult Of(const char* model, const char* implementation, double ms) {
  ModelResult result{.model = model, .implementation = implementation};
  result.timing = {.median_ms = ms, .p10_ms = ms, .p90_ms = ms, .samples = 1, .blocks = 1, .quiet_blocks = 1};
  return result;
}

TEST(NodeReport, ListsTheSlowestFirst) {
  std::vector<ModelResult> results = {
      Of("fast", "tilewright", 1),          Of("fast", "onnxruntime", 2),  Of("slow", "tilewright", 4),
      Of("slow", "tilewright-symbolic", 8), Of("slow", "onnxruntime", 2),  Of("slow", "openvino", 1),
      Of("alone", "tilewright", 1),         Of("alone", "onnxruntime", 0), Of("refused", "tilewright", 0)};
  results[7].error = "has no such operator";
  results[8].error = "an error of ours";
  const std::vector<NodeRow> rows = NodeRows(results);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].text, "slow");
  EXPECT_EQ(rows[0].ratio, 0.25);
  EXPECT_EQ(rows[0].symbolic_ratio, 0.5);
  EXPECT_EQ(rows[0].fastest->implementation, "openvino");
  EXPECT_EQ(rows[1].text, "fast");
  EXPECT_EQ(rows[2].ratio, 0);

  const std::string text = NodesToText({}, results, 1);
  EXPECT_NE(text.find("openvino     slow"), std::string::npos) << text;
  EXPECT_EQ(text.find("onnxruntime  fast"), std::string::npos) << text;
  EXPECT_NE(text.find("time of onnxruntime over ours: geometric mean 1.000 over 2 cases, 1 below 0.9"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("time of constant extents over a symbolic batch: geometric mean 0.500"), std::string::npos);
  EXPECT_NE(text.find("0.500      4.0000      8.0000  slow\n"), std::string::npos) << text;
  EXPECT_NE(text.find("onnxruntime: has no such operator: alone"), std::string::npos);
  EXPECT_NE(text.find("tilewright: an error of ours: refused"), std::string::npos);

  const std::string page = NodesToMarkdown({}, results, 30, "The machine was loaded.");
  EXPECT_NE(page.find("| `slow` | 0.25 |"), std::string::npos) << page;
  EXPECT_NE(page.find("The machine was loaded."), std::string::npos);
}

}  // namespace
}  // namespace tilewright::bench
