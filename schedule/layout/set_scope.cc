#include "schedule/layout/set_scope.h"

#include "base/status_macros.h"
#include "ir/substitute.h"
#include "schedule/program/buffer_selector.h"
#include "schedule/program/buffer_uses.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/storage_scope.h"

namespace tilewright {
namespace {

constexpr const char* kName = "set_scope";

Buffer InScope(const Buffer& buffer, const Scope& scope) {
  BufferNode::Fields fields = buffer->fields();
  fields.name = buffer->name + "_" + scope.text();
  fields.scope = scope;
  fields.data = Var();
  return Buffer(std::move(fields));
}

}  // namespace

Outcome<SetScopeResult> SetScope(const Function& function, uint32_t block_id, int write_index,
                                 std::string_view scope_text) {
  TW_ASSIGN_OR_RETURN(Path path, PathToBlock(kName, function, block_id));
  TW_ASSIGN_OR_RETURN(BufferRegion region,
                      WriteRegion(kName, *cast<BlockRealizeNode>(path.back())->block, write_index));
  TW_ASSIGN_OR_RETURN(Scope named, ReadScope(kName, block_id, scope_text));
  const Buffer& buffer = region.buffer;
  const Scope scope = named;
  if (buffer->scope == scope) return SetScopeResult{function};
  const BufferUses uses = FindBufferUses(function, buffer);
  if (uses.allocated_by == nullptr) {
    return Refusal{
        kName, "{text0}, which {block0} writes, is not allocated by a block", {block_id}, {}, {buffer->name}};
  }
  BufferMap moved = {{buffer, InScope(buffer, scope)}};
  for (const Buffer& part : PartsOf(function, buffer)) moved.emplace(part, InScope(part, scope));
  Stmt body = Substitute(function->body, {}, moved);
  return SetScopeResult{function.WithBody(std::move(body), function->next_id)};
}

}  // namespace tilewright
