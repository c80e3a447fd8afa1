#include "bench/operators/choose_schedule.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "autoschedule/database/apply_best.h"
#include "autoschedule/program/choices.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "autoschedule/tune/tune.h"
#include "base/status_macros.h"
#include "bench/operators/program.h"
#include "codegen/abi/abi_type.h"
#include "codegen/runtime/available_cpus.h"
#include "codegen/runtime/pack_constants.h"
#include "codegen/runtime/timer.h"

namespace tilewright::bench {
namespace {

using runtime::Tensor;

// Lets this thread run on all CPUs while it lives: processes that it starts then may use them too.
class OnAllCpus {
 public:
  explicit OnAllCpus(const std::vector<int>& cpus) : before_(runtime::AffinityCpus()) { runtime::SetAffinity(cpus); }
  ~OnAllCpus() { runtime::SetAffinity(before_); }
  OnAllCpus(const OnAllCpus&) = delete;
  OnAllCpus& operator=(const OnAllCpus&) = delete;

 private:
  const std::vector<int> before_;
};

}  // namespace

absl::StatusOr<Tuned> ChooseSchedule(const Module& module, const Target& target, IntrinRegistry* intrins,
                                     const TuningSettings& tuning, const std::vector<int>& cpus) {
  std::optional<Database> database;
  if (!tuning.database.empty()) {
    TW_ASSIGN_OR_RETURN(auto opened, Database::Open(tuning.database));
    database.emplace(std::move(opened));
  }
  if (tuning.seconds > 0) {
    const OnAllCpus all(cpus);
    const int64_t start = runtime::NowNanoseconds();
    TW_ASSIGN_OR_RETURN(auto result, Tune(module, target, intrins,
                                          {.seconds = tuning.seconds,
                                           .seed = tuning.seed,
                                           .sizes = tuning.sizes,
                                           .caches = tuning.caches,
                                           .database = database ? &*database : nullptr,
                                           .launcher = tuning.launcher}));
    return Tuned{.module = result.schedule.module(),
                 .trace = result.schedule.trace(),
                 .seconds = static_cast<double>(runtime::NowNanoseconds() - start) * 1e-9,
                 .trials = result.statistics.measured};
  }
  if (database) {
    const auto best = ApplyBest(module, target, *database, intrins);
    if (best.ok()) return Tuned{.module = best->module(), .trace = best->trace()};
    if (!absl::IsNotFound(best.status())) return best.status();
  }
  Choices choices = tuning.like ? Choices::OfTrace(*tuning.like) : Choices::Preferred();
  const AutoScheduled result = AutoSchedule(module, target, intrins, choices);
  return Tuned{.module = result.schedule.module(), .trace = result.schedule.trace()};
}

absl::Status PackConstants(const CompiledModule& code, const Module& module, std::map<std::string, Tensor>& by_name) {
  const Function prepack = module.PrepackOf("main");
  if (!prepack) return absl::OkStatus();
  std::vector<runtime::NamedTensorType> params;
  for (const Param& param : prepack->params) {
    params.push_back({param.buffer->name, AbiType(param.buffer->dtype), ConstantShape(param.buffer)});
  }
  std::string error;
  if (runtime::PackConstants(code.Find(prepack->name), params, by_name, &error)) return absl::OkStatus();
  return absl::InternalError(error);
}

}  // namespace tilewright::bench
