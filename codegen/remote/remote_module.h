// A shared library of compiled functions in a worker process: in an emulator, or on another machine.
//
//   auto module = RemoteModule::Open(*WorkerCommand(target, ""), {*EmitSharedLibrary(...)});
//   (*module)->Run("main", {a.abi(), b.abi(), c.abi()});
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/abi/closure.h"
#include "codegen/backend.h"
#include "codegen/remote/worker_process.h"

namespace tilewright::remote {

class RemoteModule : public CompiledModule {
 public:
  // `command` starts the worker. `libraries`: contents of shared libraries; the last one has the functions, and those
  // before it what they call by name.
  static absl::StatusOr<std::unique_ptr<RemoteModule>> Open(std::vector<std::string> command,
                                                            std::vector<std::string> libraries);

  // Calls go to the worker one after the other. One in which it ends returns kTwErrorAssertion with a message.
  TwFunction Find(std::string_view name) const override;
  // Null: what a worker needs to know of memory is in the tensors.
  TwUncheckedFunction FindUnchecked(std::string_view) const override { return nullptr; }
  int64_t WorkspaceBytes(std::string_view name) const override;
  // Runs the last call again on the arguments that the worker has of it, at least once: at most `count` times and for
  // that many nanoseconds. What each took, as the worker measured it; nothing that it writes comes back.
  absl::StatusOr<std::vector<int64_t>> TimeAgain(int64_t count, int64_t nanoseconds) const;
  // As the worker measured it: without what it takes to get there.
  CallCost LastCall() const override;

 private:
  struct Function {
    std::unique_ptr<Closure> closure;
    int64_t workspace_bytes = 0;
  };
  RemoteModule(std::vector<std::string> command, std::vector<std::string> libraries)
      : libraries_(std::move(libraries)), worker_(std::move(command)) {}

  // Starts the worker, if it is not there, and gives it the libraries.
  absl::Status Connect() const;
  absl::StatusOr<std::string> Ask(const std::string& request) const;
  int Call(const std::string& name, const TwCall* call, TwTensor* const* args, int32_t num_args) const;
  const Function* Lookup(std::string_view name) const;

  const std::vector<std::string> libraries_;
  mutable std::mutex mutex_;
  mutable WorkerProcess worker_;
  mutable CallCost last_call_;
  mutable std::map<std::string, Function, std::less<>> functions_;
};

}  // namespace tilewright::remote
