// The part of TVM-FFI's binary interface that compiled libraries speak (docs/abi.md): facts about its layout, under our
// own names.
//
// A value is 16 bytes: its type's index, four bytes of zeros, and eight bytes that are a number or a pointer. A tensor
// is a pointer to a DLTensor, or to an object whose header a DLTensor follows.
#pragma once

#include <cstdint>

namespace tilewright {

// Type indices.
inline constexpr int32_t kTvmFfiInt = 1;
inline constexpr int32_t kTvmFfiBool = 2;
inline constexpr int32_t kTvmFfiFloat = 3;
inline constexpr int32_t kTvmFfiTensorPointer = 7;
inline constexpr int32_t kTvmFfiTensor = 70;

// Bytes of the header of an object: counts of references, type index, function that frees it.
inline constexpr int64_t kTvmFfiObjectBytes = 24;

// Functions are found under this prefix.
inline constexpr char kTvmFfiPrefix[] = "__tvm_ffi_";
// void (const char* kind, const char* message): what the next reader of errors in this thread gets.
inline constexpr char kTvmFfiRaise[] = "TVMFFIErrorSetRaisedFromCStr";

}  // namespace tilewright
