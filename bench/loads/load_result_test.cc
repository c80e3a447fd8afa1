#include "bench/loads/load_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tilewright::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<LoadResult> Results() {
  LoadResult own{.model = "lstm<40>", .implementation = "tilewright", .kernels = 3};
  own.first = {.seconds = 2, .cpu_seconds = 3, .peak_mib = 110};
  own.second = {.seconds = 0.5, .cpu_seconds = 0.5, .peak_mib = 90};
  own.phases = {{"import", 0.1}, {"kernels", 2.5}};
  LoadResult peer{.model = "lstm<40>", .implementation = "onnxruntime"};
  peer.first = {.seconds = 0.125, .peak_mib = 60};
  LoadResult missing{.model = "lstm<40>", .implementation = "openvino", .error = "not installed"};
  return {own, peer, missing};
}

TEST(LoadResult, AsText) {
  const std::string text = ToText({.machine = {.cpu = "a CPU"}, .commit = "abc"}, Results());
  EXPECT_THAT(text, HasSubstr("a CPU"));
  EXPECT_THAT(text, HasSubstr("2.000     3.000     0.500       110        3"));
  EXPECT_THAT(text, HasSubstr("0.125         -         -        60        -"));
  EXPECT_THAT(text, HasSubstr("not installed"));
}

TEST(LoadResult, AsJson) {
  const nlohmann::json json = nlohmann::json::parse(ToJson({.commit = "abc"}, Results()));
  ASSERT_EQ(json["loads"].size(), 3u);
  EXPECT_EQ(json["loads"][0]["second"]["seconds"], 0.5);
  EXPECT_EQ(json["loads"][0]["phases"]["kernels"], 2.5);
  EXPECT_FALSE(json["loads"][1].contains("second"));
  EXPECT_EQ(json["loads"][2]["error"], "not installed");
}

TEST(LoadResult, AsPage) {
  const std::string page = ToHtml({.command = "loads --models=a"}, Results());
  EXPECT_THAT(page, HasSubstr("lstm&lt;40&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("lstm<40>")));
  EXPECT_THAT(page, HasSubstr("width:400px"));  // the longest load
  EXPECT_THAT(page, HasSubstr("width:25px"));
  EXPECT_THAT(page, HasSubstr("kernels"));
}

}  // namespace
}  // namespace tilewright::bench
