// --repeat, --profile, --trace-events and --threads of `run`: what they ask for, and how it is told.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"
#include "tools/command_line/command.h"
#include "tools/profile/profile.h"

namespace tilewright {

// How many calls are timed; 0 where no flag asks for any.
size_t Repetitions(const CommandArguments& args);
// Whether the parts of calls are timed, too.
bool WantsParts(const CommandArguments& args);
// --threads; 0 where it is not given.
int ThreadsOf(const CommandArguments& args);

// Writes the file of --trace-events where there is one; `title` names the calls.
absl::Status WriteTraceEvents(const CommandArguments& args, const Profile& profile, const std::string& title);
// The times of `calls`, and with --profile those of their parts.
void PrintTiming(const CommandArguments& args, const std::vector<Span>& calls, const Profile& profile);
void AddTiming(const CommandArguments& args, const std::vector<Span>& calls, const Profile& profile,
               nlohmann::json* result);

}  // namespace tilewright
