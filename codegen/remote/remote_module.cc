#include "codegen/remote/remote_module.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "codegen/remote/messages.h"

namespace tilewright::remote {
namespace {

// Bytes from `begin` to `end`.
struct Span {
  uint64_t begin, end;
};

uint64_t AddressOf(const TwTensor& tensor) { return reinterpret_cast<uint64_t>(tensor.data); }

// The memory of a tensor's elements; nothing of one that has none here.
Span SpanOf(const TwTensor& tensor) {
  const Span none = {AddressOf(tensor), AddressOf(tensor)};
  if (tensor.device.device_type != kTwCpu || tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr)) {
    return none;
  }
  const int64_t bits = int64_t{tensor.dtype.bits} * std::max<int64_t>(tensor.dtype.lanes, 1);
  int64_t least = 0, most = 0, compact = 1;
  for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] <= 0) return none;
    const int64_t distance = (tensor.shape[i] - 1) * (tensor.strides != nullptr ? tensor.strides[i] : compact);
    (distance < 0 ? least : most) += distance;
    compact *= tensor.shape[i];
  }
  const uint64_t first = AddressOf(tensor) + tensor.byte_offset;
  // Elements of less than a byte share bytes.
  return {first - static_cast<uint64_t>((-least * bits + 7) / 8),
          first + static_cast<uint64_t>(((most + 1) * bits + 7) / 8)};
}

// Spans such that none of them overlap.
std::vector<Span> Merge(std::vector<Span> spans) {
  std::ranges::sort(spans, {}, &Span::begin);
  std::vector<Span> merged;
  for (const Span& span : spans) {
    if (merged.empty() || span.begin >= merged.back().end) {
      merged.push_back(span);
    } else {
      merged.back().end = std::max(merged.back().end, span.end);
    }
  }
  return merged;
}

void WriteExtents(MessageWriter& request, const int64_t* extents, int32_t count) {
  request.Number<uint8_t>(extents != nullptr);
  const size_t all = extents == nullptr ? 0 : static_cast<size_t>(std::max(count, 0));
  request.Number<uint64_t>(all);
  for (size_t i = 0; i < all; ++i) request.Number<int64_t>(extents[i]);
}

void WriteTensor(MessageWriter& request, const TwTensor* tensor, const std::vector<Span>& regions) {
  request.Number<uint8_t>(tensor != nullptr);
  if (tensor == nullptr) return;
  request.Number(*tensor);
  const Span span = SpanOf(*tensor);
  const auto found = std::ranges::find_if(
      regions, [&](const Span& region) { return region.begin <= span.begin && span.end <= region.end; });
  const bool lies = tensor->data != nullptr && found != regions.end();
  request.Number<int64_t>(lies ? found - regions.begin() : -1);
  request.Number<int64_t>(lies ? static_cast<int64_t>(AddressOf(*tensor) - found->begin) : 0);
  WriteExtents(request, tensor->shape, tensor->ndim);
  WriteExtents(request, tensor->strides, tensor->ndim);
}

std::vector<Span> RegionsOf(std::span<TwTensor* const> args) {
  std::vector<Span> spans;
  for (const TwTensor* tensor : args) {
    if (tensor != nullptr && tensor->data != nullptr) spans.push_back(SpanOf(*tensor));
  }
  return Merge(std::move(spans));
}

std::string RequestOf(const std::string& name, const TwCall* call, std::span<TwTensor* const> args,
                      const std::vector<Span>& regions) {
  const TwParallelHook* hook = call != nullptr ? call->parallel : nullptr;
  const bool has_workspace = call != nullptr && call->workspace != nullptr;
  MessageWriter request;
  request.Number(Request::kCall);
  request.Bytes(name);
  request.Number<int64_t>(hook != nullptr ? std::max<int64_t>(hook->num_threads, 1) : 0);
  request.Number<int64_t>(has_workspace ? call->workspace_bytes : 0);
  request.Number<uint64_t>(regions.size());
  for (const Span& region : regions) {
    request.Number(region.begin);
    request.Bytes({reinterpret_cast<const char*>(region.begin), region.end - region.begin});
  }
  request.Number<uint64_t>(args.size());
  for (const TwTensor* tensor : args) WriteTensor(request, tensor, regions);
  return request.text();
}

int Fail(const TwCall* call, int code, std::string_view message) {
  if (call != nullptr && call->message != nullptr && call->message_bytes > 0) {
    std::snprintf(call->message, static_cast<size_t>(call->message_bytes), "%.*s", static_cast<int>(message.size()),
                  message.data());
  }
  return code;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RemoteModule>> RemoteModule::Open(std::vector<std::string> command,
                                                                 std::vector<std::string> libraries) {
  std::unique_ptr<RemoteModule> module(new RemoteModule(std::move(command), std::move(libraries)));
  const std::lock_guard lock(module->mutex_);
  TW_RETURN_IF_ERROR(module->Connect());
  return module;
}

absl::Status RemoteModule::Connect() const {
  if (worker_.started()) return absl::OkStatus();
  TW_RETURN_IF_ERROR(worker_.Start());
  MessageWriter request;
  request.Number(Request::kOpen);
  request.Number<uint64_t>(libraries_.size());
  for (const std::string& library : libraries_) request.Bytes(library);
  TW_ASSIGN_OR_RETURN(const auto answer, worker_.Ask(request.text()));
  MessageReader reader(answer);
  const std::string error(reader.Bytes());
  if (error.empty() && reader.ok()) return absl::OkStatus();
  worker_.Stop();
  return absl::FailedPreconditionError(absl::StrCat("the worker cannot open the code: ", error));
}

absl::StatusOr<std::string> RemoteModule::Ask(const std::string& request) const {
  TW_RETURN_IF_ERROR(Connect());
  return worker_.Ask(request);
}

const RemoteModule::Function* RemoteModule::Lookup(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = functions_.find(name); found != functions_.end()) return &found->second;
  MessageWriter request;
  request.Number(Request::kFind);
  request.Bytes(name);
  const auto answer = Ask(request.text());
  if (!answer.ok()) return nullptr;
  MessageReader reader(*answer);
  if (reader.Number<uint8_t>() == 0 || !reader.ok()) return nullptr;
  Function function{.workspace_bytes = reader.Number<int64_t>()};
  function.closure = std::make_unique<Closure>(
      [this, name = std::string(name)](const TwCall* call, TwTensor* const* args, int32_t num_args) {
        return Call(name, call, args, num_args);
      });
  return &functions_.emplace(std::string(name), std::move(function)).first->second;
}

TwFunction RemoteModule::Find(std::string_view name) const {
  const Function* function = Lookup(name);
  return function == nullptr ? nullptr : function->closure->function();
}

int64_t RemoteModule::WorkspaceBytes(std::string_view name) const {
  const Function* function = Lookup(name);
  return function == nullptr ? 0 : function->workspace_bytes;
}

absl::StatusOr<std::vector<int64_t>> RemoteModule::TimeAgain(int64_t count, int64_t nanoseconds) const {
  MessageWriter request;
  request.Number(Request::kAgain);
  request.Number(count);
  request.Number(nanoseconds);
  const std::lock_guard lock(mutex_);
  TW_ASSIGN_OR_RETURN(const auto answer, Ask(request.text()));
  MessageReader reader(answer);
  const auto code = reader.Number<int32_t>();
  const std::string message(reader.Bytes());
  if (code != kTwOk) return absl::InternalError(message);
  std::vector<int64_t> times(reader.Count());
  for (int64_t& time : times) time = reader.Number<int64_t>();
  if (!reader.ok() || times.empty()) return absl::UnavailableError("the worker answered something else");
  return times;
}

CallCost RemoteModule::LastCall() const {
  const std::lock_guard lock(mutex_);
  return last_call_;
}

int RemoteModule::Call(const std::string& name, const TwCall* call, TwTensor* const* args, int32_t num_args) const {
  const std::span<TwTensor* const> tensors(args, static_cast<size_t>(std::max(num_args, 0)));
  const std::vector<Span> regions = RegionsOf(tensors);
  const std::lock_guard lock(mutex_);
  const auto answer = Ask(RequestOf(name, call, tensors, regions));
  if (!answer.ok()) return Fail(call, kTwErrorAssertion, std::string(answer.status().message()));
  MessageReader reader(*answer);
  const auto code = reader.Number<int32_t>();
  const std::string_view message = reader.Bytes();
  if (code != kTwOk) return Fail(call, code, message);
  last_call_.nanoseconds = reader.Number<int64_t>();
  last_call_.instructions = reader.Number<int64_t>();
  for (const Span& region : regions) {
    const std::string_view bytes = reader.Bytes();
    if (!reader.ok() || bytes.size() != region.end - region.begin) {
      return Fail(call, kTwErrorAssertion, "the worker answered something else");
    }
    std::memcpy(reinterpret_cast<void*>(region.begin), bytes.data(), bytes.size());
  }
  return kTwOk;
}

}  // namespace tilewright::remote
