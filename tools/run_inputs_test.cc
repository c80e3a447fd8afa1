// What `run` takes from the files of --inputs: elements, and the sizes of symbolic extents.
#include <filesystem>

#include "gmock/gmock.h"
#include "graph/onnx/testing.h"
#include "gtest/gtest.h"
#include "ir/ndarray.h"
#include "tools/command_line/command.h"
#include "tools/testing/programs.h"
#include "tools/testing/run_tool.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;

constexpr char kProgram[] = R"(
@T.prim_func
def main(x: T.handle, w: T.handle, y: T.handle):
    n = T.int32()
    m = T.int32()
    X = T.match_buffer(x, (n, m), "float32")
    W = T.match_buffer(w, (m,), "float32")
    Y = T.match_buffer(y, (n, m), "float32")
    for i, j in T.grid(n, m):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = X[vi, vj] * W[vj]
)";

constexpr char kGraph[] = R"(
@I.ir_module
class Module:
    @R.function
    def main(X: R.Tensor(("n", "m"), dtype="float32"), W: R.Tensor(("m",), dtype="float32")):
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            Y: R.Tensor((n, m), dtype="float32") = R.add(X, W)
            R.output(Y)
        return Y
)";

std::string Model() {
  graph::ModelWriter m(17);
  m.Input("X", onnx::TensorProto::FLOAT, {"n", "m"});
  m.Input("W", onnx::TensorProto::FLOAT, {"m"});
  m.Node("Add", {"X", "W"}, {"Y"});
  m.Output("Y");
  return m.Bytes();
}

// A folder with arrays of ones.
std::string Folder(const std::string& name, const std::vector<std::pair<std::string, std::vector<int64_t>>>& arrays) {
  const std::string folder = ::testing::TempDir() + "/" + name;
  std::filesystem::create_directories(folder);
  for (const auto& [file, shape] : arrays) {
    NDArray array(DataType::Float(32), shape);
    for (int64_t i = 0; i < array.size(); ++i) array.Set(i, 1);
    EXPECT_TRUE(WriteNpy(array, folder + "/" + file + ".npy").ok());
  }
  return folder;
}

TEST(RunInputs, FilesSayTheSizesOfSymbolicExtents) {
  setenv("TILEWRIGHT_KERNEL_CACHE", "off", 1);
  const std::string files[] = {testing::WriteFile("sizes.py", kProgram), testing::WriteFile("graph.py", kGraph),
                               testing::WriteFile("sizes.onnx", Model())};
  const std::string both = Folder("both", {{"X", {3, 5}}, {"W", {5}}}), one = Folder("one", {{"X", {3, 5}}}),
                    other = Folder("other", {{"X", {3, 5}}, {"W", {4}}}), vector = Folder("vector", {{"W", {5}}});
  for (const std::string& file : files) {
    for (const std::string& folder : {both, one}) {
      const ToolResult ran = RunTool({"run", file, "--inputs=" + folder});
      EXPECT_EQ(ran.status, kDone) << ran.err;
      EXPECT_THAT(ran.out, HasSubstr("float32[3, 5]"));
      EXPECT_EQ(RunTool({"run", file, "--inputs=" + folder, "--dim=n=3"}).out, ran.out);
      const ToolResult refused = RunTool({"run", file, "--inputs=" + folder, "--dim=n=4"});
      EXPECT_EQ(refused.status, kRefused);
      EXPECT_THAT(refused.err, HasSubstr("n is 3 in "));
      EXPECT_THAT(refused.err, HasSubstr("X.npy, 4 in --dim n=4"));
    }
    const ToolResult apart = RunTool({"run", file, "--inputs=" + other});
    EXPECT_EQ(apart.status, kRefused);
    EXPECT_THAT(apart.err, HasSubstr("m is 4 in "));
    EXPECT_THAT(apart.err, HasSubstr("X.npy\n"));
    // No file says what n is.
    const ToolResult missing = RunTool({"run", file, "--inputs=" + vector});
    EXPECT_EQ(missing.status, kRefused);
    EXPECT_THAT(missing.err, HasSubstr("n=NUMBER"));
    EXPECT_EQ(RunTool({"run", file, "--inputs=" + vector, "--dim=n=2"}).status, kDone);
  }
}

TEST(RunInputs, ScalarsOfFilesAreSizes) {
  const std::string program = testing::WriteFile("scalar.py", R"(
@T.prim_func
def main(y: T.handle, n: T.int32):
    Y = T.match_buffer(y, (n,), "float32")
    for i in range(n):
        with T.block("Y"):
            vi = T.axis.spatial(n, i)
            Y[vi] = T.float32(2)
)");
  const std::string folder = ::testing::TempDir() + "/scalar";
  std::filesystem::create_directories(folder);
  NDArray n(DataType::Int(32), {});
  n.SetInt(0, 6);
  ASSERT_TRUE(WriteNpy(n, folder + "/n.npy").ok());
  const ToolResult ran = RunTool({"run", program, "--inputs=" + folder});
  EXPECT_EQ(ran.status, kDone) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Y: float32[6] sum 12"));
  const ToolResult refused = RunTool({"run", program, "--inputs=" + folder, "--dim=n=5"});
  EXPECT_EQ(refused.status, kRefused);
  EXPECT_THAT(refused.err, HasSubstr("n is 6 in "));
}

}  // namespace
}  // namespace tilewright
