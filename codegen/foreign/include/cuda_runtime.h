// What the host's part of a text may name. It is read and not run: LAUNCH.json launches the kernel.
#pragma once

#include <stddef.h>

typedef enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
} cudaError_t;
typedef enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault,
} cudaMemcpyKind;
typedef enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 13,
} cudaFuncAttribute;
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;

extern "C" cudaError_t cudaConfigureCall(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0);
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0, void* stream = 0);
extern "C" cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                                        cudaStream_t stream);
extern "C" cudaError_t cudaMalloc(void** pointer, size_t bytes);
template <class T>
cudaError_t cudaMalloc(T** pointer, size_t bytes) {
  return cudaMalloc((void**)pointer, bytes);
}
extern "C" cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags = 1);
template <class T>
cudaError_t cudaMallocManaged(T** pointer, size_t bytes, unsigned flags = 1) {
  return cudaMallocManaged((void**)pointer, bytes, flags);
}
extern "C" cudaError_t cudaMallocHost(void** pointer, size_t bytes);
extern "C" cudaError_t cudaFree(void* pointer);
extern "C" cudaError_t cudaFreeHost(void* pointer);
extern "C" cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);
extern "C" cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                                       cudaStream_t stream = 0);
extern "C" cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset = 0,
                                          cudaMemcpyKind kind = cudaMemcpyHostToDevice);
template <class T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t bytes, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return cudaMemcpyToSymbol((const void*)&symbol, from, bytes, offset, kind);
}
extern "C" cudaError_t cudaMemset(void* to, int value, size_t bytes);
extern "C" cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream = 0);
extern "C" cudaError_t cudaDeviceSynchronize();
extern "C" cudaError_t cudaGetLastError();
extern "C" cudaError_t cudaPeekAtLastError();
extern "C" const char* cudaGetErrorString(cudaError_t error);
extern "C" cudaError_t cudaSetDevice(int device);
extern "C" cudaError_t cudaGetDevice(int* device);
extern "C" cudaError_t cudaStreamCreate(cudaStream_t* stream);
extern "C" cudaError_t cudaStreamSynchronize(cudaStream_t stream);
extern "C" cudaError_t cudaStreamDestroy(cudaStream_t stream);
extern "C" cudaError_t cudaEventCreate(cudaEvent_t* event);
extern "C" cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0);
extern "C" cudaError_t cudaEventSynchronize(cudaEvent_t event);
extern "C" cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);
extern "C" cudaError_t cudaEventDestroy(cudaEvent_t event);
extern "C" cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value);
template <class T>
cudaError_t cudaFuncSetAttribute(T* kernel, cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute((const void*)kernel, attribute, value);
}
extern "C" cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream);
extern "C" cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream);
extern "C" cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
extern "C" cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
extern "C" const char* cudaGetErrorName(cudaError_t error);
extern "C" cudaError_t cudaDeviceReset();
extern "C" cudaError_t cudaGetDeviceCount(int* count);
extern "C" cudaError_t cudaProfilerStart();
extern "C" cudaError_t cudaProfilerStop();
template <class T>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, T kernel, int threads, size_t shared);
struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerBlockOptin, sharedMemPerMultiprocessor;
  int regsPerBlock, warpSize, maxThreadsPerBlock, major, minor, multiProcessorCount, clockRate, memoryClockRate;
  int memoryBusWidth, l2CacheSize, maxThreadsPerMultiProcessor, maxGridSize[3], maxThreadsDim[3];
};
extern "C" cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
extern "C" cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned flags);
extern "C" cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                    size_t height, cudaMemcpyKind kind);
extern "C" cudaError_t cudaMemGetInfo(size_t* free, size_t* total);
extern "C" cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
extern "C" cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                                   size_t shared = 0, cudaStream_t stream = 0);
template <class T>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, T kernel, size_t shared = 0, int limit = 0);
