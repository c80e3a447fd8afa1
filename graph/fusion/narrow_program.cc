#include "graph/fusion/narrow_program.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

#include "autoschedule/program/contraction.h"
#include "base/check.h"
#include "graph/fusion/block_mutator.h"
#include "graph/fusion/program_form.h"
#include "ir/builder.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "ir/substitute.h"
#include "schedule/program/sum_form.h"

namespace tilewright::graph {
namespace {

constexpr DataType kF32 = DataType::Float(32);

// Functions whose results are at most as large as their argument, or as one.
constexpr std::array<std::string_view, 10> kBounded = {"fabs",      "floor",     "ceil", "trunc", "round",
                                                       "roundeven", "nearbyint", "tanh", "erf",   "sigmoid"};

using Blocks = std::vector<const BlockRealizeNode*>;

Blocks BlocksOf(const PrimFunc& program) {
  Blocks blocks;
  const auto* root = cast<BlockRealizeNode>(program->body);
  PreOrder(root->block->body, [&](const Stmt& stmt) {
    const auto* realize = dyn_cast<BlockRealizeNode>(stmt);
    if (realize != nullptr) blocks.push_back(realize);
    return realize == nullptr;
  });
  return blocks;
}

bool Reduces(const BlockNode& block) {
  return std::any_of(block.iter_vars.begin(), block.iter_vars.end(),
                     [](const IterVar& iter) { return iter.kind == IterKind::kReduce; });
}

// A sum of products of more than one term.
bool SumsProducts(const BlockRealizeNode& realize) {
  if (!Reduces(*realize.block)) return false;
  const absl::StatusOr<Contraction> contraction = MatchContraction(realize);
  if (!contraction.ok()) return false;
  return std::any_of(contraction->inner.begin(), contraction->inner.end(),
                     [&](int i) { return !IsInt(realize.block->iter_vars[static_cast<size_t>(i)].domain.extent, 1); });
}

bool HasEqualFactors(const Expr& product) {
  const std::vector<Expr> factors = FactorsOf(product);
  for (size_t i = 0; i < factors.size(); ++i) {
    for (size_t j = i + 1; j < factors.size(); ++j) {
      if (StructuralEqual(factors[i], factors[j])) return true;
    }
  }
  return false;
}

// Whether a part of an expression may be much larger than what it is made of, or lose most of its digits.
bool Grows(const Expr& part) {
  if (!part.dtype().is_float()) return false;
  if (const auto* call = dyn_cast<tilewright::CallNode>(part)) {
    return call->op != kIfThenElse && std::find(kBounded.begin(), kBounded.end(), call->op) == kBounded.end();
  }
  const auto* op = dyn_cast<BinaryNode>(part);
  if (op == nullptr) return false;
  if (op->op == BinaryOp::kMul) return HasEqualFactors(part);
  return op->op == BinaryOp::kDiv && !isa<FloatImmNode>(op->b);
}

bool AddsUp(const Expr& part) {
  const auto* op = dyn_cast<BinaryNode>(part);
  return op != nullptr && part.dtype().is_float() && op->op != BinaryOp::kMax && op->op != BinaryOp::kMin;
}

// Whether the value is an element of a buffer, or 0 or another number where a condition says so.
bool Moves(const Expr& value) {
  if (isa<LoadNode>(value) || isa<FloatImmNode>(value)) return true;
  if (const auto* select = dyn_cast<SelectNode>(value)) {
    return Moves(select->true_value) && Moves(select->false_value);
  }
  const auto* call = dyn_cast<tilewright::CallNode>(value);
  return call != nullptr && call->op == kIfThenElse && Moves(call->args[1]) && Moves(call->args[2]);
}

std::unordered_set<const BufferNode*> LoadedBy(const Expr& value) {
  std::unordered_set<const BufferNode*> loaded;
  PreOrder(value, [&](const Expr& part) {
    const auto* load = dyn_cast<LoadNode>(part);
    if (load != nullptr && load->dtype() == kF32) loaded.insert(load->buffer.get());
    return true;
  });
  return loaded;
}

// Buffers whose elements are factors of sums, or are moved into such.
std::unordered_set<const BufferNode*> FactorBuffers(const PrimFunc& program) {
  std::unordered_set<const BufferNode*> factors, sums;
  const Blocks blocks = BlocksOf(program);
  for (auto it = blocks.rbegin(); it != blocks.rend(); ++it) {
    const BlockNode& block = *(*it)->block;
    const auto* store = dyn_cast<StoreNode>(block.body);
    if (store == nullptr) continue;
    if (block.init) sums.insert(store->buffer.get());
    if (SumsProducts(**it)) {
      const std::optional<SumForm> sum = AsSum(block);
      for (const Expr& factor : sum ? FactorsOf(sum->term) : std::vector<Expr>{}) {
        if (Moves(factor)) factors.merge(LoadedBy(factor));
      }
    } else if (factors.contains(store->buffer.get()) && !block.init && Moves(store->value)) {
      factors.merge(LoadedBy(store->value));
    }
  }
  for (const BufferNode* sum : sums) factors.erase(sum);
  return factors;
}

// Rewrites the blocks; `buffers` says what each buffer becomes.
class Narrower : public BlockMutator {
 public:
  Narrower(BufferMap buffers, DataType type) : buffers_(std::move(buffers)), type_(type) {}
  using BlockMutator::Mutate;

 protected:
  Expr MutateLoad(const LoadNode* op, const Expr& /*self*/) override {
    return CastTo(op->dtype(), Mapped(op->buffer).Load(MutateAll(op->indices)));
  }
  // What is converted to a wide type is not rounded on the way.
  Expr MutateCast(const CastNode* op, const Expr& self) override {
    const auto* load = dyn_cast<LoadNode>(op->value);
    if (load == nullptr || Mapped(load->buffer)->dtype != op->dtype()) return BlockMutator::MutateCast(op, self);
    return Mapped(load->buffer).Load(MutateAll(load->indices));
  }
  Stmt MutateStore(const StoreNode* op, const Stmt& /*self*/) override {
    const Buffer to = Mapped(op->buffer);
    const bool narrows = to->dtype == type_ && op->buffer->dtype == kF32, widens = to->dtype == kF32;
    const auto* rounding = dyn_cast<CastNode>(op->value);
    const Expr& from = widens && rounding != nullptr && rounding->value.dtype() == kF32 ? rounding->value : op->value;
    const Expr value = narrows && Moves(from) ? Moved(from) : CastTo(to->dtype, Mutate(from));
    return Stmt(new StoreNode(to, value, MutateAll(op->indices)));
  }

 private:
  Buffer Mapped(const Buffer& buffer) const {
    const auto known = buffers_.find(buffer);
    return known == buffers_.end() ? buffer : known->second;
  }
  std::vector<Expr> MutateAll(const std::vector<Expr>& all) {
    std::vector<Expr> result;
    for (const Expr& e : all) result.push_back(Mutate(e));
    return result;
  }
  // What is moved, in the narrow type: without a way through the wide one.
  Expr Moved(const Expr& value) {
    if (const auto* load = dyn_cast<LoadNode>(value)) {
      return CastTo(type_, Mapped(load->buffer).Load(MutateAll(load->indices)));
    }
    if (const auto* select = dyn_cast<SelectNode>(value)) {
      return Select(Mutate(select->condition), Moved(select->true_value), Moved(select->false_value));
    }
    if (const auto* call = dyn_cast<tilewright::CallNode>(value)) {
      return IfThenElse(Mutate(call->args[0]), Moved(call->args[1]), Moved(call->args[2]));
    }
    return CastTo(type_, value);
  }

  const BufferMap buffers_;
  const DataType type_;
};

// Makes the program around the blocks: parameters, temporaries, conversions before and after.
class ProgramNarrower {
 public:
  ProgramNarrower(const PrimFunc& program, DataType type) : program_(program), type_(type), f_(program->name) {
    for (const BlockRealizeNode* realize : BlocksOf(program)) {
      PreOrderExprs(realize->block->body, [&](const Expr& e) {
        if (const auto* load = dyn_cast<LoadNode>(e)) loaded_.insert(load->buffer.get());
        return true;
      });
    }
  }

  PrimFunc Run(const std::vector<Narrowing>& of) {
    tilewright::FunctionNode::Fields fields = program_->fields();
    BlockNode::Fields root = Root()->block->fields();
    const std::unordered_set<const BufferNode*> factors = FactorBuffers(program_);
    for (Buffer& temporary : root.alloc_buffers) {
      if (factors.contains(temporary.get()) && temporary->dtype == kF32) temporary = Narrow(temporary, temporary->name);
    }
    std::vector<Stmt> before, after;
    for (size_t i = 0; i < of.size(); ++i) {
      if (of[i] == Narrowing::kNone) continue;
      const Buffer old = fields.params[i].buffer;
      TW_CHECK(old && old->dtype == kF32) << "parameter " << i << " of " << program_->name << " is not float32";
      if (of[i] == Narrowing::kRead) {
        root.alloc_buffers.push_back(Narrow(old, old->name + "_narrow"));
        before.push_back(Conversion(old, root.alloc_buffers.back()));
        continue;
      }
      // A result that is read again, a sum for example, keeps its digits until it is done.
      const bool is_result = IsWritten(old), in_steps = is_result && loaded_.contains(old.get());
      const Buffer narrow = in_steps ? Buffer(old->name, old->shape, type_) : Narrow(old, old->name);
      fields.params[i] = {narrow->data, narrow};
      if (!in_steps) continue;
      const Buffer wide(old->name + "_wide", old->shape, kF32);
      root.alloc_buffers.push_back(wide);
      buffers_[old] = wide;
      after.push_back(Conversion(wide, narrow));
    }
    std::vector<Stmt> body = std::move(before);
    body.push_back(Narrower(buffers_, type_).Mutate(root.body));
    body.insert(body.end(), after.begin(), after.end());
    root.body = Sequence(std::move(body));
    const Stmt all(new BlockRealizeNode(Root()->bindings, Root()->predicate, Block(std::move(root))));
    fields.next_id = 1;
    fields.body = CopyWithFreshNames(all, &fields.next_id);
    return WithOneIndexType(PrimFunc(std::move(fields)));
  }

 private:
  const BlockRealizeNode* Root() const { return cast<BlockRealizeNode>(program_->body); }

  Buffer Narrow(const Buffer& old, const std::string& name) { return buffers_[old] = Buffer(name, old->shape, type_); }
  bool IsWritten(const Buffer& buffer) const {
    bool written = false;
    PreOrder(program_->body, [&](const Stmt& stmt) {
      const auto* store = dyn_cast<StoreNode>(stmt);
      written |= store != nullptr && store->buffer.same_as(buffer);
      return !written;
    });
    return written;
  }
  // Loops around a block that converts each element.
  Stmt Conversion(const Buffer& from, const Buffer& to) {
    return f_.Collect([&] {
      f_.Grid(from->shape, [&](const std::vector<tilewright::Var>& loops) {
        f_.Block(to->name, [&](tilewright::BlockBuilder& block) {
          std::vector<Expr> at;
          for (size_t d = 0; d < loops.size(); ++d) at.emplace_back(block.Spatial(from->shape[d], loops[d]));
          f_.Store(to, CastTo(to->dtype, from.Load(at)), at);
        });
      });
    });
  }

  const PrimFunc& program_;
  const DataType type_;
  FunctionBuilder f_;
  BufferMap buffers_;  // what a buffer of the program becomes
  std::unordered_set<const BufferNode*> loaded_;
};

// Temporaries of a type into which f32 is rounded, and which no sum of products reads.
std::vector<Buffer> RoundedTemporaries(const PrimFunc& program, DataType type) {
  std::unordered_set<const BufferNode*> others;
  for (const BlockRealizeNode* realize : BlocksOf(program)) {
    const BlockNode& block = *realize->block;
    if (SumsProducts(*realize)) {
      PreOrderExprs(block.body, [&](const Expr& e) {
        if (const auto* load = dyn_cast<LoadNode>(e)) others.insert(load->buffer.get());
        return true;
      });
    }
    PreOrder(block.body, [&](const Stmt& stmt) {
      const auto* store = dyn_cast<StoreNode>(stmt);
      const auto* rounding = store == nullptr ? nullptr : dyn_cast<CastNode>(store->value);
      if (store != nullptr && (rounding == nullptr || rounding->value.dtype() != kF32))
        others.insert(store->buffer.get());
      return true;
    });
    if (const auto* init = block.init ? dyn_cast<StoreNode>(block.init) : nullptr) others.insert(init->buffer.get());
  }
  std::vector<Buffer> rounded;
  for (const Buffer& temporary : cast<BlockRealizeNode>(program->body)->block->alloc_buffers) {
    if (temporary->dtype == type && !others.contains(temporary.get())) rounded.push_back(temporary);
  }
  return rounded;
}

}  // namespace

FloatRole FloatRoleOf(const PrimFunc& program) {
  if (!IsRegular(program)) return FloatRole::kOther;
  bool multiplies = false, grows = false;
  for (const BlockRealizeNode* realize : BlocksOf(program)) {
    const BlockNode& block = *realize->block;
    const bool sums_products = SumsProducts(*realize);
    multiplies |= sums_products;
    const bool reduces = Reduces(block);
    PreOrderExprs(block.body, [&](const Expr& part) {
      grows |= Grows(part) || (reduces && !sums_products && AddsUp(part));
      return true;
    });
  }
  return multiplies ? FloatRole::kMultiplies : grows ? FloatRole::kOther : FloatRole::kFollows;
}

std::vector<size_t> FactorsOfSums(const PrimFunc& program) {
  std::vector<size_t> positions;
  const std::unordered_set<const BufferNode*> factors = FactorBuffers(program);
  for (size_t i = 0; i < program->params.size(); ++i) {
    if (program->params[i].buffer && factors.contains(program->params[i].buffer.get())) positions.push_back(i);
  }
  return positions;
}

PrimFunc Narrowed(const PrimFunc& program, const std::vector<Narrowing>& of, DataType type) {
  return ProgramNarrower(program, type).Run(of);
}

PrimFunc WithoutRoundings(const PrimFunc& program, DataType type) {
  if (!IsRegular(program)) return program;
  BufferMap wide;
  for (const Buffer& buffer : RoundedTemporaries(program, type)) {
    wide[buffer] = Buffer(buffer->name, buffer->shape, kF32);
  }
  if (wide.empty()) return program;
  tilewright::FunctionNode::Fields fields = program->fields();
  const auto* root = cast<BlockRealizeNode>(program->body);
  BlockNode::Fields block = root->block->fields();
  for (Buffer& buffer : block.alloc_buffers) {
    if (const auto it = wide.find(buffer); it != wide.end()) buffer = it->second;
  }
  block.body = Narrower(std::move(wide), type).Mutate(block.body);
  fields.body = Stmt(new BlockRealizeNode(root->bindings, root->predicate, Block(std::move(block))));
  return PrimFunc(std::move(fields));
}

}  // namespace tilewright::graph
