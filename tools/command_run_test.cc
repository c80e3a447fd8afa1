// The command line: what "tilewright run" prints, and its exit status for good input, refused input and wrong usage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/command_line/command.h"
#include "tools/testing/programs.h"
#include "tools/testing/run_tool.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using testing::WriteFile;
using Result = ToolResult;

TEST(Command, RunPrintsJson) {
  Result result = RunTool({"run", "-", "--json", "--compare"}, testing::kFill);
  EXPECT_EQ(result.status, kDone) << result.err;
  for (const char* part : {"\"engine\": \"interp\"", "\"dtype\": \"float32\"", "\"name\": \"A\"", "\"sum\": 16.0",
                           "\"good\": true", "\"max_abs\": 0.0"}) {
    EXPECT_THAT(result.out, HasSubstr(part));
  }
}

// A sum over no elements is its init, whoever runs it and by whatever schedule.
TEST(Command, RunDefinesSumsOverNoElements) {
  constexpr char kSums[] = R"(
@T.prim_func
def main(a: T.handle, o: T.handle):
    m, n = T.int32(), T.int32()
    A = T.match_buffer(a, (m, n), "float32")
    O = T.match_buffer(o, (m,), "float32")
    for i, k in T.grid(m, n):
        with T.block("o"):
            v, vk = T.axis.remap("SR", [i, k])
            with T.init():
                O[v] = T.float32(3)
            O[v] = O[v] + A[v, vk]
)";
  const std::vector<std::vector<std::string>> ways = {
      {"--engine=interp"}, {"--engine=llvm", "--as-is"}, {"--engine=llvm", "--compare"}};
  for (std::vector<std::string> args : ways) {
    args.insert(args.begin(), {"run", "-", "--dim=m=3", "--dim=n=0"});
    const Result sums = RunTool(args, kSums);
    EXPECT_EQ(sums.status, kDone) << sums.err;
    EXPECT_THAT(sums.out, HasSubstr("O: float32[3] sum 9 least 3 largest 3 first 3 3 3"));
    args[2] = "--dim=m=0";
    EXPECT_THAT(RunTool(args, kSums).out, HasSubstr("O: float32[0]"));
  }
}

TEST(Command, Run) {
  EXPECT_EQ(RunTool({"run", "-"}, testing::kFill).out, "A: float32[16] sum 16 least 1 largest 1 first 1 1 1 1 1 1\n");
  Result compared = RunTool({"run", "-", "--engine=llvm", "--dim=n=100", "--compare"}, testing::kScale);
  EXPECT_EQ(compared.status, kDone) << compared.err;
  EXPECT_THAT(compared.out, HasSubstr("largest error absolute 0 relative 0"));
  EXPECT_EQ(RunTool({"run", "-"}, testing::kScale).err, "-: error: the shape of X needs --dim n=NUMBER\n");
  EXPECT_THAT(RunTool({"run", "-", "--engine=cuda-emulation", "--dim=n=100", "--compare"}, testing::kScale).out,
              HasSubstr("largest error absolute 0 relative 0"));
  EXPECT_EQ(RunTool({"run", "-", "--engine=llvm", "--target=cuda-sm80"}, testing::kFill).err,
            "tilewright run: --engine=llvm does not run code for --target=cuda-sm80; see tilewright run --help\n");
  EXPECT_EQ(RunTool({"run", "-", "--func=other"}, testing::kFill).err,
            "tilewright run: --func=other: there is no such function; see tilewright run --help\n");
  EXPECT_EQ(RunTool({"run", "-", "--engine=abacus"}, testing::kFill).status, kUsage);
  std::string thrice(testing::kScale);
  thrice.replace(thrice.find("T.float32(2)"), 12, "T.float32(3)");
  Result differs = RunTool({"run", "-", "--dim=n=5", "--against", WriteFile("thrice.py", thrice)}, testing::kScale);
  EXPECT_EQ(differs.status, kRefused);
  EXPECT_THAT(differs.out, HasSubstr("EXCEEDED"));
  EXPECT_EQ(RunTool({"run", "-", "--dim=n=2000000000"}, testing::kScale).err,
            "-: error: X takes 8000000000 bytes; run takes arrays of at most 4294967296\n");
  EXPECT_EQ(RunTool({"run", "-"}, "@T.prim_func\ndef f(a: T.float32, Y: T.Buffer((1,), \"float32\")):\n    Y[0] = a\n")
                .status,
            kDone);
  EXPECT_EQ(RunTool({"run", "-", "--dim=n=5", "--dim=m=4"}, testing::kScale).err,
            "tilewright run: --dim m=4: scale has no extent or scalar parameter m; did you mean n? See tilewright run "
            "--help\n");
  EXPECT_EQ(RunTool({"run", "-", "--dim=n=5", "--dim=n=4"}, testing::kScale).err,
            "tilewright run: --dim gives n twice; see tilewright run --help\n");
  EXPECT_EQ(RunTool({"run", "-"},
                    "@T.prim_func\ndef f(Y: T.Buffer((2,), \"float32x4\")):\n"
                    "    Y[0] = T.Broadcast(T.float32(1), 4)\n")
                .err,
            "-: error: Y has elements of type float32x4, which run cannot fill\n");
  for (const char* engine : {"--engine=interp", "--engine=llvm"}) {
    std::string wider(testing::kScale);
    for (size_t at; (at = wider.find("(n,)")) != wider.npos;) wider.replace(at, 4, "(n + 1,)");
    Result other =
        RunTool({"run", "-", engine, "--dim=n=5", "--against", WriteFile("wider.py", wider)}, testing::kScale);
    EXPECT_EQ(other.status, kRefused);
    EXPECT_EQ(other.err, "-: error: the other program has no function with the same parameters\n");
  }
}

TEST(Command, MissingFunctionsNameTheFlag) {
  const Result result = RunTool({"run", "-", "--engine=llvm"}, R"(
@T.prim_func
def main(A: T.Buffer((4,), "int32")):
    with T.block("A"):
        T.reads()
        T.writes(A[0:4])
        T.evaluate(T.call_extern("no_such_function", A.access_ptr("w"), dtype="int32"))
)");
  EXPECT_EQ(result.status, kRefused);
  EXPECT_THAT(result.err, HasSubstr("[ no_such_function ]; --extern=LIB.so names a library that has it"));
}

TEST(Command, RunMakesMemoryWithGapsForDeclaredStrides) {
  for (const char* engine : {"--engine=interp", "--engine=llvm", "--engine=cuda-emulation"}) {
    const Result result = RunTool({"run", "-", engine, "--compare"}, R"(
@T.prim_func
def main(A: T.Buffer((5, 6), "float32", strides=(8, 1)), O: T.Buffer((6, 5), "float32", strides=(1, 9))):
    for i, j in T.grid(6, 5):
        with T.block("o"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj] = A[vj, vi] + T.float32(1)
)");
    EXPECT_EQ(result.status, kDone) << engine << result.err << result.out;
    EXPECT_THAT(result.out, HasSubstr("largest error absolute 0"));
  }
}

// Rounding is judged by what an element is made of, so that small wrong results are found.
TEST(Command, RunComparesByRounding) {
  const auto scaled = [](const std::string& by) {
    return "@T.prim_func\ndef main(X: T.Buffer((50,), \"float32\"), Y: T.Buffer((50,), \"float32\")):\n"
           "    for i in range(50):\n        Y[i] = X[i] * " +
           by + "\n";
  };
  const std::string small = scaled("T.float32(1e-6)"), halved = scaled("T.float32(2e-6) * T.float32(0.5)");
  const std::string wrong = WriteFile("wrong.py", scaled("T.float32(1.01e-6)"));
  for (const char* engine : {"--engine=interp", "--engine=llvm"}) {
    const Result same = RunTool({"run", "-", engine, "--against", WriteFile("halved.py", halved)}, small);
    EXPECT_EQ(same.status, kDone) << same.out;
    EXPECT_THAT(same.out, HasSubstr("% of the tolerance"));
    const Result differs = RunTool({"run", "-", engine, "--against", wrong}, small);
    EXPECT_EQ(differs.status, kRefused);
    EXPECT_THAT(differs.out, HasSubstr("tolerance EXCEEDED: element 0 of Y is "));
    EXPECT_THAT(RunTool({"run", "-", engine, "--json", "--against", wrong}, small).out, HasSubstr("\"failure\""));
  }
  // A sum of as many terms as the argument has.
  const auto sum = [](const std::string& term) {
    return "@T.prim_func\ndef main(x: T.handle, Y: T.Buffer((1,), \"float32\")):\n    n = T.int32()\n"
           "    X = T.match_buffer(x, (n,), \"float32\")\n    for i in range(n):\n        with T.block(\"Y\"):\n"
           "            vi = T.axis.reduce(n, i)\n            with T.init():\n                Y[0] = T.float32(0)\n"
           "            Y[0] = Y[0] + " +
           term + "\n";
  };
  const Result other_sum = RunTool(
      {"run", "-", "--dim=n=64", "--against", WriteFile("sum.py", sum("X[vi] * T.float32(1.001)"))}, sum("X[vi]"));
  EXPECT_EQ(other_sum.status, kRefused) << other_sum.out;
  // A program without a bound: its outputs' magnitudes count.
  const Result vector = RunTool({"run", "-", "--compare"},
                                "@T.prim_func\ndef f(Y: T.Buffer((4,), \"float32\")):\n"
                                "    Y[0:4] = T.Broadcast(T.float32(1), 4)\n");
  EXPECT_EQ(vector.status, kDone) << vector.err;
  EXPECT_THAT(vector.out, HasSubstr("0.0% of the tolerance"));
}

}  // namespace
}  // namespace tilewright
