// compile and explain with ONNX models: what they write, and what is refused.
#include "tools/models/onnx_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "graph/onnx/testing.h"
#include "nlohmann/json.hpp"
#include "tools/testing/run_tool.h"

namespace tilewright {
namespace {

using graph::ModelWriter;
using onnx::TensorProto;
using testing::HasSubstr;
using testing::Not;

using Result = ToolResult;

class OnnxPlan : public testing::Test {
 protected:
  OnnxPlan() { setenv("TILEWRIGHT_KERNEL_CACHE", "off", 1); }

  static std::string Path(const std::string& name) { return testing::TempDir() + "/" + name; }
  static std::string Write(const ModelWriter& writer, const std::string& name) {
    std::ofstream(Path(name), std::ios::binary) << writer.Bytes();
    return Path(name);
  }
  // A product, a bias and a Relu.
  static std::string Layer() {
    ModelWriter m(17);
    m.Input("x", TensorProto::FLOAT, {"n", 64});
    m.Floats("w", {64, 32}, std::vector<float>(64 * 32, 0.5f));
    m.Floats("b", {32}, std::vector<float>(32, 1));
    m.Node("MatMul", {"x", "w"}, {"h0"});
    m.Node("Add", {"h0", "b"}, {"h1"});
    m.Node("Relu", {"h1"}, {"y"});
    m.Output("y");
    return Write(m, "layer.onnx");
  }
};

TEST_F(OnnxPlan, CompileWritesAnObjectAndAHeader) {
  const std::string path = Path("7-layer");
  for (const char* kind : {".o", ".so"}) {
    const Result result = RunTool({"compile", Layer(), "--dim=n=3", "-o", path + kind});
    EXPECT_EQ(result.status, kDone) << result.err;
    EXPECT_TRUE(std::ifstream(path + kind).good());
  }
  std::ostringstream header;
  header << std::ifstream(path + ".h").rdbuf();
  EXPECT_THAT(header.str(), HasSubstr("// (x: float32[3, 64], y: float32[3, 32])\nint _7_layer(const TwCall* call"));
}

// A library carries a program for TopK of a constant k; counts of n-grams have none.
TEST_F(OnnxPlan, OperatorsOfTheHost) {
  ModelWriter top(17);
  top.Input("x", TensorProto::FLOAT, {2, 30});
  top.Int64s("k", {4});
  top.Node("TopK", {"x", "k"}, {"values", "places"});
  top.Output("values");
  top.Output("places");
  const Result compiled = RunTool({"compile", Write(top, "top.onnx"), "-o", Path("top.so")});
  EXPECT_EQ(compiled.status, kDone) << compiled.err;
  ModelWriter grams(17);
  grams.Input("x", TensorProto::INT64, {2, 6});
  onnx::NodeProto* node = grams.Node("TfIdfVectorizer", {"x"}, {"y"});
  for (const char* name : {"min_gram_length", "max_gram_length"}) ModelWriter::SetInt(node, name, 1);
  ModelWriter::SetInt(node, "max_skip_count", 0);
  onnx::AttributeProto* mode = node->add_attribute();
  mode->set_name("mode");
  mode->set_type(onnx::AttributeProto::STRING);
  mode->set_s("TF");
  const auto set_ints = [&](const char* name, std::initializer_list<int64_t> values) {
    onnx::AttributeProto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::INTS);
    for (const int64_t value : values) attribute->add_ints(value);
  };
  set_ints("ngram_counts", {0});
  set_ints("ngram_indexes", {0, 1, 2});
  set_ints("pool_int64s", {2, 3, 5});
  grams.Output("y");
  const Result refused = RunTool({"compile", Write(grams, "grams.onnx"), "-o", Path("grams.so")});
  EXPECT_EQ(refused.status, kRefused);
  EXPECT_THAT(refused.err, HasSubstr("it has no plan, and runs by `run` only"));
}

// One library for all values of n: the size of the workspace is a function of it.
TEST_F(OnnxPlan, CompileTakesSymbolicExtents) {
  const Result result = RunTool({"compile", Layer(), "-o", Path("all.so")});
  EXPECT_EQ(result.status, kDone) << result.err;
  std::ostringstream header;
  header << std::ifstream(Path("all.h")).rdbuf();
  EXPECT_THAT(header.str(), HasSubstr("// (x: float32[n, 64], y: float32[n, 32])\nint all(const TwCall* call"));
  EXPECT_THAT(header.str(), HasSubstr("int64_t all_workspace_bytes(int64_t n);"));
}

TEST_F(OnnxPlan, CompileRefuses) {
  const std::string model = Layer();
  EXPECT_EQ(RunTool({"compile", model, "-o", Path("x.ll")}).err,
            "tilewright compile: -o of an ONNX model ends in .so or .o; see tilewright compile --help\n");
  EXPECT_THAT(RunTool({"compile", model, "--dim=n=3", "-o", Path("x.o"), "--target=cuda-sm90a"}).err,
              HasSubstr("a model for cuda-sm90a is written as .so"));
  EXPECT_EQ(RunTool({"compile", Path("none.onnx"), "-o", Path("x.o")}).status, kRefused);
  EXPECT_EQ(RunTool({"compile", model, "-o", Path("x.o"), "--dim=n"}).status, kUsage);
  EXPECT_EQ(RunTool({"explain", model, "--opt-level=best"}).status, kUsage);
}

TEST_F(OnnxPlan, ModelsWithoutAPlanAreRefused) {
  ModelWriter m(17);
  m.Input("c", TensorProto::BOOL, {});
  m.Input("x", TensorProto::FLOAT, {4});
  auto* branch = m.Node("If", {"c"}, {"y"});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = branch->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    ModelWriter::AddNode(attribute->mutable_g()->add_node(), name[0] == 't' ? "Neg" : "Relu", {"x"}, {"r"});
    attribute->mutable_g()->add_output()->set_name("r");
  }
  m.Output("y");
  const std::string path = Write(m, "branch.onnx");
  for (const Result& result : {RunTool({"compile", path, "-o", Path("x.so")}), RunTool({"explain", path})}) {
    EXPECT_EQ(result.status, kRefused);
    EXPECT_THAT(result.err, HasSubstr("branch.onnx: error: the order of its calls depends on data"));
  }
}

// On another machine than this one, what has no program stays on the host.
TEST_F(OnnxPlan, ExplainListsWhatTheHostRuns) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {8, 8});
  m.Node("Relu", {"x"}, {"h"});
  m.Node("NonZero", {"h"}, {"where"});
  m.Node("Transpose", {"where"}, {"at"});
  m.Node("GatherND", {"h", "at"}, {"y"});
  m.Output("y");
  const std::string path = Write(m, "found.onnx");
  const Result text = RunTool({"explain", path, "--target=cuda-sm90a", "--plan"});
  EXPECT_EQ(text.status, kDone) << text.err;
  EXPECT_THAT(text.out, HasSubstr("2 parts on cuda-sm90a, the rest on the host's CPU"));
  EXPECT_THAT(text.out, HasSubstr("part main.part0: 1 calls of 1 kernels, 1 launches"));
  EXPECT_THAT(text.out, HasSubstr("\nhost: value "));
  EXPECT_THAT(text.out, HasSubstr(" of operator host.nonzero\npart main.part1: "));
  const Result json = RunTool({"explain", path, "--target=cuda-sm90a", "--json"});
  EXPECT_EQ(json.status, kDone) << json.err;
  const nlohmann::json steps = nlohmann::json::parse(json.out)["steps"];
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0]["part"], "main.part0");
  EXPECT_TRUE(steps[1].contains("host"));
  const Result run = RunTool({"run", path, "--target=cuda-sm90a", "--engine=cuda-emulation"});
  EXPECT_EQ(run.status, kDone) << run.err;
}

TEST_F(OnnxPlan, ExplainPrintsCallsAndPasses) {
  const std::string model = Layer();
  const Result plain = RunTool({"explain", model, "--dim=n=3", "--opt-level=0"});
  EXPECT_EQ(plain.status, kDone) << plain.err;
  EXPECT_THAT(plain.out, HasSubstr("3 calls of 3 kernels, "));
  const Result joined = RunTool({"explain", model, "--dim=n=3", "--plan", "--passes"});
  EXPECT_EQ(joined.status, kDone) << joined.err;
  EXPECT_THAT(joined.out, HasSubstr("1 calls of 1 kernels, "));
  EXPECT_THAT(joined.out, HasSubstr("  limited by "));
  EXPECT_THAT(joined.out, HasSubstr("float32[3, 32]"));
  EXPECT_THAT(joined.out, HasSubstr("    joins "));
  // The time of the load is told down to LLVM's passes, and by kernel.
  for (const char* phase : {"loaded in ", "import", "FuseKernels", "rules", "verify", "unroll", "LLVM passes",
                            "LLVM code", "constants", "kernel, its longest phases"}) {
    EXPECT_THAT(joined.out, HasSubstr(phase));
  }
  // The program of each kernel is one that this tool takes, with the constants marked.
  const std::string folder = Path("programs");
  const Result written = RunTool({"explain", model, "--dim=n=3", "--programs=" + folder});
  EXPECT_EQ(written.status, kDone) << written.err;
  EXPECT_THAT(RunTool({"show", folder + "/k0.py"}).out, HasSubstr("constant_params"));
  EXPECT_EQ(RunTool({"explain", folder + "/k0.py"}).status, kDone);
  const Result refused = RunTool({"explain", model, "--dim=n=3", "--programs=" + model});
  EXPECT_EQ(refused.status, kRefused);
  EXPECT_THAT(refused.err, HasSubstr(" cannot be written: "));
  EXPECT_THAT(plain.out, HasSubstr("3 calls of 3 kernels, 3 loop nests, projected "));
  EXPECT_THAT(joined.out, HasSubstr("1 calls of 1 kernels, 1 loop nests, projected "));
  // Symbolic extents stay as they are.
  EXPECT_EQ(RunTool({"explain", model, "--plan"}).status, kDone);
}

TEST_F(OnnxPlan, ExplainWritesAPage) {
  const std::string path = Path("model.html");
  const Result result = RunTool({"explain", Layer(), "--dim=n=3", "--html=" + path});
  ASSERT_EQ(result.status, kDone) << result.err;
  std::ostringstream page;
  page << std::ifstream(path).rdbuf();
  for (const char* part : {"<h2>Limiters</h2>", "<h2>Kernels</h2>", "<h2>Calls in their order</h2>", "float32[3, 32]",
                           "<h2>Why kernels were joined</h2>", "</html>"}) {
    EXPECT_THAT(page.str(), HasSubstr(part));
  }
}

TEST_F(OnnxPlan, ModelsComeThroughPipes) {
  std::ostringstream model;
  model << std::ifstream(Layer(), std::ios::binary).rdbuf();
  const Result piped = RunTool({"run", "-", "--dim=n=3"}, model.str());
  EXPECT_EQ(piped.status, kDone) << piped.err;
  EXPECT_EQ(piped.out, RunTool({"run", Layer(), "--dim=n=3"}).out);
  EXPECT_THAT(RunTool({"run", "-"}, model.str()).err, HasSubstr("<stdin>: error: input "));
}

TEST_F(OnnxPlan, ExplainAndRunPrintTimingsAsJson) {
  const Result explained = RunTool({"explain", Layer(), "--dim=n=3", "--passes", "--json"});
  ASSERT_EQ(explained.status, kDone) << explained.err;
  const nlohmann::json explain = nlohmann::json::parse(explained.out);
  EXPECT_EQ(explain["calls"].size(), 1u);
  EXPECT_EQ(explain["target"], "host");
  EXPECT_EQ(explain["load"]["kernels"].size(), 1u);
  const Result ran = RunTool({"run", Layer(), "--dim=n=3", "--timings", "--json"});
  ASSERT_EQ(ran.status, kDone) << ran.err;
  EXPECT_GT(nlohmann::json::parse(ran.out)["load"]["phases"].size(), 3u);
  EXPECT_THAT(RunTool({"run", Layer(), "--dim=n=3", "--timings"}).out, HasSubstr("loaded in "));
  const Result compiled = RunTool({"compile", Layer(), "--dim=n=3", "--timings", "-o", Path("timed.so")});
  EXPECT_THAT(compiled.out, HasSubstr("LLVM code"));
}

// Each step of a recurrent net waits for the one before, which no rule changes.
TEST_F(OnnxPlan, NamesKernelsThatAreFarFromTheirSpeedOfLight) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {4000, 1, 1});
  m.Floats("w", {1, 1, 1}, {0.5f});
  m.Floats("r", {1, 1, 1}, {0.5f});
  ModelWriter::SetInt(m.Node("RNN", {"x", "w", "r"}, {"y"}), "hidden_size", 1);
  m.Output("y");
  const std::string model = Write(m, "chain.onnx");
  for (const char* target : {"x86-haswell", "cuda-sm90a"}) {
    const Result explained = RunTool({"explain", model, std::string("--target=") + target});
    EXPECT_EQ(explained.status, kDone) << explained.err;
    EXPECT_THAT(explained.out, HasSubstr("\nslow: "));
    EXPECT_THAT(explained.out, HasSubstr(" times its speed of light of "));
    const auto json =
        nlohmann::json::parse(RunTool({"explain", model, std::string("--target=") + target, "--json"}).out);
    EXPECT_GT(json["slow"][0]["seconds"], json["slow"][0]["speed_of_light_seconds"]);
  }
  for (const Result& result : {RunTool({"compile", model, "-o", Path("chain.so")}), RunTool({"run", model})}) {
    EXPECT_EQ(result.status, kDone) << result.err;
    EXPECT_THAT(result.err, HasSubstr("chain.onnx: warning: 1 kernel is projected at above 10 times the speed of "
                                      "light: "));
  }
  // Kernels that come from the cache say it too, and those that are good say nothing.
  setenv("TILEWRIGHT_KERNEL_CACHE", Path("cache").c_str(), 1);
  for (int i = 0; i < 2; ++i) EXPECT_THAT(RunTool({"run", model}).err, HasSubstr("chain.onnx: warning: 1 kernel"));
  EXPECT_THAT(RunTool({"run", Layer(), "--dim=n=3"}).err, Not(HasSubstr("warning")));
  setenv("TILEWRIGHT_KERNEL_CACHE", "off", 1);
}

// A folder that one process fills has all that the next load needs.
TEST_F(OnnxPlan, CompileFillsACache) {
  const std::string folder = Path("filled"), model = Layer();
  const auto fill = [&] { return RunTool({"compile", model, "--dim=n=3", "--cache-only", "-o", folder}); };
  const Result first = fill();
  EXPECT_EQ(first.status, kDone) << first.err;
  EXPECT_EQ(first.out, folder + " has the model's 1 kernels, 1 of them compiled now\n");
  EXPECT_EQ(fill().out, folder + " has the model's 1 kernels, 0 of them compiled now\n");
  setenv("TILEWRIGHT_KERNEL_CACHE", folder.c_str(), 1);
  const Result run = RunTool({"run", model, "--dim=n=3", "--timings"});
  setenv("TILEWRIGHT_KERNEL_CACHE", "off", 1);
  EXPECT_EQ(run.status, kDone) << run.err;
  EXPECT_THAT(run.out, Not(HasSubstr("LLVM")));
}

TEST_F(OnnxPlan, CacheOnlyRefuses) {
  const Result result = RunTool({"compile", Layer(), "--dim=n=3", "--cache-only", "-o", "/proc/nothing"});
  EXPECT_EQ(result.status, kRefused);
  EXPECT_THAT(result.err, HasSubstr("/proc/nothing cannot be written: "));
  EXPECT_EQ(RunTool({"compile", Layer(), "--cache-only", "--target=arm-neoverse-n1", "-o", Path("arm")}).status,
            kUsage);
  EXPECT_EQ(RunTool({"compile", Layer(), "--cache-only"}).status, kUsage);
}

// Nothing runs: kernels are scheduled for the target.
TEST_F(OnnxPlan, ExplainsForOtherTargets) {
  for (const char* target : {"cuda-sm90a", "cuda-sm80", "arm-neoverse-n1"}) {
    const Result result = RunTool({"explain", Layer(), "--dim=n=64", absl::StrCat("--target=", target)});
    EXPECT_EQ(result.status, kDone) << result.err;
    EXPECT_THAT(result.out, HasSubstr("1 calls of 1 kernels, 1 "));
    EXPECT_THAT(result.out, HasSubstr(target));
    EXPECT_THAT(result.out, HasSubstr(target[0] == 'c' ? " launches, " : " loop nests, "));
  }
  const Result unknown = RunTool({"explain", Layer(), "--target=gpu"});
  EXPECT_EQ(unknown.status, kUsage);
}

// An object for another CPU, packed constants included.
TEST_F(OnnxPlan, CompilesForOtherCpus) {
  const std::string path = Path("arm.so");
  const Result result = RunTool({"compile", Layer(), "--dim=n=3", "-o", path, "--target=arm-neoverse-n1"});
  EXPECT_EQ(result.status, kDone) << result.err;
  std::ostringstream library;
  library << std::ifstream(path, std::ios::binary).rdbuf();
  ASSERT_GT(library.str().size(), 20u);
  EXPECT_EQ(library.str()[18], static_cast<char>(183));  // e_machine: EM_AARCH64
}

// Every number that a run prints, but for the sums, of which the last digits differ.
TEST_F(OnnxPlan, RunsInTheEmulatorOfGpus) {
  const Result here = RunTool({"run", Layer(), "--dim=n=3"});
  const Result there = RunTool({"run", Layer(), "--dim=n=3", "--target=cuda-sm90a", "--engine=cuda-emulation"});
  EXPECT_EQ(there.status, kDone) << there.err;
  EXPECT_EQ(here.out.substr(0, 20), there.out.substr(0, 20));
}

TEST_F(OnnxPlan, RunRefusesEnginesOfOtherMachines) {
  const std::string model = Layer();
  for (const auto& [engine, target] :
       {std::pair("cuda", "host"), std::pair("llvm", "cuda-sm90a"), std::pair("interp", "cuda-sm80")}) {
    const Result result =
        RunTool({"run", model, "--dim=n=3", absl::StrCat("--engine=", engine), absl::StrCat("--target=", target)});
    EXPECT_EQ(result.status, kUsage);
    EXPECT_THAT(result.err, HasSubstr(absl::StrCat("--engine=", engine, " does not run models on --target=", target)));
  }
}

}  // namespace
}  // namespace tilewright
