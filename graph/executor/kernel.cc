#include "graph/executor/kernel.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
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
#include "graph/executor/kernel_effort.h"
#include "graph/executor/kernel_versions.h"
#include "graph/executor/scheduled_kernel.h"
#include "graph/ir/symbols.h"
#include "ir/annotations.h"
#include "ir/script/printer.h"
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

// How a program is compiled that has been scheduled, or not.
struct Way {
  bool scheduled = true;
  CodeEffort effort = CodeEffort::kFull;
};

// The functions of a module in the memory of this process. `name`: for profilers.
absl::StatusOr<Kernel> LoadHere(const ScheduledKernel& facts, const Target& target, const Way& way,
                                const std::string& name) {
  TW_ASSIGN_OR_RETURN(auto loaded, CompileAndLoad(AsKernels(facts.module, name), target, {.effort = way.effort}));
  std::shared_ptr<CompiledModule> code = std::move(loaded);
  const auto function = [&](const std::string& name, const std::vector<int>& params) {
    return KernelFunction{code->FindUnchecked(name), name, code->WorkspaceBytes(name), params};
  };
  Kernel kernel{.main = function(kKernelMain, facts.main_params), .packed = facts.packed, .scheduled = way.scheduled};
  if (!facts.pack.empty()) kernel.pack = function(facts.pack, facts.pack_params);
  for (const KernelVersion& version : facts.versions) {
    kernel.versions.push_back({version.when, function(version.function.name, version.function.params)});
  }
  kernel.pace = facts.pace;
  kernel.effort = way.effort;
  kernel.code = std::move(code);
  return kernel;
}

// The effort for kernels that have none of their own.
CodeEffort EffortOfAll(const KernelOptions& options) { return options.quick ? CodeEffort::kQuick : CodeEffort::kFull; }

// What packs constants does not depend on the machine that reads them.
absl::Status LoadPacking(const ScheduledKernel& facts, const KernelOptions& options, Kernel* kernel) {
  if (facts.pack.empty()) return absl::OkStatus();
  const Module pack = AsKernels(Module(facts.module.Find(facts.pack)), kKernelMain);
  TW_ASSIGN_OR_RETURN(const std::shared_ptr<CompiledModule> code,
                      CompileAndLoad(pack, options.host, {.effort = EffortOfAll(options)}));
  kernel->pack.run = code->FindUnchecked(facts.pack);
  kernel->code = code;
  return absl::OkStatus();
}

// A kernel that does not run here.
absl::StatusOr<Kernel> ForElsewhere(const KernelSource& source, const KernelOptions& options) {
  const PrimFunc canonical = CanonicalProgram(source.program);
  ScheduledKernel facts = AsWritten(canonical);
  if (options.schedule) {
    TW_ASSIGN_OR_RETURN(
        facts, ScheduleKernel(canonical, source.constant, options.target, options.database, options.scheduled.get()));
    // A worker calls one function at all sizes; a library for this machine chooses as a plan of this process does.
    const bool here = options.use == KernelUse::kExport && options.target.name == options.host.name;
    if (here) AddVersions(canonical, source.constant, options.target, &facts);
  }
  Kernel kernel{.main = {.params = facts.main_params},
                .versions = facts.versions,
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

// One program on its way to a kernel that runs in this process.
class KernelJob {
 public:
  KernelJob(const KernelSource* source, const KernelOptions* options)
      : source_(source), options_(options), canonical_(CanonicalProgram(source->program)) {
    if (UsesCache(*options)) text_ = Print(canonical_);
  }

  // The projected seconds of all its calls in a run, of a kernel in the cache or of the schedule; 0: not known. What
  // the cache does not have is scheduled.
  absl::StatusOr<double> Seconds() {
    if (!options_->schedule || options_->quick || source_->calls == 0) return 0;
    for (const CodeEffort effort : {CodeEffort::kFull, CodeEffort::kSmallShare}) {
      if (const Kernel* kernel = Kept(effort)) return SecondsOf(kernel->pace, !kernel->versions.empty());
    }
    TW_RETURN_IF_ERROR(Schedule());
    return SecondsOf(scheduled_->pace, !scheduled_->versions.empty());
  }

  absl::StatusOr<Kernel> Compile(CodeEffort effort) {
    if (const Kernel* kernel = Kept(effort)) return *kernel;
    if (!options_->schedule) return CompileAs(AsWritten(canonical_), {.scheduled = false, .effort = effort});
    TW_RETURN_IF_ERROR(Schedule());
    absl::StatusOr<Kernel> kernel = CompileAs(*scheduled_, {.effort = effort});
    if (kernel.ok()) return kernel;
    return CompileAs(AsWritten(canonical_, options_->target, "its schedule does not compile"),
                     {.scheduled = false, .effort = effort});
  }

 private:
  double SecondsOf(const KernelPace& pace, bool has_versions) const {
    // The time of a version is another one.
    return has_versions ? 0 : pace.pace.seconds * static_cast<double>(source_->calls);
  }

  std::string KeyOf(CodeEffort effort) const { return KernelKey(text_, source_->constant, *options_, effort); }

  // The kernel in the cache; null where there is none.
  const Kernel* Kept(CodeEffort effort) {
    if (!UsesCache(*options_)) return nullptr;
    const auto [kept, is_new] = kept_.try_emplace(effort);
    if (is_new) kept->second = options_->cache->Load(KeyOf(effort));
    if (kept->second) kept->second->effort = effort;
    return kept->second ? &*kept->second : nullptr;
  }

  absl::Status Schedule() {
    if (scheduled_) return absl::OkStatus();
    TW_ASSIGN_OR_RETURN(scheduled_, ScheduleKernel(canonical_, source_->constant, options_->target, options_->database,
                                                   options_->scheduled.get()));
    AddVersions(canonical_, source_->constant, options_->target, &*scheduled_);
    return absl::OkStatus();
  }

  absl::StatusOr<Kernel> CompileAs(const ScheduledKernel& facts, const Way& way) const {
    const std::string& name = source_->program->name;
    if (!UsesCache(*options_)) return LoadHere(facts, options_->target, way, name);
    const std::string key = KeyOf(way.effort);
    TW_ASSIGN_OR_RETURN(const auto library, tilewright::Compile(AsKernels(facts.module, kKernelMain), options_->target,
                                                                {.format = "so", .effort = way.effort}));
    options_->cache->Store(key, facts, way.scheduled, library.bytes);
    if (std::optional<Kernel> kernel = options_->cache->Load(key)) {
      kernel->from_cache = false;
      kernel->effort = way.effort;
      return *std::move(kernel);
    }
    return LoadHere(facts, options_->target, way, name);  // the folder cannot be written
  }

  const KernelSource* source_;
  const KernelOptions* options_;
  PrimFunc canonical_;
  std::string text_;  // of the program, for keys
  std::map<CodeEffort, std::optional<Kernel>> kept_;
  std::optional<ScheduledKernel> scheduled_;
};

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
    if (same != end) {
      int64_t& calls = distinct[same->second].calls;
      calls = calls > 0 && source.calls > 0 ? calls + source.calls : 0;
      continue;
    }
    by_hash.emplace(hash, distinct.size());
    distinct.push_back(source);
  }
  return distinct;
}

// Calls `work` for each source in threads of its own, as far as it is successful.
absl::Status ForEach(absl::Span<const KernelSource> sources, const KernelOptions& options,
                     const std::function<absl::Status(size_t)>& work) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  absl::Status all;
  const PhaseContext context = PhaseContext::OfThisThread();
  const auto take = [&] {
    const ReportPhases here(context);
    for (size_t i = next++; i < sources.size(); i = next++) {
      const PhaseSubject subject(sources[i].program->name);
      const absl::Status status = work(i);
      if (status.ok()) continue;
      const std::lock_guard<std::mutex> lock(mutex);
      all.Update(
          absl::Status(status.code(), absl::StrCat("program ", sources[i].program->name, ": ", status.message())));
      next = sources.size();
      return;
    }
  };
  const size_t wanted =
      options.num_threads > 0 ? static_cast<size_t>(options.num_threads) : runtime::AvailableCpus().size();
  std::vector<std::thread> threads;
  for (size_t t = 1; t < std::min(wanted, sources.size()); ++t) threads.emplace_back(take);
  take();
  for (std::thread& thread : threads) thread.join();
  return all;
}

// One kernel for each source; these differ from each other. All are scheduled before one is compiled: what effort it
// gets depends on the time of the others.
absl::StatusOr<std::vector<Kernel>> CompileDistinct(absl::Span<const KernelSource> sources,
                                                    const KernelOptions& options) {
  if (options.use == KernelUse::kDevice) return CompileForDevice(sources, options);
  const bool here = options.use == KernelUse::kHere;
  std::vector<std::optional<KernelJob>> jobs(sources.size());
  std::vector<double> seconds(sources.size());
  const auto project = [&](size_t i) -> absl::Status {
    jobs[i].emplace(&sources[i], &options);
    TW_ASSIGN_OR_RETURN(seconds[i], jobs[i]->Seconds());
    return absl::OkStatus();
  };
  if (here) TW_RETURN_IF_ERROR(ForEach(sources, options, project));
  std::vector<CodeEffort> efforts = EffortsOf(seconds);
  if (options.quick) std::ranges::fill(efforts, CodeEffort::kQuick);
  std::vector<Kernel> kernels(sources.size());
  std::mutex mutex;
  size_t done = 0;
  bool compiled = false;
  const auto compile = [&](size_t i) -> absl::Status {
    TW_ASSIGN_OR_RETURN(Kernel kernel, here ? jobs[i]->Compile(efforts[i]) : ForElsewhere(sources[i], options));
    jobs[i].reset();
    const std::lock_guard<std::mutex> lock(mutex);
    compiled |= !kernel.from_cache;
    kernels[i] = std::move(kernel);
    if (options.progress) options.progress(++done, sources.size());
    return absl::OkStatus();
  };
  TW_RETURN_IF_ERROR(ForEach(sources, options, compile));
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
