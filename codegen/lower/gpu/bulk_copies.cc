#include "codegen/lower/gpu/bulk_copies.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "codegen/lower/common/instruction_attributes.h"
#include "codegen/lower/common/scoped_mutator.h"
#include "codegen/lower/common/software_pipeline.h"
#include "codegen/lower/gpu/kernel_accesses.h"
#include "codegen/lower/gpu/multicast.h"
#include "codegen/lower/gpu/shared_places.h"
#include "ir/analysis.h"
#include "ir/builtin.h"
#include "ir/substitute.h"
#include "ir/thread_tags.h"

namespace tilewright {
namespace {

// What the engine can do: elements of a box in each dimension, dimensions, and where a box begins.
constexpr int64_t kMostElements = 256, kMostRank = 5, kAlignment = 128, kChunkBytes = 16;

// A copy by one nest of loops.
struct Nest {
  std::vector<const ForNode*> loops;
  std::vector<Expr> conditions;
  const StoreNode* store = nullptr;
  const LoadNode* load = nullptr;
  Expr inside;  // what is loaded is inside of the array, and zero is stored elsewhere; null: always
};

bool UsesLoops(const Expr& e, const Nest& nest) {
  return UsesVar(e, [&](const VarNode* var) {
    return std::ranges::any_of(nest.loops, [&](const ForNode* loop) { return loop->var.get() == var; });
  });
}

std::optional<Nest> NestOf(const Stmt& s) {
  Nest nest;
  for (Stmt inside = s;;) {
    if (const auto* loop = dyn_cast<ForNode>(inside)) {
      if (loop->kind == ForKind::kThreadBound || !IsInt(loop->min, 0) || !AsInt(loop->extent)) return std::nullopt;
      nest.loops.push_back(loop);
      inside = loop->body;
    } else if (const auto* branch = dyn_cast<IfNode>(inside)) {
      if (branch->else_case) return std::nullopt;
      nest.conditions.push_back(branch->condition);
      inside = branch->then_case;
    } else {
      nest.store = dyn_cast<StoreNode>(inside);
      break;
    }
  }
  if (nest.store == nullptr) return std::nullopt;
  const auto* call = dyn_cast<CallNode>(nest.store->value);
  const bool chooses = call != nullptr && call->op == kIfThenElse && IsZero(call->args[2]);
  if (chooses) nest.inside = call->args[0];
  nest.load = dyn_cast<LoadNode>(chooses ? call->args[1] : nest.store->value);
  const bool plain = nest.load != nullptr && !nest.store->predicate && !nest.load->predicate;
  if (!plain || nest.loops.empty() || nest.loops.size() > 2) return std::nullopt;
  if (std::ranges::any_of(nest.conditions, [&](const Expr& e) { return UsesLoops(e, nest); })) return std::nullopt;
  return nest;
}

// The form in which a box of a buffer lies.
struct BoxForm {
  int64_t span = 0;     // of the swizzle
  int64_t columns = 0;  // of a panel
};

bool HasForm(const SharedPlaces& places, const BoxForm& form, int64_t rows, int64_t columns) {
  const int64_t size = places.element_bytes(), align = std::max(kAlignment, 8 * form.span);
  for (int64_t part = 0; part < places.parts(); ++part) {
    for (int64_t panel = 0; panel < columns; panel += form.columns) {
      const int64_t start = places.At(part, 0, panel);
      if (start % align != 0) return false;
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t column = 0; column < form.columns; ++column) {
          const int64_t expected = start + (row * form.columns + column) * size;
          if (places.At(part, row, panel + column) != Swizzled(expected, form.span)) return false;
        }
      }
    }
  }
  return true;
}

std::optional<BoxForm> FormOf(const Buffer& buffer, int64_t rows, int64_t columns) {
  const absl::StatusOr<SharedPlaces> places = SharedPlaces::Of(buffer);
  if (!places.ok() || rows > places->rows() || columns > places->columns()) return std::nullopt;
  const int64_t size = buffer->dtype.bytes();
  for (const int64_t span : kSwizzleSpans) {
    const BoxForm form{span, span == 0 ? columns : span / size};
    if (columns % form.columns != 0 || form.columns > kMostElements || form.columns * size % kChunkBytes != 0) continue;
    if (span != 0 && buffer->alignment % (8 * span) != 0) continue;
    if (HasForm(*places, form, rows, columns)) return form;
  }
  return std::nullopt;
}

// An array that the engine reads: which loop runs along each dimension (null: none), and where the box begins.
struct Source {
  std::vector<const ForNode*> loops;
  std::vector<Expr> first, strides;
};

// What all threads of a block copy, each its part of a tile, as a nest that the first of them runs:
//
//   for f in range(4):                                      if ty == 0 and tx == 0:
//       for v in T.vectorized(8):                   =>          for i, j in T.grid(128, 64):
//           S[(f * 2048 + ty * 1024 + tx * 8 + v) // 64,            S[i, j] = A[i, j]
//             (...) % 64] = A[...]
//
// Element `e` of the tile is copied in iteration e // 2048 by thread e // 1024 % 2, e // 8 % 128, as element e % 8 of its
// vector. Null where the threads' loops have another number of elements than the tile.
class FirstThreadsNest {
 public:
  explicit FirstThreadsNest(const std::vector<const ForNode*>& threads) : threads_(threads) {}

  Stmt Of(const Stmt& s) const {
    std::vector<const ForNode*> digits, vectors;
    Stmt inside = s;
    while (const auto* loop = dyn_cast<ForNode>(inside)) {
      if (loop->kind == ForKind::kThreadBound || !IsInt(loop->min, 0) || !AsInt(loop->extent)) return Stmt();
      (loop->kind == ForKind::kVectorized ? vectors : digits).push_back(loop);
      inside = loop->body;
    }
    const auto* store = dyn_cast<StoreNode>(inside);
    if (store == nullptr || store->indices.size() < 2) return Stmt();
    Expr first;
    for (const char* tag : {"threadIdx.z", "threadIdx.y", "threadIdx.x"}) {
      for (const ForNode* loop : threads_) {
        if (loop->thread_tag != tag || IsInt(loop->extent, 1)) continue;
        digits.push_back(loop);
        const Expr is_first = loop->var == loop->min;
        first = first ? And(first, is_first) : is_first;
      }
    }
    digits.insert(digits.end(), vectors.begin(), vectors.end());
    const std::vector<Expr>& shape = store->buffer->shape;
    const std::optional<int64_t> rows = AsInt(shape[shape.size() - 2]), columns = AsInt(shape.back());
    if (!first || !rows || !columns) return Stmt();
    const DataType type = DataType::Int(32);
    const Var i("i", type), j("j", type);
    const Expr element = Expr(i) * Const(type, *columns) + j;
    VarMap values;
    int64_t weight = 1;
    for (size_t d = digits.size(); d-- > 0;) {
      const int64_t extent = AsInt(digits[d]->extent).value_or(0);
      const Expr digit = FloorMod(FloorDiv(element, Const(type, weight)), Const(type, extent));
      values[digits[d]->var] = CastTo(digits[d]->var.dtype(), digit);
      weight *= extent;
    }
    if (weight != *rows * *columns) return Stmt();
    arith::Analyzer analyzer;
    analyzer.Bind(i, Range{Const(type, 0), Const(type, *rows)});
    analyzer.Bind(j, Range{Const(type, 0), Const(type, *columns)});
    Stmt copy = RewriteExprs(Substitute(Stmt(store), values), [&](const Expr& e) { return analyzer.Simplify(e); });
    for (const auto& [var, extent] : {std::pair(j, *columns), {i, *rows}}) {
      ForNode::Fields fields;
      fields.var = var;
      fields.min = Const(type, 0);
      fields.extent = Const(type, extent);
      fields.body = std::move(copy);
      copy = For(std::move(fields));
    }
    return If(first, std::move(copy));
  }

 private:
  const std::vector<const ForNode*>& threads_;
};

class BulkMaker : public ScopedMutator {
 public:
  using ScopedMutator::Mutate;
  explicit BulkMaker(uint32_t next_id) : next_id_(next_id) {}
  uint32_t next_id() const { return next_id_; }

  Stmt Mutate(const Stmt& s) override {
    if (s && inside_ && (isa<ForNode>(s) || isa<IfNode>(s))) {
      if (Stmt made = Make(s)) return made;
      const Stmt nest = of_producer_ ? FirstThreadsNest(threads_).Of(s) : Stmt();
      if (Stmt made = nest ? Make(nest) : Stmt()) return made;
    }
    return ScopedMutator::Mutate(s);
  }

 protected:
  Stmt MutateAttrStmt(const AttrStmtNode* op, const Stmt& self) override {
    if (IsInstruction(self)) return self;
    const bool outer = std::exchange(inside_, inside_ || op->key == kAsyncCopy);
    const bool outer_role = std::exchange(of_producer_, of_producer_ || op->key == kWarpRoles);
    Stmt result = ScopedMutator::MutateAttrStmt(op, self);
    inside_ = outer;
    of_producer_ = outer_role;
    return result;
  }
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    const bool of_threads = op->kind == ForKind::kThreadBound && op->thread_tag.starts_with("threadIdx");
    const bool of_cluster = op->kind == ForKind::kThreadBound && IsClusterTag(op->thread_tag);
    if (of_cluster && cluster_.empty()) blocks_copy_alike_ = BlocksCopyAlike(self);
    if (of_threads) threads_.push_back(op);
    if (of_cluster) cluster_.push_back(op);
    Stmt result = ScopedMutator::MutateFor(op, self);
    if (of_threads) threads_.pop_back();
    if (of_cluster) cluster_.pop_back();
    return result;
  }

 private:
  // Whether only the first thread of a block comes here.
  bool IsFirstThread(const std::vector<Expr>& conditions) {
    arith::Analyzer::Scope inside(&analyzer_);
    for (const Expr& condition : conditions) analyzer_.Assume(condition);
    return std::ranges::all_of(threads_, [&](const ForNode* loop) {
      const arith::Bounds bounds = analyzer_.ConstBounds(loop->var);
      return bounds.min == 0 && bounds.max == 0;
    });
  }

  // The largest value, where a loop's variable may be divided by `by`.
  int64_t Most(const Expr& e, const Nest& nest, int64_t by) {
    VarMap divided;
    for (const ForNode* loop : nest.loops) {
      const int64_t extent = AsInt(loop->extent).value_or(1);
      if (by == 1 || extent % by != 0) continue;
      const DataType type = loop->var.dtype();
      const Var outer("outer", type), inner("inner", type);
      analyzer_.Bind(outer, Range{Const(type, 0), Const(type, extent / by)});
      analyzer_.Bind(inner, Range{Const(type, 0), Const(type, by)});
      divided[loop->var] = outer * Const(type, by) + inner;
    }
    return analyzer_.ConstBounds(analyzer_.Simplify(Substitute(e, divided))).max;
  }
  // Whether all elements for which the condition does not hold are outside of the array: for those the engine writes
  // zeros as well. Where the condition is 0 <= D and an index is inside of its dimension when 0 <= E, D <= -1 has to
  // imply E <= -1: it does when E <= t D + t - 1, or t E <= D, for a t. Such multiples come from simplification:
  // x * 16 + i < 88 becomes x * 2 + i // 8 < 11.
  bool IsBound(const Expr& condition, const Nest& nest) {
    const auto* op = dyn_cast<BinaryNode>(condition);
    if (op == nullptr) return false;
    if (op->op == BinaryOp::kAnd) return IsBound(op->a, nest) && IsBound(op->b, nest);
    const DataType wide = DataType::Int(64);
    const Expr one = Const(wide, 1);
    const bool less = op->op == BinaryOp::kLT || op->op == BinaryOp::kLE;
    if (!less && op->op != BinaryOp::kGT && op->op != BinaryOp::kGE) return false;
    const bool strict = op->op == BinaryOp::kLT || op->op == BinaryOp::kGT;
    const Expr a = CastTo(wide, op->a), b = CastTo(wide, op->b);
    const Expr distance = (less ? b - a : a - b) - Const(wide, strict ? 1 : 0);
    const LoadNode& load = *nest.load;
    for (size_t d = 0; d < load.indices.size(); ++d) {
      const Expr index = CastTo(wide, load.indices[d]), extent = CastTo(wide, load.buffer->shape[d]);
      for (const Expr& inside : {index, extent - index - one}) {
        for (int64_t t = 1; t <= kMostElements; t *= 2) {
          const Expr times = Const(wide, t);
          if (Most(inside - times * distance, nest, t) <= t - 1) return true;
          if (Most(times * inside - distance, nest, t) <= 0) return true;
        }
      }
    }
    return false;
  }
  // Elements outside of an array are zeros for the engine.
  bool IsInsideOrZero(const Nest& nest) {
    if (!nest.inside) return true;
    arith::Analyzer::Scope inside(&analyzer_);
    for (const ForNode* loop : nest.loops) analyzer_.Bind(loop->var, Range{loop->min, loop->extent});
    return IsBound(nest.inside, nest);
  }

  // The box's first index in a dimension along which `loop` runs; null when it does not run there by itself.
  Expr FirstOf(const Expr& index, const ForNode* loop, const Nest& nest) {
    const Expr first = loop == nullptr ? index : analyzer_.Simplify(index - CastTo(index.dtype(), loop->var));
    return UsesLoops(first, nest) ? Expr() : first;
  }

  std::optional<Source> SourceOf(const Nest& nest) {
    const Buffer& buffer = nest.load->buffer;
    const auto rank = static_cast<int64_t>(buffer->ndim());
    const bool plain = MemoryOwner(buffer->scope) == OwnerLevel::kDevice && !buffer->layout && !buffer->elem_offset;
    if (!plain || rank < 1 || rank > kMostRank || !HasMapType(buffer->dtype)) return std::nullopt;
    Source source;
    size_t found = 0;
    for (const Expr& index : nest.load->indices) {
      const auto along = std::ranges::find_if(nest.loops, [&](const ForNode* l) { return UsesVar(index, l->var); });
      const ForNode* loop = along == nest.loops.end() ? nullptr : *along;
      found += loop != nullptr ? 1 : 0;
      source.loops.push_back(loop);
      source.first.push_back(FirstOf(index, loop, nest));
      if (!source.first.back()) return std::nullopt;
    }
    if (source.loops.back() != nest.loops.back() || found != nest.loops.size()) return std::nullopt;
    source.strides = buffer->strides;
    if (source.strides.empty()) {
      Expr stride = Const(DataType::Int(64), 1);
      for (size_t d = buffer->ndim(); d-- > 0;) {
        source.strides.insert(source.strides.begin(), stride);
        stride = analyzer_.Simplify(stride * CastTo(DataType::Int(64), buffer->shape[d]));
      }
    }
    return IsInt(source.strides.back(), 1) ? std::optional(std::move(source)) : std::nullopt;
  }
  static bool HasMapType(DataType type) {
    return type.lanes() == 1 && (type.is_float() || type.is_integer()) && type.bits() >= 8 && type.bits() <= 32;
  }

  // Whether the loops run along the last dimensions of the buffer, from its first row and column on.
  bool FillsTile(const Nest& nest) {
    const std::vector<Expr>& indices = nest.store->indices;
    const Buffer& buffer = nest.store->buffer;
    const size_t rank = indices.size(), loops = nest.loops.size();
    if (MemoryOwner(buffer->scope) != OwnerLevel::kBlock || buffer->dtype != nest.load->buffer->dtype) return false;
    for (size_t d = 0; d < rank; ++d) {
      const bool last = d + loops >= rank;
      const ForNode* loop = last ? nest.loops[d + loops - rank] : nullptr;
      const Expr first = FirstOf(indices[d], loop, nest);
      if (!first || ((loop != nullptr || d + 2 >= rank) && !IsInt(first, 0))) return false;
    }
    return rank >= loops;
  }

  Stmt Make(const Stmt& s) {
    const std::optional<Nest> nest = NestOf(s);
    if (!nest || !FillsTile(*nest) || !IsInsideOrZero(*nest) || !IsFirstThread(nest->conditions)) return Stmt();
    const std::optional<Source> source = SourceOf(*nest);
    const int64_t rows = nest->loops.size() == 2 ? *AsInt(nest->loops[0]->extent) : 1;
    const int64_t columns = *AsInt(nest->loops.back()->extent);
    if (!source || rows > kMostElements) return Stmt();
    const std::optional<BoxForm> form = FormOf(nest->store->buffer, rows, columns);
    if (!form) return Stmt();
    const std::optional<Multicast> multicast = ToCluster(*nest, *source, *form);
    std::vector<Stmt> copies;
    for (int64_t panel = 0; panel < columns; panel += form->columns)
      copies.push_back(Copy(*nest, *source, *form, multicast.value_or(Multicast()), panel));
    Stmt result = Sequence(std::move(copies));
    for (size_t i = nest->conditions.size(); i-- > 0;) result = If(nest->conditions[i], std::move(result));
    return result;
  }

  // The blocks of the cluster that a copy can fill at once: each copies as many of the rows, which begin where boxes may.
  std::optional<Multicast> ToCluster(const Nest& nest, const Source& source, const BoxForm& form) const {
    if (!of_producer_ || !blocks_copy_alike_ || cluster_.empty() || nest.loops.size() != 2) return std::nullopt;
    std::vector<Expr> place = source.first;
    place.insert(place.end(), nest.store->indices.begin(), nest.store->indices.end());
    std::optional<Multicast> multicast = PlanMulticast(cluster_, place);
    if (!multicast) return std::nullopt;
    const int64_t rows = *AsInt(nest.loops[0]->extent);
    const int64_t bytes = rows / multicast->blocks * form.columns * nest.store->buffer->dtype.bytes();
    const bool divides = rows % multicast->blocks == 0 && bytes % std::max(kAlignment, 8 * form.span) == 0;
    return divides ? multicast : std::nullopt;
  }

  // One panel; of its rows, those that this block copies.
  Stmt Copy(const Nest& nest, const Source& source, const BoxForm& form, const Multicast& multicast, int64_t panel) {
    const ForNode *inner = nest.loops.back(), *outer = nest.loops.size() == 2 ? nest.loops[0] : nullptr;
    const DataType type = inner->var.dtype();
    const size_t rank = source.loops.size();
    VarMap first;
    first[inner->var] = Const(type, panel);
    if (outer != nullptr) first[outer->var] = Const(outer->var.dtype(), 0);
    if (multicast.blocks > 1) {
      const int64_t rows = *AsInt(outer->extent) / multicast.blocks;
      first[outer->var] = CastTo(outer->var.dtype(), arith::Simplify(multicast.share * Const(DataType::Int(32), rows)));
    }
    const Expr to = Substitute(nest.store->buffer.Load(nest.store->indices), first);
    std::vector<Expr> args = {Call(DataType::Handle(), std::string(kAddressOf), {to}),
                              Map(nest, source, form, multicast.blocks)};
    if (multicast.blocks > 1) args.insert(args.end(), {multicast.mask, Expr(multicast.blocks)});
    for (size_t d = rank; d-- > 0;) {
      const ForNode* loop = source.loops[d];
      const Expr offset = loop == nullptr ? Expr(0) : first[loop->var];
      args.push_back(
          CastTo(DataType::Int(32), analyzer_.Simplify(source.first[d] + CastTo(source.first[d].dtype(), offset))));
    }
    // The body copies the panel alone, and all that this block gets of it.
    Stmt body = Substitute(Stmt(nest.store), {{inner->var, inner->var + Const(type, panel)}});
    for (size_t i = nest.loops.size(); i-- > 0;) {
      ForNode::Fields fields = nest.loops[i]->fields();
      if (nest.loops[i] == inner) fields.extent = Const(type, form.columns);
      fields.body = std::move(body);
      body = For(std::move(fields));
    }
    body = CopyWithFreshNames(body, &next_id_);
    const char* load = multicast.blocks > 1 ? kBulkMulticast : kBulkLoad;
    return Stmt(
        new AttrStmtNode(Expr(0), kCudaInstruction, Call(DataType::Void(), load, std::move(args)), std::move(body)));
  }

  // `blocks`: that share the rows.
  static Expr Map(const Nest& nest, const Source& source, const BoxForm& form, int64_t blocks) {
    const Buffer& buffer = nest.load->buffer;
    const size_t rank = source.loops.size();
    const auto wide = [](const Expr& e) { return CastTo(DataType::Int(64), e); };
    std::vector<Expr> args = {buffer->data, String(buffer->dtype.ToString()), Expr(static_cast<int>(form.span)),
                              Expr(static_cast<int>(rank))};
    for (size_t d = rank; d-- > 0;) args.push_back(wide(buffer->shape[d]));
    for (size_t d = rank - 1; d-- > 0;) {
      args.push_back(arith::Simplify(wide(source.strides[d]) * Const(DataType::Int(64), buffer->dtype.bytes())));
    }
    for (size_t d = rank; d-- > 0;) {
      const ForNode* loop = source.loops[d];
      args.push_back(loop == nullptr ? Expr(1)
                     : d + 1 == rank ? Expr(static_cast<int>(form.columns))
                                     : Expr(static_cast<int>(*AsInt(loop->extent) / blocks)));
    }
    return Call(DataType::Handle(), kTensorMap, std::move(args));
  }

  uint32_t next_id_;
  bool inside_ = false;
  bool of_producer_ = false;  // the pipeline gives its copies to threads of their own
  std::vector<const ForNode*> threads_, cluster_;
  bool blocks_copy_alike_ = false;  // those of a cluster
};

}  // namespace

bool IsBulkLoad(const CallNode& call) { return call.op == kBulkLoad || call.op == kBulkMulticast; }

Function MakeBulkCopies(const Function& function) {
  BulkMaker maker(function->next_id);
  Stmt body = maker.Mutate(function->body);
  return function.WithBody(std::move(body), maker.next_id());
}

}  // namespace tilewright
