// A compiled function with its arguments in guarded memory, its workspace and its threads: what one call needs, kept
// for all calls.
//
//   TW_ASSIGN_OR_RETURN(auto call, PreparedCall::Make(*code, function, arguments, {}));
//   call->CopyIn();
//   TW_RETURN_IF_ERROR(call->Run(&span));
//   call->CopyOut();
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/backend.h"
#include "codegen/runtime/tensor.h"
#include "codegen/runtime/thread_pool.h"
#include "ir/interp/interp.h"
#include "tools/arrays/guarded_memory.h"
#include "tools/profile/profile.h"

namespace tilewright {

class PreparedCall {
 public:
  struct Options {
    int threads = 0;        // 0: one for each CPU
    bool workspace = true;  // false: calls allocate their temporaries, on a GPU for example
  };
  // `arguments` are one for each parameter of the function, which is one of the code's.
  static absl::StatusOr<std::unique_ptr<PreparedCall>> Make(const CompiledModule& code, const Function& function,
                                                            std::span<const interp::Argument> arguments,
                                                            const Options& options);

  // The arguments to the memory of the call, and back. `which`: only those; empty: all.
  void CopyIn(const std::vector<bool>& which = {});
  void CopyOut(const std::vector<bool>& which = {});
  // `span`, which may be null, receives when the call began and how long it took.
  absl::Status Run(Span* span = nullptr);

 private:
  PreparedCall(const CompiledModule& code, TwFunction function, int threads)
      : code_(code), function_(function), pool_(runtime::ThreadPoolOptions{.num_threads = threads}) {}

  const CompiledModule& code_;
  const TwFunction function_;
  runtime::ThreadPool pool_;
  std::vector<NDArray> arrays_;                // the caller's
  std::vector<std::vector<int64_t>> strides_;  // of the memory of each, where it has gaps (ir/strided_array.h)
  std::vector<GuardedArray> memory_;
  std::vector<runtime::Tensor> tensors_;
  std::vector<TwTensor*> pointers_;
  std::unique_ptr<std::byte, void (*)(std::byte*)> workspace_ = {nullptr, nullptr};
  int64_t workspace_bytes_ = 0;
};

}  // namespace tilewright
