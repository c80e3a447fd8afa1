// What the text of a kernel includes. One text compiles for a GPU (nvcc, NVRTC) and for the emulator (a host
// compiler): both sides define the same names, which docs/cuda_emulator.md lists.
#pragma once

#ifdef __CUDACC__
#include "codegen/cuda/emulator/device/device.cuh"
#else
#include "codegen/cuda/emulator/device/emulated.h"
#endif
