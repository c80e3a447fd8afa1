#include "graph/sizes/size_evaluator.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ir/arith/exact.h"
#include "ir/script/printer.h"

namespace tilewright::graph {
absl::StatusOr<SizeEvaluator> SizeEvaluator::Make(const std::vector<Symbol>& extents,
                                                  const std::vector<SizedSequence::Size>& sizes) {
  SizeEvaluator evaluator;
  for (const Symbol& extent : extents) {
    evaluator.slots_[extent.get()] = evaluator.NewSlot();
    evaluator.kept_.push_back(extent);
  }
  for (const SizedSequence::Size& size : sizes) {
    TW_ASSIGN_OR_RETURN(const int slot, evaluator.Add(size.value));
    evaluator.slots_[size.var.get()] = slot;
    evaluator.kept_.push_back(size.var);
  }
  return evaluator;
}

int SizeEvaluator::NewSlot(int64_t constant) {
  constants_.push_back(constant);
  return static_cast<int>(constants_.size()) - 1;
}

int SizeEvaluator::AddStep(Step step) {
  step.to = NewSlot();
  steps_.push_back(step);
  return step.to;
}

absl::StatusOr<int> SizeEvaluator::Add(const Expr& e) {
  if (const std::optional<int64_t> value = AsInt(e)) {
    const auto [it, fresh] = of_constant_.try_emplace(*value);
    if (fresh) it->second = NewSlot(*value);
    return it->second;
  }
  if (const auto known = slots_.find(e.get()); known != slots_.end()) return known->second;
  int slot = 0;
  if (const auto* binary = dyn_cast<BinaryNode>(e)) {
    TW_ASSIGN_OR_RETURN(const int a, Add(binary->a));
    TW_ASSIGN_OR_RETURN(const int b, Add(binary->b));
    slot = AddStep({.op = binary->op, .a = a, .b = b});
  } else if (const auto* cast_node = dyn_cast<CastNode>(e)) {
    TW_ASSIGN_OR_RETURN(slot, Add(cast_node->value));
  } else if (const auto* not_node = dyn_cast<NotNode>(e)) {
    TW_ASSIGN_OR_RETURN(const int a, Add(not_node->a));
    slot = AddStep({.kind = Step::Kind::kNot, .a = a});
  } else if (const auto* select = dyn_cast<SelectNode>(e)) {
    TW_ASSIGN_OR_RETURN(const int a, Add(select->condition));
    TW_ASSIGN_OR_RETURN(const int b, Add(select->true_value));
    TW_ASSIGN_OR_RETURN(const int c, Add(select->false_value));
    slot = AddStep({.kind = Step::Kind::kSelect, .a = a, .b = b, .c = c});
  } else {
    return absl::InvalidArgumentError(absl::StrCat(PrintExtent(e), " is not arithmetic of extents"));
  }
  slots_[e.get()] = slot;
  kept_.push_back(e);
  return slot;
}

void SizeEvaluator::Evaluate(absl::Span<const int64_t> extents, Values* values) const {
  std::vector<int64_t>& numbers = values->numbers;
  std::vector<char>& known = values->known;
  // The extents have the first slots.
  for (size_t i = 0; i < extents.size(); ++i) numbers[i] = extents[i];
  for (const Step& step : steps_) {
    const auto a = static_cast<size_t>(step.a), b = static_cast<size_t>(step.b), c = static_cast<size_t>(step.c);
    const auto to = static_cast<size_t>(step.to);
    switch (step.kind) {
      case Step::Kind::kBinary: {
        const auto result = arith::EvaluateExactly(step.op, numbers[a], numbers[b]);
        numbers[to] = result.value_or(0);
        known[to] = result && known[a] && known[b];
        break;
      }
      case Step::Kind::kNot:
        numbers[to] = numbers[a] == 0;
        known[to] = known[a];
        break;
      case Step::Kind::kSelect: {
        const size_t chosen = numbers[a] != 0 ? b : c;
        numbers[to] = numbers[chosen];
        known[to] = known[a] && known[chosen];
        break;
      }
    }
  }
}

}  // namespace tilewright::graph
