#include "tools/graph_file.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/nearest_names.h"
#include "base/status_macros.h"
#include "graph/executor/executor.h"
#include "graph/executor/kernel_cache.h"
#include "graph/ir/basic_ops.h"
#include "graph/ir/parser.h"
#include "graph/ir/printer.h"
#include "graph/ir/well_formed.h"
#include "graph/rewrite/basic_lowering.h"
#include "graph/rewrite/legalize.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/ndarray.h"
#include "nlohmann/json.hpp"
#include "target/target.h"
#include "tools/arrays/array_summary.h"
#include "tools/arrays/run_arguments.h"
#include "tools/arrays/symbolic_sizes.h"
#include "tools/command_line/flag_value.h"
#include "tools/command_line/input_text.h"
#include "verify/verify.h"

namespace tilewright {
namespace {

using Dims = std::map<std::string, int64_t>;

std::string FileOf(const CommandArguments& args) { return args.operands()[0] == "-" ? "<stdin>" : args.operands()[0]; }

int Refuse(const CommandArguments& args, absl::string_view message) {
  args.err() << FileOf(args) << ": error: " << std::string(message) << "\n";
  return kRefused;
}

// The graph in the first operand. Nothing when it is refused, which is reported.
std::optional<graph::GraphModule> ReadGraph(const CommandArguments& args, graph::OpTable* ops) {
  const std::optional<std::string> text = ReadSource(args, args.operands()[0]);
  if (!text) return std::nullopt;
  graph::AddBasicOps(ops);
  graph::AddHostOps(ops);
  absl::StatusOr<graph::GraphModule> module = graph::ParseGraphModule(*text, FileOf(args), *ops);
  if (module.ok()) return *std::move(module);
  args.err() << std::string(module.status().message()) << "\n";
  return std::nullopt;
}

// The tensors that a function takes; nothing where a parameter is something else.
std::optional<std::vector<const graph::TensorTypeNode*>> TensorsTaken(const graph::Function& function) {
  std::vector<const graph::TensorTypeNode*> tensors;
  for (const graph::Var& param : function->params) {
    const auto* tensor = dyn_cast<graph::TensorTypeNode>(param->type);
    if (tensor == nullptr || !tensor->shape) return std::nullopt;
    tensors.push_back(tensor);
  }
  return tensors;
}

std::vector<std::string> SymbolsOf(const std::vector<const graph::TensorTypeNode*>& tensors) {
  std::vector<std::string> symbols;
  for (const graph::TensorTypeNode* tensor : tensors) {
    for (const Expr& extent : *tensor->shape) {
      PreOrder(extent, [&](const Expr& part) {
        if (const auto* var = dyn_cast<VarNode>(part)) symbols.push_back(var->name);
        return true;
      });
    }
  }
  return symbols;
}

// What of --dim and --inputs the function has no use for.
std::optional<std::string> Unused(const CommandArguments& args, const graph::Function& function,
                                  const std::vector<const graph::TensorTypeNode*>& tensors) {
  const std::vector<std::string> symbols = SymbolsOf(tensors);
  for (const std::string& text : args.GetAll("--dim")) {
    const std::string name = ReadDim(text)->first;
    if (std::ranges::find(symbols, name) != symbols.end()) continue;
    return absl::StrCat("--dim ", text, ": no parameter of ", function->name, " has a symbolic extent ", name,
                        DidYouMean(name, symbols));
  }
  std::vector<std::string> names;
  for (const graph::Var& param : function->params) names.push_back(param->name);
  const auto inputs = args.Get("--inputs");
  return inputs ? UnusedArrays(*inputs, names, absl::StrCat("parameter of ", function->name)) : std::nullopt;
}

absl::StatusOr<int64_t> ValueOf(const Expr& extent, const Dims& dims, const std::string& name) {
  std::string missing;
  const Expr value = arith::Simplify(RewriteExpr(extent, [&](const Expr& part) -> Expr {
    const auto* var = dyn_cast<VarNode>(part);
    if (var == nullptr) return part;
    if (const auto known = dims.find(var->name); known != dims.end()) return Const(var->dtype(), known->second);
    missing = var->name;
    return part;
  }));
  if (const auto number = AsInt(value)) return *number;
  return absl::InvalidArgumentError(absl::StrCat("the shape of ", name, " needs --dim ", missing, "=NUMBER"));
}

// NAME.npy of --inputs for each parameter that has one. Adds to `sizes` what they say of symbolic extents.
absl::StatusOr<std::map<std::string, NDArray>> ReadFiles(const CommandArguments& args, const graph::Function& function,
                                                         const std::vector<const graph::TensorTypeNode*>& tensors,
                                                         SymbolicSizes* sizes) {
  std::map<std::string, NDArray> files;
  const auto folder = args.Get("--inputs");
  for (size_t i = 0; folder && i < tensors.size(); ++i) {
    const std::string name = function->params[i]->name;
    auto read = ReadNpy(*folder + "/" + name + ".npy", tensors[i]->dtype);
    if (absl::IsNotFound(read.status())) continue;
    if (!read.ok()) return read.status();
    TW_RETURN_IF_ERROR(sizes->SetExtents(*tensors[i]->shape, read->shape(), name + ".npy"));
    files.emplace(name, *std::move(read));
  }
  return files;
}

// The array of a file, or seeded numbers.
absl::StatusOr<NDArray> Argument(const std::map<std::string, NDArray>& files, const std::string& name,
                                 const graph::TensorTypeNode& type, const Dims& dims, uint64_t seed) {
  std::vector<int64_t> shape;
  for (const Expr& extent : *type.shape) {
    TW_ASSIGN_OR_RETURN(const int64_t value, ValueOf(extent, dims, name));
    shape.push_back(value);
  }
  if (const auto read = files.find(name); read != files.end()) {
    if (read->second.shape() == shape) return read->second;
    return absl::InvalidArgumentError(absl::StrCat(name, ".npy has another shape than ", name));
  }
  TW_ASSIGN_OR_RETURN(const NDArray array, AllocateArray(name, type.dtype, shape));
  if (type.dtype.is_float()) {
    FillUniform(array, seed);
  } else {
    FillIntegers(array, seed);
  }
  return array;
}

int PrintResults(const CommandArguments& args, const graph::Arrays& results) {
  const auto folder = args.Get("--outputs");
  std::error_code error;  // what cannot be made cannot be written either, which is reported
  if (folder) std::filesystem::create_directories(*folder, error);
  nlohmann::json outputs = nlohmann::json::array();
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string name = results.size() == 1 ? "result" : absl::StrCat("result_", i);
    if (folder) {
      const absl::Status written = WriteNpy(results[i], *folder + "/" + name + ".npy");
      if (!written.ok()) return Refuse(args, written.message());
    }
    if (args.Has("--json")) {
      outputs.push_back(ToJson(name, results[i]));
    } else {
      PrintArray(args.out(), name, results[i]);
    }
  }
  if (args.Has("--json")) {
    const nlohmann::json result = {{"graph", FileOf(args)}, {"outputs", std::move(outputs)}};
    args.out() << result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  }
  return kDone;
}

}  // namespace

int ShowGraph(const CommandArguments& args) {
  graph::OpTable ops;
  const auto module = ReadGraph(args, &ops);
  if (!module) return kRefused;
  args.out() << graph::Print(*module).text;
  return kDone;
}

int CheckGraph(const CommandArguments& args) {
  graph::OpTable ops;
  const auto module = ReadGraph(args, &ops);
  if (!module) return kRefused;
  const std::vector<std::string> violations = graph::FindViolations(*module);
  for (const std::string& violation : violations) Refuse(args, violation);
  int status = violations.empty() ? kDone : kRefused;
  const Target target = HostTarget();
  for (const graph::ModuleEntry& entry : module->entries()) {
    if (entry.function) {
      if (violations.empty()) args.out() << entry.name() << ": well formed\n";
      continue;
    }
    const VerifyResult result = VerifyProgram(entry.program, &target);
    const bool refuted = result.verdict() == Verdict::kRefuted;
    if (refuted) status = kRefused;
    if (!result.diagnostics.empty()) (refuted ? args.err() : args.out()) << Render(result, entry.program);
    if (!refuted) {
      args.out() << entry.name()
                 << (result.diagnostics.empty() ? ": proven valid\n" : ": valid under the assumptions above\n");
    }
  }
  return status;
}

int RunGraph(const CommandArguments& args) {
  graph::OpTable ops;
  const auto module = ReadGraph(args, &ops);
  if (!module) return kRefused;
  const std::vector<std::string> violations = graph::FindViolations(*module);
  for (const std::string& violation : violations) Refuse(args, violation);
  if (!violations.empty()) return kRefused;
  const graph::Function main = module->Main();
  if (!main) return Refuse(args, "run needs a graph function main, or a single one");
  const auto tensors = TensorsTaken(main);
  if (!tensors) return Refuse(args, "main has a parameter that is not a tensor of known rank, which run cannot give");
  if (const auto unused = Unused(args, main, *tensors)) return UsageError(args, "run", *unused);
  SymbolicSizes sizes;
  for (const std::string& text : args.GetAll("--dim")) {
    const auto dim = ReadDim(text);
    const absl::Status set = sizes.Set(dim->first, dim->second.front(), "--dim " + text);
    if (!set.ok()) return Refuse(args, set.message());
  }
  const auto files = ReadFiles(args, main, *tensors, &sizes);
  if (!files.ok()) return Refuse(args, files.status().message());
  int64_t seed = 0;
  if (const auto text = args.Get("--seed")) (void)absl::SimpleAtoi(*text, &seed);
  graph::Arrays arguments;
  for (size_t i = 0; i < tensors->size(); ++i) {
    auto array =
        Argument(*files, main->params[i]->name, *(*tensors)[i], sizes.values(), static_cast<uint64_t>(seed) + i + 1);
    if (!array.ok()) return Refuse(args, array.status().message());
    arguments.push_back(*std::move(array));
  }
  graph::LoweringTable lowerings;
  graph::AddBasicLowerings(&lowerings);
  const auto lowered = graph::LegalizeOps(*module, ops, lowerings);
  if (!lowered.ok()) return Refuse(args, lowered.status().message());
  const std::unique_ptr<graph::KernelCache> cache = graph::KernelCache::Default();
  graph::ExecutorOptions options;
  options.kernels.cache = cache.get();
  const auto executor = graph::Executor::Compile(*lowered, options);
  if (!executor.ok()) return Refuse(args, executor.status().message());
  const auto results = (*executor)->Run(arguments);
  if (!results.ok()) return Refuse(args, results.status().message());
  return PrintResults(args, *results);
}

}  // namespace tilewright
