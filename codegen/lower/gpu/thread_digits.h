// The threads of a block as digits of one number, of which some reduce together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/stmt.h"

namespace tilewright {

struct ThreadDigit {
  Expr value;  // in terms of the thread's index: tx, tx % 8, tx // 8
  int64_t extent = 1;
  bool reduces = false;
};

struct ThreadDigits {
  std::vector<ThreadDigit> digits;  // the lowest first: threadIdx.x, .y, .z
  int64_t threads = 1;              // of all digits
  int64_t members = 1;              // threads that reduce together
  bool neighbours = true;           // they follow each other in the number of the thread

  Expr Thread() const;    // the number of the thread in its block
  Expr Member() const;    // its number among those that it reduces with
  Expr Group() const;     // the number of those
  Expr IsLeader() const;  // it is the first of them
};

// `loops`: the loops over threadIdx around, `reduced`, `spatial`: what depends on threads that reduce, and what on
// others. Nothing when a loop's threads do both and are not its quotient and remainder; `problem` then says which
// loop.
std::optional<ThreadDigits> FindThreadDigits(const std::vector<const ForNode*>& loops, const std::vector<Expr>& reduced,
                                             const std::vector<Expr>& spatial, std::string* problem);

}  // namespace tilewright
