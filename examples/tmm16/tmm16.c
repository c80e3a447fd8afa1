/* The micro-kernel that the implementation of tmm16 calls: C[16, 16] += A[16, 16] * B[16, 16]^T, each with the distance
 * of its rows in elements. A driver of a real accelerator would start the instruction here. */
int tmm16(float* c, const float* a, const float* b, int stride_a, int stride_b, int stride_c) {
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      float sum = c[i * stride_c + j];
      for (int k = 0; k < 16; ++k) sum += a[i * stride_a + k] * b[j * stride_b + k];
      c[i * stride_c + j] = sum;
    }
  }
  return 0;
}
