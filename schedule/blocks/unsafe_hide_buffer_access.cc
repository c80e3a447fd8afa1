#include "schedule/blocks/unsafe_hide_buffer_access.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_tree.h"

namespace tilewright {

Outcome<Function> UnsafeHideBufferAccess(const Function& function, uint32_t block_id, BufferSelector::Access access,
                                         const std::vector<int64_t>& indices) {
  constexpr const char* kName = "unsafe_hide_buffer_access";
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  const auto* realize = cast<BlockRealizeNode>(path.back());
  const bool read = access == BufferSelector::Access::kRead;
  for (size_t i = 0; i < indices.size(); ++i) {
    const int index = static_cast<int>(std::clamp<int64_t>(indices[i], -1, 1 << 30));
    TW_ASSIGN_OR_RETURN(BufferRegion region,
                        read ? ReadRegion(kName, *realize->block, index) : WriteRegion(kName, *realize->block, index));
    if (std::find(indices.begin(), indices.begin() + static_cast<ptrdiff_t>(i), indices[i]) !=
        indices.begin() + static_cast<ptrdiff_t>(i)) {
      return Refusal{kName, "the number {num0} is given twice", {block_id}, {}, {}, {indices[i]}};
    }
  }
  BlockNode::Fields block = realize->block->fields();
  std::vector<BufferRegion> kept;
  const std::vector<BufferRegion>& regions = read ? block.reads : block.writes;
  for (int64_t i = 0; i < std::ssize(regions); ++i) {
    if (std::find(indices.begin(), indices.end(), i) == indices.end()) kept.push_back(regions[i]);
  }
  (read ? block.reads : block.writes) = std::move(kept);
  return ReplaceIn(function, realize, Realize(realize->bindings, realize->predicate, Block(std::move(block))),
                   function->next_id);
}

}  // namespace tilewright
