#include <chrono>
#include <ostream>

#include "codegen/runtime/thread_pool.h"
#include "target/calibration.h"
#include "target/target.h"
#include "target/target_json.h"
#include "tools/commands.h"
#include "tools/program_file.h"

namespace tilewright {
namespace {

Target CalibratedHost(const std::string& name) {
  runtime::ThreadPool pool;
  const auto empty_loop = [&] {
    const auto start = std::chrono::steady_clock::now();
    pool.ParallelFor(pool.num_threads(), [](int64_t, int64_t) {});
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Target target = Calibrate(HostTarget(), empty_loop);
  target.name = name;
  return target;
}

// What the description is called: "mine" where it is written to /tmp/mine.json.
std::string NameOf(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  return file.substr(0, file.size() - std::string_view(".json").size());
}

int PrintTarget(const CommandArguments& args) {
  const std::string name = args.Get("--target").value_or("host");
  const std::optional<std::string> path = args.Get("-o");
  const bool calibrate = args.Has("--calibrate");
  if (path && !path->ends_with(".json")) return UsageError(args, "target", "-o wants a file named NAME.json");
  absl::StatusOr<Target> target = NamedTarget(name);
  if (!target.ok()) {
    args.err() << std::string(target.status().message()) << "\n";
    return kRefused;
  }
  if (calibrate) target = CalibratedHost(path ? NameOf(*path) : name);
  if (!path) {
    args.out() << target->ToString();
    return kDone;
  }
  return WriteText(args, *path, TargetToJson(*target)) ? kDone : kRefused;
}

}  // namespace

Command TargetCommand() {
  return {.name = "target", .summary = "prints the description of a target", .run = PrintTarget};
}

}  // namespace tilewright
