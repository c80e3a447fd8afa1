// A cache of a part of a buffer: what cache_read, cache_write and reindex make.
//
// The cache is a buffer of its own, in another scope, that holds the box of the buffer from `origin` on; a copy block
// moves the elements, and the blocks that use the cache have the buffer replaced.
//
//   cache = {A_shared, origin (vi0 * 16, 0)}      A[vi0 * 16 + i, j]  becomes  A_shared[i, j]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/arith/analyzer.h"
#include "ir/function.h"
#include "verify/structure/block_scope.h"

namespace tilewright {

struct CacheStage {
  Buffer buffer;             // what is cached
  Buffer cache;              // "A_shared", shape: the extents of the box
  std::vector<Expr> origin;  // the box's least indices
};

// The cache of `box` in `scope`, named `<buffer>_<scope>`.
CacheStage MakeCacheStage(const Buffer& buffer, const std::vector<Range>& box, const Scope& scope);

// Loops "ax0", "ax1", ... around a block that copies `part` (a box of the buffer inside of the cached one), into the
// cache or out of it. The block is named after the cache and has iterators "v0", "v1", ... over the whole cache; its
// predicate keeps it inside where `part` may stick out; where the box begins at a place from memory, it declares to
// read that place. Loops and block get fresh ids from `next_id`; `block_id` receives the block's. `analyzer` knows the
// ranges of the variables in `part`.
Stmt MakeCopy(const CacheStage& stage, const std::vector<Range>& part, bool into_cache, arith::Analyzer* analyzer,
              uint32_t* next_id, uint32_t* block_id);

// `s` with the cache in place of the buffer, in loads, stores, regions and matched sub-buffers.
Stmt UseCache(const Stmt& s, const CacheStage& stage);

// Why `block` cannot use a cache of `box` in place of the buffer: it takes the buffer's address, or matches a part of
// it in the buffer's own scope. Null when it can. The reason may mention {block0} and {text0}, the buffer.
//
// The address may be the cache's where all elements have the offsets there that they have in the buffer (no box: it is
// not known), and the cache is in the same scope or only functions outside of the program (call_extern) take it.
const char* WhyCannotUseCache(const BlockNode& block, const Buffer& buffer, const Scope& scope,
                              const std::vector<Range>& box = {});

// The place of a copy: into the body of `loop`, or of the scope itself when null.
struct CopyPlace {
  const ForNode* loop = nullptr;
  std::vector<const ForNode*> loops_inside;  // the loops below it around the writing block, outermost first
  std::vector<const ForNode*> loops_around;  // the others, outermost first
};
// Whether the least value or the extent of a loop is made of elements of the buffer.
bool BoundsRead(const ForNode& loop, const Buffer& buffer);
// The blocks behind `writer` that read something which it writes, in the order of the program; the bindings of a block
// and the bounds of loops around it, which are not around the writer, count.
std::vector<uint32_t> ReadersBehind(const BlockScope& scope, uint32_t writer);

// The innermost place that has the writer and at least one of the `users` below it.
CopyPlace FindCopyPlace(const BlockScope& scope, const ScopeChild& writer, const std::vector<uint32_t>& users);

// The body of `scope` with `users` using the cache (the blocks, not their bindings and predicates), the predicates of
// the blocks `conditions` too, and `copy` inserted at `place`: just before the first of the statements there that
// contain one of the blocks `neighbors`, or just after it. No neighbors: at the end, or at the beginning.
Stmt InsertCopy(const BlockNode& scope, const CacheStage& stage, const Stmt& copy, const CopyPlace& place,
                const std::vector<uint32_t>& neighbors, bool after, const std::vector<uint32_t>& users,
                const std::vector<uint32_t>& conditions = {});

// `function` with another body for the scope's block, and `allocated` added to the buffers that it allocates.
Function WithScopeBody(const Function& function, const BlockNode& scope, Stmt body, std::vector<Buffer> allocated,
                       uint32_t next_id);

}  // namespace tilewright
