// Sizes that symbolic extents probably have, for estimates.
//
// A rule asks two questions about an extent. Whether a tile divides it, or whether it is 1, must hold at every size:
// that is proven (Divides), or the rule does what is right at all sizes. How long it probably is decides what is fast,
// and nothing else: a schedule is the right one at every size, whatever this says.
//
// Who knows sizes names them in an attribute of the function, by the names of the variables; `tune --dim` does:
//
//   T.func_attr({"tilewright.likely_sizes": {"n": [1, 37, 512]}})
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/function.h"

namespace tilewright {

// By the names of variables; several values for one that has several.
using SizesByName = std::map<std::string, std::vector<int64_t>>;

// The function with the attribute in the place of one that it has; itself without sizes.
Function WithLikelySizes(const Function& function, const SizesByName& sizes);

// The function for one size of each: symbolic extents with these names are constants.
Function AtSizes(const Function& function, const std::map<std::string, int64_t>& sizes);

// Names of the variables in extents of the parameters, in order of first use.
std::vector<std::string> SymbolicExtents(const Function& function);

// `sizes` with a value for each symbolic extent of the parameters that they do not name: the largest power of two up to
// 512 with which the parameters and temporaries together take 64 MB at most.
SizesByName WithTypicalSizes(const Function& function, SizesByName sizes);

// Whether both functions have the same attribute, or none.
bool SameLikelySizes(const Function& a, const Function& b);

class LikelySizes {
 public:
  static LikelySizes Of(const Function& function);

  // The value of an extent where every variable has the largest of its named sizes, or a typical one; at least 1. What
  // is long takes most of the time.
  int64_t Likely(const Expr& extent) const;
  // The same where every variable has the least of its named sizes, or 1.
  int64_t Least(const Expr& extent) const;
  // The function where all symbolic extents of its parameters have likely sizes; itself where it has none.
  Function Bind(const Function& function) const;
  const SizesByName& named() const { return sizes_; }

 private:
  int64_t Largest(const std::string& name) const;

  SizesByName sizes_;
};

// Whether an extent is a multiple of `divisor` at every size.
bool Divides(int64_t divisor, const Expr& extent);

}  // namespace tilewright
