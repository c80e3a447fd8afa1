#include "intrin/from_text.h"

#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "ir/script/parser.h"

namespace tilewright {

TensorIntrin IntrinFromText(absl::string_view text, const Words& words, std::string_view name,
                            std::vector<std::string> features) {
  absl::StatusOr<Module> module = ParseModule(absl::StrReplaceAll(text, words), name);
  TW_CHECK(module.ok()) << module.status().ToString();
  TensorIntrin intrin;
  intrin.name = std::string(name);
  intrin.description = module->Find("desc");
  intrin.implementation = module->Find("impl");
  intrin.features = std::move(features);
  return intrin;
}

TensorIntrin IntrinOfRow(absl::string_view text, const Words& words, std::string_view name,
                         const MachineInstruction& row) {
  TensorIntrin intrin = IntrinFromText(text, words, name, row.FeatureNames());
  intrin.instruction = &row;
  return intrin;
}

}  // namespace tilewright
