// Verification of what commands check and compile, with diagnostics that show the line of the file where it is known.
#pragma once

#include <optional>
#include <string>

#include "ir/function.h"
#include "target/target.h"
#include "tools/command_line/command.h"
#include "verify/structure/diagnostic.h"

namespace tilewright {

// Verifies every function of `program`, which was made of `source`, the program in the first operand. What is refuted
// goes to standard error; with `all`, what is assumed or proven to standard output. The worst verdict.
Verdict ReportVerification(const CommandArguments& args, const Module& source, const Module& program,
                           const Target& target, bool all);

// What is refuted first, with the name of its check; nothing where nothing is. Without a target no limits count.
std::optional<std::string> RefutationOf(const Module& module, const Target* target);

// Warns on standard error of what a correct program does that its writer hardly meant.
void WarnOf(const CommandArguments& args, const Module& source);
// The same about loops that no schedule reaches alone, for commands that are about schedules.
void WarnOfLoopsWithoutBlocks(const CommandArguments& args, const Module& source);

// Whether a scheduled program may be compiled for the target. Where it is refuted, what is wrong is reported: of the
// program as it was written where that is refuted too. With --unverified all programs may, and standard error says that
// they were not verified.
bool MayBeCompiled(const CommandArguments& args, const Module& source, const Module& scheduled, const Target& target);

}  // namespace tilewright
