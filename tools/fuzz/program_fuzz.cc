// program_fuzz: random programs in the interpreter and compiled (campaign.h).
//
//   bazel run -c opt //tools/fuzz:program_fuzz -- --count=100000
//   bazel run -c opt //tools/fuzz:program_fuzz -- --seed=1234 --without=3,7      one program, as a finding names it
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "tools/fuzz/campaign.h"
#include "tools/fuzz/program_text.h"

ABSL_FLAG(uint64_t, seed, 1, "of the first program");
ABSL_FLAG(int64_t, count, 0, "of programs; 0: the one of --seed, printed");
ABSL_FLAG(double, seconds, 1e9, "after which to stop");
ABSL_FLAG(std::vector<std::string>, without, {}, "pieces to leave out of the one program");

int main(int argc, char** argv) {
  using namespace tilewright;
  absl::ParseCommandLine(argc, argv);
  const uint64_t seed = absl::GetFlag(FLAGS_seed);
  if (absl::GetFlag(FLAGS_count) == 0) {
    std::set<int> without;
    for (const std::string& piece : absl::GetFlag(FLAGS_without)) {
      if (!piece.empty()) without.insert(std::stoi(piece));
    }
    const ProgramText program = MakeProgramText(seed, without);
    const Judgement judgement = JudgeApart(seed, without);
    std::cout << program.text << "kind " << static_cast<int>(judgement.kind) << " " << judgement.reason << "\n";
    return judgement.kind == Judgement::Result::kWrong ? 1 : 0;
  }
  const ProgramCounts counts = RunProgramCampaign(
      {.first_seed = seed, .count = absl::GetFlag(FLAGS_count), .seconds = absl::GetFlag(FLAGS_seconds)}, std::cout);
  const char* const names[] = {"right", "not read", "refused", "in error", "wrong"};
  int64_t wrong = 0;
  for (const auto& [kind, count] : counts.by_kind) {
    std::cout << names[static_cast<size_t>(kind)] << ": " << count << "\n";
    if (kind == Judgement::Result::kWrong) wrong = count;
  }
  for (const auto& [reason, count] : counts.reasons) std::cout << "  " << count << " times: " << reason << "\n";
  return wrong == 0 ? 0 : 1;
}
