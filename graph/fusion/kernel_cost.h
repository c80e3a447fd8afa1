// What kernels cost, by the ladder of autoschedule/cost: the time that the rules' schedule of a program is projected to
// take, and what it is made of. Equal programs are asked for once; those that differ in where they read alone
// (read_offsets.h) count as equal.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "autoschedule/program/sizes.h"
#include "autoschedule/sketch/scheduled_programs.h"
#include "graph/ir/value.h"
#include "ir/function.h"
#include "target/target.h"

namespace tilewright::graph {

struct KernelCost {
  double seconds = 0;   // of one call, with what calling costs
  std::string limiter;  // "arithmetic", "L2", ...
  int nests = 0;        // at the top of its schedule: on a GPU each of them is a launch
  std::string why_not;  // why a block is not scheduled; empty: all are
  PrimFunc scheduled;
  PrimFunc program;  // what was scheduled: canonical, its constants marked
};

// Seconds of a call of each program, as KernelCost::program has it, where all of them were measured in the same way.
using MeasuredTimes = std::function<std::optional<std::vector<double>>(absl::Span<const PrimFunc> programs)>;

// What was measured of a kernel, and of the two that it joins one after the other.
struct MeasuredJoin {
  double joined = 0, apart = 0;
};

// What stands in a program, for the question what it may be joined with.
struct KernelForm {
  int contractions = 0;  // sums of products
  int windows = 0;       // other reductions over several elements around each
  int blocks = 0;
  bool regular = true;  // loops around blocks with spatial and reduction iterators, nothing else
  // Each element of what a block writes depends on the elements at the same place, or in the same row or column, and
  // each buffer is read by one block, at one place.
  bool pointwise = true;
  // Computes: of these, kernels are joined where their products are chained alone.
  bool heavy() const { return contractions + windows > 0; }
};
KernelForm FormOf(const PrimFunc& program);

// Whether each product that reads what another one gives reads it past a reduction, and one does:
//
//   P = Q K;  E = exp(P - max P);  O = E V      chained: a block of rows of P need not go through memory
//   P = X W;  H = gelu(P);  O = H V             not chained
bool ChainsProducts(const PrimFunc& program);

class KernelCosts {
 public:
  // `scheduled`: where schedules for the target are remembered for others; null: here alone. `sizes`: those that the
  // symbolic extents of functions probably have, where somebody says so (likely_sizes.h). `measured`: what is known of
  // times; null: nothing.
  explicit KernelCosts(const Target& target, ScheduledPrograms* scheduled = nullptr, SizesByName sizes = {},
                       MeasuredTimes measured = {})
      : own_(target),
        scheduled_(scheduled != nullptr ? *scheduled : own_),
        sizes_(std::move(sizes)),
        measured_(std::move(measured)) {}

  // `constants`: the parameters, by position, whose elements are known; what only packs them runs once.
  const KernelCost& Of(const PrimFunc& program, const std::vector<int>& constants);
  // Why the program of a cost that Of gave is not a kernel: blocks of it are not scheduled, or the verifier refutes its
  // schedule. Empty: it is one. Verification takes longer than scheduling, so this is asked of kernels that pay.
  const std::string& WhyNot(const KernelCost& cost);
  // The time of two kernels one after the other, each of which finds in the caches what the joined one would leave
  // there: a kernel by itself is taken to find all of its own data.
  double SecondsInTurn(const KernelCost& a, const KernelCost& b, const KernelCost& joined) const;
  // Nothing where one of the three was not measured.
  std::optional<MeasuredJoin> Measured(const KernelCost& a, const KernelCost& b, const KernelCost& joined) const;
  const Target& target() const { return own_.target(); }
  const SizesByName& sizes() const { return sizes_; }
  // How many elements a tensor of known rank has, by likely sizes.
  double Elements(const TensorTypeNode& type) const;
  size_t size() const { return costs_.size(); }  // programs that were scheduled

 private:
  KernelCost Compute(const PrimFunc& program);

  struct Entry {
    PrimFunc program;  // without offsets
    KernelCost cost;
  };
  ScheduledPrograms own_;
  ScheduledPrograms& scheduled_;
  const SizesByName sizes_;
  const MeasuredTimes measured_;
  std::unordered_multimap<uint64_t, Entry> costs_;
  std::unordered_map<const KernelCost*, std::string> why_not_;  // of those that were asked for
};

}  // namespace tilewright::graph
