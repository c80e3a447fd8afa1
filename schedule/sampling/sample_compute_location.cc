#include "schedule/sampling/sample_compute_location.h"

#include <vector>

#include "base/status_macros.h"
#include "schedule/movement/compute_at.h"
#include "schedule/movement/compute_inline.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_tree.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

constexpr const char* kName = "sample_compute_location";

// The loops that may be places, whether compute_at accepts them or not.
std::vector<uint32_t> LoopsOfFirstConsumer(const Function& function, uint32_t block) {
  const std::vector<uint32_t> consumers = BlockScope::Around(function, block).Consumers(block);
  return consumers.empty() ? std::vector<uint32_t>() : LoopsAbove(function, consumers[0]);
}

}  // namespace

Outcome<ComputeLocation> SampleComputeLocation(const Function& function, uint32_t block, Random& random,
                                               std::optional<int64_t> decision) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block));
  const std::vector<uint32_t> loops = LoopsOfFirstConsumer(function, block);
  if (decision) {
    if (*decision == kLocationRoot) return ComputeLocation{*decision, 0};
    if (*decision == kLocationInline) {
      TW_ASSIGN_OR_RETURN(ComputeInlineResult inlined, ComputeInline(function, block));
      return ComputeLocation{*decision, 0};
    }
    if (*decision < 0 || *decision >= std::ssize(loops)) {
      return Refusal{kName,   "the decision {num0} is none of the {num1} loops around the consumer of {block0}",
                     {block}, {},
                     {},      {*decision, std::ssize(loops)}};
    }
    TW_ASSIGN_OR_RETURN(ComputeAtResult moved, ComputeAt(function, block, loops[*decision]));
    return ComputeLocation{*decision, loops[*decision]};
  }
  std::vector<ComputeLocation> places = {{kLocationRoot, 0}};
  if (ComputeInline(function, block).ok()) places.push_back({kLocationInline, 0});
  for (size_t i = 0; i < loops.size(); ++i) {
    if (ComputeAt(function, block, loops[i]).ok()) places.push_back({static_cast<int64_t>(i), loops[i]});
  }
  return places[random.Below(places.size())];
}

}  // namespace tilewright
