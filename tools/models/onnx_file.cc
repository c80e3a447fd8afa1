#include "tools/models/onnx_file.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <ostream>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "base/nearest_names.h"
#include "codegen/remote/launcher.h"
#include "graph/device/device.h"
#include "graph/executor/kernel_cache.h"
#include "graph/executor/onnx_model.h"
#include "graph/executor/optimize.h"
#include "graph/ir/basic_ops.h"
#include "graph/onnx/model_inputs.h"
#include "graph/pipeline.h"
#include "target/target.h"
#include "tools/arrays/run_arguments.h"
#include "tools/command_line/flag_value.h"
#include "tools/command_line/input_text.h"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

std::string Describe(const onnx::ValueInfoProto& value) {
  if (!value.type().has_tensor_type()) {
    return absl::StrCat(value.name(), ": ", value.type().has_sequence_type() ? "a sequence" : "no tensor");
  }
  const auto& type = value.type().tensor_type();
  const auto dtype = graph::ElementType(type.elem_type());
  std::vector<std::string> extents;
  for (const auto& dim : type.shape().dim()) {
    extents.push_back(dim.has_dim_value() && dim.dim_value() >= 0
                          ? absl::StrCat(dim.dim_value())
                          : graph::DimensionName(value, static_cast<int>(extents.size())));
  }
  return absl::StrCat(value.name(), ": ", dtype.ok() ? dtype->ToString() : graph::OnnxTypeName(type.elem_type()), "[",
                      type.has_shape() ? absl::StrJoin(extents, ", ") : "?", "]");
}

// Values of --precision, and the pass that each of them is for.
struct PrecisionRow {
  absl::string_view name;
  graph::Precision precision;
  absl::string_view pass;  // empty: none
};
constexpr PrecisionRow kPrecisionRows[] = {
    {"f32", graph::Precision::kExact, ""},
    {"integer", graph::Precision::kInteger, "IntegerProducts"},
    {"f16", graph::Precision::kFloat16, "MixedPrecision"},
    {"bf16", graph::Precision::kBFloat16, "MixedPrecision"},
};
const PrecisionRow& RowOf(graph::Precision precision) {
  return *std::find_if(std::begin(kPrecisionRows), std::end(kPrecisionRows),
                       [&](const PrecisionRow& row) { return row.precision == precision; });
}

// A pass of --disable that there is not, or that does not run at this opt_level; a precision that no pass uses.
std::optional<std::string> UnusedPass(const graph::PassContext& context) {
  graph::OpTable ops;
  std::map<std::string, int> levels;
  std::vector<std::string> names;
  for (const graph::Pass& pass : graph::GraphPasses({.ops = &ops})) {
    if (pass.name == "LegalizeOps") continue;  // models are imported as calls of programs
    const auto [known, is_new] = levels.emplace(pass.name, pass.opt_level);
    if (is_new) names.push_back(pass.name);
    known->second = std::min(known->second, pass.opt_level);
  }
  if (const PrecisionRow& row = RowOf(context.precision); !row.pass.empty()) {
    const std::string flag = absl::StrCat("--precision=", row.name), pass(row.pass);
    if (context.opt_level < levels.at(pass)) {
      return absl::StrCat(flag, " has no effect with --opt-level=", context.opt_level);
    }
    if (context.disabled.contains(pass)) return absl::StrCat(flag, " has no effect with --disable=", pass);
  }
  for (const std::string& name : context.disabled) {
    const auto known = levels.find(name);
    if (known == levels.end()) {
      return absl::StrCat("--disable=", name, ": there is no such pass", DidYouMean(name, names), " (known are ",
                          absl::StrJoin(names, ", "), ")");
    }
    if (known->second > context.opt_level) {
      return absl::StrCat("--disable=", name, " has no effect with --opt-level=", context.opt_level,
                          ": that pass runs from ", known->second, " on");
    }
  }
  return std::nullopt;
}

}  // namespace

int RefuseOnnx(const CommandArguments& args, absl::string_view message) {
  const std::string& path = args.operands()[0];
  args.err() << (path == "-" ? "<stdin>" : path) << ": error: " << std::string(message) << "\n";
  return kRefused;
}

std::map<std::string, int64_t> DimsOf(const CommandArguments& args) {
  std::map<std::string, int64_t> dims;
  for (const std::string& text : args.GetAll("--dim")) {
    const auto dim = ReadDim(text);
    if (dim->second.size() == 1) dims.emplace(dim->first, dim->second.front());
  }
  return dims;
}

SizesByName LikelyOf(const CommandArguments& args) {
  SizesByName likely;
  for (const std::string& text : args.GetAll("--dim")) {
    const auto dim = ReadDim(text);
    if (dim->second.size() > 1) likely.insert(*dim);
  }
  return likely;
}

graph::PassContext PassesOf(const CommandArguments& args) {
  graph::PassContext context;
  if (const auto level = args.Get("--opt-level")) (void)absl::SimpleAtoi(*level, &context.opt_level);
  for (const std::string& name : args.GetAll("--disable")) context.disabled.insert(name);
  for (const PrecisionRow& row : kPrecisionRows) {
    if (args.Get("--precision") == row.name) context.precision = row.precision;
  }
  return context;
}

std::optional<std::string> UnusedByModel(const CommandArguments& args, const onnx::GraphProto& graph) {
  std::vector<std::string> dimensions, arrays;
  for (const auto& input : graph.input()) {
    arrays.push_back(fs::path(graph::ArrayPath("", input.name())).stem().string());
    const auto& shape = input.type().tensor_type().shape();
    for (int i = 0; i < shape.dim_size(); ++i) {
      if (!shape.dim(i).has_dim_value() || shape.dim(i).dim_value() < 0) {
        dimensions.push_back(graph::DimensionName(input, i));
      }
    }
  }
  // What was written by --outputs may lie beside the inputs.
  for (const auto& output : graph.output()) {
    arrays.push_back(fs::path(graph::ArrayPath("", output.name())).stem().string());
  }
  for (const std::string& text : args.GetAll("--dim")) {
    const std::string name = ReadDim(text)->first;
    if (std::ranges::find(dimensions, name) != dimensions.end()) continue;
    return absl::StrCat("--dim ", text, ": no input of the model has a symbolic dimension ", name,
                        DidYouMean(name, dimensions));
  }
  if (const auto unused = UnusedPass(PassesOf(args))) return unused;
  const auto inputs = args.Get("--inputs");
  return inputs ? UnusedArrays(*inputs, arrays, "input of the model") : std::nullopt;
}

absl::StatusOr<std::unique_ptr<graph::ModelFile>> ReadModel(const CommandArguments& args) {
  const std::string& path = args.operands()[0];
  if (path != "-") return graph::ModelFile::Open(path);
  const auto bytes = std::make_shared<std::string>(*ReadText(args, path));
  const auto span = absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes->data()), bytes->size());
  return graph::ModelFile::FromBytes(bytes, span, ".");
}

std::unique_ptr<graph::ModelFile> OpenModel(const CommandArguments& args, int* status) {
  auto file = ReadModel(args);
  if (!file.ok()) {
    *status = RefuseOnnx(args, file.status().message());
    return nullptr;
  }
  if (const auto unused = UnusedByModel(args, (*file)->model().graph())) {
    *status = UsageError(args, args.command(), *unused);
    return nullptr;
  }
  return *std::move(file);
}

graph::ExecutorOptions ExecutorOptionsOf(const CommandArguments& args, const graph::KernelCache* cache) {
  graph::ExecutorOptions options;
  options.kernels.cache = cache;
  options.kernels.database = args.Get("--db").value_or("");
  auto last = std::make_shared<std::chrono::steady_clock::time_point>(std::chrono::steady_clock::now());
  options.kernels.progress = [&err = args.err(), last](size_t done, size_t all) {
    const auto now = std::chrono::steady_clock::now();
    if (now - *last < std::chrono::seconds(2)) return;
    *last = now;
    err << "compiled " << done << " of " << all << " kernels\n" << std::flush;
  };
  return options;
}

std::string MeasuredApart(const CommandArguments& args, const graph::FusionReport& report) {
  std::string text;
  for (const std::string& why : report.measured_apart) {
    absl::StrAppend(&text, "apart by records of ", args.Get("--db").value_or("no database"), ": ", why, "\n");
  }
  return text;
}

int ChooseMachine(const CommandArguments& args, graph::ExecutorOptions* options) {
  const std::string engine = args.Get("--engine").value_or("");
  const bool is_cuda = engine == "cuda" || engine == "cuda-emulation";
  const auto target = NamedTarget(args.Get("--target").value_or(is_cuda ? "cuda-sm90a" : "host"));
  if (!target.ok()) return RefuseOnnx(args, target.status().message());
  if (!engine.empty() && is_cuda != target->is_gpu()) {
    return UsageError(args, args.command(), "--engine=" + engine + " does not run models on --target=" + target->name);
  }
  options->kernels.target = *target;
  options->interpret = engine == "interp";
  if (target->is_gpu()) {
    options->kernels.use = graph::KernelUse::kDevice;
    options->kernels.emulate = engine == "cuda-emulation";
    auto gpu = options->kernels.emulate ? graph::EmulatedGpu() : graph::Gpu();
    if (!gpu.ok()) return RefuseOnnx(args, gpu.status().message());
    options->device = *std::move(gpu);
  } else if (remote::IsForeign(*target) && !options->interpret) {
    options->kernels.use = graph::KernelUse::kExport;
    options->worker = graph::WorkerOptions{.target = *target, .database = options->kernels.database};
  }
  return kDone;
}

int CheckOnnx(const CommandArguments& args) {
  int status = kDone;
  const std::unique_ptr<graph::ModelFile> file = OpenModel(args, &status);
  if (file == nullptr) return status;
  graph::OpTable ops;
  graph::AddBasicOps(&ops);
  graph::AddHostOps(&ops);
  const auto model = graph::ImportModel(*file, ops, {.dims = DimsOf(args)});
  if (!model.ok()) return RefuseOnnx(args, model.status().message());
  const onnx::ModelProto& proto = file->model();
  std::set<std::string> initialized;
  for (const auto& tensor : proto.graph().initializer()) initialized.insert(tensor.name());
  for (const auto& import : proto.opset_import()) {
    args.out() << "opset " << (import.domain().empty() ? "ai.onnx" : import.domain()) << " " << import.version()
               << "\n";
  }
  for (const auto& input : proto.graph().input()) {
    if (!initialized.contains(input.name())) args.out() << "input " << Describe(input) << "\n";
  }
  for (const auto& output : proto.graph().output()) args.out() << "output " << Describe(output) << "\n";
  for (const auto& [name, count] : model->op_counts) args.out() << "operator " << name << ": " << count << "\n";
  // Nodes that only wait for the value of an input are not an obstacle: `run` has it.
  graph::ImportedModel refused;
  for (const graph::UnsupportedNode& node : model->unsupported) {
    if (node.needs_values) {
      args.out() << "to be bound by run: " << node.ToString() << "\n";
    } else {
      refused.unsupported.push_back(node);
    }
  }
  const absl::Status supported = graph::UnsupportedError(refused);
  if (!supported.ok()) return RefuseOnnx(args, supported.message());
  if (!model->unsupported.empty()) return kDone;
  graph::PassContext passes = PassesOf(args);
  passes.check = true;
  const auto optimized = graph::OptimizeGraph(model->module, ops, passes, {.target = HostTarget()});
  if (!optimized.ok()) return RefuseOnnx(args, optimized.status().message());
  args.out() << "calls of programs: " << graph::CountProgramCalls(model->module) << ", at opt_level "
             << passes.opt_level << " " << graph::CountProgramCalls(*optimized) << "\n";
  return kDone;
}

void WarnOfSlowKernels(const CommandArguments& args, const graph::Executor& executor) {
  constexpr size_t kNamed = 3;
  const std::vector<graph::SlowKernel>& slow = executor.slow_kernels();
  if (slow.empty()) return;
  std::vector<std::string> worst;
  for (size_t i = 0; i < std::min(kNamed, slow.size()); ++i) {
    worst.push_back(absl::StrCat(slow[i].name, ": ", slow[i].pace.ToString()));
  }
  args.err() << args.operands()[0] << ": warning: " << slow.size() << (slow.size() == 1 ? " kernel is" : " kernels are")
             << " projected at above " << graph::kSlowFactor
             << " times the speed of light: " << absl::StrJoin(worst, "; ")
             << (slow.size() > kNamed ? "; `explain` names all" : "") << "\n";
}

}  // namespace tilewright
