// What `emulate` says of launches that do not fit their kernels, and of outputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/temporary_folder.h"
#include "nlohmann/json.hpp"
#include "tools/command_line/command.h"
#include "tools/testing/run_tool.h"

namespace tilewright {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kText[] = R"(
struct Sizes { int rows, columns; float scale; };
__global__ void scale(const float* x, float* y, int n, Sizes sizes) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * sizes.scale;
}
)";
constexpr char kProgram[] = R"(
@T.prim_func
def main(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("scale"):
            vi = T.axis.remap("S", [i])
            y[vi] = x[vi] * T.float32(2)
)";

std::string Launch(const std::string& arguments) {
  return R"({"grid": 2, "block": 32, "arguments": [)" + arguments + "]}";
}
const std::string kX = R"({"dtype": "float32", "shape": [64], "seed": 1},)";
const std::string kY = R"({"dtype": "float32", "shape": [64], "output": true},)";

class EmulateTest : public testing::Test {
 protected:
  EmulateTest() {
    folder_.Write("scale.cu", kText);
    folder_.Write("scale.py", kProgram);
  }
  std::string Path(const std::string& name) const { return (folder_.path() / name).string(); }
  ToolResult Run(const std::string& launch, const std::vector<std::string>& flags = {}) const {
    folder_.Write("scale.json", launch);
    std::vector<std::string> words = {"emulate", Path("scale.cu"), "--launch=" + Path("scale.json")};
    words.insert(words.end(), flags.begin(), flags.end());
    return RunTool(words);
  }

  const TemporaryFolder folder_;
};

TEST_F(EmulateTest, OutputsAndComparison) {
  const std::string launch = Launch(kX + kY + R"({"value": 64}, {"struct": [1, 2, 2.0]})");
  const ToolResult good = Run(launch, {"--against=" + Path("scale.py"), "--outputs=" + Path("out")});
  EXPECT_EQ(good.status, kDone) << good.err;
  EXPECT_THAT(good.out, AllOf(HasSubstr("y: float32[64]"), HasSubstr("0.0% of the tolerance"), HasSubstr("no faults")));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "out" / "y.npy"));
  const std::string other = Launch(kX + kY + R"({"value": 64}, {"struct": [1, 2, 2.5]})");
  const ToolResult wrong = Run(other, {"--against=" + Path("scale.py"), "--json"});
  EXPECT_EQ(wrong.status, kRefused);
  const auto json = nlohmann::json::parse(wrong.out);
  EXPECT_EQ(json["against"][0]["good"], false);
  EXPECT_EQ(json["outputs"][0]["name"], "y");
}

TEST_F(EmulateTest, ArgumentsThatDoNotFitAreNamed) {
  const auto error = [&](const std::string& arguments) {
    const ToolResult result = Run(Launch(arguments));
    EXPECT_EQ(result.status, kRefused);
    return result.err;
  };
  EXPECT_THAT(error(kX + R"({"value": 1})"),
              HasSubstr("scale.json: error: arguments has 2, and the kernel scale takes 4: x, y, n, sizes"));
  EXPECT_THAT(error(kX + kY + kX + R"({"struct": [1, 2, 3]})"),
              HasSubstr("arguments[2] is an array, and parameter n of the kernel is not a pointer"));
  EXPECT_THAT(error(kX + R"({"value": 3}, {"value": 64}, {"struct": [1, 2, 3]})"),
              HasSubstr("arguments[1] is a number, and parameter y of the kernel is a pointer"));
  EXPECT_THAT(error(kX + kY + R"({"value": 1.5}, {"struct": [1, 2, 3]})"),
              HasSubstr("arguments[2] is not a whole number, which the kernel takes"));
  EXPECT_THAT(error(kX + kY + R"({"value": 4294967296}, {"struct": [1, 2, 3]})"),
              HasSubstr("arguments[2] is 4294967296, which does not fit into the 32 bits of the parameter"));
  EXPECT_THAT(error(kX + kY + R"({"value": 1}, {"struct": [1, 2]})"),
              HasSubstr("arguments[3] has 2 numbers, and the struct sizes of the kernel 3"));
  EXPECT_THAT(
      error(kX + R"({"dtype": "float32", "shape": [64], "file": "no.npy"}, {"value": 1}, {"struct": [1, 2, 3]})"),
      HasSubstr("arguments[1] cannot be read"));
  EXPECT_THAT(error(kX + R"({"dtype": "float32", "shape": [9999999999, 9]}, {"value": 1}, {"struct": [1, 2, 3]})"),
              HasSubstr("arguments[1] takes more than 4294967296 bytes"));
  EXPECT_THAT(error(kX + kY + R"({"value": 1}, {"tensor_map": {"array": "x", "box": [64]}})"),
              HasSubstr("arguments[3].tensor_map.array is \"x\", which is not the name of an array"));
}

TEST_F(EmulateTest, WrongUse) {
  EXPECT_THAT(RunTool({"emulate", Path("scale.cu")}).err, HasSubstr("--launch=LAUNCH.json is needed"));
  EXPECT_THAT(RunTool({"emulate", Path("scale.py"), "--launch=x"}).err, HasSubstr("a program"));
  EXPECT_THAT(Run(R"({"grid": 1, "block": 2048, "arguments": []})").err, HasSubstr("arguments has 0"));
  EXPECT_THAT(Run(R"({"grid": 1, "block": 1, "target": "host"})").err, HasSubstr("target is host, which is not a GPU"));
  const std::string big =
      R"({"grid": 1, "block": 2048, "arguments": [)" + kX + kY + R"({"value": 1}, {"struct": [1, 2, 3]}]})";
  EXPECT_THAT(Run(big).err, HasSubstr("a block has more than 1024 threads"));
}

}  // namespace
}  // namespace tilewright
