// Loads, stores, atomics, fences and addresses.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "codegen/cuda/emulator/device/emulated.h"
#include "codegen/cuda/emulator/generic.h"
#include "codegen/foreign/ptx/atomics.h"
#include "codegen/foreign/ptx/instruction.h"

namespace tilewright::foreign::ptx {
namespace {

namespace emu = tw::emu;
using emulator::FaultKind;

bool IsShared(const Instruction& instruction) {
  for (const std::string& word : instruction.words) {
    if (word == "shared" || word.starts_with("shared::")) return true;
  }
  return false;
}

// Accesses that do not race with each other.
bool IsStrong(const Instruction& instruction) { return instruction.Has("volatile") || instruction.Has("relaxed"); }

// The address as a generic pointer.
void* PointerOf(const Instruction& instruction, Frame& frame, const Operand& address) {
  const uint64_t at = frame.Address(address);
  return reinterpret_cast<void*>(IsShared(instruction) ? emulator::GenericOfAddress(static_cast<uint32_t>(at)) : at);
}

uint32_t BytesOf(const Instruction& instruction, const Operand& operand) {
  const size_t count = operand.kind == Operand::Kind::kVector ? operand.parts.size() : 1;
  return static_cast<uint32_t>(count * static_cast<size_t>(instruction.type.bytes()));
}

std::string CheckAccess(Instruction& instruction) {
  if (instruction.Has("acquire") || instruction.Has("release")) {
    if (IsShared(instruction)) return "ordered accesses of shared memory are not known";
  }
  for (const char* space : {"local", "param", "const"}) {
    if (instruction.Has(space)) return std::string("the space .") + space + " is not known";
  }
  const size_t at = instruction.words[0] == "st" ? 1 : 0;
  if (instruction.operands[1 - at].kind != Operand::Kind::kAddress) return "an address in brackets is missing";
  const uint32_t bytes = BytesOf(instruction, instruction.operands[at]);
  return bytes == 0 || bytes > 16 ? "the type is not known" : "";
}

void Load(const Instruction& instruction, Frame& frame) {
  const Operand& to = instruction.operands[0];
  const uint32_t bytes = BytesOf(instruction, to);
  void* pointer = PointerOf(instruction, frame, instruction.operands[1]);
  uint64_t values[2] = {};
  if (instruction.Has("acquire")) {
    const emulator::GenericPlace place = emulator::Resolve(pointer, bytes);
    if (place.space == emulator::Space::kGlobal) values[0] = emu::LoadAcquire(pointer, place.array, bytes);
  } else {
    std::memcpy(values, emulator::Access(pointer, bytes, false, IsStrong(instruction)), bytes);
  }
  if (IsStrong(instruction)) emulator::LetOthersRun();
  const auto width = static_cast<size_t>(instruction.type.bytes());
  const auto part = [&](size_t i) {
    uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const char*>(values) + i * width, width);
    if (instruction.type.is_signed() && width < 8) {
      const size_t shift = 64 - width * 8;
      value = static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
    }
    return value;
  };
  if (to.kind != Operand::Kind::kVector) return frame.Write(to, part(0));
  for (size_t i = 0; i < to.parts.size(); ++i) frame.Write(to.parts[i], part(i));
}

void Store(const Instruction& instruction, Frame& frame) {
  const Operand& from = instruction.operands[1];
  const uint32_t bytes = BytesOf(instruction, from);
  const auto width = static_cast<size_t>(instruction.type.bytes());
  char values[16] = {};
  const size_t count = from.kind == Operand::Kind::kVector ? from.parts.size() : 1;
  for (size_t i = 0; i < count; ++i) {
    const Operand& part = from.kind == Operand::Kind::kVector ? from.parts[i] : from;
    const uint64_t value = frame.Read(part, instruction.type);
    std::memcpy(values + i * width, &value, width);
  }
  void* pointer = PointerOf(instruction, frame, instruction.operands[0]);
  if (instruction.Has("release")) {
    const emulator::GenericPlace place = emulator::Resolve(pointer, bytes);
    uint64_t value = 0;
    std::memcpy(&value, values, bytes > 8 ? 8 : bytes);
    if (place.space == emulator::Space::kGlobal) emu::StoreRelease(pointer, place.array, value, bytes);
    return;
  }
  std::memcpy(emulator::Access(pointer, bytes, true, IsStrong(instruction)), values, bytes);
}

int OperationOf(const Instruction& instruction) {
  constexpr const char* kNames[] = {"add", "max", "min", "and", "or", "xor", "exch", "cas", "inc", "dec"};
  for (int i = 0; i < 10; ++i) {
    if (instruction.Has(kNames[i])) return i;
  }
  return -1;
}

std::string CheckAtomic(Instruction& instruction) {
  const int operation = OperationOf(instruction);
  const Type& type = instruction.type;
  int atomic = -1;
  switch (type.kind) {
    case Type::Kind::kSigned:
      atomic = type.bits == 64 ? 2 : 0;
      break;
    case Type::Kind::kBits:
    case Type::Kind::kUnsigned:
      atomic = type.bits == 64 ? 3 : 1;
      break;
    case Type::Kind::kFloat:
      atomic = type.bits == 64 ? 5 : 4;
      break;
    case Type::Kind::kF16:
      atomic = type.pair ? 6 : -1;
      break;
    case Type::Kind::kBf16:
      atomic = type.pair ? 7 : -1;
      break;
    default:
      break;
  }
  if (operation < 0 || atomic < 0 || type.bits < 32) return "the operation or the type is not known";
  if (atomic >= 4 && operation != 0) return "floats are added only";
  instruction.detail = operation << 8 | atomic;
  return "";
}

// atom d, [a], b{, c}; red [a], b. Those that order (acquire, release) fence as well.
void Atomic(const Instruction& instruction, Frame& frame) {
  const bool returns = instruction.words[0] == "atom";
  const size_t address = returns ? 1 : 0;
  const bool release = instruction.Has("release") || instruction.Has("acq_rel");
  const bool acquire = instruction.Has("acquire") || instruction.Has("acq_rel");
  const auto type = static_cast<AtomicType>(instruction.detail & 255);
  const auto update = UpdateOf(type, static_cast<AtomicOperation>(instruction.detail >> 8));
  const uint64_t operand = frame.Read(instruction.operands[address + 1], instruction.type);
  const bool compares = instruction.operands.size() > address + 2;
  const uint64_t second = compares ? frame.Read(instruction.operands[address + 2], instruction.type) : 0;
  if (release) emu::Fence(true);
  const uint64_t old = AtomicAt(PointerOf(instruction, frame, instruction.operands[address]), foreign::BytesOf(type),
                                update, operand, second);
  if (acquire) emu::Fence(true);
  if (returns) frame.Write(instruction.operands[0], old);
}

void ConvertAddress(const Instruction& instruction, Frame& frame) {
  const uint64_t from = frame.Read(instruction.operands[1]);
  uint64_t to = from;
  if (IsShared(instruction)) {
    if (instruction.Has("to")) {
      const emulator::GenericPlace place = emulator::Resolve(reinterpret_cast<const void*>(from), 1);
      to = place.shared;
      if (place.space != emulator::Space::kShared) {
        emulator::ReportHere(FaultKind::kArguments, instruction.name.c_str(), "the pointer is not into shared memory");
      }
    } else {
      to = emulator::GenericOfAddress(static_cast<uint32_t>(from));
    }
  }
  frame.Write(instruction.operands[0], to);
}

void MapRank(const Instruction& instruction, Frame& frame) {
  const uint32_t rank = frame.Read32(instruction.operands[2]);
  uint64_t address = frame.Read(instruction.operands[1]);
  if (IsShared(instruction)) {
    address = emu::MapShared(static_cast<uint32_t>(address), rank);
  } else {
    const emulator::GenericPlace place = emulator::Resolve(reinterpret_cast<const void*>(address), 1);
    address = emulator::GenericOfAddress(emu::MapShared(place.shared, rank));
  }
  frame.Write(instruction.operands[0], address);
}

void FenceDevice(const Instruction& instruction, Frame&) { emu::Fence(!instruction.Has("cta")); }
void FenceProxy(const Instruction& instruction, Frame&) {
  const bool global = instruction.Has("global"), shared = IsShared(instruction);
  emu::FenceProxy(shared || !global, global || !shared);
}
void FenceMbarrierInit(const Instruction&, Frame&) { emu::FenceBarrierInit(); }
void Nothing(const Instruction&, Frame&) {}
void Zero(const Instruction& instruction, Frame& frame) { frame.Write(instruction.operands[0], 0); }
void Sleep(const Instruction&, Frame&) { emulator::LetOthersRun(); }
void Trap(const Instruction&, Frame&) {
  emulator::ReportHere(FaultKind::kTrap, "trap", "the kernel ends itself");
  emulator::EndKernel();
}

}  // namespace

std::vector<Row> MemoryRows() {
  return {
      {"ld", &Load, 2, 3, &CheckAccess},
      {"st", &Store, 2, 3, &CheckAccess},
      {"atom", &Atomic, 3, 4, &CheckAtomic},
      {"red", &Atomic, 2, 2, &CheckAtomic},
      {"cvta", &ConvertAddress, 2, 2},
      {"mapa", &MapRank, 3, 3},
      {"membar", &FenceDevice, 0, 0},
      {"fence.acq_rel", &FenceDevice, 0, 0},
      {"fence.sc", &FenceDevice, 0, 0},
      {"fence.proxy.async", &FenceProxy, 0, 0},
      {"fence.proxy.tensormap", &Nothing, 0, 2},
      {"fence.mbarrier_init", &FenceMbarrierInit, 0, 0},
      {"prefetch", &Nothing, 1, 1},
      {"prefetchu", &Nothing, 1, 1},
      {"createpolicy", &Zero, 1, 4},
      {"griddepcontrol", &Nothing, 0, 0},
      {"nanosleep", &Sleep, 1, 1},
      {"trap", &Trap, 0, 0},
  };
}

}  // namespace tilewright::foreign::ptx
