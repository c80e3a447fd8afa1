#include <ostream>

#include "target/target.h"
#include "tools/commands.h"

namespace tilewright {
namespace {

int PrintTarget(const CommandArguments& args) {
  const auto target = NamedTarget(args.Get("--target").value_or("host"));
  if (!target.ok()) {
    args.err() << std::string(target.status().message()) << "\n";
    return kRefused;
  }
  args.out() << target->ToString();
  return kDone;
}

}  // namespace

Command TargetCommand() {
  return {.name = "target",
          .summary = "prints the description of a target",
          .flags = {{"--target", "NAME", "host by default; an unknown name lists the known ones"}},
          .run = PrintTarget};
}

}  // namespace tilewright
