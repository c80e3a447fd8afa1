#include "autoschedule/measure/runner.h"

#include <filesystem>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autoschedule/measure/builder/library_builder.h"
#include "autoschedule/measure/executor/machine_lock.h"
#include "autoschedule/measure/executor/process_executor.h"
#include "autoschedule/measure/projecting_runner.h"
#include "autoschedule/measure/protocol/run_folder.h"
#include "autoschedule/measure/reference/param_specs.h"
#include "base/status_macros.h"
#include "base/worker_path.h"
#include "codegen/cuda/gpu_device.h"
#include "codegen/cuda/nvrtc.h"
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
  double WaitedSeconds() const override { return lock_.waited_seconds(); }

  std::vector<Measurement> Run(std::span<const Module> candidates, const RunOptions& options) override {
    lock_.LimitWaiting(options.most_wait_seconds);
    return executor_.Measure(builder_.Build(candidates, options.limits), options);
  }

 private:
  const RunFolder folder_;
  MachineLock lock_;
  LibraryBuilder builder_;
  ProcessExecutor executor_;
  std::string caution_;
};

// The same for a GPU that this machine does not have.
class Projecting : public ProjectingRunner {
 public:
  Projecting(const Target& target, const std::string& function, std::unique_ptr<Builder> builder, RunFolder folder,
             std::unique_ptr<MachineLock> lock)
      : ProjectingRunner(target, function, std::move(builder)), lock_(std::move(lock)), folder_(std::move(folder)) {}

 private:
  const std::unique_ptr<MachineLock> lock_;  // that the builder holds
  const RunFolder folder_;
};

absl::StatusOr<std::unique_ptr<Runner>> StartOnGpu(const Module& program, const Target& target, RunnerOptions options,
                                                   RunFolder folder, MachineLock lock,
                                                   const std::vector<TensorSpec>& params,
                                                   const std::string& compile_worker) {
  const std::string function = program.Main()->name;
  if (options.compile_workers <= 0) options.compile_workers = static_cast<int>(runtime::AffinityCpus().size());
  if (IsEmulated(target, options.launcher)) {
    auto kept = std::make_unique<MachineLock>(std::move(lock));
    std::unique_ptr<Builder> builder;
    if (cuda::NvrtcIsInstalled()) {
      builder = std::make_unique<LibraryBuilder>(compile_worker, target, options, folder.path(), function, params,
                                                 *kept, /*project=*/false);
    }
    return std::unique_ptr<Runner>(
        new Projecting(target, function, std::move(builder), std::move(folder), std::move(kept)));
  }
  TW_ASSIGN_OR_RETURN(const auto measuring_worker, WorkerPath("autoschedule/measure/gpu_measuring_worker"));
  options.threads = 1;  // of the host
  auto runner = std::make_unique<Local>(target, options, std::move(folder), std::move(lock), function, params,
                                        compile_worker, measuring_worker, std::vector<std::string>());
  TW_RETURN_IF_ERROR(runner->ComputeReference(program));
  return std::unique_ptr<Runner>(std::move(runner));
}

// The command that starts the worker of candidates; empty where they run in a process of ours.
absl::StatusOr<std::vector<std::string>> CommandFor(const Target& target, const RunnerOptions& options) {
  if (options.launcher.empty() && !remote::IsForeign(target)) return std::vector<std::string>();
  return remote::WorkerCommand(target, options.launcher);
}

}  // namespace

bool IsEmulated(const Target& target, const std::string& launcher) {
  if (target.is_gpu()) return !cuda::CheckGpuRuns(target).ok();
  return launcher.empty() && remote::IsForeign(target);
}

Target MeasuredTarget(const Target& target, const std::string& launcher) {
  Target measured = target;
  // Instructions of several threads are not counted exactly.
  if (!target.is_gpu() && IsEmulated(target, launcher)) measured.cores = 1;
  return measured;
}

absl::Status CheckMeasures(const Target& target, const std::string& launcher) {
  if (target.is_gpu() && !launcher.empty()) {
    return absl::InvalidArgumentError("a launcher reaches CPUs: GPUs are measured on this machine only");
  }
  if (target.is_gpu() || !launcher.empty() || remote::IsForeign(target)) return absl::OkStatus();
  return CheckRunsOn(target, HostTarget());
}

absl::StatusOr<std::unique_ptr<Runner>> LocalRunner::Start(const Module& program, const Target& target,
                                                           const RunnerOptions& options) {
  const Function main = program.Main();
  if (!main) return absl::InvalidArgumentError("which function? there are several, and none is main");
  TW_ASSIGN_OR_RETURN(auto params, ParamSpecs(main));
  const auto compile_worker = WorkerPath("autoschedule/measure/compile_worker"),
             measuring_worker = WorkerPath("autoschedule/measure/measuring_worker");
  if (!compile_worker.ok()) return compile_worker.status();
  if (!measuring_worker.ok()) return measuring_worker.status();
  TW_ASSIGN_OR_RETURN(auto lock, MachineLock::Open());
  TW_ASSIGN_OR_RETURN(auto folder, RunFolder::Make());
  RunnerOptions complete = options;
  if (target.is_gpu()) {
    return StartOnGpu(program, target, complete, std::move(folder), std::move(lock), params, *compile_worker);
  }
  if (complete.threads <= 0) complete.threads = target.cores;
  TW_ASSIGN_OR_RETURN(const auto command, CommandFor(target, options));
  // Instructions of several threads are not counted exactly.
  if (IsEmulated(target, options.launcher)) complete.threads = 1;
  if (const size_t cpus = runtime::AffinityCpus().size();
      command.empty() && static_cast<size_t>(complete.threads) > cpus) {
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
    complete.compile_workers = command.empty() ? target.cores : static_cast<int>(runtime::AffinityCpus().size());
  }
  auto runner = std::make_unique<Local>(target, complete, std::move(folder), std::move(lock), main->name, params,
                                        *compile_worker, *measuring_worker, command);
  TW_RETURN_IF_ERROR(runner->ComputeReference(program));
  return std::unique_ptr<Runner>(std::move(runner));
}

}  // namespace tilewright
