#include "verify/threads/thread_reductions.h"

#include "ir/thread_reductions.h"

namespace tilewright {

Diagnostics CheckThreadReductions(const Function& function) {
  Diagnostics diagnostics;
  for (const ThreadReduction& reduction : FindThreadReductions(function)) {
    diagnostics.push_back({Verdict::kAssumed, "thread reductions", reduction.block->id,
                           ToString(reduction) + ": code generation must combine what the threads computed"});
  }
  return diagnostics;
}

}  // namespace tilewright
