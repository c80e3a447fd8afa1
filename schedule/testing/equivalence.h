// Whether a transformed program computes what it computed before, by running both.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "ir/function.h"
#include "ir/interp/interp.h"

namespace tilewright::testing {

struct EquivalenceOptions {
  uint64_t seed = 1;
  // Values of symbolic extents by the name of their variable; 7 for others.
  std::map<std::string, int64_t> dims;
  // Greatest difference of two elements that counts as equal, for what does not compute sums exactly.
  double max_error = 0;
  bool check_races = true;
  bool check_uninitialized = true;
  interp::Environment environment;  // what functions outside of the programs do
};

// Runs both programs in the interpreter on the same small random integers in all parameters, so that sums are exact in
// any order. A success when `after` is well formed and all parameters end up bit for bit equal. `after` runs with all
// detectors on: bounds, unwritten memory, races, undeclared accesses.
::testing::AssertionResult SameResults(const Function& before, const Function& after,
                                       const EquivalenceOptions& options = {});
// Fails the test unless they give the same.
void ExpectEquivalent(const Function& before, const Function& after, const EquivalenceOptions& options = {});

}  // namespace tilewright::testing
