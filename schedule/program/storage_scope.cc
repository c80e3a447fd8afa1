#include "schedule/program/storage_scope.h"

#include <string>
#include <vector>

#include "base/nearest_names.h"

namespace tilewright {

const std::vector<std::string>& KnownScopes() {
  static const auto* const scopes =
      new std::vector<std::string>{"global",           "shared",         "shared.dyn",    "local",
                                   "register",         "warp",           "amx.tile",      "wgmma.accumulator",
                                   "wmma.accumulator", "wmma.matrix_a",  "wmma.matrix_b", "m16n8k8.matrixA",
                                   "m16n8k8.matrixB",  "m16n8k8.matrixC"};
  return *scopes;
}

namespace {

// "; did you mean shared?"; where no name is near a word, all of them.
std::string KnownBeside(std::string_view text) {
  const std::string near = DidYouMean(text, KnownScopes());
  if (!near.empty() || !Scope::Valid(text)) return near;
  std::string all;
  for (const std::string& scope : KnownScopes()) all += (all.empty() ? " (known are " : ", ") + scope;
  return all + ")";
}

}  // namespace

Outcome<Scope> ReadScope(const char* primitive, uint32_t block, std::string_view text) {
  const Refusal refusal{
      primitive, "\"{text0}\" is not a storage scope{text1}", {block}, {}, {std::string(text), KnownBeside(text)}};
  if (!Scope::Valid(text)) return refusal;
  Scope scope = Scope::Parse(text);
  const bool known = scope.kind() != MemoryKind::kFragment || scope.tag() != scope.text();
  if (!known && text.find('.') == text.npos) return refusal;
  return scope;
}

}  // namespace tilewright
