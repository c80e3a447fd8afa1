// A request that ends its worker costs that request only.
#include "autoschedule/measure/protocol/worker_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace tilewright {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using Outcome = WorkerReply::Outcome;

std::string worker;  // the path of unreliable_worker

WorkerPool Pool(int workers) { return WorkerPool(worker, {"--memory-bytes=500000000"}, workers); }

TEST(WorkerPool, AnswersInTheOrderOfTheRequests) {
  WorkerPool pool = Pool(3);
  std::vector<std::string> requests;
  // Longer than what a socket holds at once.
  for (int i = 0; i < 20; ++i) requests.push_back(std::to_string(i) + std::string(300'000, 'x'));
  const std::vector<WorkerReply> replies = pool.Run(requests, 30);
  ASSERT_EQ(replies.size(), requests.size());
  for (size_t i = 0; i < replies.size(); ++i) {
    EXPECT_EQ(replies[i].outcome, Outcome::kAnswered);
    EXPECT_EQ(replies[i].text.substr(0, requests[i].size()), requests[i]);
  }
}

TEST(WorkerPool, WorkersStay) {
  WorkerPool pool = Pool(1);
  const std::vector<std::string> requests = {"a", "b"};
  EXPECT_EQ(pool.Run(requests, 30)[1].text, "b 2");
  EXPECT_EQ(pool.Run(requests, 30)[1].text, "b 4");
  pool.Restart();
  EXPECT_EQ(pool.Run(requests, 30)[1].text, "b 2");
}

TEST(WorkerPool, LosesOnlyTheRequestThatEndsAWorker) {
  WorkerPool pool = Pool(1);
  const std::vector<std::string> requests = {"a", "crash", "b", "exit", "c", "eat", "d"};
  const std::vector<WorkerReply> replies = pool.Run(requests, 30);
  for (size_t good : {0, 2, 4, 6}) EXPECT_EQ(replies[good].text, requests[good] + " 1");
  for (size_t bad : {1, 3, 5}) EXPECT_EQ(replies[bad].outcome, Outcome::kEnded);
  EXPECT_THAT(replies[1].text, AllOf(HasSubstr("the worker ended with signal 6 (Aborted): this is not an answer\n"),
                                     EndsWith("about to crash")));
  EXPECT_THAT(replies[3].text, StartsWith("the worker ended with status 3: this is not an answer"));
  EXPECT_THAT(replies[5].text, HasSubstr("std::bad_alloc"));
}

TEST(WorkerPool, KillsWhoDoesNotAnswer) {
  WorkerPool pool = Pool(2);
  const std::vector<std::string> requests = {"hang", "hang", "a"};
  const std::vector<WorkerReply> replies = pool.Run(requests, 0.3);
  EXPECT_EQ(replies[0].outcome, Outcome::kTimedOut);
  EXPECT_EQ(replies[1].outcome, Outcome::kTimedOut);
  EXPECT_THAT(replies[0].text, HasSubstr("no answer within 0.3 seconds"));
  // A loaded machine may not start a process in time; it does without the limit.
  EXPECT_EQ(pool.Run({&requests[2], 1}, 30)[0].outcome, Outcome::kAnswered);
}

// Whether there is a process of that number that has not ended.
bool IsRunning(int pid) {
  std::string line;
  std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/stat"), line);
  return !line.empty() && line.find(") Z") == line.npos;
}

TEST(WorkerPool, WorkersEndWithAProcessThatIsKilled) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t owner = fork();
  if (owner == 0) {
    WorkerPool pool = Pool(1);
    const std::string requests[] = {"pid", "hang"};
    const std::string answer = pool.Run({&requests[0], 1}, 30)[0].text + "\n";
    if (write(ends[1], answer.data(), answer.size()) < 0) _exit(1);
    pool.Run({&requests[1], 1}, 30);
    _exit(0);
  }
  char text[32] = "";
  ASSERT_GT(read(ends[0], text, sizeof text - 1), 0);
  const int pid = std::atoi(text);
  EXPECT_TRUE(IsRunning(pid));
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  for (int i = 0; i < 1000 && IsRunning(pid); ++i) usleep(10'000);
  EXPECT_FALSE(IsRunning(pid));
}

TEST(WorkerPool, SaysThatThereIsNoWorker) {
  WorkerPool pool("/nowhere/at/all", {}, 1);
  const std::string request = "a";
  EXPECT_EQ(pool.Run({&request, 1}, 30)[0].text, "/nowhere/at/all cannot be started: No such file or directory");
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 2) return 2;
  tilewright::worker = argv[1];
  return RUN_ALL_TESTS();
}
