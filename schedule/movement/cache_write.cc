#include "schedule/movement/cache_write.h"

#include <algorithm>

#include "base/status_macros.h"
#include "ir/functor.h"
#include "schedule/movement/own_values.h"
#include "schedule/program/buffer_selector.h"
#include "schedule/program/cache_stage.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/instances.h"
#include "schedule/program/loop_ranges.h"
#include "schedule/program/relaxed_region.h"
#include "schedule/program/storage_scope.h"
#include "verify/regions/sure_writes.h"

namespace tilewright {
namespace {

constexpr const char* kName = "cache_write";

bool Contains(const std::vector<uint32_t>& ids, uint32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

bool ShareLoop(const ScopeChild& a, const ScopeChild& b) {
  return !a.loops.empty() && !b.loops.empty() && a.loops[0] == b.loops[0];
}

std::optional<Refusal> WhyNotWriter(const Function& function, const BlockScope& scope, const ScopeChild& child,
                                    const Buffer& buffer) {
  for (uint32_t writer : scope.Writers(buffer)) {
    if (writer != child.id()) {
      return Refusal{kName, "{block1} also writes {text0}", {child.id(), writer}, {}, {buffer->name}};
    }
  }
  const auto& writes = child.realize->block->writes;
  if (std::ranges::count_if(writes, [&](const BufferRegion& write) { return write.buffer.same_as(buffer); }) > 1) {
    return Refusal{kName, "{block0} writes several regions of {text0}", {child.id()}, {}, {buffer->name}};
  }
  if (ReadsBeyondItsWrites(*child.realize->block, buffer)) {
    return Refusal{
        kName, "{block0} may read elements of {text0} that it does not write", {child.id()}, {}, {buffer->name}};
  }
  for (const BufferRegion& read : child.realize->block->reads) {
    if (read.buffer.same_as(buffer) && !ReadsOnlyItsOwnValues(function, *child.realize, buffer)) {
      return Refusal{kName, "{block0} also reads {text0}", {child.id()}, {}, {buffer->name}};
    }
  }
  for (const ForNode* loop : child.loops) {
    if (BoundsRead(*loop, buffer)) {
      return Refusal{kName,
                     "the bounds of {loop1} read {text0}, which {block0} writes",
                     {child.id(), loop->id},
                     {},
                     {buffer->name}};
    }
  }
  for (uint32_t reader : scope.Readers(buffer)) {
    const ScopeChild& other = *scope.Find(reader);
    if (&other < &child && ShareLoop(other, child)) {
      return Refusal{kName,
                     "{block1} reads {text0} before {block0}, below a loop of it",
                     {child.id(), reader},
                     {},
                     {buffer->name}};
    }
  }
  return std::nullopt;
}

// The blocks that are to use the cache: the writer and the given consumers.
Outcome<std::vector<uint32_t>> FindUsers(const BlockScope& scope, uint32_t writer, const BufferRegion& written,
                                         const std::vector<Range>& box, const std::vector<uint32_t>& consumers) {
  const Buffer& buffer = written.buffer;
  arith::Analyzer analyzer;
  std::vector<uint32_t> users = {writer};
  const std::vector<uint32_t> readers = scope.Readers(buffer);
  for (uint32_t consumer : consumers) {
    if (scope.Find(consumer) == nullptr) {
      return Refusal{kName, "{block1} is not in the scope of {block0}", {writer, consumer}};
    }
    if (!Contains(readers, consumer)) {
      return Refusal{kName, "{block0} does not read {text0}", {consumer}, {}, {buffer->name}};
    }
    const ScopeChild& child = *scope.Find(consumer);
    if (&child < scope.Find(writer)) {
      return Refusal{kName, "{block0} reads {text0} before {block1} writes it", {consumer, writer}, {}, {buffer->name}};
    }
    for (const BufferRegion& read : child.realize->block->reads) {
      if (!read.buffer.same_as(buffer)) continue;
      if (ProvablyInside(&analyzer, RelaxedRegion(read, *child.realize, child.loops).region, box)) continue;
      return Refusal{kName,
                     "{block0} may read elements of {text0} that {block1} does not write",
                     {consumer, writer},
                     {},
                     {buffer->name}};
    }
    users.push_back(consumer);
  }
  return users;
}

// The elements of the buffer that the block's predicate loads, for all iterations of the loops around it.
std::vector<BufferRegion> PredicateReads(const ScopeChild& child, const Buffer& buffer) {
  std::vector<BufferRegion> reads;
  PreOrder(child.realize->predicate, [&](const Expr& e) {
    const auto* load = dyn_cast<LoadNode>(e);
    if (load != nullptr && load->buffer.same_as(buffer)) {
      reads.push_back(RelaxedRegion(BufferRegion::Point(buffer, load->indices), *child.realize, child.loops));
    }
    return true;
  });
  return reads;
}

// The blocks behind the writer whose predicates read the buffer. They are not readers that the scope knows, and may
// come before the copy: they are to read the cache.
Outcome<std::vector<uint32_t>> FindConditions(const BlockScope& scope, const ScopeChild& writer, const Buffer& buffer,
                                              const std::vector<Range>& box, bool is_local) {
  arith::Analyzer analyzer;
  std::vector<uint32_t> conditions;
  for (const ScopeChild& child : scope.children()) {
    if (IsTrue(child.realize->predicate)) continue;
    const std::vector<BufferRegion> reads = PredicateReads(child, buffer);
    if (reads.empty()) continue;
    const bool behind = &child > &writer;
    if (ShareLoop(child, writer) && !(behind && is_local)) {
      return Refusal{kName,
                     "the predicate of {block1} reads {text0} below a loop of {block0}",
                     {writer.id(), child.id()},
                     {},
                     {buffer->name}};
    }
    if (!behind) continue;
    for (const BufferRegion& read : reads) {
      if (ProvablyInside(&analyzer, read.region, box)) continue;
      return Refusal{kName,
                     "the predicate of {block1} may read elements of {text0} that {block0} does not write",
                     {writer.id(), child.id()},
                     {},
                     {buffer->name}};
    }
    conditions.push_back(child.id());
  }
  return conditions;
}

// Whether an instance of the block runs for each element that a copy of its output overwrites, and writes it for sure.
bool WritesAll(const Function& function, const ScopeChild& child, const BufferRegion& written,
               const std::vector<Range>& box, arith::Analyzer* analyzer) {
  const BlockNode& block = *child.realize->block;
  const bool all_instances = RunsAllInstances(*child.realize, child.loops, analyzer);
  const bool writes_all = (all_instances && TouchesAllOf(block, written.region, box, analyzer)) ||
                          WritesAllOfPart(*child.realize, child.loops, written.region, box, box, analyzer);
  return writes_all && SureWrites(function).Of(block, written);
}

// Why a copy of `part` in each iteration of a loop around the block may be wrong. `keeps_values`: the buffer has values
// from outside of the scope, which some readers still read.
std::optional<Refusal> WhyNotInLoop(const ScopeChild& child, const BufferRegion& written, const CopyPlace& place,
                                    const std::vector<Range>& part, const std::vector<Range>& box, bool keeps_values,
                                    arith::Analyzer* analyzer) {
  if (place.loop == nullptr) return std::nullopt;
  const std::vector<uint32_t> objects = {child.id(), place.loop->id};
  const std::string& name = written.buffer->name;
  if (keeps_values) {
    return Refusal{kName,
                   "{text0} has values from outside of the scope, and {block0} writes a part of it in each iteration "
                   "of {loop1}",
                   objects,
                   {},
                   {name}};
  }
  arith::Analyzer::Scope around(analyzer);
  BindLoops(*analyzer, place.loops_around);
  if (WritesAllOfPart(*child.realize, place.loops_inside, written.region, part, box, analyzer)) return std::nullopt;
  return Refusal{kName,
                 "{block0} may not write all elements of {text0} that are copied in each iteration of {loop1}",
                 objects,
                 {},
                 {name}};
}

}  // namespace

Outcome<CacheWriteResult> CacheWrite(const Function& function, uint32_t block_id, int write_index,
                                     std::string_view scope_text, const std::vector<uint32_t>& consumers) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  const BlockNode& block = *cast<BlockRealizeNode>(path.back())->block;
  TW_ASSIGN_OR_RETURN(BufferRegion region, WriteRegion(kName, block, write_index));
  TW_ASSIGN_OR_RETURN(const Scope memory, ReadScope(kName, block_id, scope_text));
  const BufferRegion& written = region;
  const Buffer& buffer = written.buffer;
  const BlockScope scope = BlockScope::Around(function, block_id);
  const ScopeChild* child = scope.Find(block_id);
  if (child == nullptr) return Refusal{kName, "{block0} lies in the init of a block", {block_id}};
  if (scope.has_other_statements()) {
    return Refusal{kName, "the scope of {block0} holds statements other than loops and blocks", {block_id}};
  }
  if (auto refusal = WhyNotWriter(function, scope, *child, buffer)) return *refusal;
  const std::vector<Range> box = RelaxedRegion(written, *child->realize, child->loops).region;
  TW_ASSIGN_OR_RETURN(std::vector<uint32_t> users, FindUsers(scope, block_id, written, box, consumers));
  for (uint32_t user : users) {
    if (const char* reason = WhyCannotUseCache(*scope.Find(user)->realize->block, buffer, memory, box)) {
      return Refusal{kName, reason, {user}, {}, {buffer->name}};
    }
  }

  arith::Analyzer analyzer;
  for (const IterVar& iter : scope.block()->iter_vars) analyzer.Bind(iter.var, iter.domain);
  if (!WritesAll(function, *child, written, box, &analyzer)) {
    return Refusal{kName,
                   "{block0} may not write all elements of {text0} that a copy of its output would overwrite",
                   {block_id},
                   {},
                   {buffer->name}};
  }
  // The copy comes just before the first block that reads what the writer writes, be it another buffer.
  std::vector<uint32_t> readers = ReadersBehind(scope, block_id);
  std::erase_if(readers, [&](uint32_t reader) { return Contains(users, reader); });
  const CopyPlace place = FindCopyPlace(scope, *child, readers);
  const auto& local = scope.block()->alloc_buffers;
  const bool is_local =
      std::any_of(local.begin(), local.end(), [&](const Buffer& allocated) { return allocated.same_as(buffer); });
  const std::vector<Range> part = RelaxedRegion(written, *child->realize, place.loops_inside).region;
  const bool keeps_values = !is_local && users.size() > 1;
  if (auto refusal = WhyNotInLoop(*child, written, place, part, box, keeps_values, &analyzer)) return *refusal;
  TW_ASSIGN_OR_RETURN(std::vector<uint32_t> conditions, FindConditions(scope, *child, buffer, box, is_local));

  BindLoops(analyzer, place.loops_around);
  const CacheStage stage = MakeCacheStage(buffer, box, memory);
  uint32_t next_id = function->next_id;
  CacheWriteResult result;
  Stmt copy = MakeCopy(stage, part, /*into_cache=*/false, &analyzer, &next_id, &result.block);
  Stmt body = InsertCopy(*scope.block(), stage, copy, place, readers, /*after=*/readers.empty(), users, conditions);
  result.function = WithScopeBody(function, *scope.block(), std::move(body), {stage.cache}, next_id);
  return result;
}

}  // namespace tilewright
