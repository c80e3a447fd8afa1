// cp.async as functions.
#pragma once

extern "C" __device__ void __tw_copy_async(void* to, const void* from, int bytes, int valid);
extern "C" __device__ void __tw_copy_commit();
extern "C" __device__ void __tw_copy_wait(int pending);

TW_CUDA void __pipeline_memcpy_async(void* to, const void* from, unsigned long bytes, unsigned long zero = 0) {
  __tw_copy_async(to, from, (int)bytes, (int)(bytes - zero));
}
TW_CUDA void __pipeline_commit() { __tw_copy_commit(); }
TW_CUDA void __pipeline_wait_prior(int pending) { __tw_copy_wait(pending); }
