#include "schedule/layout/storage_align.h"

#include <array>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "ir/annotations.h"
#include "schedule/program/buffer_selector.h"
#include "schedule/program/buffer_uses.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_tree.h"

namespace tilewright {
namespace {

constexpr const char* kName = "storage_align";

// [buffer, axis, factor, offset]
using Entry = std::array<int64_t, 4>;

std::optional<Entry> ReadEntry(const Annotation& annotation) {
  const auto* list = std::get_if<Annotation::List>(&annotation.value);
  if (list == nullptr || list->size() != 4) return std::nullopt;
  Entry entry;
  for (size_t i = 0; i < 4; ++i) {
    const auto* number = std::get_if<Expr>(&(*list)[i].value);
    const std::optional<int64_t> value = number == nullptr ? std::nullopt : AsInt(*number);
    if (!value) return std::nullopt;
    entry[i] = *value;
  }
  return entry;
}

Annotation MakeEntry(const Entry& entry) {
  Annotation::List list;
  for (int64_t number : entry) list.push_back(MakeAnnotation(Expr(number)));
  return {std::move(list)};
}

// The entries there are, without the one for that buffer and axis; the new one takes its place or comes last.
Outcome<Annotation> WithEntry(const BlockNode& block, const Entry& entry) {
  Annotation::List entries;
  bool placed = false;
  if (const auto old = block.annotations.find(kBufferDimAlign); old != block.annotations.end()) {
    const Refusal refusal{kName,
                          "the annotation {text0} of {block0} is not a list of four numbers each",
                          {block.id},
                          {},
                          {kBufferDimAlign}};
    const auto* list = std::get_if<Annotation::List>(&old->second.value);
    if (list == nullptr) return refusal;
    for (const Annotation& one : *list) {
      const std::optional<Entry> numbers = ReadEntry(one);
      if (!numbers) return refusal;
      const bool same = (*numbers)[0] == entry[0] && (*numbers)[1] == entry[1];
      placed |= same;
      entries.push_back(MakeEntry(same ? entry : *numbers));
    }
  }
  if (!placed) entries.push_back(MakeEntry(entry));
  return Annotation{std::move(entries)};
}

}  // namespace

Outcome<Function> StorageAlign(const Function& function, uint32_t block_id, int write_index, int axis, int64_t factor,
                               int64_t offset) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  const auto* realize = cast<BlockRealizeNode>(path.back());
  TW_ASSIGN_OR_RETURN(BufferRegion region, WriteRegion(kName, *realize->block, write_index));
  const Buffer& buffer = region.buffer;
  const int rank = static_cast<int>(buffer->ndim());
  if (axis < -rank || axis >= rank) {
    return Refusal{kName,          "the axis {num0} is not in [{num1}, {num2}): {text0} has {num2} dimensions",
                   {block_id},     {},
                   {buffer->name}, {axis, -rank, rank}};
  }
  if (factor < 1) return Refusal{kName, "the factor {num0} is not positive", {block_id}, {}, {}, {factor}};
  if (offset < 0) return Refusal{kName, "the offset {num0} is negative", {block_id}, {}, {}, {offset}};
  if (!buffer->strides.empty()) {
    return Refusal{kName, "{text0}, which {block0} writes, has strides of its own", {block_id}, {}, {buffer->name}};
  }
  const BufferUses uses = FindBufferUses(function, buffer);
  if (uses.allocated_by == nullptr) {
    return Refusal{
        kName, "{text0}, which {block0} writes, is not allocated by a block", {block_id}, {}, {buffer->name}};
  }
  TW_ASSIGN_OR_RETURN(Annotation entries,
                      WithEntry(*realize->block, {write_index, axis < 0 ? axis + rank : axis, factor, offset}));
  BlockNode::Fields block = realize->block->fields();
  block.annotations[kBufferDimAlign] = entries;
  return ReplaceIn(function, realize, Realize(realize->bindings, realize->predicate, Block(std::move(block))),
                   function->next_id);
}

}  // namespace tilewright
