// Threads of execution that switch to each other by hand, on stacks of their own: one for each emulated CUDA thread.
//
//   Stacks stacks(/*count=*/2, /*bytes=*/64 << 10);
//   Fiber main, worker;
//   worker.Prepare(stacks[0], [](void* self) { ...; Fiber::Switch(worker, main); }, &argument);
//   Fiber::Switch(main, worker);   // returns when somebody switches to `main`
//
// The switch is Boost.Context's fcontext, which saves the registers that a call preserves and nothing else: 2 to 3 ns,
// the same as a switch written by hand (fibers_benchmark.cc). Its C interface is used, not boost::context::fiber: a
// fiber of a deadlocked kernel is dropped where it stands, and kernels are compiled without anything to unwind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright::emulator {

struct Stack {
  std::byte* low = nullptr;  // the lowest address
  size_t bytes = 0;

  bool Holds(const void* address) const {
    const auto* at = static_cast<const std::byte*>(address);
    return at >= low && at < low + bytes;
  }
};

// Stacks of one size in one reservation of memory, each below a page that faults. Tops are staggered: at equal offsets
// of a page, the frames of all threads would share a few sets of the caches, which makes everything twice as slow.
class Stacks {
 public:
  Stacks() = default;
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  ~Stacks();

  // Makes at least `count` stacks of at least `bytes`. No fiber may be on an earlier one. False if memory is short.
  bool Reserve(size_t count, size_t bytes);
  Stack operator[](size_t i) const;
  // Which stack the address belongs to (its guard page included), or -1: to tell an overflow from other faults.
  ptrdiff_t Find(const void* address) const;

 private:
  void Unmap();

  std::byte* memory_ = nullptr;
  size_t count_ = 0, pitch_ = 0, page_ = 0;
};

class Fiber {
 public:
  using Entry = void (*)(void* argument);

  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The next switch to this fiber calls `entry`, which must not return: it ends by a switch that nobody answers.
  void Prepare(Stack stack, Entry entry, void* argument);

  const Stack& stack() const { return stack_; }

  // Leaves `from`, which is running, for `to`.
  static void Switch(Fiber& from, Fiber& to);

 private:
  static void Arrive(void* context, Fiber& from);

  void* context_ = nullptr;
  Fiber* next_ = nullptr;  // where this fiber switches to
  Entry entry_ = nullptr;
  void* argument_ = nullptr;
  Stack stack_;
  void* fake_stack_ = nullptr;  // AddressSanitizer's
  friend struct FiberStart;
};

}  // namespace tilewright::emulator
