// Matrix instructions of warps: ldmatrix, stmatrix, movmatrix, mma.sync, wmma.
#pragma once

#include <stdint.h>

#include "codegen/cuda/emulator/device/emulated_memory.h"
#include "codegen/cuda/emulator/device/emulated_types.h"

namespace tw {
namespace emu {

void LoadMatrices(uint32_t* r, int count, bool transpose, uint32_t row);
void StoreMatrices(uint32_t row, int count, bool transpose, const uint32_t* r);
uint32_t MoveMatrix(uint32_t r);

// Element types of operands and sums.
enum Type : uint8_t { kF32, kF16, kBf16, kTf32, kE4m3, kE5m2, kS8, kU8, kS32 };
template <class T>
struct TypeOf;
#define TW_EMULATED_TYPE(type, name)    \
  template <>                           \
  struct TypeOf<type> {                 \
    static constexpr Type value = name; \
  };
TW_EMULATED_TYPE(float, kF32)
TW_EMULATED_TYPE(f16, kF16)
TW_EMULATED_TYPE(bf16, kBf16)
TW_EMULATED_TYPE(tf32, kTf32)
TW_EMULATED_TYPE(e4m3, kE4m3)
TW_EMULATED_TYPE(e5m2, kE5m2)
TW_EMULATED_TYPE(s8, kS8)
TW_EMULATED_TYPE(u8, kU8)
TW_EMULATED_TYPE(int32_t, kS32)
#undef TW_EMULATED_TYPE

enum MmaId : uint8_t {
#define TW_MMA(name, ptx, m, n, k, d, a, b, register_type, d_registers, a_registers, b_registers) kMma_##name,
#include "codegen/cuda/emulator/device/mma.inc"
#undef TW_MMA
};
void Mma(MmaId id, void* d, const uint32_t* a, const uint32_t* b);

enum WmmaUse : uint8_t { kUseA, kUseB, kUseSum };
struct WmmaShape {
  WmmaUse use;
  Type type;
  uint8_t m, n, k;
};
// `space` is an array of global memory, or null for shared memory, whose address is then in `at`.
void WmmaLoad(const WmmaShape& shape, uint32_t* r, uint64_t at, void* array, uint32_t stride, bool row_major);
void WmmaStore(const WmmaShape& shape, const uint32_t* r, uint64_t at, void* array, uint32_t stride, bool row_major);
void WmmaMultiply(const WmmaShape& a, Type b, uint32_t* d, const uint32_t* ra, const uint32_t* rb, const uint32_t* c,
                  Type sum);

template <class T>
inline uint64_t PlaceOf(Shared<T> p) {
  return p.address();
}
template <class T>
inline void* ArrayOf(Shared<T>) {
  return nullptr;
}
template <class T>
inline uint64_t PlaceOf(Global<T> p) {
  return reinterpret_cast<uint64_t>(p.raw());
}
template <class T>
inline void* ArrayOf(Global<T> p) {
  return p.array();
}

}  // namespace emu

// 8x8 matrices of 16-bit elements. Lane 8 i + j gives the address of row j of matrix i; register i of a lane holds two
// neighbours of row lane / 4 (transposed: of column lane / 4).
template <class T>
inline void ldmatrix_x1(uint32_t* r, Shared<T> row) {
  emu::LoadMatrices(r, 1, false, row.address());
}
template <class T>
inline void ldmatrix_x2(uint32_t* r, Shared<T> row) {
  emu::LoadMatrices(r, 2, false, row.address());
}
template <class T>
inline void ldmatrix_x4(uint32_t* r, Shared<T> row) {
  emu::LoadMatrices(r, 4, false, row.address());
}
template <class T>
inline void ldmatrix_x1_trans(uint32_t* r, Shared<T> row) {
  emu::LoadMatrices(r, 1, true, row.address());
}
template <class T>
inline void ldmatrix_x2_trans(uint32_t* r, Shared<T> row) {
  emu::LoadMatrices(r, 2, true, row.address());
}
template <class T>
inline void ldmatrix_x4_trans(uint32_t* r, Shared<T> row) {
  emu::LoadMatrices(r, 4, true, row.address());
}
template <class T>
inline void stmatrix_x1(Shared<T> row, const uint32_t* r) {
  emu::StoreMatrices(row.address(), 1, false, r);
}
template <class T>
inline void stmatrix_x2(Shared<T> row, const uint32_t* r) {
  emu::StoreMatrices(row.address(), 2, false, r);
}
template <class T>
inline void stmatrix_x4(Shared<T> row, const uint32_t* r) {
  emu::StoreMatrices(row.address(), 4, false, r);
}
template <class T>
inline void stmatrix_x1_trans(Shared<T> row, const uint32_t* r) {
  emu::StoreMatrices(row.address(), 1, true, r);
}
template <class T>
inline void stmatrix_x2_trans(Shared<T> row, const uint32_t* r) {
  emu::StoreMatrices(row.address(), 2, true, r);
}
template <class T>
inline void stmatrix_x4_trans(Shared<T> row, const uint32_t* r) {
  emu::StoreMatrices(row.address(), 4, true, r);
}
// The transpose of a matrix that the warp holds as ldmatrix_x1 gives it.
inline uint32_t movmatrix_trans(uint32_t r) { return emu::MoveMatrix(r); }

#define TW_MMA(name, ptx, m, n, k, d_type, a_type, b_type, register_type, d_registers, a_registers, b_registers) \
  inline void mma_##name(register_type* d, const uint32_t* a, const uint32_t* b) {                               \
    emu::Mma(emu::kMma_##name, d, a, b);                                                                         \
  }
#include "codegen/cuda/emulator/device/mma.inc"
#undef TW_MMA

// wmma: the tile of a warp. Which lane holds which element is not defined (and differs from launch to launch here): all
// elements of a sum may be treated alike (`r`), nothing else.
template <int kM, int kN, int kK, class T>
struct WmmaA {
  uint32_t r[kM * kK * (int)sizeof(T) / 128];
  static constexpr emu::WmmaShape shape = {emu::kUseA, emu::TypeOf<T>::value, kM, kN, kK};
};
template <int kM, int kN, int kK, class T>
struct WmmaB {
  uint32_t r[kN * kK * (int)sizeof(T) / 128];
  static constexpr emu::WmmaShape shape = {emu::kUseB, emu::TypeOf<T>::value, kM, kN, kK};
};
template <int kM, int kN, int kK, class T>  // T: float, int32_t, f16
struct WmmaSum {
  using Element = T;
  static constexpr int kElements = kM * kN / 32;
  Element r[kElements];
  static constexpr emu::WmmaShape shape = {emu::kUseSum, emu::TypeOf<T>::value, kM, kN, kK};
};

enum WmmaOrder { kRowMajor, kColumnMajor };
// Loads a tile whose rows (columns) are `stride` elements apart.
template <WmmaOrder kOrder, class Tile, class Pointer>
inline void wmma_load(Tile& tile, Pointer from, uint32_t stride) {
  emu::WmmaLoad(Tile::shape, reinterpret_cast<uint32_t*>(tile.r), emu::PlaceOf(from), emu::ArrayOf(from), stride,
                kOrder == kRowMajor);
}
template <WmmaOrder kOrder, class Tile, class Pointer>
inline void wmma_store(Pointer to, const Tile& tile, uint32_t stride) {
  emu::WmmaStore(Tile::shape, reinterpret_cast<const uint32_t*>(tile.r), emu::PlaceOf(to), emu::ArrayOf(to), stride,
                 kOrder == kRowMajor);
}
template <class Tile>
inline void wmma_fill(Tile& tile, typename Tile::Element value) {
  for (auto& element : tile.r) element = value;
}
// d = a * b + c, where the layouts of a and b in memory are those they were loaded from.
template <class D, class A, class B>
inline void wmma_multiply(D& d, const A& a, const B& b, const D& c) {
  emu::WmmaMultiply(A::shape, B::shape.type, reinterpret_cast<uint32_t*>(d.r), a.r, b.r,
                    reinterpret_cast<const uint32_t*>(c.r), D::shape.type);
}

}  // namespace tw
