// How schedules name a buffer of a block: ("read", 1), ("write", 0), or the buffer's name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/function.h"
#include "schedule/core/refusal.h"

namespace tilewright {

struct BufferSelector {
  enum class Access { kRead, kWrite };
  Access access = Access::kRead;
  int index = 0;     // into the block's read or written regions
  std::string name;  // when not empty, in place of the index

  static BufferSelector Read(int index) { return {Access::kRead, index, {}}; }
  static BufferSelector Write(int index) { return {Access::kWrite, index, {}}; }
  // Looks among the written buffers first.
  static BufferSelector Named(std::string name) { return {Access::kWrite, 0, std::move(name)}; }
};

// Whether a buffer goes by that name: a dot also stands for an underscore, since names with dots (the peer's `C.rf`)
// are printed without.
bool IsCalled(const Buffer& buffer, std::string_view name);

struct SelectedRegion {
  BufferRegion region;
  BufferSelector::Access access;
};
// The region, or the refusal that the block has none such.
Outcome<SelectedRegion> SelectRegion(const char* primitive, const BlockNode& block, const BufferSelector& selector);

// The index-th region of what the block reads (writes), or the refusal that there are fewer.
Outcome<BufferRegion> ReadRegion(const char* primitive, const BlockNode& block, int index);
Outcome<BufferRegion> WriteRegion(const char* primitive, const BlockNode& block, int index);

}  // namespace tilewright
