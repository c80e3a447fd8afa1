// What a scheduled program computes against what it came from, and what verify says of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/function.h"
#include "ir/interp/interp.h"
#include "verify/structure/proven_parts.h"

namespace tilewright::fuzz {

struct Judgement {
  // Verify has nothing against it. `check` and `reason`: of its first refutation.
  bool accepted = false;
  std::string check, reason;
  // The interpreter, with every detector on, gives the results of the original, and the program's text reads back as
  // the program. `wrong` says what was found.
  bool right = false;
  std::string wrong;

  // Nothing is left open: proven and right. What is accepted and wrong is a bug of verify.
  bool sound() const { return !accepted || right; }
};

class Oracle {
 public:
  // Runs `before` once for each set of inputs: small integers, sizes of 7 and of 5 for extents that are parameters.
  // `rounds`: results may differ by rounding.
  Oracle(const Function& before, bool rounds);

  // `inputs`: any number; picks the set. What main was divided into runs in turn: the function that packs constants,
  // then main. Parameters of one name are the same tensor. What verify proved of other programs before must not change
  // what it says of this one.
  Judgement Judge(const Module& after, uint64_t inputs) const;

 private:
  struct Inputs {
    std::vector<interp::Argument> arguments, expected;
  };
  std::string WhyWrong(const Module& after, const Inputs& inputs) const;

  const Function before_;
  const bool rounds_;
  std::vector<Inputs> inputs_;
  mutable ProvenParts proven_;  // of all that was judged
};

}  // namespace tilewright::fuzz
