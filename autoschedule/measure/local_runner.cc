#include <filesystem>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autoschedule/measure/builder/library_builder.h"
#include "autoschedule/measure/executor/cpu_executor.h"
#include "autoschedule/measure/executor/machine_lock.h"
#include "autoschedule/measure/protocol/run_folder.h"
#include "autoschedule/measure/reference/param_specs.h"
#include "autoschedule/measure/runner.h"
#include "base/worker_path.h"
#include "codegen/remote/launcher.h"
#include "codegen/runtime/available_cpus.h"

namespace tilewright {
namespace {

class Local : public Runner {
 public:
  Local(const Target& target, const RunnerOptions& options, RunFolder folder, MachineLock lock,
        const std::string& function, const std::vector<TensorSpec>& params, const std::string& compile_worker,
        const std::string& measuring_worker, const std::vector<std::string>& command)
      : folder_(std::move(folder)),
        lock_(std::move(lock)),
        builder_(compile_worker, target, options, folder_.path(), function, params, lock_,
                 IsEmulated(target, options.launcher)),
        executor_(measuring_worker, options, folder_.path(), params, lock_, target, command) {}

  absl::Status ComputeReference(const Module& program) { return builder_.ComputeReference(program, &caution_); }
  std::string caution() const override { return caution_; }

  std::vector<Measurement> Run(std::span<const Module> candidates, const RunOptions& options) override {
    return executor_.Measure(builder_.Build(candidates, options.limits), options);
  }

 private:
  const RunFolder folder_;
  MachineLock lock_;
  LibraryBuilder builder_;
  CpuExecutor executor_;
  std::string caution_;
};

// The command that starts the worker of candidates; empty where they run in a process of ours.
absl::StatusOr<std::vector<std::string>> CommandFor(const Target& target, const RunnerOptions& options) {
  if (options.launcher.empty() && !remote::IsForeign(target)) return std::vector<std::string>();
  return remote::WorkerCommand(target, options.launcher);
}

}  // namespace

bool IsEmulated(const Target& target, const std::string& launcher) {
  return launcher.empty() && !target.is_gpu() && remote::IsForeign(target);
}

absl::StatusOr<std::unique_ptr<Runner>> LocalRunner::Start(const Module& program, const Target& target,
                                                           const RunnerOptions& options) {
  const Function main = program.Main();
  if (!main) return absl::InvalidArgumentError("which function? there are several, and none is main");
  auto params = ParamSpecs(main);
  if (!params.ok()) return params.status();
  const auto compile_worker = WorkerPath("autoschedule/measure/compile_worker"),
             measuring_worker = WorkerPath("autoschedule/measure/measuring_worker");
  if (!compile_worker.ok()) return compile_worker.status();
  if (!measuring_worker.ok()) return measuring_worker.status();
  auto lock = MachineLock::Open();
  if (!lock.ok()) return lock.status();
  auto folder = RunFolder::Make();
  if (!folder.ok()) return folder.status();
  RunnerOptions complete = options;
  if (complete.threads <= 0) complete.threads = target.cores;
  const auto command = CommandFor(target, options);
  if (!command.ok()) return command.status();
  // Instructions of several threads are not counted exactly.
  if (IsEmulated(target, options.launcher)) complete.threads = 1;
  if (const size_t cpus = runtime::AffinityCpus().size();
      command->empty() && static_cast<size_t>(complete.threads) > cpus) {
    return absl::FailedPreconditionError(absl::StrCat("candidates are to use ", complete.threads,
                                                      " threads, and workers that start here may use ", cpus, " CPUs"));
  }
  // The library that a worker opens is the one that the caller means, whatever its folder.
  for (std::string& library : complete.libraries) {
    const std::filesystem::path path = std::filesystem::absolute(library);
    if (!std::filesystem::exists(path)) return absl::NotFoundError(absl::StrCat("there is no library ", library));
    library = path;
  }
  if (complete.compile_workers <= 0) {
    complete.compile_workers = command->empty() ? target.cores : static_cast<int>(runtime::AffinityCpus().size());
  }
  auto runner = std::make_unique<Local>(target, complete, *std::move(folder), *std::move(lock), main->name, *params,
                                        *compile_worker, *measuring_worker, *command);
  if (absl::Status status = runner->ComputeReference(program); !status.ok()) return status;
  return std::unique_ptr<Runner>(std::move(runner));
}

}  // namespace tilewright
