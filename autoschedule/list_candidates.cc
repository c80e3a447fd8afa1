#include "autoschedule/list_candidates.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autoschedule/tensor_mapping.h"
#include "verify/block_scope.h"

namespace tilewright {
namespace {

// Empty when the target has all that the intrinsic needs.
std::string MissingFeature(const TensorIntrin& intrin, const Target& target) {
  for (const std::string& feature : intrin.features) {
    if (!target.has(feature)) return feature;
  }
  return "";
}

// One intrinsic of each family: the first example that the target can run, else the first one.
std::vector<const TensorIntrin*> Representatives(IntrinRegistry* intrins, const Target& target) {
  std::vector<const TensorIntrin*> result;
  for (const std::string& name : intrins->names()) result.push_back(intrins->Find(name));
  for (const IntrinFamily& family : intrins->families()) {
    const TensorIntrin* chosen = nullptr;
    for (const std::string& example : family.examples) {
      const TensorIntrin* member = intrins->Find(example);
      if (chosen == nullptr || (!MissingFeature(*chosen, target).empty() && MissingFeature(*member, target).empty())) {
        chosen = member;
      }
    }
    if (chosen != nullptr) result.push_back(chosen);
  }
  return result;
}

}  // namespace

std::string ListCandidates(const Module& module, const Target& target, IntrinRegistry* intrins) {
  std::string text;
  const std::vector<const TensorIntrin*> representatives = Representatives(intrins, target);
  for (const Function& function : module.functions()) {
    const auto* root = dyn_cast<BlockRealizeNode>(function->body);
    if (root == nullptr) continue;
    const BlockScope scope = BlockScope::Of(root->block.get());
    for (const ScopeChild& child : scope.children()) {
      const BlockNode& block = *child.realize->block;
      absl::StrAppend(&text, "block ", block.name, "\n");
      for (const TensorIntrin* intrin : representatives) {
        const std::string missing = MissingFeature(*intrin, target);
        if (!missing.empty()) {
          absl::StrAppendFormat(&text, "  %-28s no: the target has no %s\n", intrin->name, missing);
          continue;
        }
        const TensorMappings mappings = FindTensorMappings(block, *intrin);
        if (mappings.found.empty()) absl::StrAppendFormat(&text, "  %-28s no: %s\n", intrin->name, mappings.refusal);
        for (const TensorMapping& mapping : mappings.found) {
          absl::StrAppendFormat(&text, "  %-28s %-40s padding %5.1f%%\n", intrin->name, ToString(mapping, block),
                                100 * mapping.padding_waste);
        }
      }
    }
  }
  return text;
}

}  // namespace tilewright
