// The C layout of a tensor argument, as compiled functions receive it.
//
// Field for field it is DLPack's `DLTensor` (version 1.0), so that a tensor of any framework that speaks DLPack can be
// passed without a copy: cast its `DLTensor*`. The names are ours, so that both headers can be included together.
//
// Terms:
//   lanes         elements of a vector type; 1 for scalars.
//   strides       in elements, not in bytes; null stands for the compact row-major layout.
//   byte_offset   distance from `data` to element [0, ..., 0].
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum TwTypeCode {
  kTwInt = 0,
  kTwUInt = 1,
  kTwFloat = 2,
  kTwBfloat = 4,
  kTwBool = 6,
  kTwFloat8E4M3 = 10,
  kTwFloat8E5M2 = 12,
} TwTypeCode;

typedef struct TwDataType {
  uint8_t code;  // A TwTypeCode.
  uint8_t bits;  // Width of one lane.
  uint16_t lanes;
} TwDataType;

typedef enum TwDeviceType {
  kTwCpu = 1,
  kTwCuda = 2,
} TwDeviceType;

typedef struct TwDevice {
  int32_t device_type;  // A TwDeviceType.
  int32_t device_id;
} TwDevice;

typedef struct TwTensor {
  void* data;
  TwDevice device;
  int32_t ndim;
  TwDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} TwTensor;

#ifdef __cplusplus
}

static_assert(sizeof(TwDataType) == 4 && sizeof(TwDevice) == 8 && sizeof(TwTensor) == 48);
static_assert(offsetof(TwTensor, device) == 8 && offsetof(TwTensor, ndim) == 16 && offsetof(TwTensor, dtype) == 20);
static_assert(offsetof(TwTensor, shape) == 24 && offsetof(TwTensor, strides) == 32);
static_assert(offsetof(TwTensor, byte_offset) == 40);
#endif
