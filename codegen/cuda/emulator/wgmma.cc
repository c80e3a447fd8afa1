// wgmma: products of warpgroups. They are done when they are waited for, a group at a time.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/cuda/emulator/descriptor.h"
#include "codegen/cuda/emulator/device/emulated_wgmma.h"
#include "codegen/cuda/emulator/fragments.h"
#include "codegen/cuda/emulator/machine.h"
#include "codegen/cuda/emulator/multiply.h"
#include "codegen/cuda/emulator/numbers.h"

namespace tw::emu {
namespace {

using tilewright::emulator::Block;
using tilewright::emulator::BytesOf;
using tilewright::emulator::FaultKind;
using tilewright::emulator::kWarpgroup;
using tilewright::emulator::Machine;
using tilewright::emulator::Meeting;
using tilewright::emulator::Op;
using tilewright::emulator::Operand;
using tilewright::emulator::OperandOf;
using tilewright::emulator::Thread;
using tilewright::emulator::Warpgroup;
using tilewright::emulator::WgmmaOperation;

// Numbers of instructions for Machine::MeetWarpgroup.
constexpr int kCommit = 1, kMultiply = 2, kSetRegisters = 3;
constexpr int kRows = 64, kMostN = 256;

int DepthOf(const WgmmaKind& kind) { return 32 / BytesOf(kind.a); }
bool IsInteger(Type type) { return type == kS8 || type == kU8; }

bool IsSupported(const WgmmaKind& kind, std::string& reason) {
  const auto is8 = [](Type type) { return type == kE4m3 || type == kE5m2; };
  const bool types = (kind.a == kind.b && (kind.a == kF16 || kind.a == kBf16 || kind.a == kTf32)) ||
                     (is8(kind.a) && is8(kind.b)) || (IsInteger(kind.a) && IsInteger(kind.b));
  const bool sums =
      IsInteger(kind.a) ? kind.d == kS32 : kind.d == kF32 || (kind.d == kF16 && kind.a != kBf16 && kind.a != kTf32);
  const bool n =
      kind.n >= 8 && kind.n <= kMostN && kind.n % 8 == 0 && (!IsInteger(kind.a) || kind.n <= 24 || kind.n % 16 == 0);
  if (!types || !sums) reason = "wgmma does not have these types";
  if (types && sums && !n) reason = "wgmma of these types does not have N = " + std::to_string(kind.n);
  if ((kind.transpose_a || kind.transpose_b) && BytesOf(kind.a) != 2) {
    reason = "only operands of 16 bits may be contiguous along M or N";
  }
  return reason.empty();
}

// The sums of a group as a matrix: taken from the threads' registers before its first product, put back after its last.
class SumMatrix {
 public:
  explicit SumMatrix(int n) : n_(n) {}
  float* data() { return c_; }

  // Floats only: other sums are added to when they are put back.
  void Take(const WgmmaOperation& operation) {
    if (operation.kind.d != kF32) return;
    ForEachPair([&](int thread, int pair, float* at) {
      std::memcpy(at, static_cast<const float*>(operation.d[thread]) + pair * 2, 8);
    });
  }
  void Put(const WgmmaOperation& operation) {
    ForEachPair([&](int thread, int pair, const float* at) { PutPair(operation, operation.d[thread], pair, at); });
  }
  void Clear() { std::fill(c_, c_ + kRows * n_, 0.0f); }

 private:
  // Pair 2 j + h of a thread: row 16 warp + g + 8 h, columns 8 j + 2 t and the next.
  template <class Visit>
  void ForEachPair(const Visit& visit) {
    for (int thread = 0; thread < kWarpgroup; ++thread) {
      const int row = thread / 32 * 16, lane = thread % 32;
      for (int j = 0; j < n_ / 8; ++j) {
        for (int h = 0; h < 2; ++h) {
          visit(thread, j * 2 + h, c_ + row * n_ + j * 8 + tilewright::emulator::OffsetOfD(lane, h, n_));
        }
      }
    }
  }
  static void PutPair(const WgmmaOperation& operation, void* registers, int pair, const float* at) {
    if (operation.kind.d == kF32) {
      std::memcpy(static_cast<float*>(registers) + pair * 2, at, 8);
    } else if (operation.kind.d == kS32) {
      auto* to = static_cast<uint32_t*>(registers) + pair * 2;  // sums wrap around
      for (int h = 0; h < 2; ++h)
        to[h] = (operation.scale_d ? to[h] : 0) + static_cast<uint32_t>(static_cast<int32_t>(at[h]));
    } else {
      uint32_t& to = static_cast<uint32_t*>(registers)[pair];
      const uint32_t old = operation.scale_d ? to : 0;
      to = pack_f16(FromF16(static_cast<uint16_t>(old)) + at[0], FromF16(static_cast<uint16_t>(old >> 16)) + at[1]);
    }
  }

  int n_;
  float c_[kRows * kMostN];
};

// A[64][k] from shared memory or registers.
void FetchA(const Block& block, const WgmmaOperation& operation, float* a) {
  const int bytes = BytesOf(operation.kind.a), k = DepthOf(operation.kind), per = 4 / bytes;
  if (!operation.a_in_registers) {
    const Operand operand = OperandOf(operation.a, operation.kind.a, operation.kind.transpose_a, kRows);
    return Fetch(operand, block.shared.data(), a, false);
  }
  std::byte raw[kRows * 32];
  for (int thread = 0; thread < kWarpgroup; ++thread) {
    for (int r = 0; r < 4; ++r) {
      const int at = thread / 32 * 16 * k + tilewright::emulator::OffsetOfA(thread % 32, r, 16, k, per);
      std::memcpy(raw + at * bytes, &operation.a_registers[thread][r], 4);
    }
  }
  tilewright::emulator::ToFloats(operation.kind.a, raw, a, static_cast<size_t>(kRows * k));
}

void RunGroup(const Block& block, const std::vector<WgmmaOperation>& group) {
  std::vector<float> a(kRows * 32), b(kMostN * 32);
  const WgmmaOperation* held = nullptr;  // whose sums are in the matrix
  auto sums = std::make_unique<SumMatrix>(0);
  for (const WgmmaOperation& operation : group) {
    const bool keep =
        held != nullptr && operation.kind.d == kF32 && held->d[0] == operation.d[0] && held->kind.n == operation.kind.n;
    if (held != nullptr && !keep) {
      sums->Put(*held);
      held = nullptr;
    }
    if (held == nullptr) {
      sums = std::make_unique<SumMatrix>(operation.kind.n);
      sums->Clear();
      if (operation.scale_d) sums->Take(operation);
    }
    if (!operation.scale_d) sums->Clear();
    held = &operation;
    const Operand operand = OperandOf(operation.b, operation.kind.b, operation.kind.transpose_b, operation.kind.n);
    FetchA(block, operation, a.data());
    Fetch(operand, block.shared.data(), b.data(), true);
    tilewright::emulator::Multiply(a.data(), b.data(), sums->data(), kRows, operation.kind.n, DepthOf(operation.kind));
  }
  if (held != nullptr) sums->Put(*held);
}

struct Argument {
  void* d;
  const uint32_t* a_registers;
  uint64_t a, b;
  int scale_d;
};

// Checks what the product will read, on behalf of the warpgroup's agent.
bool CheckOperand(Machine& machine, Warpgroup& warpgroup, const Operand& operand) {
  std::string reason;
  if (!IsValid(operand, reason)) {
    machine.Report(FaultKind::kDescriptor, "", reason);
    return false;
  }
  const Machine::Issue issue = {machine.self().clock, {warpgroup.agent, warpgroup.committed + 1}, Op::kWgmma, false};
  bool right = true;
  ForEachChunk(operand, [&](uint32_t byte, int, int) {
    right = right && machine.CheckShared(*machine.self().block, byte, 16, issue);
  });
  return right;
}

void Multiply(Machine& machine, const WgmmaKind& kind, const Meeting& meeting, bool now) {
  Thread& self = machine.self();
  Warpgroup& warpgroup = *self.warpgroup;
  if (!warpgroup.has_agent) {
    warpgroup.agent = machine.NewAgent(*self.block, "wgmma of warpgroup " + std::to_string(self.index / kWarpgroup));
    warpgroup.has_agent = true;
  }
  const auto& first = *static_cast<const Argument*>(meeting.arguments[0]);
  WgmmaOperation operation = {kind, first.a, first.b, first.a_registers != nullptr, first.scale_d != 0};
  for (int i = 0; i < kWarpgroup; ++i) {
    const auto& own = *static_cast<const Argument*>(meeting.arguments[i]);
    if (own.a != first.a || own.b != first.b || (own.scale_d != 0) != operation.scale_d) {
      machine.Report(FaultKind::kDescriptor, "", "threads of the warpgroup give different descriptors or scales");
      return;
    }
    operation.d[i] = own.d;
    if (own.a_registers != nullptr)
      std::memcpy(operation.a_registers[i], own.a_registers, sizeof operation.a_registers[i]);
  }
  ++machine.counters().wgmma;
  machine.counters().multiplications += uint64_t{kRows} * kind.n * static_cast<uint64_t>(DepthOf(kind));
  const bool right_a =
      operation.a_in_registers || CheckOperand(machine, warpgroup, OperandOf(first.a, kind.a, kind.transpose_a, kRows));
  const bool right_b = CheckOperand(machine, warpgroup, OperandOf(first.b, kind.b, kind.transpose_b, kind.n));
  if (!right_a || !right_b) return;
  if (now) return RunGroup(*self.block, {operation});
  warpgroup.open.push_back(operation);
}

void FinishUntil(Machine& machine, uint32_t group) {
  Thread& self = machine.self();
  Warpgroup& warpgroup = *self.warpgroup;
  while (warpgroup.finished < group) {
    RunGroup(*self.block, warpgroup.groups.front());
    warpgroup.groups.pop_front();
    ++warpgroup.finished;
  }
  if (warpgroup.has_agent) self.clock.Learn({warpgroup.agent, group});
  self.wgmma_waited = std::max(self.wgmma_waited, group);
}

}  // namespace

void TouchAccumulator(AccumulatorState& state) {
  Machine& machine = Machine::Current();
  const Thread& self = machine.self();
  if (state.in_flight > self.wgmma_waited) {
    machine.self().doing = "access of a register";
    machine.Report(FaultKind::kRegisters, "",
                   "a register that a wgmma under way writes is touched before it is waited for");
    state.in_flight = 0;  // reported once
  }
  state.touched = self.wgmma_fences;
}

void DropAccumulator(AccumulatorState& state) {
  Machine& machine = Machine::Current();
  if (state.in_flight <= machine.self().wgmma_waited) return;
  machine.self().doing = "end of an accumulator";
  machine.Report(FaultKind::kRegisters, "", "registers end while a wgmma under way writes them");
  machine.Abort();  // or they would be written to
}

void Wgmma(const WgmmaKind& kind, void* d, AccumulatorState& state, uint64_t a, const uint32_t* a_registers, uint64_t b,
           int scale_d) {
  Machine& machine = Machine::Current();
  machine.Begin("wgmma");
  Thread& self = machine.self();
  Warpgroup& warpgroup = *self.warpgroup;
  std::string reason;
  if (!IsSupported(kind, reason)) {
    machine.Report(FaultKind::kArguments, "", reason);
    return;
  }
  if (state.touched == self.wgmma_fences) {
    machine.Report(FaultKind::kRegisters, "", "no wgmma.fence stands between an access of the accumulator and it");
  }
  state.touched = 0;
  state.in_flight = warpgroup.committed + 1;
  Argument own = {d, a_registers, a, b, scale_d};
  machine.MeetWarpgroup(kMultiply, "wgmma", &own, [&](Meeting& meeting) { Multiply(machine, kind, meeting, false); });
}

void WgmmaNow(const WgmmaKind& kind, void* d, uint64_t a, const uint32_t* a_registers, uint64_t b, int scale_d) {
  Machine& machine = Machine::Current();
  machine.Begin("wgmma");
  std::string reason;
  if (!IsSupported(kind, reason)) {
    machine.Report(FaultKind::kArguments, "", reason);
    return;
  }
  Argument own = {d, a_registers, a, b, scale_d};
  machine.MeetWarpgroup(kMultiply, "wgmma", &own, [&](Meeting& meeting) { Multiply(machine, kind, meeting, true); });
}

void WgmmaFence() {
  Machine& machine = Machine::Current();
  machine.Begin("wgmma.fence");
  ++machine.self().wgmma_fences;
}

void WgmmaCommit() {
  Machine& machine = Machine::Current();
  machine.Begin("wgmma.commit_group");
  Warpgroup& warpgroup = *machine.self().warpgroup;
  machine.MeetWarpgroup(kCommit, "wgmma.commit_group", nullptr, [&](Meeting&) {
    warpgroup.groups.push_back(std::exchange(warpgroup.open, {}));
    ++warpgroup.committed;
  });
}

void WgmmaWait(int pending) {
  Machine& machine = Machine::Current();
  machine.Begin("wgmma.wait_group");
  const uint32_t committed = machine.self().warpgroup->committed;
  FinishUntil(machine, committed - std::min(committed, static_cast<uint32_t>(pending)));
}

void SetRegisters(int count, bool increase) {
  Machine& machine = Machine::Current();
  machine.Begin("setmaxnreg");
  Thread& self = machine.self();
  Warpgroup& warpgroup = *self.warpgroup;
  Block& block = *self.block;
  if (count < 24 || count > 256 || count % 8 != 0) {
    machine.Report(FaultKind::kArguments, "",
                   "setmaxnreg takes a multiple of 8 from 24 to 256, not " + std::to_string(count));
    return;
  }
  machine.MeetWarpgroup(kSetRegisters, "setmaxnreg", nullptr, [](Meeting&) {});
  if (self.index % kWarpgroup != 0) return;
  const int more = (count - static_cast<int>(warpgroup.registers)) * kWarpgroup;
  if (increase ? more < 0 : more > 0) {
    machine.Report(FaultKind::kRegisters, "",
                   "setmaxnreg from " + std::to_string(warpgroup.registers) + " to " + std::to_string(count) +
                       " registers, which is the other direction");
    return;
  }
  while (more > block.free_registers) {
    block.want_registers.push_back(&self);
    self.doing = "setmaxnreg.inc, for registers that nobody has given back";
    machine.Wait();
  }
  block.free_registers -= more;
  warpgroup.registers = static_cast<uint32_t>(count);
  if (more < 0) machine.MakeReady(block.want_registers);
}

}  // namespace tw::emu
