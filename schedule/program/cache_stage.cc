#include "schedule/program/cache_stage.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "ir/builtin.h"
#include "ir/mentions.h"
#include "ir/substitute.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/sum_form.h"

namespace tilewright {
namespace {

// Replaces the buffer and moves indices by the origin.
class CacheUser : public Mutator {
 public:
  explicit CacheUser(const CacheStage& stage) : stage_(stage) {}
  Block MutateBlock(const Block& block) override {
    Block mutated = Mutator::MutateBlock(block);
    BlockNode::Fields fields = mutated->fields();
    bool changed = Move(fields.reads);
    changed |= Move(fields.writes);
    for (MatchBuffer& match : fields.match_buffers) changed |= Move(match.source);
    return changed ? Block(std::move(fields)) : mutated;
  }

 protected:
  Expr MutateVar(const VarNode* op, const Expr& self) override {
    return op == stage_.buffer->data.get() ? Expr(stage_.cache->data) : self;
  }
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    if (!op->buffer.same_as(stage_.buffer)) return Mutator::MutateLoad(op, self);
    return Expr(new LoadNode(stage_.cache, Moved(MutateAll(op->indices)), Mutate(op->predicate)));
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    if (!op->buffer.same_as(stage_.buffer)) return Mutator::MutateStore(op, self);
    return Store(stage_.cache, Mutate(op->value), Moved(MutateAll(op->indices)), Mutate(op->predicate));
  }

 private:
  std::vector<Expr> Moved(std::vector<Expr> indices) const {
    for (size_t d = 0; d < indices.size(); ++d) {
      if (!IsInt(stage_.origin[d], 0)) indices[d] = arith::Simplify(indices[d] - stage_.origin[d]);
    }
    return indices;
  }
  bool Move(BufferRegion& region) const {
    if (!region.buffer.same_as(stage_.buffer)) return false;
    region.buffer = stage_.cache;
    for (size_t d = 0; d < region.region.size(); ++d) {
      Expr& min = region.region[d].min;
      if (!IsInt(stage_.origin[d], 0)) min = arith::Simplify(min - stage_.origin[d]);
    }
    return true;
  }
  bool Move(std::vector<BufferRegion>& regions) const {
    bool changed = false;
    for (BufferRegion& region : regions) changed |= Move(region);
    return changed;
  }

  const CacheStage& stage_;
};

bool ContainsAnyBlock(const Stmt& s, const std::vector<uint32_t>& ids) {
  // What nearly all programs consist of.
  if (const auto* loop = dyn_cast<ForNode>(s)) return ContainsAnyBlock(loop->body, ids);
  if (const auto* realize = dyn_cast<BlockRealizeNode>(s)) {
    return std::ranges::find(ids, realize->block->id) != ids.end();
  }
  bool found = false;
  PreOrder(s, [&](const Stmt& part) {
    const bool is_known = isa<ForNode>(part) || isa<BlockRealizeNode>(part);
    found = found || (is_known && ContainsAnyBlock(part, ids));
    return !is_known && !found;
  });
  return found;
}

// The statements of a list, or the one that is not a list.
std::vector<Stmt> StatementsOf(const Stmt& body) {
  const auto* seq = dyn_cast<SeqNode>(body);
  return seq != nullptr ? seq->stmts : std::vector<Stmt>{body};
}

// The first of the statements that holds one of the blocks.
std::optional<size_t> FirstWith(const std::vector<Stmt>& stmts, const std::vector<uint32_t>& blocks) {
  if (blocks.empty()) return std::nullopt;
  const auto first = std::ranges::find_if(stmts, [&](const Stmt& stmt) { return ContainsAnyBlock(stmt, blocks); });
  return first == stmts.end() ? std::nullopt : std::optional(static_cast<size_t>(first - stmts.begin()));
}

// Before or behind a statement; without one at that end of the list which is farthest from there.
Stmt Insert(std::vector<Stmt> stmts, const Stmt& copy, std::optional<size_t> neighbor, bool after) {
  const size_t position = neighbor ? *neighbor + (after ? 1 : 0) : after ? stmts.size() : 0;
  stmts.insert(stmts.begin() + static_cast<ptrdiff_t>(position), copy);
  return Sequence(std::move(stmts));
}

// The elements of memory that the indices of a copy are made of.
void AddReadsOfMemory(const std::vector<Expr>& indices, std::vector<BufferRegion>* reads) {
  for (const Expr& index : indices) {
    PreOrder(index, [&](const Expr& e) {
      const auto* load = dyn_cast<LoadNode>(e);
      if (load != nullptr) reads->push_back(BufferRegion::Point(load->buffer, load->indices));
      return true;
    });
  }
}

}  // namespace

CacheStage MakeCacheStage(const Buffer& buffer, const std::vector<Range>& box, const Scope& scope) {
  CacheStage stage{buffer, {}, {}};
  std::vector<Expr> shape;
  for (const Range& range : box) {
    shape.push_back(range.extent);
    stage.origin.push_back(range.min);
  }
  stage.cache = Buffer(buffer->name + "_" + scope.text(), std::move(shape), buffer->dtype, scope);
  return stage;
}

Stmt MakeCopy(const CacheStage& stage, const std::vector<Range>& part, bool into_cache, arith::Analyzer* analyzer,
              uint32_t* next_id, uint32_t* block_id) {
  std::vector<ForNode::Fields> loops;
  std::vector<Expr> bindings, cache_indices, buffer_indices;
  BlockNode::Fields block;
  Expr predicate = True();
  for (size_t d = 0; d < part.size(); ++d) {
    const DataType type = stage.cache->shape[d].dtype();
    const std::string number = std::to_string(d);
    Var loop("ax" + number, type), iter("v" + number, type);
    Expr binding = analyzer->Simplify(part[d].min - stage.origin[d] + loop);
    arith::Analyzer::Scope inside(analyzer);
    analyzer->Bind(loop, {Const(type, 0), part[d].extent});
    Expr in_cache = analyzer->Simplify(And(Const(type, 0) <= binding, binding < stage.cache->shape[d]));
    if (!IsTrue(in_cache)) predicate = IsTrue(predicate) ? in_cache : And(predicate, in_cache);
    loops.push_back({.id = (*next_id)++, .var = loop, .extent = CastTo(type, part[d].extent)});
    bindings.push_back(binding);
    block.iter_vars.push_back({iter, {Const(type, 0), stage.cache->shape[d]}, IterKind::kSpatial});
    cache_indices.push_back(iter);
    buffer_indices.push_back(IsInt(stage.origin[d], 0) ? Expr(iter) : analyzer->Simplify(stage.origin[d] + iter));
  }
  block.id = *block_id = (*next_id)++;
  block.name = stage.cache->name;
  BufferRegion cached = BufferRegion::Point(stage.cache, cache_indices);
  BufferRegion original = BufferRegion::Point(stage.buffer, buffer_indices);
  if (into_cache) {
    block.body = Store(stage.cache, stage.buffer.Load(buffer_indices), cache_indices);
    block.reads = {original};
    block.writes = {cached};
  } else {
    block.body = Store(stage.buffer, stage.cache.Load(cache_indices), buffer_indices);
    block.reads = {cached};
    block.writes = {original};
  }
  AddReadsOfMemory(buffer_indices, &block.reads);
  return Nest(std::move(loops), Realize(std::move(bindings), predicate, Block(std::move(block))));
}

Stmt UseCache(const Stmt& s, const CacheStage& stage) { return CacheUser(stage).Mutate(s); }

namespace {

// Whether the address of a buffer is taken, and by anything else than a function outside of the program, which takes
// pointers to any memory.
class AddressFinder : public Visitor {
 public:
  explicit AddressFinder(const Buffer& buffer) : buffer_(buffer) {}
  bool found = false, by_other = false, has_view = false;

 protected:
  void VisitVar(const VarNode* op) override {
    if (op == buffer_->data.get()) Found();
  }
  void VisitCall(const CallNode* op) override {
    const auto* load = op->op == kAddressOf && op->args.size() == 1 ? dyn_cast<LoadNode>(op->args[0]) : nullptr;
    if (load != nullptr && load->buffer.same_as(buffer_)) Found();
    const bool outer = in_extern_;
    in_extern_ |= op->op == kCallExtern || op->op == kCallPureExtern;
    Visitor::VisitCall(op);
    in_extern_ = outer;
  }
  void VisitDeclBuffer(const DeclBufferNode* op) override {
    has_view |= op->buffer->data.same_as(buffer_->data);
    Visitor::VisitDeclBuffer(op);
  }

 private:
  void Found() {
    found = true;
    by_other |= !in_extern_;
  }
  const Buffer& buffer_;
  bool in_extern_ = false;
};

// Whether a compact cache of `box` has all elements at the offsets that they have in the buffer.
bool KeepsOffsets(const Buffer& buffer, const std::vector<Range>& box) {
  if (box.empty() || !buffer->strides.empty() || buffer->layout) return false;
  if (buffer->elem_offset && !IsInt(buffer->elem_offset, 0)) return false;
  for (size_t d = 0; d < box.size(); ++d) {
    if (!IsInt(box[d].min, 0) || !arith::Analyzer().CanProveEqual(box[d].extent, buffer->shape[d])) return false;
  }
  return true;
}

bool HasAddress(const Scope& scope) {
  return scope.kind() == MemoryKind::kGlobal || scope.kind() == MemoryKind::kShared ||
         scope.kind() == MemoryKind::kLocal;
}

// Whether the statement can work on the address of such a cache.
bool CanUseAddressOf(const Stmt& s, const Buffer& buffer, const Scope& scope, const std::vector<Range>& box) {
  if (!s) return true;
  AddressFinder addresses(buffer);
  addresses.Visit(s);
  if (addresses.has_view) return false;
  if (!addresses.found) return true;
  if (!KeepsOffsets(buffer, box)) return false;
  return scope == buffer->scope || (!addresses.by_other && HasAddress(scope) && HasAddress(buffer->scope));
}

}  // namespace

const char* WhyCannotUseCache(const BlockNode& block, const Buffer& buffer, const Scope& scope,
                              const std::vector<Range>& box) {
  const char* reason = nullptr;
  auto check_match = [&](const BlockNode& inner) {
    for (const MatchBuffer& match : inner.match_buffers) {
      if (match.source.buffer.same_as(buffer) && !(match.buffer->scope == scope)) {
        reason = "{block0} matches a part of {text0} in the scope that {text0} has";
      }
    }
  };
  auto check = [&](const Stmt& s) {
    if (!s) return;
    if (!CanUseAddressOf(s, buffer, scope, box)) reason = "{block0} takes the address of {text0}";
    PreOrder(s, [&](const Stmt& inner) {
      if (const auto* realize = dyn_cast<BlockRealizeNode>(inner)) check_match(*realize->block);
      return true;
    });
  };
  check_match(block);
  check(block.init);
  check(block.body);
  return reason;
}

bool BoundsRead(const ForNode& loop, const Buffer& buffer) {
  return Reads(loop.min, buffer) || Reads(loop.extent, buffer);
}

std::vector<uint32_t> ReadersBehind(const BlockScope& scope, uint32_t writer) {
  std::vector<uint32_t> readers;
  for (const Dependence& dependence : scope.DependencesOf(writer)) {
    if (dependence.source == writer && dependence.kind == DependenceKind::kReadAfterWrite) {
      readers.push_back(dependence.destination);
    }
  }
  // What stands around a block is not a read of the block.
  const ScopeChild& child = *scope.Find(writer);
  const auto reads_around = [&](const ScopeChild& other, const Buffer& buffer) {
    return std::ranges::any_of(other.realize->bindings, [&](const Expr& e) { return Reads(e, buffer); }) ||
           std::ranges::any_of(other.loops, [&](const ForNode* loop) {
             return std::ranges::find(child.loops, loop) == child.loops.end() && BoundsRead(*loop, buffer);
           });
  };
  std::vector<uint32_t> in_order;
  for (const ScopeChild& other : scope.children()) {
    const bool reads = std::ranges::find(readers, other.id()) != readers.end();
    const bool around = &other > &child && scope.LoadsAround(other) &&
                        std::ranges::any_of(child.realize->block->writes, [&](const BufferRegion& write) {
                          return reads_around(other, write.buffer);
                        });
    if (reads || around) in_order.push_back(other.id());
  }
  return in_order;
}

CopyPlace FindCopyPlace(const BlockScope& scope, const ScopeChild& writer, const std::vector<uint32_t>& users) {
  size_t depth = 0;
  for (uint32_t user : users) {
    const std::vector<const ForNode*>& loops = scope.Find(user)->loops;
    size_t common = 0;
    while (common < loops.size() && common < writer.loops.size() && loops[common] == writer.loops[common]) ++common;
    depth = std::max(depth, common);
  }
  CopyPlace place;
  const auto split = writer.loops.begin() + static_cast<ptrdiff_t>(depth);
  place.loops_around.assign(writer.loops.begin(), split);
  place.loops_inside.assign(split, writer.loops.end());
  if (depth > 0) place.loop = place.loops_around.back();
  return place;
}

Stmt InsertCopy(const BlockNode& scope, const CacheStage& stage, const Stmt& copy, const CopyPlace& place,
                const std::vector<uint32_t>& neighbors, bool after, const std::vector<uint32_t>& users,
                const std::vector<uint32_t>& conditions) {
  CacheUser user(stage);
  const uint32_t place_id = place.loop == nullptr ? 0 : place.loop->id;
  const auto rewrite = [&](const Stmt& s) -> Stmt {
    if (const auto* realize = dyn_cast<BlockRealizeNode>(s)) {
      const auto among = [&](const std::vector<uint32_t>& ids) {
        return std::find(ids.begin(), ids.end(), realize->block->id) != ids.end();
      };
      const bool in_block = among(users), in_predicate = among(conditions);
      if (!in_block && !in_predicate) return s;
      return Realize(realize->bindings, in_predicate ? user.Mutate(realize->predicate) : realize->predicate,
                     in_block ? user.MutateBlock(realize->block) : realize->block);
    }
    const auto* loop = dyn_cast<ForNode>(s);
    if (loop == nullptr || loop->id != place_id) return s;
    ForNode::Fields fields = loop->fields();
    std::vector<Stmt> stmts = StatementsOf(fields.body);
    const std::optional<size_t> neighbor = FirstWith(stmts, neighbors);
    fields.body = Insert(std::move(stmts), copy, neighbor, after);
    return For(std::move(fields));
  };
  std::vector<const VarNode*> vars;  // of the buffer, and of the loop that the copy comes into
  if (stage.buffer) vars.push_back(stage.buffer->data.get());
  if (place.loop != nullptr) vars.push_back(place.loop->var.get());
  const Stmt body = RewriteMentions(scope.body, vars, rewrite);
  if (place.loop != nullptr) return body;
  std::vector<Stmt> stmts = StatementsOf(body);
  // Unless statements without effect have gone, each is where it was.
  const auto* before = dyn_cast<SeqNode>(scope.body);
  const bool are_in_place = stmts.size() == (before == nullptr ? 1 : before->stmts.size());
  const std::optional<size_t> neighbor =
      are_in_place ? BlockScope::Of(&scope).FirstStatementOf(neighbors) : FirstWith(stmts, neighbors);
  return Insert(std::move(stmts), copy, neighbor, after);
}

Function WithScopeBody(const Function& function, const BlockNode& scope, Stmt body, std::vector<Buffer> allocated,
                       uint32_t next_id) {
  Path path = FindPath(function, scope.id);
  TW_CHECK(!path.empty());
  const auto* realize = cast<BlockRealizeNode>(path.back());
  BlockNode::Fields fields = realize->block->fields();
  fields.body = std::move(body);
  fields.alloc_buffers.insert(fields.alloc_buffers.end(), allocated.begin(), allocated.end());
  Stmt replacement = Realize(realize->bindings, realize->predicate, Block(std::move(fields)));
  return ReplaceIn(function, realize, replacement, next_id);
}

}  // namespace tilewright
