#include "ir/function.h"

#include <algorithm>

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

// Searches for one id; statements are entered in order, expressions never. Schedules look for loops and blocks all the
// time, so the statements that programs consist of are told apart here.
class PathFinder final : public StmtVisitor {
 public:
  explicit PathFinder(uint32_t id) : id_(id) { path_.reserve(32); }
  using StmtVisitor::Visit;
  void Visit(const Stmt& s) override {
    if (found_ || !s) return;
    switch (s->kind()) {
      case Kind::kStore:
      case Kind::kEvaluate:
        return;
      case Kind::kSeq:
        for (const Stmt& part : cast<SeqNode>(s)->stmts) Visit(part);
        return;
      case Kind::kFor: {
        const auto* loop = cast<ForNode>(s);
        path_.push_back(&s);
        found_ = loop->id == id_;
        Visit(loop->body);
        break;
      }
      case Kind::kBlockRealize: {
        const BlockNode& block = *cast<BlockRealizeNode>(s)->block;
        path_.push_back(&s);
        found_ = block.id == id_;
        Visit(block.init);
        Visit(block.body);
        break;
      }
      default:
        return StmtVisitor::Visit(s);
    }
    if (!found_) path_.pop_back();
  }
  Path Take() const {
    Path path;
    if (!found_) return path;
    path.reserve(path_.size());
    for (const Stmt* stmt : path_) path.push_back(*stmt);
    return path;
  }

 private:
  const uint32_t id_;
  bool found_ = false;
  std::vector<const Stmt*> path_;  // into the nodes that hold them
};

class StmtReplacer : public StmtMutator {
 public:
  StmtReplacer(const StmtNode* old, const Stmt& replacement) : old_(old), replacement_(replacement) {}
  using StmtMutator::Mutate;
  Stmt Mutate(const Stmt& s) override {
    if (replaced_) return s;
    if (s.get() == old_) {
      replaced_ = true;
      return replacement_;
    }
    return StmtMutator::Mutate(s);
  }
  bool replaced() const { return replaced_; }

 private:
  const StmtNode* old_;
  const Stmt& replacement_;
  bool replaced_ = false;
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
  PathFinder finder(id);
  finder.Visit(function->body);
  return finder.Take();
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
  StmtReplacer replacer(old, replacement);
  Stmt result = replacer.Mutate(root);
  TW_CHECK(replacer.replaced()) << "the statement to replace is not below the root";
  return result;
}

}  // namespace tilewright
