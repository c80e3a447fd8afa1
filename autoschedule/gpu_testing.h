// What tests of the rules of GPUs share: a program that nobody scheduled is right in the CUDA emulator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autoschedule/program/choices.h"
#include "ir/function.h"

namespace tilewright::testing {

// Whether a loop is bound to blocks or threads.
bool HasThreads(const Function& function);

struct GpuExpectation {
  bool threads = true;  // there is something for several threads
  double tolerance = -1;
  std::vector<int64_t> variables = {};
};

// The preferred schedules of both kinds of GPUs are not refuted, leave no block without a schedule, run without a fault
// in the emulator, and compute what the program computes in the interpreter.
void ExpectRightOnGpus(const Function& function, const GpuExpectation& expected = {});

// The same of drawn schedules, but for those that verification refutes: a search refuses them, too. Returns how many
// ran.
int ExpectRightWhereDrawn(const Function& function, uint64_t first_seed, int count, double tolerance);

// The sketch that is taken for a block, by what the trace says; empty where there is none of the block.
std::string SketchOfBlock(const Function& function, const std::string& block);

}  // namespace tilewright::testing
