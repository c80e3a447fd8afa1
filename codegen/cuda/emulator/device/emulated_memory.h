// Pointers of emulated kernels. On a GPU tw::Global<T> and tw::Shared<T> are plain T*; here they check what is
// accessed.
#pragma once

#include <stdint.h>

#include "codegen/cuda/emulator/device/emulated_types.h"

namespace tw {
namespace emu {

void LoadShared(void* to, uint32_t address, uint32_t bytes);
void StoreShared(uint32_t address, const void* from, uint32_t bytes);
// `array` is what FindArray said of the pointer that a kernel was given.
void LoadGlobal(void* to, const void* from, void* array, uint32_t bytes);
void StoreGlobal(void* to, void* array, const void* from, uint32_t bytes);
void* FindArray(const void* address);
// Accesses of raw pointers (generic.h): the bytes of a shared address, or null; whether global memory may be touched.
void* AccessShared(uint32_t address, uint32_t bytes, bool write);
bool MayAccess(const void* at, void* array, uint32_t bytes, bool write);

using Update = uint64_t (*)(uint64_t old, uint64_t operand, uint64_t other);
uint64_t AtomicShared(uint32_t address, uint32_t bytes, Update update, uint64_t operand, uint64_t other);
uint64_t AtomicGlobal(void* at, void* array, uint32_t bytes, Update update, uint64_t operand, uint64_t other);
uint64_t LoadAcquire(const void* from, void* array, uint32_t bytes);
void StoreRelease(void* to, void* array, uint64_t value, uint32_t bytes);

uint32_t SharedBase(uint32_t byte);                   // the address of a byte of the block's shared memory
uint32_t MapShared(uint32_t address, uint32_t rank);  // the same place in another block of the cluster
void Fence(bool device);                              // __threadfence(), or of the block

template <class T>
struct RemoveConst {
  using Type = T;
};
template <class T>
struct RemoveConst<const T> {
  using Type = T;
};

template <class T>
inline uint64_t ToWord(T value) {
  static_assert(sizeof(T) <= 8);
  uint64_t word = 0;
  __builtin_memcpy(&word, &value, sizeof(T));
  return word;
}
template <class T>
inline T FromWord(uint64_t word) {
  T value;
  __builtin_memcpy(&value, &word, sizeof(T));
  return value;
}

// What *p and p[i] give: loads when it is read, stores when it is assigned.
template <class Pointer>
class Reference {
 public:
  using Value = typename Pointer::Value;
  explicit Reference(Pointer at) : at_(at) {}
  operator Value() const {  // NOLINT: converts as a reference does
    Value value;
    at_.Get(&value, sizeof(Value));
    return value;
  }
  const Reference& operator=(Value value) const {
    at_.Set(&value, sizeof(Value));
    return *this;
  }
  const Reference& operator=(const Reference& other) const { return *this = static_cast<Value>(other); }
  const Reference& operator+=(Value value) const { return *this = static_cast<Value>(*this) + value; }
  const Reference& operator-=(Value value) const { return *this = static_cast<Value>(*this) - value; }
  const Reference& operator*=(Value value) const { return *this = static_cast<Value>(*this) * value; }
  Pointer operator&() const { return at_; }

 private:
  Pointer at_;
};

template <class T>
class SharedPointer {
 public:
  using Value = typename RemoveConst<T>::Type;
  SharedPointer() = default;
  explicit SharedPointer(uint32_t address) : address_(address) {}
  operator SharedPointer<const T>() const { return SharedPointer<const T>(address_); }  // NOLINT: as T* does

  uint32_t address() const { return address_; }
  void Get(void* to, uint32_t bytes) const { LoadShared(to, address_, bytes); }
  void Set(const void* from, uint32_t bytes) const { StoreShared(address_, from, bytes); }
  uint64_t Atomic(Update update, uint64_t operand, uint64_t other) const {
    return AtomicShared(address_, sizeof(T), update, operand, other);
  }

  SharedPointer operator+(int64_t i) const {
    return SharedPointer(address_ + static_cast<uint32_t>(i * static_cast<int64_t>(sizeof(T))));
  }
  SharedPointer operator-(int64_t i) const { return *this + -i; }
  SharedPointer& operator+=(int64_t i) { return *this = *this + i; }
  SharedPointer& operator++() { return *this += 1; }
  Reference<SharedPointer> operator[](int64_t i) const { return Reference(*this + i); }
  Reference<SharedPointer> operator*() const { return Reference(*this); }

 private:
  uint32_t address_ = 0;  // block of the cluster << 24 | byte
};

template <class T>
class GlobalPointer {
 public:
  using Value = typename RemoveConst<T>::Type;
  GlobalPointer() = default;
  GlobalPointer(T* p) : p_(p), array_(FindArray(p)) {}  // NOLINT: a kernel's argument is a T*
  GlobalPointer(T* p, void* array) : p_(p), array_(array) {}
  operator GlobalPointer<const T>() const { return {p_, array_}; }  // NOLINT: as T* does

  T* raw() const { return p_; }
  void* array() const { return array_; }
  void Get(void* to, uint32_t bytes) const { LoadGlobal(to, p_, array_, bytes); }
  void Set(const void* from, uint32_t bytes) const { StoreGlobal(p_, array_, from, bytes); }
  uint64_t Atomic(Update update, uint64_t operand, uint64_t other) const {
    return AtomicGlobal(p_, array_, sizeof(T), update, operand, other);
  }

  // Addresses out of bounds are computed, not accessed; so by integers.
  GlobalPointer operator+(int64_t i) const {
    return {reinterpret_cast<T*>(reinterpret_cast<intptr_t>(p_) + i * static_cast<int64_t>(sizeof(T))), array_};
  }
  GlobalPointer operator-(int64_t i) const { return *this + -i; }
  GlobalPointer& operator+=(int64_t i) { return *this = *this + i; }
  GlobalPointer& operator++() { return *this += 1; }
  Reference<GlobalPointer> operator[](int64_t i) const { return Reference(*this + i); }
  Reference<GlobalPointer> operator*() const { return Reference(*this); }

 private:
  T* p_ = nullptr;
  void* array_ = nullptr;
};

template <class T>
uint64_t AddWords(uint64_t old, uint64_t operand, uint64_t /*other*/) {
  return ToWord<T>(static_cast<T>(FromWord<T>(old) + FromWord<T>(operand)));
}
template <class T>
uint64_t MaxWords(uint64_t old, uint64_t operand, uint64_t /*other*/) {
  return FromWord<T>(operand) > FromWord<T>(old) ? operand : old;
}
template <class T>
uint64_t MinWords(uint64_t old, uint64_t operand, uint64_t /*other*/) {
  return FromWord<T>(operand) < FromWord<T>(old) ? operand : old;
}
inline uint64_t AndWords(uint64_t old, uint64_t operand, uint64_t /*other*/) { return old & operand; }
inline uint64_t OrWords(uint64_t old, uint64_t operand, uint64_t /*other*/) { return old | operand; }
inline uint64_t XorWords(uint64_t old, uint64_t operand, uint64_t /*other*/) { return old ^ operand; }
inline uint64_t ExchangeWords(uint64_t /*old*/, uint64_t operand, uint64_t /*other*/) { return operand; }
inline uint64_t CompareWords(uint64_t old, uint64_t compare, uint64_t value) { return old == compare ? value : old; }
inline uint64_t IncrementWords(uint64_t old, uint64_t limit, uint64_t /*other*/) { return old >= limit ? 0 : old + 1; }
uint64_t AddPairsF16(uint64_t old, uint64_t operand, uint64_t other);
uint64_t AddPairsBf16(uint64_t old, uint64_t operand, uint64_t other);

template <class Pointer>
using ValueOf = typename Pointer::Value;

}  // namespace emu

template <class T>
using Shared = emu::SharedPointer<T>;
template <class T>
using Global = emu::GlobalPointer<T>;

// The object at a byte of the block's shared memory.
template <class T>
inline Shared<T> SharedAt(uint32_t byte) {
  return Shared<T>(emu::SharedBase(byte));
}
// The same address as a pointer to another type.
template <class U, class T>
inline Shared<U> Cast(Shared<T> p) {
  return Shared<U>(p.address());
}
template <class U, class T>
inline Global<U> Cast(Global<T> p) {
  return {reinterpret_cast<U*>(p.raw()), p.array()};
}
template <class U, class T>
inline Global<const U> Cast(Global<const T> p) {
  return {reinterpret_cast<const U*>(p.raw()), p.array()};
}
// The address within shared memory, as instructions take it.
template <class T>
inline uint32_t Address(Shared<T> p) {
  return p.address() & 0xffffff;
}
// The same place in the shared memory of another block of the cluster.
template <class T>
inline Shared<T> map_shared(Shared<T> p, uint32_t rank) {
  return Shared<T>(emu::MapShared(p.address(), rank));
}

// Accesses of several elements at once: V is as large as the access.
template <class V, template <class> class Pointer, class T>
inline V Load(Pointer<T> p) {
  V v;
  p.Get(&v, sizeof(V));
  return v;
}
template <class V, template <class> class Pointer, class T>
inline void Store(Pointer<T> p, V v) {
  p.Set(&v, sizeof(V));
}

// Loads and stores that order what threads of other blocks do (ld.acquire.gpu, st.release.gpu).
template <class T>
inline emu::ValueOf<Global<T>> load_acquire(Global<T> p) {
  return emu::FromWord<emu::ValueOf<Global<T>>>(emu::LoadAcquire(p.raw(), p.array(), sizeof(T)));
}
template <class T>
inline void store_release(Global<T> p, T v) {
  emu::StoreRelease(p.raw(), p.array(), emu::ToWord(v), sizeof(T));
}

// red.add of two 16-bit values.
template <class Pointer>
inline void red_add_f16x2(Pointer p, uint32_t pair) {
  Cast<uint32_t>(p).Atomic(&emu::AddPairsF16, pair, 0);
}
template <class Pointer>
inline void red_add_bf16x2(Pointer p, uint32_t pair) {
  Cast<uint32_t>(p).Atomic(&emu::AddPairsBf16, pair, 0);
}

}  // namespace tw

#define TW_EMULATED_ATOMIC(name, update)                                            \
  template <class Pointer>                                                          \
  inline tw::emu::ValueOf<Pointer> name(Pointer p, tw::emu::ValueOf<Pointer> v) {   \
    using T = tw::emu::ValueOf<Pointer>;                                            \
    return tw::emu::FromWord<T>(p.Atomic(&tw::emu::update, tw::emu::ToWord(v), 0)); \
  }
TW_EMULATED_ATOMIC(atomicAdd, AddWords<T>)
TW_EMULATED_ATOMIC(atomicMax, MaxWords<T>)
TW_EMULATED_ATOMIC(atomicMin, MinWords<T>)
TW_EMULATED_ATOMIC(atomicAnd, AndWords)
TW_EMULATED_ATOMIC(atomicOr, OrWords)
TW_EMULATED_ATOMIC(atomicXor, XorWords)
TW_EMULATED_ATOMIC(atomicExch, ExchangeWords)
TW_EMULATED_ATOMIC(atomicInc, IncrementWords)
#undef TW_EMULATED_ATOMIC
template <class Pointer>
inline tw::emu::ValueOf<Pointer> atomicCAS(Pointer p, tw::emu::ValueOf<Pointer> compare, tw::emu::ValueOf<Pointer> v) {
  using T = tw::emu::ValueOf<Pointer>;
  return tw::emu::FromWord<T>(p.Atomic(&tw::emu::CompareWords, tw::emu::ToWord(compare), tw::emu::ToWord(v)));
}

inline void __threadfence() { tw::emu::Fence(true); }
inline void __threadfence_block() { tw::emu::Fence(false); }
