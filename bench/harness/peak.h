// The most that this machine can do, measured: what results are a percentage of.
//
// Arithmetic peaks come from loops of independent multiply-add instructions that touch no memory, on all threads at
// once; a kernel cannot be faster unless it needs fewer operations. The bandwidth is that of reading memory far larger
// than every cache. Every number is the best of several short runs, because a disturbed run says nothing.
#pragma once

#include "bench/harness/dtype.h"
#include "codegen/runtime/thread_pool.h"

namespace tilewright::bench {

// 0 stands for "this CPU has no such instruction".
struct Peak {
  double f32_gflops = 0;
  double bf16_gflops = 0;  // Sums of bf16 products in f32, by AMX where the CPU has it.
  double f16_gflops = 0;   // The same of f16; not measured on a CPU.
  double fp8_gflops = 0;   // The same of e4m3; not measured on a CPU.
  double int8_gops = 0;    // Sums of u8 by s8 products in s32, likewise.
  double read_gbs = 0;     // Gigabytes (10^9) a second.
};

// On all threads of the pool; takes about a second.
Peak MeasurePeak(runtime::ThreadPool& pool);

// The arithmetic peak that a data type is measured against.
double ArithmeticPeak(const Peak& peak, DType dtype);

}  // namespace tilewright::bench
