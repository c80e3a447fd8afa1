#include "autoschedule/measure/protocol/serve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using Answer = std::function<std::string(const std::string&)>;

std::string ReadAll(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t size; (size = read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(size));
  close(fd);
  return text;
}

// A process that serves: what it is asked comes from `input`, its answers and what it says otherwise go to pipes.
class Server {
 public:
  Server(std::vector<std::string> flags, const Answer& answer, int input) {
    int output[2], error[2];
    EXPECT_EQ(pipe(output), 0);
    EXPECT_EQ(pipe(error), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(input, STDIN_FILENO);
      dup2(output[1], STDOUT_FILENO);
      dup2(error[1], STDERR_FILENO);
      for (int fd = STDERR_FILENO + 1; fd < 64; ++fd) close(fd);
      std::vector<char*> args = {const_cast<char*>("server")};
      for (std::string& flag : flags) args.push_back(flag.data());
      const int status = ServeLines(static_cast<int>(args.size()), args.data(), answer);
      std::fflush(nullptr);
      _exit(status);
    }
    close(output[1]);
    close(error[1]);
    output_ = output[0];
    error_ = error[0];
  }

  struct End {
    std::string output, error;
    int status;
  };
  // Waits for the process.
  End Wait() {
    End end{.output = ReadAll(output_), .error = ReadAll(error_), .status = 0};
    int status = 0;
    waitpid(pid_, &status, 0);
    end.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return end;
  }

 private:
  pid_t pid_;
  int output_, error_;
};

// All of `text` as input.
Server::End Serve(const std::string& text, const Answer& answer, std::vector<std::string> flags = {}) {
  int input[2];
  EXPECT_EQ(pipe(input), 0);
  Server server(std::move(flags), answer, input[0]);
  close(input[0]);
  EXPECT_EQ(write(input[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(input[1]);
  return server.Wait();
}

TEST(ServeLines, AnswersLineByLine) {
  const Server::End end = Serve("a\n\nlong line\n", [](const std::string& request) { return "<" + request + ">"; });
  EXPECT_EQ(end.output, "<a>\n<>\n<long line>\n");
  EXPECT_EQ(end.status, 0);
}

TEST(ServeLines, ALineWithoutAnEndIsNotARequest) {
  const Server::End end = Serve("a\nb", [](const std::string& request) { return request; });
  EXPECT_EQ(end.output, "a\n");
  EXPECT_EQ(end.status, 0);
}

// What candidates print is not an answer.
TEST(ServeLines, WhatIsPrintedGoesToStandardError) {
  const Server::End end = Serve("a\n", [](const std::string& request) {
    std::printf("printed\n");
    return request;
  });
  EXPECT_EQ(end.output, "a\n");
  EXPECT_EQ(end.error, "printed\n");
}

TEST(ServeLines, RefusesFlagsThatItDoesNotKnow) {
  const Server::End end = Serve("", [](const std::string& request) { return request; }, {"--speed=9"});
  EXPECT_EQ(end.status, 2);
  EXPECT_EQ(end.error, "unknown flag --speed=9\n");
}

TEST(ServeLines, RefusesLibrariesThatItCannotOpen) {
  const Server::End end = Serve("a\n", [](const std::string& request) { return request; }, {"--library=/no/such.so"});
  EXPECT_EQ(end.status, 2);
  EXPECT_THAT(end.error, HasSubstr("/no/such.so"));
  EXPECT_EQ(end.output, "");
}

TEST(ServeLines, LeavesNoCore) {
  const Server::End end = Serve("a\n", [](const std::string&) {
    rlimit limit;
    getrlimit(RLIMIT_CORE, &limit);
    return std::to_string(limit.rlim_cur);
  });
  EXPECT_EQ(end.output, "0\n");
}

// Also in the middle of a request, which may never end.
TEST(ServeLines, EndsWithTheCaller) {
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
  Server server(
      {},
      [](const std::string&) -> std::string {
        for (;;) pause();
      },
      sockets[0]);
  close(sockets[0]);
  ASSERT_EQ(write(sockets[1], "hang\n", 5), 5);
  close(sockets[1]);
  const Server::End end = server.Wait();
  EXPECT_EQ(end.status, 0);
  EXPECT_EQ(end.output, "");
}

}  // namespace
}  // namespace tilewright
