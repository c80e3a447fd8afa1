#include "tools/foreign/launch_file.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace tilewright {
namespace {

constexpr char kGood[] = R"({
  "kernel": "gemm<128>", "grid": [4, 2], "block": 128, "cluster": [2], "shared_bytes": 1024, "seed": 3,
  "define": ["N=3"],
  "arguments": [
    {"name": "a", "dtype": "float16", "shape": [8, 4], "seed": 1},
    {"name": "c", "dtype": "float32", "shape": [8], "output": true},
    {"value": 2.5}, {"value": 7, "dtype": "int32"}, {"struct": [1, 2.5]}, {"null": true}, {"array": "a", "offset": 4},
    {"tensor_map": {"array": "a", "box": [4, 8], "swizzle": 32}}
  ],
  "arrays": [{"name": "w", "dtype": "int8", "shape": [3], "fill": 1}]
})";

std::string ErrorOf(const std::string& text) { return std::string(ParseLaunchFile(text).status().message()); }

TEST(LaunchFileTest, ReadsAllFields) {
  const auto file = ParseLaunchFile(kGood);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->kernel, "gemm<128>");
  EXPECT_EQ(file->block, std::vector<int64_t>{128});
  ASSERT_EQ(file->arguments.size(), 8u);
  EXPECT_EQ(file->arguments[0].dtype, DataType::Float(16));
  EXPECT_FALSE(file->arguments[1].has_values());
  EXPECT_EQ(file->arguments[2].value.number, 2.5);
  EXPECT_EQ(file->arguments[7].map.box, (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(file->arrays[0].name, "w");
}

TEST(LaunchFileTest, ErrorsNameTheField) {
  const std::string head = R"({"grid": 1, "block": 32, )";
  EXPECT_EQ(ErrorOf("{"),
            "the text is not JSON: parse error at line 1, column 2: syntax error while parsing object key "
            "- unexpected end of input; expected string literal");
  EXPECT_EQ(ErrorOf("[]"), "the text is not a JSON object");
  EXPECT_EQ(ErrorOf("{\"grid\": " + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}"),
            "grid[0] is not a whole number from 1 to 4294967295");
  EXPECT_EQ(ErrorOf(R"({"block": 1})"), "grid is missing: one to three extents, [8, 8]");
  EXPECT_EQ(ErrorOf(R"({"grid": [1, 0], "block": 1})"), "grid[1] is not a whole number from 1 to 4294967295");
  EXPECT_EQ(ErrorOf(R"({"grid": 1.5, "block": 1})"), "grid is not a whole number from 1 to 4294967295");
  EXPECT_EQ(ErrorOf(R"({"grid": [1, 1, 1, 1], "block": 1})"), "grid has more than 3 numbers");
  EXPECT_EQ(ErrorOf(head + R"("argumens": []})"), "argumens is not a field of it; did you mean arguments?");
  EXPECT_EQ(ErrorOf(head + R"("arguments": [3]})"), "arguments[0] is not an object");
  EXPECT_EQ(ErrorOf(head + R"("arguments": [{"shape": [2]}]})"),
            "arguments[0].dtype is missing: the type of the elements, \"float32\"");
  EXPECT_EQ(ErrorOf(head + R"("arguments": [{"shape": [2], "dtype": "flaot32"}]})"),
            "arguments[0].dtype is \"flaot32\", which is not a type of elements; did you mean float32?");
  EXPECT_EQ(ErrorOf(head + R"("arguments": [{"array": "x"}]})"),
            "arguments[0].array is \"x\", which is not the name of an array");
  EXPECT_EQ(ErrorOf(head + R"("arguments": [{"tensor_map": {"array": "a"}}]})"),
            "arguments[0].tensor_map.box is missing: the extents of a box, innermost first");
  EXPECT_EQ(
      ErrorOf(head + R"("arguments": [{"name": "n"}]})"),
      "arguments[0] has none of shape (an array), value (a number), struct, tensor_map, array (a pointer into one) "
      "and null");
  EXPECT_EQ(ErrorOf(head + R"("arrays": [{"dtype": "int8", "shape": [1], "seed": 1, "fill": 2}]})"),
            "arrays[0].seed stands beside another of seed, file and fill");
}

// Whatever is done to the text, it is read or refused with a sentence.
TEST(LaunchFileTest, SurvivesDamagedText) {
  std::mt19937 random(1);
  const std::string pieces[] = {"\"",    "{",         "}",     "[",    "]",    ",",
                                ":",     "-1",        "1e400", "null", "true", "99999999999999999999",
                                "\\u12", "\"shape\"", "0.5",   "[[[[", "\xff", ""};
  for (int round = 0; round < 20000; ++round) {
    std::string text = kGood;
    for (int change = 0; change < 1 + static_cast<int>(random() % 4); ++change) {
      const size_t at = random() % text.size();
      text.replace(at, random() % 6, pieces[random() % std::size(pieces)]);
      if (text.empty()) text = " ";
    }
    const auto file = ParseLaunchFile(text);
    if (!file.ok()) EXPECT_FALSE(file.status().message().empty());
  }
}

}  // namespace
}  // namespace tilewright
