// Random programs under random schedules in the CUDA emulator. See README.md.
#include <cstdint>
#include <iostream>
#include <map>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "autoschedule/gpu_fuzz/judge.h"
#include "autoschedule/gpu_fuzz/random_programs.h"
#include "ir/script/printer.h"

ABSL_FLAG(uint64_t, seed, 1, "the first case");
ABSL_FLAG(uint64_t, count, 100, "how many cases");
ABSL_FLAG(std::string, kind, "", "judges that kind of program alone");
ABSL_FLAG(std::string, way, "", "schedules in that way alone: preferred, drawn or primitives");
ABSL_FLAG(std::string, target, "cuda-sm80", "the target");
ABSL_FLAG(bool, print, false, "prints each program and why it is refused");

namespace tilewright::fuzz {
namespace {

struct Counts {
  int right = 0, refuted = 0, refused = 0, wrong = 0, kernels = 0;
};

int Run() {
  const auto target = NamedTarget(absl::GetFlag(FLAGS_target));
  if (!target.ok() || !target->is_gpu()) {
    std::cerr << "--target=" << absl::GetFlag(FLAGS_target) << " is not a GPU\n";
    return 2;
  }
  std::map<std::string, Counts> counts;
  const uint64_t first = absl::GetFlag(FLAGS_seed), last = first + absl::GetFlag(FLAGS_count);
  bool wrong = false;
  for (uint64_t number = first; number < last; ++number) {
    GpuCase each = CaseOf(number);
    if (!absl::GetFlag(FLAGS_kind).empty()) each.kind = absl::GetFlag(FLAGS_kind);
    if (!absl::GetFlag(FLAGS_way).empty()) {
      const std::optional<Way> way = WayNamed(absl::GetFlag(FLAGS_way));
      if (!way) {
        std::cerr << "--way=" << absl::GetFlag(FLAGS_way) << " is not one of preferred, drawn, primitives\n";
        return 2;
      }
      each.way = *way;
    }
    const Judged judged = Judge(each, *target);
    Counts& of_kind = counts[each.kind];
    of_kind.right += judged.result == CaseResult::kRight;
    of_kind.refuted += judged.result == CaseResult::kRefuted;
    of_kind.refused += judged.result == CaseResult::kRefused;
    of_kind.wrong += judged.result == CaseResult::kWrong;
    of_kind.kernels += judged.kernels;
    wrong |= judged.result == CaseResult::kWrong;
    if (judged.result != CaseResult::kWrong && !absl::GetFlag(FLAGS_print)) continue;
    std::cout << (judged.result == CaseResult::kWrong ? "WRONG " : "") << ToString(each) << "\n"
              << judged.why << "\n"
              << Print(judged.schedule.module()) << "\n";
  }
  for (const auto& [kind, of_kind] : counts) {
    std::cout << kind << ": " << of_kind.right << " right (" << of_kind.kernels << " kernels), " << of_kind.refuted
              << " refuted, " << of_kind.refused << " refused, " << of_kind.wrong << " wrong\n";
  }
  return wrong ? 1 : 0;
}

}  // namespace
}  // namespace tilewright::fuzz

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return tilewright::fuzz::Run();
}
