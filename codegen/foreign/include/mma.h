// nvcuda::wmma.
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"

extern "C" __device__ void __tw_wmma_load(void* fragment, const void* from, unsigned shape, unsigned stride,
                                          int row_major);
extern "C" __device__ void __tw_wmma_store(void* to, const void* fragment, unsigned shape, unsigned stride,
                                           int row_major);
extern "C" __device__ void __tw_wmma_multiply(void* d, const void* a, const void* b, const void* c, unsigned shape,
                                              int b_type, int sum_type);

namespace nvcuda {
namespace wmma {

struct matrix_a {
  static constexpr unsigned kUse = 0;
};
struct matrix_b {
  static constexpr unsigned kUse = 1;
};
struct accumulator {
  static constexpr unsigned kUse = 2;
};
struct row_major {
  static constexpr int kRowMajor = 1;
};
struct col_major {
  static constexpr int kRowMajor = 0;
};
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32 {};
}  // namespace precision

// How an element is stored, and the emulator's number of its type.
template <class T>
struct __tw_element;
#define TW_ELEMENT(type, stored, number)      \
  template <>                                 \
  struct __tw_element<type> {                 \
    using Stored = stored;                    \
    static constexpr unsigned kType = number; \
  };
TW_ELEMENT(float, float, 0)
TW_ELEMENT(__half, __half, 1)
TW_ELEMENT(__nv_bfloat16, __nv_bfloat16, 2)
TW_ELEMENT(precision::tf32, float, 3)
TW_ELEMENT(signed char, signed char, 6)
TW_ELEMENT(unsigned char, unsigned char, 7)
TW_ELEMENT(int, int, 8)
#undef TW_ELEMENT

template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment {
  using element_type = typename __tw_element<T>::Stored;
  using storage_element_type = element_type;
  static constexpr unsigned kShape =
      Use::kUse | __tw_element<T>::kType << 4 | (unsigned)m << 8 | (unsigned)n << 16 | (unsigned)k << 24;
  static constexpr int num_elements = (Use::kUse == 0 ? m * k : Use::kUse == 1 ? n * k : m * n) / warpSize;
  static constexpr int num_storage_elements = num_elements;
  __attribute__((aligned(4))) element_type x[num_elements];
};

template <class Use, int m, int n, int k, class T, class Layout>
TW_CUDA void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& f,
                              const typename fragment<Use, m, n, k, T, Layout>::element_type* from, unsigned stride) {
  __tw_wmma_load(f.x, from, f.kShape, stride, Layout::kRowMajor);
}
template <int m, int n, int k, class T>
TW_CUDA void load_matrix_sync(fragment<accumulator, m, n, k, T>& f, const T* from, unsigned stride, layout_t layout) {
  __tw_wmma_load(f.x, from, f.kShape, stride, layout == mem_row_major);
}
template <int m, int n, int k, class T>
TW_CUDA void store_matrix_sync(T* to, const fragment<accumulator, m, n, k, T>& f, unsigned stride, layout_t layout) {
  __tw_wmma_store(to, f.x, f.kShape, stride, layout == mem_row_major);
}
template <class Fragment, class T>
TW_CUDA void fill_fragment(Fragment& f, const T& value) {
  for (int i = 0; i < f.num_elements; ++i) f.x[i] = value;
}
template <int m, int n, int k, class A, class LayoutA, class B, class LayoutB, class D, class C>
TW_CUDA void mma_sync(fragment<accumulator, m, n, k, D>& d, const fragment<matrix_a, m, n, k, A, LayoutA>& a,
                      const fragment<matrix_b, m, n, k, B, LayoutB>& b, const fragment<accumulator, m, n, k, C>& c) {
  static_assert(__tw_element<C>::kType == __tw_element<D>::kType, "sums of one type");
  __tw_wmma_multiply(d.x, a.x, b.x, c.x, a.kShape, (int)__tw_element<B>::kType, (int)__tw_element<D>::kType);
}
extern "C" __device__ float __tw_round_to_tf32(float value);
TW_CUDA float __float_to_tf32(float value) { return __tw_round_to_tf32(value); }

}  // namespace wmma
}  // namespace nvcuda
