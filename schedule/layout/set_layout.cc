#include "schedule/layout/set_layout.h"

#include <string>
#include <utility>

#include "base/status_macros.h"
#include "ir/annotations.h"
#include "ir/named_layouts.h"
#include "schedule/program/buffer_selector.h"
#include "schedule/program/buffer_uses.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_tree.h"

namespace tilewright {
namespace {

constexpr const char* kName = "set_layout";

bool IsOf(const Annotation& entry, int write_index) {
  const auto* pair = std::get_if<Annotation::List>(&entry.value);
  const auto* number = pair == nullptr || pair->empty() ? nullptr : std::get_if<Expr>(&pair->front().value);
  return number != nullptr && AsInt(*number) == write_index;
}

// The entries there are, without those for that buffer; the new one comes last.
Annotation WithEntry(const BlockNode& block, int write_index, std::string_view layout) {
  Annotation::List entries;
  if (const auto old = block.annotations.find(kBufferLayout); old != block.annotations.end()) {
    if (const auto* list = std::get_if<Annotation::List>(&old->second.value)) entries = *list;
  }
  std::erase_if(entries, [&](const Annotation& entry) { return IsOf(entry, write_index); });
  Annotation::List entry = {MakeAnnotation(Expr(write_index)), MakeAnnotation(String(std::string(layout)))};
  entries.push_back({std::move(entry)});
  return {std::move(entries)};
}

}  // namespace

Outcome<Function> SetLayout(const Function& function, uint32_t block_id, int write_index, std::string_view layout) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  const auto* realize = cast<BlockRealizeNode>(path.back());
  TW_ASSIGN_OR_RETURN(BufferRegion region, WriteRegion(kName, *realize->block, write_index));
  const Buffer& buffer = region.buffer;
  if (!SwizzleSpan(layout)) {
    return Refusal{kName, "there is no layout \"{text0}\"", {block_id}, {}, {std::string(layout)}};
  }
  if (buffer->ndim() < 2) {
    return Refusal{
        kName, "{text0}, which {block0} writes, does not have rows and columns", {block_id}, {}, {buffer->name}};
  }
  if (!buffer->strides.empty()) {
    return Refusal{kName, "{text0}, which {block0} writes, has strides of its own", {block_id}, {}, {buffer->name}};
  }
  if (FindBufferUses(function, buffer).allocated_by == nullptr) {
    return Refusal{
        kName, "{text0}, which {block0} writes, is not allocated by a block", {block_id}, {}, {buffer->name}};
  }
  BlockNode::Fields block = realize->block->fields();
  block.annotations[kBufferLayout] = WithEntry(*realize->block, write_index, layout);
  return ReplaceIn(function, realize, Realize(realize->bindings, realize->predicate, Block(std::move(block))),
                   function->next_id);
}

}  // namespace tilewright
