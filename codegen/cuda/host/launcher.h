// What the text of a launcher is written over: a library's kernels and constants, and one call of one of its functions.
//
//   TW_EMBED(tw_image_0, "gemm.cubin");
//   Image images[] = {{tw_image_0}};
//   Kernel kernels[] = {{"main_kernel", &images[0], 65632}};
//   Library library(kMachine, images, kernels);
//
//   Execution run(library, call);               // the first opens the driver, loads kernels, uploads constants
//   if (run.Begins(kernels[0], {m / 128, 4, 1}, {256, 1, 1})) {
//     void* params[] = {&A, &m};
//     run.Start(params);
//   }
//   return run.Finish();
//
// Calls of the same values, those of arguments' addresses too, become one graph of the driver from the second on:
//
//   Graphs main_graphs;
//   run.Repeat(main_graphs, {KeyOf(A), KeyOf(m)}, [&] { main_Start(run, values, workspace); });
//
// Nothing is linked: the driver is opened when a function is called first, and a sentence says where there is none.
// What the first call has loaded, uploaded and allocated is kept for all others.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "codegen/abi/function_abi.h"
#include "codegen/cuda/driver.h"
#include "codegen/cuda/host/arguments.h"
#include "codegen/cuda/host/numbers.h"

// Functions that others call; everything else of a library is hidden.
#define TW_EXPORT extern "C" __attribute__((visibility("default")))

// The bytes of a file as an array of this name. The compiler finds the file as an include of assembly: in the folder
// where it runs, or in one of -I.
#define TW_EMBED(name, file)                                                                                         \
  asm(".pushsection .rodata.tilewright, \"a\", @progbits\n.balign 4096\n.globl " #name "\n.hidden " #name "\n" #name \
      ":\n.incbin \"" file "\"\n.byte 0\n.popsection\n");                                                            \
  extern "C" __attribute__((visibility("hidden"))) const unsigned char name[]

namespace tilewright::cuda::host {

// Kernels for one architecture: a cubin.
struct Image {
  const unsigned char* bytes;
  void* module = nullptr;
};
struct Kernel {
  const char* name;
  Image* image;
  uint32_t shared_bytes;
  bool dependent = false;  // may begin before the kernel in front of it has ended
  void* handle = nullptr;
};

struct Machine {
  const char* target;  // "cuda-sm90a"
  int capability;      // 90
  bool exact;          // whether its code runs on that capability alone
  int64_t most_threads;
  std::array<int64_t, 3> most_blocks;
};

// Memory of the device that grows and stays.
struct Kept {
  char* memory = nullptr;
  int64_t bytes = 0;
};

class Library {
 public:
  template <size_t images, size_t kernels>
  Library(const Machine& machine, Image (&image)[images], Kernel (&kernel)[kernels],
          const unsigned char* constants = nullptr, int64_t constant_bytes = 0)
      : machine_(machine),
        images_(image),
        kernels_(kernel),
        num_images_(images),
        num_kernels_(kernels),
        constants_(constants),
        constant_bytes_(constant_bytes) {}

  // In the first call, and in others until one succeeds.
  const Driver* Open(Refusal& refusal) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (open_) return driver_;
    std::string error;
    driver_ = Driver::Open(&error);
    if (driver_ == nullptr) {
      refusal.Refuse(kTwErrorDevice, error);
      return nullptr;
    }
    if (!RunsHere(refusal)) return nullptr;
    driver_->Enter();
    open_ = LoadKernels(refusal) && Upload(refusal);
    driver_->Leave();
    return open_ ? driver_ : nullptr;
  }

  const Machine& machine() const { return machine_; }
  // On the device.
  char* constants() const { return device_constants_; }

 private:
  friend class Execution;

  bool RunsHere(Refusal& refusal) const {
    const int has = driver_->compute_capability();
    const bool later = has / 10 == machine_.capability / 10 && has > machine_.capability;
    if (has == machine_.capability || (later && !machine_.exact)) return true;
    refusal.Refuse(kTwErrorDevice, "this machine's " + driver_->device_name() + " (sm_" + Text(has) +
                                       ") does not run code for " + machine_.target);
    return false;
  }

  bool LoadKernels(Refusal& refusal) {
    for (size_t i = 0; i < num_images_; ++i) {
      if (images_[i].module != nullptr) continue;
      if (const int code = driver_->LoadModule(images_[i].bytes, &images_[i].module); code != 0) {
        images_[i].module = nullptr;
        refusal.Refuse(kTwErrorDevice, driver_->device_name() + " refuses the kernels: " + driver_->Text(code));
        return false;
      }
    }
    for (size_t i = 0; i < num_kernels_; ++i) {
      Kernel& kernel = kernels_[i];
      const int code = driver_->FindKernel(kernel.image->module, kernel.name, kernel.shared_bytes, &kernel.handle);
      if (code == 0) continue;
      refusal.Refuse(kTwErrorDevice, std::string(kernel.name) + ": " + driver_->Text(code));
      return false;
    }
    return true;
  }

  bool Upload(Refusal& refusal) {
    if (constant_bytes_ == 0 || device_constants_ != nullptr) return true;
    void* memory = nullptr;
    const auto bytes = static_cast<size_t>(constant_bytes_);
    if (driver_->Allocate(bytes, &memory) != 0) {
      refusal.Refuse(kTwErrorMemory, NoMemory(constant_bytes_, "constants"));
      return false;
    }
    if (const int code = driver_->CopyToDevice(memory, constants_, bytes); code != 0) {
      driver_->Free(memory);
      refusal.Refuse(kTwErrorDevice, "the constants cannot be copied: " + driver_->Text(code));
      return false;
    }
    device_constants_ = static_cast<char*>(memory);
    return true;
  }

  std::string NoMemory(int64_t bytes, const char* what) const {
    return "no memory on " + driver_->device_name() + " for " + Text(bytes) + " bytes of " + what;
  }

  // Under kept_mutex_. Null, with a refusal, where there is not so much.
  char* Reserve(Kept& kept, int64_t bytes, const char* what, Refusal& refusal) {
    if (kept.bytes >= bytes && kept.memory != nullptr) return kept.memory;
    // The driver waits for the work that uses it.
    if (kept.memory != nullptr) driver_->Free(kept.memory);
    kept = {};
    void* memory = nullptr;
    if (driver_->Allocate(static_cast<size_t>(bytes), &memory) != 0) {
      refusal.Refuse(kTwErrorMemory, NoMemory(bytes, what));
      return nullptr;
    }
    kept = {static_cast<char*>(memory), bytes};
    return kept.memory;
  }

  const Machine machine_;
  Image* const images_;
  Kernel* const kernels_;
  const size_t num_images_, num_kernels_;
  const unsigned char* const constants_;
  const int64_t constant_bytes_;
  std::mutex mutex_;
  const Driver* driver_ = nullptr;
  bool open_ = false;
  char* device_constants_ = nullptr;

  // For calls without a workspace, or with arrays of the CPU, one at a time.
  std::mutex kept_mutex_;
  Kept workspace_, staging_;
  void* last_use_ = nullptr;  // an event
};

// What calls of a function with the same values start, as graphs. A function has few of them: arrays of a model's runs
// stay where they are.
class Graphs {
 private:
  friend class Execution;
  static constexpr size_t kMost = 16;

  struct Entry {
    std::vector<int64_t> key;
    void* graph = nullptr;
    bool refused = false;  // by the driver
  };

  Entry* Find(const std::vector<int64_t>& key) {
    for (Entry& entry : entries_) {
      if (entry.key == key) return &entry;
    }
    return nullptr;
  }
  // In the place of the one that was added first where there are many. Graphs that still run end by themselves.
  void Add(const Driver& driver, std::vector<int64_t> key) {
    if (Find(key) != nullptr) return;
    if (entries_.size() < kMost) {
      entries_.push_back({std::move(key)});
      return;
    }
    Entry& oldest = entries_[next_++ % kMost];
    if (oldest.graph != nullptr) driver.DestroyGraph(oldest.graph);
    oldest = {std::move(key)};
  }

  std::mutex mutex_;
  std::vector<Entry> entries_;
  size_t next_ = 0;
};
inline int64_t KeyOf(const char* address) { return static_cast<int64_t>(reinterpret_cast<uintptr_t>(address)); }
inline int64_t KeyOf(Int number) { return number.value; }

// Extents of a grid or a block.
using Dims = std::array<Int, 3>;

// One call of a function.
class Execution {
 public:
  Execution(Library& library, const TwCall* call) : library_(library), call_(call), refusal_(call) {
    driver_ = library.Open(refusal_);
    if (driver_ == nullptr) return;
    driver_->Enter();
    if (call != nullptr) stream_ = call->stream;
  }
  ~Execution() {
    if (driver_ == nullptr) return;
    for (void* memory : temporaries_) driver_->Free(memory);
    driver_->Leave();
  }
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  bool ok() const { return refusal_.ok(); }
  int code() const { return refusal_.code(); }
  Refusal& refusal() { return refusal_; }
  char* constants() const { return library_.constants(); }

  // The arguments with copies on the GPU in place of arrays of the CPU.
  TwTensor* const* Stage(const Parameter* parameters, int32_t count, TwTensor* const* args, int32_t num_args) {
    if (!ok() || num_args != count) return args;
    const auto on_cpu = [&](int32_t i) {
      return args[i] != nullptr && parameters[i].is_array && args[i]->device.device_type == kTwCpu;
    };
    int64_t bytes = 0;
    for (int32_t i = 0; i < count; ++i) bytes += on_cpu(i) ? RoundUpTo(kAlignment, BytesOf(*args[i])) + kAlignment : 0;
    if (bytes == 0) return args;
    UseKept();
    char* next = library_.Reserve(library_.staging_, bytes, "arguments", refusal_);
    if (next == nullptr) return args;
    tensors_.resize(static_cast<size_t>(count));
    for (int32_t i = 0; i < count; ++i) {
      pointers_.push_back(args[i]);
      if (!on_cpu(i)) continue;
      TwTensor& tensor = tensors_[static_cast<size_t>(i)];
      tensor = *args[i];
      const int64_t of_array = BytesOf(tensor);
      Check(driver_->CopyToDevice(next, FirstOf(tensor), static_cast<size_t>(of_array)), "a copy to the GPU");
      staged_.push_back({next, FirstOf(tensor), parameters[i].is_written ? of_array : 0});
      tensor.data = next;
      tensor.byte_offset = 0;
      tensor.device = {kTwCuda, 0};
      pointers_.back() = &tensor;
      next += RoundUpTo(kAlignment, of_array) + kAlignment;
    }
    return pointers_.data();
  }

  // The caller's workspace, or memory that is kept for such calls; null, with a refusal, where there is none.
  char* Workspace(int64_t bytes) {
    if (!ok() || bytes == 0) return nullptr;
    const uintptr_t address = call_ == nullptr ? 0 : reinterpret_cast<uintptr_t>(call_->workspace);
    if (address != 0 && address % 64 == 0 && call_->workspace_bytes >= bytes) {
      return static_cast<char*>(call_->workspace);
    }
    UseKept();
    return library_.Reserve(library_.workspace_, bytes, "temporaries", refusal_);
  }

  // Memory of this call alone, of a size that depends on extents.
  char* Temporary(Int bytes) {
    if (!ok()) return nullptr;
    void* memory = nullptr;
    const int64_t wanted = bytes.value > 0 ? bytes.value : 1;
    if (driver_->Allocate(static_cast<size_t>(wanted), &memory) != 0) {
      refusal_.Refuse(kTwErrorMemory, library_.NoMemory(wanted, "temporaries"));
      return nullptr;
    }
    temporaries_.push_back(memory);
    return static_cast<char*>(memory);
  }

  // Runs `start`, or the graph of what it started in a call before. `key`: all that it depends on beside the library.
  template <class Start>
  void Repeat(Graphs& graphs, std::vector<int64_t> key, const Start& start) {
    if (driver_->IsCapturing(stream_)) return start();
    {
      const std::lock_guard<std::mutex> lock(graphs.mutex_);
      Graphs::Entry* const known = graphs.Find(key);
      if (known != nullptr && known->graph == nullptr && !known->refused) Capture(*known, start);
      if (known != nullptr && known->graph != nullptr) {
        return Check(driver_->LaunchGraph(known->graph, stream_), "the graph of the kernels");
      }
    }
    if (!ok()) return;
    start();
    // Memory of one call is none of a graph's, which gains nothing for a single launch.
    if (!ok() || !temporaries_.empty() || started_ < 2) return;
    const std::lock_guard<std::mutex> lock(graphs.mutex_);
    graphs.Add(*driver_, std::move(key));
  }

  // Whether there is something to start: false for an empty grid, and after a refusal.
  bool Begins(const Kernel& kernel, const Dims& grid, const Dims& block) {
    if (!ok()) return false;
    const Machine& machine = library_.machine();
    kernel_ = &kernel;
    int64_t threads = 1;
    for (size_t i = 0; i < 3; ++i) {
      if (grid[i].value <= 0 || block[i].value <= 0) return false;
      threads *= Min(block[i], machine.most_threads + 1).value;
      if (grid[i].value > machine.most_blocks[i] || threads > machine.most_threads) {
        refusal_.Refuse(kTwErrorShape, std::string(kernel.name) + ": " + Text(grid[i].value) + " blocks of " +
                                           Text(block[i].value) + " threads in dimension " +
                                           Text(static_cast<int64_t>(i)) + " are more than a GPU can launch");
        return false;
      }
      grid_[i] = static_cast<uint32_t>(grid[i].value);
      block_[i] = static_cast<uint32_t>(block[i].value);
    }
    return true;
  }
  // The map of the array for the kernel that begins.
  void Encode(EncodedTensorMap* map, const char* array, const TensorMapSpec& spec) {
    if (!ok()) return;
    const int code = driver_->Encode(spec, map);
    if (code == 0) return;
    refusal_.Refuse(kTwErrorShape,
                    std::string(kernel_->name) + ": the tensor map of " + array + ": " + driver_->Text(code));
  }
  // Starts the kernel that begins. The first of a call comes after all that ran before, which may have written
  // constants: dependent kernels read them without a wait.
  void Start(void** params) {
    if (!ok()) return;
    const bool dependent = kernel_->dependent && started_ > 0;
    ++started_;
    Check(driver_->Launch(kernel_->handle, grid_, block_, kernel_->shared_bytes, stream_, params, dependent),
          kernel_->name);
  }
  void Copy(void* to, const void* from, Int bytes) {
    if (!ok() || bytes.value <= 0) return;
    Check(driver_->Copy(to, from, static_cast<size_t>(bytes.value), stream_), "a copy on the GPU");
  }
  void Assert(Int condition, const char* sentence) {
    if (!condition) refusal_.Refuse(kTwErrorAssertion, std::string("assertion failed: ") + sentence);
  }

  // The code of the call. Without a stream its work is done, and so it is where arrays are copied back.
  int Finish() {
    if (driver_ == nullptr) return code();
    if (stream_ == nullptr || !staged_.empty()) {
      const int done = driver_->Synchronize(stream_);
      Check(done, "the work on the GPU");
    } else if (kept_.owns_lock()) {
      Check(driver_->Record(library_.last_use_, stream_), "an event");
    }
    for (const Staged& array : staged_) {
      if (ok()) {
        Check(driver_->CopyToHost(array.host, array.device, static_cast<size_t>(array.bytes)), "a copy from the GPU");
      }
    }
    return code();
  }

 private:
  static constexpr int64_t kAlignment = 256;
  struct Staged {
    const char* device;
    char* host;
    int64_t bytes;
  };

  void Check(int code, const char* what) {
    if (code != 0) refusal_.Refuse(kTwErrorDevice, std::string(what) + ": " + driver_->Text(code));
  }

  // In a stream of its own: the caller's may be the default one, which cannot be captured.
  template <class Start>
  void Capture(Graphs::Entry& entry, const Start& start) {
    void* const callers = stream_;
    void* own = nullptr;
    entry.refused = true;
    if (driver_->CreateStream(&own) != 0) return;
    if (driver_->BeginCapture(own) == 0) {
      stream_ = own;
      start();
      stream_ = callers;
      entry.refused = driver_->EndCapture(own, &entry.graph) != 0 || !ok();
    }
    if (entry.refused && entry.graph != nullptr) {
      driver_->DestroyGraph(entry.graph);
      entry.graph = nullptr;
    }
    driver_->DestroyStream(own);
  }

  // Memory that is kept belongs to this call until it ends; what the one before has in another stream comes first.
  void UseKept() {
    if (kept_.owns_lock()) return;
    kept_ = std::unique_lock<std::mutex>(library_.kept_mutex_);
    if (library_.last_use_ == nullptr) {
      Check(driver_->CreateEvent(&library_.last_use_), "an event");
    } else {
      Check(driver_->Wait(stream_, library_.last_use_), "an event");
    }
  }

  Library& library_;
  const TwCall* const call_;
  Refusal refusal_;
  const Driver* driver_ = nullptr;
  void* stream_ = nullptr;
  std::unique_lock<std::mutex> kept_;
  const Kernel* kernel_ = nullptr;
  int64_t started_ = 0;  // kernels
  std::array<uint32_t, 3> grid_ = {}, block_ = {};
  std::vector<void*> temporaries_;
  std::vector<TwTensor> tensors_;
  std::vector<TwTensor*> pointers_;
  std::vector<Staged> staged_;
};

}  // namespace tilewright::cuda::host
