#include "graph/executor/export_model.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "codegen/abi/c_header.h"
#include "codegen/abi/c_symbol.h"
#include "codegen/backend.h"
#include "codegen/sequence_library.h"
#include "graph/executor/bound_plan.h"
#include "graph/executor/kernel_versions.h"
#include "graph/executor/scheduled_kernel.h"
#include "graph/executor/sized_plan.h"

namespace tilewright::graph {
namespace {

namespace fs = std::filesystem;
using Memory = BoundPlan::Argument::Memory;

// A file that is gone when the object is.
class ScratchFile {
 public:
  explicit ScratchFile(std::string path) : path_(std::move(path)) {}
  ~ScratchFile() {
    std::error_code error;
    fs::remove(path_, error);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

bool SamePacking(const std::vector<KernelTensor>& a, const std::vector<KernelTensor>& b) {
  return std::ranges::equal(
      a, b, [](const KernelTensor& x, const KernelTensor& y) { return x.dtype == y.dtype && x.shape == y.shape; });
}

std::string KernelName(const ExportOptions& options, size_t program) {
  return absl::StrCat(options.name, "_kernel", program);
}

// The kernels' modules again, under names of their own; the code that packed the constants came from the same ones.
absl::StatusOr<Module> KernelsOf(const PlannedFunction& function, const ExportOptions& options) {
  Module module;
  const std::vector<KernelSource>& programs = function.plan().programs;
  for (size_t i = 0; i < programs.size(); ++i) {
    const PrimFunc canonical = CanonicalProgram(programs[i].program);
    const Kernel& kernel = function.kernels()[i];
    ScheduledKernel scheduled = AsWritten(canonical);
    if (kernel.scheduled) {
      TW_ASSIGN_OR_RETURN(scheduled, ScheduleKernel(canonical, programs[i].constant, options.target, options.database));
      if (!kernel.versions.empty()) AddVersions(canonical, programs[i].constant, options.target, &scheduled);
    }
    if (scheduled.main_params != kernel.main.params || !SamePacking(scheduled.packed, kernel.packed)) {
      return absl::InternalError(absl::StrCat("kernel ", i, " was packed for another schedule"));
    }
    const auto add = [&](const std::string& from, const std::string& name) {
      tilewright::FunctionNode::Fields fields = scheduled.module.Find(from)->fields();
      fields.name = name;
      module.Set(PrimFunc(std::move(fields)));
    };
    add(kKernelMain, KernelName(options, i));
    if (scheduled.versions.size() != kernel.versions.size()) {
      return absl::InternalError(absl::StrCat("kernel ", i, " has other versions"));
    }
    for (size_t v = 0; v < kernel.versions.size(); ++v) {
      add(scheduled.versions[v].function.name, VersionName(KernelName(options, i), v));
    }
  }
  return module;
}

std::string ConstantsPath(const ExportOptions& options) {
  return absl::StrCat(fs::absolute(options.path).string(), ".constants");
}
// Sequence is CallSequence or SizedSequence.
template <class Sequence>
absl::Status WriteConstants(const ConstantSection& section, const std::string& path, Sequence* sequence) {
  if (section.bytes() == 0) return absl::OkStatus();
  sequence->constants_file = path;
  sequence->constants_bytes = section.bytes();
  return WriteFile(path, {reinterpret_cast<const char*>(section.data()), static_cast<size_t>(section.bytes())});
}

absl::Status WriteHeader(const ExportOptions& options, const std::vector<Param>& params,
                         absl::Span<const Symbol> extents) {
  const PrimFunc exported(
      {.name = options.name, .params = params, .body = tilewright::Evaluate(Const(DataType::Int(32), 0))});
  return WriteFile(fs::path(options.path).replace_extension(".h").string(), EmitHeader(Module(exported), extents));
}

std::string FormatOf(const ExportOptions& options) { return options.path.ends_with(".so") ? "so" : "o"; }

absl::Status ExportForAllSizes(const PlannedFunction& function, const ExportOptions& options) {
  const auto name = [&](size_t program) { return KernelName(options, program); };
  TW_ASSIGN_OR_RETURN(SizedPlan plan, PlanForAllSizes(function, name, options.results));
  SizedSequence& sequence = plan.sequence;
  sequence.name = options.name;
  const ScratchFile constants(ConstantsPath(options));
  TW_RETURN_IF_ERROR(WriteConstants(function.constants(), constants.path(), &sequence));
  TW_ASSIGN_OR_RETURN(const Module module, KernelsOf(function, options));
  TW_ASSIGN_OR_RETURN(
      const std::string bytes,
      CompileSequence(module, options.target, sequence, {.format = FormatOf(options), .emulate = options.emulate}));
  TW_RETURN_IF_ERROR(WriteFile(options.path, bytes));
  return WriteHeader(options, sequence.params, sequence.extents);
}

class Exporter {
 public:
  Exporter(const PlannedFunction& function, const BoundPlan& bound, const ExportOptions& options)
      : function_(function), bound_(bound), options_(options) {}

  absl::Status Run() {
    const ScratchFile constants(ConstantsPath(options_));
    sequence_.name = options_.name;
    TW_RETURN_IF_ERROR(WriteConstants(function_.constants(), constants.path(), &sequence_));
    TW_ASSIGN_OR_RETURN(const Module module, KernelsOf(function_, options_));
    AddParams();
    for (const BoundPlan::Call& call : bound_.calls()) AddCall(call);
    for (const BoundPlan::Copy& copy : bound_.copies()) {
      sequence_.copies.push_back(
          {ArgumentOf(copy.from), static_cast<int64_t>(sequence_.num_inputs + copy.to), copy.bytes});
    }
    sequence_.workspace_bytes = bound_.arena_bytes();
    TW_ASSIGN_OR_RETURN(const auto artifact,
                        Compile(module, options_.target,
                                {.format = FormatOf(options_), .sequence = &sequence_, .emulate = options_.emulate}));
    TW_RETURN_IF_ERROR(WriteFile(options_.path, artifact.bytes));
    return WriteHeader(options_, sequence_.params, {});
  }

 private:
  void AddParams() {
    const ExecutablePlan& plan = function_.plan();
    const auto add = [&](const std::string& name, int tensor) {
      const DataType dtype = plan.tensors[static_cast<size_t>(tensor)].dtype;
      const Buffer buffer({.name = CIdentifier(name), .dtype = dtype, .shape = Extents(bound_.shape(tensor))});
      sequence_.params.push_back({tilewright::Var(CIdentifier(name), DataType::Handle()), buffer});
    };
    for (size_t i = 0; i < plan.params.size(); ++i) add(plan.params[i]->name, static_cast<int>(i));
    sequence_.num_inputs = plan.params.size();
    for (size_t r = 0; r < plan.results.size(); ++r) {
      add(r < options_.results.size() ? options_.results[r] : absl::StrCat("result", r), plan.results[r]);
    }
  }

  CallSequence::Argument ArgumentOf(const BoundPlan::Argument& argument) const {
    using To = CallSequence::Argument::Memory;
    CallSequence::Argument result{.at = argument.at};
    if (argument.shape != nullptr) result.shape = *argument.shape;
    switch (argument.memory) {
      case Memory::kInput:
        result.memory = To::kParam;
        break;
      case Memory::kOutput:
        result.memory = To::kParam;
        result.at += static_cast<int64_t>(sequence_.num_inputs);
        break;
      case Memory::kConstants:
        result.memory = To::kConstants;
        break;
      case Memory::kArena:
        result.memory = To::kWorkspace;
        break;
      case Memory::kScalar:
        result.memory = To::kScalar;
        break;
    }
    return result;
  }

  void AddCall(const BoundPlan::Call& call) {
    CallSequence::Call result{
        .function = KernelName(options_, static_cast<size_t>(function_.plan().steps[call.step].program)),
        .workspace_offset = call.workspace_offset,
        .workspace_bytes = call.workspace_bytes,
    };
    const auto program = static_cast<size_t>(function_.plan().steps[call.step].program);
    // What a kernel for another machine needs is known when it is compiled: its place is left to the back end.
    if (function_.kernels()[program].main.run == nullptr) result.workspace_offset = -1;
    for (size_t i = 0; i < call.num_arguments; ++i) {
      result.arguments.push_back(ArgumentOf(bound_.arguments()[call.first + i]));
    }
    sequence_.calls.push_back(std::move(result));
  }

  const PlannedFunction& function_;
  const BoundPlan& bound_;
  const ExportOptions& options_;
  CallSequence sequence_;
};

absl::Status CheckTarget(const ExportOptions& options) {
  if (!options.target.name.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(options.path, " is for a target: none is named"));
}

}  // namespace

absl::Status ExportFunction(const PlannedFunction& function, const ExportOptions& options) {
  TW_RETURN_IF_ERROR(CheckTarget(options));
  std::vector<std::vector<int64_t>> shapes;
  for (const Var& param : function.plan().params) {
    const std::vector<Expr>& extents = *cast<TensorTypeNode>(param->type)->shape;
    const auto shape = ConstantExtents(extents);
    if (!shape) return ExportForAllSizes(function, options);
    shapes.push_back(*shape);
  }
  const auto in_place = [](const PlanStep& step) { return step.in_place.has_value(); };
  const bool by_hand = !function.plan().loops.empty() || !function.plan().reads.empty();
  if (by_hand || std::ranges::any_of(function.plan().steps, in_place)) return ExportForAllSizes(function, options);
  TW_ASSIGN_OR_RETURN(const std::shared_ptr<const BoundPlan> bound, BoundPlan::Make(function, {}, shapes, {}));
  return ExportBound(function, *bound, options);
}

absl::Status ExportBound(const PlannedFunction& function, const BoundPlan& bound, const ExportOptions& options) {
  TW_RETURN_IF_ERROR(CheckTarget(options));
  return Exporter(function, bound, options).Run();
}

}  // namespace tilewright::graph
