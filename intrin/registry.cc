#include "intrin/registry.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "intrin/amx_tile.h"
#include "intrin/cuda/dp4a.h"
#include "intrin/cuda/mma_sync.h"
#include "intrin/cuda/wgmma.h"
#include "intrin/cuda/wmma.h"
#include "intrin/dot_tile.h"
#include "intrin/dot_vector.h"
#include "intrin/fma_tile.h"
#include "intrin/transpose_tile.h"
#include "ir/annotations.h"
#include "ir/script/intrin_file.h"

namespace tilewright {
namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

absl::Status CheckParams(const TensorIntrin& intrin) {
  const auto& description = intrin.description->params;
  const auto& implementation = intrin.implementation->params;
  if (description.size() != implementation.size()) {
    return absl::InvalidArgumentError(absl::StrCat("intrinsic ", intrin.name, ": the description has ",
                                                   description.size(), " parameters, the implementation ",
                                                   implementation.size()));
  }
  for (size_t i = 0; i < description.size(); ++i) {
    const Buffer &d = description[i].buffer, &m = implementation[i].buffer;
    if (static_cast<bool>(d) != static_cast<bool>(m) || (d && d->dtype != m->dtype) || (d && d->ndim() != m->ndim()) ||
        (d && !(d->scope == m->scope))) {
      return absl::InvalidArgumentError(absl::StrCat("intrinsic ", intrin.name, ": parameter ", i,
                                                     " differs between the description and the implementation in "
                                                     "type, number of dimensions or scope"));
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> FeaturesOf(const Function& implementation) {
  std::vector<std::string> features;
  auto it = implementation->attrs.find(kFeatures);
  if (it == implementation->attrs.end()) return features;
  if (const auto* list = std::get_if<Annotation::List>(&it->second.value)) {
    for (const Annotation& entry : *list) {
      const auto* text = std::get_if<Expr>(&entry.value);
      if (text == nullptr) continue;
      if (const auto* name = dyn_cast<StringImmNode>(*text)) features.push_back(name->value);
    }
  }
  return features;
}

}  // namespace

IntrinRegistry IntrinRegistry::Builtin() {
  IntrinRegistry registry;
  registry.AddFamily(FmaTileFamily());
  registry.AddFamily(DotTileFamily());
  registry.AddFamily(DotVectorFamily());
  registry.AddFamily(MmlaTileFamily());
  registry.AddFamily(AmxTileFamily());
  registry.AddFamily(AmxZeroFamily());
  registry.AddFamily(TransposeTileFamily());
  registry.AddFamily(Dp4aFamily());
  registry.AddFamily(MmaFamily());
  registry.AddFamily(WmmaFamily());
  registry.AddFamily(M16n8k8Family());
  registry.AddFamily(WgmmaFamily());
  return registry;
}

const TensorIntrin* IntrinRegistry::Find(std::string_view name) {
  auto it = intrins_.find(name);
  if (it != intrins_.end()) return it->second.get();
  it = members_.find(name);
  if (it != members_.end()) return it->second.get();
  for (const IntrinFamily& family : families_) {
    if (!absl::StartsWith(View(name), family.prefix)) continue;
    std::optional<TensorIntrin> made = family.make(name);
    if (!made) continue;
    return members_.emplace(name, std::make_unique<TensorIntrin>(*std::move(made))).first->second.get();
  }
  return nullptr;
}

absl::Status IntrinRegistry::Add(TensorIntrin intrin) {
  if (intrins_.find(intrin.name) != intrins_.end()) {
    return absl::AlreadyExistsError(absl::StrCat("there is an intrinsic ", intrin.name, " already"));
  }
  TW_RETURN_IF_ERROR(CheckParams(intrin));
  std::string name = intrin.name;
  intrins_.emplace(std::move(name), std::make_unique<TensorIntrin>(std::move(intrin)));
  return absl::OkStatus();
}

absl::Status IntrinRegistry::LoadScript(std::string_view text, std::string_view file_name) {
  const auto [file, registrations] = script::ParseIntrinFile(text, file_name);
  if (!file.diagnostics.empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(
        file.diagnostics, "\n",
        [](std::string* out, const script::Diagnostic& diagnostic) { absl::StrAppend(out, diagnostic.ToString()); }));
  }
  std::vector<script::IntrinRegistration> pairs = registrations;
  const auto registered = [&](absl::string_view name) {
    return std::ranges::any_of(
        pairs, [&](const auto& pair) { return pair.description == name || pair.implementation == name; });
  };
  std::string alone;  // why the first function that forms no intrinsic does not
  for (const Function& function : file.module.functions()) {
    absl::string_view name = function->name;
    if (registered(name)) continue;
    const bool description = absl::EndsWith(name, "_desc");
    if (!description && !absl::EndsWith(name, "_impl")) {
      if (alone.empty()) alone = absl::StrCat("function ", name, " is neither NAME_desc nor NAME_impl");
      continue;
    }
    const std::string base(name.substr(0, name.size() - 5));
    const std::string partner = base + (description ? "_impl" : "_desc");
    if (!file.module.Find(partner)) {
      if (alone.empty()) alone = absl::StrCat("function ", name, " has no partner ", partner);
    } else if (description) {
      pairs.push_back({base, function->name, partner});
    }
  }
  if (pairs.empty()) return absl::InvalidArgumentError(absl::StrCat(View(file_name), ": ", alone));
  for (const script::IntrinRegistration& pair : pairs) {
    Function description = file.module.Find(pair.description), implementation = file.module.Find(pair.implementation);
    if (!description || !implementation) {
      return absl::InvalidArgumentError(absl::StrCat(View(file_name), ": there is no function ",
                                                     description ? pair.implementation : pair.description,
                                                     " for the intrinsic ", pair.name));
    }
    TW_RETURN_IF_ERROR(Add({.name = pair.name,
                            .description = description,
                            .implementation = implementation,
                            .features = FeaturesOf(implementation)}));
  }
  return absl::OkStatus();
}

std::vector<std::string> IntrinRegistry::names() const {
  std::vector<std::string> names;
  for (const auto& [name, intrin] : intrins_) names.push_back(name);
  return names;
}

}  // namespace tilewright
