// Writers that are killed, and several at once, lose nothing that Put has reported as committed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_split.h"
#include "autoschedule/database/database.h"

namespace tilewright {
namespace {

std::string put_records;  // the path of the program

struct Writer {
  pid_t pid = 0;
  int output = -1;   // what it prints
  std::string text;  // ... so far
};

Writer Start(const std::string& database, const std::string& name, int count) {
  Writer writer;
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  std::vector<std::string> command = {put_records, database, name, std::to_string(count)};
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  EXPECT_EQ(posix_spawn(&writer.pid, argv[0], &actions, nullptr, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  writer.output = ends[0];
  return writer;
}

// Reads what the writer prints until there are that many lines, or to the end.
void ReadLines(Writer& writer, int64_t count) {
  char buffer[4096];
  for (ssize_t size; std::count(writer.text.begin(), writer.text.end(), '\n') < count &&
                     (size = read(writer.output, buffer, sizeof buffer)) > 0;) {
    writer.text.append(buffer, static_cast<size_t>(size));
  }
}

// The complete lines that the writer has printed in its life.
std::vector<std::string> Lines(Writer& writer) {
  ReadLines(writer, INT64_MAX);
  close(writer.output);
  std::vector<std::string> lines = absl::StrSplit(writer.text, '\n');
  lines.pop_back();
  return lines;
}

std::set<std::string> Uids(const std::string& path) {
  std::set<std::string> uids;
  auto database = Database::Open(path);
  EXPECT_TRUE(database.ok()) << database.status();
  if (!database.ok()) return uids;
  const auto records = database->All();
  EXPECT_TRUE(records.ok()) << records.status();
  if (!records.ok()) return uids;
  for (const TuningRecord& record : *records) uids.insert(record.uid);
  return uids;
}

std::string FreshPath(const char* name) {
  const std::string path = testing::TempDir() + "/" + name;
  for (const char* suffix : {"", "-wal", "-shm"}) unlink((path + suffix).c_str());
  return path;
}

TEST(Durability, KilledWritersLoseNothingThatWasCommitted) {
  const std::string path = FreshPath("killed.db");
  std::set<std::string> committed;
  for (int round = 0; round < 50; ++round) {
    Writer writer = Start(path, std::to_string(round), 1'000'000);
    // At some instant from before the tables exist to many records later.
    if (round % 2 == 1) ReadLines(writer, round);
    usleep(static_cast<useconds_t>(round * 97 % 50 * 40));
    kill(writer.pid, SIGKILL);
    for (const std::string& uid : Lines(writer)) committed.insert(uid);
    int status = 0;
    waitpid(writer.pid, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "round " << round << ": the writer ended by itself";
    const std::set<std::string> held = Uids(path);
    for (const std::string& uid : committed) ASSERT_TRUE(held.contains(uid)) << uid << " is lost in round " << round;
  }
  EXPECT_GT(committed.size(), 50u);
}

TEST(Durability, TwoWritersShareAFile) {
  const std::string path = FreshPath("shared.db");
  constexpr int kRecords = 200;
  Writer a = Start(path, "a", kRecords), b = Start(path, "b", kRecords);
  EXPECT_EQ(Lines(a).size(), kRecords);
  EXPECT_EQ(Lines(b).size(), kRecords);
  for (const Writer& writer : {a, b}) {
    int status = 0;
    waitpid(writer.pid, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(Uids(path).size(), 2 * kRecords);
}

TEST(Durability, ManyCreateAFileAtOnce) {
  constexpr int kThreads = 4;
  for (int round = 0; round < 100; ++round) {
    const std::string path = FreshPath("created.db");
    std::barrier start(kThreads);
    std::vector<absl::Status> opened(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        opened[static_cast<size_t>(i)] = Database::Open(path).status();
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const absl::Status& status : opened) ASSERT_TRUE(status.ok()) << "round " << round << ": " << status;
  }
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 2) return 2;
  tilewright::put_records = argv[1];
  return RUN_ALL_TESTS();
}
