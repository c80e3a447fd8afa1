#include "codegen/abi/closure.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <utility>

namespace tilewright {
namespace {

// The size of the memory that a closure's code has for itself.
size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

// The fourth argument becomes the object; then the function that takes four is entered.
#if defined(__x86_64__)
constexpr uint8_t kCode[] = {0x48, 0xb9, 0, 0, 0, 0, 0, 0, 0, 0,  // mov rcx, object
                             0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0,  // mov rax, function
                             0xff, 0xe0};                         // jmp rax
constexpr size_t kObjectAt = 2, kFunctionAt = 12;
#elif defined(__aarch64__)
constexpr uint8_t kCode[] = {0x63, 0x00, 0x00, 0x58,  // ldr x3, object
                             0x90, 0x00, 0x00, 0x58,  // ldr x16, function
                             0x00, 0x02, 0x1f, 0xd6,  // br x16
                             0,    0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
constexpr size_t kObjectAt = 12, kFunctionAt = 20;
#else
#error "closures are written for x86-64 and AArch64"
#endif

}  // namespace

Closure::Closure(Callable callable) : callable_(std::move(callable)) {
  void* page = mmap(nullptr, PageBytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  auto* code = static_cast<uint8_t*>(page);
  std::memcpy(code, kCode, sizeof(kCode));
  const Closure* const self = this;
  auto* const enter = &Closure::Enter;
  std::memcpy(code + kObjectAt, &self, sizeof(self));
  std::memcpy(code + kFunctionAt, &enter, sizeof(enter));
  if (mprotect(page, PageBytes(), PROT_READ | PROT_EXEC) != 0) {
    munmap(page, PageBytes());
    return;
  }
  __builtin___clear_cache(reinterpret_cast<char*>(code), reinterpret_cast<char*>(code) + sizeof(kCode));
  code_ = page;
}

Closure::~Closure() {
  if (code_ != nullptr) munmap(code_, PageBytes());
}

int Closure::Enter(const TwCall* call, TwTensor* const* args, int32_t num_args, const Closure* self) {
  return self->callable_(call, args, num_args);
}

}  // namespace tilewright
