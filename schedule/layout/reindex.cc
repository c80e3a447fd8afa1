#include "schedule/layout/reindex.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/status_macros.h"
#include "ir/analysis.h"
#include "ir/arith/iter_map.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "ir/substitute.h"
#include "schedule/layout/copy_indices.h"
#include "schedule/program/cache_stage.h"
#include "schedule/program/common_refusals.h"
#include "schedule/program/conjuncts.h"
#include "schedule/program/instances.h"
#include "schedule/program/loop_tree.h"
#include "schedule/program/simplify_block.h"
#include "schedule/program/storage_scope.h"
#include "verify/regions/sure_writes.h"
#include "verify/structure/block_scope.h"

namespace tilewright {
namespace {

using Access = BufferSelector::Access;

// The indices of all accesses of a buffer, when they are all the same.
class IndexCollector : public Visitor {
 public:
  explicit IndexCollector(const Buffer& buffer) : buffer_(buffer) {}
  bool different = false, has_blocks = false;
  std::vector<Expr> indices;

 protected:
  void VisitLoad(const LoadNode* op) override {
    if (op->buffer.same_as(buffer_)) Add(op->indices);
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    if (op->buffer.same_as(buffer_)) Add(op->indices);
    Visitor::VisitStore(op);
  }
  void VisitBlockRealize(const BlockRealizeNode*) override { has_blocks = true; }

 private:
  void Add(const std::vector<Expr>& found) {
    if (indices.empty()) indices = found;
    for (size_t d = 0; d < found.size(); ++d) different |= !StructuralEqual(indices[d], found[d]);
  }
  const Buffer& buffer_;
};

bool Loads(const Expr& e) {
  bool loads = false;
  PreOrder(e, [&](const Expr& part) {
    loads |= isa<LoadNode>(part);
    return !loads;
  });
  return loads;
}

// How the copy is made.
struct CopyForm {
  const char* primitive = "reindex";
  std::optional<Scope> memory;  // absent: the buffer's own
  IndexMap index_map;           // null: the iterators themselves, in order
  std::vector<int64_t> kept;    // dimensions of the buffer that the copy has in place of the iterators in their indices
  bool skip_simplify = false;   // iterators that do not change an index are dimensions too
};

class Reindexer {
 public:
  Reindexer(const Function& function, uint32_t block, const Buffer& buffer, Access access, const CopyForm& form)
      : function_(function),
        name_(form.primitive),
        form_(form),
        id_(block),
        buffer_(buffer),
        access_(access),
        scope_(BlockScope::Around(function, block)),
        child_(scope_.Find(block)) {}

  Outcome<ReindexResult> Apply() {
    if (child_ == nullptr) return Refusal{name_, "{block0} lies in the init of a block", {id_}};
    if (scope_.has_other_statements()) {
      return Refusal{name_, "the scope of {block0} holds statements other than loops and blocks", {id_}};
    }
    for (auto check : {&Reindexer::CheckAccesses, &Reindexer::CheckNeighbors,
                       access_ == Access::kRead ? &Reindexer::CheckReading : &Reindexer::CheckWriting}) {
      if (std::optional<Refusal> refusal = (this->*check)()) return *refusal;
    }
    const CopiedAccess copied = {name_, &block(), buffer_, access_ == Access::kWrite};
    if (std::optional<Refusal> refusal = MapIndices(copied, form_.index_map, &copy_)) return *refusal;
    if (std::optional<Refusal> refusal = KeepDimensions(copied, form_.kept, &copy_)) return *refusal;
    return Rewrite();
  }

 private:
  using Check = std::optional<Refusal>;

  const BlockNode& block() const { return *child_->realize->block; }
  Refusal Refuse(const char* reason) const { return Refusal{name_, reason, {id_}, {}, {buffer_->name}}; }

  Check CheckAccesses() {
    IndexCollector collector(buffer_);
    collector.Visit(block().init);
    collector.Visit(block().body);
    if (collector.has_blocks) return Refuse("{block0} contains blocks");
    if (collector.different) return Refuse("{block0} accesses {text0} at different indices");
    if (collector.indices.empty()) return Refuse("{block0} does not access {text0} by a load or store");
    if (const char* reason = WhyCannotUseCache(block(), buffer_, Memory())) return Refuse(reason);
    copy_.accessed = std::move(collector.indices);
    // Iterators that do not change an index have no part in the new shape: those of one value, co // 32 where co is
    // below
    // 32. An index that is one iterator stays.
    arith::Analyzer iterators;
    for (const IterVar& iter : block().iter_vars) iterators.Bind(iter.var, iter.domain);
    for (Expr& index : copy_.accessed) {
      if (!isa<VarNode>(index) && !form_.skip_simplify) index = iterators.Simplify(index);
    }
    for (const Expr& index : copy_.accessed) {
      bool loads = false;
      PreOrder(index, [&](const Expr& e) {
        loads |= isa<LoadNode>(e) || isa<CallNode>(e);
        return true;
      });
      auto is_no_iterator = [&](const VarNode* var) { return IsLoopInside(var); };
      if (loads || !index.dtype().is_scalar() || UsesVar(index, is_no_iterator)) {
        return Refusal{name_,
                       "the index {expr0} of {text0} does not follow from the iterators of {block0}",
                       {id_},
                       {index},
                       {buffer_->name}};
      }
    }
    for (const IterVar& iter : block().iter_vars) {
      const bool used = std::any_of(copy_.accessed.begin(), copy_.accessed.end(),
                                    [&](const Expr& index) { return UsesVar(index, iter.var); });
      if (!used) continue;
      if (!IsInt(iter.domain.min, 0)) return Refuse("an iterator of {block0} does not start at 0");
      copy_.iters.push_back(iter);
    }
    return std::nullopt;
  }

  // Whether the variable is bound by a loop or let inside of the block.
  bool IsLoopInside(const VarNode* var) const {
    bool bound = false;
    PreOrder(block().body, [&](const Stmt& s) {
      if (const auto* loop = dyn_cast<ForNode>(s)) bound |= loop->var.get() == var;
      if (const auto* let = dyn_cast<LetStmtNode>(s)) bound |= let->var.get() == var;
      return true;
    });
    return bound;
  }

  // The place of the copy. Without an index map it is made for all iterations at once, so nobody may write (or want)
  // the buffer in between; a cache is filled before the block uses it, and emptied before others do.
  Check CheckNeighbors() {
    if (form_.index_map) return PlaceCache();
    const auto others = access_ == Access::kRead ? scope_.Writers(buffer_) : scope_.Readers(buffer_);
    for (uint32_t other : others) {
      const std::vector<const ForNode*>& loops = scope_.Find(other)->loops;
      if (other != id_ && !loops.empty() && !child_->loops.empty() && loops[0] == child_->loops[0]) {
        return Refusal{name_,
                       access_ == Access::kRead ? "{block1} writes {text0} below a loop of {block0}"
                                                : "{block1} reads {text0} below a loop of {block0}",
                       {id_, other},
                       {},
                       {buffer_->name}};
      }
    }
    return std::nullopt;
  }

  // What is written goes back before the first block that uses an output of this one, be it another buffer.
  Check PlaceCache() {
    if (access_ == Access::kRead) {
      const std::vector<uint32_t> writers = scope_.Writers(buffer_);
      if (writers.size() > 1) {
        return Refusal{
            name_, "{text0} is written by {block0} and {block1}", {writers[0], writers[1]}, {}, {buffer_->name}};
      }
      if (!writers.empty()) {
        place_ = FindCopyPlace(scope_, *scope_.Find(writers[0]), {id_});
        neighbors_ = {id_};
      }
      return std::nullopt;
    }
    for (uint32_t reader : scope_.Readers(buffer_)) {
      const ScopeChild& other = *scope_.Find(reader);
      if (&other < child_ && !other.loops.empty() && !child_->loops.empty() && other.loops[0] == child_->loops[0]) {
        return Refusal{
            name_, "{block1} reads {text0} before {block0}, below a loop of it", {id_, reader}, {}, {buffer_->name}};
      }
    }
    neighbors_ = ReadersBehind(scope_, id_);
    place_ = FindCopyPlace(scope_, *child_, neighbors_);
    return std::nullopt;
  }

  Check CheckReading() {
    for (const BufferRegion& write : block().writes) {
      if (write.buffer.same_as(buffer_)) return Refuse("{block0} also writes {text0}");
    }
    arith::Analyzer analyzer;
    for (const IterVar& iter : copy_.iters) analyzer.Bind(iter.var, iter.domain);
    for (size_t d = 0; d < copy_.accessed.size(); ++d) {
      if (!analyzer.CanProve(Const(copy_.accessed[d].dtype(), 0) <= copy_.accessed[d]) ||
          !analyzer.CanProveLess(copy_.accessed[d], buffer_->shape[d])) {
        return Refusal{name_,
                       "the index {expr0} may leave {text0}, and the copy would not be guarded as {block0} is",
                       {id_},
                       {copy_.accessed[d]},
                       {buffer_->name}};
      }
    }
    return std::nullopt;
  }

  Check CheckWriting() {
    for (uint32_t writer : scope_.Writers(buffer_)) {
      if (writer != id_) {
        return Refusal{name_, "{block1} also writes {text0}", {id_, writer}, {}, {buffer_->name}};
      }
    }
    for (const BufferRegion& read : block().reads) {
      if (read.buffer.same_as(buffer_)) return Refuse("{block0} also reads {text0}");
    }
    SureWrites sure(function_);
    for (const BufferRegion& write : block().writes) {
      if (!write.buffer.same_as(buffer_) || sure.Of(block(), write)) continue;
      return Refuse("{block0} may not write all that it declares of {text0}, and the copy would overwrite the rest");
    }
    arith::Analyzer analyzer;
    if (!CopiesWhatRuns() && !RunsAllInstances(*child_->realize, child_->loops, &analyzer)) {
      return Refuse("not all instances of {block0} run, and the copy would overwrite what they do not write");
    }
    arith::Domain domain;
    for (const IterVar& iter : copy_.iters) {
      if (iter.kind != IterKind::kSpatial) return Refuse("{block0} writes {text0} at an iterator that is not spatial");
      domain.push_back({iter.var, iter.domain});
    }
    if (!arith::DetectIterMap(copy_.accessed, domain, {}, arith::IterMapLevel::kBijective, &analyzer)) {
      return Refuse("instances of {block0} may write the same element of {text0}");
    }
    return std::nullopt;
  }

  // Whether the copy's nest runs the instances that the block runs, and no others: it has the block's loops, and all of
  // its conditions.
  bool CopiesWhatRuns() const {
    if (!form_.index_map) return false;
    return std::ranges::all_of(Conjuncts(child_->realize->predicate), [&](const Expr& condition) {
      return !Loads(condition) &&
             std::ranges::none_of(LoopsLeftOut(), [&](const ForNode* loop) { return UsesVar(condition, loop->var); });
    });
  }

  // What the iterators that index the buffer are bound to.
  std::vector<Expr> Bindings() const {
    const BlockRealizeNode& realize = *child_->realize;
    std::vector<Expr> bindings;
    for (const IterVar& iter : copy_.iters) {
      size_t i = 0;
      while (!block().iter_vars[i].var.same_as(iter.var)) ++i;
      bindings.push_back(realize.bindings[i]);
    }
    return bindings;
  }

  // The loops from the copy's place inwards that it does not need.
  std::vector<const ForNode*> LoopsLeftOut() const {
    const std::vector<Expr> bindings = Bindings();
    std::vector<const ForNode*> left_out;
    for (size_t k = place_.loops_around.size(); k < child_->loops.size(); ++k) {
      const ForNode* loop = child_->loops[k];
      const auto uses = [&](const Expr& binding) { return UsesVar(binding, loop->var); };
      if (std::ranges::none_of(bindings, uses)) left_out.push_back(loop);
    }
    return left_out;
  }

  Scope Memory() const { return form_.memory ? *form_.memory : buffer_->scope; }

  // The block with the copy in place of the buffer. Its predicate, which has no iterators, still reads the buffer.
  Stmt UseCopy(const Buffer& copy) const {
    class User : public Mutator {
     public:
      User(const Buffer& from, const Buffer& to, std::vector<Expr> at) : from_(from), to_(to), at_(std::move(at)) {}

      Block MutateBlock(const Block& block) override {
        BlockNode::Fields fields = Mutator::MutateBlock(block)->fields();
        for (auto* regions : {&fields.reads, &fields.writes}) {
          for (BufferRegion& region : *regions) {
            if (region.buffer.same_as(from_)) region = BufferRegion::Point(to_, at_);
          }
        }
        return Block(std::move(fields));
      }

     protected:
      Expr MutateLoad(const LoadNode* op, const Expr& self) override {
        return op->buffer.same_as(from_) ? to_.Load(at_) : Mutator::MutateLoad(op, self);
      }
      Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
        if (!op->buffer.same_as(from_)) return Mutator::MutateStore(op, self);
        return Store(to_, Mutate(op->value), at_);
      }

     private:
      const Buffer &from_, &to_;
      const std::vector<Expr> at_;
    };
    const BlockRealizeNode& realize = *child_->realize;
    return Realize(realize.bindings, realize.predicate, User(buffer_, copy, copy_.used_at).MutateBlock(realize.block));
  }

  Stmt MakeCopyNest(const Buffer& copy, uint32_t* next_id, uint32_t* copy_id) const {
    std::vector<ForNode::Fields> loops;
    std::vector<Expr> bindings;
    Expr predicate = True();
    if (form_.index_map) {
      CopyLoops(&loops, &bindings, &predicate, next_id);
    } else {
      for (size_t k = 0; k < copy_.iters.size(); ++k) {
        const Var loop("ax" + std::to_string(k), copy_.iters[k].var.dtype());
        loops.push_back({.id = (*next_id)++, .var = loop, .extent = copy_.iters[k].domain.extent});
        bindings.push_back(loop);
      }
    }
    BlockNode::Fields fields;
    VarMap values;
    for (size_t k = 0; k < copy_.iters.size(); ++k) {
      const Var iter(form_.index_map ? copy_.iters[k].var.name() : "v" + std::to_string(k), copy_.iters[k].var.dtype());
      fields.iter_vars.push_back({iter, copy_.iters[k].domain, IterKind::kSpatial});
      values[copy_.iters[k].var] = iter;
    }
    const std::vector<Expr> at_buffer = Substitute(copy_.accessed, values), at_copy = Substitute(copy_.at_copy, values);
    fields.id = *copy_id = (*next_id)++;
    fields.reads = {BufferRegion::Point(buffer_, at_buffer)};
    fields.writes = {BufferRegion::Point(copy, at_copy)};
    if (access_ == Access::kRead) {
      fields.name = form_.index_map ? copy->name : copy->name + "_reindex";
      fields.body = Store(copy, buffer_.Load(at_buffer), at_copy);
    } else {
      fields.name = copy->name;
      std::swap(fields.reads, fields.writes);
      fields.body = Store(buffer_, copy.Load(at_copy), at_buffer);
    }
    return Nest(std::move(loops), Realize(std::move(bindings), predicate, Block(std::move(fields))));
  }

  // The loops of the block, from the copy's place inwards, that the copy's iterators need; what the iterators are bound
  // to; and the conditions on those loops, but for what has to be loaded: that may not be there yet.
  void CopyLoops(std::vector<ForNode::Fields>* loops, std::vector<Expr>* bindings, Expr* predicate,
                 uint32_t* next_id) const {
    *bindings = Bindings();
    const std::vector<const ForNode*> left_out = LoopsLeftOut();
    VarMap values;
    for (size_t k = place_.loops_around.size(); k < child_->loops.size(); ++k) {
      const ForNode& loop = *child_->loops[k];
      if (std::ranges::find(left_out, &loop) != left_out.end()) continue;
      const Var var(loop.var.name(), loop.var.dtype());
      loops->push_back({.id = (*next_id)++, .var = var, .min = loop.min, .extent = loop.extent});
      values[loop.var] = var;
    }
    *bindings = Substitute(*bindings, values);
    for (const Expr& condition : Conjuncts(child_->realize->predicate)) {
      if (std::ranges::any_of(left_out, [&](const ForNode* loop) { return UsesVar(condition, loop->var); })) continue;
      if (Loads(condition)) continue;
      const Expr mine = Substitute(condition, values);
      *predicate = IsTrue(*predicate) ? mine : And(*predicate, mine);
    }
  }

  ReindexResult Rewrite() const {
    const std::string suffix = form_.memory ? form_.memory->text() : "reindex";
    const Buffer copy(buffer_->name + "_" + suffix, copy_.shape, buffer_->dtype, Memory());
    uint32_t next_id = function_->next_id;
    ReindexResult result;
    const Stmt nest = MakeCopyNest(copy, &next_id, &result.block);
    if (form_.index_map) {
      const BlockNode& scope = *scope_.block();
      const bool at_end = access_ == Access::kWrite && neighbors_.empty();
      const Stmt body = InsertCopy(scope, {}, nest, place_, neighbors_, at_end, /*users=*/{});
      result.function =
          WithScopeBody(function_, scope, ReplaceStmt(body, child_->realize, UseCopy(copy)), {copy}, next_id);
      return result;
    }
    const Stmt top = child_->loops.empty() ? Stmt(child_->realize) : Stmt(child_->loops[0]);
    const Stmt changed = ReplaceStmt(top, child_->realize, UseCopy(copy));
    std::vector<Stmt> sequence = {nest, changed};
    if (access_ == Access::kWrite) std::swap(sequence[0], sequence[1]);
    Stmt body = ReplaceStmt(scope_.block()->body, top.get(), Sequence(std::move(sequence)));
    result.function = WithScopeBody(function_, *scope_.block(), std::move(body), {copy}, next_id);
    return result;
  }

  const Function& function_;
  const char* const name_;
  const CopyForm form_;
  const uint32_t id_;
  const Buffer buffer_;
  const Access access_;
  const BlockScope scope_;
  const ScopeChild* child_;
  CopyIndices copy_;
  // The place at which the cache stage is inserted.
  CopyPlace place_;
  std::vector<uint32_t> neighbors_;
};

Outcome<ReindexResult> ReindexCache(const char* primitive, const Function& function, uint32_t block_id, Access access,
                                    int index, std::string_view scope, const IndexMap& index_map) {
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(primitive, function, block_id));
  const BufferSelector selector = access == Access::kRead ? BufferSelector::Read(index) : BufferSelector::Write(index);
  TW_ASSIGN_OR_RETURN(SelectedRegion selected,
                      SelectRegion(primitive, *cast<BlockRealizeNode>(path.back())->block, selector));
  TW_ASSIGN_OR_RETURN(Scope named, ReadScope(primitive, block_id, scope));
  const CopyForm form = {.primitive = primitive, .memory = named, .index_map = index_map};
  return Reindexer(function, block_id, selected.region.buffer, access, form).Apply();
}

}  // namespace

Outcome<ReindexResult> Reindex(const Function& function, uint32_t block_id, const BufferSelector& selector,
                               const std::vector<int64_t>& kept, bool skip_simplify) {
  constexpr const char* kName = "reindex";
  TW_ASSIGN_OR_RETURN(Path path, PathToInnerBlock(kName, function, block_id));
  TW_ASSIGN_OR_RETURN(SelectedRegion selected,
                      SelectRegion(kName, *cast<BlockRealizeNode>(path.back())->block, selector));
  return Reindexer(function, block_id, selected.region.buffer, selected.access,
                   CopyForm{.kept = kept, .skip_simplify = skip_simplify})
      .Apply();
}

Outcome<ReindexResult> ReindexCacheRead(const Function& function, uint32_t block, int index, std::string_view scope,
                                        const IndexMap& index_map) {
  return ReindexCache("reindex_cache_read", function, block, Access::kRead, index, scope, index_map);
}

Outcome<ReindexResult> ReindexCacheWrite(const Function& function, uint32_t block, int index, std::string_view scope,
                                         const IndexMap& index_map) {
  return ReindexCache("reindex_cache_write", function, block, Access::kWrite, index, scope, index_map);
}

}  // namespace tilewright
