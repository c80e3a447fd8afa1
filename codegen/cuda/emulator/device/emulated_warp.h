// Barriers and exchange between the lanes of a warp.
#pragma once

#include <stdint.h>

#include "codegen/cuda/emulator/device/emulated_memory.h"
#include "codegen/cuda/emulator/device/emulated_types.h"

namespace tw::emu {

void BlockBarrier();
int BlockBarrierReduce(int kind, int predicate);  // 0 count, 1 and, 2 or
void WarpBarrier(uint32_t mask);
enum ShuffleKind : uint8_t { kIndex, kUp, kDown, kXor };
uint64_t Shuffle(ShuffleKind kind, uint32_t mask, uint64_t value, uint32_t bytes, int lane, int width);
uint32_t Ballot(uint32_t mask, bool predicate);
enum ReduceKind : uint8_t {
  kReduceAdd,
  kReduceMin,
  kReduceMax,
  kReduceMinSigned,
  kReduceMaxSigned,
  kReduceAnd,
  kReduceOr,
  kReduceXor
};
uint32_t Reduce(ReduceKind kind, uint32_t mask, uint32_t value);
bool Elect();
void NamedBarrier(int id, int threads, bool wait);

}  // namespace tw::emu

inline void __syncthreads() { tw::emu::BlockBarrier(); }
inline int __syncthreads_count(int predicate) { return tw::emu::BlockBarrierReduce(0, predicate); }
inline int __syncthreads_and(int predicate) { return tw::emu::BlockBarrierReduce(1, predicate); }
inline int __syncthreads_or(int predicate) { return tw::emu::BlockBarrierReduce(2, predicate); }
inline void __syncwarp(uint32_t mask = 0xffffffffu) { tw::emu::WarpBarrier(mask); }

#define TW_EMULATED_SHUFFLE(name, kind, argument)                                                                 \
  template <class T>                                                                                              \
  inline T name(uint32_t mask, T value, argument lane, int width = 32) {                                          \
    return tw::emu::FromWord<T>(                                                                                  \
        tw::emu::Shuffle(tw::emu::kind, mask, tw::emu::ToWord(value), sizeof(T), static_cast<int>(lane), width)); \
  }
TW_EMULATED_SHUFFLE(__shfl_sync, kIndex, int)
TW_EMULATED_SHUFFLE(__shfl_up_sync, kUp, unsigned)
TW_EMULATED_SHUFFLE(__shfl_down_sync, kDown, unsigned)
TW_EMULATED_SHUFFLE(__shfl_xor_sync, kXor, int)
#undef TW_EMULATED_SHUFFLE

inline uint32_t __ballot_sync(uint32_t mask, int predicate) { return tw::emu::Ballot(mask, predicate != 0); }
inline int __any_sync(uint32_t mask, int predicate) { return tw::emu::Ballot(mask, predicate != 0) != 0; }
inline int __all_sync(uint32_t mask, int predicate) { return tw::emu::Ballot(mask, predicate != 0) == mask; }
inline uint32_t __reduce_add_sync(uint32_t mask, uint32_t v) { return tw::emu::Reduce(tw::emu::kReduceAdd, mask, v); }
inline int __reduce_add_sync(uint32_t mask, int v) {
  return static_cast<int>(tw::emu::Reduce(tw::emu::kReduceAdd, mask, static_cast<uint32_t>(v)));
}
inline uint32_t __reduce_min_sync(uint32_t mask, uint32_t v) { return tw::emu::Reduce(tw::emu::kReduceMin, mask, v); }
inline int __reduce_min_sync(uint32_t mask, int v) {
  return static_cast<int>(tw::emu::Reduce(tw::emu::kReduceMinSigned, mask, static_cast<uint32_t>(v)));
}
inline uint32_t __reduce_max_sync(uint32_t mask, uint32_t v) { return tw::emu::Reduce(tw::emu::kReduceMax, mask, v); }
inline int __reduce_max_sync(uint32_t mask, int v) {
  return static_cast<int>(tw::emu::Reduce(tw::emu::kReduceMaxSigned, mask, static_cast<uint32_t>(v)));
}
inline uint32_t __reduce_and_sync(uint32_t mask, uint32_t v) { return tw::emu::Reduce(tw::emu::kReduceAnd, mask, v); }
inline uint32_t __reduce_or_sync(uint32_t mask, uint32_t v) { return tw::emu::Reduce(tw::emu::kReduceOr, mask, v); }
inline uint32_t __reduce_xor_sync(uint32_t mask, uint32_t v) { return tw::emu::Reduce(tw::emu::kReduceXor, mask, v); }
inline int __popc(uint32_t v) { return __builtin_popcount(v); }
inline int __ffs(int v) { return __builtin_ffs(v); }

namespace tw {

// Dot products of four bytes, added to `c`. The signs are those of the operands' types.
template <class A, class B>
inline int dp4a(uint32_t a, uint32_t b, int c) {
  for (int i = 0; i < 4; ++i) c += static_cast<A>(a >> (8 * i)) * static_cast<B>(b >> (8 * i));
  return c;
}

// True in one lane of the warp.
inline bool elect_one() { return emu::Elect(); }
// bar.sync and bar.arrive of `threads` threads.
inline void named_barrier(int id, int threads) { emu::NamedBarrier(id, threads, true); }
inline void named_barrier_arrive(int id, int threads) { emu::NamedBarrier(id, threads, false); }

}  // namespace tw
