// What kernels cost, by the ladder of autoschedule/cost: the time that the rules' schedule of a program is projected to
// take, and what it is made of. Equal programs are asked for once; those that differ in where they read alone
// (read_offsets.h) count as equal.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/ir/value.h"
#include "intrin/registry.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright::graph {

struct KernelCost {
  double seconds = 0;   // of one call, with what calling costs
  std::string limiter;  // "arithmetic", "L2", ...
  int nests = 0;        // at the top of its schedule: on a GPU each of them is a launch
  // Whether all blocks are scheduled and the scheduled program is not refuted (verify/).
  bool good = false;
  std::string why_not;  // where it is not
};

// What stands in a program, for the question what it may be joined with.
struct KernelForm {
  int contractions = 0;  // sums of products
  int windows = 0;       // other reductions over several elements around each
  int blocks = 0;
  bool regular = true;  // loops around blocks with spatial and reduction iterators, nothing else
  // Each element of what a block writes depends on the elements at the same place, or in the same row or column, and
  // each buffer is read once.
  bool pointwise = true;
  // Computes: more than one kernel of these is not joined.
  bool heavy() const { return contractions + windows > 0; }
};
KernelForm FormOf(const PrimFunc& program);

class KernelCosts {
 public:
  explicit KernelCosts(Target target) : target_(std::move(target)), intrins_(IntrinRegistry::Builtin()) {}

  // `constants`: the parameters, by position, whose elements are known; what only packs them runs once.
  const KernelCost& Of(const PrimFunc& program, const std::vector<int>& constants);
  const Target& target() const { return target_; }
  size_t size() const { return costs_.size(); }  // programs that were scheduled

 private:
  KernelCost Compute(const PrimFunc& program);

  struct Entry {
    PrimFunc program;  // without offsets
    KernelCost cost;
  };
  const Target target_;
  IntrinRegistry intrins_;
  std::unordered_multimap<uint64_t, Entry> costs_;
};

}  // namespace tilewright::graph
