#include <ostream>

#include "ir/script/json.h"
#include "ir/script/printer.h"
#include "tools/commands.h"
#include "tools/program_file.h"

namespace tilewright {
namespace {

int Show(const CommandArguments& args) {
  const std::string format = args.Get("--format").value_or("script");
  if (format != "script" && format != "json") {
    return UsageError(args, "show", "--format is script or json, not " + format);
  }
  std::optional<Module> module = ReadProgram(args, args.operands()[0]);
  if (!module) return kRefused;
  args.out() << (format == "json" ? ToJson(*module) + "\n" : Print(*module));
  return kDone;
}

}  // namespace

Command ShowCommand() {
  return {.name = "show",
          .operands = "FILE",
          .summary = "reads a program and prints it in canonical form",
          .flags = {{"--format", "script|json", "text to read back (the default), or the IR as JSON"}},
          .run = Show};
}

}  // namespace tilewright
