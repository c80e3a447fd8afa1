// Runs the schedule fuzzer for as long as asked and prints its tables.
//
//   bazel run -c opt //schedule:schedule_fuzz -- --count=1000000 --seed=1 --reproducers=/tmp/found
//
// With --mutate it also makes right schedules wrong in known ways, and counts what of that verify notices.
//
// What was found before (BASE_program.py and BASE_schedule.py, as they were written to the folder of reproducers) is
// applied and judged again:
//
//   bazel run -c opt //schedule:schedule_fuzz -- --replay=/tmp/found/mismatch_1000003
//
// Exit status 1 when a schedule that verify accepts is wrong.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "schedule/fuzz/campaign.h"
#include "schedule/fuzz/replay.h"

namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

int JudgeAgain(const std::string& base) {
  using tilewright::fuzz::Judgement;
  const absl::StatusOr<Judgement> now =
      tilewright::fuzz::Replay(ReadText(base + "_program.py"), ReadText(base + "_schedule.py"));
  if (!now.ok()) {
    std::printf("%s: %s\n", base.c_str(), now.status().ToString().c_str());
    return now.status().code() == absl::StatusCode::kFailedPrecondition ? 0 : 2;
  }
  const std::string verify = now->accepted ? "accepts it" : "refuses it, " + now->check + ": " + now->reason;
  const std::string result = now->right ? "right" : "wrong, " + now->wrong;
  std::printf("%s: %s: verify %s; the result is %s\n", base.c_str(), now->sound() ? "sound" : "mismatch",
              verify.c_str(), result.c_str());
  return now->sound() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  tilewright::fuzz::CampaignOptions options{.count = 10000};
  int64_t reasons = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const std::string_view value = arg.substr(arg.find('=') + 1);
    if (arg.starts_with("--count=")) {
      options.count = std::strtoll(value.data(), nullptr, 10);
    } else if (arg.starts_with("--seed=")) {
      options.seed = std::strtoull(value.data(), nullptr, 10);
    } else if (arg.starts_with("--first=")) {
      options.first = std::strtoull(value.data(), nullptr, 10);
    } else if (arg.starts_with("--seconds=")) {
      options.seconds = std::strtod(value.data(), nullptr);
    } else if (arg.starts_with("--reproducers=")) {
      options.reproducers = value;
    } else if (arg == "--mutate") {
      options.mutate = true;
    } else if (arg.starts_with("--replay=")) {
      return JudgeAgain(std::string(value));
    } else if (arg.starts_with("--reasons=")) {
      reasons = std::strtoll(value.data(), nullptr, 10);
    } else if (arg.starts_with("--family=")) {
      options.family = value;
    } else {
      std::fprintf(
          stderr,
          "usage: schedule_fuzz [--count=N] [--seed=S] [--first=ROUND] [--seconds=T] [--family=NAME] [--mutate] "
          "[--reasons=N] [--reproducers=DIR]\n       schedule_fuzz --replay=BASE\n");
      return 2;
    }
  }
  tilewright::fuzz::Campaign campaign(options);
  campaign.Run();
  std::fputs(campaign.Report().c_str(), stdout);
  for (const tilewright::fuzz::Finding& finding : campaign.mismatches()) {
    std::printf("\nmismatch, seed %llu, %s: %s\n%s\n%s", static_cast<unsigned long long>(finding.seed),
                finding.family.c_str(), finding.reason.c_str(), finding.schedule.c_str(), finding.result.c_str());
  }
  for (const auto& reason : campaign.Reasons()) {
    if (reasons-- <= 0) break;
    std::printf("\nright, refused %lld times: %s\n", static_cast<long long>(reason.count), reason.shape.c_str());
    for (const auto& [family, count] : reason.by_family) {
      std::printf("  %s %lld\n", family.c_str(), static_cast<long long>(count));
    }
    std::printf("%s\n%s", reason.example.schedule.c_str(), reason.example.result.c_str());
  }
  return campaign.counts().mismatched == 0 ? 0 : 1;
}
