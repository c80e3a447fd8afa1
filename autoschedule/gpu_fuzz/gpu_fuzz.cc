// Random programs under random schedules in the CUDA emulator. See README.md.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "autoschedule/gpu_fuzz/judge.h"
#include "autoschedule/gpu_fuzz/random_programs.h"
#include "ir/script/printer.h"
#include "target/target.h"

ABSL_FLAG(uint64_t, seed, 1, "the first case of the campaign");
ABSL_FLAG(uint64_t, count, 100, "how many cases");
ABSL_FLAG(double, seconds, 0, "ends after so long; 0: when all cases are judged");
ABSL_FLAG(std::string, kind, "", "judges that kind of program alone");
ABSL_FLAG(std::string, way, "", "schedules in that way alone: preferred, drawn or primitives");
ABSL_FLAG(std::string, target, "", "the target; empty: each in its turn");
ABSL_FLAG(std::string, state, "", "a file that keeps the next case and the counts: a campaign goes on where it was");
ABSL_FLAG(bool, on_gpu, false, "what is right in emulation runs on this machine's GPU too");
ABSL_FLAG(bool, print, false, "prints each program and why it is refused");

namespace tilewright::fuzz {
namespace {

// Lines "NAME COUNT": what the campaign has counted, and its next case.
class Campaign {
 public:
  explicit Campaign(std::string file) : file_(std::move(file)), next_(absl::GetFlag(FLAGS_seed)) {
    std::ifstream stream(file_);
    std::string name;
    for (uint64_t count = 0; stream >> name >> count;) (name == "next" ? next_ : counts_[name]) = count;
  }

  uint64_t next() const { return next_; }
  uint64_t wrong() const { return counts_.contains("wrong") ? counts_.at("wrong") : 0; }

  // Before a case is judged, so that one that ends the process is not judged again.
  void Begin(uint64_t number) {
    next_ = number + 1;
    Save();
  }
  void Add(const GpuCase& each, const Judged& judged) {
    ++counts_[kResults[static_cast<size_t>(judged.result)]];
    if (judged.result != CaseResult::kRight) return;
    ++counts_["program/" + each.kind];
    for (const std::string& kind : judged.kernel_kinds) ++counts_["kernel/" + kind];
  }
  void Save() const {
    if (!file_.empty()) std::ofstream(file_) << Text();
  }
  std::string Text() const {
    std::string text = "next " + std::to_string(next_) + "\n";
    for (const auto& [name, count] : counts_) text += name + " " + std::to_string(count) + "\n";
    return text;
  }

 private:
  static constexpr const char* kResults[] = {"right", "refuted", "refused", "wrong", "unfinished"};
  std::string file_;
  uint64_t next_;
  std::map<std::string, uint64_t> counts_;
};

// The case of a number, with what the flags say of it; nothing where they name what is not there.
std::optional<GpuCase> CaseByFlags(uint64_t number) {
  GpuCase each = CaseOf(number);
  const std::vector<std::string> kinds = GpuProgramKinds();
  if (!absl::GetFlag(FLAGS_kind).empty()) each.kind = absl::GetFlag(FLAGS_kind);
  if (!absl::GetFlag(FLAGS_target).empty()) each.target = absl::GetFlag(FLAGS_target);
  const auto target = NamedTarget(each.target);
  if (!target.ok() || !target->is_gpu()) {
    std::cerr << "--target=" << each.target << " is not a GPU\n";
    return std::nullopt;
  }
  if (std::ranges::find(kinds, each.kind) == kinds.end()) {
    std::cerr << "--kind=" << each.kind << " is not a kind of program:";
    for (const std::string& kind : kinds) std::cerr << " " << kind;
    std::cerr << "\n";
    return std::nullopt;
  }
  if (absl::GetFlag(FLAGS_way).empty()) return each;
  const std::optional<Way> way = WayNamed(absl::GetFlag(FLAGS_way));
  if (!way) {
    std::cerr << "--way=" << absl::GetFlag(FLAGS_way) << " is not one of preferred, drawn, primitives\n";
    return std::nullopt;
  }
  each.way = *way;
  return each;
}

int Run() {
  Campaign campaign(absl::GetFlag(FLAGS_state));
  const auto start = std::chrono::steady_clock::now();
  const uint64_t last = absl::GetFlag(FLAGS_seed) + absl::GetFlag(FLAGS_count);
  for (uint64_t number = campaign.next(); number < last; ++number) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    if (absl::GetFlag(FLAGS_seconds) > 0 && spent.count() > absl::GetFlag(FLAGS_seconds)) break;
    const std::optional<GpuCase> each = CaseByFlags(number);
    if (!each) return 2;
    campaign.Begin(number);
    const Judged judged = Judge(*each, absl::GetFlag(FLAGS_on_gpu));
    campaign.Add(*each, judged);
    if (judged.result != CaseResult::kWrong && !absl::GetFlag(FLAGS_print)) continue;
    std::cout << (judged.result == CaseResult::kWrong ? "WRONG " : "") << ToString(*each) << "\n"
              << judged.why << "\n"
              << Print(judged.schedule.module()) << "\n"
              << std::flush;
  }
  campaign.Save();
  std::cout << campaign.Text();
  return campaign.wrong() > 0 ? 1 : 0;
}

}  // namespace
}  // namespace tilewright::fuzz

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return tilewright::fuzz::Run();
}
