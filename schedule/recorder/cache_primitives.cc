#include "base/status_macros.h"
#include "schedule/layout/reindex.h"
#include "schedule/movement/auto_copy.h"
#include "schedule/movement/cache_index.h"
#include "schedule/movement/cache_inplace.h"
#include "schedule/movement/expand_auto_copy.h"
#include "schedule/movement/rolling_buffer.h"
#include "schedule/recorder/primitive_lists.h"

namespace tilewright {
namespace {

// `index` is the name of the argument that counts the block's regions.
std::vector<ArgSpec> ReindexArgs(const char* index) {
  return {{"block", ArgKind::kBlock},
          {index, ArgKind::kInt},
          {"storage_scope", ArgKind::kString},
          {"index_map", ArgKind::kIndexMap}};
}
std::vector<ArgSpec> CopyAtArgs(const char* index) {
  return {{"loop", ArgKind::kLoop},
          {"block", ArgKind::kBlock},
          {index, ArgKind::kInt},
          {"storage_scope", ArgKind::kString}};
}

}  // namespace

std::vector<Primitive> CachePrimitives() {
  using Role = Primitive::Role;
  return {
      {"reindex_cache_read", "As cache_read, in a layout that an index map of the block's iterators gives.",
       ReindexArgs("read_buffer_index"), ResultKind::kBlock, Role::kTransform,
       [](Application& call) {
         return WithBlock(call, ReindexCacheRead(call.function(), call.Id(0), IntArg(call, 1), call.String(2),
                                                 *call.arg(3).As<IndexMap>()));
       }},
      {"reindex_cache_write", "As cache_write, in a layout that an index map of the block's iterators gives.",
       ReindexArgs("write_buffer_index"), ResultKind::kBlock, Role::kTransform,
       [](Application& call) {
         return WithBlock(call, ReindexCacheWrite(call.function(), call.Id(0), IntArg(call, 1), call.String(2),
                                                  *call.arg(3).As<IndexMap>()));
       }},
      {"read_at", "What is read below a loop is copied there as a whole, by an AutoCopy block.",
       CopyAtArgs("read_buffer_index"), ResultKind::kBlock, Role::kTransform,
       [](Application& call) {
         return WithBlock(call, ReadAt(call.function(), call.Id(0), call.Id(1), IntArg(call, 2), call.String(3)));
       }},
      {"write_at", "What is written below a loop is copied back there as a whole, by an AutoCopy block.",
       CopyAtArgs("write_buffer_index"), ResultKind::kBlock, Role::kTransform,
       [](Application& call) {
         return WithBlock(call, WriteAt(call.function(), call.Id(0), call.Id(1), IntArg(call, 2), call.String(3)));
       }},
      {"expand_auto_copy",
       "An AutoCopy block becomes loops around a block that copies one element.",
       {{"block", ArgKind::kBlock}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) { return Changed(call, ExpandAutoCopy(call.function(), call.Id(0))); }},
      {"cache_inplace",
       "A block that reads and writes the same buffer works on a copy; the copies in and back are the results.",
       {{"block", ArgKind::kBlock}, {"read_buffer_index", ArgKind::kInt}, {"storage_scope", ArgKind::kString}},
       ResultKind::kBlocks,
       Role::kTransform,
       [](Application& call) -> Outcome<Applied> {
         TW_ASSIGN_OR_RETURN(CacheInplaceResult result,
                             CacheInplace(call.function(), call.Id(0), IntArg(call, 1), call.String(2)));
         return call.WithBlocks(result.function, {result.read_block, result.write_block});
       }},
      {"cache_index",
       "Indices that take computing are computed ahead, into tables; the blocks that do it are the results.",
       {{"block", ArgKind::kBlock}, {"storage_scope", ArgKind::kString}, {"cse_thresh", ArgKind::kInt, 0}},
       ResultKind::kBlocks,
       Role::kTransform,
       [](Application& call) -> Outcome<Applied> {
         TW_ASSIGN_OR_RETURN(CacheIndexResult result,
                             CacheIndex(call.function(), call.Id(0), call.String(1), call.Int(2)));
         return call.WithBlocks(result.function, result.blocks);
       }},
      {"rolling_buffer",
       "A buffer holds one tile, and keeps what the next tile needs again.",
       {{"block", ArgKind::kBlock}, {"write_buffer_index", ArgKind::kInt}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) { return Changed(call, RollingBuffer(call.function(), call.Id(0), IntArg(call, 1))); }},
  };
}

}  // namespace tilewright
