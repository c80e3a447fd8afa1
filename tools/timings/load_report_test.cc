#include "tools/timings/load_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "nlohmann/json.hpp"

namespace tilewright {
namespace {

using testing::HasSubstr;

void LoadSomething() {
  {
    const Phase import("import");
  }
  const Phase kernels("kernels");
  for (int k = 0; k < 25; ++k) {
    const PhaseSubject subject("k" + std::to_string(k));
    const Phase lower("lower");
    Phase unroll("unroll");
    unroll.End();
    unroll.Nodes(10, 20);
  }
}

TEST(LoadReport, HasPhasesAndKernels) {
  LoadReport report;
  LoadSomething();
  report.Finish();
  {
    const Phase later("later");
  }
  const std::string text = report.ToText();
  EXPECT_THAT(text, HasSubstr("loaded in "));
  EXPECT_THAT(text, HasSubstr("peak memory "));
  EXPECT_THAT(text, HasSubstr("  import\n"));
  EXPECT_THAT(text, HasSubstr("250       500"));  // nodes of all 25 calls
  EXPECT_THAT(text, HasSubstr("      unroll\n"));
  EXPECT_THAT(text, testing::ContainsRegex("k[0-9]+: unroll "));  // of the 20 that took longest
  EXPECT_THAT(text, HasSubstr("and 5 more\n"));
  EXPECT_EQ(text.find("later"), std::string::npos);

  const nlohmann::json json = report.ToJson();
  EXPECT_EQ(json["phases"].size(), 4u);
  EXPECT_EQ(json["phases"][3]["phase"], "kernels/lower/unroll");
  EXPECT_EQ(json["phases"][3]["nodes_after"], 500);
  EXPECT_EQ(json["kernels"].size(), 25u);
  EXPECT_EQ(json["kernels"][0]["phases"].size(), 2u);
  EXPECT_GT(json["peak_bytes"], 0);
  EXPECT_GE(json["seconds"], 0.0);
}

}  // namespace
}  // namespace tilewright
