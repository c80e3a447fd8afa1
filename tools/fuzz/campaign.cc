#include "tools/fuzz/campaign.h"

#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/fuzz/program_text.h"

namespace tilewright {
namespace {

using Result = Judgement::Result;

// A program that compiles for longer hangs.
constexpr unsigned kMostSeconds = 60;

Judgement Judge(uint64_t seed, const std::set<int>& without) {
  return JudgeProgram(MakeProgramText(seed, without), seed);
}

// Pieces that go while the program still fails.
std::set<int> Shrink(uint64_t seed, std::set<int> without) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    const int pieces = MakeProgramText(seed, without).pieces;
    for (int piece = 0; piece < pieces; ++piece) {
      std::set<int> fewer = without;
      if (!fewer.insert(piece).second || JudgeApart(seed, fewer).kind != Result::kWrong) continue;
      without = std::move(fewer);
      smaller = true;
    }
  }
  return without;
}

// The first words: numbers and names of arrays differ from program to program.
std::string Shortened(const std::string& reason) {
  const size_t line = reason.find('\n');
  std::string text = reason.substr(0, std::min<size_t>(line, 200));
  if (const size_t error = text.find("error: "); error != std::string::npos) text = text.substr(error + 7);
  for (char& c : text) c = c >= '0' && c <= '9' ? '#' : c;
  return text.substr(0, 60);
}

// One line to the parent: seed, kind, reason.
void Answer(int to, uint64_t seed, const Judgement& judgement) {
  std::string reason = judgement.reason;
  for (char& c : reason) c = c == '\n' ? '\1' : c;
  const std::string line = absl::StrCat(seed, " ", static_cast<int>(judgement.kind), " ", reason, "\n");
  for (size_t done = 0; done < line.size();) {
    const ssize_t written = write(to, line.data() + done, line.size() - done);
    if (written <= 0) _exit(1);
    done += static_cast<size_t>(written);
  }
}

// A signal ends the process after kMostSeconds of its own time, or when it waits for very much longer.
void LimitTime() {
  const itimerval most = {.it_interval = {}, .it_value = {.tv_sec = kMostSeconds}};
  setitimer(ITIMER_PROF, &most, nullptr);
  alarm(30 * kMostSeconds);
}

// Judges seeds in a child, which tells each judgement; returns the first seed that it did not answer.
template <class F>
uint64_t InChild(uint64_t first, uint64_t end, const std::set<int>& without, F told) {
  int ends[2];
  if (pipe(ends) != 0) return end;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    for (uint64_t seed = first; seed < end; ++seed) {
      LimitTime();
      Answer(ends[1], seed, Judge(seed, without));
    }
    _exit(0);
  }
  close(ends[1]);
  std::FILE* from = fdopen(ends[0], "r");
  uint64_t next = first;
  char* line = nullptr;
  size_t room = 0;
  while (getline(&line, &room, from) > 0) {
    unsigned long long seed = 0;
    int kind = 0, at = 0;
    if (std::sscanf(line, "%llu %d %n", &seed, &kind, &at) < 2) break;
    std::string reason(line + at);
    if (!reason.empty()) reason.pop_back();
    for (char& c : reason) c = c == '\1' ? '\n' : c;
    told(seed, Judgement{static_cast<Result>(kind), std::move(reason)});
    next = seed + 1;
  }
  free(line);
  std::fclose(from);
  int status = 0;
  waitpid(child, &status, 0);
  if (next < end) {
    told(next, Judgement{Result::kWrong, absl::StrCat("ended by signal ", WIFSIGNALED(status) ? WTERMSIG(status) : 0)});
    ++next;
  }
  return next;
}

}  // namespace

Judgement JudgeApart(uint64_t seed, const std::set<int>& without) {
  Judgement judgement;
  InChild(seed, seed + 1, without, [&](uint64_t, const Judgement& told) { judgement = told; });
  return judgement;
}

ProgramCounts RunProgramCampaign(const ProgramCampaign& campaign, std::ostream& out) {
  constexpr uint64_t kBatch = 200;
  const auto start = std::chrono::steady_clock::now();
  ProgramCounts counts;
  const auto told = [&](uint64_t seed, const Judgement& judgement) {
    ++counts.by_kind[judgement.kind];
    if (judgement.kind != Result::kRight) ++counts.reasons[Shortened(judgement.reason)];
    if (judgement.kind != Result::kWrong) return;
    const std::set<int> without = Shrink(seed, {});
    const Judgement smallest = JudgeApart(seed, without);
    out << "--seed=" << seed << " --without=" << absl::StrJoin(without, ",") << "\n"
        << MakeProgramText(seed, without).text << smallest.reason << "\n\n"
        << std::flush;
  };
  const uint64_t end = campaign.first_seed + static_cast<uint64_t>(campaign.count);
  for (uint64_t next = campaign.first_seed; next < end;) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > campaign.seconds) break;
    next = InChild(next, std::min(next + kBatch, end), {}, told);
  }
  return counts;
}

}  // namespace tilewright
