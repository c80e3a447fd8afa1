// Tensor maps, and the part of the driver's interface that makes them: LAUNCH.json makes them here.
#pragma once

#include <stdint.h>

#include "cuda_runtime.h"

#define CUDA_VERSION 12080

typedef struct CUtensorMap_st {
  alignas(64) uint64_t opaque[16];
} CUtensorMap;
typedef unsigned int CUresult;
typedef unsigned long long CUdeviceptr;
typedef uint32_t cuuint32_t;
typedef uint64_t cuuint64_t;
