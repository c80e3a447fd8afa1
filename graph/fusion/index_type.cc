#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "graph/fusion/block_mutator.h"
#include "graph/fusion/program_form.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright::graph {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int32_t>::min(), kMost = std::numeric_limits<int32_t>::max();

bool Loads(const Expr& e) {
  bool loads = false;
  PreOrder(e, [&](const Expr& part) {
    loads |= isa<LoadNode>(part) || isa<tilewright::CallNode>(part) || isa<LetNode>(part);
    return !loads;
  });
  return loads;
}

bool IsSmall(const Buffer& buffer) {
  int64_t elements = 1;
  for (const Expr& extent : buffer->shape) {
    const auto number = AsInt(extent);
    if (!number || __builtin_mul_overflow(elements, *number, &elements) || elements > kMost) return false;
  }
  return true;
}

// The type in which all indices of a program fit.
DataType IndexTypeOf(const PrimFunc& program) {
  bool small = true;
  for (const Param& param : program->params) small &= !param.buffer || IsSmall(param.buffer);
  for (const Buffer& buffer : cast<BlockRealizeNode>(program->body)->block->alloc_buffers) small &= IsSmall(buffer);
  PreOrder(program->body, [&](const Stmt& stmt) {
    const auto* loop = dyn_cast<ForNode>(stmt);
    small &= loop == nullptr || (AsInt(loop->extent).value_or(kMost) < kMost && AsInt(loop->min).has_value());
    return small;
  });
  return DataType::Int(small ? 32 : 64);
}

class IndexRewriter : public BlockMutator {
 public:
  // `facts`: what holds of symbols; null: nothing is known.
  explicit IndexRewriter(DataType type, arith::Analyzer* facts = nullptr)
      : type_(type), uses_facts_(facts != nullptr), analyzer_(facts != nullptr ? *facts : own_), inside_(&analyzer_) {}
  using BlockMutator::Mutate;

  Block MutateBlock(const Block& block) override {
    BlockNode::Fields fields = block->fields();
    for (IterVar& iter : fields.iter_vars) {
      iter.domain = {Index(iter.domain.min), Index(iter.domain.extent)};
      iter.var = Define(iter.var, iter.domain);
    }
    return BlockMutator::MutateBlock(Block(std::move(fields)));
  }

 protected:
  Expr MutateVar(const SymbolNode* op, const Expr& self) override {
    const auto it = vars_.find(op);
    return it == vars_.end() ? self : CastTo(self.dtype(), it->second.own);
  }
  Expr MutateBinary(const BinaryNode* op, const Expr& self) override {
    const bool compares = IsComparison(op->op) && op->a.dtype().is_index() && !Loads(self);
    return compares ? Index(self) : BlockMutator::MutateBinary(op, self);
  }
  Expr MutateLoad(const LoadNode* op, const Expr& /*self*/) override {
    std::vector<Expr> indices = Indices(op->indices);
    for (size_t d = 0; uses_facts_ && d < indices.size(); ++d) {
      const auto extent = AsInt(op->buffer->shape[d]);
      if (extent && NeedsFacts(op->indices[d], *extent)) indices[d] = Min(indices[d], Const(type_, *extent - 1));
    }
    return op->buffer.Load(std::move(indices));
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& /*self*/) override {
    return Stmt(new StoreNode(op->buffer, Mutate(op->value), Indices(op->indices)));
  }
  Stmt MutateFor(const ForNode* op, const Stmt& /*self*/) override {
    ForNode::Fields fields = op->fields();
    fields.min = Index(op->min);
    fields.extent = Index(op->extent);
    fields.var = Define(op->var, {fields.min, fields.extent});
    fields.body = Mutate(op->body);
    return Stmt(new ForNode(std::move(fields)));
  }
  Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt& /*self*/) override {
    return Stmt(new BlockRealizeNode(Indices(op->bindings), op->predicate, MutateBlock(op->block)));
  }

 private:
  // A loop's or iterator's variable in the program's type, and in the type of arithmetic.
  struct Variable {
    Symbol own, wide;
  };

  Symbol Define(const Symbol& var, const Range& domain) {
    Variable index{Symbol(var.name(), type_), Symbol(var.name(), DataType::Int(64))};
    // A variable of one value would go; a sum of one product is no longer one without it.
    const Expr extent = IsInt(domain.extent, 1) ? Expr(2) : domain.extent;
    for (arith::Analyzer* analyzer : {&analyzer_, &without_facts_}) {
      analyzer->Bind(index.wide, {CastTo(DataType::Int(64), domain.min), CastTo(DataType::Int(64), extent)});
    }
    own_of_.emplace(index.wide.get(), index.own);
    as_wide_[index.wide] = CastTo(DataType::Int(64), index.own);
    return vars_.emplace(var.get(), std::move(index)).first->second.own;
  }

  // Whether the facts alone keep the index below the extent: the program is right at all sizes where it is bounded.
  bool NeedsFacts(const Expr& e, int64_t extent) {
    const Expr index = Wide(e), end = Const(DataType::Int(64), extent);
    return index.dtype().is_index() && !without_facts_.CanProveLess(index, end) && analyzer_.CanProveLess(index, end);
  }

  std::vector<Expr> Indices(const std::vector<Expr>& indices) {
    std::vector<Expr> all;
    for (const Expr& index : indices) all.push_back(Index(index));
    return all;
  }

  // An index, or a comparison of indices, in the program's type.
  Expr Index(const Expr& e) {
    const Expr simple = analyzer_.Simplify(Wide(e));
    if (type_.bits() == 32) {
      if (std::optional<Expr> narrow = Narrow(simple)) return *std::move(narrow);
    }
    const Expr wide = Substitute(simple, as_wide_);
    return wide.dtype().is_int() ? CastTo(type_, wide) : wide;
  }

  // The same value in 64 bits, over the wide variables.
  Expr Wide(const Expr& e) {
    const DataType wide = DataType::Int(64);
    if (const auto* number = dyn_cast<IntImmNode>(e)) return e.dtype().is_int() ? Const(wide, number->value) : e;
    if (const auto* var = dyn_cast<SymbolNode>(e)) {
      if (const auto it = vars_.find(var); it != vars_.end()) return it->second.wide;
    } else if (const auto* op = dyn_cast<BinaryNode>(e)) {
      if (IsLogic(op->op) || op->a.dtype().is_index()) return MakeBinary(op->op, Wide(op->a), Wide(op->b));
    } else if (const auto* negated = dyn_cast<NotNode>(e)) {
      return Not(Wide(negated->a));
    } else if (const auto* choice = dyn_cast<SelectNode>(e); choice != nullptr && e.dtype().is_index()) {
      return Select(Wide(choice->condition), Wide(choice->true_value), Wide(choice->false_value));
    } else if (const auto* conversion = dyn_cast<CastNode>(e)) {
      const bool of_index = e.dtype().is_index() && conversion->value.dtype().is_index();
      if (of_index && !Loads(conversion->value)) return Wide(conversion->value);
    }
    const Expr own = Mutate(e);
    return own.dtype().is_int() ? CastTo(wide, own) : own;
  }

  // The same value in 32 bits; nothing where some part of it may not fit.
  std::optional<Expr> Narrow(const Expr& e) {
    const DataType narrow = DataType::Int(32);
    if (e.dtype().is_index() && !analyzer_.ConstBounds(e).Within(kLeast, kMost)) return std::nullopt;
    if (const auto* number = dyn_cast<IntImmNode>(e)) return e.dtype().is_int() ? Const(narrow, number->value) : e;
    if (const auto* var = dyn_cast<SymbolNode>(e)) {
      const auto it = own_of_.find(var);
      return it == own_of_.end() ? std::nullopt : std::optional<Expr>(it->second);
    }
    if (const auto* op = dyn_cast<BinaryNode>(e); op != nullptr && (IsLogic(op->op) || op->a.dtype().is_index())) {
      const std::optional<Expr> a = Narrow(op->a), b = Narrow(op->b);
      return a && b ? std::optional<Expr>(MakeBinary(op->op, *a, *b)) : std::nullopt;
    }
    if (const auto* negated = dyn_cast<NotNode>(e)) {
      const std::optional<Expr> a = Narrow(negated->a);
      return a ? std::optional<Expr>(Not(*a)) : std::nullopt;
    }
    if (const auto* choice = dyn_cast<SelectNode>(e); choice != nullptr && e.dtype().is_index()) {
      const std::optional<Expr> condition = Narrow(choice->condition), a = Narrow(choice->true_value),
                                b = Narrow(choice->false_value);
      return condition && a && b ? std::optional<Expr>(Select(*condition, *a, *b)) : std::nullopt;
    }
    return std::nullopt;
  }

  const DataType type_;
  const bool uses_facts_;
  arith::Analyzer own_, without_facts_;
  arith::Analyzer& analyzer_;
  const arith::Analyzer::Scope inside_;                   // of the program: its loops are forgotten
  std::unordered_map<const SymbolNode*, Variable> vars_;  // by variable of the old program
  std::unordered_map<const SymbolNode*, Symbol> own_of_;  // by wide variable
  VarMap as_wide_;                                        // wide variables as the program has them
};

}  // namespace

PrimFunc WithIndexType(const PrimFunc& program, DataType type) {
  if (!IsRegular(program)) return program;
  tilewright::FunctionNode::Fields fields = program->fields();
  fields.body = IndexRewriter(type).Mutate(program->body);
  return PrimFunc(std::move(fields));
}

PrimFunc WithFacts(const PrimFunc& program, arith::Analyzer* facts) {
  if (!IsRegular(program)) return program;
  arith::Analyzer nothing;
  arith::Analyzer& analyzer = facts != nullptr ? *facts : nothing;
  BufferMap simpler;
  VarMap known;  // symbols that the facts decide: no extent defines them afterwards
  const auto simplify = [&](const Buffer& buffer) {
    BufferNode::Fields fields = buffer->fields();
    bool changes = false;
    for (Expr& extent : fields.shape) {
      PreOrder(extent, [&](const Expr& part) {
        if (const auto* symbol = dyn_cast<SymbolNode>(part)) {
          const Expr value = analyzer.Simplify(part);
          if (!value.same_as(part)) known[Symbol(symbol)] = value;
        }
        return true;
      });
      const Expr simple = analyzer.Simplify(extent);
      changes |= !simple.same_as(extent);
      extent = simple;
    }
    return changes ? simpler.emplace(buffer, Buffer(std::move(fields))).first->second : buffer;
  };
  tilewright::FunctionNode::Fields fields = program->fields();
  for (Param& param : fields.params) {
    if (param.buffer) param.buffer = simplify(param.buffer);
  }
  for (const Buffer& buffer : cast<BlockRealizeNode>(program->body)->block->alloc_buffers) simplify(buffer);
  fields.body = IndexRewriter(IndexTypeOf(program), facts).Mutate(Substitute(program->body, known, simpler));
  return PrimFunc(std::move(fields));
}

PrimFunc WithOneIndexType(const PrimFunc& program) {
  return IsRegular(program) ? WithIndexType(program, IndexTypeOf(program)) : program;
}

}  // namespace tilewright::graph
