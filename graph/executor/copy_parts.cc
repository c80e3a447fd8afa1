#include "graph/executor/copy_parts.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "ir/arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/ops/movement.h"

namespace tilewright::graph {
namespace {

// More parts than this are a kernel's work.
constexpr size_t kMaxParts = 64;

std::optional<int64_t> SizeOf(const Buffer& buffer) {
  int64_t size = 1;
  for (const Expr& extent : buffer->shape) {
    const std::optional<int64_t> number = AsInt(extent);
    if (!number || *number < 0 || __builtin_mul_overflow(size, *number, &size)) return std::nullopt;
  }
  return size;
}

class PartsReader {
 public:
  explicit PartsReader(const tilewright::Function& program) : program_(*program) {}

  std::optional<std::vector<CopyPart>> Run() {
    for (const Param& param : program_.params) {
      if (!param.buffer || !SizeOf(param.buffer)) return std::nullopt;
    }
    const auto* root = dyn_cast<BlockRealizeNode>(program_.body);
    if (root == nullptr || !root->block->alloc_buffers.empty()) return std::nullopt;
    bool good = true;
    PreOrder(root->block->body, [&](const Stmt& stmt) {
      if (const auto* loop = dyn_cast<ForNode>(stmt)) loops_[loop->var.get()] = Range(loop->min, loop->extent);
      if (isa<ForNode>(stmt) || isa<SeqNode>(stmt)) return good;
      const auto* realize = dyn_cast<BlockRealizeNode>(stmt);
      good = good && realize != nullptr && AddBlock(*realize);
      return false;
    });
    if (!good || !Cover()) return std::nullopt;
    return std::move(parts_);
  }

 private:
  int ParamOf(const Buffer& buffer) const {
    for (size_t i = 0; i < program_.params.size(); ++i) {
      if (program_.params[i].buffer.same_as(buffer)) return static_cast<int>(i);
    }
    return -1;
  }

  // Each iterator is a loop's variable and an index of the store, so that no two iterations store to one place.
  bool AddBlock(const BlockRealizeNode& realize) {
    const BlockNode& block = *realize.block;
    const auto* store = dyn_cast<StoreNode>(block.body);
    if (store == nullptr || store->predicate || block.init || !IsTrue(realize.predicate)) return false;
    ranges_.clear();
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      const IterVar& iter = block.iter_vars[i];
      const auto loop = loops_.find(dyn_cast<VarNode>(realize.bindings[i]));
      const std::optional<int64_t> min = AsInt(iter.domain.min), extent = AsInt(iter.domain.extent);
      if (iter.kind != IterKind::kSpatial || !min || !extent || loop == loops_.end()) return false;
      if (!IsInt(loop->second.min, *min) || !IsInt(loop->second.extent, *extent)) return false;
      loops_.erase(loop);
      ranges_.push_back({iter.var, *min, *min + *extent});
    }
    size_t used = 0;
    for (const Expr& index : store->indices) {
      if (AsInt(index)) continue;
      const bool is_iterator =
          std::any_of(ranges_.begin(), ranges_.end(), [&](const IterRange& r) { return r.var.get() == index.get(); });
      if (!is_iterator || CountOf(store->indices, index) != 1) return false;
      ++used;
    }
    to_ = ParamOf(store->buffer);
    return used == ranges_.size() && to_ >= 0 &&
           AddValue(store->value, ops::Flatten(store->buffer->shape, store->indices));
  }
  static int64_t CountOf(const std::vector<Expr>& all, const Expr& one) {
    return std::count_if(all.begin(), all.end(), [&](const Expr& e) { return e.get() == one.get(); });
  }

  bool AddValue(const Expr& value, const Expr& target) {
    if (const auto* load = dyn_cast<LoadNode>(value)) return AddLoad(*load, target);
    const auto* call = dyn_cast<CallNode>(value);
    if (call == nullptr || call->op != kIfThenElse) return false;
    // v < number, which splits the range of v.
    const auto* less = dyn_cast<BinaryNode>(call->args[0]);
    if (less == nullptr || less->op != BinaryOp::kLT) return false;
    const std::optional<int64_t> bound = AsInt(less->b);
    const auto range =
        std::find_if(ranges_.begin(), ranges_.end(), [&](const IterRange& r) { return r.var.get() == less->a.get(); });
    if (!bound || range == ranges_.end()) return false;
    const int64_t begin = range->begin, end = range->end;
    range->end = std::min(end, *bound);
    if (range->begin < range->end && !AddValue(call->args[1], target)) return false;
    range->begin = std::max(begin, *bound);
    range->end = end;
    if (range->begin < range->end && !AddValue(call->args[2], target)) return false;
    range->begin = begin;
    return true;
  }

  // The elements are consecutive on both sides where the positions are as many as they span, and differ by a number.
  bool AddLoad(const LoadNode& load, const Expr& target) {
    const int from = ParamOf(load.buffer);
    if (from < 0 || load.buffer->dtype != program_.params[static_cast<size_t>(to_)].buffer->dtype) return false;
    arith::Analyzer analyzer;
    int64_t count = 1;
    for (const IterRange& range : ranges_) {
      analyzer.Bind(range.var,
                    Range(Const(range.var.dtype(), range.begin), Const(range.var.dtype(), range.end - range.begin)));
      count *= range.end - range.begin;
    }
    const Expr source = ops::Flatten(load.buffer->shape, load.indices);
    const std::optional<int64_t> shift = AsInt(analyzer.Simplify(CastTo(target.dtype(), source) - target));
    const arith::Bounds bounds = analyzer.ConstBounds(target);
    if (!shift || bounds.max - bounds.min + 1 != count) return false;
    parts_.push_back({.from = from, .to = to_, .source = bounds.min + *shift, .target = bounds.min, .count = count});
    return parts_.size() <= kMaxParts;
  }

  // Whether each element of what is written is written once.
  bool Cover() {
    std::sort(parts_.begin(), parts_.end(), [](const CopyPart& a, const CopyPart& b) {
      return std::pair(a.to, a.target) < std::pair(b.to, b.target);
    });
    std::map<int, int64_t> written;
    for (const CopyPart& part : parts_) {
      int64_t& end = written[part.to];
      if (part.target != end) return false;
      end += part.count;
    }
    const bool in_place =
        std::any_of(parts_.begin(), parts_.end(), [&](const CopyPart& part) { return written.contains(part.from); });
    return !in_place && std::all_of(written.begin(), written.end(), [&](const auto& one) {
      return SizeOf(program_.params[static_cast<size_t>(one.first)].buffer) == one.second;
    });
  }

  struct IterRange {
    Var var;
    int64_t begin, end;
  };
  const tilewright::FunctionNode& program_;
  std::unordered_map<const VarNode*, Range> loops_;  // around the block, which no iterator of it has taken yet
  std::vector<IterRange> ranges_;
  int to_ = 0;
  std::vector<CopyPart> parts_;
};

}  // namespace

std::optional<std::vector<CopyPart>> CopyPartsOf(const tilewright::Function& program) {
  return PartsReader(program).Run();
}

}  // namespace tilewright::graph
