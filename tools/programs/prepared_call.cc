#include "tools/programs/prepared_call.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "codegen/abi/abi_type.h"
#include "codegen/runtime/timer.h"
#include "ir/strided_array.h"
#include "tools/arrays/compare_outputs.h"

namespace tilewright {
namespace {

constexpr int64_t kAlignment = 64;  // of arrays and of the workspace

}  // namespace

absl::StatusOr<std::unique_ptr<PreparedCall>> PreparedCall::Make(const CompiledModule& code, const Function& function,
                                                                 std::span<const interp::Argument> arguments,
                                                                 const Options& options) {
  const TwFunction compiled = code.Find(function->name);
  if (compiled == nullptr) return absl::NotFoundError(absl::StrCat("no function ", function->name));
  std::unique_ptr<PreparedCall> call(new PreparedCall(code, compiled, options.threads));
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Param& param = function->params[i];
    call->arrays_.push_back(param.buffer ? arguments[i].array : ScalarArray(param.var.dtype(), arguments[i]));
    const NDArray& array = call->arrays_.back();
    const std::string name = param.buffer ? param.buffer->name : param.var.name();
    const int64_t alignment = std::max<int64_t>(kAlignment, param.buffer ? param.buffer->alignment : 0);
    std::vector<int64_t> strides = param.buffer ? StridesWithGaps(param.buffer, array.shape()) : std::vector<int64_t>();
    const int64_t bytes =
        strides.empty() ? array.bytes() : ElementsWithGaps(array.shape(), strides) * array.dtype().bytes();
    TW_ASSIGN_OR_RETURN(auto guarded, GuardedArray::Allocate(name, bytes, alignment));
    call->tensors_.push_back(runtime::Tensor::Borrow(guarded.data(), AbiType(array.dtype()), array.shape(), strides));
    call->strides_.push_back(std::move(strides));
    call->memory_.push_back(std::move(guarded));
  }
  for (runtime::Tensor& tensor : call->tensors_) call->pointers_.push_back(tensor.abi());
  call->workspace_bytes_ = options.workspace ? code.WorkspaceBytes(function->name) : 0;
  if (call->workspace_bytes_ > 0) {
    const int64_t bytes = (call->workspace_bytes_ + kAlignment - 1) / kAlignment * kAlignment;
    call->workspace_ = {static_cast<std::byte*>(std::aligned_alloc(kAlignment, static_cast<size_t>(bytes))),
                        [](std::byte* memory) { std::free(memory); }};
    if (call->workspace_ == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes of temporaries"));
    }
  }
  return call;
}

void PreparedCall::CopyIn(const std::vector<bool>& which) {
  for (size_t i = 0; i < arrays_.size(); ++i) {
    if (!which.empty() && !which[i]) continue;
    if (!strides_[i].empty()) {
      SpreadInto(arrays_[i], strides_[i], memory_[i].data());
    } else {
      std::memcpy(memory_[i].data(), arrays_[i].data(), static_cast<size_t>(arrays_[i].bytes()));
    }
  }
}

void PreparedCall::CopyOut(const std::vector<bool>& which) {
  for (size_t i = 0; i < arrays_.size(); ++i) {
    if (!which.empty() && !which[i]) continue;
    if (!strides_[i].empty()) {
      Collect(memory_[i].data(), strides_[i], arrays_[i]);
    } else {
      std::memcpy(arrays_[i].data(), memory_[i].data(), static_cast<size_t>(arrays_[i].bytes()));
    }
  }
}

absl::Status PreparedCall::Run(Span* span) {
  const TwParallelHook hook = pool_.hook();
  char message[256] = "";
  const TwCall call = {.parallel = &hook,
                       .workspace = workspace_.get(),
                       .workspace_bytes = workspace_bytes_,
                       .message = message,
                       .message_bytes = sizeof message};
  const int64_t start = runtime::NowNanoseconds();
  const int code = function_(&call, pointers_.data(), static_cast<int32_t>(pointers_.size()));
  int64_t spent = runtime::NowNanoseconds() - start;
  // A worker knows what the call itself took.
  if (const CallCost cost = code_.LastCall(); cost.nanoseconds > 0) spent = cost.nanoseconds;
  if (span != nullptr) *span = {static_cast<double>(start) * 1e-9, static_cast<double>(spent) * 1e-9};
  if (code == kTwOk) return absl::OkStatus();
  if (code == kTwErrorAssertion) return absl::FailedPreconditionError(message);
  if (code == kTwErrorMemory) return absl::ResourceExhaustedError(message);
  return absl::InvalidArgumentError(message);
}

}  // namespace tilewright
