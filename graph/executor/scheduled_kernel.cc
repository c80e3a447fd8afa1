#include "graph/executor/scheduled_kernel.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>

#include "autoschedule/database/apply_best.h"
#include "autoschedule/sketch/scheduled_programs.h"
#include "base/status_macros.h"
#include "intrin/registry.h"
#include "schedule/layout/hoist_prepack.h"
#include "schedule/reduction/define_empty_reductions.h"

namespace tilewright::graph {
namespace {

std::string NameOf(const Param& param) { return param.buffer ? param.buffer->name : param.var.name(); }

// Parameters of `function` as in KernelFunction; packed tensors that are new are added. Nothing where one of these has
// an extent that is not constant.
std::optional<std::vector<int>> ParamsOf(const PrimFunc& function, const std::map<std::string, int>& originals,
                                         std::map<std::string, int>& packed, std::vector<KernelTensor>& tensors) {
  std::vector<int> params;
  for (const Param& param : function->params) {
    const std::string name = NameOf(param);
    if (const auto original = originals.find(name); original != originals.end()) {
      params.push_back(original->second);
      continue;
    }
    if (!param.buffer) return std::nullopt;
    if (const auto known = packed.find(name); known != packed.end()) {
      params.push_back(~known->second);
      continue;
    }
    KernelTensor tensor{.dtype = param.buffer->dtype};
    for (const Expr& extent : param.buffer->shape) {
      const std::optional<int64_t> value = AsInt(extent);
      if (!value) return std::nullopt;
      tensor.shape.push_back(*value);
    }
    packed.emplace(name, static_cast<int>(tensors.size()));
    params.push_back(~static_cast<int>(tensors.size()));
    tensors.push_back(std::move(tensor));
  }
  return params;
}

// The module as a kernel of the program; nothing where it is not one function with or without another that packs.
std::optional<ScheduledKernel> KernelOf(const Module& module, const PrimFunc& program,
                                        const std::vector<bool>& constant) {
  ScheduledKernel kernel{.module = DefineEmptyReductions(module)};
  const PrimFunc main = module.Find(kKernelMain);
  const PrimFunc pack = module.PrepackOf(kKernelMain);
  if (!main || module.functions().size() != (pack ? 2u : 1u)) return std::nullopt;
  if (!pack) {
    // The same parameters in the same order.
    if (main->params.size() != program->params.size()) return std::nullopt;
    kernel.main_params.resize(main->params.size());
    std::iota(kernel.main_params.begin(), kernel.main_params.end(), 0);
    return kernel;
  }
  // Parameters of the same name are the same tensor: names of a canonical program are distinct.
  std::map<std::string, int> originals, packed;
  for (size_t i = 0; i < program->params.size(); ++i) {
    originals.emplace(NameOf(program->params[i]), static_cast<int>(i));
  }
  const auto pack_params = ParamsOf(pack, originals, packed, kernel.packed);
  if (!pack_params) return std::nullopt;
  kernel.pack_params = *pack_params;
  kernel.pack = pack->name;
  // What packs runs when the model is loaded: it has the constants only.
  for (int param : kernel.pack_params) {
    if (param >= 0 && !constant[static_cast<size_t>(param)]) return std::nullopt;
  }
  const size_t written = kernel.packed.size();
  const auto params = ParamsOf(main, originals, packed, kernel.packed);
  if (!params || kernel.packed.size() != written) return std::nullopt;
  kernel.main_params = *params;
  return kernel;
}

// Kernels of one program. A schedule that the verifier refutes is not a kernel, except where it refutes the program as
// it is written too: extents that the graph knows to be equal are not known to be so in the program.
class Kernels {
 public:
  Kernels(const PrimFunc& program, const std::vector<bool>& constant, ScheduledPrograms& programs)
      : program_(program), constant_(constant), programs_(programs) {}

  std::optional<ScheduledKernel> Of(const Module& module) {
    std::optional<ScheduledKernel> kernel = KernelOf(module, program_, constant_);
    if (!kernel) {
      why_not_ = "the rules' functions cannot be called: one that packs constants needs more than these";
      return kernel;
    }
    const std::string refuted = RefutationOf(kernel->module);
    if (refuted.empty()) return kernel;
    if (!program_is_valid_) program_is_valid_ = RefutationOf(AsWritten(program_).module).empty();
    if (!*program_is_valid_) return kernel;
    why_not_ = "what the rules make of it is not proven: " + refuted;
    return std::nullopt;
  }
  // Why the last module is not a kernel.
  const std::string& why_not() const { return why_not_; }

 private:
  // What is refuted first; empty where nothing is.
  std::string RefutationOf(const Module& module) const {
    for (const PrimFunc& function : module.functions()) {
      if (std::string refuted = programs_.RefutationOf(function); !refuted.empty()) return refuted;
    }
    return "";
  }
  const PrimFunc& program_;
  const std::vector<bool>& constant_;
  ScheduledPrograms& programs_;
  std::optional<bool> program_is_valid_;  // once it is asked for
  std::string why_not_;
};

ScheduledKernel WithPace(ScheduledKernel kernel, const PrimFunc& canonical, const Target& target,
                         const std::vector<RuleRefusal>& left_alone) {
  kernel.pace = {.pace = PaceOf(canonical, kernel.module.Find(kKernelMain), target, kSlowFactor),
                 .why_not = left_alone.empty() ? "" : left_alone.front().ToString()};
  return kernel;
}

}  // namespace

ScheduledKernel AsWritten(const PrimFunc& canonical) {
  ScheduledKernel kernel{.module = Module(DefineEmptyReductions(canonical))};
  kernel.main_params.resize(canonical->params.size());
  std::iota(kernel.main_params.begin(), kernel.main_params.end(), 0);
  return kernel;
}

ScheduledKernel AsWritten(const PrimFunc& canonical, const Target& target, std::string why_not) {
  ScheduledKernel kernel = AsWritten(canonical);
  kernel.pace = {PaceOf(canonical, canonical, target, kSlowFactor), std::move(why_not)};
  return kernel;
}

absl::StatusOr<ScheduledKernel> ScheduleKernel(const PrimFunc& canonical, const std::vector<bool>& constant,
                                               const Target& target, const std::string& database,
                                               ScheduledPrograms* scheduled) {
  std::vector<int> constants;
  for (size_t i = 0; i < canonical->params.size(); ++i) {
    if (i < constant.size() && constant[i] && canonical->params[i].buffer) constants.push_back(static_cast<int>(i));
  }
  ScheduledPrograms own(target);
  ScheduledPrograms& programs = scheduled != nullptr ? *scheduled : own;
  Kernels kernels(canonical, constant, programs);
  const PrimFunc marked = constants.empty() ? canonical : MarkConstant(canonical, constants);
  if (!database.empty()) {
    IntrinRegistry intrins = IntrinRegistry::Builtin();
    TW_ASSIGN_OR_RETURN(const auto opened, Database::Open(database));
    const auto best = ApplyBest(Module(marked), target, opened, &intrins);
    if (best.ok()) {
      if (auto kernel = kernels.Of(best->module())) {
        kernel->by_record = true;
        return WithPace(*std::move(kernel), canonical, target, {});
      }
    }
  }
  const std::shared_ptr<const AutoScheduled> by_rules = programs.Of(marked);
  if (auto kernel = kernels.Of(by_rules->schedule.module())) {
    for (const auto* refusals : {&by_rules->refused, &by_rules->reduced}) {
      for (const RuleRefusal& refused : *refusals) kernel->refused.push_back(refused.ToString());
    }
    return WithPace(*std::move(kernel), canonical, target, by_rules->left_alone);
  }
  if (!constants.empty()) {
    const std::shared_ptr<const AutoScheduled> plain = programs.Of(canonical);
    if (auto kernel = kernels.Of(plain->schedule.module())) {
      return WithPace(*std::move(kernel), canonical, target, plain->left_alone);
    }
  }
  const std::string why_not = kernels.why_not();
  const std::shared_ptr<const AutoScheduled> verified = programs.VerifiedOf(canonical);
  if (auto kernel = kernels.Of(verified->schedule.module())) {
    ScheduledKernel result = WithPace(*std::move(kernel), canonical, target, verified->left_alone);
    result.refused.push_back(why_not);
    return result;
  }
  return AsWritten(canonical, target, why_not);
}

}  // namespace tilewright::graph
