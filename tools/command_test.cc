// The command line: what each command prints, and its exit status for good input, refused input and wrong usage.
#include "tools/command_line/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "codegen/runtime/loaded_module.h"
#include "target/target.h"
#include "tools/commands.h"
#include "tools/testing/programs.h"
#include "tools/testing/run_tool.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::WriteFile;
using Result = ToolResult;

TEST(Command, HelpAndUsage) {
  EXPECT_EQ(RunTool({}).status, kUsage);
  EXPECT_EQ(RunTool({"--help"}).status, kDone);
  EXPECT_THAT(RunTool({"--help"}).out, HasSubstr("show FILE"));
  for (const Command& command : AllCommands()) {
    Result help = RunTool({std::string(command.name), "--help"});
    EXPECT_EQ(help.status, kDone) << command.name;
    EXPECT_THAT(help.out, StartsWith("tilewright " + std::string(command.name)));
  }
  EXPECT_EQ(RunTool({"shwo", "x"}).status, kUsage);
  EXPECT_EQ(RunTool({"shwo", "x"}).err,
            "tilewright: unknown command 'shwo'; did you mean show? See tilewright --help\n");
  for (const char* version : {"version", "-v", "-V"}) {
    EXPECT_THAT(RunTool({version}).err, HasSubstr("did you mean --version?"));
  }
  EXPECT_THAT(RunTool({"completion", "bsh"}).err, HasSubstr("did you mean bash"));
  EXPECT_EQ(RunTool({"show"}).err, "tilewright show: FILE is missing; see tilewright show --help\n");
  EXPECT_EQ(RunTool({"show", "a", "b"}).status, kUsage);
  EXPECT_EQ(RunTool({"show", "a", "--nothing"}).err,
            "tilewright show: unknown flag --nothing; see tilewright show --help\n");
  EXPECT_EQ(RunTool({"show", "a", "--format"}).err,
            "tilewright show: --format needs a value; see tilewright show --help\n");
  EXPECT_EQ(RunTool({"show", "-", "--format=xml"}, testing::kFill).status, kUsage);
}

TEST(Command, ShowPrintsCanonicalForm) {
  Result result = RunTool({"show", "-"}, testing::kFill);
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_EQ(result.out, R"(# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def fill(A: T.Buffer((16,), "float32")):
        for i in range(16):
            A[i] = T.float32(1)
)");
  EXPECT_EQ(RunTool({"show", WriteFile("fill.py", testing::kFill)}).out, result.out);
}

TEST(Command, ShowPrintsJson) {
  Result result = RunTool({"show", "-", "--format", "json"}, testing::kFill);
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_THAT(result.out, StartsWith("{\n  \"functions\": [\n"));
  EXPECT_THAT(result.out, HasSubstr("\"node\": \"Store\""));
}

TEST(Command, ShowRefuses) {
  Result result = RunTool({"show", "-"}, "@T.prim_func\ndef f(A: T.Buffer((4,), \"float32\")):\n    A[j] = 1.0\n");
  EXPECT_EQ(result.status, kRefused);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "<stdin>:3:7: error: 'j' is not defined\n    A[j] = 1.0\n      ^\n");
  EXPECT_EQ(RunTool({"show", "/nowhere/at/all.py"}).status, kRefused);
  EXPECT_EQ(RunTool({"show", "/nowhere/at/all.py"}).err, "/nowhere/at/all.py: error: there is no such file\n");
}

TEST(Command, EqualComparesUpToNames) {
  const std::string a = WriteFile("a.py", testing::kFill);
  std::string text = testing::kFill;
  text.replace(text.find("for i"), 5, "for j");
  text.replace(text.find("A[i]"), 4, "A[j]");
  EXPECT_EQ(RunTool({"equal", a, WriteFile("b.py", text)}).status, kDone);
  text.replace(text.find("range(16)"), 9, "range(8)");
  Result result = RunTool({"equal", a, WriteFile("c.py", text)});
  EXPECT_EQ(result.status, kRefused);
  EXPECT_THAT(result.out, StartsWith("different at "));
  EXPECT_THAT(result.out, HasSubstr("for i in range(16):     | for j in range(8):"));
}

TEST(Command, EqualComparesAfterSimplificationWhereAsked) {
  const std::string text = R"(
@T.prim_func
def main(A: T.Buffer((4, 4), "int32")):
    for i, j in T.grid(4, 4):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = T.if_then_else(14 <= vi * 4 + vj, 0, 1)
)";
  std::string other = text;
  const std::string condition = "14 <= vi * 4 + vj";
  other.replace(other.find(condition), condition.size(), "vi == 3 and 2 <= vj");
  const std::string a = WriteFile("plain.py", text), b = WriteFile("digits.py", other);
  EXPECT_EQ(RunTool({"equal", a, b}).status, kRefused);
  EXPECT_EQ(RunTool({"equal", a, b, "--simplify"}).status, kDone);
  EXPECT_EQ(RunTool({"equal", a, b, "--simplify"}).out, "equal after simplification\n");
  other.replace(other.find("2 <= vj"), 7, "1 <= vj");
  EXPECT_EQ(RunTool({"equal", a, WriteFile("more.py", other), "--simplify"}).status, kRefused);
}

TEST(Compile, WritesWhatTheExtensionSays) {
  const std::string path = ::testing::TempDir() + "/fill";
  for (const char* kind : {".o", ".so", ".ll", ".s"}) {
    Result result = RunTool({"compile", "-", "-o", path + kind}, testing::kFill);
    EXPECT_EQ(result.status, kDone) << result.err;
    EXPECT_TRUE(std::ifstream(path + kind).good());
  }
  std::ostringstream header;
  header << std::ifstream(path + ".h").rdbuf();
  EXPECT_THAT(header.str(), HasSubstr("int fill(const TwCall* call, TwTensor* const* args, int32_t num_args);"));
  Result other = RunTool({"compile", "-", "-o", path + ".s", "--target=arm-neoverse-n1"}, testing::kFill);
  EXPECT_EQ(other.status, kDone) << other.err;
}

TEST(Compile, PrintsAfterPasses) {
  const std::string path = ::testing::TempDir() + "/fill.o";
  Result result = RunTool({"compile", "-", "-o", path, "--print-after=flatten_buffers"}, testing::kFill);
  EXPECT_THAT(result.out, StartsWith("# after flatten_buffers\n"));
  EXPECT_THAT(
      RunTool({"compile", "-", "-o", path, "--print-after=none"}, testing::kFill).err,
      StartsWith("tilewright compile: --print-after=none: there is no such pass (known are all, keep_values, "));
}

TEST(Compile, Refuses) {
  EXPECT_EQ(RunTool({"compile", "-"}, testing::kFill).err,
            "tilewright compile: -o OUT is missing; see tilewright compile --help\n");
  EXPECT_EQ(RunTool({"compile", "-", "-o", "x.exe"}, testing::kFill).status, kUsage);
  EXPECT_EQ(RunTool({"compile", "-", "-o", "x.o", "--target=toaster"}, testing::kFill).status, kUsage);
  Result bound = RunTool({"compile", "-", "-o", ::testing::TempDir() + "/x.o"}, R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32")):
    for i in T.thread_binding(16, thread="threadIdx.x"):
        A[i] = 1.0
)");
  EXPECT_EQ(bound.status, kRefused);
  EXPECT_EQ(bound.err,
            "-: error: function main: loop i is bound to threadIdx.x, which this CPU target does not support\n");
}

constexpr const char* kAddOne = R"(
@T.prim_func
def main(A: T.Buffer((30,), "float32"), B: T.Buffer((30,), "float32")):
    for i in range(30):
        with T.block("B"):
            vi = T.axis.spatial(30, i)
            B[vi] = A[vi] + T.float32(1)
)";

TEST(Schedule, AppliesTextAndTraces) {
  const std::string script = WriteFile("split.py", "i, = sch.get_loops(\"B\")\nsch.split(i, [None, 4])\n");
  Result result = RunTool({"schedule", "-", "--script=" + script}, kAddOne);
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_THAT(result.out, HasSubstr("for i_0, i_1 in T.grid(8, 4):"));
  EXPECT_THAT(result.out, HasSubstr("T.where(i_0 * 4 + i_1 < 30)"));
  const std::string trace = WriteFile("trace.json", R"({"trace": [
      {"primitive": "get_block", "args": {"name": "B"}, "results": ["b"]},
      {"primitive": "get_loops", "args": {"block": {"rv": "b"}}, "results": ["l"]},
      {"primitive": "split", "args": {"loop": {"rv": "l"}, "factors": [null, 4]}, "results": ["l0", "l1"]}]})");
  Result replayed = RunTool({"schedule", "-", "--script=" + trace}, kAddOne);
  EXPECT_EQ(replayed.out, result.out) << replayed.err;
  const std::string of_peer = WriteFile("peer.json", R"([[["GetSBlock", [], ["B", "main"], ["b0"]],
      ["GetLoops", ["b0"], [], ["l1"]], ["Split", ["l1", "None", 4], [1, 0], ["l2", "l3"]]], []])");
  EXPECT_EQ(RunTool({"schedule", "-", "--script=" + of_peer}, kAddOne).out, result.out);
}

TEST(Schedule, WritesTracesThatGiveTheSame) {
  const std::string script = WriteFile("sampled.py",
                                       "i, = sch.get_loops(\"B\")\n"
                                       "f = sch.sample_perfect_tile(i, 2)\nsch.split(i, f)\n");
  for (const char* name : {"t.json", "t.py"}) {
    const std::string trace = WriteFile(name, "");
    const Result first = RunTool({"schedule", "-", "--script=" + script, "--trace=" + trace}, kAddOne);
    ASSERT_EQ(first.status, kDone) << first.err;
    EXPECT_EQ(RunTool({"schedule", "-", "--script=" + trace}, kAddOne).out, first.out);
  }
}

TEST(Schedule, MarksTheLinesThatAStepChanges) {
  const std::string script = WriteFile("parallel.py", "i, = sch.get_loops(\"B\")\nsch.parallel(i)\n");
  Result result = RunTool({"schedule", "-", "--script=" + script, "--each-step"}, kAddOne);
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_THAT(result.out, StartsWith("# line 1: i, = sch.get_loops(\"B\")    (changes nothing)\n"
                                     "# line 2: sch.parallel(i)\n"));
  EXPECT_THAT(result.out, HasSubstr(">         for i in T.parallel(30):\n              with T.block(\"B\"):"));
}

TEST(Schedule, Refuses) {
  EXPECT_EQ(RunTool({"schedule", "-"}, kAddOne).status, kUsage);
  Result unknown = RunTool({"schedule", "-", "--script=" + WriteFile("u.py", "sch.spilt(1)\n")}, kAddOne);
  EXPECT_EQ(unknown.status, kRefused);
  EXPECT_THAT(unknown.err,
              HasSubstr("u.py:1:1: error: there is no primitive spilt; did you mean split?\nsch.spilt(1)\n^\n"));
  Result refused = RunTool(
      {"schedule", "-", "--script=" + WriteFile("r.py", "i, = sch.get_loops(\"B\")\nsch.bind(i, \"gpu\")\n")}, kAddOne);
  EXPECT_EQ(refused.status, kRefused);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, HasSubstr("r.py:2:1: error: bind: there is no thread axis gpu\n"));
  EXPECT_THAT(refused.err, HasSubstr("    for i in range(30):\n    # ^^^"));
  EXPECT_EQ(refused.err.find("there is no thread axis"), refused.err.rfind("there is no thread axis"));
  Result no_trace = RunTool({"schedule", "-", "--script=" + WriteFile("t.json", "{}")}, kAddOne);
  EXPECT_EQ(no_trace.status, kRefused);
  EXPECT_THAT(no_trace.err, HasSubstr("t.json:1:1: error: a trace is an object with a list \"trace\"\n"));
  Result of_peer =
      RunTool({"schedule", "-", "--script=" + WriteFile("p.json", R"([[["Magic", [], [], []]], []])")}, kAddOne);
  EXPECT_EQ(of_peer.status, kRefused);
  EXPECT_THAT(of_peer.err, HasSubstr("p.json:1:1: error: instruction 0: there is no instruction Magic\n"));
  Result nothing = RunTool({"schedule", "-", "--script=" + WriteFile("n.py", "x = 1\nsch.splt(x)\n")}, kAddOne);
  EXPECT_EQ(nothing.status, kRefused);
  EXPECT_THAT(nothing.err,
              HasSubstr("n.py:2:1: error: there is no primitive splt; did you mean split?\nsch.splt(x)\n^\n"));
}

// Other Python around a schedule is not part of it, which is said.
TEST(Schedule, NamesWhatItPassesOver) {
  const std::string script =
      WriteFile("o.py", "import os\nos.system('x')\ni, = sch.get_loops('B')\nfoo(3)\nprint(i)\n");
  const Result result = RunTool({"schedule", "-", "--script=" + script}, kAddOne);
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_THAT(result.err, HasSubstr("o.py:2: warning: passed over as other Python: "));
  EXPECT_THAT(result.err, HasSubstr("; so is line 4\n"));
  EXPECT_THAT(RunTool({"check", "-", "--script=" + script}, kAddOne).err, HasSubstr("o.py:2: warning: passed over"));
}

// What cannot be written is said before the work, and what can be is not there because of that.
TEST(Command, ResultsThatCannotBeWrittenAreRefusedFirst) {
  const std::string page = ::testing::TempDir() + "/none.html";
  unlink(page.c_str());
  const Result result = RunTool({"tune", "-", "--seconds=100", "--html=" + page, "-o", "/nowhere/x.py"}, kAddOne);
  EXPECT_EQ(result.status, kRefused);
  EXPECT_EQ(result.err, "/nowhere/x.py cannot be written: No such file or directory\n");
  EXPECT_NE(access(page.c_str(), F_OK), 0);
}

TEST(Command, WhichFunctionListsThem) {
  std::string two = kAddOne;
  two.replace(two.find("def main"), 8, "def f");
  std::string other = kAddOne;
  two += other.replace(other.find("def main"), 8, "def g");
  for (const char* command : {"run", "tune"}) {
    EXPECT_EQ(RunTool({command, "-"}, two).err, "-: error: which function? --func says: f, g\n") << command;
  }
}

TEST(Command, Target) {
  EXPECT_THAT(RunTool({"target", "--target=cuda-sm90"}).out, HasSubstr("shared memory per block: 232448 bytes"));
  EXPECT_EQ(RunTool({"target", "--target=vax"}).status, kUsage);
  EXPECT_THAT(RunTool({"target", "--target=vax"}).err,
              StartsWith("tilewright target: --target=vax: there is no such target (known are host, "));
}

TEST(Command, TargetIsWrittenAndTakenAgain) {
  const std::string path = ::testing::TempDir() + "/mine.json";
  EXPECT_EQ(RunTool({"target", "--target=x86-znver4", "-o", path}).status, kDone);
  EXPECT_EQ(RunTool({"target", "--target", path}).out, RunTool({"target", "--target=x86-znver4"}).out);
  const Result measured = RunTool({"target", "--calibrate", "-o", path});
  EXPECT_EQ(measured.status, kDone) << measured.err;
  const Result printed = RunTool({"target", "--target", path});
  EXPECT_THAT(printed.out, StartsWith("name: mine\n")) << printed.err;
  EXPECT_THAT(printed.out, HasSubstr("fma of float32: "));
  EXPECT_EQ(RunTool({"check", "-", "--target", path}, testing::kScale).status, kDone);
  EXPECT_EQ(RunTool({"target", "--calibrate", "--target=x86-znver4"}).status, kUsage);
  EXPECT_EQ(RunTool({"target", "-o", "mine.txt"}).status, kUsage);
  EXPECT_EQ(RunTool({"target", "-o", "/no/folder/mine.json"}).status, kRefused);
  std::ofstream(path) << "{\"kind\": \"x86\"}";
  EXPECT_EQ(RunTool({"target", "--target", path}).err, path + ": target description: \"name\" is missing\n");
}

TEST(Command, Check) {
  Result good = RunTool({"check", "-"}, testing::kScale);
  EXPECT_EQ(good.status, kDone) << good.err;
  EXPECT_EQ(good.out, "scale: proven valid\n");
  std::string text(testing::kScale);
  text.replace(text.find("T.axis.spatial(n, i)"), 20, "T.axis.spatial(n, i + 1)");
  Result bad = RunTool({"check", "-"}, text);
  EXPECT_EQ(bad.status, kRefused);
  EXPECT_THAT(bad.err,
              StartsWith("<stdin>:8:14: error: bindings: block Y: iterator vi is bound to i + 1, which is not inside"));
  EXPECT_THAT(bad.err, HasSubstr("\n        with T.block(\"Y\"):\n             ^\n"));
}

TEST(Command, CheckKnowsTheLimitsOfGpus) {
  const std::string text = R"(
@T.prim_func
def main(A: T.Buffer((2048,), "float32"), B: T.Buffer((2048,), "float32")):
    for i in T.thread_binding(2048, thread="threadIdx.x"):
        with T.block("B"):
            vi = T.axis.spatial(2048, i)
            B[vi] = A[vi]
)";
  EXPECT_EQ(RunTool({"check", "-"}, text).status, kDone);
  Result bad = RunTool({"check", "-", "--target=cuda-sm86"}, text);
  EXPECT_EQ(bad.status, kRefused);
  EXPECT_THAT(bad.err, StartsWith("<stdin>:4:9: error: thread launch: loop i is bound to threadIdx.x with an extent of "
                                  "2048, cuda-sm86 allows 1024\n    for i in T.thread_binding(2048, "
                                  "thread=\"threadIdx.x\"):\n        ^\n"));
}

// The block that a schedule made has no line in the file.
TEST(Command, CheckOfAScheduleNamesAssumptionsWithoutTheProgram) {
  const std::string text = R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), I: T.Buffer((64,), "int32"), B: T.Buffer((64,), "float32")):
    for i, k in T.grid(64, 64):
        with T.block("s"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[I[vi], vk]
)";
  const std::string script = WriteFile("factor.py", "i, k = sch.get_loops(\"s\")\nsch.rfactor(k, 0)\n");
  const Result result = RunTool({"check", "-", "--script=" + script}, text);
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_EQ(result.out,
            "<stdin>: assumed: access bounds: block s_rf reads A[I[vi], vk], whose place is taken to be inside of "
            "dimension 0, [0, 64)\nmain: valid under the assumptions above\n");
}

TEST(Command, CheckLoadsIntrinsics) {
  const std::string half =
      WriteFile("half.py", "@T.prim_func\ndef x_desc(A: T.Buffer((4,))):\n    A[0] = T.float32(0)\n");
  Result refused = RunTool({"check", "-", "--intrin=" + half}, testing::kScale);
  EXPECT_EQ(refused.status, kRefused);
  EXPECT_THAT(refused.err, HasSubstr("x"));
  EXPECT_EQ(RunTool({"check", "-", "--intrin=/nowhere.py"}, testing::kScale).status, kRefused);
}

std::string ReadText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// What starts the kernels stands beside their text, and names the cubin that is made of it.
TEST(Compile, WritesTheHostPartOfATextForAGpu) {
  const std::string path = ::testing::TempDir() + "/fill_on_gpu";
  const Result result = RunTool({"compile", "-", "--target=cuda-sm90a", "-o", path + ".cu"}, testing::kFill);
  EXPECT_EQ(result.status, kDone) << result.err;
  const std::string host = ReadText(path + "_host.cc");
  EXPECT_THAT(host, HasSubstr("TW_EMBED(tw_image_0, \"fill_on_gpu.cubin\");"));
  EXPECT_THAT(host, HasSubstr("TW_EXPORT int fill(const TwCall* call, TwTensor* const* args, int32_t num_args) {"));
  EXPECT_THAT(ReadText(path + ".cu"), HasSubstr("fill_kernel"));
  EXPECT_THAT(ReadText(path + ".h"), HasSubstr("int fill(const TwCall* call"));
}

// The library is there without a GPU, and says what it lacks.
TEST(Compile, WritesLibrariesForAGpu) {
  const std::string path = ::testing::TempDir() + "/fill_library";
  const Result result = RunTool({"compile", "-", "--target=cuda-sm90a", "-o", path + ".so"}, testing::kFill);
  if (result.err.find("NVRTC") != std::string::npos) GTEST_SKIP() << result.err;
  ASSERT_EQ(result.status, kDone) << result.err;
  EXPECT_THAT(ReadText(path + ".h"), HasSubstr("int fill(const TwCall* call"));
  std::string error;
  const auto library = runtime::LoadedModule::Open(path + ".so", &error);
  ASSERT_TRUE(library.has_value()) << error;
  ASSERT_NE(library->Find("fill"), nullptr);
  EXPECT_EQ(library->WorkspaceBytes("fill"), 0);
  alignas(64) float elements[16] = {};
  int64_t extent = 16;
  TwTensor tensor = {.data = elements,
                     .device = {kTwCpu, 0},
                     .ndim = 1,
                     .dtype = {.code = kTwFloat, .bits = 32, .lanes = 1},
                     .shape = &extent};
  TwTensor* args[] = {&tensor};
  char message[256] = "";
  const TwCall call = {.message = message, .message_bytes = sizeof message};
  if (const int code = library->Find("fill")(&call, args, 1); code == kTwOk) {
    EXPECT_EQ(elements[15], 1.f);
  } else {
    EXPECT_EQ(code, kTwErrorDevice);
    EXPECT_THAT(message, ::testing::AnyOf(HasSubstr("no NVIDIA driver"), HasSubstr("no GPU can be used"),
                                          HasSubstr("does not run code for cuda-sm90a")));
  }
}

// A product of constant columns, with a target's name for every one there is.
TEST(Command, EveryTargetGivesAResultOrASentence) {
  const std::string program = WriteFile("batch.py", R"(
@T.prim_func
def main(A: T.Buffer((2, 16, 16), "float32"), B: T.Buffer((2, 16, 16), "float32"), C: T.Buffer((2, 16, 16), "float32")):
    T.func_attr({"tilewright.constant_params": [1]})
    for b, i, j, k in T.grid(2, 16, 16, 16):
        with T.block("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = T.float32(0)
            C[vb, vi, vj] += A[vb, vi, vk] * B[vb, vk, vj]
)");
  for (const std::string& target : TargetNames()) {
    SCOPED_TRACE(target);
    const bool gpu = target.starts_with("cuda");
    const Result listed = RunTool({"tune", program, "--target=" + target, "--list-candidates"});
    EXPECT_EQ(listed.status, kDone) << listed.err;
    EXPECT_THAT(listed.out, StartsWith("block C over "));
    const Result compiled =
        RunTool({"compile", program, "--target=" + target, "-o", ::testing::TempDir() + "/batch.s"});
    EXPECT_EQ(compiled.status, gpu ? kRefused : kDone) << compiled.err;
    if (!gpu) EXPECT_EQ(compiled.err, "");
    if (gpu) {
      EXPECT_EQ(compiled.err,
                program + ": error: code for " + target + " is written as one of .so, .cu, .ptx, .cubin, not as .s\n");
    }
  }
}

}  // namespace
}  // namespace tilewright
