// Exchange between the lanes of a warp.
#pragma once

#define TW_SHUFFLE(name, kind, Lane)                                                                       \
  template <class T>                                                                                       \
  TW_CUDA T name(unsigned mask, T value, Lane lane, int width = 32) {                                      \
    static_assert(sizeof(T) <= 8, "a shuffle moves 4 or 8 bytes");                                         \
    constexpr int kBytes = sizeof(T) <= 4 ? 4 : 8;                                                         \
    return tw_cuda::FromBits<T>(__tw_shuffle(kind, mask, tw_cuda::Bits(value), kBytes, (int)lane, width)); \
  }
TW_SHUFFLE(__shfl_sync, 0, int)
TW_SHUFFLE(__shfl_up_sync, 1, unsigned)
TW_SHUFFLE(__shfl_down_sync, 2, unsigned)
TW_SHUFFLE(__shfl_xor_sync, 3, int)
#undef TW_SHUFFLE

TW_CUDA unsigned __ballot_sync(unsigned mask, int predicate) { return __tw_ballot(mask, predicate); }
TW_CUDA int __any_sync(unsigned mask, int predicate) { return __tw_ballot(mask, predicate) != 0; }
TW_CUDA int __all_sync(unsigned mask, int predicate) { return __tw_ballot(mask, predicate) == mask; }
TW_CUDA unsigned __reduce_add_sync(unsigned mask, unsigned v) { return __tw_reduce(0, mask, v); }
TW_CUDA int __reduce_add_sync(unsigned mask, int v) { return (int)__tw_reduce(0, mask, (unsigned)v); }
TW_CUDA unsigned __reduce_min_sync(unsigned mask, unsigned v) { return __tw_reduce(1, mask, v); }
TW_CUDA int __reduce_min_sync(unsigned mask, int v) { return (int)__tw_reduce(3, mask, (unsigned)v); }
TW_CUDA unsigned __reduce_max_sync(unsigned mask, unsigned v) { return __tw_reduce(2, mask, v); }
TW_CUDA int __reduce_max_sync(unsigned mask, int v) { return (int)__tw_reduce(4, mask, (unsigned)v); }
TW_CUDA unsigned __reduce_and_sync(unsigned mask, unsigned v) { return __tw_reduce(5, mask, v); }
TW_CUDA unsigned __reduce_or_sync(unsigned mask, unsigned v) { return __tw_reduce(6, mask, v); }
TW_CUDA unsigned __reduce_xor_sync(unsigned mask, unsigned v) { return __tw_reduce(7, mask, v); }
template <class T>
TW_CUDA unsigned __match_any_sync(unsigned mask, T value) {
  unsigned equal = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if (mask >> lane & 1) equal |= (unsigned)(__shfl_sync(mask, value, lane) == value) << lane;
  }
  return equal;
}
