#include "tools/arrays/symbolic_sizes.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace tilewright {

absl::Status SymbolicSizes::Set(const std::string& name, int64_t size, const std::string& source) {
  const auto [known, is_new] = values_.emplace(name, size);
  if (is_new) sources_[name] = source;
  if (known->second == size) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", size, " in ", source, ", ", known->second, " in ", sources_[name]));
}

absl::Status SymbolicSizes::SetExtents(const std::vector<Expr>& declared, const std::vector<int64_t>& shape,
                                       const std::string& source) {
  if (declared.size() != shape.size()) {
    return absl::InvalidArgumentError(absl::StrCat(source, " has rank ", shape.size(), ", expected ", declared.size()));
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    if (const auto* var = dyn_cast<VarNode>(declared[d])) TW_RETURN_IF_ERROR(Set(var->name, shape[d], source));
  }
  return absl::OkStatus();
}

}  // namespace tilewright
