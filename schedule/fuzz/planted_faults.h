// One fault planted into a right program: an index moved, a buffer made smaller, a loop longer, a condition loosened,
// an init dropped, iterations run at once, loops bound to threads, memory that is theirs alone. What verify then calls
// valid runs without a fault in the interpreter.
//
//   PlantedFaults faults({.seed = 1, .count = 10000});
//   faults.Run();
//   std::cout << faults.Report();
//
// The programs are those of the schedule fuzzer (families.h), some of them after a few primitives, and random programs
// (ir/testing/random_program.h). A fault that verify names as an assumption, because memory decides it, is none.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/function.h"

namespace tilewright::fuzz {

struct PlantedOptions {
  uint64_t seed = 1;
  int64_t count = 1000;  // programs with a fault
  double seconds = 1e9;  // or the time after which to stop
};

class PlantedFaults {
 public:
  explicit PlantedFaults(PlantedOptions options) : options_(options) {}
  void Run();

  struct Counts {
    int64_t refused = 0, accepted = 0;  // by verify
    int64_t named = 0;                  // accepted, and what goes wrong is an assumption that verify names
    int64_t missed = 0;                 // accepted, and something else goes wrong
    int64_t harmless = 0;               // refused, and nothing goes wrong with these inputs
  };
  const std::map<std::string, Counts>& counts() const { return counts_; }
  struct Miss {
    uint64_t seed;
    std::string fault, wrong, program;
  };
  const std::vector<Miss>& missed() const { return missed_; }
  std::string Report() const;

 private:
  void One(uint64_t seed, const std::vector<Function>& programs);

  const PlantedOptions options_;
  std::map<std::string, Counts> counts_;  // by fault
  std::vector<Miss> missed_;
};

}  // namespace tilewright::fuzz
