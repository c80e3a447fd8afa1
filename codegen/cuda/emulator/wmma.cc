// wmma: matrix instructions on opaque fragments. Which lane holds which element changes with the launch's seed, so that
// a kernel that depends on it is found out.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "codegen/cuda/emulator/device/emulated_matrix.h"
#include "codegen/cuda/emulator/machine.h"
#include "codegen/cuda/emulator/multiply.h"
#include "codegen/cuda/emulator/numbers.h"

namespace tw::emu {
namespace {

using tilewright::emulator::BytesOf;
using tilewright::emulator::FaultKind;
using tilewright::emulator::GlobalMemory;
using tilewright::emulator::kWarp;
using tilewright::emulator::Machine;
using tilewright::emulator::Meeting;
using tilewright::emulator::Op;
using tilewright::emulator::Thread;

constexpr uint32_t kAllLanes = 0xffffffffu;
// Numbers of instructions for Machine::MeetWarp: these, and the fragment's shape.
enum Instruction { kLoadTile = 1 << 20, kStoreTile = 2 << 20, kMultiplyTiles = 3 << 20 };
constexpr int kMostElements = 32 * 32;

int RowsOf(const WmmaShape& shape) { return shape.use == kUseB ? shape.k : shape.m; }
int ColumnsOf(const WmmaShape& shape) { return shape.use == kUseA ? shape.k : shape.n; }
int Number(Instruction instruction, const WmmaShape& shape) {
  return instruction | shape.use << 16 | shape.type << 12 | shape.m << 6 | shape.n;
}

bool IsSupported(const WmmaShape& shape) {
  const bool sum = shape.use == kUseSum;
  const auto is = [&](int m, int n, int k) { return shape.m == m && shape.n == n && shape.k == k; };
  const bool wide = is(16, 16, 16) || is(8, 32, 16) || is(32, 8, 16);
  switch (shape.type) {
    case kF16:
      return wide;
    case kBf16:
    case kS8:
    case kU8:
      return wide && !sum;
    case kTf32:
      return is(16, 16, 8) && !sum;
    case kF32:
      return (wide || is(16, 16, 8)) && sum;
    case kS32:
      return wide && sum;
    default:
      return false;
  }
}

// The slot of element i of a fragment: slot / elements of a lane is the lane. A permutation, since the count is a power
// of two and the factor odd.
int SlotOf(const Machine& machine, int i, int elements) {
  const uint64_t seed = machine.options().seed;
  return static_cast<int>((static_cast<uint64_t>(i) * (2 * seed + 5) + seed * 7 + 3) &
                          static_cast<uint64_t>(elements - 1));
}

struct Argument {
  uint32_t* r;
  Thread* thread;
};

// Moves elements between a matrix in rows and the registers of all lanes.
template <bool kToRegisters>
void Move(const Machine& machine, const WmmaShape& shape, const Meeting& meeting, std::byte* matrix,
          uint32_t* (*registers)(const Meeting& meeting, int lane)) {
  const int elements = RowsOf(shape) * ColumnsOf(shape), per_lane = elements / kWarp, bytes = BytesOf(shape.type);
  for (int i = 0; i < elements; ++i) {
    const int slot = SlotOf(machine, i, elements);
    auto* at = reinterpret_cast<std::byte*>(registers(meeting, slot / per_lane)) + slot % per_lane * bytes;
    std::memcpy(kToRegisters ? at : matrix + i * bytes, kToRegisters ? matrix + i * bytes : at,
                static_cast<size_t>(bytes));
  }
}

uint32_t* OwnRegisters(const Meeting& meeting, int lane) { return static_cast<Argument*>(meeting.arguments[lane])->r; }

struct Tile {
  const WmmaShape& shape;
  uint64_t at;
  void* array;
  uint32_t stride;
  bool row_major;
};

bool CheckTile(Machine& machine, const Tile& tile) {
  const WmmaShape& shape = tile.shape;
  const auto bytes = static_cast<uint32_t>(BytesOf(shape.type));
  if (!IsSupported(shape) || machine.self().warp->lanes != kAllLanes) {
    machine.Report(FaultKind::kArguments, "", "wmma does not have this shape and type, or the warp is not whole");
    return false;
  }
  const uint64_t address = tile.array == nullptr ? Machine::ByteOf(static_cast<uint32_t>(tile.at)) : tile.at;
  if (address % 32 != 0 || tile.stride * bytes % 16 != 0) {
    machine.Report(FaultKind::kMisaligned, "",
                   "a fragment's tile begins at a multiple of 32 bytes and its stride is a multiple of 16 bytes; not " +
                       std::to_string(tile.stride) + " elements");
    return false;
  }
  return true;
}

// Moves the tile between memory and `matrix` (in rows), checked: row i (column, if by columns) by lane i.
template <bool kLoad>
void MoveTile(Machine& machine, const Tile& tile, const Meeting& meeting, std::byte* matrix) {
  const int rows = RowsOf(tile.shape), columns = ColumnsOf(tile.shape), bytes = BytesOf(tile.shape.type);
  const int lines = tile.row_major ? rows : columns, length = tile.row_major ? columns : rows;
  auto& block = *machine.self().block;
  for (int line = 0; line < lines; ++line) {
    const Thread& by = *static_cast<Argument*>(meeting.arguments[line])->thread;
    const Machine::Issue issue = {by.clock, by.clock.Now(), kLoad ? Op::kWmmaLoad : Op::kWmmaStore, !kLoad};
    const uint64_t at = tile.at + uint64_t{static_cast<uint32_t>(line)} * tile.stride * static_cast<uint64_t>(bytes);
    const auto size = static_cast<uint32_t>(length * bytes);
    std::byte* memory;
    if (tile.array == nullptr) {
      const uint32_t byte = Machine::ByteOf(static_cast<uint32_t>(at));
      if (!machine.CheckShared(block, byte, size, issue)) continue;
      memory = block.shared.data() + byte;
    } else {
      memory = reinterpret_cast<std::byte*>(at);
      if (!machine.CheckGlobal(static_cast<GlobalMemory::Array*>(tile.array), memory, size, issue)) continue;
    }
    for (int i = 0; i < length; ++i) {
      std::byte* element = matrix + (tile.row_major ? line * columns + i : i * columns + line) * bytes;
      std::memcpy(kLoad ? element : memory + i * bytes, kLoad ? memory + i * bytes : element,
                  static_cast<size_t>(bytes));
    }
  }
}

struct MultiplyArgument {
  uint32_t* d;
  const uint32_t *a, *b, *c;
};

std::vector<std::byte> Gather(const Machine& machine, const WmmaShape& shape, const Meeting& meeting,
                              uint32_t* (*registers)(const Meeting& meeting, int lane)) {
  std::vector<std::byte> matrix(static_cast<size_t>(RowsOf(shape) * ColumnsOf(shape) * BytesOf(shape.type)));
  Move<false>(machine, shape, meeting, matrix.data(), registers);
  return matrix;
}

std::vector<float> GatherFloats(const Machine& machine, const WmmaShape& shape, const Meeting& meeting,
                                uint32_t* (*registers)(const Meeting& meeting, int lane)) {
  const std::vector<std::byte> raw = Gather(machine, shape, meeting, registers);
  std::vector<float> floats(raw.size() / static_cast<size_t>(BytesOf(shape.type)));
  tilewright::emulator::ToFloats(shape.type, raw.data(), floats.data(), floats.size());
  return floats;
}

const MultiplyArgument& Of(const Meeting& meeting, int lane) {
  return *static_cast<const MultiplyArgument*>(meeting.arguments[lane]);
}

void RunMultiply(Machine& machine, const WmmaShape& a, const WmmaShape& b, const WmmaShape& sum,
                 const Meeting& meeting) {
  ++machine.counters().mma;
  machine.counters().multiplications += uint64_t{a.m} * a.n * a.k;
  const auto fa =
      GatherFloats(machine, a, meeting, [](const Meeting& m, int i) { return const_cast<uint32_t*>(Of(m, i).a); });
  const auto fb =
      GatherFloats(machine, b, meeting, [](const Meeting& m, int i) { return const_cast<uint32_t*>(Of(m, i).b); });
  const auto of_c = [](const Meeting& m, int i) { return const_cast<uint32_t*>(Of(m, i).c); };
  const auto of_d = [](const Meeting& m, int i) { return Of(m, i).d; };
  std::vector<std::byte> c = Gather(machine, sum, meeting, of_c);
  const auto elements = static_cast<size_t>(a.m * a.n);
  std::vector<float> product(elements, 0.0f);
  if (sum.type == kF32) std::memcpy(product.data(), c.data(), c.size());
  tilewright::emulator::Multiply(fa.data(), fb.data(), product.data(), a.m, a.n, a.k);
  for (size_t i = 0; i < elements; ++i) {
    if (sum.type == kF32) {
      std::memcpy(c.data() + i * 4, &product[i], 4);
    } else if (sum.type == kS32) {
      uint32_t value;
      std::memcpy(&value, c.data() + i * 4, 4);
      value += static_cast<uint32_t>(static_cast<int32_t>(product[i]));
      std::memcpy(c.data() + i * 4, &value, 4);
    } else {
      uint16_t half;
      std::memcpy(&half, c.data() + i * 2, 2);
      half = ToF16(FromF16(half) + product[i]);
      std::memcpy(c.data() + i * 2, &half, 2);
    }
  }
  Move<true>(machine, sum, meeting, c.data(), of_d);
}

}  // namespace

void WmmaLoad(const WmmaShape& shape, uint32_t* r, uint64_t at, void* array, uint32_t stride, bool row_major) {
  Machine& machine = Machine::Current();
  machine.Begin("wmma load");
  const Tile tile = {shape, at, array, stride, row_major};
  if (!CheckTile(machine, tile)) return;
  Argument own = {r, &machine.self()};
  machine.MeetWarp(kAllLanes, Number(kLoadTile, shape), "wmma load", &own, [&](Meeting& meeting) {
    std::byte matrix[kMostElements * 4] = {};
    MoveTile<true>(machine, tile, meeting, matrix);
    Move<true>(machine, shape, meeting, matrix, &OwnRegisters);
  });
}

void WmmaStore(const WmmaShape& shape, const uint32_t* r, uint64_t at, void* array, uint32_t stride, bool row_major) {
  Machine& machine = Machine::Current();
  machine.Begin("wmma store");
  const Tile tile = {shape, at, array, stride, row_major};
  if (!CheckTile(machine, tile)) return;
  Argument own = {const_cast<uint32_t*>(r), &machine.self()};
  machine.MeetWarp(kAllLanes, Number(kStoreTile, shape), "wmma store", &own, [&](Meeting& meeting) {
    std::byte matrix[kMostElements * 4];
    Move<false>(machine, shape, meeting, matrix, &OwnRegisters);
    MoveTile<false>(machine, tile, meeting, matrix);
  });
}

void WmmaMultiply(const WmmaShape& a, Type b_type, uint32_t* d, const uint32_t* ra, const uint32_t* rb,
                  const uint32_t* c, Type sum_type) {
  Machine& machine = Machine::Current();
  machine.Begin("wmma");
  const WmmaShape b = {kUseB, b_type, a.m, a.n, a.k}, sum = {kUseSum, sum_type, a.m, a.n, a.k};
  const bool integers = a.type == kS8 || a.type == kU8;
  const bool types =
      a.type == b_type && (integers ? sum_type == kS32 : sum_type == kF32 || (sum_type == kF16 && a.type == kF16));
  if (!IsSupported(a) || !IsSupported(sum) || !types || machine.self().warp->lanes != kAllLanes) {
    machine.Report(FaultKind::kArguments, "",
                   "wmma does not have this shape and these types, or the warp is not whole");
    return;
  }
  MultiplyArgument own = {d, ra, rb, c};
  machine.MeetWarp(kAllLanes, Number(kMultiplyTiles, a) ^ sum_type, "wmma", &own,
                   [&](Meeting& meeting) { RunMultiply(machine, a, b, sum, meeting); });
}

}  // namespace tw::emu
