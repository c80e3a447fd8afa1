#include "graph/executor/device_kernels.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "codegen/backend.h"
#include "codegen/cuda/gpu_device.h"
#include "codegen/runtime/available_cpus.h"
#include "graph/executor/kernel_cache.h"
#include "graph/executor/scheduled_kernel.h"
#include "ir/script/printer.h"

namespace tilewright::graph {
namespace {

// run(i) for each i below `count` in several threads; the first error.
absl::Status InThreads(size_t count, int num_threads, const std::function<absl::Status(size_t)>& run) {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  absl::Status status;
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) {
      const absl::Status done = run(i);
      if (done.ok()) continue;
      const std::lock_guard<std::mutex> lock(mutex);
      status.Update(done);
      next = count;
    }
  };
  const size_t wanted = num_threads > 0 ? static_cast<size_t>(num_threads) : runtime::AvailableCpus().size();
  std::vector<std::thread> threads;
  for (size_t t = 1; t < std::min(wanted, count); ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return status;
}

// The functions of a kernel with `prefix` before their names, which are then those of no other kernel.
ScheduledKernel Renamed(const ScheduledKernel& kernel, const std::string& prefix) {
  ScheduledKernel renamed = kernel;
  renamed.module = Module();
  for (const PrimFunc& function : kernel.module.functions()) {
    tilewright::FunctionNode::Fields fields = function->fields();
    fields.name = prefix + fields.name;
    renamed.module.Set(PrimFunc(std::move(fields)));
  }
  if (!renamed.pack.empty()) renamed.pack = prefix + renamed.pack;
  return renamed;
}

class DeviceKernels {
 public:
  DeviceKernels(absl::Span<const KernelSource> sources, const KernelOptions& options)
      : sources_(sources), options_(options), scheduled_(sources.size()) {}

  absl::StatusOr<std::vector<Kernel>> Compile() {
    TW_RETURN_IF_ERROR(InThreads(sources_.size(), options_.num_threads, [&](size_t i) { return Schedule(i); }));
    return options_.emulate ? Together() : OneByOne();
  }

 private:
  absl::Status InProgram(size_t i, const absl::Status& status) const {
    if (status.ok()) return status;
    return absl::Status(status.code(), absl::StrCat("program ", sources_[i].program->name, " on ", options_.target.name,
                                                    ": ", status.message()));
  }

  // Also asks for the text of the kernel, so that an error is one of this program.
  absl::Status Schedule(size_t i) {
    const PrimFunc canonical = CanonicalProgram(sources_[i].program);
    auto scheduled =
        ScheduleKernel(canonical, sources_[i].constant, options_.target, options_.database, options_.scheduled.get());
    if (!scheduled.ok()) return InProgram(i, scheduled.status());
    if (!options_.emulate) {
      scheduled_[i] = *std::move(scheduled);
      return absl::OkStatus();
    }
    scheduled_[i] = Renamed(*scheduled, Prefix(i));
    return InProgram(i, tilewright::Compile(scheduled_[i].module, options_.target, {.format = "cu"}).status());
  }

  std::string Prefix(size_t i) const { return options_.emulate ? absl::StrCat("k", i, "_") : ""; }

  Kernel KernelOf(size_t i, const std::shared_ptr<const CompiledModule>& module) const {
    const ScheduledKernel& facts = scheduled_[i];
    const std::string main = absl::StrCat(Prefix(i), kKernelMain);
    Kernel kernel{.main = {.name = main, .workspace_bytes = module->WorkspaceBytes(main), .params = facts.main_params},
                  .packed = facts.packed,
                  .module = module,
                  .pace = facts.pace,
                  .code = module};
    if (!facts.pack.empty()) kernel.pack = {.name = facts.pack, .params = facts.pack_params};
    return kernel;
  }

  absl::StatusOr<std::vector<Kernel>> Together() {
    Module all;
    for (const ScheduledKernel& kernel : scheduled_) {
      for (const PrimFunc& function : kernel.module.functions()) all.Set(function);
    }
    TW_ASSIGN_OR_RETURN(const std::shared_ptr<const CompiledModule> module,
                        CompileAndLoad(all, options_.target, {.emulate = true}));
    std::vector<Kernel> kernels;
    for (size_t i = 0; i < sources_.size(); ++i) kernels.push_back(KernelOf(i, module));
    return kernels;
  }

  absl::StatusOr<std::vector<Kernel>> OneByOne() {
    std::vector<Kernel> kernels(sources_.size());
    std::mutex mutex;
    size_t done = 0;
    TW_RETURN_IF_ERROR(InThreads(sources_.size(), options_.num_threads, [&](size_t i) {
      auto module = LoadOnGpu(i);
      if (!module.ok()) return InProgram(i, module.status());
      kernels[i] = KernelOf(i, *std::move(module));
      const std::lock_guard<std::mutex> lock(mutex);
      if (options_.progress) options_.progress(++done, sources_.size());
      return absl::OkStatus();
    }));
    return kernels;
  }

  absl::StatusOr<std::unique_ptr<CompiledModule>> LoadOnGpu(size_t i) const {
    const Module& module = scheduled_[i].module;
    // What a later GPU than the target runs is compiled for that GPU, and not kept.
    if (options_.cache == nullptr || !cuda::CheckGpuRuns(options_.target).ok()) {
      return CompileAndLoad(module, options_.target);
    }
    const std::string key =
        KernelKey(Print(CanonicalProgram(sources_[i].program)), sources_[i].constant, options_, CodeEffort::kFull);
    TW_ASSIGN_OR_RETURN(const std::string cubin, KeptCubin(module, key, options_));
    return CompileAndLoad(module, options_.target, {.cubin = cubin});
  }

  const absl::Span<const KernelSource> sources_;
  const KernelOptions& options_;
  std::vector<ScheduledKernel> scheduled_;
};

}  // namespace

absl::StatusOr<std::string> KeptCubin(const Module& module, const std::string& key, const KernelOptions& options) {
  const std::string cubin_key = key + "\ncubin";
  std::string cubin;
  if (const auto kept = options.cache->LoadText(cubin_key); kept && absl::Base64Unescape(*kept, &cubin)) return cubin;
  TW_ASSIGN_OR_RETURN(Artifact artifact, tilewright::Compile(module, options.target, {.format = "cubin"}));
  options.cache->StoreText(cubin_key, absl::Base64Escape(artifact.bytes));
  return std::move(artifact.bytes);
}

absl::StatusOr<std::vector<Kernel>> CompileForDevice(absl::Span<const KernelSource> sources,
                                                     const KernelOptions& options) {
  return DeviceKernels(sources, options).Compile();
}

}  // namespace tilewright::graph
