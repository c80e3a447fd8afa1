#include "graph/executor/plan_loop.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/ir/call_types.h"

namespace tilewright::graph {
namespace {

size_t Number(const CallNode& call, const char* attribute) {
  return static_cast<size_t>(*call.attrs.at(attribute).As<int64_t>());
}

bool IsReversed(const CallNode& call, const char* attribute, size_t i) {
  const IntList& reversed = *call.attrs.at(attribute).As<IntList>();
  return i < reversed.size() && reversed[i] != 0;
}

// The only element of a value, where it is known.
Expr ElementOf(const Value& value) {
  if (const auto* constant = dyn_cast<ConstantNode>(value)) return Extent(constant->ToNDArray().GetInt(0));
  const TensorTypeNode* type = TensorTypeOf(value);
  return type != nullptr && type->values && type->values->size() == 1 ? AsExtent((*type->values)[0]) : Expr();
}

}  // namespace

bool IsLoop(const CallNode& call) { return call.op->name == "host.scan" || call.op->name == "host.loop"; }

LoopPlanner::LoopPlanner(ExecutablePlan* plan, const std::string& name, const CallNode& call)
    : plan_(*plan),
      call_(call),
      scans_(call.op->name == "host.scan"),
      carried_(Number(call, "carried")),
      scanned_(Number(call, "scanned")),
      inputs_(scans_ ? Number(call, "inputs") : 0),
      control_(scans_ ? 0 : 2),
      loop_{.name = name, .first = plan->steps.size()},
      first_(static_cast<int>(plan->steps.size())) {}

PlanTensor& LoopPlanner::RootOf(int tensor) const {
  return plan_.tensors[static_cast<size_t>(plan_.tensors[static_cast<size_t>(tensor)].root)];
}

int LoopPlanner::AddMemory(const std::string& name, DataType dtype, std::vector<Expr> shape) {
  const int id = static_cast<int>(plan_.tensors.size());
  plan_.tensors.push_back(
      {.name = name, .dtype = dtype, .shape = std::move(shape), .root = id, .first = first_, .last = first_});
  return id;
}

void LoopPlanner::KeepUntil(int tensor, int step) {
  PlanTensor& root = RootOf(tensor);
  root.last = std::max(root.last, step);
}

bool LoopPlanner::FindCount(const std::vector<int>& arguments) {
  const auto shape_of = [&](int tensor) -> const std::vector<Expr>& {
    return plan_.tensors[static_cast<size_t>(tensor)].shape;
  };
  if (scans_) {
    loop_.count = shape_of(arguments[carried_])[0];
    for (size_t i = 1; i < inputs_; ++i) {
      plan_.guards.push_back(shape_of(arguments[carried_ + i])[0] == loop_.count);
    }
    return true;
  }
  const bool counted = *call_.attrs.at("counted").As<bool>();
  if (counted && arguments[0] >= 0) {
    const Expr trips = ElementOf(call_.args[0]);
    if (trips) loop_.count = Max(trips, Extent(0));
  }
  if (loop_.count) return true;
  if (arguments[0] >= 0 && plan_.tensors[static_cast<size_t>(arguments[0])].dtype != DataType::Int(64)) return false;
  loop_.trips = arguments[0];
  // Room for what is stacked is made by the caller.
  return scanned_ == 0;
}

bool LoopPlanner::Begin(const FunctionNode& body, const std::vector<int>& arguments) {
  arguments_ = arguments;
  if (arguments.size() != body.params.size() || !FindCount(arguments)) return false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* type = dyn_cast<TensorTypeNode>(body.params[i]->type);
    if (type == nullptr || !type->shape) return false;
    const bool is_state = i < control_ + carried_, is_element = !is_state && i < control_ + carried_ + inputs_;
    const bool is_iteration = i == 0 && !scans_;
    if (!is_iteration && arguments[i] < 0) return false;
    parameters_.push_back(is_state || is_element ? AddMemory(body.params[i]->name, type->dtype, *type->shape)
                                                 : arguments[i]);
    if (is_iteration) {
      loop_.iteration = parameters_[i];
    } else if (is_state) {
      loop_.start.push_back({arguments[i], parameters_[i]});
    } else if (is_element) {
      loop_.before.push_back(
          {arguments[i], parameters_[i], Row::kFrom, IsReversed(call_, "reverse_inputs", i - control_ - carried_)});
    }
  }
  if (!scans_ && !loop_.count) loop_.condition = parameters_[1];
  return true;
}

void LoopPlanner::MoveStates(const std::vector<int>& next, size_t first) {
  const auto is_kept = [&](int root) {
    const auto end = parameters_.begin() + static_cast<std::ptrdiff_t>(control_ + carried_);
    return std::any_of(parameters_.begin(), end,
                       [&](int state) { return plan_.tensors[static_cast<size_t>(state)].root == root; });
  };
  std::vector<PlanLoop::Move> moves;
  for (size_t i = 0; i < next.size(); ++i) {
    const int to = parameters_[first + i];
    const PlanTensor from = plan_.tensors[static_cast<size_t>(next[i])], &old = plan_.tensors[static_cast<size_t>(to)];
    if (from.root == old.root && from.offset == old.offset) continue;  // it stays as it is
    int between = next[i];
    // What is in another state's memory is taken before that is written.
    if (is_kept(from.root)) {
      between = AddMemory(from.name, from.dtype, from.shape);
      loop_.after.push_back({next[i], between});
    }
    moves.push_back({between, to});
  }
  loop_.after.insert(loop_.after.end(), moves.begin(), moves.end());
}

std::vector<int> LoopPlanner::End(const std::vector<int>& results) {
  const size_t before = scans_ ? 0 : 1;  // results that are not carried: the condition
  std::vector<int> stacked;
  for (size_t s = 0; s < scanned_; ++s) {
    const int row = results[before + carried_ + s];
    const PlanTensor& part = plan_.tensors[static_cast<size_t>(row)];
    std::vector<Expr> shape = part.shape;
    shape.insert(shape.begin(), loop_.count);
    stacked.push_back(AddMemory(loop_.name, part.dtype, std::move(shape)));
    loop_.after.push_back({row, stacked.back(), Row::kTo, scans_ && IsReversed(call_, "reverse_outputs", s)});
  }
  MoveStates({results.begin(), results.begin() + static_cast<std::ptrdiff_t>(before + carried_)}, control_ - before);
  loop_.end = plan_.steps.size();
  loop_.loops_end = plan_.loops.size();
  const int last = std::max(first_, static_cast<int>(loop_.end) - 1);
  const auto keep = [&](const std::vector<int>& tensors) {
    for (const int tensor : tensors) {
      if (tensor >= 0) KeepUntil(tensor, last);
    }
  };
  keep(arguments_);
  keep(parameters_);
  keep(results);
  keep(stacked);
  for (const PlanLoop::Move& move : loop_.after) KeepUntil(move.to, last);
  std::vector<int> all(parameters_.begin() + static_cast<std::ptrdiff_t>(control_),
                       parameters_.begin() + static_cast<std::ptrdiff_t>(control_ + carried_));
  all.insert(all.end(), stacked.begin(), stacked.end());
  return all;
}

}  // namespace tilewright::graph
