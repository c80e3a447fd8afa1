// Runs a program as machine code and in the interpreter, and compares.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/backend.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright::testing {

// The host, or what TILEWRIGHT_TESTED_TARGET names: code for a GPU runs in emulation.
Target TestedTarget();

// The number that a variable of the environment holds.
uint64_t FromEnvironment(const char* name, uint64_t otherwise);

struct ComparisonOptions {
  Target target = TestedTarget();
  // What is interpreted, with the same parameters: the program before it was scheduled. Null: what is compiled.
  Function original = {};
  uint64_t seed = 1;
  double low = -2, high = 2;  // of inputs
  int64_t integers = 0;       // not 0: inputs are integers of at most this magnitude, as FillIntegers makes them
  // Largest error of floating-point elements, relative to the larger magnitude (and to 1); negative: by the type.
  double tolerance = -1;
  std::vector<int64_t> variables = {};  // values of variables in the parameters' shapes, in order of first use
  bool parallel = false;                // on a pool of two threads
};

// Empty when both agree; else what is wrong. The module's main function is run; all its parameters are filled with
// seeded numbers, and all are compared afterwards.
std::string CompareWithInterpreter(const Module& module, const ComparisonOptions& options = {});
// The same where the function is compiled already.
std::string CompareWithInterpreter(const CompiledModule& compiled, const Function& function,
                                   const ComparisonOptions& options = {});
// The same for many functions, which are compiled and loaded as one module for the first one's target. That is faster
// where a process starts for each module.
struct Compared {
  Function function;
  ComparisonOptions options;
};
std::vector<std::string> CompareAllWithInterpreter(const std::vector<Compared>& all);
// Collects functions for CompareAllWithInterpreter, and fails the test for each that is wrong.
class Batch {
 public:
  // `text` is printed where the function is wrong.
  void Add(Compared compared, std::string text);
  void Compare();

 private:
  std::vector<Compared> all_;
  std::vector<std::string> texts_;
};
// The same for a program's text.
std::string CompareWithInterpreter(std::string_view script, const ComparisonOptions& options = {});

}  // namespace tilewright::testing
