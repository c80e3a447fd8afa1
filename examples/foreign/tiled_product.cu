// C = A * B of floats: a block computes a tile of C from tiles of A and B in shared memory.
constexpr int kTile = 16;

__global__ void tiled_product(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float a[kTile][kTile];
  __shared__ float b[kTile][kTile + 1];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0f;
  for (int k0 = 0; k0 < K; k0 += kTile) {
    const int ka = k0 + threadIdx.x, kb = k0 + threadIdx.y;
    a[threadIdx.y][threadIdx.x] = row < M && ka < K ? A[row * K + ka] : 0.0f;
    b[threadIdx.y][threadIdx.x] = kb < K && column < N ? B[kb * N + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kTile; ++k) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
    __syncthreads();
  }
  if (row < M && column < N) C[row * N + column] = sum;
}
