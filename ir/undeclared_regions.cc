#include <algorithm>

#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/regions.h"

namespace tilewright {
namespace {

// Whether the block may touch a buffer that it does not declare to touch so. A reduction reads its output without
// saying so.
bool MayTouchUndeclared(const BlockNode& block) {
  bool found = false;
  for (const Stmt& part : {block.init, block.body}) {
    if (!part) continue;
    PreOrder(part, [&](const Stmt& s) {
      const auto* store = dyn_cast<StoreNode>(s);
      found = found || (store != nullptr && !Mentions(block.writes, store->buffer));
      return !found;
    });
    PreOrderExprs(part, [&](const Expr& e) {
      const auto* load = dyn_cast<LoadNode>(e);
      found = found || (load != nullptr && !Mentions(block.reads, load->buffer) &&
                        !(block.init && Mentions(block.writes, load->buffer)));
      return !found;
    });
  }
  return found;
}

// Buffers whose address is taken, and views that are declared inside of the block.
std::vector<Buffer> AddressedBuffersAndViews(const BlockNode& block) {
  std::vector<Buffer> buffers;
  for (const Stmt& part : {block.init, block.body}) {
    if (!part) continue;
    PreOrder(part, [&](const Stmt& s) {
      if (const auto* view = dyn_cast<DeclBufferNode>(s)) buffers.push_back(view->buffer);
      return true;
    });
    PreOrderExprs(part, [&](const Expr& e) {
      const auto* call = dyn_cast<CallNode>(e);
      if (call == nullptr || call->op != kAddressOf || call->args.size() != 1) return true;
      if (const auto* load = dyn_cast<LoadNode>(call->args[0])) buffers.push_back(load->buffer);
      return true;
    });
  }
  return buffers;
}

// What a condition keeps from being touched outside of the buffer, as far as constants show.
void KeepInside(BufferRegion* touched) {
  for (size_t d = 0; d < touched->region.size(); ++d) {
    Range& range = touched->region[d];
    const auto min = AsInt(range.min), extent = AsInt(range.extent), size = AsInt(touched->buffer->shape[d]);
    if (!min || !extent || !size) continue;
    const int64_t begin = std::clamp<int64_t>(*min, 0, *size), end = std::clamp(*min + *extent, begin, *size);
    range = {Const(range.min.dtype(), begin), Const(range.extent.dtype(), end - begin)};
  }
}

}  // namespace

Block WithUndeclaredRegions(const Block& block) {
  if (!MayTouchUndeclared(*block)) return block;
  const std::vector<Buffer> others = AddressedBuffersAndViews(*block);
  const auto missing = [&](const std::vector<BufferRegion>& declared, std::vector<BufferRegion> touched) {
    std::erase_if(touched, [&](const BufferRegion& region) {
      return Mentions(declared, region.buffer) ||
             std::ranges::any_of(others, [&](const Buffer& buffer) { return buffer.same_as(region.buffer); });
    });
    for (BufferRegion& region : touched) KeepInside(&region);
    return touched;
  };
  AccessRegions touched = DetectRegions(*block);
  if (block->init) {
    std::erase_if(touched.reads, [&](const BufferRegion& read) { return Mentions(block->writes, read.buffer); });
  }
  BlockNode::Fields fields = block->fields();
  for (BufferRegion& read : missing(block->reads, std::move(touched.reads))) fields.reads.push_back(std::move(read));
  for (BufferRegion& write : missing(block->writes, std::move(touched.writes))) {
    fields.writes.push_back(std::move(write));
  }
  return Block(std::move(fields));
}

}  // namespace tilewright
