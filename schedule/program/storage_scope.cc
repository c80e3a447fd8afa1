#include "schedule/program/storage_scope.h"

#include <string>

namespace tilewright {

Outcome<Scope> ReadScope(const char* primitive, uint32_t block, std::string_view text) {
  const Refusal refusal{primitive, "\"{text0}\" is not a storage scope", {block}, {}, {std::string(text)}};
  if (!Scope::Valid(text)) return refusal;
  Scope scope = Scope::Parse(text);
  const bool known = scope.kind() != MemoryKind::kFragment || scope.tag() != scope.text();
  if (!known && text.find('.') == text.npos) return refusal;
  return scope;
}

}  // namespace tilewright
