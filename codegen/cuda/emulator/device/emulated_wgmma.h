// wgmma: asynchronous products of a warpgroup, operands in shared memory (or A in registers).
#pragma once

#include <stdint.h>

#include "codegen/cuda/emulator/device/emulated_matrix.h"
#include "codegen/cuda/emulator/device/emulated_memory.h"

namespace tw {
namespace emu {

struct AccumulatorState {
  uint32_t touched = 0;    // by ordinary instructions: under which fence of the thread
  uint32_t in_flight = 0;  // the group that writes it; 0 none
};
void TouchAccumulator(AccumulatorState& state);
void DropAccumulator(AccumulatorState& state);

struct WgmmaKind {
  uint16_t n;
  Type d, a, b;
  bool transpose_a, transpose_b;  // operands that are contiguous along M or N
};
void Wgmma(const WgmmaKind& kind, void* d, AccumulatorState& state, uint64_t a, const uint32_t* a_registers, uint64_t b,
           int scale_d);
// The same for sums that are values and not variables: they are computed at once, and checked as if they came late.
void WgmmaNow(const WgmmaKind& kind, void* d, uint64_t a, const uint32_t* a_registers, uint64_t b, int scale_d);
void WgmmaFence();
void WgmmaCommit();
void WgmmaWait(int pending);

template <class D>
struct SumRegister {
  using Type = D;
  static constexpr int kPerRegister = 1;
};
template <>
struct SumRegister<f16> {
  using Type = uint32_t;
  static constexpr int kPerRegister = 2;
};

}  // namespace emu

// The sums of a warpgroup's m64nN product that a thread holds: kCount registers. It must stay where it is while
// products are under way.
template <class T, int kCount>
class Acc {
 public:
  Acc() = default;
  Acc(const Acc&) = delete;
  Acc& operator=(const Acc&) = delete;
  ~Acc() {
    if (state_.in_flight != 0) emu::DropAccumulator(state_);
  }
  T& operator[](int i) {
    emu::TouchAccumulator(state_);
    return r_[i];
  }
  T* registers() { return r_; }
  emu::AccumulatorState& state() { return state_; }

 private:
  T r_[kCount];
  emu::AccumulatorState state_;
};
// The sums of m64nN in type D: float and int32_t have a register each, f16 shares one by two.
template <int kN, class D>
using Sums = Acc<typename emu::SumRegister<D>::Type, kN / 2 / emu::SumRegister<D>::kPerRegister>;

enum Swizzle { kSwizzleNone = 0, kSwizzle128 = 1, kSwizzle64 = 2, kSwizzle32 = 3 };
// An operand in shared memory: docs/cuda_emulator.md says where its elements lie.
template <class T>
inline uint64_t wgmma_descriptor(Shared<T> tile, uint32_t leading_bytes, uint32_t stride_bytes, Swizzle swizzle) {
  return (uint64_t)((Address(tile) & 0x3ffff) >> 4) | (uint64_t)(leading_bytes >> 4) << 16 |
         (uint64_t)(stride_bytes >> 4) << 32 | (uint64_t)swizzle << 62;
}

template <Swizzle kSwizzle, class T>
inline uint64_t wgmma_descriptor(Shared<T> tile, uint32_t leading_bytes, uint32_t stride_bytes) {
  return wgmma_descriptor(tile, leading_bytes, stride_bytes, kSwizzle);
}

enum Major { kMajorK = 0, kMajorMN = 1 };
// d = a * b + (scale_d ? d : 0), m64 x kN x (32 bytes of K).
template <int kN, class D, class A, class B, Major kA = kMajorK, Major kB = kMajorK, class Accumulator>
inline void wgmma(Accumulator& d, uint64_t a, uint64_t b, int scale_d) {
  emu::Wgmma({kN, emu::TypeOf<D>::value, emu::TypeOf<A>::value, emu::TypeOf<B>::value, kA == kMajorMN, kB == kMajorMN},
             d.registers(), d.state(), a, nullptr, b, scale_d);
}
// The same with A in four registers, as mma.sync has it.
template <int kN, class D, class A, class B, Major kB = kMajorK, class Accumulator>
inline void wgmma_rs(Accumulator& d, const uint32_t* a, uint64_t b, int scale_d) {
  emu::Wgmma({kN, emu::TypeOf<D>::value, emu::TypeOf<A>::value, emu::TypeOf<B>::value, false, kB == kMajorMN},
             d.registers(), d.state(), 0, a, b, scale_d);
}
template <class... Tiles>
inline void wgmma_fence(Tiles&...) {
  emu::WgmmaFence();
}
inline void wgmma_commit() { emu::WgmmaCommit(); }
template <int kPending>
inline void wgmma_wait() {
  emu::WgmmaWait(kPending);
}

}  // namespace tw
