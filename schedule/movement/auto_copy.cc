#include "schedule/movement/auto_copy.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/annotations.h"
#include "ir/arith/linear.h"
#include "ir/arith/region.h"
#include "ir/regions.h"
#include "ir/substitute.h"
#include "schedule/movement/own_values.h"
#include "schedule/program/buffer_selector.h"
#include "schedule/program/cache_stage.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/loop_ranges.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/relaxed_region.h"
#include "schedule/program/storage_scope.h"
#include "verify/regions/sure_writes.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

enum class Direction { kRead, kWrite };

const BufferRegion* FindRegion(const std::vector<BufferRegion>& regions, const Buffer& buffer) {
  const auto found = std::find_if(regions.begin(), regions.end(),
                                  [&](const BufferRegion& region) { return region.buffer.same_as(buffer); });
  return found == regions.end() ? nullptr : &*found;
}

// Inserts one AutoCopy block.
class Inserter {
 public:
  Inserter(const Function& function, uint32_t loop, uint32_t block, Direction direction)
      : function_(function),
        name_(direction == Direction::kRead ? "read_at" : "write_at"),
        reads_(direction == Direction::kRead),
        loop_id_(loop),
        block_id_(block) {}

  Outcome<AutoCopyResult> Apply(int index, std::string_view scope_text) {
    if (auto refusal = FindPlace()) return *refusal;
    const BlockNode& block = *FindBlock(function_, block_id_)->block;
    TW_ASSIGN_OR_RETURN(BufferRegion region,
                        reads_ ? ReadRegion(name_, block, index) : WriteRegion(name_, block, index));
    buffer_ = region.buffer;
    TW_ASSIGN_OR_RETURN(Scope named, ReadScope(name_, block_id_, scope_text));
    memory_ = named;
    const BlockScope scope = BlockScope::Around(function_, block_id_);
    if (scope.has_other_statements()) {
      return Refusal{name_, "the scope of {block0} holds statements other than loops and blocks", {block_id_}};
    }
    for (const ScopeChild* touching : scope.ChildrenThatMayTouch(buffer_)) {
      const ScopeChild& child = *touching;
      if (HasSeveral(child.realize->block->reads) || HasSeveral(child.realize->block->writes)) {
        return Refuse("{block0} touches several regions of {text0}", {child.id()});
      }
      const auto at = std::find(child.loops.begin(), child.loops.end(), loop_);
      User user{child.realize,
                FindRegion(child.realize->block->reads, buffer_),
                FindRegion(child.realize->block->writes, buffer_),
                {}};
      if (user.read == nullptr && user.write == nullptr) continue;
      if (at == child.loops.end()) {
        outside_.push_back(user);
        continue;
      }
      user.loops.assign(at + 1, child.loops.end());
      users_.push_back(user);
    }
    if (auto refusal = reads_ ? CheckReading() : CheckWriting()) return *refusal;
    if (auto refusal = WhyVectorsShareCopy()) return *refusal;
    return Insert(*scope.block());
  }

 private:
  // A block that uses the buffer, and the loops around it below the given one.
  struct User {
    const BlockRealizeNode* realize;
    const BufferRegion *read, *write;
    std::vector<const ForNode*> loops;
    uint32_t id() const { return realize->block->id; }
  };

  Refusal Refuse(const char* reason, std::vector<uint32_t> objects) const {
    return Refusal{name_, reason, std::move(objects), {}, {buffer_->name}};
  }

  std::optional<Refusal> FindPlace() {
    TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(name_, function_, block_id_));
    TW_ASSIGN_OR_RETURN(Path loop_path, PathToLoop(name_, function_, loop_id_));
    loop_ = cast<ForNode>(loop_path.back());
    const std::vector<const ForNode*> above = LoopsAbove(path);
    const auto at = std::find(above.begin(), above.end(), loop_);
    if (at == above.end()) return Refusal{name_, "{loop1} is not above {block0}", {block_id_, loop_id_}};
    around_.assign(above.begin(), at + 1);
    return std::nullopt;
  }

  // What is copied: a box around all that is used below the loop, by all threads that share the cache's memory.
  void FindBox(bool of_writes) {
    BindLoops(analyzer_, around_);
    std::vector<const ForNode*> sharing;
    std::ranges::copy_if(around_, std::back_inserter(sharing),
                         [&](const ForNode* loop) { return !of_writes && IsSharedByThreadsOf(*loop, memory_); });
    for (const User& user : users_) {
      const BufferRegion* region = of_writes ? user.write : user.read;
      if (region == nullptr) continue;
      std::vector<const ForNode*> loops = sharing;
      loops.insert(loops.end(), user.loops.begin(), user.loops.end());
      arith::Region touched = RelaxedRegion(*region, *user.realize, loops).region;
      box_ = box_.empty() ? std::move(touched) : arith::UnionRegions(box_, touched, &analyzer_);
    }
  }
  // The box without what lies outside of the buffer.
  arith::Region BoxInside() {
    arith::Region inside;
    for (size_t d = 0; d < box_.size(); ++d) {
      const Range& range = box_[d];
      const Expr begin = analyzer_.Simplify(Max(range.min, Const(range.min.dtype(), 0)));
      const Expr end = analyzer_.Simplify(Min(range.min + range.extent, buffer_->shape[d]));
      inside.push_back({begin, analyzer_.Simplify(end - begin)});
    }
    return inside;
  }

  std::optional<Refusal> CheckUsers() {
    for (const User& user : users_) {
      if (const char* reason = WhyCannotUseCache(*user.realize->block, buffer_, memory_)) {
        return Refuse(reason, {user.id()});
      }
    }
    return std::nullopt;
  }

  // Whether a block lies below one of the first `count` statements in the loop.
  bool IsAmongFirst(size_t count, const User& user) const {
    const std::vector<Stmt> stmts = Statements();
    return std::any_of(stmts.begin(), stmts.begin() + static_cast<ptrdiff_t>(count), [&](const Stmt& stmt) {
      const std::vector<const BlockRealizeNode*> blocks = BlocksBelow(stmt);
      return std::find(blocks.begin(), blocks.end(), user.realize) != blocks.end();
    });
  }

  // What is copied may be written below the loop where all of it is written in the same iteration, before it is read.
  std::optional<Refusal> CheckReading() {
    std::vector<User> writers;
    std::copy_if(users_.begin(), users_.end(), std::back_inserter(writers),
                 [](const User& user) { return user.write != nullptr; });
    std::erase_if(users_, [](const User& user) { return user.write != nullptr && user.read == nullptr; });
    FindBox(/*of_writes=*/false);
    const size_t place = PlaceOfCopy();
    for (const User& writer : writers) {
      if (writer.read == nullptr && IsAmongFirst(place, writer) && WritesAllOfBox(writer)) continue;
      return Refuse("{block0} writes {text0} below {loop1}", {writer.id(), loop_id_});
    }
    return CheckUsers();
  }

  // Iterations of a vectorized loop run at once, and must not copy the same elements.
  std::optional<Refusal> WhyVectorsShareCopy() {
    for (const ForNode* loop : around_) {
      if (loop->kind != ForKind::kVectorized || IsInt(loop->extent, 1)) continue;
      const auto moves_on = [&](const Range& range) {
        const auto form = arith::DetectLinear(range.min, {loop->var}, &analyzer_);
        const auto step = form ? AsInt(form->coefficients[0]) : std::nullopt, length = AsInt(range.extent);
        return step && length && std::abs(*step) >= *length && *length > 0;
      };
      if (std::ranges::any_of(box_, moves_on)) continue;
      return Refuse("iterations of the vectorized {loop1} would copy the same elements of {text0}",
                    {block_id_, loop->id});
    }
    return std::nullopt;
  }

  bool HasSeveral(const std::vector<BufferRegion>& regions) const {
    return std::ranges::count_if(regions, [&](const BufferRegion& r) { return r.buffer.same_as(buffer_); }) > 1;
  }

  // Whether the block writes all that is copied in each iteration of the loop.
  bool WritesAllOfBox(const User& writer) {
    if (!SureWrites(function_).Of(*writer.realize->block, *writer.write)) return false;
    VarMap values;
    for (size_t i = 0; i < writer.realize->bindings.size(); ++i) {
      values[writer.realize->block->iter_vars[i].var] = writer.realize->bindings[i];
    }
    arith::Domain domain;
    for (const ForNode* loop : writer.loops) domain.push_back({loop->var, {loop->min, loop->extent}});
    const auto written =
        arith::MustCover(Substitute(*writer.write, values).region, domain, writer.realize->predicate, &analyzer_);
    return written && ProvablyInside(&analyzer_, BoxInside(), *written);
  }

  std::optional<Refusal> CheckWriting() {
    for (const User& user : outside_) {
      if (user.write != nullptr) return Refuse("{block0} writes {text0} outside of {loop1}", {user.id(), loop_id_});
    }
    for (const User& user : users_) {
      if (user.write == nullptr) return Refuse("{block0} reads {text0} below {loop1}", {user.id(), loop_id_});
    }
    FindBox(/*of_writes=*/true);
    for (const User& user : users_) {
      if (!ReadsBeyondItsWrites(*user.realize->block, buffer_)) continue;
      return Refuse("{block0} may read elements of {text0} that it does not write", {user.id()});
    }
    const User& first = users_.front();
    if (first.read != nullptr && !ReadsOnlyItsOwnValues(function_, *first.realize, buffer_)) {
      return Refuse("{block0}, the first below {loop1} to write {text0}, also reads it", {first.id(), loop_id_});
    }
    if (!WritesAllOfBox(first)) {
      return Refuse("{block0} may not write all elements of {text0} that are copied in each iteration of {loop1}",
                    {first.id(), loop_id_});
    }
    return CheckUsers();
  }

  static Expr Both(const Expr& a, const Expr& b) { return IsTrue(a) ? b : And(a, b); }

  std::vector<Stmt> Statements() const {
    const auto* seq = dyn_cast<SeqNode>(loop_->body);
    return seq == nullptr ? std::vector<Stmt>{loop_->body} : seq->stmts;
  }

  // Before the first user; behind the last.
  size_t PlaceOfCopy() const {
    const std::vector<Stmt> stmts = Statements();
    size_t place = 0;
    for (size_t i = 0; i < stmts.size(); ++i) {
      const std::vector<const BlockRealizeNode*> blocks = BlocksBelow(stmts[i]);
      const bool uses = std::any_of(users_.begin(), users_.end(), [&](const User& user) {
        return std::find(blocks.begin(), blocks.end(), user.realize) != blocks.end();
      });
      if (!uses) continue;
      if (reads_) return i;
      place = i + 1;
    }
    return place;
  }

  static void AddReadsOf(const Expr& value, std::vector<BufferRegion>* reads) {
    for (BufferRegion& read : DetectRegions(Evaluate(value)).reads) {
      const bool known =
          std::ranges::any_of(*reads, [&](const BufferRegion& r) { return r.buffer.same_as(read.buffer); });
      if (!known) reads->push_back(std::move(read));
    }
  }

  // The iterators of the AutoCopy block: the loops around it that its box depends on.
  Stmt MakeCopy(const Buffer& cache, uint32_t* next_id, uint32_t* id) {
    BlockNode::Fields block;
    std::vector<Expr> bindings;
    VarMap iters;
    for (const Range& range : box_) {
      for (const ForNode* loop : around_) {
        if (iters.contains(loop->var) || !UsesVar(range, loop->var)) continue;
        const Var iter("v" + std::to_string(bindings.size()), loop->var.dtype());
        block.iter_vars.push_back({iter, {loop->min, loop->extent}, IterKind::kSpatial});
        bindings.push_back(loop->var);
        iters[loop->var] = iter;
      }
    }
    BufferRegion original{buffer_, {}}, cached{cache, {}};
    std::vector<ForNode::Fields> loops;
    std::vector<Expr> indices;
    Expr inside = True();
    for (size_t d = 0; d < box_.size(); ++d) {
      const Range range = Substitute(box_[d], iters);
      original.region.push_back(range);
      cached.region.push_back(range);
      const Var ax("ax" + std::to_string(d), range.extent.dtype());
      loops.push_back({.id = (*next_id)++, .var = ax, .extent = range.extent});
      indices.push_back(IsInt(range.min, 0) ? Expr(ax) : range.min + ax);
      const Expr &index = indices.back(), &size = buffer_->shape[d];
      const Expr zero = Const(index.dtype(), 0);
      if (!analyzer_.CanProve(zero <= box_[d].min)) inside = Both(inside, zero <= index);
      if (!analyzer_.CanProveLessEqual(box_[d].min + box_[d].extent, size)) inside = Both(inside, index < size);
    }
    block.id = *id = (*next_id)++;
    block.name = buffer_->name + "_" + memory_.text();
    block.annotations[kAutoCopy] = MakeAnnotation(True());
    const Buffer &from = reads_ ? buffer_ : cache, &to = reads_ ? cache : buffer_;
    const Stmt store = Store(to, from.Load(indices), indices);
    block.body = Nest(std::move(loops), IsTrue(inside) ? store : If(inside, store));
    block.reads = {reads_ ? original : cached};
    block.writes = {reads_ ? cached : original};
    // Places that memory decides are read too.
    for (const Range& range : original.region) {
      AddReadsOf(range.min, &block.reads);
      AddReadsOf(range.extent, &block.reads);
    }
    return Realize(std::move(bindings), True(), Block(std::move(block)));
  }

  Outcome<AutoCopyResult> Insert(const BlockNode& scope) {
    CacheStage stage = MakeCacheStage(buffer_, BufferRegion::Full(buffer_).region, memory_);
    AutoCopyResult result;
    uint32_t next_id = function_->next_id;
    const Stmt copy = MakeCopy(stage.cache, &next_id, &result.block);
    std::vector<Stmt> stmts = Statements();
    const size_t place = PlaceOfCopy();
    // What writes the buffer before it is copied goes on to do so.
    for (size_t i = reads_ ? place : 0; i < stmts.size(); ++i) stmts[i] = UseCache(stmts[i], stage);
    stmts.insert(stmts.begin() + static_cast<ptrdiff_t>(place), copy);
    ForNode::Fields loop = loop_->fields();
    loop.body = Sequence(std::move(stmts));
    const Stmt body = ReplaceStmt(scope.body, loop_, For(std::move(loop)));
    result.function = WithScopeBody(function_, scope, body, {stage.cache}, next_id);
    return result;
  }

  const Function& function_;
  const char* const name_;
  const bool reads_;
  const uint32_t loop_id_, block_id_;
  const ForNode* loop_ = nullptr;
  std::vector<const ForNode*> around_;  // the loop and those outside of it, outermost first
  Buffer buffer_;
  Scope memory_;
  std::vector<User> users_, outside_;  // below the loop, and elsewhere in the scope
  arith::Region box_;
  arith::Analyzer analyzer_;
};

}  // namespace

Outcome<AutoCopyResult> ReadAt(const Function& function, uint32_t loop, uint32_t block, int index,
                               std::string_view scope) {
  return Inserter(function, loop, block, Direction::kRead).Apply(index, scope);
}

Outcome<AutoCopyResult> WriteAt(const Function& function, uint32_t loop, uint32_t block, int index,
                                std::string_view scope) {
  return Inserter(function, loop, block, Direction::kWrite).Apply(index, scope);
}

}  // namespace tilewright
