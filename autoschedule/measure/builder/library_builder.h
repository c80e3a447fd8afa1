// Builder of shared libraries: candidates are compiled by processes of their own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "autoschedule/measure/builder/builder.h"
#include "autoschedule/measure/executor/machine_lock.h"
#include "autoschedule/measure/protocol/protocol.h"
#include "autoschedule/measure/protocol/worker_pool.h"
#include "target/target.h"

namespace tilewright {

class LibraryBuilder : public Builder {
 public:
  // `worker`: the program compile_worker. `folder`: where libraries and the reference go. `function`: of the
  // candidates, with these parameters. `lock` must outlive the builder; it is held, shared, while workers compile.
  // `project`: count what projects the time of emulated candidates.
  LibraryBuilder(const std::string& worker, Target target, const RunnerOptions& options, std::string folder,
                 std::string function, std::vector<TensorSpec> params, MachineLock& lock, bool project);

  // Writes the program's right results on seeded inputs, as this machine computes them, into the folder. `caution`
  // receives why results are compared with less than that, or not at all; empty where they are not.
  absl::Status ComputeReference(const Module& program, std::string* caution);

  std::vector<BuiltCandidate> Build(std::span<const Module> candidates, const Counters& limits) override;

 private:
  // Each is a library of its own: many candidates have what packs ahead of time in common, which takes as long to
  // compile as the rest where it transforms (schedule/algebra/winograd.h).
  struct Part {
    Module module;
    uint64_t hash = 0;
  };
  struct Parts {
    Part main;
    std::optional<Part> prepack;
  };
  struct Library {
    Measurement compiled;  // without times
    int64_t last_run = 0;
  };

  static Part PartOf(Module module);
  Parts PartsOf(const Module& candidate) const;
  std::string LibraryPath(uint64_t hash) const;
  CompileRequest RequestFor(const Part& part) const;
  // Compiles the parts of which there is no library yet; their outcomes, by hash.
  std::map<uint64_t, Measurement> Compile(const std::vector<Parts>& candidates);
  void ForgetOldest();

  const Target target_;
  const RunnerOptions options_;
  const std::string folder_, function_;
  const std::vector<TensorSpec> params_;
  MachineLock& lock_;
  const bool project_;
  WorkerPool compilers_;
  std::map<uint64_t, Library> libraries_;  // by the hash of the part
  int64_t runs_ = 0;
};

}  // namespace tilewright
