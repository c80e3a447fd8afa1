// A mutator of regular programs (program_form.h) whose blocks get the regions of what they access afterwards.
#pragma once

#include "ir/functor.h"

namespace tilewright::graph {

// Rewrites the inner blocks of a program; the root keeps its form.
class BlockMutator : public tilewright::Mutator {
 public:
  using tilewright::Mutator::Mutate;
  Block MutateBlock(const Block& block) override;
};

}  // namespace tilewright::graph
