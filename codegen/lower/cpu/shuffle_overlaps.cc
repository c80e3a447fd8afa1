#include "codegen/lower/cpu/shuffle_overlaps.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "codegen/lower/common/split_constant.h"
#include "codegen/lower/cpu/store_runs.h"
#include "ir/arith/linear.h"
#include "ir/changes/may_change.h"
#include "ir/functor.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

constexpr int kLeastElementBits = 32;
// Most vectors made of the same two loads. Long filters multiply what they load: loads overlap with multiplications,
// but shuffles use the same units as multiplications.
constexpr size_t kMostAcross = 2;

// Most vectors of a row that are all computed before the first store; more would occupy all registers.
constexpr size_t kMostBeforeStores = 8;

// Loads of whole vectors that start at `rest` plus a constant, by that constant. `rest` is null where it is 0.
struct Loads {
  Expr rest;
  std::map<int64_t, std::vector<const LoadNode*>> by_offset;
};

bool SameRest(const Expr& a, const Expr& b) { return a && b ? StructuralEqual(a, b) : !a && !b; }

class VectorFinder : public UnguardedLoads {
 public:
  VectorFinder(int bits, std::map<const VarNode*, std::vector<Loads>>& loads) : bits_(bits), loads_(loads) {}

 protected:
  void AddLoad(const LoadNode* op) override {
    const auto* ramp = op->indices.size() == 1 ? dyn_cast<RampNode>(op->indices[0]) : nullptr;
    if (op->predicate || ramp == nullptr || !IsInt(ramp->stride, 1)) return;
    if (op->dtype().bits() < kLeastElementBits || op->dtype().bits() * op->dtype().lanes() != bits_) return;
    const auto [rest, offset] = SplitConstant(ramp->base);
    std::vector<Loads>& of_buffer = loads_[op->buffer->data.get()];
    for (Loads& loads : of_buffer) {
      const LoadNode* other = loads.by_offset.begin()->second.front();
      if (!SameRest(loads.rest, rest) || other->dtype() != op->dtype()) continue;
      loads.by_offset[offset].push_back(op);
      return;
    }
    of_buffer.push_back({rest, {{offset, {op}}}});
  }

 private:
  const int bits_;
  std::map<const VarNode*, std::vector<Loads>>& loads_;
};

using Replacements = std::map<const ExprNode*, Expr>;

// The load of low and high as one, of which the lanes from `distance` on are picked.
Expr Across(const LoadNode* low, const LoadNode* high, int64_t distance) {
  std::vector<int> picked;
  for (int lane = 0; lane < low->dtype().lanes(); ++lane) picked.push_back(static_cast<int>(distance) + lane);
  return Expr(new ShuffleNode({Expr(low), Expr(high)}, std::move(picked)));
}

// The offsets at which vectors fill lines, as far as that is known.
std::set<int64_t> AlignedOffsets(const Loads& loads, const LoadNode& load) {
  const int lanes = load.dtype().lanes();
  if (load.buffer->alignment % (load.dtype().bytes() * lanes) != 0) return {};
  if (loads.rest && arith::WrittenDivisor(loads.rest) % lanes != 0) return {};
  std::set<int64_t> aligned;
  for (const auto& entry : loads.by_offset) {
    if (entry.first % lanes == 0) aligned.insert(entry.first);
  }
  return aligned;
}

// The lower one of two neighbours that a vector lies across, both of which are loaded: best, both fill lines.
std::optional<int64_t> LowerVector(const Loads& loads, int64_t offset, const std::set<int64_t>& aligned,
                                   const std::set<int64_t>& kept) {
  const int lanes = loads.by_offset.begin()->second.front()->dtype().lanes();
  for (const std::set<int64_t>* candidates : {&aligned, &kept}) {
    for (auto lower = candidates->upper_bound(offset - lanes); lower != candidates->end() && *lower < offset; ++lower) {
      if (loads.by_offset.contains(*lower + lanes)) return *lower;
    }
  }
  return std::nullopt;
}

// Aligned vectors stay loads. In ascending order of offsets, a vector across two others is combined from them if the
// lower one stays a load and the upper one is loaded anyway.
void ReplaceOverlaps(const Loads& loads, Replacements& replacements) {
  const LoadNode& first = *loads.by_offset.begin()->second.front();
  const int lanes = first.dtype().lanes();
  const std::set<int64_t> aligned = AlignedOffsets(loads, first);
  std::set<int64_t> kept = aligned, needed = aligned;
  std::map<int64_t, std::vector<int64_t>> across;  // by the lower vector's offset
  for (const auto& entry : loads.by_offset) {
    const int64_t offset = entry.first;
    const std::optional<int64_t> lower = LowerVector(loads, offset, aligned, kept);
    if (needed.contains(offset) || !lower) {
      kept.insert(offset);
    } else {
      needed.insert(*lower + lanes);
      across[*lower].push_back(offset);
    }
  }
  for (const auto& [lower, offsets] : across) {
    if (offsets.size() > kMostAcross) continue;
    const LoadNode* low = loads.by_offset.at(lower).front();
    const LoadNode* high = loads.by_offset.at(lower + lanes).front();
    for (const int64_t offset : offsets) {
      const Expr vector = Across(low, high, offset - lower);
      for (const LoadNode* load : loads.by_offset.at(offset)) replacements.emplace(load, vector);
    }
  }
}

class Replacer : public Mutator {
 public:
  explicit Replacer(const Replacements& replacements) : replacements_(replacements) {}
  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override {
    const auto found = replacements_.find(e.get());
    return found != replacements_.end() ? found->second : Mutator::Mutate(e);
  }

 private:
  const Replacements& replacements_;
};

// The stores of a row after the values of all.
void StoreLate(std::vector<Stmt>& run) {
  const Buffer& buffer = cast<StoreNode>(run[0])->buffer;
  const auto can_wait = [&](const Stmt& s) {
    const auto* store = cast<StoreNode>(s);
    return store->buffer.same_as(buffer) && !MayChange(store->value, run[0]);
  };
  if (run.size() > kMostBeforeStores || !std::ranges::all_of(run, can_wait)) return;
  std::vector<std::pair<Var, Expr>> values;
  for (Stmt& s : run) {
    const auto* store = cast<StoreNode>(s);
    const Var value("value", store->value.dtype());
    values.emplace_back(value, store->value);
    s = Store(store->buffer, value, store->indices, store->predicate);
  }
  Stmt row = Sequence(std::move(run));
  for (auto value = values.rbegin(); value != values.rend(); ++value) row = LetStmt(value->first, value->second, row);
  run = {row};
}

class Shuffler : public StoreRunMutator {
 public:
  explicit Shuffler(int bits) : bits_(bits) {}

 protected:
  bool ChangeRun(std::vector<Stmt>& run) override {
    std::map<const VarNode*, std::vector<Loads>> loads;
    VectorFinder finder(bits_, loads);
    for (const Stmt& s : run) finder.Visit(cast<StoreNode>(s)->value);
    if (!finder.only_reads()) return false;
    for (const Stmt& s : run) loads.erase(cast<StoreNode>(s)->buffer->data.get());
    Replacements replacements;
    const Stmt whole = Sequence(run);
    for (const auto& [data, of_buffer] : loads) {
      for (const Loads& same_rest : of_buffer) {
        if (!MayChange(same_rest.rest, whole)) ReplaceOverlaps(same_rest, replacements);
      }
    }
    if (replacements.empty()) return false;
    Replacer replacer(replacements);
    for (Stmt& s : run) s = replacer.Mutate(s);
    StoreLate(run);
    return true;
  }

 private:
  const int bits_;
};

}  // namespace

Function ShuffleOverlaps(const Function& function, const Target& target) {
  if (!target.VectorsFillLines()) return function;
  return function.WithBody(Shuffler(target.cpu_part().vector_bits).Mutate(function->body), function->next_id);
}

}  // namespace tilewright
