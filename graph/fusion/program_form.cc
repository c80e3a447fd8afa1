#include "graph/fusion/program_form.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "absl/status/statusor.h"
#include "autoschedule/program/contraction.h"
#include "graph/fusion/block_mutator.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "ir/substitute.h"

namespace tilewright::graph {
namespace {

using SymbolSet = std::unordered_set<const SymbolNode*>;

bool IsPlain(const Stmt& stmt) {
  bool plain = true;
  PreOrder(stmt, [&](const Stmt& s) {
    plain &= isa<ForNode>(s) || isa<tilewright::SeqNode>(s) || isa<StoreNode>(s) || isa<tilewright::IfNode>(s) ||
             isa<LetStmtNode>(s);
    return plain;
  });
  PreOrderExprs(stmt, [&](const Expr& e) {
    // Calls that take addresses name buffers where nobody rewrites them.
    if (const auto* call = dyn_cast<tilewright::CallNode>(e)) {
      plain &= std::none_of(call->args.begin(), call->args.end(),
                            [](const Expr& arg) { return arg.dtype().is_handle() || isa<StringImmNode>(arg); });
      plain &= call->op != "address_of";
    }
    return plain;
  });
  return plain;
}

PrimFunc WithBody(const PrimFunc& program, Stmt body) {
  tilewright::FunctionNode::Fields fields = program->fields();
  fields.body = std::move(body);
  return PrimFunc(std::move(fields));
}

std::optional<double> NumberOf(const Expr& e) {
  if (const auto* number = dyn_cast<FloatImmNode>(e)) return number->value;
  if (const auto* number = dyn_cast<IntImmNode>(e)) return static_cast<double>(number->value);
  return std::nullopt;
}

bool IsPowerOfTwo(double value) {
  int exponent = 0;
  return std::abs(std::frexp(value, &exponent)) == 0.5 && exponent > -100 && exponent < 100;
}

// Arithmetic with a number on one side whose result is known, or the result of something cheaper, for every operand.
Expr Cheaper(const Expr& e) {
  if (const auto* call = dyn_cast<tilewright::CallNode>(e); call != nullptr && call->op == "pow") {
    const auto exponent = NumberOf(call->args[1]);
    const Expr& x = call->args[0];
    if (exponent == 1) return x;
    if (exponent == 2) return x * x;
    if (exponent == -1) return Div(ConstFloat(x.dtype(), 1), x);
    return e;
  }
  const auto* op = dyn_cast<BinaryNode>(e);
  if (op == nullptr || !op->dtype().is_float()) return e;
  const auto right = NumberOf(op->b), left = NumberOf(op->a);
  switch (op->op) {
    case BinaryOp::kMul:
      if (right == 1) return op->a;
      return left == 1 ? op->b : e;
    case BinaryOp::kDiv:
      if (right == 1) return op->a;
      return right && IsPowerOfTwo(*right) ? op->a * ConstFloat(op->dtype(), 1 / *right) : e;
    case BinaryOp::kSub:
      return right == 0 && !std::signbit(*right) ? op->a : e;
    default:
      return e;
  }
}

// Loads of some buffers become numbers.
class ScalarInliner : public BlockMutator {
 public:
  explicit ScalarInliner(const std::unordered_map<const BufferNode*, Expr>* numbers) : numbers_(*numbers) {}
  using BlockMutator::Mutate;
  Expr Mutate(const Expr& e) override { return e ? Cheaper(BlockMutator::Mutate(e)) : e; }

 protected:
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    const auto it = numbers_.find(op->buffer.get());
    return it == numbers_.end() ? BlockMutator::MutateLoad(op, self) : it->second;
  }

 private:
  const std::unordered_map<const BufferNode*, Expr>& numbers_;
};

bool IsUnitLoop(const ForNode& loop) {
  return IsInt(loop.extent, 1) && IsInt(loop.min, 0) && loop.kind == ForKind::kSerial;
}

class UnitRemover : public BlockMutator {
 public:
  PrimFunc Run(const PrimFunc& program) {
    const auto* root = cast<BlockRealizeNode>(program->body);
    BlockNode::Fields fields = root->block->fields();
    for (Buffer& buffer : fields.alloc_buffers) {
      std::vector<Expr> shape;
      std::vector<bool> keep;
      for (const Expr& extent : buffer->shape) {
        keep.push_back(!IsInt(extent, 1));
        if (keep.back()) shape.push_back(extent);
      }
      if (shape.size() == buffer->ndim()) continue;
      const Buffer smaller(buffer->name, std::move(shape), buffer->dtype);
      buffers_.emplace(buffer.get(), std::make_pair(smaller, std::move(keep)));
      buffer = smaller;
    }
    fields.body = Mutate(fields.body);
    return WithBody(program, Stmt(new BlockRealizeNode({}, True(), Block(std::move(fields)))));
  }

  using BlockMutator::Mutate;

 protected:
  Expr MutateVar(const SymbolNode* op, const Expr& self) override {
    return unit_.contains(op) ? Const(self.dtype(), 0) : self;
  }
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    if (!IsUnitLoop(*op) || Binds(op->body, op->var.get())) return BlockMutator::MutateFor(op, self);
    unit_.insert(op->var.get());
    return Mutate(op->body);
  }
  Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt& self) override {
    const std::vector<bool> keep = Keeps(*op->block);
    std::vector<Expr> bindings;
    BlockNode::Fields fields = op->block->fields();
    fields.iter_vars.clear();
    for (size_t i = 0; i < op->bindings.size(); ++i) {
      const IterVar& iter = op->block->iter_vars[i];
      if (keep[i]) {
        fields.iter_vars.push_back(iter);
        bindings.push_back(op->bindings[i]);
      } else {
        unit_.insert(iter.var.get());
      }
    }
    if (bindings.size() == op->bindings.size()) return BlockMutator::MutateBlockRealize(op, self);
    const Stmt fewer(new BlockRealizeNode(std::move(bindings), op->predicate, Block(std::move(fields))));
    return BlockMutator::MutateBlockRealize(cast<BlockRealizeNode>(fewer), fewer);
  }
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    const auto it = buffers_.find(op->buffer.get());
    if (it == buffers_.end()) return BlockMutator::MutateLoad(op, self);
    return it->second.first.Load(Kept(op->indices, it->second.second));
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    const auto it = buffers_.find(op->buffer.get());
    if (it == buffers_.end()) return BlockMutator::MutateStore(op, self);
    return Stmt(new StoreNode(it->second.first, Mutate(op->value), Kept(op->indices, it->second.second)));
  }

 private:
  // Which iterators of a block stay: those that are longer than one, and one of each kind that the block has no longer
  // one of. A reduction over one element is still one, and a block of a single element is still a block.
  static std::vector<bool> Keeps(const BlockNode& block) {
    std::vector<bool> keep;
    std::set<IterKind> kinds;
    for (const IterVar& iter : block.iter_vars) {
      keep.push_back(!IsInt(iter.domain.extent, 1) || !IsInt(iter.domain.min, 0));
      if (keep.back()) kinds.insert(iter.kind);
    }
    for (size_t i = keep.size(); i-- > 0;) {
      const IterKind kind = block.iter_vars[i].kind;
      const bool needed = kind == IterKind::kReduce ? !kinds.contains(kind) : kinds.empty();
      if (needed && kinds.insert(kind).second) keep[i] = true;
    }
    return keep;
  }

  // Whether a block below binds an iterator that stays to the loop.
  static bool Binds(const Stmt& body, const SymbolNode* loop) {
    bool binds = false;
    PreOrder(body, [&](const Stmt& stmt) {
      const auto* realize = dyn_cast<BlockRealizeNode>(stmt);
      if (realize == nullptr) return !binds;
      const std::vector<bool> keep = Keeps(*realize->block);
      for (size_t i = 0; i < keep.size(); ++i) binds |= keep[i] && realize->bindings[i].get() == loop;
      return false;
    });
    return binds;
  }

  std::vector<Expr> Kept(const std::vector<Expr>& indices, const std::vector<bool>& keep) {
    std::vector<Expr> kept;
    for (size_t i = 0; i < indices.size(); ++i) {
      if (keep[i]) kept.push_back(Mutate(indices[i]));
    }
    return kept;
  }

  std::unordered_map<const BufferNode*, std::pair<Buffer, std::vector<bool>>> buffers_;
  SymbolSet unit_;
};

// Whether some product of small integers has one row alone. Instructions that multiply groups of neighbours compute
// tiles of rows and columns: without the dimension there are no rows.
bool MultipliesOneRow(const PrimFunc& program) {
  bool found = false;
  PreOrder(program->body, [&](const Stmt& stmt) {
    const auto* realize = dyn_cast<BlockRealizeNode>(stmt);
    if (realize == nullptr || !realize->block->init) return !found;
    const absl::StatusOr<Contraction> product = MatchContraction(*realize);
    if (!product.ok() || product->rows.empty()) return !found;
    const auto is_small = [](const Buffer& operand) {
      return !operand->dtype.is_float() && operand->dtype.bits() <= 8;
    };
    const auto is_one = [&](int row) {
      return IsInt(realize->block->iter_vars[static_cast<size_t>(row)].domain.extent, 1);
    };
    found |= is_small(product->row_operand) && is_small(product->column_operand) &&
             std::ranges::all_of(product->rows, is_one);
    return !found;
  });
  return found;
}

// The position at which a variable first occurs in an access's indices.
int FirstPlace(const std::vector<Expr>& indices, const SymbolNode* var) {
  for (size_t i = 0; i < indices.size(); ++i) {
    bool found = false;
    PreOrder(indices[i], [&](const Expr& part) {
      found |= part.get() == var;
      return !found;
    });
    if (found) return static_cast<int>(i);
  }
  return -1;
}

class Permuter : public BlockMutator {
 public:
  explicit Permuter(std::unordered_map<const BufferNode*, std::pair<Buffer, Permutation>> buffers)
      : buffers_(std::move(buffers)) {}
  using BlockMutator::Mutate;

 protected:
  Expr MutateLoad(const LoadNode* op, const Expr& self) override {
    const auto it = buffers_.find(op->buffer.get());
    if (it == buffers_.end()) return BlockMutator::MutateLoad(op, self);
    return it->second.first.Load(Permute(MutateAll(op->indices), it->second.second));
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    const auto it = buffers_.find(op->buffer.get());
    if (it == buffers_.end()) return BlockMutator::MutateStore(op, self);
    return Stmt(new StoreNode(it->second.first, Mutate(op->value), Permute(MutateAll(op->indices), it->second.second)));
  }
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    std::vector<const ForNode*> loops;
    const StmtNode* inner = op;
    while (const auto* loop = dyn_cast<ForNode>(Stmt(inner))) {
      loops.push_back(loop);
      inner = loop->body.get();
    }
    const auto* realize = dyn_cast<BlockRealizeNode>(Stmt(inner));
    if (realize == nullptr || !IsPlainNest(loops, *realize)) return BlockMutator::MutateFor(op, self);
    const Stmt mutated = Mutate(Stmt(inner));
    return InOrder(loops, *cast<BlockRealizeNode>(mutated));
  }

 private:
  // Each iterator is one of the loops, which are serial and of extents that none of them changes.
  static bool IsPlainNest(const std::vector<const ForNode*>& loops, const BlockRealizeNode& realize) {
    if (loops.size() != realize.bindings.size()) return false;
    for (const ForNode* loop : loops) {
      if (loop->kind != ForKind::kSerial || !loop->annotations.empty()) return false;
      const auto bound = [&](const Expr& e) { return e.get() == loop->var.get(); };
      if (std::count_if(realize.bindings.begin(), realize.bindings.end(), bound) != 1) return false;
      for (const ForNode* other : loops) {
        if (FirstPlace({other->min, other->extent}, loop->var.get()) >= 0) return false;
      }
    }
    return true;
  }

  static Stmt InOrder(const std::vector<const ForNode*>& loops, const BlockRealizeNode& realize) {
    const BlockNode& block = *realize.block;
    std::vector<std::vector<Expr>> accesses;
    PreOrder(block.body, [&](const Stmt& s) {
      if (const auto* store = dyn_cast<StoreNode>(s)) accesses.push_back(store->indices);
      return true;
    });
    PreOrderExprs(block.body, [&](const Expr& e) {
      if (const auto* load = dyn_cast<LoadNode>(e)) accesses.push_back(load->indices);
      return true;
    });
    // Spatial iterators in the order of what is stored, then the others in that of the first operand that has them.
    const auto rank = [&](size_t i) {
      const IterVar& iter = block.iter_vars[i];
      for (size_t a = 0; a < accesses.size(); ++a) {
        const int place = FirstPlace(accesses[a], iter.var.get());
        if (place >= 0) return std::make_tuple(iter.kind != IterKind::kSpatial, a, place);
      }
      return std::make_tuple(iter.kind != IterKind::kSpatial, accesses.size(), 0);
    };
    std::vector<size_t> order(block.iter_vars.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return std::make_pair(rank(a), a) < std::make_pair(rank(b), b); });
    BlockNode::Fields fields = block.fields();
    std::vector<Expr> bindings;
    for (size_t i = 0; i < order.size(); ++i) {
      fields.iter_vars[i] = block.iter_vars[order[i]];
      bindings.push_back(realize.bindings[order[i]]);
    }
    Stmt body(new BlockRealizeNode(bindings, realize.predicate, Block(std::move(fields))));
    for (size_t i = bindings.size(); i-- > 0;) {
      const auto loop =
          std::find_if(loops.begin(), loops.end(), [&](const ForNode* l) { return l->var.get() == bindings[i].get(); });
      ForNode::Fields outer = (*loop)->fields();
      outer.body = body;
      body = Stmt(new ForNode(std::move(outer)));
    }
    return body;
  }

  const std::unordered_map<const BufferNode*, std::pair<Buffer, Permutation>> buffers_;
};

}  // namespace

bool IsRegular(const PrimFunc& program) {
  const auto* root = dyn_cast<BlockRealizeNode>(program->body);
  if (root == nullptr || !root->block->iter_vars.empty() || root->block->init) return false;
  bool regular = true;
  PreOrder(root->block->body, [&](const Stmt& stmt) {
    const auto* realize = dyn_cast<BlockRealizeNode>(stmt);
    if (realize == nullptr) {
      regular &= isa<ForNode>(stmt) || isa<tilewright::SeqNode>(stmt);
      return regular;
    }
    const BlockNode& block = *realize->block;
    regular &= block.match_buffers.empty() && block.alloc_buffers.empty() && IsTrue(realize->predicate);
    regular &= IsPlain(block.body) && (!block.init || IsPlain(block.init));
    for (const IterVar& iter : block.iter_vars) {
      regular &= iter.kind == IterKind::kSpatial || iter.kind == IterKind::kReduce;
    }
    return false;
  });
  return regular;
}

PrimFunc WithScalars(const PrimFunc& program, const std::map<size_t, NDArray>& scalars) {
  if (!IsRegular(program)) return program;
  std::unordered_map<const BufferNode*, Expr> numbers;
  tilewright::FunctionNode::Fields fields = program->fields();
  fields.params.clear();
  for (size_t i = 0; i < program->params.size(); ++i) {
    const auto scalar = scalars.find(i);
    if (scalar == scalars.end()) {
      fields.params.push_back(program->params[i]);
      continue;
    }
    const NDArray& array = scalar->second;
    const DataType type = array.dtype();
    numbers[program->params[i].buffer.get()] =
        type.is_float() ? ConstFloat(type, array.Get(0)) : Const(type, array.GetInt(0));
  }
  fields.body = ScalarInliner(&numbers).Mutate(program->body);
  return PrimFunc(std::move(fields));
}

PrimFunc WithoutUnitDimensions(const PrimFunc& program) {
  return IsRegular(program) && !MultipliesOneRow(program) ? UnitRemover().Run(program) : program;
}

PrimFunc Permuted(const PrimFunc& program, const std::vector<Permutation>& permutations,
                  const std::map<const BufferNode*, Permutation>& temporaries) {
  std::unordered_map<const BufferNode*, std::pair<Buffer, Permutation>> buffers;
  tilewright::FunctionNode::Fields fields = program->fields();
  const auto permuted = [&](const Buffer& buffer, const Permutation& permutation) {
    if (permutation.empty()) return buffer;
    const Buffer other(buffer->name, Permute(buffer->shape, permutation), buffer->dtype);
    buffers.emplace(buffer.get(), std::make_pair(other, permutation));
    return other;
  };
  for (size_t i = 0; i < fields.params.size() && i < permutations.size(); ++i) {
    if (!fields.params[i].buffer) continue;
    const Buffer other = permuted(fields.params[i].buffer, permutations[i]);
    fields.params[i] = {other->data, other};
  }
  const auto* root = cast<BlockRealizeNode>(program->body);
  BlockNode::Fields block = root->block->fields();
  for (Buffer& buffer : block.alloc_buffers) {
    const auto it = temporaries.find(buffer.get());
    if (it != temporaries.end()) buffer = permuted(buffer, it->second);
  }
  block.body = Permuter(std::move(buffers)).Mutate(block.body);
  fields.body = Stmt(new BlockRealizeNode({}, True(), Block(std::move(block))));
  return PrimFunc(std::move(fields));
}

}  // namespace tilewright::graph
