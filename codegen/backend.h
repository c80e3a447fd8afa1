// Back ends: from a module to code, whatever the machine.
//
//   absl::StatusOr<Artifact> object = Compile(module, target, {.format = "o"});
//   absl::StatusOr<std::unique_ptr<CompiledModule>> code = CompileAndLoad(module, HostTarget());
//   code.value()->Run("main", {a.abi(), b.abi(), c.abi()}, &hook);
//
// Both ask the back ends that are built in for the one that generates code for the target. No type of the tool behind a
// back end (LLVM, NVRTC) is seen here. How compiled functions are called: codegen/abi/function_abi.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "codegen/abi/function_abi.h"
#include "codegen/call_sequence.h"
#include "codegen/counters.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright {

// How much a back end optimizes.
enum class CodeEffort {
  kFull,
  // Code that takes little of a run: it is compiled faster, and is not much slower.
  kSmallShare,
  // The code is wanted soon, however slow it is.
  kQuick,
};

// "full", "small share", "quick".
std::string_view NameOf(CodeEffort effort);

struct CompileOptions {
  // What kind of file, by its extension: "o", "so", "s", "ll"; for a GPU "so", "cu", "ptx", "cubin".
  std::string format = "o";
  // Called after each lowering pass that changed a function, with the pass's name and the function before and after.
  std::function<void(std::string_view pass, const Function& before, const Function& after)> after_pass = {};
  // Shared libraries in which code that is loaded here looks for functions that the program calls by name, after the
  // process itself.
  std::vector<std::string> libraries = {};
  // A function that calls those of the module, in addition to them.
  const CallSequence* sequence = nullptr;
  CodeEffort effort = CodeEffort::kFull;
  // Counters are wanted: they cost a tenth of the time.
  bool count = false;
  // Loaded code of a GPU runs in an emulator, on tensors of the CPU, with every access checked. A "so" holds kernels
  // for the emulator in place of a cubin: tests load it beside a driver that runs them (codegen/cuda/host/testing).
  bool emulate = false;
  // The command before the worker that runs loaded code of a CPU, "ssh board" for example. Empty: code for this
  // architecture runs in this process, code for another one in a worker in an emulator (codegen/remote).
  std::string launcher = {};
  // What Compile made of the module as "cubin": loaded code of a GPU is this. Empty: it is compiled.
  std::string cubin = {};
  // The cubin's name for whom a "cu" is written: with one, Artifact::host_part starts its kernels.
  std::string cubin_name = {};
};

struct Artifact {
  std::string bytes;  // the file
  // C++ that starts the kernels of a "cu" (codegen/cuda/host), or a line by which a compiler says why there is none.
  std::string host_part = {};
  std::vector<std::string> entry_points;  // names of the module's functions, in its order
  Counters counters;
};

// What a call took, where code runs in a worker (codegen/remote).
struct CallCost {
  int64_t nanoseconds = 0;
  int64_t instructions = 0;  // 0 where nothing counts them
};

// Code of a module's functions in this process; it lives as long as the object. Its functions may run in several
// threads.
class CompiledModule {
 public:
  virtual ~CompiledModule() = default;

  // The exported function of that name, or null.
  virtual TwFunction Find(std::string_view name) const = 0;
  // The same without checks of its arguments.
  virtual TwUncheckedFunction FindUnchecked(std::string_view name) const = 0;
  // Bytes of temporaries that a call of the function puts into TwCall::workspace.
  virtual int64_t WorkspaceBytes(std::string_view name) const = 0;
  // Counts of the last call that was successful; zeros for code that runs in this process.
  virtual CallCost LastCall() const { return {}; }
  // Calls a function; a code other than kTwOk becomes a status with the function's message.
  absl::Status Run(std::string_view name, std::span<TwTensor* const> args,
                   const TwParallelHook* parallel = nullptr) const;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  virtual bool Supports(const Target& target) const = 0;
  // Extensions of the files that it makes.
  virtual std::vector<std::string> formats() const = 0;

  // `target` is supported, and `options.format` among the formats.
  virtual absl::StatusOr<Artifact> Compile(const Module& module, const Target& target,
                                           const CompileOptions& options) const = 0;
  // The target must be one whose code this machine can run: a feature that it lacks is an error.
  virtual absl::StatusOr<std::unique_ptr<CompiledModule>> Load(const Module& module, const Target& target,
                                                               const CompileOptions& options) const = 0;
};

class BackendRegistry {
 public:
  // With the back ends of this build.
  static BackendRegistry Builtin();

  void Add(std::unique_ptr<Backend> backend) { backends_.push_back(std::move(backend)); }
  // The first that supports the target; an error names the target.
  absl::StatusOr<const Backend*> For(const Target& target) const;

  absl::StatusOr<Artifact> Compile(const Module& module, const Target& target, const CompileOptions& options) const;
  absl::StatusOr<std::unique_ptr<CompiledModule>> CompileAndLoad(const Module& module, const Target& target,
                                                                 const CompileOptions& options) const;

 private:
  std::vector<std::unique_ptr<Backend>> backends_;
};

// By the back ends of this build.
absl::StatusOr<Artifact> Compile(const Module& module, const Target& target, const CompileOptions& options = {});
absl::StatusOr<std::unique_ptr<CompiledModule>> CompileAndLoad(const Module& module, const Target& target,
                                                               const CompileOptions& options = {});

}  // namespace tilewright
