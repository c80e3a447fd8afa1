#include "codegen/cuda/emulator/fibers.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define TW_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TW_ADDRESS_SANITIZER 1
#endif
#endif
#ifdef TW_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

namespace tilewright::emulator {
namespace {

namespace context = boost::context::detail;

// How far the top of stack `i` lies below the end of its memory.
size_t Stagger(size_t i) { return i % 113 * 192; }
constexpr size_t kMostStagger = 113 * 192;

}  // namespace

Stacks::~Stacks() { Unmap(); }

void Stacks::Unmap() {
  if (memory_ != nullptr) munmap(memory_, count_ * pitch_);
  memory_ = nullptr;
  count_ = 0;
}

bool Stacks::Reserve(size_t count, size_t bytes) {
  page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t pitch = (bytes + kMostStagger + page_ - 1) / page_ * page_ + page_;
  if (count <= count_ && pitch <= pitch_) return true;
  Unmap();
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* memory = mmap(nullptr, count * pitch, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = static_cast<std::byte*>(memory);
  count_ = count;
  pitch_ = pitch;
  for (size_t i = 0; i < count; ++i) {
    if (mprotect(memory_ + i * pitch, page_, PROT_NONE) != 0) return false;
  }
  return true;
}

Stack Stacks::operator[](size_t i) const {
  std::byte* low = memory_ + i * pitch_ + page_;
  return {low, pitch_ - page_ - Stagger(i)};
}

ptrdiff_t Stacks::Find(const void* address) const {
  const auto* at = static_cast<const std::byte*>(address);
  if (at < memory_ || at >= memory_ + count_ * pitch_) return -1;
  return (at - memory_) / static_cast<ptrdiff_t>(pitch_);
}

// What a new fiber begins with.
struct FiberStart {
  static void Enter(context::transfer_t transfer) {
    Fiber& from = *static_cast<Fiber*>(transfer.data);
    Fiber& self = *from.next_;
    Fiber::Arrive(transfer.fctx, from);
    self.entry_(self.argument_);
    __builtin_trap();  // an entry does not return
  }
};

void Fiber::Prepare(Stack stack, Entry entry, void* argument) {
  stack_ = stack;
  entry_ = entry;
  argument_ = argument;
  fake_stack_ = nullptr;
  context_ = context::make_fcontext(stack.low + stack.bytes, stack.bytes, &FiberStart::Enter);
}

// Completes a switch on the side that was switched to.
void Fiber::Arrive(void* context, Fiber& from) {
  from.context_ = context;
#ifdef TW_ADDRESS_SANITIZER
  const void* low = nullptr;
  size_t bytes = 0;
  __sanitizer_finish_switch_fiber(from.next_->fake_stack_, &low, &bytes);
  if (from.stack_.low == nullptr) from.stack_ = {static_cast<std::byte*>(const_cast<void*>(low)), bytes};
#endif
}

void Fiber::Switch(Fiber& from, Fiber& to) {
  from.next_ = &to;
#ifdef TW_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(&from.fake_stack_, to.stack_.low, to.stack_.bytes);
#endif
  const context::transfer_t transfer = context::jump_fcontext(to.context_, &from);
  Arrive(transfer.fctx, *static_cast<Fiber*>(transfer.data));
}

}  // namespace tilewright::emulator
