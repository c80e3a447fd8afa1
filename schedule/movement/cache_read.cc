#include "schedule/movement/cache_read.h"

#include <algorithm>
#include <optional>

#include "base/status_macros.h"
#include "ir/arith/region.h"
#include "schedule/movement/sure_reads.h"
#include "schedule/program/buffer_selector.h"
#include "schedule/program/cache_stage.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/instances.h"
#include "schedule/program/loop_ranges.h"
#include "schedule/program/relaxed_region.h"
#include "schedule/program/storage_scope.h"

namespace tilewright {
namespace {

constexpr const char* kName = "cache_read";

// What a scope sees of a buffer that none of its blocks writes: a box around all that it reads.
std::vector<Range> PartReadByScope(const BlockNode& scope, const Buffer& buffer, arith::Analyzer* analyzer) {
  std::optional<arith::Region> box;
  for (const BufferRegion& read : scope.reads) {
    if (!read.buffer.same_as(buffer)) continue;
    box = box ? arith::UnionRegions(*box, read.region, analyzer) : read.region;
  }
  return box ? std::move(*box) : BufferRegion::Full(buffer).region;
}

bool IsAllocatedBy(const BlockNode& scope, const Buffer& buffer) {
  return std::any_of(scope.alloc_buffers.begin(), scope.alloc_buffers.end(),
                     [&](const Buffer& allocated) { return allocated.same_as(buffer); });
}

// Whether all blocks that are to read the cache are done before the writer begins.
bool ReadsBefore(const BlockScope& scope, const std::vector<uint32_t>& consumers, const Buffer& buffer,
                 uint32_t writer) {
  const ScopeChild& last = *scope.Find(writer);
  const std::vector<uint32_t> readers = consumers.empty() ? scope.Readers(buffer) : consumers;
  return std::ranges::all_of(readers, [&](uint32_t id) {
    const ScopeChild* reader = scope.Find(id);
    const bool share_loop =
        reader != nullptr && !reader->loops.empty() && !last.loops.empty() && reader->loops[0] == last.loops[0];
    return reader != nullptr && reader < &last && !share_loop;
  });
}

// The blocks that are to read the cache, in the order of the program.
Outcome<std::vector<uint32_t>> FindUsers(const BlockScope& scope, uint32_t block, const Buffer& buffer,
                                         const std::vector<uint32_t>& consumers, std::optional<uint32_t> writer) {
  const std::vector<uint32_t> readers = scope.Readers(buffer);
  for (uint32_t consumer : consumers) {
    if (scope.Find(consumer) == nullptr) {
      return Refusal{kName, "{block1} is not in the scope of {block0}", {block, consumer}};
    }
    if (std::find(readers.begin(), readers.end(), consumer) == readers.end()) {
      return Refusal{kName, "{block0} does not read {text0}", {consumer}, {}, {buffer->name}};
    }
  }
  std::vector<uint32_t> users;
  bool after_writer = !writer;
  for (const ScopeChild& child : scope.children()) {
    const uint32_t id = child.id();
    if (id == writer) after_writer = true;
    const auto& wanted = consumers.empty() ? readers : consumers;
    if (std::find(wanted.begin(), wanted.end(), id) == wanted.end()) continue;
    if (id == writer && consumers.empty() && id != block) continue;  // an update in place stays one
    if (id == writer) {
      return Refusal{kName, "{block0} also writes {text0}", {id}, {}, {buffer->name}};
    }
    if (!after_writer) {
      return Refusal{kName, "{block0} reads {text0} before {block1} writes it", {id, *writer}, {}, {buffer->name}};
    }
    users.push_back(id);
  }
  return users;
}

// What is copied, and where.
struct Copied {
  std::vector<Range> box, part;  // all that the copy holds; what is copied at `place`
  CopyPlace place;
  std::vector<uint32_t> neighbors;
};

// What a scope reads of a buffer that it does not write.
Outcome<Copied> ReadByScope(const Function& function, const BlockScope& scope, uint32_t block_id, const Buffer& buffer,
                            arith::Analyzer* analyzer) {
  for (const IterVar& iter : scope.block()->iter_vars) analyzer->Bind(iter.var, iter.domain);
  Copied copied;
  copied.box = copied.part = PartReadByScope(*scope.block(), buffer, analyzer);
  if (!CopyStaysInside(function, scope, buffer, copied.box, analyzer)) {
    return Refusal{kName, "the scope of {block0} may reach outside of {text0}", {block_id}, {}, {buffer->name}};
  }
  return copied;
}

std::optional<Refusal> WhyUsersReadMore(const BlockScope& scope, uint32_t writer, const std::vector<uint32_t>& users,
                                        const Buffer& buffer, const std::vector<Range>& box,
                                        arith::Analyzer* analyzer) {
  for (uint32_t user : users) {
    const ScopeChild& child = *scope.Find(user);
    const bool inside = std::ranges::all_of(child.realize->block->reads, [&](const BufferRegion& read) {
      return !read.buffer.same_as(buffer) ||
             ProvablyInside(analyzer, RelaxedRegion(read, *child.realize, child.loops).region, box);
    });
    if (!inside) {
      return Refusal{kName,
                     "{block0} may read elements of {text0} that {block1} does not write",
                     {user, writer},
                     {},
                     {buffer->name}};
    }
  }
  return std::nullopt;
}

// Why a copy in each iteration of a loop around the writer may miss elements.
std::optional<Refusal> WhyNotInLoop(const BlockScope& scope, const ScopeChild& producer, const BufferRegion& written,
                                    const Copied& copied, arith::Analyzer* analyzer) {
  const Buffer& buffer = written.buffer;
  const ForNode* loop = copied.place.loop;
  if (loop == nullptr) return std::nullopt;
  if (!IsAllocatedBy(*scope.block(), buffer)) {
    return Refusal{kName,
                   "{text0} has values from outside of the scope, and {block0} writes a part of it in each iteration "
                   "of {loop1}",
                   {producer.id(), loop->id},
                   {},
                   {buffer->name}};
  }
  arith::Analyzer::Scope around(analyzer);
  BindLoops(*analyzer, copied.place.loops_around);
  if (WritesAllOfPart(*producer.realize, copied.place.loops_inside, written.region, copied.part, copied.box,
                      analyzer)) {
    return std::nullopt;
  }
  return Refusal{kName,
                 "{block0} may not write all elements of {text0} that are copied in each iteration of {loop1}",
                 {producer.id(), loop->id},
                 {},
                 {buffer->name}};
}

// What the writer stores. The copy comes before the first block that is to use it, or, where none is named, that uses
// any output of the writer.
Outcome<Copied> WrittenBy(const BlockScope& scope, uint32_t writer, const Buffer& buffer,
                          const std::vector<uint32_t>& users, bool users_are_named, arith::Analyzer* analyzer) {
  const ScopeChild& producer = *scope.Find(writer);
  const std::vector<BufferRegion>& writes = producer.realize->block->writes;
  const auto is_of_buffer = [&](const BufferRegion& write) { return write.buffer.same_as(buffer); };
  if (std::ranges::count_if(writes, is_of_buffer) > 1) {
    return Refusal{kName, "{block0} writes several regions of {text0}", {writer}, {}, {buffer->name}};
  }
  const BufferRegion& written = *std::ranges::find_if(writes, is_of_buffer);
  Copied copied;
  copied.neighbors = users_are_named ? users : ReadersBehind(scope, writer);
  copied.place = FindCopyPlace(scope, producer, copied.neighbors);
  copied.box = RelaxedRegion(written, *producer.realize, producer.loops).region;
  copied.part = RelaxedRegion(written, *producer.realize, copied.place.loops_inside).region;
  if (auto refusal = WhyNotInLoop(scope, producer, written, copied, analyzer)) return *refusal;
  if (auto refusal = WhyUsersReadMore(scope, writer, users, buffer, copied.box, analyzer)) return *refusal;
  return copied;
}

}  // namespace

Outcome<CacheReadResult> CacheRead(const Function& function, uint32_t block_id, int read_index,
                                   std::string_view scope_text, const std::vector<uint32_t>& consumers) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  const BlockNode& block = *cast<BlockRealizeNode>(path.back())->block;
  TW_ASSIGN_OR_RETURN(BufferRegion region, ReadRegion(kName, block, read_index));
  TW_ASSIGN_OR_RETURN(const Scope memory, ReadScope(kName, block_id, scope_text));
  const Buffer& buffer = region.buffer;
  const BlockScope scope = BlockScope::Around(function, block_id);
  if (scope.Find(block_id) == nullptr) return Refusal{kName, "{block0} lies in the init of a block", {block_id}};
  if (scope.has_other_statements()) {
    return Refusal{kName, "the scope of {block0} holds statements other than loops and blocks", {block_id}};
  }
  const std::vector<uint32_t> writers = scope.Writers(buffer);
  if (writers.size() > 1) {
    return Refusal{kName, "{text0} is written by {block0} and {block1}", {writers[0], writers[1]}, {}, {buffer->name}};
  }
  std::optional<uint32_t> writer;
  if (!writers.empty()) writer = writers[0];
  // Who reads before the writer, in loops of its own, sees what the buffer held before the scope.
  if (writer && !IsAllocatedBy(*scope.block(), buffer) && ReadsBefore(scope, consumers, buffer, *writer))
    writer.reset();
  TW_ASSIGN_OR_RETURN(std::vector<uint32_t> users, FindUsers(scope, block_id, buffer, consumers, writer));

  arith::Analyzer analyzer;
  TW_ASSIGN_OR_RETURN(const Copied copied, writer
                                               ? WrittenBy(scope, *writer, buffer, users, !consumers.empty(), &analyzer)
                                               : ReadByScope(function, scope, block_id, buffer, &analyzer));
  for (uint32_t user : users) {
    if (const char* reason = WhyCannotUseCache(*scope.Find(user)->realize->block, buffer, memory, copied.box)) {
      return Refusal{kName, reason, {user}, {}, {buffer->name}};
    }
  }

  BindLoops(analyzer, copied.place.loops_around);
  const CacheStage stage = MakeCacheStage(buffer, copied.box, memory);
  uint32_t next_id = function->next_id;
  CacheReadResult result;
  Stmt copy = MakeCopy(stage, copied.part, /*into_cache=*/true, &analyzer, &next_id, &result.block);
  Stmt body = InsertCopy(*scope.block(), stage, copy, copied.place, copied.neighbors, /*after=*/false, users);
  result.function = WithScopeBody(function, *scope.block(), std::move(body), {stage.cache}, next_id);
  return result;
}

}  // namespace tilewright
