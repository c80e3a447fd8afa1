// ldmatrix, stmatrix, movmatrix and mma.sync.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "codegen/cuda/emulator/device/emulated_matrix.h"
#include "codegen/cuda/emulator/fragments.h"
#include "codegen/cuda/emulator/machine.h"
#include "codegen/cuda/emulator/multiply.h"
#include "codegen/cuda/emulator/numbers.h"

namespace tw::emu {
namespace {

using tilewright::emulator::Block;
using tilewright::emulator::FaultKind;
using tilewright::emulator::kSharedBase;
using tilewright::emulator::kWarp;
using tilewright::emulator::Machine;
using tilewright::emulator::Meeting;
using tilewright::emulator::Op;

// Numbers of instructions for Machine::MeetWarp.
constexpr int kMove = 64, kLoad = 70, kStore = 80, kMma = 128;
constexpr uint32_t kAllLanes = 0xffffffffu;

// Matrix instructions are of whole warps.
bool CheckWarp(Machine& machine) {
  if (machine.self().warp->lanes == kAllLanes) return true;
  machine.Report(FaultKind::kDivergence, "", "the warp has fewer than 32 lanes");
  return false;
}

struct RowArgument {
  uint32_t* r;
  const uint32_t* values;
  std::byte* row;  // null: none, or a faulty one
  uint32_t byte;
};

// The bytes of a matrix row that this lane gives.
std::byte* Row(Machine& machine, uint32_t address, Op op, bool write) {
  Block& block = *machine.self().block;
  const uint32_t byte = Machine::ByteOf(address);
  if (machine.BlockOf(address) != &block) {
    machine.Report(FaultKind::kOutOfBounds, "", "the row is not in this block's shared memory");
    return nullptr;
  }
  const std::string place =
      byte % 16 == 0 ? "" : "shared byte " + std::to_string(static_cast<int64_t>(byte) - kSharedBase);
  if (!machine.CheckAligned(byte, 16, place)) return nullptr;
  return machine.CheckShared(block, byte, 16, machine.ByThread(op, write)) ? block.shared.data() + byte : nullptr;
}

// Extra cycles of eight rows of 16 bytes.
int RowConflicts(const RowArgument* const* rows) {
  int most = 1, count[8] = {};
  for (int i = 0; i < 8; ++i) {
    bool again = false;
    for (int j = 0; j < i; ++j) again |= rows[j]->byte == rows[i]->byte;
    if (!again && ++count[rows[i]->byte / 16 % 8] > most) most = count[rows[i]->byte / 16 % 8];
  }
  return most - 1;
}

// What lane `lane` holds of the matrix whose rows are given; null rows are zero.
uint32_t RegisterOf(const RowArgument* const* rows, int lane, bool transpose) {
  uint16_t pair[2] = {0, 0};
  for (int h = 0; h < 2; ++h) {
    const int row = transpose ? lane % 4 * 2 + h : lane / 4, column = transpose ? lane / 4 : lane % 4 * 2 + h;
    if (rows[row]->row != nullptr) std::memcpy(&pair[h], rows[row]->row + column * 2, 2);
  }
  return pair[0] | static_cast<uint32_t>(pair[1]) << 16;
}

void SetRegister(const RowArgument* const* rows, int lane, bool transpose, uint32_t value) {
  for (int h = 0; h < 2; ++h) {
    const int row = transpose ? lane % 4 * 2 + h : lane / 4, column = transpose ? lane / 4 : lane % 4 * 2 + h;
    const auto half = static_cast<uint16_t>(value >> (16 * h));
    if (rows[row]->row != nullptr) std::memcpy(rows[row]->row + column * 2, &half, 2);
  }
}

// Calls visit(matrix, rows of it, arguments of all lanes) for each matrix of the meeting.
template <class Visit>
void ForEachMatrix(Machine& machine, Meeting& meeting, int count, const Visit& visit) {
  for (int i = 0; i < count; ++i) {
    const RowArgument* rows[8];
    for (int j = 0; j < 8; ++j) rows[j] = static_cast<RowArgument*>(meeting.arguments[i * 8 + j]);
    machine.counters().bank_conflicts += static_cast<uint64_t>(RowConflicts(rows));
    ++machine.counters().matrix_moves;
    visit(i, rows);
  }
}

struct MmaRow {
  const char* name;
  int m, n, k;
  Type d, a, b;
  int d_registers, a_registers, b_registers;
};
constexpr MmaRow kMmaRows[] = {
#define TW_MMA(name, ptx, m, n, k, d, a, b, register_type, d_registers, a_registers, b_registers) \
  {"mma " #name, m, n, k, d, a, b, d_registers, a_registers, b_registers},
#include "codegen/cuda/emulator/device/mma.inc"
#undef TW_MMA
};

struct MmaArgument {
  void* d;
  const uint32_t *a, *b;
};

// The operands of a warp as floats, A[m][k] and B[k][n].
void Gather(const MmaRow& row, const Meeting& meeting, float* a, float* b) {
  const int a_bytes = tilewright::emulator::BytesOf(row.a), b_bytes = tilewright::emulator::BytesOf(row.b);
  std::byte raw_a[16 * 32], raw_b[8 * 32];
  for (int lane = 0; lane < kWarp; ++lane) {
    const auto& from = *static_cast<const MmaArgument*>(meeting.arguments[lane]);
    for (int r = 0; r < row.a_registers; ++r) {
      const int at = tilewright::emulator::OffsetOfA(lane, r, row.m, row.k, 4 / a_bytes);
      std::memcpy(raw_a + at * a_bytes, from.a + r, 4);
    }
    for (int r = 0; r < row.b_registers; ++r) {
      const int at = tilewright::emulator::OffsetOfB(lane, r, row.k, 4 / b_bytes);
      std::memcpy(raw_b + at * b_bytes, from.b + r, 4);
    }
  }
  float by_columns[8 * 32];
  tilewright::emulator::ToFloats(row.a, raw_a, a, static_cast<size_t>(row.m * row.k));
  tilewright::emulator::ToFloats(row.b, raw_b, by_columns, static_cast<size_t>(row.n * row.k));
  for (int n = 0; n < row.n; ++n) {
    for (int k = 0; k < row.k; ++k) b[k * row.n + n] = by_columns[n * row.k + k];
  }
}

// Adds to the warp's sums, or takes them as the start of the product: integers and halves are added afterwards.
template <class Visit>  // visit(register index, place of the pair in c)
void ForEachPair(const MmaRow& row, float* c, const Visit& visit) {
  for (int lane = 0; lane < kWarp; ++lane) {
    for (int pair = 0; pair < row.m / 8; ++pair) {
      visit(lane, pair, c + tilewright::emulator::OffsetOfD(lane, pair, row.n));
    }
  }
}

void RunMma(Machine& machine, const MmaRow& row, const Meeting& meeting) {
  ++machine.counters().mma;
  machine.counters().multiplications += static_cast<uint64_t>(row.m * row.n * row.k);
  float a[16 * 32], b[32 * 8], c[16 * 8] = {};
  Gather(row, meeting, a, b);
  const auto d_of = [&](int lane) { return static_cast<const MmaArgument*>(meeting.arguments[lane])->d; };
  if (row.d == kF32) {
    ForEachPair(row, c,
                [&](int lane, int pair, float* at) { std::memcpy(at, static_cast<float*>(d_of(lane)) + pair * 2, 8); });
  }
  tilewright::emulator::Multiply(a, b, c, row.m, row.n, row.k);
  ForEachPair(row, c, [&](int lane, int pair, float* at) {
    if (row.d == kF32) {
      std::memcpy(static_cast<float*>(d_of(lane)) + pair * 2, at, 8);
    } else if (row.d == kS32) {
      auto* to = static_cast<uint32_t*>(d_of(lane)) + pair * 2;  // sums wrap around
      for (int h = 0; h < 2; ++h) to[h] += static_cast<uint32_t>(static_cast<int32_t>(at[h]));
    } else {
      uint32_t& to = static_cast<uint32_t*>(d_of(lane))[pair];
      to = pack_f16(FromF16(static_cast<uint16_t>(to)) + at[0], FromF16(static_cast<uint16_t>(to >> 16)) + at[1]);
    }
  });
}

}  // namespace

void LoadMatrices(uint32_t* r, int count, bool transpose, uint32_t row) {
  Machine& machine = Machine::Current();
  machine.Begin("ldmatrix");
  if (!CheckWarp(machine)) return;
  RowArgument own = {r, nullptr, nullptr, Machine::ByteOf(row)};
  if (machine.self().lane < count * 8) own.row = Row(machine, row, Op::kLdmatrix, false);
  machine.MeetWarp(kAllLanes, kLoad + count * 2 + transpose, "ldmatrix", &own, [&](Meeting& meeting) {
    ForEachMatrix(machine, meeting, count, [&](int i, const RowArgument* const* rows) {
      for (int lane = 0; lane < kWarp; ++lane) {
        static_cast<RowArgument*>(meeting.arguments[lane])->r[i] = RegisterOf(rows, lane, transpose);
      }
    });
  });
}

void StoreMatrices(uint32_t row, int count, bool transpose, const uint32_t* r) {
  Machine& machine = Machine::Current();
  machine.Begin("stmatrix");
  if (!CheckWarp(machine)) return;
  RowArgument own = {nullptr, r, nullptr, Machine::ByteOf(row)};
  if (machine.self().lane < count * 8) own.row = Row(machine, row, Op::kStmatrix, true);
  machine.MeetWarp(kAllLanes, kStore + count * 2 + transpose, "stmatrix", &own, [&](Meeting& meeting) {
    ForEachMatrix(machine, meeting, count, [&](int i, const RowArgument* const* rows) {
      for (int lane = 0; lane < kWarp; ++lane) {
        SetRegister(rows, lane, transpose, static_cast<RowArgument*>(meeting.arguments[lane])->values[i]);
      }
    });
  });
}

uint32_t MoveMatrix(uint32_t r) {
  Machine& machine = Machine::Current();
  machine.Begin("movmatrix");
  if (!CheckWarp(machine)) return r;
  uint32_t own = r;
  machine.MeetWarp(kAllLanes, kMove, "movmatrix", &own, [&](Meeting& meeting) {
    uint32_t values[kWarp];
    for (int lane = 0; lane < kWarp; ++lane) values[lane] = *static_cast<uint32_t*>(meeting.arguments[lane]);
    const auto element = [&](int row, int column) {
      return values[row * 4 + column / 2] >> (column % 2 * 16) & 0xffff;
    };
    for (int lane = 0; lane < kWarp; ++lane) {
      const int row = lane / 4, column = lane % 4 * 2;
      *static_cast<uint32_t*>(meeting.arguments[lane]) = element(column, row) | element(column + 1, row) << 16;
    }
  });
  return own;
}

void Mma(MmaId id, void* d, const uint32_t* a, const uint32_t* b) {
  Machine& machine = Machine::Current();
  const MmaRow& row = kMmaRows[id];
  machine.Begin(row.name);
  if (!CheckWarp(machine)) return;
  MmaArgument own = {d, a, b};
  machine.MeetWarp(kAllLanes, kMma + id, row.name, &own, [&](Meeting& meeting) { RunMma(machine, row, meeting); });
}

}  // namespace tw::emu
