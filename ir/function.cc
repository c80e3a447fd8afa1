#include "ir/function.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "ir/annotations.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

// Gives loops and blocks without an id (0) one, in the order of the text: a loop or block before what it contains.
class IdAssigner : public StmtMutator {
 public:
  explicit IdAssigner(uint32_t next_id) : next_id_(next_id) {}
  uint32_t next_id() const { return next_id_; }

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    const uint32_t id = op->id != 0 ? op->id : next_id_++;
    Stmt body = Mutate(op->body);
    if (id == op->id && body.same_as(op->body)) return self;
    ForNode::Fields fields = op->fields();
    fields.id = id;
    fields.body = std::move(body);
    return For(std::move(fields));
  }
  Block MutateBlock(const Block& block) override {
    const uint32_t id = block->id != 0 ? block->id : next_id_++;
    Block mutated = StmtMutator::MutateBlock(block);
    if (id == block->id) return mutated;
    BlockNode::Fields fields = mutated->fields();
    fields.id = id;
    return Block(std::move(fields));
  }

 private:
  uint32_t next_id_;
};

// The place in each of the outermost lists of statements at which this thread found something last. A schedule works at
// one place for a while, and a step of it shall cost what it touches, not what the program is long.
constexpr size_t kRememberedLists = 4;
constinit thread_local std::array<size_t, kRememberedLists> last_places = {};

// Searches for one statement, of which there is one; expressions are never entered. Schedules look for loops and blocks
// all the time, so the statements that programs consist of are told apart here, and lists are searched from the place
// where something was found last.
template <class IsWanted>
class PathFinder final : public StmtVisitor {
 public:
  // A search in a loop knows nothing of the lists around it: it neither uses nor changes their places.
  PathFinder(IsWanted is_wanted, const Stmt& root)
      : is_wanted_(is_wanted), lists_(isa<ForNode>(root) ? kRememberedLists : 0) {
    path_.reserve(32);
    Visit(root);
  }
  using StmtVisitor::Visit;
  void Visit(const Stmt& s) override {
    if (found_ || !s) return;
    path_.push_back(&s);
    found_ = is_wanted_(s);
    if (!found_) VisitParts(s);
    if (!found_) path_.pop_back();
  }
  bool found() const { return found_; }
  // From the root to what was found, as the nodes hold them.
  const std::vector<const Stmt*>& path() const { return path_; }

 private:
  void VisitParts(const Stmt& s) {
    switch (s->kind()) {
      case Kind::kStore:
      case Kind::kEvaluate:
        return;
      case Kind::kSeq:
        return VisitList(cast<SeqNode>(s)->stmts);
      case Kind::kFor:
        return Visit(cast<ForNode>(s)->body);
      case Kind::kBlockRealize: {
        const BlockNode& block = *cast<BlockRealizeNode>(s)->block;
        Visit(block.init);
        return Visit(block.body);
      }
      default:
        return StmtVisitor::Visit(s);
    }
  }
  void VisitList(const std::vector<Stmt>& list) {
    const size_t level = lists_++;
    const size_t middle = level < kRememberedLists ? std::min(last_places[level], list.size()) : 0;
    for (size_t up = middle, down = middle; !found_ && (up < list.size() || down > 0);) {
      if (up < list.size()) VisitEntry(list, up++, level);
      if (!found_ && down > 0) VisitEntry(list, --down, level);
    }
    --lists_;
  }
  void VisitEntry(const std::vector<Stmt>& list, size_t place, size_t level) {
    Visit(list[place]);
    if (found_ && level < kRememberedLists) last_places[level] = place;
  }

  const IsWanted is_wanted_;
  bool found_ = false;
  size_t lists_;  // around the statement that is visited
  std::vector<const Stmt*> path_;
};

// Replaces the last statement of a path, and enters no statement that is not on it.
class StmtReplacer : public StmtMutator {
 public:
  StmtReplacer(const std::vector<const Stmt*>& path, const Stmt& replacement)
      : path_(path), replacement_(replacement) {}
  using StmtMutator::Mutate;
  Stmt Mutate(const Stmt& s) override {
    if (next_ == path_.size() || s.get() != path_[next_]->get()) return s;
    return ++next_ == path_.size() ? replacement_ : StmtMutator::Mutate(s);
  }

 protected:
  // The path goes through one entry, and leads to where the list holds it. The others are copied and not looked at.
  Stmt MutateSeq(const SeqNode* op, const Stmt& self) override {
    const auto place = static_cast<size_t>(path_[next_] - op->stmts.data());
    Stmt entry = Mutate(op->stmts[place]);
    if (entry.same_as(op->stmts[place])) return self;
    const bool is_statement = !isa<SeqNode>(entry) && !IsNoOp(entry);
    std::vector<Stmt> stmts = op->stmts;
    stmts[place] = std::move(entry);
    return is_statement ? Stmt(new SeqNode(std::move(stmts))) : Sequence(std::move(stmts));
  }

 private:
  const std::vector<const Stmt*>& path_;
  const Stmt& replacement_;
  size_t next_ = 0;
};

}  // namespace

FunctionNode::FunctionNode(Fields f)
    : Node(kKind),
      name(std::move(f.name)),
      params(std::move(f.params)),
      attrs(std::move(f.attrs)),
      body(std::move(f.body)),
      next_id(f.next_id),
      is_private(f.is_private) {}
FunctionNode::Fields FunctionNode::fields() const { return {name, params, attrs, body, next_id, is_private}; }

Function::Function(FunctionNode::Fields fields) {
  IdAssigner assigner(fields.next_id);
  fields.body = assigner.Mutate(fields.body);
  fields.next_id = assigner.next_id();
  Ref<FunctionNode>::operator=(Ref<FunctionNode>(new FunctionNode(std::move(fields))));
}

Function Function::WithBody(Stmt body, uint32_t next_id) const {
  FunctionNode::Fields fields = get()->fields();
  fields.body = std::move(body);
  fields.next_id = next_id;
  return Function(new FunctionNode(std::move(fields)));
}

Function Module::Find(std::string_view name) const {
  for (const Function& function : functions_) {
    if (function->name == name) return function;
  }
  return Function();
}

Function Module::PrepackOf(std::string_view function) const {
  for (const Function& candidate : functions_) {
    const auto attr = candidate->attrs.find(kPrepackOf);
    if (attr == candidate->attrs.end()) continue;
    const auto* value = std::get_if<Expr>(&attr->second.value);
    const auto* name = value == nullptr ? nullptr : dyn_cast<StringImmNode>(*value);
    if (name != nullptr && name->value == function) return candidate;
  }
  return Function();
}

Function Module::Main() const {
  if (Function main = Find("main")) return main;
  // What packs ahead of time for a function counts with it.
  for (const Function& function : functions_) {
    const Function prepack = PrepackOf(function->name);
    const bool only = std::ranges::all_of(
        functions_, [&](const Function& other) { return other.same_as(function) || other.same_as(prepack); });
    if (only) return function;
  }
  return {};
}
void Module::Set(Function function) {
  for (Function& existing : functions_) {
    if (existing->name == function->name) {
      existing = std::move(function);
      return;
    }
  }
  functions_.push_back(std::move(function));
}
void Module::Remove(std::string_view name) {
  std::erase_if(functions_, [&](const Function& function) { return function->name == name; });
}

Path FindPath(const Function& function, uint32_t id) {
  const auto has_id = [id](const Stmt& s) {
    if (const auto* loop = dyn_cast<ForNode>(s)) return loop->id == id;
    const auto* realize = dyn_cast<BlockRealizeNode>(s);
    return realize != nullptr && realize->block->id == id;
  };
  const PathFinder finder(has_id, function->body);
  Path path;
  path.reserve(finder.path().size());
  for (const Stmt* stmt : finder.path()) {
    if (isa<ForNode>(*stmt) || isa<BlockRealizeNode>(*stmt)) path.push_back(*stmt);
  }
  return path;
}
const ForNode* FindLoop(const Function& function, uint32_t id) {
  Path path = FindPath(function, id);
  return path.empty() ? nullptr : dyn_cast<ForNode>(path.back());
}
const BlockRealizeNode* FindBlock(const Function& function, uint32_t id) {
  Path path = FindPath(function, id);
  return path.empty() ? nullptr : dyn_cast<BlockRealizeNode>(path.back());
}

Stmt ReplaceStmt(const Stmt& root, const StmtNode* old, const Stmt& replacement) {
  const PathFinder finder([old](const Stmt& s) { return s.get() == old; }, root);
  TW_CHECK(finder.found()) << "the statement to replace is not below the root";
  return StmtReplacer(finder.path(), replacement).Mutate(root);
}

}  // namespace tilewright
