#include "tools/profile/timing_flags.h"

#include <ostream>

#include "absl/strings/numbers.h"
#include "base/files.h"
#include "tools/arrays/array_summary.h"

namespace tilewright {
namespace {

// Calls of --profile and --trace-events without --repeat.
constexpr size_t kCalls = 10;

}  // namespace

size_t Repetitions(const CommandArguments& args) {
  int64_t count = 0;
  if (const auto text = args.Get("--repeat"); text && absl::SimpleAtoi(*text, &count)) {
    return static_cast<size_t>(count);
  }
  return WantsParts(args) ? kCalls : 0;
}

bool WantsParts(const CommandArguments& args) { return args.Has("--profile") || args.Has("--trace-events"); }

int ThreadsOf(const CommandArguments& args) {
  int threads = 0;
  if (const auto text = args.Get("--threads")) (void)absl::SimpleAtoi(*text, &threads);
  return threads;
}

absl::Status WriteTraceEvents(const CommandArguments& args, const Profile& profile, const std::string& title) {
  const auto path = args.Get("--trace-events");
  if (!path) return absl::OkStatus();
  return WriteFile(*path, TraceEvents(profile, title).dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void PrintTiming(const CommandArguments& args, const std::vector<Span>& calls, const Profile& profile) {
  if (calls.empty()) return;
  args.out() << "time: " << TimesText(SecondsOf(calls)) << "\n";
  if (args.Has("--profile")) PrintProfile(profile, args.out());
}

void AddTiming(const CommandArguments& args, const std::vector<Span>& calls, const Profile& profile,
               nlohmann::json* result) {
  if (calls.empty()) return;
  (*result)["time"] = TimesJson(SecondsOf(calls));
  if (args.Has("--profile")) (*result)["profile"] = ToJson(profile);
}

}  // namespace tilewright
