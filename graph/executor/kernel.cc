#include "graph/executor/kernel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "base/phases.h"
#include "base/status_macros.h"
#include "codegen/backend.h"
#include "codegen/runtime/available_cpus.h"
#include "codegen/runtime/perf_map.h"
#include "graph/executor/device_kernels.h"
#include "graph/executor/kernel_cache.h"
#include "graph/executor/kernel_versions.h"
#include "graph/executor/scheduled_kernel.h"
#include "graph/ir/symbols.h"
#include "ir/annotations.h"
#include "ir/structural.h"

namespace tilewright::graph {
namespace {

// The functions under names for profilers. Plans check what kernels would check.
Module AsKernels(const Module& module, const std::string& name) {
  Module kernels = module;
  for (const tilewright::Function& function : module.functions()) {
    tilewright::FunctionNode::Fields fields = function->fields();
    const std::string suffix = function->name.substr(std::string_view(kKernelMain).size());
    fields.attrs[kGlobalSymbol] = {String(absl::StrCat(name, suffix))};
    fields.attrs[kUncheckedOnly] = {Expr(1)};
    kernels.Set(tilewright::Function(std::move(fields)));
  }
  return kernels;
}

// The functions of a module in the memory of this process. `name`: for profilers.
absl::StatusOr<Kernel> LoadHere(const ScheduledKernel& facts, const Target& target, bool scheduled, bool quick,
                                const std::string& name) {
  TW_ASSIGN_OR_RETURN(auto loaded, CompileAndLoad(AsKernels(facts.module, name), target, {.quick = quick}));
  std::shared_ptr<CompiledModule> code = std::move(loaded);
  const auto function = [&](const std::string& name, const std::vector<int>& params) {
    return KernelFunction{code->FindUnchecked(name), name, code->WorkspaceBytes(name), params};
  };
  Kernel kernel{.main = function(kKernelMain, facts.main_params), .packed = facts.packed, .scheduled = scheduled};
  if (!facts.pack.empty()) kernel.pack = function(facts.pack, facts.pack_params);
  for (const KernelVersion& version : facts.versions) {
    kernel.versions.push_back({version.when, function(version.function.name, version.function.params)});
  }
  kernel.pace = facts.pace;
  kernel.code = std::move(code);
  return kernel;
}

// What packs constants does not depend on the machine that reads them.
absl::Status LoadPacking(const ScheduledKernel& facts, const KernelOptions& options, Kernel* kernel) {
  if (facts.pack.empty()) return absl::OkStatus();
  const Module pack = AsKernels(Module(facts.module.Find(facts.pack)), kKernelMain);
  TW_ASSIGN_OR_RETURN(const std::shared_ptr<CompiledModule> code,
                      CompileAndLoad(pack, options.host, {.quick = options.quick}));
  kernel->pack.run = code->FindUnchecked(facts.pack);
  kernel->code = code;
  return absl::OkStatus();
}

// A kernel that does not run here.
absl::StatusOr<Kernel> ForElsewhere(const KernelSource& source, const KernelOptions& options) {
  const PrimFunc canonical = CanonicalProgram(source.program);
  ScheduledKernel facts = AsWritten(canonical);
  if (options.schedule) {
    TW_ASSIGN_OR_RETURN(facts, ScheduleKernel(canonical, source.constant, options.target, options.database));
  }
  Kernel kernel{.main = {.params = facts.main_params},
                .packed = facts.packed,
                .pack = {.params = facts.pack_params},
                .scheduled = options.schedule,
                .runs = options.use != KernelUse::kExplain,
                .pace = facts.pace,
                .code = std::make_shared<ScheduledKernel>(facts)};
  if (kernel.runs) TW_RETURN_IF_ERROR(LoadPacking(facts, options, &kernel));
  return kernel;
}

// In the cache all kernels have the same name: a profiler that shall tell them apart gets them anew.
bool UsesCache(const KernelOptions& options) { return options.cache != nullptr && !runtime::WantsPerfMap(); }

absl::StatusOr<Kernel> CompileAs(const ScheduledKernel& facts, bool scheduled, const std::string& key,
                                 const KernelOptions& options, const std::string& name) {
  const Target& target = options.target;
  if (!UsesCache(options)) return LoadHere(facts, target, scheduled, options.quick, name);
  TW_ASSIGN_OR_RETURN(const auto library,
                      Compile(AsKernels(facts.module, kKernelMain), target, {.format = "so", .quick = options.quick}));
  options.cache->Store(key, facts, scheduled, library.bytes);
  if (std::optional<Kernel> kernel = options.cache->Load(key)) {
    kernel->from_cache = false;
    return *std::move(kernel);
  }
  return LoadHere(facts, target, scheduled, options.quick, name);  // the folder cannot be written
}

absl::StatusOr<Kernel> CompileKernel(const KernelSource& source, const KernelOptions& options) {
  if (options.use != KernelUse::kHere) return ForElsewhere(source, options);
  const PrimFunc canonical = CanonicalProgram(source.program);
  std::string key;
  if (UsesCache(options)) {
    key = KernelKey(canonical, source.constant, options);
    if (std::optional<Kernel> kernel = options.cache->Load(key)) return *std::move(kernel);
  }
  if (options.schedule) {
    TW_ASSIGN_OR_RETURN(ScheduledKernel scheduled, ScheduleKernel(canonical, source.constant, options.target,
                                                                  options.database, options.scheduled.get()));
    AddVersions(canonical, source.constant, options.target, &scheduled);
    absl::StatusOr<Kernel> kernel = CompileAs(scheduled, true, key, options, source.program->name);
    if (kernel.ok()) return kernel;
    return CompileAs(AsWritten(canonical, options.target, "its schedule does not compile"), false, key, options,
                     source.program->name);
  }
  return CompileAs(AsWritten(canonical), false, key, options, source.program->name);
}

// Each program once, and for each source its number among those.
std::vector<KernelSource> Distinct(absl::Span<const KernelSource> sources, std::vector<size_t>* of_source) {
  std::vector<KernelSource> distinct;
  std::unordered_multimap<uint64_t, size_t> by_hash;
  for (const KernelSource& source : sources) {
    const uint64_t hash = tilewright::StructuralHash(source.program);
    const auto [begin, end] = by_hash.equal_range(hash);
    const auto same = std::find_if(begin, end, [&](const auto& entry) {
      const KernelSource& other = distinct[entry.second];
      return other.constant == source.constant && tilewright::StructuralEqual(other.program, source.program);
    });
    of_source->push_back(same == end ? distinct.size() : same->second);
    if (same != end) continue;
    by_hash.emplace(hash, distinct.size());
    distinct.push_back(source);
  }
  return distinct;
}

// One kernel for each source; these differ from each other.
absl::StatusOr<std::vector<Kernel>> CompileDistinct(absl::Span<const KernelSource> sources,
                                                    const KernelOptions& options) {
  if (options.use == KernelUse::kDevice) return CompileForDevice(sources, options);
  std::vector<Kernel> kernels(sources.size());
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  absl::Status status;
  size_t done = 0;
  bool compiled = false;
  const PhaseContext context = PhaseContext::OfThisThread();
  const auto work = [&] {
    const ReportPhases here(context);
    for (size_t i = next++; i < sources.size(); i = next++) {
      const PhaseSubject subject(sources[i].program->name);
      absl::StatusOr<Kernel> kernel = CompileKernel(sources[i], options);
      const std::lock_guard<std::mutex> lock(mutex);
      if (!kernel.ok()) {
        status.Update(absl::Status(kernel.status().code(), absl::StrCat("program ", sources[i].program->name, ": ",
                                                                        kernel.status().message())));
        next = sources.size();
        return;
      }
      compiled |= !kernel->from_cache;
      kernels[i] = *std::move(kernel);
      if (options.progress) options.progress(++done, sources.size());
    }
  };
  const size_t wanted =
      options.num_threads > 0 ? static_cast<size_t>(options.num_threads) : runtime::AvailableCpus().size();
  std::vector<std::thread> threads;
  for (size_t t = 1; t < std::min(wanted, sources.size()); ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (!status.ok()) return status;
  if (compiled && options.cache != nullptr) options.cache->Thin();
  return kernels;
}

}  // namespace

absl::StatusOr<KernelOptions> WithMachine(KernelOptions options) {
  if (options.target.name.empty() && options.use != KernelUse::kHere) {
    return absl::InvalidArgumentError("kernels that run elsewhere than in this process need a target");
  }
  if (options.host.name.empty()) options.host = HostTarget();
  if (options.target.name.empty()) options.target = options.host;
  return options;
}

KernelOptions ForHost(KernelOptions options) {
  options.target = options.host;
  options.scheduled = nullptr;
  options.use = KernelUse::kHere;
  options.emulate = false;
  options.database.clear();
  return options;
}

absl::StatusOr<std::vector<Kernel>> CompileKernels(absl::Span<const KernelSource> all, const KernelOptions& given) {
  std::vector<size_t> of_source;
  const std::vector<KernelSource> sources = Distinct(all, &of_source);
  std::vector<Kernel> result;
  if (sources.empty()) return result;
  const Phase phase("kernels");
  TW_ASSIGN_OR_RETURN(const KernelOptions options, WithMachine(given));
  TW_ASSIGN_OR_RETURN(const std::vector<Kernel> kernels, CompileDistinct(sources, options));
  for (size_t i : of_source) result.push_back(kernels[i]);
  return result;
}

const KernelFunction& Kernel::MainFor(absl::Span<const std::vector<int64_t>* const> shapes) const {
  for (const KernelVersion& version : versions) {
    const bool fits = std::ranges::all_of(version.when, [&](const KernelVersion::Extent& e) {
      const auto param = static_cast<size_t>(e.param), dim = static_cast<size_t>(e.dim);
      return param < shapes.size() && dim < shapes[param]->size() && (*shapes[param])[dim] == e.extent;
    });
    if (fits) return version.function;
  }
  return main;
}

absl::Status CheckProgramArguments(const PrimFunc& program, absl::Span<const std::vector<int64_t>* const> shapes,
                                   absl::Span<const int64_t> scalars) {
  if (shapes.size() + scalars.size() != program->params.size()) {
    return absl::InvalidArgumentError(absl::StrCat("program ", program->name, " takes ", program->params.size(),
                                                   " arguments, not ", shapes.size() + scalars.size()));
  }
  SymbolValues symbols;
  for (size_t i = 0; i < scalars.size(); ++i) {
    symbols.Set(Symbol(program->params[shapes.size() + i].var.get()), scalars[i]);
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Buffer& buffer = program->params[i].buffer;
    if (!buffer) {
      return absl::InvalidArgumentError(
          absl::StrCat("program ", program->name, ": parameter ", i, " is a scalar, not a tensor"));
    }
    const TensorType type(buffer->dtype, buffer->shape);
    TW_RETURN_IF_ERROR(symbols.Match(*type, *shapes[i], absl::StrCat(program->name, "'s ", buffer->name)));
  }
  return absl::OkStatus();
}

}  // namespace tilewright::graph
