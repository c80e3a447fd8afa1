#include "graph/executor/export_model.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "codegen/abi/c_header.h"
#include "codegen/backend.h"
#include "graph/executor/bound_plan.h"
#include "graph/executor/scheduled_kernel.h"

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

class Exporter {
 public:
  Exporter(const PlannedFunction& function, const BoundPlan& bound, const ExportOptions& options)
      : function_(function), bound_(bound), options_(options) {}

  absl::Status Run() {
    const std::string constants = absl::StrCat(fs::absolute(options_.path).string(), ".constants");
    const ScratchFile scratch(constants);
    const ConstantSection& section = function_.constants();
    sequence_.name = options_.name;
    if (section.bytes() > 0) {
      TW_RETURN_IF_ERROR(
          WriteFile(constants, {reinterpret_cast<const char*>(section.data()), static_cast<size_t>(section.bytes())}));
      sequence_.constants_file = constants;
      sequence_.constants_bytes = section.bytes();
    }
    TW_RETURN_IF_ERROR(AddKernels());
    AddParams();
    for (const BoundPlan::Call& call : bound_.calls()) AddCall(call);
    for (const BoundPlan::Copy& copy : bound_.copies()) {
      sequence_.copies.push_back(
          {ArgumentOf(copy.from), static_cast<int64_t>(sequence_.num_inputs + copy.to), copy.bytes});
    }
    sequence_.workspace_bytes = bound_.arena_bytes();
    const bool is_library = options_.path.ends_with(".so");
    TW_ASSIGN_OR_RETURN(const auto artifact,
                        Compile(module_, options_.target, {.format = is_library ? "so" : "o", .sequence = &sequence_}));
    TW_RETURN_IF_ERROR(WriteFile(options_.path, artifact.bytes));
    const PrimFunc exported(
        {.name = options_.name, .params = sequence_.params, .body = tilewright::Evaluate(Const(DataType::Int(32), 0))});
    const std::string header = EmitHeader(Module(exported));
    return WriteFile(fs::path(options_.path).replace_extension(".h").string(), header);
  }

 private:
  // The kernels' modules again, under names of their own; the code that packed the constants came from the same ones.
  absl::Status AddKernels() {
    const std::vector<KernelSource>& programs = function_.plan().programs;
    for (size_t i = 0; i < programs.size(); ++i) {
      const PrimFunc canonical = CanonicalProgram(programs[i].program);
      const Kernel& kernel = function_.kernels()[i];
      ScheduledKernel scheduled = AsWritten(canonical);
      if (kernel.scheduled) {
        TW_ASSIGN_OR_RETURN(scheduled,
                            ScheduleKernel(canonical, programs[i].constant, options_.target, options_.database));
      }
      if (scheduled.main_params != kernel.main.params || !SamePacking(scheduled.packed, kernel.packed)) {
        return absl::InternalError(absl::StrCat("kernel ", i, " was packed for another schedule"));
      }
      tilewright::FunctionNode::Fields fields = scheduled.module.Find(kKernelMain)->fields();
      fields.name = KernelName(i);
      module_.Set(PrimFunc(std::move(fields)));
    }
    return absl::OkStatus();
  }
  std::string KernelName(size_t program) const { return absl::StrCat(options_.name, "_kernel", program); }

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
        .function = KernelName(static_cast<size_t>(function_.plan().steps[call.step].program)),
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
  Module module_;
  CallSequence sequence_;
};

}  // namespace

absl::Status ExportFunction(const PlannedFunction& function, const ExportOptions& options) {
  std::vector<std::vector<int64_t>> shapes;
  for (const Var& param : function.plan().params) {
    const std::vector<Expr>& extents = *cast<TensorTypeNode>(param->type)->shape;
    const auto shape = ConstantExtents(extents);
    if (!shape) {
      const std::vector<Symbol> symbols = FreeSymbols(extents);
      return absl::UnimplementedError(absl::StrCat("input ", param->name, " has the symbolic extent ",
                                                   symbols[0].name(), "; a library is compiled for given sizes (--dim ",
                                                   symbols[0].name(), "=N)"));
    }
    shapes.push_back(*shape);
  }
  TW_ASSIGN_OR_RETURN(const std::shared_ptr<const BoundPlan> bound, BoundPlan::Make(function, {}, shapes, {}));
  return ExportBound(function, *bound, options);
}

absl::Status ExportBound(const PlannedFunction& function, const BoundPlan& bound, const ExportOptions& options) {
  return Exporter(function, bound, options).Run();
}

std::string CIdentifier(std::string text) {
  for (char& c : text) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  if (text.empty() || absl::ascii_isdigit(static_cast<unsigned char>(text[0]))) text.insert(text.begin(), '_');
  return text;
}

}  // namespace tilewright::graph
