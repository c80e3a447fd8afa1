#include <ostream>

#include "ir/target.h"
#include "tools/commands.h"
#include "tools/program_file.h"
#include "tools/scheduled_program.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

int Check(const CommandArguments& args) {
  if (const auto target = NamedTarget(args.Get("--target").value_or("host")); !target.ok()) {
    args.err() << std::string(target.status().message()) << "\n";
    return kRefused;
  }
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  if (!LoadIntrinsics(args, &intrins)) return kRefused;
  const std::optional<Module> module = ReadProgram(args, args.operands()[0]);
  if (!module) return kRefused;
  int status = kDone;
  for (const Function& function : module->functions()) {
    const VerifyResult result = VerifyProgram(function);
    if (result.verdict() == Verdict::kRefuted) status = kRefused;
    (result.verdict() == Verdict::kRefuted ? args.err() : args.out()) << Render(result, function);
    if (result.verdict() == Verdict::kProven) args.out() << function->name << ": proven valid\n";
    if (result.verdict() == Verdict::kAssumed) args.out() << function->name << ": valid under the assumptions above\n";
  }
  return status;
}

}  // namespace

Command CheckCommand() {
  return {.name = "check",
          .operands = "FILE",
          .summary = "verifies a program and prints all diagnostics",
          .details = "Exit status 1 when something is refuted. Checks of the limits of a target are not there yet.",
          .flags = {{"--target", "NAME", "what the program is for; host by default"},
                    {"--intrin", "FILE", "intrinsics that the program uses, as pairs NAME_desc and NAME_impl", true}},
          .run = Check};
}

}  // namespace tilewright
