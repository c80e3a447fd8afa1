// Runs programs: the order of instructions, and registers.
#include <array>
#include <string_view>

#include "codegen/cuda/emulator/device/emulated.h"
#include "codegen/cuda/emulator/generic.h"
#include "codegen/foreign/ptx/instruction.h"
#include "codegen/foreign/ptx/program.h"

namespace tilewright::foreign::ptx {
namespace {

constexpr std::array<std::string_view, 27> kSpecial = {
    "tid.x",       "tid.y",       "tid.z",       "ctaid.x",         "ctaid.y",
    "ctaid.z",     "ntid.x",      "ntid.y",      "ntid.z",          "nctaid.x",
    "nctaid.y",    "nctaid.z",    "laneid",      "warpid",          "clock",
    "clock64",     "globaltimer", "smid",        "lanemask_lt",     "lanemask_le",
    "lanemask_eq", "lanemask_ge", "lanemask_gt", "cluster_ctarank", "cluster_nctarank",
    "nsmid",       "WARP_SZ"};

constexpr unsigned kLanes = 32;  // warpSize of a foreign program

unsigned LinearThread() {
  const tw::emu::View& view = *tw::emu::view;
  return view.thread.x + view.block_dim.x * (view.thread.y + view.block_dim.y * view.thread.z);
}

}  // namespace

unsigned LaneOfThread() { return LinearThread() % kLanes; }

int SpecialRegister(std::string_view name) {
  for (size_t i = 0; i < kSpecial.size(); ++i) {
    if (kSpecial[i] == name) return static_cast<int>(i);
  }
  return -1;
}

uint64_t ReadSpecial(int number) {
  const tw::emu::View& view = *tw::emu::view;
  if (number < 12) {
    const std::array<const tw::emu::Index*, 4> all = {&view.thread, &view.block, &view.block_dim, &view.grid_dim};
    const tw::emu::Index& index = *all[static_cast<size_t>(number / 3)];
    return number % 3 == 0 ? index.x : number % 3 == 1 ? index.y : index.z;
  }
  static uint64_t time = 0;
  const unsigned lane = LaneOfThread(), below = (1u << lane) - 1;
  switch (number) {
    case 12:
      return lane;
    case 13:
      return LinearThread() / kLanes;
    case 14:
    case 15:
    case 16:
      return time += 16;
    case 18:
      return below;
    case 19:
      return below | 1u << lane;
    case 20:
      return 1u << lane;
    case 21:
      return ~below;
    case 22:
      return ~below & ~(1u << lane);
    case 23:
      return tw::emu::ClusterRank();
    case 24:
      return tw::emu::ClusterSize();
    case 26:
      return 32;
    default:
      return 0;
  }
}

Program::Program() = default;
Program::~Program() = default;

void Program::Run(uint64_t* operands) const {
  Frame frame(operands, operands_);
  frame.end = static_cast<int>(instructions_.size());
  while (frame.next < frame.end) {
    const Instruction& instruction = instructions_[static_cast<size_t>(frame.next)];
    const int self = frame.next++;
    if (instruction.guard >= 0 && (frame.At(instruction.guard) != 0) == instruction.guard_negated) continue;
    if (instruction.target < 0) {
      instruction.action(instruction, frame);
      continue;
    }
    frame.next = instruction.target;
    if (instruction.target <= self) emulator::TurnOfLoop();
  }
}

uint64_t Frame::Read(const Operand& operand, const Type& type) {
  switch (operand.kind) {
    case Operand::Kind::kRegister:
      return At(operand.index);
    case Operand::Kind::kInteger:
      return operand.value;
    case Operand::Kind::kFloat:
      return type.bits == 64 ? ToBits(operand.number) : ToBits(static_cast<float>(operand.number));
    case Operand::Kind::kSpecial:
      return ReadSpecial(static_cast<int>(operand.value));
    case Operand::Kind::kVector: {
      // Packed: the first part is the lowest.
      uint64_t value = 0;
      const auto bits = static_cast<size_t>(type.bits) / operand.parts.size();
      for (size_t i = 0; i < operand.parts.size(); ++i) {
        const uint64_t part = Read(operand.parts[i]);
        value |= (bits >= 64 ? part : part & ((uint64_t{1} << bits) - 1)) << (i * bits);
      }
      return value;
    }
    default:
      return 0;
  }
}

void Frame::Write(const Operand& operand, uint64_t value) {
  if (operand.kind == Operand::Kind::kRegister) At(operand.index) = value;
}

Type TypeOf(std::string_view word) {
  using Kind = Type::Kind;
  if (word == "pred") return {Kind::kPredicate, 1};
  if (word == "f16") return {Kind::kF16, 16};
  if (word == "bf16") return {Kind::kBf16, 16};
  if (word == "f16x2") return {Kind::kF16, 32, true};
  if (word == "bf16x2") return {Kind::kBf16, 32, true};
  if (word == "tf32") return {Kind::kFloat, 32};
  if (word.size() < 2) return {};
  const std::string_view digits = word.substr(1);
  int bits = 0;
  for (const int width : {8, 16, 32, 64, 128}) {
    if (digits == std::to_string(width)) bits = width;
  }
  if (bits == 0) return {};
  switch (word[0]) {
    case 'b':
      return {Kind::kBits, bits};
    case 'u':
      return {Kind::kUnsigned, bits};
    case 's':
      return {Kind::kSigned, bits};
    case 'f':
      return bits >= 32 ? Type{Kind::kFloat, bits} : Type{};
    default:
      return {};
  }
}

}  // namespace tilewright::foreign::ptx
