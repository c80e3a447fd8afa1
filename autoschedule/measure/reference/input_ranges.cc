#include "autoschedule/measure/reference/input_ranges.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "ir/functor.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

// Numbers beyond count as infinite.
constexpr int64_t kFar = int64_t{1} << 62;

struct Interval {
  int64_t low = -kFar, high = kFar;
};

int64_t Clamp(__int128 value) { return static_cast<int64_t>(std::clamp<__int128>(value, -kFar, kFar)); }

Interval Hull(const Interval& a, const Interval& b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

// The interval of a function that is monotone in each of its arguments.
template <class F>
Interval OfCorners(const Interval& a, const Interval& b, F f) {
  const int64_t corners[] = {f(a.low, b.low), f(a.low, b.high), f(a.high, b.low), f(a.high, b.high)};
  return {*std::ranges::min_element(corners), *std::ranges::max_element(corners)};
}

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

// One access or loop: `index` is to lie in [0, extent).
struct Place {
  Expr index, extent;
};

class Collector : public Visitor {
 public:
  using Visitor::Visit;
  std::vector<Place> places;
  std::unordered_map<const VarNode*, Expr> values;                    // of let variables
  std::unordered_map<const VarNode*, std::pair<Expr, Expr>> domains;  // of loops: min and extent
  std::unordered_map<const VarNode*, std::vector<Expr>> stored;       // by the data of integer buffers
  std::vector<std::pair<Expr, Expr>> loops;                           // min and extent

 protected:
  void VisitLoad(const LoadNode* op) override {
    AddPlaces(op->buffer, op->indices);
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    AddPlaces(op->buffer, op->indices);
    if (op->buffer->dtype.is_integer()) stored[op->buffer->data.get()].push_back(op->value);
    Visitor::VisitStore(op);
  }
  void VisitFor(const ForNode* op) override {
    domains[op->var.get()] = {op->min, op->extent};
    loops.emplace_back(op->min, op->extent);
    Visitor::VisitFor(op);
  }
  void VisitLet(const LetNode* op) override {
    values[op->var.get()] = op->value;
    Visitor::VisitLet(op);
  }
  void VisitLetStmt(const LetStmtNode* op) override {
    values[op->var.get()] = op->value;
    Visitor::VisitLetStmt(op);
  }
  void VisitBlockRealize(const BlockRealizeNode* op) override {
    for (size_t i = 0; i < op->bindings.size(); ++i) values[op->block->iter_vars[i].var.get()] = op->bindings[i];
    Visitor::VisitBlockRealize(op);
  }

 private:
  void AddPlaces(const Buffer& buffer, const std::vector<Expr>& indices) {
    for (size_t d = 0; d < indices.size(); ++d) {
      if (indices[d].dtype().is_scalar()) places.push_back({indices[d], buffer->shape[d]});
    }
  }
};

class Ranges {
 public:
  Ranges(const Function& function, const VarMap& extents) : function_(function), extents_(extents) {
    collector_.Visit(function->body);
    for (size_t i = 0; i < function->params.size(); ++i) {
      const Param& param = function->params[i];
      const DataType type = param.buffer ? param.buffer->dtype : param.var.dtype();
      if (!type.is_integer() || (!param.buffer && Known(param.var))) continue;
      const VarNode* key = param.buffer ? param.buffer->data.get() : param.var.get();
      inputs_[key] = {.position = i, .values = OfType(type)};
    }
  }

  std::vector<std::optional<InputRange>> Run() {
    for (const Place& place : collector_.places) Fit(place);
    std::vector<std::optional<InputRange>> result(function_->params.size());
    for (const auto& [key, input] : inputs_) {
      if (input.bounded) result[input.position] = InputRange{input.values.low, input.values.high, IsSorted(key)};
    }
    return result;
  }

 private:
  struct Input {
    size_t position = 0;
    Interval values;
    bool bounded = false;
  };

  bool Known(const Var& var) const { return extents_.contains(var); }

  static Interval OfType(DataType type) {
    if (type.is_bool()) return {0, 1};
    if (!type.is_integer() || type.bits() > 62) return {};
    return {MinValue(type), MaxValue(type)};
  }

  // Which inputs the value depends on.
  void Depends(const Expr& e, std::set<const VarNode*>& found, int depth = 0) const {
    if (depth > kMostDepth) return;
    PreOrder(e, [&](const Expr& part) {
      if (const auto* load = dyn_cast<LoadNode>(part)) {
        const VarNode* data = load->buffer->data.get();
        if (inputs_.contains(data)) found.insert(data);
        if (const auto stored = collector_.stored.find(data); stored != collector_.stored.end()) {
          for (const Expr& value : stored->second) Depends(value, found, depth + kStoredDepth);
        }
        return false;  // where it is read is a place of its own
      }
      const auto* var = dyn_cast<VarNode>(part);
      if (var == nullptr) return true;
      if (inputs_.contains(var)) found.insert(var);
      if (const auto value = collector_.values.find(var); value != collector_.values.end()) {
        Depends(value->second, found, depth + 1);
      }
      if (const auto domain = collector_.domains.find(var); domain != collector_.domains.end()) {
        Depends(domain->second.first, found, depth + 1);
        Depends(domain->second.second, found, depth + 1);
      }
      return true;
    });
  }

  bool Fits(const Place& place) const {
    const Interval index = Of(place.index), extent = Of(place.extent);
    return index.low >= 0 && index.high < extent.low;
  }

  void Fit(const Place& place) {
    std::set<const VarNode*> inputs;
    Depends(place.index, inputs);
    std::vector<const VarNode*> ordered(inputs.begin(), inputs.end());
    std::ranges::sort(ordered, {}, [&](const VarNode* key) { return inputs_.at(key).position; });
    for (const VarNode* key : ordered) {
      Input& input = inputs_.at(key);
      input.bounded = true;
      // From zero on where that is enough.
      if (!Fits(place)) input.values.low = std::max<int64_t>(input.values.low, 0);
    }
    for (const VarNode* key : ordered) {
      if (!Fits(place)) Narrow(place, inputs_.at(key));
    }
  }

  // The greatest upper end that fits; where none does, the least value from which one fits.
  void Narrow(const Place& place, Input& input) {
    constexpr int64_t kMostFirst = 16;
    const Interval before = input.values;
    for (int64_t low = before.low; low <= std::min(before.low + kMostFirst, before.high); ++low) {
      input.values = {low, low};
      if (!Fits(place)) continue;
      int64_t fits = low, fails = before.high;
      while (fits + 1 < fails) {
        const int64_t middle = fits + (fails - fits) / 2;
        input.values.high = middle;
        (Fits(place) ? fits : fails) = middle;
      }
      input.values.high = fits;
      return;
    }
    input.values = {before.low, before.low};
  }

  // Whether differences of its elements are numbers of iterations.
  bool IsSorted(const VarNode* key) const {
    const auto loads = [&](const Expr& e) {
      int count = 0;
      PreOrder(e, [&](const Expr& part) {
        const auto* load = dyn_cast<LoadNode>(part);
        count += load != nullptr && load->buffer->data.get() == key;
        if (const auto* var = dyn_cast<VarNode>(part)) {
          const auto value = collector_.values.find(var);
          const auto* of = value == collector_.values.end() ? nullptr : dyn_cast<LoadNode>(value->second);
          count += of != nullptr && of->buffer->data.get() == key;
        }
        return true;
      });
      return count;
    };
    return std::ranges::any_of(collector_.loops, [&](const auto& loop) { return loads(loop.second) >= 2; });
  }

  Interval Of(const Expr& e, int depth = 0) const {
    if (depth > kMostDepth) return OfType(e.dtype());
    switch (e->kind()) {
      case Kind::kIntImm:
        return {Clamp(cast<IntImmNode>(e)->value), Clamp(cast<IntImmNode>(e)->value)};
      case Kind::kVar:
        return OfVar(cast<VarNode>(e), depth);
      case Kind::kLoad: {
        const auto* load = cast<LoadNode>(e);
        const VarNode* data = load->buffer->data.get();
        if (const auto input = inputs_.find(data); input != inputs_.end()) return input->second.values;
        const auto stored = collector_.stored.find(data);
        if (stored == collector_.stored.end()) return OfType(e.dtype());
        Interval all = Of(stored->second[0], depth + kStoredDepth);
        for (const Expr& value : stored->second) all = Hull(all, Of(value, depth + kStoredDepth));
        return all;
      }
      case Kind::kCast: {
        const auto* op = cast<CastNode>(e);
        const Interval value = Of(op->value, depth + 1), type = OfType(e.dtype());
        return op->value.dtype().is_float() || value.low < type.low || value.high > type.high ? type : value;
      }
      case Kind::kSelect: {
        const auto* op = cast<SelectNode>(e);
        return Hull(Of(op->true_value, depth + 1), Of(op->false_value, depth + 1));
      }
      case Kind::kLet:
        return Of(cast<LetNode>(e)->body, depth + 1);
      case Kind::kCall: {
        const auto* op = cast<CallNode>(e);
        if (op->op == "if_then_else") return Hull(Of(op->args[1], depth + 1), Of(op->args[2], depth + 1));
        if (op->op == "likely") return Of(op->args[0], depth + 1);
        return OfType(e.dtype());
      }
      case Kind::kBinary:
        return OfBinary(cast<BinaryNode>(e), depth);
      default:
        return OfType(e.dtype());
    }
  }

  Interval OfVar(const VarNode* var, int depth) const {
    if (const auto known = extents_.find(Var(var)); known != extents_.end()) return Of(known->second, depth + 1);
    if (const auto input = inputs_.find(var); input != inputs_.end()) return input->second.values;
    if (const auto value = collector_.values.find(var); value != collector_.values.end()) {
      return Of(value->second, depth + 1);
    }
    const auto domain = collector_.domains.find(var);
    if (domain == collector_.domains.end()) return OfType(var->dtype());
    const Interval min = Of(domain->second.first, depth + 1), extent = Of(domain->second.second, depth + 1);
    // A loop that does not run has no values.
    return {min.low, std::max(min.low, Clamp(__int128{min.high} + extent.high - 1))};
  }

  Interval OfBinary(const BinaryNode* op, int depth) const {
    if (!op->dtype().is_integer()) return OfType(op->dtype());
    const Interval a = Of(op->a, depth + 1), b = Of(op->b, depth + 1);
    switch (op->op) {
      case BinaryOp::kAdd:
        return {Clamp(__int128{a.low} + b.low), Clamp(__int128{a.high} + b.high)};
      case BinaryOp::kSub:
        return {Clamp(__int128{a.low} - b.high), Clamp(__int128{a.high} - b.low)};
      case BinaryOp::kMul:
        return OfCorners(a, b, [](int64_t x, int64_t y) { return Clamp(__int128{x} * y); });
      case BinaryOp::kMin:
        return {std::min(a.low, b.low), std::min(a.high, b.high)};
      case BinaryOp::kMax:
        return {std::max(a.low, b.low), std::max(a.high, b.high)};
      case BinaryOp::kDiv:
      case BinaryOp::kFloorDiv:
        if (b.low <= 0) return {std::min(a.low, -a.high), std::max(a.high, -a.low)};
        return OfCorners(a, b, [](int64_t x, int64_t y) { return FloorDivide(x, y); });
      case BinaryOp::kMod:
      case BinaryOp::kFloorMod:
        if (b.low <= 0) return OfType(op->dtype());
        if (a.low >= 0 && a.high < b.low) return a;
        return {op->op == BinaryOp::kMod && a.low < 0 ? 1 - b.high : 0, b.high - 1};
      default:
        return OfType(op->dtype());
    }
  }

  // How many definitions are followed, and how many of them a value that was stored counts for: those may be circular.
  static constexpr int kMostDepth = 64, kStoredDepth = 24;

  const Function& function_;
  const VarMap& extents_;
  Collector collector_;
  std::unordered_map<const VarNode*, Input> inputs_;
};

}  // namespace

std::vector<std::optional<InputRange>> InputRanges(const Function& function, const VarMap& extents) {
  return Ranges(function, extents).Run();
}

}  // namespace tilewright
