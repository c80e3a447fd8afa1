#include "schedule/program/buffer_selector.h"

#include <algorithm>

#include "base/status_macros.h"

namespace tilewright {
namespace {

Outcome<BufferRegion> At(const char* primitive, const char* reason, const BlockNode& block,
                         const std::vector<BufferRegion>& regions, int index) {
  if (index >= 0 && static_cast<size_t>(index) < regions.size()) return regions[static_cast<size_t>(index)];
  return Refusal{primitive, reason, {block.id}, {}, {}, {static_cast<int64_t>(regions.size()), index}};
}

}  // namespace

bool IsCalled(const Buffer& buffer, std::string_view name) {
  const auto printed = [](char c) { return c == '.' ? '_' : c; };
  return std::ranges::equal(buffer->name, name, {}, printed, printed);
}

Outcome<BufferRegion> ReadRegion(const char* primitive, const BlockNode& block, int index) {
  return At(primitive, "{block0} reads {num0} regions, there is no number {num1}", block, block.reads, index);
}
Outcome<BufferRegion> WriteRegion(const char* primitive, const BlockNode& block, int index) {
  return At(primitive, "{block0} writes {num0} regions, there is no number {num1}", block, block.writes, index);
}

Outcome<SelectedRegion> SelectRegion(const char* primitive, const BlockNode& block, const BufferSelector& selector) {
  using Access = BufferSelector::Access;
  if (selector.name.empty()) {
    const bool read = selector.access == Access::kRead;
    TW_ASSIGN_OR_RETURN(BufferRegion region, read ? ReadRegion(primitive, block, selector.index)
                                                  : WriteRegion(primitive, block, selector.index));
    return SelectedRegion{region, selector.access};
  }
  for (const BufferRegion& write : block.writes) {
    if (IsCalled(write.buffer, selector.name)) return SelectedRegion{write, Access::kWrite};
  }
  for (const BufferRegion& read : block.reads) {
    if (IsCalled(read.buffer, selector.name)) return SelectedRegion{read, Access::kRead};
  }
  return Refusal{primitive, "{block0} accesses no buffer {text0}", {block.id}, {}, {selector.name}};
}

}  // namespace tilewright
