// Barriers, exchange within a warp and matrix instructions of warps.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "codegen/cuda/emulator/device/emulated.h"
#include "codegen/cuda/emulator/generic.h"
#include "codegen/foreign/ptx/instruction.h"

namespace tilewright::foreign::ptx {
namespace {

namespace emu = tw::emu;

// bar.sync id{, threads}; bar.arrive id, threads.
void Barrier(const Instruction& instruction, Frame& frame) {
  const uint32_t id = instruction.operands.empty() ? 0 : frame.Read32(instruction.operands[0]);
  const bool wait = !instruction.Has("arrive");
  if (instruction.operands.size() < 2) {
    if (id == 0 && wait) return emu::BlockBarrier();
    const emu::Index& extent = emu::view->block_dim;
    return emu::NamedBarrier(static_cast<int>(id), static_cast<int>(extent.x * extent.y * extent.z), wait);
  }
  emu::NamedBarrier(static_cast<int>(id), static_cast<int>(frame.Read32(instruction.operands[1])), wait);
}

void WarpBarrier(const Instruction& instruction, Frame& frame) {
  emu::WarpBarrier(frame.Read32(instruction.operands[0]));
}

// "shfl.sync.bfly.b32 d|p, a, lane, c, mask": c holds the width as 32 - width in bits 8 and up, and a bound.
void Shuffle(const Instruction& instruction, Frame& frame) {
  const emu::ShuffleKind kind = instruction.Has("up")     ? emu::kUp
                                : instruction.Has("down") ? emu::kDown
                                : instruction.Has("bfly") ? emu::kXor
                                                          : emu::kIndex;
  const uint32_t c = frame.Read32(instruction.operands[3]);
  const int width = 32 - static_cast<int>(c >> 8 & 31);
  const uint64_t value =
      emu::Shuffle(kind, frame.Read32(instruction.operands[4]), frame.Read32(instruction.operands[1]), 4,
                   static_cast<int>(frame.Read32(instruction.operands[2])), width);
  const Operand& to = instruction.operands[0];
  frame.Write(to.kind == Operand::Kind::kPair ? to.parts[0] : to, value);
}

std::string CheckShuffle(Instruction& instruction) {
  return instruction.operands[0].kind == Operand::Kind::kPair ? "its predicate is not known" : "";
}

void Vote(const Instruction& instruction, Frame& frame) {
  const uint32_t mask = frame.Read32(instruction.operands[2]);
  const uint32_t votes = emu::Ballot(mask, frame.Test(instruction.operands[1]));
  frame.Write(instruction.operands[0], instruction.Has("ballot") ? votes
                                       : instruction.Has("any")  ? votes != 0
                                                                 : votes == mask);
}

void Activemask(const Instruction& instruction, Frame& frame) {
  frame.Write(instruction.operands[0], emulator::ActiveLanes());
}

void Elect(const Instruction& instruction, Frame& frame) {
  const Operand& to = instruction.operands[0];
  const bool elected = emu::Elect();
  const uint32_t votes = emu::Ballot(0xffffffffu, elected);
  if (to.kind != Operand::Kind::kPair) return frame.Write(to, elected ? 1 : 0);
  frame.Write(to.parts[0], static_cast<uint64_t>(__builtin_ctz(votes | 1u << 31)));
  frame.Write(to.parts[1], elected ? 1 : 0);
}

void Reduce(const Instruction& instruction, Frame& frame) {
  const bool is_signed = instruction.type.is_signed();
  const emu::ReduceKind kind = instruction.Has("add")   ? emu::kReduceAdd
                               : instruction.Has("min") ? (is_signed ? emu::kReduceMinSigned : emu::kReduceMin)
                               : instruction.Has("max") ? (is_signed ? emu::kReduceMaxSigned : emu::kReduceMax)
                               : instruction.Has("and") ? emu::kReduceAnd
                               : instruction.Has("or")  ? emu::kReduceOr
                                                        : emu::kReduceXor;
  frame.Write(instruction.operands[0],
              emu::Reduce(kind, frame.Read32(instruction.operands[2]), frame.Read32(instruction.operands[1])));
}

// Registers of a vector, or one alone.
size_t CountOf(const Operand& operand) { return operand.kind == Operand::Kind::kVector ? operand.parts.size() : 1; }
const Operand& PartOf(const Operand& operand, size_t i) {
  return operand.kind == Operand::Kind::kVector ? operand.parts[i] : operand;
}

std::string CheckMatrices(Instruction& instruction) {
  const bool load = instruction.words[0] == "ldmatrix";
  const Operand& registers = instruction.operands[load ? 0 : 1];
  const std::string count = "x" + std::to_string(CountOf(registers));
  if (!instruction.Has("m8n8") || !instruction.Has("b16") || !instruction.Has(count)) {
    return "known are m8n8 of b16 with as many registers as matrices";
  }
  return instruction.operands[load ? 1 : 0].kind == Operand::Kind::kAddress ? "" : "an address in brackets is missing";
}

void LoadMatrices(const Instruction& instruction, Frame& frame) {
  const Operand& to = instruction.operands[0];
  uint32_t r[4] = {};
  const auto count = static_cast<int>(CountOf(to));
  emu::LoadMatrices(r, count, instruction.Has("trans"), static_cast<uint32_t>(frame.Address(instruction.operands[1])));
  for (int i = 0; i < count; ++i) frame.Write(PartOf(to, static_cast<size_t>(i)), r[i]);
}

void StoreMatrices(const Instruction& instruction, Frame& frame) {
  const Operand& from = instruction.operands[1];
  uint32_t r[4] = {};
  const auto count = static_cast<int>(CountOf(from));
  for (int i = 0; i < count; ++i) r[i] = frame.Read32(PartOf(from, static_cast<size_t>(i)));
  emu::StoreMatrices(static_cast<uint32_t>(frame.Address(instruction.operands[0])), count, instruction.Has("trans"), r);
}

void MoveMatrix(const Instruction& instruction, Frame& frame) {
  frame.Write(instruction.operands[0], emu::MoveMatrix(frame.Read32(instruction.operands[1])));
}

struct MmaForm {
  const char* words;
  size_t d, a, b;
};
constexpr MmaForm kMmaForms[] = {
#define TW_MMA(name, ptx, m, n, k, d_type, a_type, b_type, register_type, d_registers, a_registers, b_registers) \
  {ptx, d_registers, a_registers, b_registers},
#include "codegen/cuda/emulator/device/mma.inc"
#undef TW_MMA
};

std::string CheckMma(Instruction& instruction) {
  // "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32": what comes after the third word, without what changes nothing.
  std::string form;
  for (size_t i = 3; i < instruction.words.size(); ++i) {
    if (instruction.words[i] == "satfinite") return "saturation is not known";
    form += (form.empty() ? "" : ".") + instruction.words[i];
  }
  for (size_t i = 0; i < std::size(kMmaForms); ++i) {
    const MmaForm& known = kMmaForms[i];
    if (form != known.words) continue;
    const auto& operands = instruction.operands;
    if (CountOf(operands[0]) != known.d || CountOf(operands[1]) != known.a || CountOf(operands[2]) != known.b ||
        CountOf(operands[3]) != known.d) {
      return "the number of registers is not that of its shape and types";
    }
    instruction.detail = static_cast<int>(i);
    return "";
  }
  return "this shape with these types is not known";
}

void Multiply(const Instruction& instruction, Frame& frame) {
  const MmaForm& form = kMmaForms[instruction.detail];
  uint32_t d[8] = {}, a[8] = {}, b[8] = {};
  for (size_t i = 0; i < form.d; ++i) d[i] = frame.Read32(PartOf(instruction.operands[3], i));
  for (size_t i = 0; i < form.a; ++i) a[i] = frame.Read32(PartOf(instruction.operands[1], i));
  for (size_t i = 0; i < form.b; ++i) b[i] = frame.Read32(PartOf(instruction.operands[2], i));
  emu::Mma(static_cast<emu::MmaId>(instruction.detail), d, a, b);
  for (size_t i = 0; i < form.d; ++i) frame.Write(PartOf(instruction.operands[0], i), d[i]);
}

void ClusterBarrier(const Instruction& instruction, Frame&) {
  if (instruction.Has("wait")) return emu::ClusterWait();
  emu::ClusterArrive(!instruction.Has("relaxed"));
}

void SetRegisters(const Instruction& instruction, Frame& frame) {
  emu::SetRegisters(static_cast<int>(frame.Read32(instruction.operands[0])), instruction.Has("inc"));
}

}  // namespace

std::vector<Row> WarpRows() {
  return {
      {"bar.sync", &Barrier, 0, 2},
      {"bar.arrive", &Barrier, 2, 2},
      {"barrier.sync", &Barrier, 0, 2},
      {"barrier.cta.sync", &Barrier, 0, 2},
      {"barrier.arrive", &Barrier, 2, 2},
      {"bar.warp.sync", &WarpBarrier, 1, 1},
      {"barrier.cluster.arrive", &ClusterBarrier, 0, 0},
      {"barrier.cluster.wait", &ClusterBarrier, 0, 0},
      {"shfl.sync", &Shuffle, 5, 5, &CheckShuffle},
      {"vote.sync", &Vote, 3, 3},
      {"activemask", &Activemask, 1, 1},
      {"elect.sync", &Elect, 2, 2},
      {"redux.sync", &Reduce, 3, 3},
      {"ldmatrix", &LoadMatrices, 2, 2, &CheckMatrices},
      {"stmatrix", &StoreMatrices, 2, 2, &CheckMatrices},
      {"movmatrix", &MoveMatrix, 2, 2},
      {"mma.sync", &Multiply, 4, 4, &CheckMma},
      {"setmaxnreg", &SetRegisters, 1, 1},
  };
}

}  // namespace tilewright::foreign::ptx
