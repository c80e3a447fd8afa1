#include "graph/executor/scheduled_kernel.h"

#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "autoschedule/database/apply_best.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "base/status_macros.h"
#include "intrin/registry.h"
#include "ir/substitute.h"
#include "schedule/layout/hoist_prepack.h"
#include "schedule/reduction/define_empty_reductions.h"
#include "verify/verify.h"

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
  Kernels(const PrimFunc& program, const std::vector<bool>& constant, const Target& target)
      : program_(program), constant_(constant), target_(target) {}

  std::optional<ScheduledKernel> Of(const Module& module) {
    std::optional<ScheduledKernel> kernel = KernelOf(module, program_, constant_);
    if (!kernel || IsValid(kernel->module)) return kernel;
    if (!program_is_valid_) program_is_valid_ = IsValid(AsWritten(program_).module);
    return *program_is_valid_ ? std::nullopt : std::move(kernel);
  }

 private:
  bool IsValid(const Module& module) const {
    return std::ranges::all_of(module.functions(), [&](const PrimFunc& function) {
      return VerifyProgram(function, &target_).verdict() != Verdict::kRefuted;
    });
  }
  const PrimFunc& program_;
  const std::vector<bool>& constant_;
  const Target& target_;
  std::optional<bool> program_is_valid_;  // once it is asked for
};

ScheduledKernel WithPace(ScheduledKernel kernel, const PrimFunc& canonical, const Target& target,
                         const std::vector<RuleRefusal>& left_alone) {
  kernel.pace = {.pace = PaceOf(canonical, kernel.module.Find(kKernelMain), target, kSlowFactor),
                 .why_not = left_alone.empty() ? "" : left_alone.front().ToString()};
  return kernel;
}

}  // namespace

PrimFunc CanonicalProgram(const PrimFunc& program) {
  FunctionNode::Fields fields = program->fields();
  fields.name = kKernelMain;
  fields.is_private = false;
  std::set<std::string> names;
  for (const Param& param : fields.params) names.insert(NameOf(param));
  if (names.size() == fields.params.size()) return PrimFunc(std::move(fields));
  VarMap scalars;
  std::set<std::string> seen;
  const auto fresh_name = [&](const std::string& name) {
    if (seen.insert(name).second) return name;
    for (int i = 1;; ++i) {
      if (const std::string fresh = absl::StrCat(name, "_", i); names.insert(fresh).second) return fresh;
    }
  };
  std::vector<std::string> fresh;
  for (Param& param : fields.params) {
    fresh.push_back(fresh_name(NameOf(param)));
    if (param.buffer || fresh.back() == param.var.name()) continue;
    const Var scalar(fresh.back(), param.var.dtype());
    scalars.emplace(param.var, scalar);
    param.var = scalar;
  }
  // Extents may be those scalars.
  BufferMap buffers;
  for (size_t i = 0; i < fields.params.size(); ++i) {
    Buffer& buffer = fields.params[i].buffer;
    if (!buffer) continue;
    BufferNode::Fields renamed = buffer->fields();
    bool changes = renamed.name != fresh[i];
    renamed.name = fresh[i];
    for (Expr& extent : renamed.shape) {
      const Expr substituted = Substitute(extent, scalars);
      changes |= !substituted.same_as(extent);
      extent = substituted;
    }
    if (changes) buffer = buffers.emplace(buffer, Buffer(std::move(renamed))).first->second;
  }
  fields.body = Substitute(fields.body, scalars, buffers);
  return PrimFunc(std::move(fields));
}

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
                                               const Target& target, const std::string& database) {
  std::vector<int> constants;
  for (size_t i = 0; i < canonical->params.size(); ++i) {
    if (i < constant.size() && constant[i] && canonical->params[i].buffer) constants.push_back(static_cast<int>(i));
  }
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Kernels kernels(canonical, constant, target);
  const PrimFunc marked = constants.empty() ? canonical : MarkConstant(canonical, constants);
  if (!database.empty()) {
    TW_ASSIGN_OR_RETURN(const auto opened, Database::Open(database));
    const auto best = ApplyBest(Module(marked), target, opened, &intrins);
    if (best.ok()) {
      if (auto kernel = kernels.Of(best->module())) {
        kernel->by_record = true;
        return WithPace(*std::move(kernel), canonical, target, {});
      }
    }
  }
  const AutoScheduled scheduled = AutoSchedule(Module(marked), target, &intrins);
  if (auto kernel = kernels.Of(scheduled.schedule.module())) {
    for (const auto* refusals : {&scheduled.refused, &scheduled.reduced}) {
      for (const RuleRefusal& refused : *refusals) kernel->refused.push_back(refused.ToString());
    }
    return WithPace(*std::move(kernel), canonical, target, scheduled.left_alone);
  }
  if (!constants.empty()) {
    const AutoScheduled plain = AutoSchedule(Module(canonical), target, &intrins);
    if (auto kernel = kernels.Of(plain.schedule.module())) {
      return WithPace(*std::move(kernel), canonical, target, plain.left_alone);
    }
  }
  return AsWritten(canonical, target, "what the rules make of it is not proven to be the same, or cannot be called");
}

}  // namespace tilewright::graph
