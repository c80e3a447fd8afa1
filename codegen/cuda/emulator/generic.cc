#include "codegen/cuda/emulator/generic.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "codegen/cuda/emulator/device/emulated_memory.h"
#include "codegen/cuda/emulator/machine.h"

namespace tilewright::emulator {
namespace {

// The block's own part, then one for each block of a cluster.
constexpr uint64_t kParts = 1 + 16;
// Turns of loops after which others run, so that who polls memory without a volatile access ends.
constexpr uint32_t kTurnsBetweenYields = 4096;
constexpr uint64_t kMostRun = 4096;

uintptr_t Reserve() {
  const uint64_t bytes = (kParts + 1) * kWindowBytes;
  void* memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return (reinterpret_cast<uintptr_t>(memory) + kWindowBytes - 1) / kWindowBytes * kWindowBytes;
}

// What faulty reads read and faulty writes write.
std::byte* Nowhere() {
  alignas(64) static thread_local std::byte nowhere[kMostRun];
  std::memset(nowhere, 0, sizeof nowhere);
  return nowhere;
}

bool IsInWindow(uintptr_t address) { return address - SharedWindow() < kParts * kWindowBytes; }

uint32_t AddressOf(uintptr_t pointer, uint32_t own_rank) {
  const uint64_t offset = pointer - SharedWindow();
  const uint64_t part = offset / kWindowBytes;
  const auto rank = static_cast<uint32_t>(part == 0 ? own_rank : part - 1);
  return rank << 24 | static_cast<uint32_t>(offset % kWindowBytes);
}

std::string Hex(const void* pointer) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(pointer)));
  return text;
}

}  // namespace

uintptr_t SharedWindow() {
  static const uintptr_t window = Reserve();
  return window;
}

uintptr_t GenericOfShared(uint32_t byte) { return SharedWindow() + kSharedBase + byte; }

uintptr_t GenericOfAddress(uint32_t address) {
  return SharedWindow() + (uint64_t{address >> 24} + 1) * kWindowBytes + Machine::ByteOf(address);
}

void* NearestArray(const void* pointer) { return Machine::Current().memory().Nearest(pointer, kRoomOfArray / 2); }

Space SpaceOf(const void* pointer) {
  Machine& machine = Machine::Current();
  if (IsInWindow(reinterpret_cast<uintptr_t>(pointer))) return Space::kShared;
  if (machine.IsLocal(pointer)) return Space::kLocal;
  return machine.memory().Find(pointer) != nullptr ? Space::kGlobal : Space::kNone;
}

GenericPlace Resolve(const void* pointer, uint32_t bytes) {
  Machine& machine = Machine::Current();
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (IsInWindow(address)) return {Space::kShared, AddressOf(address, machine.self().block->rank), nullptr};
  if (machine.IsLocal(pointer)) return {Space::kLocal};
  if (machine.IsLocalOfOther(pointer)) {
    machine.Report(FaultKind::kOutOfBounds, "a pointer", "it points to the local memory of another thread");
    return {};
  }
  if (GlobalMemory::Array* array = machine.memory().Nearest(pointer, kRoomOfArray / 2)) {
    return {Space::kGlobal, 0, array};
  }
  const std::string size = std::to_string(bytes) + " bytes through ";
  machine.Report(FaultKind::kOutOfBounds, "a pointer",
                 size + (address < 4096 ? pointer == nullptr ? "a null pointer" : "null plus " + std::to_string(address)
                                        : Hex(pointer) + ", which is in no array of the kernel"));
  return {};
}

void* Access(const void* pointer, uint32_t bytes, bool write, bool is_volatile) {
  Machine& machine = Machine::Current();
  if (machine.IsLocal(pointer)) return const_cast<void*>(pointer);
  const Op op = is_volatile ? (write ? Op::kVolatileStore : Op::kVolatileLoad) : write ? Op::kStore : Op::kLoad;
  machine.Begin(is_volatile ? (write ? "volatile store" : "volatile load") : write ? "store" : "load");
  const GenericPlace place = Resolve(pointer, bytes);
  void* at = nullptr;
  switch (place.space) {
    case Space::kShared:
      at = tw::emu::AccessSharedBy(place.shared, bytes, op, write);
      break;
    case Space::kGlobal:
      if (tw::emu::MayAccessBy(pointer, place.array, bytes, op, write)) at = const_cast<void*>(pointer);
      break;
    default:
      break;
  }
  return at == nullptr ? Nowhere() : at;
}

void* AccessRun(const void* pointer, uint64_t bytes, uint32_t alignment, bool write) {
  Machine& machine = Machine::Current();
  if (bytes == 0 || machine.IsLocal(pointer)) return const_cast<void*>(pointer);
  const uint64_t step = std::min<uint64_t>(alignment, kMostAccess);
  void* first = nullptr;
  bool contiguous = true;
  for (uint64_t done = 0; done < bytes;) {
    // The rest may be narrower than the alignment.
    uint64_t width = step;
    while (width > bytes - done) width /= 2;
    auto* at = static_cast<std::byte*>(
        Access(static_cast<const std::byte*>(pointer) + done, static_cast<uint32_t>(width), write));
    if (done == 0) first = at;
    contiguous = contiguous && at == static_cast<std::byte*>(first) + done;
    done += width;
  }
  if (contiguous) return first;
  if (bytes <= kMostRun) return Nowhere();
  machine.Report(FaultKind::kOutOfBounds, "a pointer", "a copy of " + std::to_string(bytes) + " bytes");
  EndKernel();
}

void UseSum(tw::emu::AccumulatorState& state) {
  Machine& machine = Machine::Current();
  if (state.touched == machine.self().wgmma_fences) {
    ReportHere(FaultKind::kRegisters, "wgmma", "no wgmma.fence stands between an access of the accumulator and it");
  }
  state.touched = 0;
  state.in_flight = machine.self().warpgroup->committed + 1;
}

void TouchSum(tw::emu::AccumulatorState& state) {
  Machine::Current().ReadPlace();
  tw::emu::TouchAccumulator(state);
}

void TurnOfLoop() {
  Machine& machine = Machine::Current();
  Thread& self = machine.self();
  if (++self.turns % kTurnsBetweenYields != 0) return;
  self.doing = "loop";
  machine.CountTurns(kTurnsBetweenYields);
  machine.Yield();
}

void LetOthersRun() { Machine::Current().Yield(); }

void ReportHere(FaultKind kind, const char* doing, std::string message) {
  Machine& machine = Machine::Current();
  machine.ReadPlace();
  machine.self().doing = doing;
  machine.Report(kind, "", std::move(message));
}

uint32_t ActiveLanes() { return Machine::Current().ActiveLanes(); }

void EndKernel() { Machine::Current().Abort(); }

}  // namespace tilewright::emulator
