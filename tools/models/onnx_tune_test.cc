// `tune MODEL.onnx`: what it measures, that `run`, `explain` and `compile` take it, and that nothing of it is lost.
#include "tools/models/onnx_tune.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "autoschedule/database/canonical_names.h"
#include "autoschedule/database/database.h"
#include "graph/executor/onnx_model.h"
#include "graph/onnx/testing.h"
#include "nlohmann/json.hpp"
#include "tools/testing/run_tool.h"

extern char** environ;

namespace tilewright {
namespace {

using graph::ModelWriter;
using onnx::TensorProto;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;
using Result = ToolResult;

std::string tilewright_path;

std::string Path(const std::string& name) { return testing::TempDir() + "/" + name; }

std::string ReadText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string FreshDatabase(const std::string& name) {
  for (const char* suffix : {"", "-wal", "-shm"}) unlink((Path(name) + suffix).c_str());
  return Path(name);
}

// Two layers of one kernel, and a product.
std::string Layers() {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {"n", 64});
  for (const char* name : {"w", "v"}) m.Floats(name, {64, 64}, std::vector<float>(64 * 64, 0.01f));
  m.Floats("u", {64, 32}, std::vector<float>(64 * 32, 0.02f));
  m.Node("MatMul", {"x", "w"}, {"h0"});
  m.Node("Relu", {"h0"}, {"h1"});
  m.Node("MatMul", {"h1", "v"}, {"h2"});
  m.Node("Relu", {"h2"}, {"h3"});
  m.Node("MatMul", {"h3", "u"}, {"y"});
  m.Output("y");
  std::ofstream(Path("layers.onnx"), std::ios::binary) << m.Bytes();
  return Path("layers.onnx");
}

class OnnxTune : public testing::Test {
 protected:
  OnnxTune() { setenv("TILEWRIGHT_KERNEL_CACHE", "off", 1); }
};

TEST_F(OnnxTune, RecordsAreUsedByTheModel) {
  const std::string model = Layers(), database = "--db=" + FreshDatabase("used.db");
  const Result tuned = RunTool({"tune", model, "--dim=n=24", "--trials=80", "--seconds=120", "--keep-joins", database});
  ASSERT_EQ(tuned.status, kDone) << tuned.err;
  EXPECT_THAT(tuned.err, HasSubstr("2 kernels to tune\n"));
  EXPECT_THAT(tuned.err, HasSubstr(" s of 120: "));
  EXPECT_THAT(tuned.out, HasSubstr("kernels      calls "));
  EXPECT_THAT(tuned.out, HasSubstr("all calls of a run: "));
  EXPECT_THAT(tuned.out, Not(HasSubstr(" no "))) << "both kernels have records";
  EXPECT_THAT(tuned.out, Not(HasSubstr("~"))) << "both were measured";

  EXPECT_THAT(RunTool({"explain", model, "--dim=n=24", database}).out, HasSubstr("2 of 2 kernels by records of "));
  const Result plan = RunTool({"explain", model, "--dim=n=24", database, "--plan"});
  EXPECT_THAT(plan.out, HasSubstr("  (record)\n"));
  const auto json = nlohmann::json::parse(RunTool({"explain", model, "--dim=n=24", database, "--json"}).out);
  EXPECT_EQ(json.at("calls").at(0).at("record"), true);
  EXPECT_THAT(RunTool({"run", model, "--dim=n=24", database, "--profile"}).out, HasSubstr(", by a record)"));
  EXPECT_THAT(RunTool({"run", model, "--dim=n=24", "--profile"}).out, Not(HasSubstr("by a record")));
  EXPECT_EQ(RunTool({"compile", model, "--dim=n=24", database, "-o", Path("layers.so")}).status, kDone);
  // Kernels of other sizes have none.
  EXPECT_THAT(RunTool({"explain", model, "--dim=n=25", database}).out, HasSubstr("0 of 2 kernels by records of "));
}

// A record belongs to what a program computes: the kernel's program has it under any name.
TEST_F(OnnxTune, RecordsHoldUnderOtherNames) {
  const std::string model = Layers(), database = "--db=" + FreshDatabase("names.db"), folder = Path("programs");
  ASSERT_EQ(RunTool({"tune", model, "--dim=n=24", "--trials=20", "--seconds=120", "--keep-joins", database}).status,
            kDone);
  ASSERT_EQ(RunTool({"explain", model, "--dim=n=24", "--programs=" + folder}).status, kDone);
  const std::string program = ReadText(folder + "/k0.py");
  const Result run = RunTool({"run", "-", "--engine=llvm", "--compare", database}, program);
  EXPECT_EQ(run.status, kDone) << run.err;
  EXPECT_THAT(run.out, HasSubstr("database"));
  const size_t block = program.find("T.block(\"") + 9, function = program.find("def ") + 4;
  const std::string old_block = program.substr(block, program.find('"', block) - block);
  const std::string old_function = program.substr(function, program.find('(', function) - function);
  const std::string renamed = absl::StrReplaceAll(
      program, {{"\"" + old_block + "\"", "\"renamed\""}, {"def " + old_function + "(", "def other("}});
  ASSERT_NE(renamed, program);
  const Result again = RunTool({"run", "-", "--engine=llvm", "--compare", database}, renamed);
  EXPECT_EQ(again.status, kDone) << again.err;
  EXPECT_THAT(again.out, HasSubstr("database"));
}

// Records by which the product and its Relu are slower joined: every command that loads the model says so.
TEST_F(OnnxTune, NamesWhatRecordsKeepApart) {
  const std::string model = Layers(), path = FreshDatabase("apart.db");
  graph::FusionReport report;
  graph::OnnxModel::LoadOptions options{.dims = {{"n", 24}}, .report = &report};
  options.executor.kernels.target = HostTarget();
  options.executor.kernels.use = graph::KernelUse::kExplain;
  auto file = graph::ModelFile::Open(model);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(graph::OnnxModel::Load(*std::move(file), options).ok());
  ASSERT_EQ(report.joins.size(), 1u) << "of both layers";
  auto database = Database::Open(path);
  for (const auto& [program, seconds] :
       {std::pair(report.joins[0].joined, 9e-4), {report.joins[0].first, 4e-5}, {report.joins[0].second, 2e-5}}) {
    ASSERT_TRUE(database
                    ->Put({.workload = WorkloadOf(Module(program)),
                           .target = TargetKey(HostTarget()),
                           .threads = HostTarget().cores,
                           .scheduled = 1,
                           .seconds = {seconds}})
                    .ok());
  }
  const std::string line = absl::StrCat("apart by records of ", path, ": ");
  const auto names_it = testing::AllOf(HasSubstr(line), HasSubstr(": measured joined 900.0 us, apart 60.1 us\n"));
  const std::string flag = "--db=" + path;
  const Result explained = RunTool({"explain", model, "--dim=n=24", flag});
  EXPECT_THAT(explained.out, names_it);
  EXPECT_THAT(explained.out, HasSubstr(" calls of 3 kernels, "));
  EXPECT_THAT(RunTool({"run", model, "--dim=n=24", flag}).err, names_it);
  EXPECT_THAT(RunTool({"compile", model, "--dim=n=24", flag, "-o", Path("apart.so")}).err, names_it);
  const Result tuned = RunTool({"tune", model, "--dim=n=24", flag, "--trials=1", "--seconds=60"});
  EXPECT_THAT(tuned.out, names_it);
  EXPECT_THAT(tuned.err, HasSubstr("3 kernels to tune\n"));
  EXPECT_THAT(RunTool({"run", model, "--dim=n=24"}).err, Not(HasSubstr("apart by records")));
}

// Joined kernels are measured apart in a part of the measurements.
TEST_F(OnnxTune, MeasuresJoinsApart) {
  const std::string model = Layers(), database = "--db=" + FreshDatabase("joins.db");
  const Result tuned = RunTool({"tune", model, "--dim=n=24", "--seconds=120", "--trials=96", database});
  ASSERT_EQ(tuned.status, kDone) << tuned.err;
  EXPECT_THAT(tuned.err, HasSubstr("joined kernels measured apart: 1\n"));
  const Result again = RunTool({"tune", model, "--dim=n=24", "--seconds=120", "--trials=8", database});
  EXPECT_THAT(again.err, HasSubstr("joined kernels measured apart: 0\n")) << "they have records";
}

TEST_F(OnnxTune, TakesTheFlagsOfModels) {
  const std::string model = Layers();
  const auto kernels = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> command = {"tune", model, "--trials=1", "--seconds=60"};
    command.insert(command.end(), flags.begin(), flags.end());
    const Result tuned = RunTool(command);
    EXPECT_EQ(tuned.status, kDone) << tuned.err;
    const size_t end = tuned.err.find(" kernels to tune");
    return end == std::string::npos
               ? ""
               : tuned.err.substr(tuned.err.rfind('\n', end) + 1, end - tuned.err.rfind('\n', end) - 1);
  };
  EXPECT_EQ(kernels({"--dim=n=8"}), "2");
  EXPECT_EQ(kernels({"--dim=n=8,16,24"}), "6") << "those of each size";
  EXPECT_EQ(kernels({}), "2") << "symbolic ones, at typical sizes";
  EXPECT_EQ(kernels({"--dim=n=8", "--opt-level=0"}), "3") << "two products and Relu, equal ones once";
  EXPECT_EQ(kernels({"--dim=n=8", "--precision=integer"}), "2");
  const Result gpu = RunTool({"tune", model, "--dim=n=8", "--trials=2", "--seconds=60", "--target=cuda-sm90a"});
  EXPECT_EQ(gpu.status, kDone) << gpu.err;
}

TEST_F(OnnxTune, Refuses) {
  const std::string model = Layers();
  EXPECT_THAT(RunTool({"tune", model, "--dim=m=8"}).err, HasSubstr("no input of the model has a symbolic dimension m"));
  EXPECT_EQ(RunTool({"tune", model, "-o", Path("x.py")}).status, kUsage) << "of programs only";
  EXPECT_EQ(RunTool({"tune", model, "--precision=integer", "--opt-level=0"}).status, kUsage);
  EXPECT_EQ(RunTool({"tune", Path("none.onnx")}).status, kRefused);
  EXPECT_THAT(RunTool({"tune", model, "--dim=n=8", "--db=/nowhere/x.db"}).err, HasSubstr("/nowhere/x.db"));
}

// A `tilewright` process with a group of its own, as a shell starts one.
struct Tuner {
  pid_t pid = 0;
  std::string output;
};

Tuner Start(const std::string& name, std::vector<std::string> command) {
  Tuner tuner{.output = Path(name + ".txt")};
  command.insert(command.begin(), tilewright_path);
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, tuner.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  EXPECT_EQ(posix_spawn(&tuner.pid, argv[0], &actions, &attributes, argv.data(), environ), 0);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return tuner;
}

// The exit status, or -1 when it did not exit by itself.
int Wait(const Tuner& tuner) {
  int status = 0;
  while (waitpid(tuner.pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::vector<TuningRecord> Records(const std::string& path) {
  const auto database = Database::Open(path, Database::Mode::kExisting);
  if (!database.ok()) return {};
  return database->All().value_or(std::vector<TuningRecord>());
}

std::set<std::string> UidsOf(const std::vector<TuningRecord>& records) {
  std::set<std::string> uids;
  for (const TuningRecord& record : records) uids.insert(record.uid);
  return uids;
}

// Until there are more records than `count`.
void WaitForRecords(const std::string& path, size_t count) {
  for (int i = 0; i < 3000 && Records(path).size() <= count; ++i) std::this_thread::sleep_for(milliseconds(20));
}

TEST_F(OnnxTune, CtrlCWritesWhatThereIs) {
  const std::string database = FreshDatabase("interrupted.db");
  const Tuner tuner = Start("interrupted", {"tune", Layers(), "--dim=n=24", "--seconds=600", "--db=" + database});
  WaitForRecords(database, 4);
  kill(-tuner.pid, SIGINT);  // as a terminal does: its workers get it too
  EXPECT_EQ(Wait(tuner), 0);
  const std::string output = ReadText(tuner.output);
  EXPECT_THAT(output, HasSubstr("interrupted: what was measured is in " + database));
  EXPECT_THAT(output, HasSubstr("all calls of a run: "));
  const std::vector<TuningRecord> records = Records(database);
  EXPECT_GT(records.size(), 4u);
  for (const TuningRecord& record : records) EXPECT_NE(record.failure, "crash") << record.message;
}

// What a `tilewright` process printed, and how it ended.
std::pair<int, std::string> RunProcess(const std::string& name, const std::vector<std::string>& command) {
  const Tuner tuner = Start(name, command);
  const int status = Wait(tuner);
  return {status, ReadText(tuner.output)};
}

TEST_F(OnnxTune, SubmitsItsKernelsAsJobs) {
  const std::string database = FreshDatabase("submitted.db"), model = Layers();
  const std::vector<std::string> command = {"tune",         model,      "--dim=n=24",      "--trials=6",
                                            "--seconds=60", "--jobs=2", "--db=" + database};
  const auto with = [&](const std::string& submit) {
    std::vector<std::string> words = command;
    words.push_back("--submit=" + submit);
    return words;
  };
  const auto [status, output] = RunProcess("submit", with("sh -c {}"));
  ASSERT_EQ(status, kDone) << output;
  EXPECT_THAT(output, HasSubstr(" records of 2 jobs, 0 submitted again\n"));
  EXPECT_THAT(output, Not(HasSubstr("~"))) << "both kernels were measured";
  EXPECT_THAT(RunTool({"explain", model, "--dim=n=24", "--db=" + database}).out,
              HasSubstr("2 of 2 kernels by records"));

  // One job is lost, and comes again.
  const std::string once = Path("once");
  rmdir(once.c_str());
  const auto [again, said] = RunProcess("again", with("if mkdir " + once + " 2>/dev/null; then exit 1; fi; sh -c {}"));
  EXPECT_EQ(again, kDone) << said;
  EXPECT_THAT(said, HasSubstr(" records of 2 jobs, 1 submitted again\n"));
  // What is lost twice is named, and nothing that was there is lost.
  const size_t records = Records(database).size();
  const auto [refused, named] = RunProcess("lost", with("false {}"));
  EXPECT_EQ(refused, kRefused);
  EXPECT_THAT(named, HasSubstr("not tuned: lost: job 0 (k0): exit status 1\n"));
  EXPECT_EQ(Records(database).size(), records);

  EXPECT_THAT(RunProcess("brace", with("sh -c")).second, HasSubstr("\"sh -c\" has no {} in it"));
  EXPECT_EQ(RunTool({"tune", model, "--jobs=2"}).status, kUsage);
  EXPECT_EQ(RunTool({"tune", model, "--submit=sh -c {}", "--records"}).status, kUsage);
  EXPECT_THAT(RunTool({"tune", model, "--dim=n=24", "--tasks=00000000000000ff"}).err,
              HasSubstr("the model has no kernel of workload 00000000000000ff"));
}

TEST_F(OnnxTune, SubmitsToSlurm) {
  if (std::system("srun -n1 true >/dev/null 2>&1") != 0) GTEST_SKIP() << "Slurm is not installed, or does not run";
  const std::string database = FreshDatabase("slurm.db");
  const auto [status, output] = RunProcess("slurm", {"tune", Layers(), "--dim=n=24", "--trials=6", "--seconds=60",
                                                     "--jobs=2", "--db=" + database, "--submit=srun -n1 sh -c {}"});
  EXPECT_EQ(status, kDone) << output;
  EXPECT_THAT(output, HasSubstr(" records of 2 jobs, 0 submitted again\n"));
}

TEST_F(OnnxTune, IsKilledAndGoesOn) {
  const std::string database = FreshDatabase("killed.db"), model = Layers();
  std::set<std::string> committed;
  for (int round = 0; round < 3; ++round) {
    const Tuner tuner = Start(
        "killed", {"tune", model, "--dim=n=24", "--seconds=600", absl::StrCat("--seed=", round), "--db=" + database});
    WaitForRecords(database, committed.size());
    std::this_thread::sleep_for(milliseconds(150 * round));
    committed.merge(UidsOf(Records(database)));
    kill(tuner.pid, SIGKILL);
    ASSERT_EQ(Wait(tuner), -1) << ReadText(tuner.output);
    const std::set<std::string> held = UidsOf(Records(database));
    for (const std::string& uid : committed) ASSERT_TRUE(held.contains(uid)) << uid << " is lost in round " << round;
    committed.merge(UidsOf(Records(database)));
  }
  const Result next =
      RunTool({"tune", model, "--dim=n=24", "--trials=80", "--seconds=120", "--keep-joins", "--db=" + database});
  EXPECT_EQ(next.status, kDone) << next.err;
  EXPECT_GT(Records(database).size(), committed.size());
  EXPECT_THAT(next.out, Not(HasSubstr("~"))) << "both kernels were measured";
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 2) return 2;
  tilewright::tilewright_path = argv[1];
  return RUN_ALL_TESTS();
}
