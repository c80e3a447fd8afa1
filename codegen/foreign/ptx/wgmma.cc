// Products of warpgroups.
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/cuda/emulator/device/emulated.h"
#include "codegen/cuda/emulator/generic.h"
#include "codegen/foreign/ptx/instruction.h"

namespace tilewright::foreign::ptx {
namespace {

namespace emu = tw::emu;

constexpr size_t kMostRegisters = 128;

bool ElementOf(std::string_view word, emu::Type* type) {
  constexpr struct {
    std::string_view word;
    emu::Type type;
  } kTypes[] = {{"f32", emu::kF32},   {"f16", emu::kF16},   {"bf16", emu::kBf16},
                {"tf32", emu::kTf32}, {"e4m3", emu::kE4m3}, {"e5m2", emu::kE5m2},
                {"s8", emu::kS8},     {"u8", emu::kU8},     {"s32", emu::kS32}};
  for (const auto& known : kTypes) {
    if (known.word != word) continue;
    *type = known.type;
    return true;
  }
  return false;
}

// "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"
bool KindOf(const Instruction& instruction, emu::WgmmaKind* kind) {
  if (instruction.words.size() < 8) return false;
  int n = 0, k = 0;
  if (std::sscanf(instruction.words[4].c_str(), "m64n%dk%d", &n, &k) != 2) return false;
  kind->n = static_cast<uint16_t>(n);
  return ElementOf(instruction.words[5], &kind->d) && ElementOf(instruction.words[6], &kind->a) &&
         ElementOf(instruction.words[7], &kind->b);
}

size_t RegistersOf(const emu::WgmmaKind& kind) { return kind.n / (kind.d == emu::kF16 ? 4u : 2u); }

bool IsInteger(const Operand& operand) { return operand.kind == Operand::Kind::kInteger; }

// Operands: sums, A, B, scale of the sums, {signs of A and B}, {majors of A (in shared memory) and B}.
std::string CheckMultiply(Instruction& instruction) {
  emu::WgmmaKind kind = {};
  if (!KindOf(instruction, &kind)) return "this shape or these types are not known";
  const auto& operands = instruction.operands;
  if (operands[0].kind != Operand::Kind::kVector || operands[0].parts.size() != RegistersOf(kind)) {
    return "the sums are not " + std::to_string(RegistersOf(kind)) + " registers";
  }
  const bool in_registers = operands[1].kind == Operand::Kind::kVector;
  if (in_registers && operands[1].parts.size() != 4) return "A in registers has four";
  if (instruction.Has("satfinite") || instruction.Has("sp")) return "saturation and sparse operands are not known";
  const bool halves = kind.a == emu::kF16 || kind.a == emu::kBf16;
  const bool integers = kind.a == emu::kS8 || kind.a == emu::kU8;
  const size_t most = 4 + (integers ? 0 : 2) + (halves ? (in_registers ? 1 : 2) : 0);
  return operands.size() <= most ? "" : "there are more operands than this form has";
}

void Multiply(const Instruction& instruction, Frame& frame) {
  emu::WgmmaKind kind = {};
  KindOf(instruction, &kind);
  const auto& operands = instruction.operands;
  const bool in_registers = operands[1].kind == Operand::Kind::kVector;
  const auto number = [&](size_t i, int otherwise) {
    if (i >= operands.size()) return otherwise;
    const auto value = static_cast<int32_t>(frame.Read32(operands[i]));
    return IsInteger(operands[i]) && operands[i].negated ? -value : value;
  };
  if (number(4, 1) != 1 || number(5, 1) != 1) {
    tilewright::emulator::ReportHere(tilewright::emulator::FaultKind::kArguments, instruction.name.c_str(),
                                     "negated operands of wgmma are outside of what the emulator takes");
    return;
  }
  kind.transpose_a = !in_registers && number(6, 0) != 0;
  kind.transpose_b = number(in_registers ? 6 : 7, 0) != 0;
  uint32_t d[kMostRegisters] = {}, a[4] = {};
  const auto& sums = operands[0].parts;
  for (size_t i = 0; i < sums.size(); ++i) d[i] = frame.Read32(sums[i]);
  if (in_registers) {
    for (size_t i = 0; i < 4; ++i) a[i] = frame.Read32(operands[1].parts[i]);
  }
  emu::WgmmaNow(kind, d, in_registers ? 0 : frame.Read(operands[1]), in_registers ? a : nullptr,
                frame.Read(operands[2]), frame.Test(operands[3]) ? 1 : 0);
  for (size_t i = 0; i < sums.size(); ++i) frame.Write(sums[i], d[i]);
}

void Fence(const Instruction&, Frame&) { emu::WgmmaFence(); }
void Commit(const Instruction&, Frame&) { emu::WgmmaCommit(); }
void Wait(const Instruction& instruction, Frame& frame) {
  emu::WgmmaWait(static_cast<int>(frame.Read32(instruction.operands[0])));
}

}  // namespace

std::vector<Row> WgmmaRows() {
  return {
      {"wgmma.mma_async", &Multiply, 4, 8, &CheckMultiply},
      {"wgmma.fence", &Fence, 0, 0},
      {"wgmma.commit_group", &Commit, 0, 0},
      {"wgmma.wait_group", &Wait, 1, 1},
  };
}

}  // namespace tilewright::foreign::ptx
