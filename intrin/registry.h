// The set of intrinsics a schedule may name. A registry is an object; there is no global one.
//
//   IntrinRegistry intrins = IntrinRegistry::Builtin();
//   absl::Status added = intrins.LoadScript(text, "tmm16.py");        // NAME_desc and NAME_impl form NAME
//   const TensorIntrin* tile = intrins.Find("fma_f32_12x32x1_avx512");
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "intrin/intrin.h"

namespace tilewright {

// A family is a function from parameters to an intrinsic. The parameters stand in the name, so that a schedule's text
// names one member: `Find` asks each family whose prefix the name has.
struct IntrinFamily {
  std::string prefix;       // "fma_f32_"
  std::string description;  // for people: "fma_f32_{MR}x{NR}x{KR}_{avx2|avx512}: ..."
  // Nothing when the rest of the name does not describe a member.
  std::function<std::optional<TensorIntrin>(std::string_view name)> make;
  std::vector<std::string> examples;  // members that tests execute
};

class IntrinRegistry {
 public:
  // Without intrinsics.
  IntrinRegistry() = default;
  // All that this library describes (the table in intrin/registry.cc).
  static IntrinRegistry Builtin();

  // The intrinsic, made by its family when need be, or null. The pointer stays valid as long as the registry.
  const TensorIntrin* Find(std::string_view name);
  // An error when the name is taken, or when the two functions do not have the same parameters.
  absl::Status Add(TensorIntrin intrin);
  void AddFamily(IntrinFamily family) { families_.push_back(std::move(family)); }
  // Adds the intrinsics of a script: each pair of functions NAME_desc and NAME_impl. An error names the function that
  // has no partner. `T.func_attr({"features": ["avx512f"]})` of the implementation gives the features.
  absl::Status LoadScript(std::string_view text, std::string_view file_name);

  const std::vector<IntrinFamily>& families() const { return families_; }
  // Names of the single intrinsics, sorted; families are not enumerated.
  std::vector<std::string> names() const;

 private:
  std::map<std::string, std::unique_ptr<TensorIntrin>, std::less<>> intrins_;
  std::map<std::string, std::unique_ptr<TensorIntrin>, std::less<>> members_;  // of families, as far as asked for
  std::vector<IntrinFamily> families_;
};

}  // namespace tilewright
