#include "tools/arrays/guarded_memory.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace tilewright {
namespace {

// Address space on each side of an array: it costs no memory.
constexpr size_t kGuardBytes = size_t{1} << 28;
constexpr int kSignals[] = {SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGABRT};
constexpr size_t kMostArrays = 64, kMostText = 256;

// What a handler may read: fixed memory, nothing that allocates.
struct Guarded {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  char name[kMostText] = "";
};
std::array<Guarded, kMostArrays> guarded;
char prefix_text[kMostText] = "";
std::string (*where_text)() = nullptr;
struct sigaction previous[std::size(kSignals)];
std::array<std::byte, 1 << 16> handler_stack;

void CopyText(char* to, std::string_view text) {
  const size_t size = std::min(text.size(), kMostText - 1);
  std::memcpy(to, text.data(), size);
  to[size] = '\0';
}

void Say(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

const char* Sentence(int number) {
  switch (number) {
    case SIGFPE:
      return "compiled code divided by zero, or the least integer by -1";
    case SIGILL:
      return "compiled code ran an instruction that this processor lacks";
    case SIGABRT:
      return "compiled code was aborted";
    default:
      return "compiled code touched memory outside of its arrays";
  }
}

void Report(int number, siginfo_t* signal, void*) {
  Say(prefix_text);
  Say(Sentence(number));
  if (number == SIGSEGV || number == SIGBUS) {
    const auto* address = static_cast<const std::byte*>(signal->si_addr);
    for (const Guarded& array : guarded) {
      if (array.begin == nullptr || address < array.begin || address >= array.end) continue;
      Say(", beside ");
      Say(array.name);
    }
  }
  if (const std::string where = where_text == nullptr ? "" : where_text(); !where.empty()) {
    Say(", at ");
    Say(where.c_str());
  }
  Say("\n");
  _exit(1);
}

}  // namespace

absl::StatusOr<GuardedArray> GuardedArray::Allocate(const std::string& name, int64_t bytes, int64_t alignment) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t room = (static_cast<size_t>(bytes + alignment) + page - 1) / page * page;
  const size_t all = room + 2 * kGuardBytes;
  void* mapped = mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED || mprotect(static_cast<std::byte*>(mapped) + kGuardBytes, room, PROT_READ | PROT_WRITE)) {
    if (mapped != MAP_FAILED) munmap(mapped, all);
    return absl::ResourceExhaustedError(absl::StrCat("no memory for the ", bytes, " bytes of ", name));
  }
  auto* begin = static_cast<std::byte*>(mapped);
  const auto end = reinterpret_cast<uintptr_t>(begin + kGuardBytes + room);
  const uintptr_t data =
      (end - static_cast<uintptr_t>(bytes)) / static_cast<uintptr_t>(alignment) * static_cast<uintptr_t>(alignment);
  for (Guarded& array : guarded) {
    if (array.begin != nullptr) continue;
    CopyText(array.name, name);
    array.end = begin + all;
    array.begin = begin;
    break;
  }
  return GuardedArray(begin, all, begin + (data - reinterpret_cast<uintptr_t>(begin)));
}

GuardedArray::~GuardedArray() {
  if (mapped_ == nullptr) return;
  for (Guarded& array : guarded) {
    if (array.begin == mapped_) array = Guarded();
  }
  munmap(mapped_, mapped_bytes_);
}

FaultReport::FaultReport(const std::string& prefix, std::string (*where)()) {
  where_text = where;
  CopyText(prefix_text, prefix);
  const stack_t stack = {.ss_sp = handler_stack.data(), .ss_flags = 0, .ss_size = handler_stack.size()};
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = Report;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &previous[i]);
}

FaultReport::~FaultReport() {
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &previous[i], nullptr);
}

}  // namespace tilewright
