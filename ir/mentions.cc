#include "ir/mentions.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <unordered_map>
#include <variant>

#include "base/list_change.h"

namespace tilewright {
namespace {

class Collector : public Visitor {
 public:
  using Visitor::Visit;
  std::vector<const VarNode*> vars;
  std::vector<const VarNode*> declared;  // memory, of which the statement has a name of its own

 protected:
  void VisitVar(const VarNode* op) override { vars.push_back(op); }
  void VisitLet(const LetNode* op) override {
    vars.push_back(op->var.get());
    Visitor::VisitLet(op);
  }
  void VisitLoad(const LoadNode* op) override {
    Use(op->buffer);
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    Use(op->buffer);
    Visitor::VisitStore(op);
  }
  void VisitFor(const ForNode* op) override {
    vars.push_back(op->var.get());
    Visitor::VisitFor(op);
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    vars.push_back(op->var.get());
    Visitor::VisitLetStmt(op);
  }
  void VisitAllocate(const AllocateNode* op) override {
    Declare(op->buffer);
    Visitor::VisitAllocate(op);
  }
  void VisitDeclBuffer(const DeclBufferNode* op) override {
    Declare(op->buffer);
    Visitor::VisitDeclBuffer(op);
  }
  void VisitBlock(const BlockNode* op) override {
    for (const IterVar& iter : op->iter_vars) vars.push_back(iter.var.get());
    for (const BufferRegion& region : op->reads) Use(region.buffer);
    for (const BufferRegion& region : op->writes) Use(region.buffer);
    for (const auto& [key, annotation] : op->annotations) Visit(annotation);
    for (const Buffer& buffer : op->alloc_buffers) Declare(buffer);
    for (const MatchBuffer& match : op->match_buffers) {
      Use(match.source.buffer);
      Match(match);
    }
    Visitor::VisitBlock(op);
  }

 private:
  void Visit(const Annotation& annotation) {
    if (const auto* value = std::get_if<Expr>(&annotation.value)) Visit(*value);
    if (const auto* list = std::get_if<Annotation::List>(&annotation.value)) {
      for (const Annotation& entry : *list) Visit(entry);
    }
    if (const auto* dict = std::get_if<Annotation::Dict>(&annotation.value)) {
      for (const auto& [key, entry] : *dict) Visit(entry);
    }
  }
  void Use(const Buffer& buffer) { vars.push_back(buffer->data.get()); }
  void Declare(const Buffer& buffer) {
    declared.push_back(buffer->data.get());
    UseShape(buffer);
  }
  // A part is a name of what it is a part of where its type is another one (ir/shared_memory.h).
  void Match(const MatchBuffer& match) {
    const VarNode* source = match.source.buffer->data.get();
    const auto outer = sources_.find(source);
    if (outer != sources_.end()) source = outer->second;
    sources_[match.buffer->data.get()] = source;
    if (match.buffer->dtype != match.source.buffer->dtype) declared.push_back(source);
    UseShape(match.buffer);
  }
  void UseShape(const Buffer& buffer) {
    Use(buffer);
    Visit(buffer->elem_offset);
    VisitAll(buffer->shape);
    VisitAll(buffer->strides);
  }

  std::unordered_map<const VarNode*, const VarNode*> sources_;  // of matched parts: the memory that they lie in
};

using Vars = std::vector<const VarNode*>;

// Lists that are refused, one after the other, before one of them is kept in the place of a longer one.
constexpr int kMostRefused = 8;

// What an entry mentions and declares: sorted, each once.
struct Mentioned {
  Vars vars, declared;

  explicit Mentioned(const Stmt& stmt) {
    Collector collector;
    collector.Visit(stmt);
    vars = EachOnce(collector.vars);
    declared = EachOnce(collector.declared);
  }

 private:
  static Vars EachOnce(Vars& found) {
    std::ranges::sort(found);
    return {found.begin(), std::unique(found.begin(), found.end())};
  }
};

// The entries of a list by variable, in no order.
class EntriesByVar {
 public:
  void Add(const StmtNode* entry, const Vars& vars) {
    for (const VarNode* var : vars) entries_[var].push_back(entry);
  }
  void Forget(const StmtNode* entry, const Vars& vars) {
    for (const VarNode* var : vars) {
      const auto found = entries_.find(var);
      std::vector<const StmtNode*>& of_var = found->second;
      // What changes has often changed before: it was added late.
      std::swap(*std::find(of_var.rbegin(), of_var.rend(), entry), of_var.back());
      of_var.pop_back();
      if (of_var.empty()) entries_.erase(found);
    }
  }
  // The places of those of one of the variables.
  std::vector<size_t> PlacesOf(const Vars& vars, const SeqNode& list) const {
    std::vector<const StmtNode*> wanted;
    for (const VarNode* var : vars) {
      const auto found = entries_.find(var);
      if (found != entries_.end()) wanted.insert(wanted.end(), found->second.begin(), found->second.end());
    }
    std::ranges::sort(wanted);
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    std::vector<size_t> places;
    for (size_t i = 0; i < list.stmts.size() && places.size() < wanted.size(); ++i) {
      if (std::ranges::binary_search(wanted, list.stmts[i].get())) places.push_back(i);
    }
    return places;
  }

 private:
  std::unordered_map<const VarNode*, std::vector<const StmtNode*>> entries_;
};

std::vector<size_t> AllOf(const SeqNode& list) {
  std::vector<size_t> places(list.stmts.size());
  std::iota(places.begin(), places.end(), size_t{0});
  return places;
}

constinit thread_local KeepMentions* keeping = nullptr;

}  // namespace

struct KeepMentions::Kept {
  Ref<SeqNode> list;
  std::vector<Mentioned> mentioned;  // by its entries
  EntriesByVar mentioning, declaring;

  int refused = 0;  // lists, one after the other

  // Whether it is the other list then, which may be a shorter one that has nothing in common with it: one inside of an
  // entry, or what the list has become while nobody asked. The latter is asked for again and again.
  bool Become(const SeqNode& other) {
    if (list.get() == &other) {
      refused = 0;
      return true;
    }
    const auto is_same = [](const Stmt& a, const Stmt& b) { return a.same_as(b); };
    const std::vector<Stmt> none;
    const std::vector<Stmt>& before = list ? list->stmts : none;
    const ListChange change = ListChange::Between(before, other.stmts, is_same);
    const bool is_apart = change.end_before - change.begin == mentioned.size();
    if (is_apart && other.stmts.size() < mentioned.size() && ++refused <= kMostRefused) return false;
    refused = 0;
    for (size_t i = change.begin; i < change.end_before; ++i) {
      mentioning.Forget(before[i].get(), mentioned[i].vars);
      declaring.Forget(before[i].get(), mentioned[i].declared);
    }
    std::vector<Mentioned> changed;
    for (size_t i = change.begin; i < change.end_after; ++i) {
      changed.emplace_back(other.stmts[i]);
      mentioning.Add(other.stmts[i].get(), changed.back().vars);
      declaring.Add(other.stmts[i].get(), changed.back().declared);
    }
    const auto place = [&](size_t i) { return mentioned.begin() + static_cast<std::ptrdiff_t>(i); };
    mentioned.erase(place(change.begin), place(change.end_before));
    mentioned.insert(place(change.begin), std::move_iterator(changed.begin()), std::move_iterator(changed.end()));
    list = Ref<SeqNode>(&other);
    return true;
  }
};

KeepMentions::KeepMentions() : kept_(std::make_unique<Kept>()), outer_(std::exchange(keeping, this)) {}
KeepMentions::~KeepMentions() { keeping = outer_; }

std::vector<size_t> EntriesThatMention(const SeqNode& list, const std::vector<const VarNode*>& vars) {
  if (keeping == nullptr || !keeping->kept_->Become(list)) return AllOf(list);
  return keeping->kept_->mentioning.PlacesOf(vars, list);
}

std::vector<size_t> EntriesThatDeclare(const SeqNode& list, const std::vector<const VarNode*>& memory) {
  if (keeping == nullptr || !keeping->kept_->Become(list)) return AllOf(list);
  return keeping->kept_->declaring.PlacesOf(memory, list);
}

Stmt MutatorOfMentions::MutateSeq(const SeqNode* op, const Stmt& self) {
  if (in_list_) return Mutator::MutateSeq(op, self);
  in_list_ = true;
  std::vector<Stmt> stmts = op->stmts;
  bool changed = false;
  for (const size_t place : EntriesThatMention(*op, vars_)) {
    Stmt mutated = Mutate(stmts[place]);
    changed |= !mutated.same_as(stmts[place]);
    stmts[place] = std::move(mutated);
  }
  in_list_ = false;
  return changed ? Sequence(std::move(stmts)) : self;
}

std::vector<Stmt> StmtsThatMention(const Stmt& s, const std::vector<const VarNode*>& vars) {
  const auto* list = dyn_cast<SeqNode>(s);
  if (list == nullptr) return {s};
  std::vector<Stmt> stmts;
  for (const size_t place : EntriesThatMention(*list, vars)) stmts.push_back(list->stmts[place]);
  return stmts;
}

Stmt RewriteMentions(const Stmt& s, const std::vector<const VarNode*>& vars,
                     const std::function<Stmt(const Stmt&)>& rewrite) {
  const auto* list = dyn_cast<SeqNode>(s);
  if (list == nullptr) return RewriteStmt(s, rewrite);
  std::vector<Stmt> stmts = list->stmts;
  for (const size_t place : EntriesThatMention(*list, vars)) stmts[place] = RewriteStmt(stmts[place], rewrite);
  return Sequence(std::move(stmts));
}

}  // namespace tilewright
