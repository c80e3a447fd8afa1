#include "graph/executor/constant_section.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/phases.h"
#include "base/status_macros.h"
#include "codegen/abi/abi_type.h"
#include "codegen/backend.h"
#include "graph/memory/memory_plan.h"

namespace tilewright::graph {
namespace {

int64_t BytesOf(const KernelTensor& tensor) {
  int64_t bytes = tensor.dtype.bytes();
  for (int64_t extent : tensor.shape) bytes *= extent;
  return bytes;
}

// Packed constants of one program and one set of constants.
struct Packing {
  int program = 0;
  std::vector<int> constants;    // by parameter of the packing function; -1: a packed one
  std::vector<int64_t> offsets;  // by Kernel::packed
};

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

// Aligned memory that grows.
class Scratch {
 public:
  // Null where there is not so much.
  std::byte* Reserve(int64_t bytes) {
    if (bytes > bytes_) {
      memory_.reset();
      memory_.reset(std::aligned_alloc(kArenaAlignment, static_cast<size_t>(bytes)));
      bytes_ = memory_ == nullptr ? 0 : bytes;
    }
    return static_cast<std::byte*>(memory_.get());
  }

 private:
  std::unique_ptr<void, Free> memory_;
  int64_t bytes_ = 0;
};

// Releases constants each time that so many bytes of them have been read.
class Releaser {
 public:
  explicit Releaser(const std::function<void()>& release) : release_(release) {}
  ~Releaser() {
    if (release_) release_();
  }
  void Add(int64_t bytes) {
    constexpr int64_t kBytes = int64_t{16} << 20;
    const int64_t before = read_.fetch_add(bytes);
    if (before / kBytes != (before + bytes) / kBytes && release_) release_();
  }

 private:
  const std::function<void()>& release_;
  std::atomic<int64_t> read_ = 0;
};

// run(i, scratch) for each i below `count`, each thread with scratch memory of its own; the first error.
absl::Status InParallel(const TwParallelHook* parallel, size_t count,
                        const std::function<absl::Status(size_t, Scratch&)>& run) {
  struct Jobs {
    const std::function<absl::Status(size_t, Scratch&)>& run;
    const size_t count;
    std::atomic<size_t> next = 0;
    std::mutex mutex;
    absl::Status status;
  };
  Jobs jobs = {.run = run, .count = count};
  // Each thread takes the next job until none is left, however the range was cut.
  const TwParallelBody body = [](int64_t, int64_t, void* closure) {
    Jobs& all = *static_cast<Jobs*>(closure);
    Scratch scratch;
    for (size_t i = all.next++; i < all.count; i = all.next++) {
      const absl::Status status = all.run(i, scratch);
      if (status.ok()) continue;
      const std::lock_guard<std::mutex> lock(all.mutex);
      all.status.Update(status);
      all.next = all.count;
    }
  };
  const int64_t threads = parallel == nullptr ? 1 : std::max<int64_t>(parallel->num_threads, 1);
  if (tw_parallel_for(parallel, body, &jobs, threads, 0) != 0) {
    return absl::InternalError("the threads that pack constants failed");
  }
  return jobs.status;
}

class Builder {
 public:
  Builder(const ExecutablePlan& plan, absl::Span<const Kernel> kernels) : plan_(plan), kernels_(kernels) {}

  // Which constants are needed as they are, and which packings there are; offsets of all.
  void LayOut(std::vector<int64_t>* constants, std::vector<std::vector<int64_t>>* packed) {
    constants->assign(plan_.constants.size(), -1);
    const auto keep = [&](int tensor) {
      const PlanTensor& root = Root(tensor);
      if (root.home != Home::kConstant) return;
      int64_t& offset = (*constants)[static_cast<size_t>(root.index)];
      if (offset < 0) offset = Take(plan_.constants[static_cast<size_t>(root.index)]->bytes.size());
    };
    for (int result : plan_.results) keep(result);
    for (const PlanLoop& loop : plan_.loops) {
      if (loop.trips >= 0) keep(loop.trips);
      for (const auto* moves : {&loop.start, &loop.before, &loop.after}) {
        for (const PlanLoop::Move& move : *moves) keep(move.from);
      }
    }
    packed->resize(plan_.steps.size());
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const PlanStep& step = plan_.steps[s];
      const Kernel& kernel = kernels_[static_cast<size_t>(step.program)];
      const auto keep_params = [&](const KernelFunction& function) {
        for (int param : function.params) {
          if (param >= 0 && static_cast<size_t>(param) < step.tensors.size()) {
            keep(step.tensors[static_cast<size_t>(param)]);
          }
        }
      };
      keep_params(kernel.main);
      for (const KernelVersion& version : kernel.versions) keep_params(version.function);
      if (!kernel.packed.empty()) (*packed)[s] = PackingOf(step, kernel).offsets;
    }
  }

  int64_t bytes() const { return bytes_; }

  // Constants first, because packing reads them where they are kept.
  absl::Status Fill(std::byte* section, const std::vector<int64_t>& constants, const TwParallelHook* parallel,
                    const std::function<void()>& release) const {
    std::vector<int> kept;
    for (size_t c = 0; c < constants.size(); ++c) {
      if (constants[c] >= 0) kept.push_back(static_cast<int>(c));
    }
    std::vector<const Packing*> packings;
    for (const auto& [key, packing] : packings_) packings.push_back(&packing);
    Releaser releaser(release);
    TW_RETURN_IF_ERROR(InParallel(parallel, kept.size(), [&](size_t i, Scratch&) {
      Copy(kept[i], section + constants[static_cast<size_t>(kept[i])], releaser);
      return absl::OkStatus();
    }));
    return InParallel(parallel, packings.size(), [&](size_t i, Scratch& scratch) {
      return Pack(*packings[i], section, constants, scratch, releaser);
    });
  }

 private:
  const PlanTensor& Root(int tensor) const {
    return plan_.tensors[static_cast<size_t>(plan_.tensors[static_cast<size_t>(tensor)].root)];
  }
  int64_t Take(int64_t bytes) {
    const int64_t offset = bytes_;
    bytes_ += RoundedBytes(bytes);
    return offset;
  }

  const Packing& PackingOf(const PlanStep& step, const Kernel& kernel) {
    std::vector<int> constants;
    for (int param : kernel.pack.params) {
      constants.push_back(param < 0 ? -1 : Root(step.tensors[static_cast<size_t>(param)]).index);
    }
    const auto [it, is_new] = packings_.try_emplace({step.program, constants});
    if (is_new) {
      it->second = {.program = step.program, .constants = constants};
      for (const KernelTensor& tensor : kernel.packed) it->second.offsets.push_back(Take(BytesOf(tensor)));
    }
    return it->second;
  }

  void Copy(int constant, std::byte* to, Releaser& releaser) const {
    const ConstantBytes& bytes = plan_.constants[static_cast<size_t>(constant)]->bytes;
    bytes.CopyTo(to);
    releaser.Add(bytes.size());
  }

  // What the section does not hold is copied to aligned memory first.
  absl::Status Pack(const Packing& packing, std::byte* section, const std::vector<int64_t>& constants, Scratch& scratch,
                    Releaser& releaser) const {
    const Kernel& kernel = kernels_[static_cast<size_t>(packing.program)];
    int64_t needed = 0;
    for (int c : packing.constants) {
      if (c >= 0 && constants[static_cast<size_t>(c)] < 0) needed += RoundedBytesOf(c);
    }
    std::byte* next = scratch.Reserve(needed);
    if (needed > 0 && next == nullptr) return absl::ResourceExhaustedError("no memory to pack constants");
    std::vector<void*> data;
    std::vector<const int64_t*> shapes;
    for (size_t i = 0; i < kernel.pack.params.size(); ++i) {
      const int param = kernel.pack.params[i];
      if (param < 0) {
        data.push_back(section + packing.offsets[static_cast<size_t>(~param)]);
        shapes.push_back(kernel.packed[static_cast<size_t>(~param)].shape.data());
        continue;
      }
      const auto c = static_cast<size_t>(packing.constants[i]);
      shapes.push_back(plan_.constants[c]->shape.data());
      if (constants[c] >= 0) {
        data.push_back(section + constants[c]);
        continue;
      }
      Copy(static_cast<int>(c), next, releaser);
      data.push_back(next);
      next += RoundedBytesOf(static_cast<int>(c));
    }
    if (kernel.pack.run == nullptr) return PackOnDevice(kernel, data, shapes, packing);
    char message[256] = "";
    const TwCall call = {.message = message, .message_bytes = sizeof message};
    if (kernel.pack.run(&call, data.data(), shapes.data()) == kTwOk) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("constants cannot be packed: ", message));
  }

  // On memory of the host, which the module copies to its device and back.
  absl::Status PackOnDevice(const Kernel& kernel, const std::vector<void*>& data,
                            const std::vector<const int64_t*>& shapes, const Packing& packing) const {
    std::vector<TwTensor> tensors(data.size());
    std::vector<TwTensor*> pointers;
    for (size_t i = 0; i < data.size(); ++i) {
      const int param = kernel.pack.params[i];
      const KernelTensor* packed = param < 0 ? &kernel.packed[static_cast<size_t>(~param)] : nullptr;
      const Constant* constant = param < 0 ? nullptr : &plan_.constants[static_cast<size_t>(packing.constants[i])];
      const size_t rank = packed != nullptr ? packed->shape.size() : (*constant)->shape.size();
      tensors[i] = {.data = data[i],
                    .device = {kTwCpu, 0},
                    .ndim = static_cast<int32_t>(rank),
                    .dtype = AbiType(packed != nullptr ? packed->dtype : (*constant)->type->dtype),
                    .shape = const_cast<int64_t*>(shapes[i])};
      pointers.push_back(&tensors[i]);
    }
    const absl::Status status = kernel.module->Run(kernel.pack.name, pointers);
    if (status.ok()) return status;
    return absl::Status(status.code(), absl::StrCat("constants cannot be packed: ", status.message()));
  }

  int64_t RoundedBytesOf(int constant) const {
    return RoundedBytes(plan_.constants[static_cast<size_t>(constant)]->bytes.size());
  }

  const ExecutablePlan& plan_;
  const absl::Span<const Kernel> kernels_;
  std::map<std::pair<int, std::vector<int>>, Packing> packings_;
  int64_t bytes_ = 0;
};

}  // namespace

absl::StatusOr<ConstantSection> ConstantSection::Make(const ExecutablePlan& plan, absl::Span<const Kernel> kernels,
                                                      const TwParallelHook* parallel,
                                                      const std::function<void()>& release) {
  const Phase phase("constants");
  ConstantSection section;
  Builder builder(plan, kernels);
  builder.LayOut(&section.constants_, &section.packed_);
  section.bytes_ = builder.bytes();
  if (std::ranges::any_of(kernels, [](const Kernel& kernel) { return !kernel.runs; })) return section;
  TW_ASSIGN_OR_RETURN(section.memory_, ReadOnlyMemory::Reserve(builder.bytes()));
  TW_RETURN_IF_ERROR(builder.Fill(section.memory_.data(), section.constants_, parallel, release));
  section.memory_.Seal();
  return section;
}

}  // namespace tilewright::graph
