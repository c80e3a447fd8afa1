// Softmax of rows, a warp for each: the maximum and the sum go through the lanes by shuffles.
#include <cuda_fp16.h>

template <class Combine>
__device__ float warp_reduce(float value, Combine combine) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

struct Max {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};

__global__ void softmax(const __half* x, float* y, int rows, int columns) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  const __half* from = x + row * columns;
  float largest = -INFINITY;
  for (int i = threadIdx.x; i < columns; i += 32) largest = fmaxf(largest, __half2float(from[i]));
  largest = warp_reduce(largest, Max());
  float sum = 0.0f;
  for (int i = threadIdx.x; i < columns; i += 32) sum += expf(__half2float(from[i]) - largest);
  sum = warp_reduce(sum, Sum());
  for (int i = threadIdx.x; i < columns; i += 32) y[row * columns + i] = expf(__half2float(from[i]) - largest) / sum;
}
