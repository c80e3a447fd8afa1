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

template <class Result>
Outcome<Applied> WithBlock(Application& call, const Outcome<Result>& result) {
  if (!result.ok()) return result.refusal();
  return call.WithBlock(result->function, result->block);
}

int IntArg(const Application& call, size_t i) { return static_cast<int>(call.Int(i)); }

}  // namespace

std::vector<Primitive> CachePrimitives() {
  using Role = Primitive::Role;
  const std::vector<ArgSpec> reindex_read = {{"block", ArgKind::kBlock},
                                             {"read_buffer_index", ArgKind::kInt},
                                             {"storage_scope", ArgKind::kString},
                                             {"index_map", ArgKind::kIndexMap}};
  std::vector<ArgSpec> reindex_write = reindex_read;
  reindex_write[1].name = "write_buffer_index";
  const std::vector<ArgSpec> read_at = {{"loop", ArgKind::kLoop},
                                        {"block", ArgKind::kBlock},
                                        {"read_buffer_index", ArgKind::kInt},
                                        {"storage_scope", ArgKind::kString}};
  std::vector<ArgSpec> write_at = read_at;
  write_at[2].name = "write_buffer_index";
  return {
      {"reindex_cache_read", "As cache_read, in a layout that an index map of the block's iterators gives.",
       reindex_read, ResultKind::kBlock, Role::kTransform,
       [](Application& call) {
         return WithBlock(call, ReindexCacheRead(call.function(), call.Id(0), IntArg(call, 1), call.String(2),
                                                 *call.arg(3).As<IndexMap>()));
       }},
      {"reindex_cache_write", "As cache_write, in a layout that an index map of the block's iterators gives.",
       reindex_write, ResultKind::kBlock, Role::kTransform,
       [](Application& call) {
         return WithBlock(call, ReindexCacheWrite(call.function(), call.Id(0), IntArg(call, 1), call.String(2),
                                                  *call.arg(3).As<IndexMap>()));
       }},
      {"read_at", "What is read below a loop is copied there as a whole, by an AutoCopy block.", read_at,
       ResultKind::kBlock, Role::kTransform,
       [](Application& call) {
         return WithBlock(call, ReadAt(call.function(), call.Id(0), call.Id(1), IntArg(call, 2), call.String(3)));
       }},
      {"write_at", "What is written below a loop is copied back there as a whole, by an AutoCopy block.", write_at,
       ResultKind::kBlock, Role::kTransform,
       [](Application& call) {
         return WithBlock(call, WriteAt(call.function(), call.Id(0), call.Id(1), IntArg(call, 2), call.String(3)));
       }},
      {"expand_auto_copy",
       "An AutoCopy block becomes loops around a block that copies one element.",
       {{"block", ArgKind::kBlock}},
       ResultKind::kNone,
       Role::kTransform,
       [](Application& call) -> Outcome<Applied> {
         TW_ASSIGN_OR_RETURN(Function result, ExpandAutoCopy(call.function(), call.Id(0)));
         return call.Changed(result);
       }},
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
       [](Application& call) -> Outcome<Applied> {
         TW_ASSIGN_OR_RETURN(Function result, RollingBuffer(call.function(), call.Id(0), IntArg(call, 1)));
         return call.Changed(result);
       }},
  };
}

}  // namespace tilewright
