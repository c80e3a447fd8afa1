#include "graph/executor/optimize.h"

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "autoschedule/database/canonical_names.h"
#include "autoschedule/database/database.h"
#include "base/phases.h"
#include "base/status_macros.h"
#include "graph/executor/kernels.h"
#include "graph/ir/call_types.h"
#include "graph/ir/functor.h"
#include "graph/pipeline.h"
#include "ir/structural.h"

namespace tilewright::graph {
namespace {

// Loop iterations that are interpreted: some 20 ms. Compiling takes longer than that.
constexpr uint64_t kInterpretedSteps = 200000;
// Bytes of a result that is folded.
constexpr int64_t kMaxFoldedBytes = int64_t{1} << 31;

// Programs of constants, compiled.
class CompiledPrograms {
 public:
  // Null where the program does not compile; it is then left in the graph.
  const Kernels* Find(const PrimFunc& program) {
    const uint64_t hash = tilewright::StructuralHash(program);
    const auto [begin, end] = kernels_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
      if (tilewright::StructuralEqual(it->second.program, program)) return it->second.kernels.get();
    }
    absl::StatusOr<std::unique_ptr<Kernels>> compiled = Kernels::Compile({program}, {});
    Entry entry{program, compiled.ok() ? *std::move(compiled) : nullptr};
    return kernels_.emplace(hash, std::move(entry))->second.kernels.get();
  }

 private:
  struct Entry {
    PrimFunc program;
    std::unique_ptr<Kernels> kernels;
  };
  std::unordered_multimap<uint64_t, Entry> kernels_;
};

// Whether a call has so few elements that it may have few iterations, too.
bool IsSmall(const CallTirNode& call) {
  int64_t elements = 0;
  std::vector<const TensorTypeNode*> tensors = TensorsOf(call.out);
  for (const Value& arg : call.args) tensors.push_back(TensorTypeOf(arg));
  for (const TensorTypeNode* tensor : tensors) {
    if (tensor == nullptr || !tensor->shape) return false;
    const auto shape = ConstantExtents(*tensor->shape);
    if (!shape) return false;
    int64_t size = 1;
    for (int64_t extent : *shape) {
      if (__builtin_mul_overflow(size, extent, &size)) return false;
    }
    if (__builtin_add_overflow(elements, size, &elements)) return false;
  }
  return elements <= static_cast<int64_t>(kInterpretedSteps);
}

// The results of a call of constants; nothing where its extents or scalars are not numbers.
std::optional<std::vector<NDArray>> RunCompiled(const GraphModule& module, const CallTirNode& call,
                                                CompiledPrograms& programs) {
  Arrays arrays;
  for (const Value& arg : call.args) {
    const auto* constant = dyn_cast<ConstantNode>(arg);
    if (constant == nullptr) return std::nullopt;
    arrays.push_back(constant->ToNDArray());
  }
  const auto scalars = ConstantExtents(call.symbols);
  if (!scalars) return std::nullopt;
  Arrays results;
  for (const TensorTypeNode* type : TensorsOf(call.out)) {
    const auto shape = ConstantExtents(*type->shape);
    if (!shape) return std::nullopt;
    int64_t bytes = type->dtype.bytes();
    for (int64_t extent : *shape) {
      if (extent < 0 || __builtin_mul_overflow(bytes, extent, &bytes) || bytes > kMaxFoldedBytes) return std::nullopt;
    }
    results.emplace_back(type->dtype, *shape);
  }
  const Kernels* kernels = programs.Find(module.FindProgram(call.function));
  arrays.insert(arrays.end(), results.begin(), results.end());
  if (kernels == nullptr || !kernels->Run(module.FindProgram(call.function)->name, arrays, *scalars).ok()) {
    return std::nullopt;
  }
  return results;
}

}  // namespace

ConstantFolder HostFolder(const OpTable* ops) {
  const ConstantFolder interpreted = InterpreterFolder(ops, nullptr, kInterpretedSteps);
  auto programs = std::make_shared<CompiledPrograms>();
  return [=](const GraphModule& module, const Value& value) -> absl::StatusOr<std::optional<std::vector<NDArray>>> {
    const auto* call = dyn_cast<CallTirNode>(value);
    std::optional<std::vector<NDArray>> arrays;
    if (call == nullptr || IsSmall(*call)) {
      TW_ASSIGN_OR_RETURN(arrays, interpreted(module, value));
    }
    if (arrays || call == nullptr) return arrays;
    return RunCompiled(module, *call, *programs);
  };
}

namespace {

DecisionStore StoreIn(const KernelCache& cache, const Target& target, const std::string& database) {
  const auto key_of = [depends = absl::StrCat(CompilerAndTarget(target), "\n", DatabaseIdentity(database))](
                          const std::string& key) { return absl::StrCat(depends, "\n", key); };
  return {
      .load = [=, &cache](const std::string& key) { return cache.LoadText(key_of(key)); },
      .store = [=, &cache](const std::string& key, const std::string& text) { cache.StoreText(key_of(key), text); }};
}

// Seconds of the best record of each program, as ApplyBest prefers them: of this target, then projected ones.
MeasuredTimes TimesIn(std::shared_ptr<const Database> database, const Target& target) {
  return [=](absl::Span<const PrimFunc> programs) -> std::optional<std::vector<double>> {
    for (const auto& [emulated, threads] : {std::pair(false, target.cores), {true, 0}}) {
      for (const Caches caches : {Caches::kRotating, Caches::kWarm, Caches::kCold}) {
        std::vector<double> times;
        for (const PrimFunc& program : programs) {
          const auto best = database->Best({.workload = WorkloadOf(Module(program)),
                                            .target = TargetKey(target, emulated),
                                            .threads = threads,
                                            .caches = caches});
          if (!best.ok()) break;
          times.push_back(best->MedianSeconds());
        }
        if (times.size() == programs.size()) return times;
      }
    }
    return std::nullopt;
  };
}

}  // namespace

int CountProgramCalls(const GraphModule& module) {
  class Counter : public Visitor {
   public:
    int count = 0;

   protected:
    void VisitCallTir(const CallTirNode*) override { ++count; }
  };
  Counter counter;
  for (const ModuleEntry& entry : module.entries()) {
    if (entry.function) counter.VisitFunction(entry.function);
  }
  return counter.count;
}

absl::StatusOr<GraphModule> OptimizeGraph(const GraphModule& module, const OpTable& ops, const PassContext& context,
                                          const OptimizeOptions& options) {
  if (options.target.name.empty())
    return absl::InvalidArgumentError("graphs are optimized for a target: none is named");
  const Phase phase("graph passes");
  std::optional<DecisionStore> kept;
  if (options.cache != nullptr) kept = StoreIn(*options.cache, options.target, options.database);
  MeasuredTimes measured;
  if (!options.database.empty()) {
    TW_ASSIGN_OR_RETURN(auto opened, Database::Open(options.database));
    measured = TimesIn(std::make_shared<const Database>(std::move(opened)), options.target);
  }
  const PassEnvironment environment{.ops = &ops,
                                    .lowerings = options.lowerings,
                                    .folder = HostFolder(&ops),
                                    .target = options.target,
                                    .precision = context.precision,
                                    .report = options.report,
                                    .kept = kept ? &*kept : nullptr,
                                    .scheduled = options.scheduled,
                                    .sizes = options.sizes,
                                    .measured = measured};
  return RunPasses(GraphPasses(environment), module, context);
}

}  // namespace tilewright::graph
