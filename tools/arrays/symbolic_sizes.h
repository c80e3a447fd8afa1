// Sizes of symbolic dimensions, as --dim and the arrays of --inputs state them.
//
//   SymbolicSizes sizes;
//   TW_RETURN_IF_ERROR(sizes.Set("n", 4, "--dim n=4"));
//   TW_RETURN_IF_ERROR(sizes.SetExtents({n, Extent(8)}, {5, 8}, "x.npy"));   // "n is 5 in x.npy, 4 in --dim n=4"
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ir/expr.h"

namespace tilewright {

class SymbolicSizes {
 public:
  // An error where another source gave the dimension another size.
  absl::Status Set(const std::string& name, int64_t size, const std::string& source);
  // The extents that are a variable have the sizes of an array of this shape; others say nothing. An error where the
  // ranks differ, or as Set's.
  absl::Status SetExtents(const std::vector<Expr>& declared, const std::vector<int64_t>& shape,
                          const std::string& source);

  const std::map<std::string, int64_t>& values() const { return values_; }

 private:
  std::map<std::string, int64_t> values_;
  std::map<std::string, std::string> sources_;
};

}  // namespace tilewright
