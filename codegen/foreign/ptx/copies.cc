// Asynchronous copies and mbarriers.
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/cuda/emulator/device/emulated.h"
#include "codegen/cuda/emulator/generic.h"
#include "codegen/foreign/ptx/instruction.h"

namespace tilewright::foreign::ptx {
namespace {

namespace emu = tw::emu;
using emulator::FaultKind;

// What the emulator calls the address of [a] in shared memory.
uint32_t SharedAddress(const Instruction& instruction, Frame& frame, const Operand& address) {
  const uint64_t at = frame.Address(address);
  for (const std::string& word : instruction.words) {
    if (word == "shared" || word.starts_with("shared::")) return static_cast<uint32_t>(at);
  }
  const emulator::GenericPlace place = emulator::Resolve(reinterpret_cast<const void*>(at), 8);
  if (place.space != emulator::Space::kShared) {
    emulator::ReportHere(FaultKind::kArguments, instruction.name.c_str(), "the address is not in shared memory");
  }
  return place.shared;
}

const void* GlobalAddress(const Instruction& instruction, Frame& frame, const Operand& address, void** array) {
  const auto* pointer = reinterpret_cast<const void*>(frame.Address(address));
  *array = nullptr;
  if (emulator::SpaceOf(pointer) == emulator::Space::kShared) {
    emulator::ReportHere(FaultKind::kArguments, instruction.name.c_str(), "the address is not in global memory");
    return pointer;
  }
  *array = emulator::NearestArray(pointer);
  return pointer;
}

std::string CheckAddresses(Instruction& instruction) {
  for (const Operand& operand : instruction.operands) {
    if (operand.kind == Operand::Kind::kAddress) return "";
  }
  return "an address in brackets is missing";
}

std::string CheckCopy(Instruction& instruction) {
  const auto& operands = instruction.operands;
  const bool addresses = operands[0].kind == Operand::Kind::kAddress && operands[1].kind == Operand::Kind::kAddress;
  return addresses ? "" : "two addresses in brackets are needed";
}

// cp.async.ca.shared.global [to], [from], bytes{, valid}{, policy}
void Copy(const Instruction& instruction, Frame& frame) {
  const auto& operands = instruction.operands;
  void* array = nullptr;
  const void* from = GlobalAddress(instruction, frame, operands[1], &array);
  const auto bytes = static_cast<int>(frame.Read32(operands[2]));
  const bool hint = instruction.Has("L2::cache_hint");
  const bool partial = operands.size() > (hint ? 4u : 3u);
  const int valid = partial ? static_cast<int>(frame.Read32(operands[3])) : bytes;
  emu::CopyAsync(static_cast<uint32_t>(frame.Address(operands[0])), from, array, bytes, valid);
}
void CopyCommit(const Instruction&, Frame&) { emu::CopyAsyncCommit(); }
void CopyWait(const Instruction& instruction, Frame& frame) {
  emu::CopyAsyncWait(static_cast<int>(frame.Read32(instruction.operands[0])));
}
void CopyWaitAll(const Instruction&, Frame&) { emu::CopyAsyncWait(-1); }
void CopyArrive(const Instruction& instruction, Frame& frame) {
  emu::CopyAsyncArrive(SharedAddress(instruction, frame, instruction.operands[0]), instruction.Has("noinc"));
}

void Init(const Instruction& instruction, Frame& frame) {
  emu::BarrierInit(SharedAddress(instruction, frame, instruction.operands[0]), frame.Read32(instruction.operands[1]));
}
void Invalidate(const Instruction& instruction, Frame& frame) {
  emu::BarrierInvalidate(SharedAddress(instruction, frame, instruction.operands[0]));
}

// "mbarrier.arrive state, [a]{, count}", "mbarrier.arrive [a]"; with expect_tx the bytes are last.
void Arrive(const Instruction& instruction, Frame& frame) {
  const auto& operands = instruction.operands;
  const size_t at = operands[0].kind == Operand::Kind::kAddress ? 0 : 1;
  const uint32_t barrier = SharedAddress(instruction, frame, operands[at]);
  if (at == 1) frame.Write(operands[0], emu::BarrierPhase(barrier));
  const bool more = operands.size() > at + 1;
  if (instruction.Has("expect_tx")) {
    emu::BarrierExpect(barrier, more ? frame.Read32(operands[at + 1]) : 0, true);
  } else {
    emu::BarrierArrive(barrier, more ? frame.Read32(operands[at + 1]) : 1);
  }
}
void Expect(const Instruction& instruction, Frame& frame) {
  emu::BarrierExpect(SharedAddress(instruction, frame, instruction.operands[0]), frame.Read32(instruction.operands[1]),
                     false);
}
// "mbarrier.try_wait.parity p, [a], parity{, time}"; without "parity" a state, whose low bit is the same.
void Wait(const Instruction& instruction, Frame& frame) {
  const bool over = emu::BarrierTest(SharedAddress(instruction, frame, instruction.operands[1]),
                                     frame.Read32(instruction.operands[2]) & 1);
  frame.Write(instruction.operands[0], over ? 1 : 0);
}

int RankOf(const Instruction& instruction) {
  for (int rank = 1; rank <= 5; ++rank) {
    if (instruction.Has(std::to_string(rank) + "d")) return rank;
  }
  return 0;
}

// The operand [map, {c0, c1}].
bool IsTensorOperand(const Operand& operand, int rank) {
  return operand.kind == Operand::Kind::kAddress && operand.parts.size() == 2 &&
         operand.parts[1].kind == Operand::Kind::kVector && operand.parts[1].parts.size() == static_cast<size_t>(rank);
}

std::string CheckTensor(Instruction& instruction) {
  const int rank = RankOf(instruction);
  if (rank == 0) return "the number of dimensions is missing";
  const bool loads = instruction.Has("shared::cluster");
  if (!IsTensorOperand(instruction.operands[loads ? 1 : 0], rank)) {
    return "the operand [map, {coordinates}] does not have its number of dimensions";
  }
  if (loads && instruction.operands.size() < 3) return "the mbarrier is missing";
  if (instruction.Has("cta_group::1") || instruction.Has("cta_group::2")) return "pairs of blocks are not known";
  for (const char* word : {"tile::gather4", "tile::scatter4", "im2col::w", "im2col_no_offs"}) {
    if (instruction.Has(word)) return std::string(word) + " is not known";
  }
  return "";
}

// Fills in the map and the coordinates; false (and a fault) where there is no map.
bool ReadTensor(const Instruction& instruction, Frame& frame, const Operand& operand, emu::TensorCopy* copy) {
  const uint64_t address = frame.Address(operand);
  const auto* map = reinterpret_cast<const TwTensorMap*>(address);
  const emulator::Space space = emulator::SpaceOf(map);
  if (space != emulator::Space::kLocal && space != emulator::Space::kGlobal) {
    emulator::ReportHere(FaultKind::kTensorMap, instruction.name.c_str(), "the pointer does not point to a tensor map");
    return false;
  }
  if (address % 64 != 0) {
    emulator::ReportHere(FaultKind::kTensorMap, instruction.name.c_str(),
                         "the tensor map is not at a multiple of 64 bytes");
    return false;
  }
  copy->map = map;
  copy->rank = RankOf(instruction);
  copy->im2col = instruction.Has("im2col");
  for (int i = 0; i < copy->rank; ++i) {
    copy->coordinates[i] = static_cast<int32_t>(frame.Read32(operand.parts[1].parts[static_cast<size_t>(i)]));
  }
  return true;
}

void LoadTensor(const Instruction& instruction, Frame& frame) {
  const auto& operands = instruction.operands;
  emu::TensorCopy copy = {};
  if (!ReadTensor(instruction, frame, operands[1], &copy)) return;
  copy.shared = static_cast<uint32_t>(frame.Address(operands[0]));
  size_t next = 3;
  if (copy.im2col && next < operands.size() && operands[next].kind == Operand::Kind::kVector) {
    const auto& offsets = operands[next++].parts;
    for (size_t i = 0; i < offsets.size() && i < 3; ++i)
      copy.offsets[i] = static_cast<uint16_t>(frame.Read(offsets[i]));
  }
  int mask = -1;
  if (instruction.Has("multicast::cluster") && next < operands.size()) {
    mask = static_cast<int>(frame.Read(operands[next]) & 0xffff);
  }
  emu::TensorLoad(copy, static_cast<uint32_t>(frame.Address(operands[2])), mask);
}

emu::Reduction ReductionOf(const Instruction& instruction) {
  if (instruction.words[1] != "reduce") return emu::Reduction::kNone;
  constexpr const char* kNames[] = {"add", "min", "max", "and", "or", "xor"};
  for (int i = 0; i < 6; ++i) {
    if (instruction.Has(kNames[i])) return static_cast<emu::Reduction>(i + 1);
  }
  return emu::Reduction::kNone;
}

void StoreTensor(const Instruction& instruction, Frame& frame) {
  emu::TensorCopy copy = {};
  if (!ReadTensor(instruction, frame, instruction.operands[0], &copy)) return;
  copy.shared = static_cast<uint32_t>(frame.Address(instruction.operands[1]));
  emu::TensorStore(copy, ReductionOf(instruction));
}

// cp.async.bulk.tensor in either direction.
void Tensor(const Instruction& instruction, Frame& frame) {
  return instruction.Has("shared::cluster") ? LoadTensor(instruction, frame) : StoreTensor(instruction, frame);
}

std::string CheckBulk(Instruction& instruction) {
  const bool to_shared = instruction.words[3] == "shared::cluster" || instruction.words[3] == "shared::cta";
  if (instruction.operands.size() < (to_shared ? 4u : 3u)) return "operands are missing";
  if (instruction.words[1] == "reduce" && (!instruction.Has("add") || !instruction.Has("f32"))) {
    return "reductions of arrays are known for add.f32";
  }
  return CheckCopy(instruction);
}

// cp.async.bulk without a tensor map: [to], [from], bytes{, [mbarrier]}{, mask}
void Bulk(const Instruction& instruction, Frame& frame) {
  const auto& operands = instruction.operands;
  const bool reduces = instruction.words[1] == "reduce";
  const std::string& to = instruction.words[reduces ? 4 : 3];
  const uint32_t bytes = frame.Read32(operands[2]);
  void* array = nullptr;
  if (to == "global") {
    const void* global = GlobalAddress(instruction, frame, operands[0], &array);
    return emu::BulkStore(const_cast<void*>(global), array, static_cast<uint32_t>(frame.Address(operands[1])), bytes,
                          ReductionOf(instruction), 0);
  }
  const auto destination = static_cast<uint32_t>(frame.Address(operands[0]));
  const auto barrier = static_cast<uint32_t>(frame.Address(operands[3]));
  if (instruction.words[reduces ? 5 : 4] != "global") {
    return emu::BulkCopyToShared(destination, static_cast<uint32_t>(frame.Address(operands[1])), bytes, barrier);
  }
  const void* global = GlobalAddress(instruction, frame, operands[1], &array);
  const bool multicast = instruction.Has("multicast::cluster") && operands.size() > 4;
  emu::BulkLoad(destination, global, array, bytes, barrier,
                multicast ? static_cast<int>(frame.Read(operands[4]) & 0xffff) : -1);
}

void BulkCommit(const Instruction&, Frame&) { emu::BulkCommit(); }
void BulkWait(const Instruction& instruction, Frame& frame) {
  emu::BulkWait(static_cast<int>(frame.Read32(instruction.operands[0])), instruction.Has("read"));
}
void Nothing(const Instruction&, Frame&) {}

}  // namespace

std::vector<Row> CopyRows() {
  return {
      {"cp.async.ca", &Copy, 3, 5, &CheckCopy},
      {"cp.async.cg", &Copy, 3, 5, &CheckCopy},
      {"cp.async.commit_group", &CopyCommit, 0, 0},
      {"cp.async.wait_group", &CopyWait, 1, 1},
      {"cp.async.wait_all", &CopyWaitAll, 0, 0},
      {"cp.async.mbarrier.arrive", &CopyArrive, 1, 1, &CheckAddresses},
      {"mbarrier.init", &Init, 2, 2, &CheckAddresses},
      {"mbarrier.inval", &Invalidate, 1, 1, &CheckAddresses},
      {"mbarrier.arrive", &Arrive, 1, 3, &CheckAddresses},
      {"mbarrier.expect_tx", &Expect, 2, 2, &CheckAddresses},
      {"mbarrier.test_wait", &Wait, 3, 4, &CheckAddresses},
      {"mbarrier.try_wait", &Wait, 3, 4, &CheckAddresses},
      {"cp.async.bulk.tensor", &Tensor, 2, 6, &CheckTensor},
      {"cp.reduce.async.bulk.tensor", &StoreTensor, 2, 3, &CheckTensor},
      {"cp.async.bulk", &Bulk, 3, 6, &CheckBulk},
      {"cp.reduce.async.bulk", &Bulk, 3, 5, &CheckBulk},
      {"cp.async.bulk.prefetch", &Nothing, 1, 3},
      {"cp.async.bulk.commit_group", &BulkCommit, 0, 0},
      {"cp.async.bulk.wait_group", &BulkWait, 1, 1},
  };
}

}  // namespace tilewright::foreign::ptx
