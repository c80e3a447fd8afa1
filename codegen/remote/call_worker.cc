// Opens a shared library of compiled functions and calls them for another process (messages.h). It links the run-time
// library and nothing else, so that it is compiled for any machine by the C++ compiler of that machine alone.
#include <dlfcn.h>
#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "codegen/remote/messages.h"
#include "codegen/runtime/loaded_module.h"
#include "codegen/runtime/thread_pool.h"
#include "codegen/runtime/timer.h"

namespace tilewright::remote {
namespace {

// The path under which this process finds the bytes as a file. The file lives as long as the process.
std::string AsFile(std::string_view bytes) {
  const int fd = memfd_create("library", 0);
  if (fd < 0 || !WriteAll(fd, bytes)) return "";
  return "/proc/self/fd/" + std::to_string(fd);
}

// A part of the caller's memory, at the same address modulo kRegionAlignment.
class Region {
 public:
  Region(uint64_t address, std::string_view bytes) : size_(bytes.size()) {
    const size_t begin = address % kRegionAlignment;
    const size_t all = (begin + size_ + kRegionAlignment) / kRegionAlignment * kRegionAlignment;
    memory_.reset(static_cast<char*>(std::aligned_alloc(kRegionAlignment, all)));
    if (memory_ == nullptr) return;
    data_ = memory_.get() + begin;
    std::memcpy(data_, bytes.data(), size_);
  }
  char* data() const { return data_; }
  std::string_view bytes() const { return {data_, size_}; }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  size_t size_;
  std::unique_ptr<char, Free> memory_;
  char* data_ = nullptr;
};

// Arguments of a call, in memory of this process.
struct Arguments {
  std::vector<Region> regions;
  std::vector<TwTensor> tensors;
  std::vector<std::vector<int64_t>> extents;  // shapes and strides; tensors point to them
  std::vector<TwTensor*> pointers;
};

int64_t* ReadExtents(MessageReader& reader, Arguments& arguments) {
  const bool there = reader.Number<uint8_t>() != 0;
  std::vector<int64_t> extents(reader.Count());
  for (int64_t& extent : extents) extent = reader.Number<int64_t>();
  if (!there) return nullptr;
  return arguments.extents.emplace_back(std::move(extents)).data();
}

bool ReadTensor(MessageReader& reader, Arguments& arguments) {
  if (reader.Number<uint8_t>() == 0) {
    arguments.pointers.push_back(nullptr);
    return reader.ok();
  }
  auto tensor = reader.Number<TwTensor>();
  const auto region = reader.Number<int64_t>(), offset = reader.Number<int64_t>();
  tensor.data = nullptr;
  if (region >= static_cast<int64_t>(arguments.regions.size())) return false;
  if (region >= 0) tensor.data = arguments.regions[static_cast<size_t>(region)].data() + offset;
  tensor.shape = ReadExtents(reader, arguments);
  tensor.strides = ReadExtents(reader, arguments);
  arguments.tensors.push_back(tensor);
  arguments.pointers.push_back(&arguments.tensors.back());
  return reader.ok();
}

bool ReadArguments(MessageReader& reader, Arguments& arguments) {
  const size_t num_regions = reader.Count();
  for (size_t i = 0; i < num_regions; ++i) {
    const auto address = reader.Number<uint64_t>();
    arguments.regions.emplace_back(address, reader.Bytes());
    if (arguments.regions.back().data() == nullptr) return false;
  }
  const size_t num_tensors = reader.Count();
  arguments.tensors.reserve(num_tensors);
  arguments.extents.reserve(2 * num_tensors);
  for (size_t i = 0; i < num_tensors; ++i) {
    if (!ReadTensor(reader, arguments)) return false;
  }
  return reader.ok();
}

// The instructions that this process has executed, where its emulator counts them; else a number that never changes.
const volatile int64_t* Instructions() {
  static constexpr int64_t kNone = 0;
  const void* page = mmap(nullptr, kCounterBytes, PROT_READ, MAP_SHARED, kCounterFd, 0);
  return page == MAP_FAILED ? &kNone : static_cast<const volatile int64_t*>(page);
}

// A call that can be repeated.
struct LastCall {
  TwFunction function = nullptr;
  std::optional<TwParallelHook> hook;
  Arguments arguments;
  int64_t workspace_bytes = 0;
  std::optional<Region> workspace;
};
struct Outcome {
  int code;
  std::string message;
  int64_t nanoseconds;
};
Outcome Run(LastCall& last) {
  char message[256] = "";
  const TwCall call = {.parallel = last.hook ? &*last.hook : nullptr,
                       .workspace = last.workspace_bytes > 0 ? last.workspace->data() : nullptr,
                       .workspace_bytes = last.workspace_bytes,
                       .message = message,
                       .message_bytes = sizeof(message)};
  std::vector<TwTensor*>& pointers = last.arguments.pointers;
  const int64_t start = runtime::NowNanoseconds();
  const int code = last.function(&call, pointers.data(), static_cast<int32_t>(pointers.size()));
  return {code, message, runtime::NowNanoseconds() - start};
}

class Worker {
 public:
  std::string Answer(std::string_view request) {
    MessageReader reader(request);
    switch (reader.Number<Request>()) {
      case Request::kOpen:
        return Open(reader);
      case Request::kFind:
        return Find(reader);
      case Request::kCall:
        return Call(reader);
      case Request::kAgain:
        return Again(reader);
    }
    return "";
  }

 private:
  std::string Open(MessageReader& reader) {
    MessageWriter answer;
    std::string error;
    const size_t count = reader.Count();
    for (size_t i = 0; i < count && error.empty(); ++i) {
      const std::string path = AsFile(reader.Bytes());
      if (i + 1 == count) {
        module_ = runtime::LoadedModule::Open(path, &error);
      } else if (dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
        error = dlerror();
      }
    }
    answer.Bytes(error);
    return answer.text();
  }

  std::string Find(MessageReader& reader) const {
    const std::string name(reader.Bytes());
    MessageWriter answer;
    answer.Number<uint8_t>(module_ && module_->Find(name) != nullptr);
    answer.Number<int64_t>(module_ ? module_->WorkspaceBytes(name) : 0);
    return answer.text();
  }

  std::string Call(MessageReader& reader) {
    last_.emplace();
    last_->function = module_ ? module_->Find(std::string(reader.Bytes())) : nullptr;
    last_->hook = HookOf(reader.Number<int64_t>());
    last_->workspace_bytes = std::max<int64_t>(reader.Number<int64_t>(), 0);
    MessageWriter answer;
    if (!ReadArguments(reader, last_->arguments) || last_->function == nullptr) {
      last_.reset();
      answer.Number<int32_t>(kTwErrorMemory);
      answer.Bytes("the worker has no memory for the arguments");
      return answer.text();
    }
    last_->workspace.emplace(0, std::string(static_cast<size_t>(last_->workspace_bytes), '\0'));
    const int64_t counted = *instructions_;
    const Outcome outcome = Run(*last_);
    const int64_t instructions = *instructions_ - counted;
    answer.Number<int32_t>(outcome.code);
    answer.Bytes(outcome.message);
    answer.Number(outcome.nanoseconds);
    answer.Number(instructions);
    for (const Region& region : last_->arguments.regions) answer.Bytes(region.bytes());
    return answer.text();
  }

  std::string Again(MessageReader& reader) {
    const auto count = reader.Number<int64_t>(), most_nanoseconds = reader.Number<int64_t>();
    Outcome outcome{.code = kTwErrorAssertion, .message = "the worker has called nothing yet", .nanoseconds = 0};
    std::vector<int64_t> times;
    int64_t spent = 0;
    while (last_) {
      outcome = Run(*last_);
      times.push_back(outcome.nanoseconds);
      spent += outcome.nanoseconds;
      if (outcome.code != kTwOk || static_cast<int64_t>(times.size()) >= count || spent >= most_nanoseconds) break;
    }
    MessageWriter answer;
    answer.Number<int32_t>(outcome.code);
    answer.Bytes(outcome.message);
    answer.Number<uint64_t>(times.size());
    for (const int64_t time : times) answer.Number(time);
    return answer.text();
  }

  // Nothing where the caller gave no hook.
  std::optional<TwParallelHook> HookOf(int64_t num_threads) {
    if (num_threads <= 0) return std::nullopt;
    if (pool_ == nullptr || pool_->num_threads() != num_threads) {
      pool_ = std::make_unique<runtime::ThreadPool>(
          runtime::ThreadPoolOptions{.num_threads = static_cast<int>(num_threads), .pin_workers = false});
    }
    return pool_->hook();
  }

  const volatile int64_t* const instructions_ = Instructions();
  std::optional<runtime::LoadedModule> module_;
  std::unique_ptr<runtime::ThreadPool> pool_;
  std::optional<LastCall> last_;
};

// Ends the process when nobody can ask any more, also in the middle of a call.
[[noreturn]] void EndWithConnection() {
  pollfd connection = {.fd = STDIN_FILENO, .events = 0, .revents = 0};
  for (;;) {
    if (poll(&connection, 1, -1) > 0 && (connection.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) _exit(0);
  }
}

}  // namespace
}  // namespace tilewright::remote

int main() {
  using namespace tilewright::remote;  // NOLINT(build/namespaces): main() cannot be in it.
  // What a library prints is not an answer.
  const int answers = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  std::thread(EndWithConnection).detach();
  Worker worker;
  std::string request;
  while (ReceiveMessage(STDIN_FILENO, &request)) {
    if (!SendMessage(answers, worker.Answer(request))) break;
  }
  // Threads of a pool may still run what a call left behind.
  _exit(0);
}
