#include <ostream>

#include "ir/script/json.h"
#include "ir/script/printer.h"
#include "tools/commands.h"
#include "tools/graph_file.h"
#include "tools/program_file.h"

namespace tilewright {
namespace {

int Show(const CommandArguments& args) {
  if (args.kind() == FileKind::kGraph) return ShowGraph(args);
  const std::string format = args.Get("--format").value_or("script");
  std::optional<Module> module = ReadProgram(args, args.operands()[0]);
  if (!module) return kRefused;
  args.out() << (format == "json" ? ToJson(*module) + "\n" : Print(*module));
  return kDone;
}

}  // namespace

Command ShowCommand() {
  return {.name = "show",
          .operands = "FILE",
          .summary = "reads a program or graph text and prints it in canonical form",
          .takes = kPrograms | kGraphs,
          .run = Show};
}

}  // namespace tilewright
