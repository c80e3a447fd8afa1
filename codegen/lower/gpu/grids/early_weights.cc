#include "codegen/lower/gpu/grids/early_weights.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "codegen/lower/gpu/bulk_copies.h"
#include "codegen/lower/gpu/bulk_stores.h"
#include "intrin/cuda/call_roles.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

enum class Part { kWait, kExpect, kConstantLoad, kLoad, kArrive, kCount, kOther };

const CallNode* CallOf(const Stmt& s) {
  const auto* evaluate = dyn_cast<EvaluateNode>(s);
  return evaluate == nullptr ? nullptr : dyn_cast<CallNode>(evaluate->value);
}

class Splitter {
 public:
  Splitter(const std::function<bool(const VarNode*)>& is_constant, const std::function<int64_t(const VarNode*)>& stages)
      : is_constant_(is_constant), stages_(stages) {}

  EarlyWeights Split(const std::vector<Stmt>& stmts) {
    EarlyWeights result;
    for (const Stmt& s : stmts) {
      if (!Add(s)) break;
      ++result.count;
    }
    std::vector<Stmt> before, after;
    bool moves = false;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const auto& [part, s] = parts_[i];
      const bool of_constant = part == Part::kConstantLoad || (part == Part::kExpect && i + 1 < parts_.size() &&
                                                               parts_[i + 1].first == Part::kConstantLoad);
      moves = moves || of_constant;
      if (of_constant || part == Part::kCount) before.push_back(s);
      if (!of_constant) after.push_back(s);
    }
    if (!moves || !counter_) return {};
    const Var first("first", counter_->buffer->dtype);
    before.push_back(Store(counter_->buffer, first, counter_->indices));
    result.before = LetStmt(first, counter_->buffer.Load(counter_->indices), Sequence(std::move(before)));
    result.after = Sequence(std::move(after));
    return result;
  }

 private:
  // Whether the statement is part of the copies of the first stages.
  bool Add(const Stmt& s) {
    if (const auto* seq = dyn_cast<SeqNode>(s)) {
      const auto state = std::tuple(parts_.size(), groups_, counter_);
      if (std::ranges::all_of(seq->stmts, [&](const Stmt& each) { return Add(each); })) return true;
      parts_.resize(std::get<0>(state));
      groups_ = std::get<1>(state);
      counter_ = std::get<2>(state);
      return false;
    }
    const Part part = PartOf(s);
    if (part == Part::kOther) return false;
    if (part == Part::kArrive) {
      const auto* pointer = dyn_cast<CallNode>(CallOf(s)->args[0]);
      const auto* data = pointer == nullptr || pointer->args.size() < 2 ? nullptr : dyn_cast<VarNode>(pointer->args[1]);
      if (data == nullptr || groups_ == stages_(data)) return false;
      ++groups_;
    }
    if (part == Part::kCount) {
      const auto* store = cast<StoreNode>(s);
      if (counter_ && (!counter_->buffer.same_as(store->buffer) || !IsInt(store->indices[0], 0))) return false;
      counter_ = Counter{store->buffer, store->indices};
    }
    parts_.emplace_back(part, s);
    return true;
  }

  Part PartOf(const Stmt& s) const {
    if (const auto* branch = dyn_cast<IfNode>(s)) {
      const CallNode* wait = branch->else_case ? nullptr : CallOf(branch->then_case);
      return wait != nullptr && cuda::RoleOfCall(wait->op) == cuda::CallRole::kBarrierWait ? Part::kWait : Part::kOther;
    }
    if (const auto* store = dyn_cast<StoreNode>(s)) {
      const bool counts = store->buffer->dtype == DataType::UInt(32) &&
                          store->buffer->scope.owner() == OwnerLevel::kThread && store->indices.size() == 1 &&
                          IsInt(store->indices[0], 0);
      return counts ? Part::kCount : Part::kOther;
    }
    const CallNode* call = CallOf(s);
    if (call == nullptr) return Part::kOther;
    if (call->op == "cuda.mbarrier_expect_tx") return Part::kExpect;
    if (call->op == "cuda.mbarrier_arrive") return Part::kArrive;
    if (call->op == kBulkStore) return Part::kOther;
    for (const Expr& arg : call->args) {
      const auto* map = dyn_cast<CallNode>(arg);
      if (map == nullptr || !IsTensorMap(*map)) continue;
      const auto* data = dyn_cast<VarNode>(map->args[0]);
      return data != nullptr && is_constant_(data) ? Part::kConstantLoad : Part::kLoad;
    }
    return Part::kOther;
  }

  struct Counter {
    Buffer buffer;
    std::vector<Expr> indices;
  };
  const std::function<bool(const VarNode*)>& is_constant_;
  const std::function<int64_t(const VarNode*)>& stages_;
  std::vector<std::pair<Part, Stmt>> parts_;
  int64_t groups_ = 0;  // that end among the parts
  std::optional<Counter> counter_;
};

}  // namespace

EarlyWeights SplitEarlyWeights(const std::vector<Stmt>& stmts, const std::function<bool(const VarNode*)>& is_constant,
                               const std::function<int64_t(const VarNode*)>& stages) {
  return Splitter(is_constant, stages).Split(stmts);
}

}  // namespace tilewright
