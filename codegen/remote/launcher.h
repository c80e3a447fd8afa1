// The command that starts a worker which runs a target's code.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "target/target.h"

namespace tilewright::remote {

// Whether this machine needs an emulator for the target's code: it is that of another architecture.
bool IsForeign(const Target& target);

// The program of the worker and what stands before it. `launcher`: words of a command, separated by spaces; empty: none
// for code of this architecture, else the emulator (qemu-aarch64 for aarch64). An error names what is not installed.
absl::StatusOr<std::vector<std::string>> WorkerCommand(const Target& target, const std::string& launcher);

}  // namespace tilewright::remote
