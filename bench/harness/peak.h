// The most that this machine can do, measured: what results are a percentage of.
//
// Arithmetic peaks come from loops of independent multiply-add instructions that touch no memory, on all threads at
// once: the sum of what each core does in its best moment, so that other processes do not lower it. A kernel cannot be
// faster unless it needs fewer operations. The bandwidth is that of reading memory far larger than every cache. It is
// the best of several short runs, because a disturbed run says nothing.
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

// The instructions are those of HostTarget(). On all threads of the pool; takes about a second.
Peak MeasurePeak(runtime::ThreadPool& pool);

// The higher one of each number: a machine that was disturbed while one of them was measured may do more.
Peak Highest(const Peak& a, const Peak& b);

// Independent sums of a loop that measures a peak: one register holds the operand, and one is left to the compiler.
// What a multiply-add unit needs, its latency times its throughput, is 10 at most.
constexpr int SumsIn(int vector_registers) { return vector_registers - 2; }

// The arithmetic peak that a data type is measured against.
double ArithmeticPeak(const Peak& peak, DType dtype);

}  // namespace tilewright::bench
