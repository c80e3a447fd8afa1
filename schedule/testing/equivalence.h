// Whether a transformed program computes what it computed before, by running both.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ir/function.h"

namespace tilewright::testing {

struct EquivalenceOptions {
  uint64_t seed = 1;
  // Values of symbolic extents by the name of their variable; 7 for others.
  std::map<std::string, int64_t> dims;
};

// Runs both programs in the interpreter on the same small random integers in all parameters, so that sums are exact in
// any order, and fails the test unless all parameters end up bit for bit equal. `after` runs with all detectors on:
// bounds, unwritten memory, races, undeclared accesses.
void ExpectEquivalent(const Function& before, const Function& after, const EquivalenceOptions& options = {});

}  // namespace tilewright::testing
