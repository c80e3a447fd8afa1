// The db command, and what compile and run do with a database.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "autoschedule/database/database.h"
#include "autoschedule/search/measured_record.h"
#include "intrin/registry.h"
#include "ir/script/parse_or_die.h"
#include "ir/structural.h"
#include "schedule/recorder/schedule.h"
#include "schedule/script/trace_text.h"
#include "tools/command_line/command.h"
#include "tools/testing/run_tool.h"

namespace tilewright {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

using Result = ToolResult;

constexpr char kAddOne[] = R"(
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    T.func_attr({"tilewright.constant_params": [0]})
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi] + T.float32(1)
)";

std::string FreshPath(const std::string& name) {
  const std::string path = testing::TempDir() + "/" + name + ".db";
  for (const char* suffix : {"", "-wal", "-shm"}) unlink((path + suffix).c_str());
  return path;
}

// A record of kAddOne, split by the factor; its constant operand is packed ahead of time.
TuningRecord Record(int64_t factor, double seconds) {
  const Module module = ParseOrDie(kAddOne);
  Schedule schedule(module);
  const BlockRv block = *schedule.GetBlock("B");
  EXPECT_TRUE(schedule.Split((*schedule.GetLoops(block))[0], {Value(), factor}).ok());
  EXPECT_TRUE(schedule.HoistPrepack(*schedule.CacheRead(block, 0, "global")).ok());
  Target target = HostTarget();
  return {.uid = std::to_string(factor),
          .workload = StructuralHash(module),
          .program = kAddOne,
          .target = TargetKey(target),
          .threads = target.cores,
          .trace = ToJson(schedule.trace()),
          .scheduled = StructuralHash(schedule.module()),
          .seconds = {seconds}};
}

std::string MakeDatabase(const std::string& name, const std::vector<TuningRecord>& records) {
  const std::string path = FreshPath(name);
  auto database = Database::Open(path);
  EXPECT_TRUE(database.ok()) << database.status();
  for (const TuningRecord& record : records) EXPECT_TRUE(database->Put(record).ok());
  return path;
}

TEST(Db, Lists) {
  TuningRecord failed = Record(2, 0);
  failed.failure = "crash";
  const std::string path = MakeDatabase("lists", {Record(4, 0.002), Record(8, 0.001), failed});
  const Result result = RunTool({"db", "list", "--db=" + path});
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_THAT(result.out, StartsWith("workload         threads records    best ms target; parameters; failures\n"));
  EXPECT_THAT(result.out, HasSubstr("       3     1.0000 "));
  EXPECT_THAT(result.out, HasSubstr("; (A: float32[64], B: float32[64]); 1 crash\n"));
}

TEST(Db, PrintsTheBest) {
  const std::string path = MakeDatabase("best", {Record(4, 0.002), Record(8, 0.001)});
  const Result all = RunTool({"db", "best", "--db=" + path});
  EXPECT_EQ(all.status, kDone) << all.err;
  EXPECT_THAT(all.out, HasSubstr(", 1.0000 ms (median of 1), "));
  EXPECT_THAT(all.out, HasSubstr("factors=[None, 8]"));
  EXPECT_EQ(RunTool({"db", "best", "-", "--db=" + path}, kAddOne).out, all.out);
  // What is printed is a schedule.
  const std::string script = testing::TempDir() + "/best.py";
  std::ofstream(script) << all.out;
  EXPECT_THAT(RunTool({"schedule", "-", "--script=" + script}, kAddOne).out, HasSubstr("T.grid(8, 8)"));
  std::string other = kAddOne;
  other.replace(other.find("T.float32(1)"), 12, "T.float32(2)");
  EXPECT_EQ(RunTool({"db", "best", "-", "--db=" + path}, other).err, path + ": no measured record of this program\n");
}

TEST(Db, ExportsMergesAndPrunes) {
  const std::string a = MakeDatabase("a", {Record(4, 0.002)}), b = MakeDatabase("b", {Record(8, 0.001)});
  EXPECT_EQ(RunTool({"db", "merge", b, "--db=" + a}).out, "added 1 records\n");
  const std::string lines = RunTool({"db", "export", "--db=" + a}).out;
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
  EXPECT_THAT(lines, StartsWith("{\"caches\":\"rotating\",\"dimensions\":{},"));
  const std::string file = testing::TempDir() + "/export.jsonl";
  EXPECT_EQ(RunTool({"db", "export", "--db=" + a, "-o", file}).status, kDone);
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_EQ(text.str(), lines);
  EXPECT_EQ(RunTool({"db", "prune", "--keep=1", "--db=" + a}).out, "deleted 1 records\n");
  EXPECT_THAT(RunTool({"db", "best", "--db=" + a}).out, HasSubstr("factors=[None, 8]"));
}

// What export wrote is merged as a database is, from a file or a pipe; what cannot be read makes no database.
TEST(Db, MergesLinesOfExport) {
  const std::string a = MakeDatabase("lines", {Record(4, 0.002), Record(8, 0.001)}), b = FreshPath("merged");
  const std::string lines = testing::TempDir() + "/lines.jsonl";
  ASSERT_EQ(RunTool({"db", "export", "--db=" + a, "-o", lines}).status, kDone);
  EXPECT_EQ(RunTool({"db", "merge", lines, "--db=" + b}).out, "added 2 records\n");
  EXPECT_EQ(RunTool({"db", "merge", lines, "--db=" + b}).out, "added 0 records\n");
  EXPECT_EQ(RunTool({"db", "export", "--db=" + b}).out, RunTool({"db", "export", "--db=" + a}).out);
  const std::string text = RunTool({"db", "export", "--db=" + a}).out, c = FreshPath("piped");
  EXPECT_EQ(RunTool({"db", "merge", "-", "--db=" + c}, text).out, "added 2 records\n");

  const std::string none = FreshPath("none"), wrong = testing::TempDir() + "/wrong.jsonl";
  std::ofstream(wrong) << text << "{}\n";
  EXPECT_EQ(RunTool({"db", "merge", "/nowhere/x.db", "--db=" + none}).err, "/nowhere/x.db: there is no such file\n");
  EXPECT_THAT(RunTool({"db", "merge", wrong, "--db=" + none}).err,
              StartsWith(wrong + ":3:1: error: neither a database nor a line of `db export`: "));
  EXPECT_NE(access(none.c_str(), F_OK), 0);
}

TEST(Db, AnEmptyFileStaysEmpty) {
  const std::string path = FreshPath("empty");
  std::ofstream(path).flush();
  EXPECT_EQ(RunTool({"db", "list", "--db=" + path}).err, path + ": this file is empty, not a database\n");
  EXPECT_EQ(std::ifstream(path, std::ios::ate).tellg(), 0);
}

// Times of another processor say nothing of this one.
TEST(Db, RefusesRecordsOfAnotherProcessor) {
  TuningRecord other = Record(8, 0.001);
  const Target arm = *NamedTarget("arm-neoverse-n1");
  other.target = TargetKey(arm);
  const std::string a = MakeDatabase("here", {}), b = MakeDatabase("there", {Record(4, 0.002), other});
  const Result merged = RunTool({"db", "merge", b, "--db=" + a});
  EXPECT_EQ(merged.status, kRefused);
  EXPECT_EQ(merged.out, "added 1 records\n");
  EXPECT_EQ(merged.err, b + ": 1 record is of another target, " + other.target + ", not of " + TargetKey(HostTarget()) +
                            "; --target=NAME takes those of another machine\n");
  const Result taken = RunTool({"db", "merge", b, "--db=" + a, "--target=arm-neoverse-n1"});
  EXPECT_EQ(taken.out, "added 1 records\n");
  EXPECT_EQ(RunTool({"db", "list", "--db=" + a, "--target=host"}).status, kUsage);
}

// The record holds whatever the program's names are, and its schedule is printed by those.
TEST(Db, KnowsAProgramWhateverItsNames) {
  const Module module = ParseOrDie(kAddOne);
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Schedule schedule(module);
  ASSERT_TRUE(schedule.Split((*schedule.GetLoops(*schedule.GetBlock("B")))[0], {Value(), 8}).ok());
  const Target target = HostTarget();
  const std::string path =
      MakeDatabase("names", {RecordOf(module, target, target.cores, schedule, {.seconds = {1}}, &intrins)});
  std::string other = kAddOne;
  other.replace(other.find("block(\"B\")"), 10, "block(\"sum\")");
  other.replace(other.find("def main"), 8, "def plus");
  const Result best = RunTool({"db", "best", "-", "--db=" + path}, other);
  EXPECT_EQ(best.status, kDone) << best.err;
  EXPECT_THAT(best.out, HasSubstr("get_block(name=\"sum\", func_name=\"plus\")"));
}

TEST(Db, NamesDamagedTraces) {
  TuningRecord damaged = Record(4, 0.001);
  damaged.trace = "{";
  const std::string path = MakeDatabase("damaged", {damaged});
  const Result result = RunTool({"db", "best", "--db=" + path});
  EXPECT_EQ(result.status, kDone);
  EXPECT_THAT(result.err, StartsWith(path + ": record 4 has no trace that can be read: "));
}

TEST(Db, Refuses) {
  EXPECT_EQ(RunTool({"db", "lost", "--db=x"}).err,
            "tilewright db: lost is none of list, best, export, merge and prune; did you mean list? See tilewright db "
            "--help\n");
  EXPECT_EQ(RunTool({"db", "list"}).err, "tilewright db: --db=PATH is missing; see tilewright db --help\n");
  EXPECT_EQ(RunTool({"db", "list", "x", "--db=x"}).status, kUsage);
  const std::string path = MakeDatabase("refuses", {});
  EXPECT_EQ(RunTool({"db", "prune", "--db=" + path}).status, kUsage);
  EXPECT_EQ(RunTool({"db", "merge", "--db=" + path}).status, kUsage);
  EXPECT_EQ(RunTool({"db", "best", "--db=" + path}).err, path + ": no measured record\n");
  EXPECT_EQ(RunTool({"db", "list", "--db=/nowhere/x.db"}).err, "/nowhere/x.db: there is no such file\n");
  EXPECT_EQ(RunTool({"db", "list", "--db=/nowhere/x.db"}).status, kRefused);
  std::ofstream(path) << "no database any more, but something else of the same name";
  EXPECT_EQ(RunTool({"db", "list", "--db=" + path}).err,
            path + ": the database cannot be read: file is not a database\n");
}

TEST(Compile, TakesTheBestRecord) {
  const std::string path = MakeDatabase("compile", {Record(4, 0.002), Record(8, 0.001)});
  const std::string object = testing::TempDir() + "/best.o", trace = testing::TempDir() + "/best.trace";
  const Result result = RunTool({"compile", "-", "--db=" + path, "-o", object, "--trace=" + trace}, kAddOne);
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_EQ(result.err, "");
  std::ostringstream text;
  text << std::ifstream(trace).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("factors=[None, 8]"));
}

TEST(Compile, TakesTheRulesWhereThereIsNoRecord) {
  TuningRecord stale = Record(4, 0.002);
  stale.scheduled ^= 1;
  const std::string path = MakeDatabase("stale", {stale});
  const std::string object = testing::TempDir() + "/rule.o";
  const Result result = RunTool({"compile", "-", "--db=" + path, "-o", object}, kAddOne);
  EXPECT_EQ(result.status, kDone) << result.err;
  EXPECT_THAT(result.err, HasSubstr("record 4 is stale: its trace leads to another program than was measured\n"));
  EXPECT_THAT(result.err, HasSubstr("that is not stale (1 is)\n"));
  EXPECT_EQ(RunTool({"compile", "-", "--db=/nowhere/x.db", "-o", object}, kAddOne).err,
            "/nowhere/x.db: there is no such file\n");
  EXPECT_EQ(RunTool({"compile", "-", "--db=x", "--script=y", "-o", object}, kAddOne).status, kUsage);
}

TEST(Run, TakesTheBestRecord) {
  const std::string path = MakeDatabase("run", {Record(8, 0.001)});
  const Result plain = RunTool({"run", "-"}, kAddOne);
  for (const char* engine : {"--engine=interp", "--engine=llvm"}) {
    const Result best = RunTool({"run", "-", "--db=" + path, engine, "--compare"}, kAddOne);
    EXPECT_EQ(best.status, kDone) << best.err;
    EXPECT_THAT(best.out, StartsWith(plain.out));
    EXPECT_THAT(best.out, HasSubstr("largest error absolute 0 "));
  }
  EXPECT_EQ(RunTool({"run", "-", "--db=/nowhere/x.db"}, kAddOne).err, "/nowhere/x.db: there is no such file\n");
}

}  // namespace
}  // namespace tilewright
