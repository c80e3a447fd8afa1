#include "schedule/recorder/view_refusals.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/function.h"
#include "ir/shared_memory.h"
#include "schedule/program/loop_tree.h"

namespace tilewright {
namespace {

// What neither replaces a buffer nor changes the order of accesses.
constexpr std::string_view kKeepAccesses[] = {"split",          "fuse",
                                              "unroll",         "add_unit_loop",
                                              "annotate",       "unannotate",
                                              "enter_postproc", "unsafe_hide_buffer_access",
                                              "blockize",       "reorder_block_iter_var"};
// What changes the order of a loop's iterations alone.
constexpr std::string_view kReorderIterations[] = {"parallel", "vectorize", "bind",
                                                   "reorder",  "merge",     "loop_partition"};

void CollectIds(const Value& value, std::vector<uint32_t>* ids) {
  if (const auto* loop = value.As<LoopRef>()) ids->push_back(loop->id);
  if (const auto* block = value.As<BlockRef>()) ids->push_back(block->id);
  if (const auto* list = value.As<Value::List>()) {
    for (const Value& entry : *list) CollectIds(entry, ids);
  }
}

struct Use {
  const BlockNode* block;
  Buffer buffer;
  bool writes;
};

// What the blocks at and below these loops and blocks declare to use.
std::vector<Use> UsesOf(const Function& function, const std::vector<uint32_t>& ids) {
  std::vector<Use> uses;
  for (const uint32_t id : ids) {
    const Path path = FindPath(function, id);
    if (path.empty()) continue;
    for (const BlockRealizeNode* realize : BlocksBelow(path.back())) {
      const BlockNode& block = *realize->block;
      for (const bool writes : {false, true}) {
        for (const BufferRegion& region : writes ? block.writes : block.reads) {
          uses.push_back({&block, region.buffer, writes});
        }
      }
    }
  }
  return uses;
}

// A write whose elements overlap, or whose memory one of the uses has under another name; null where there is none.
const Use* ConflictingWrite(const std::vector<Use>& uses) {
  std::unordered_map<const VarNode*, const BufferNode*> names;  // by memory; null: several
  for (const Use& use : uses) {
    const auto [known, is_new] = names.emplace(use.buffer->data.get(), use.buffer.get());
    if (!is_new && known->second != use.buffer.get()) known->second = nullptr;
  }
  const auto conflict = std::ranges::find_if(uses, [&](const Use& use) {
    return use.writes && (names.at(use.buffer->data.get()) == nullptr || MayOverlapItself(use.buffer));
  });
  return conflict == uses.end() ? nullptr : &*conflict;
}

Refusal Refuse(const Primitive& primitive, const Use& use, const SharedMemory& memory) {
  for (const Buffer& other : memory.NamesOf(use.buffer)) {
    if (other.same_as(use.buffer)) continue;
    return Refusal{primitive.name,
                   "{block0} uses {text0}, whose memory has another name, {text1}",
                   {use.block->id},
                   {},
                   {use.buffer->name, other->name}};
  }
  return Refusal{
      primitive.name, "{block0} uses {text0}, whose elements overlap", {use.block->id}, {}, {use.buffer->name}};
}

}  // namespace

std::optional<Refusal> WhyViewsForbid(const Primitive& primitive, const Function& function,
                                      std::span<const Value> args) {
  if (primitive.role != Primitive::Role::kTransform) return std::nullopt;
  if (std::ranges::find(kKeepAccesses, primitive.name) != std::end(kKeepAccesses)) return std::nullopt;
  std::vector<uint32_t> ids;
  for (const Value& arg : args) CollectIds(arg, &ids);
  const std::vector<Use> uses = UsesOf(function, ids);
  std::vector<Buffer> used;
  for (const Use& use : uses) used.push_back(use.buffer);
  if (uses.empty()) return std::nullopt;
  if (std::ranges::find(kReorderIterations, primitive.name) != std::end(kReorderIterations)) {
    // What the uses say is enough: other names of the memory, elsewhere in the function, do not matter.
    const Use* write = ConflictingWrite(uses);
    return write == nullptr ? std::nullopt : std::optional(Refuse(primitive, *write, SharedMemory(function, used)));
  }
  const SharedMemory memory(function, used);
  const auto shared = std::ranges::find_if(uses, [&](const Use& use) { return memory.IsShared(use.buffer); });
  return shared == uses.end() ? std::nullopt : std::optional(Refuse(primitive, *shared, memory));
}

}  // namespace tilewright
