#include "graph/tune/submit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tilewright::graph {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kTarget[] = "znver4 +avx2";

std::vector<ModelTask> Tasks(int count) {
  std::vector<ModelTask> tasks;
  for (int i = 0; i < count; ++i) {
    tasks.push_back({.name = absl::StrCat("p", i),
                     .kernels = {absl::StrCat("k", i)},
                     .calls = 1,
                     .workload = static_cast<uint64_t>(i + 1),
                     .projected_seconds = 1.0 / (i + 1)});
  }
  return tasks;
}

// A job's command that writes a record of each workload, and the last line.
std::string Job(const std::vector<uint64_t>& workloads, const std::string& target = kTarget) {
  std::string command;
  for (const uint64_t workload : workloads) {
    const TuningRecord record{.workload = workload, .target = target, .threads = 2, .seconds = {1}};
    absl::StrAppend(&command, "echo ", ShellQuoted(ToJson(record)), "; ");
  }
  absl::StrAppend(&command, "echo ", ShellQuoted(EndOfRecords(static_cast<int64_t>(workloads.size()))));
  return command;
}

class Submit : public testing::Test {
 protected:
  absl::StatusOr<SubmitResult> Run(const std::string& submit, const std::string& target = kTarget) {
    const RecordQuery query{.target = kTarget, .threads = 2};
    return SubmitTasks(Tasks(5), query, *database_,
                       {.submit = submit,
                        .jobs = 3,
                        .command = [&](const std::vector<uint64_t>& workloads) { return Job(workloads, target); },
                        .on_event = [&](std::string_view event) { events_.emplace_back(event); }});
  }
  size_t NumTasks() const { return database_->BestOfEach()->size(); }
  static std::string Fresh(const std::string& name) {
    const std::string path = testing::TempDir() + "/" + name;
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
    return path;
  }

  absl::StatusOr<Database> database_ = Database::Open(":memory:");
  std::vector<std::string> events_;
};

TEST_F(Submit, CollectsTheRecordsOfAllJobs) {
  const auto result = Run("sh -c {}");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->jobs, 3);
  EXPECT_EQ(result->records, 5);
  EXPECT_EQ(result->requeued, 0);
  EXPECT_THAT(result->lost, IsEmpty());
  EXPECT_EQ(NumTasks(), 5u);
  // What else is printed does not count.
  EXPECT_EQ(Run("echo Welcome; sh -c {}; echo bye")->records, 5);
}

TEST_F(Submit, NeedsAPlaceForTheCommand) {
  EXPECT_EQ(Run("sh -c").status().message(), "\"sh -c\" has no {} in it, where the command of a job goes");
}

// Each job fails the first time, before or after it wrote something.
TEST_F(Submit, SubmitsLostJobsOnceMore) {
  for (const char* fails : {"exit 3", "sh -c \"$c\" | head -n 1; exit 1", "sh -c \"$c\" | head -c 100", "kill -9 $$"}) {
    const std::string folder = Fresh("lost");
    events_.clear();
    const auto result =
        Run(absl::StrCat("c={}; if mkdir ", folder, "/$(echo \"$c\" | cksum | cut -d' ' -f1) 2>/dev/null; then ", fails,
                         "; else sh -c \"$c\"; fi"));
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->requeued, 3) << fails;
    EXPECT_THAT(result->lost, IsEmpty()) << fails;
    EXPECT_GE(result->records, 5);
    ASSERT_EQ(events_.size(), 3u);
    EXPECT_THAT(events_[0], HasSubstr("; it is submitted again"));
  }
  EXPECT_EQ(NumTasks(), 5u);
}

TEST_F(Submit, NamesJobsThatAreLostTwice) {
  const auto result = Run("case {} in *0000000000000003*) exit 7;; *) sh -c {};; esac");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->requeued, 1);
  ASSERT_EQ(result->lost.size(), 1u);
  EXPECT_THAT(result->lost[0], HasSubstr("k2"));
  EXPECT_THAT(result->lost[0], HasSubstr("): exit status 7"));
  EXPECT_GE(NumTasks(), 2u) << "those of the other jobs";
}

TEST_F(Submit, RefusesRecordsOfAnotherTarget) {
  const auto result = Run("sh -c {}", "znver3 +avx2");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->records, 0);
  ASSERT_EQ(result->refused.size(), 3u);
  EXPECT_THAT(result->refused[0], HasSubstr(" records of another target, znver3 +avx2"));
  EXPECT_EQ(NumTasks(), 0u);
}

TEST_F(Submit, JobsEndWhenItIsStopped) {
  const auto start = std::chrono::steady_clock::now();
  const auto result =
      SubmitTasks(Tasks(2), {.target = kTarget, .threads = 2}, *database_,
                  {.submit = "sh -c {}",
                   .jobs = 2,
                   .command =
                       [](const std::vector<uint64_t>& workloads) {
                         return absl::StrCat("trap : INT; sleep 100; ", Job(workloads));
                       },
                   .stop = [&] { return std::chrono::steady_clock::now() - start > std::chrono::milliseconds(500); }});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(50));
  EXPECT_THAT(result->lost, IsEmpty());
  EXPECT_EQ(NumTasks(), 2u) << "what they have when they are interrupted";
}

TEST(ShellQuoted, IsOneWord) {
  EXPECT_EQ(ShellQuoted("a b"), "'a b'");
  EXPECT_EQ(ShellQuoted("it's"), "'it'\\''s'");
}

}  // namespace
}  // namespace tilewright::graph
