// Atomic operations and loads with hints.
#pragma once

namespace tw_cuda {

template <class T>
struct TypeOf;
#define TW_ATOMIC_TYPE(type, number)       \
  template <>                              \
  struct TypeOf<type> {                    \
    static constexpr int kNumber = number; \
  };
TW_ATOMIC_TYPE(int, 0)
TW_ATOMIC_TYPE(unsigned, 1)
TW_ATOMIC_TYPE(long long, 2)
TW_ATOMIC_TYPE(long, 2)
TW_ATOMIC_TYPE(unsigned long long, 3)
TW_ATOMIC_TYPE(unsigned long, 3)
TW_ATOMIC_TYPE(float, 4)
TW_ATOMIC_TYPE(double, 5)
#undef TW_ATOMIC_TYPE

template <class T>
TW_CUDA unsigned long long Bits(T value) {
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <class T>
TW_CUDA T FromBits(unsigned long long bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}
template <class T>
TW_CUDA T Atomic(T* p, int operation, T operand, T other = T()) {
  return FromBits<T>(__tw_atomic((void*)p, TypeOf<T>::kNumber, operation, Bits(operand), Bits(other)));
}

}  // namespace tw_cuda

#define TW_ATOMIC(name, operation, type)                                                        \
  TW_CUDA type name(type* p, type v) { return tw_cuda::Atomic<type>(p, operation, v); }         \
  TW_CUDA type name##_block(type* p, type v) { return tw_cuda::Atomic<type>(p, operation, v); } \
  TW_CUDA type name##_system(type* p, type v) { return tw_cuda::Atomic<type>(p, operation, v); }
#define TW_ATOMIC_INTEGERS(name, operation) \
  TW_ATOMIC(name, operation, int)           \
  TW_ATOMIC(name, operation, unsigned)      \
  TW_ATOMIC(name, operation, long long)     \
  TW_ATOMIC(name, operation, unsigned long long)
TW_ATOMIC_INTEGERS(atomicAdd, 0)
TW_ATOMIC(atomicAdd, 0, float)
TW_ATOMIC(atomicAdd, 0, double)
TW_ATOMIC_INTEGERS(atomicMax, 1)
TW_ATOMIC_INTEGERS(atomicMin, 2)
TW_ATOMIC_INTEGERS(atomicAnd, 3)
TW_ATOMIC_INTEGERS(atomicOr, 4)
TW_ATOMIC_INTEGERS(atomicXor, 5)
TW_ATOMIC_INTEGERS(atomicExch, 6)
TW_ATOMIC(atomicExch, 6, float)
TW_ATOMIC(atomicInc, 8, unsigned)
TW_ATOMIC(atomicDec, 9, unsigned)
#undef TW_ATOMIC_INTEGERS
#undef TW_ATOMIC
TW_CUDA int atomicSub(int* p, int v) { return atomicAdd(p, -v); }
TW_CUDA unsigned atomicSub(unsigned* p, unsigned v) { return atomicAdd(p, 0u - v); }
#define TW_ATOMIC_CAS(type) \
  TW_CUDA type atomicCAS(type* p, type compare, type v) { return tw_cuda::Atomic<type>(p, 7, compare, v); }
TW_ATOMIC_CAS(int)
TW_ATOMIC_CAS(unsigned)
TW_ATOMIC_CAS(long long)
TW_ATOMIC_CAS(unsigned long long)
#undef TW_ATOMIC_CAS

// Loads and stores that say how they are cached: a cache changes nothing here.
#define TW_LOAD(name)          \
  template <class T>           \
  TW_CUDA T name(const T* p) { \
    return *p;                 \
  }
TW_LOAD(__ldg)
TW_LOAD(__ldcg)
TW_LOAD(__ldca)
TW_LOAD(__ldcs)
TW_LOAD(__ldlu)
TW_LOAD(__ldcv)
#undef TW_LOAD
#define TW_STORE(name)               \
  template <class T>                 \
  TW_CUDA void name(T* p, T value) { \
    *p = value;                      \
  }
TW_STORE(__stwb)
TW_STORE(__stcg)
TW_STORE(__stcs)
TW_STORE(__stwt)
#undef TW_STORE
