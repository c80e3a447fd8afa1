// The command that emulates a target's processor for one program.
//
//   TW_ASSIGN_OR_RETURN(auto command, EmulatorCommand(target, {.root = "/opt/arm64", .only_target = true}));
//   command.push_back("/opt/arm64/usr/bin/python3");
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "target/target.h"

namespace tilewright::remote {

struct EmulatorOptions {
  // The program's files are looked up here first; empty: where Debian's cross compilers have the C library.
  std::string root = {};
  // Features that the target does not have are hidden, as far as the emulator has a processor or switches for that.
  // Otherwise the program sees everything that the emulator can do, which suits code that was compiled for the target.
  bool only_target = false;
  // An argument of count_instructions.cc; empty: nothing is counted.
  std::string counter = {};
};

// "aarch64" of aarch64-unknown-linux-gnu.
std::string ArchitectureOf(const Target& target);

// The words that stand before the program. An error says that there is no emulator.
absl::StatusOr<std::vector<std::string>> EmulatorCommand(const Target& target, const EmulatorOptions& options);

}  // namespace tilewright::remote
