#include "codegen/lower/cpu/narrow_sums.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "codegen/lower/cpu/mask_bytes.h"
#include "intrin/instructions.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

constexpr DataType kS8 = DataType::Int(8), kU8 = DataType::UInt(8), kS16 = DataType::Int(16), kS32 = DataType::Int(32);
constexpr int64_t kMostSum = std::numeric_limits<int16_t>::max();
// The largest magnitude of a signed byte.
constexpr int64_t kMostSigned = 128;

// C[i : i + lanes] = dot_add(C[i : i + lanes], a, b & most), C in registers and i a constant.
struct NarrowDot {
  const StoreNode* store;
  Expr a, b;
  int64_t most_pair;  // the largest magnitude of the sum of two products
};

std::optional<NarrowDot> MatchNarrowDot(const Stmt& s) {
  const auto* store = dyn_cast<StoreNode>(s);
  if (store == nullptr || store->predicate || store->buffer->scope.kind() != MemoryKind::kRegister) return std::nullopt;
  const auto* dot = dyn_cast<CallNode>(store->value);
  if (dot == nullptr || dot->op != kDotAdd || dot->dtype().element() != kS32) return std::nullopt;
  const Expr &a = dot->args[1], &b = dot->args[2];
  const auto* old = dyn_cast<LoadNode>(dot->args[0]);
  const auto* masked = dyn_cast<CallNode>(b);
  if (old == nullptr || masked == nullptr || masked->op != "bitwise_and") return std::nullopt;
  const auto* mask = dyn_cast<BroadcastNode>(masked->args.back());
  const std::optional<int64_t> most = mask == nullptr ? std::nullopt : AsInt(mask->value);
  const auto* ramp = dyn_cast<RampNode>(store->indices[0]);
  const bool is_sum = ramp != nullptr && AsInt(ramp->base) && IsInt(ramp->stride, 1) && !old->predicate &&
                      old->buffer.same_as(store->buffer) && StructuralEqual(old->indices[0], store->indices[0]);
  if (!is_sum || a.dtype().element() != kS8 || b.dtype().element() != kU8 || !most) return std::nullopt;
  const int64_t most_pair = 2 * kMostSigned * *most;
  if (most_pair <= 0 || most_pair > kMostSum) return std::nullopt;
  return NarrowDot{store, a, b, most_pair};
}

// Which of some buffers a statement reads or writes.
class Mentions : public Visitor {
 public:
  explicit Mentions(const std::set<const VarNode*>& data) : data_(data) {}
  using Visitor::Visit;
  const std::set<const VarNode*>& found() const { return found_; }

 protected:
  void VisitVar(const VarNode* op) override {
    if (data_.contains(op)) found_.insert(op);
  }
  void VisitLoad(const LoadNode* op) override {
    VisitVar(op->buffer->data.get());
    Visitor::VisitLoad(op);
  }
  void VisitStore(const StoreNode* op) override {
    VisitVar(op->buffer->data.get());
    Visitor::VisitStore(op);
  }

 private:
  const std::set<const VarNode*>& data_;
  std::set<const VarNode*> found_;
};

// A buffer in registers by its data, and the first element of a vector of it.
using Place = std::pair<const VarNode*, int64_t>;

Place PlaceOf(const StoreNode& store) {
  return {store.buffer->data.get(), *AsInt(cast<RampNode>(store.indices[0])->base)};
}

// The products of straight-line code: how much each sum grows by them at most. Nothing where it is other code, or
// something else is done with the sums.
class GrowthOf {
 public:
  std::optional<std::map<Place, int64_t>> Find(const Stmt& s) {
    Take(s);
    std::set<const VarNode*> data;
    for (const auto& [place, most] : growth_) data.insert(place.first);
    Mentions mentions(data);
    for (const Stmt& other : others_) mentions.Visit(other);
    const bool of_body = std::ranges::any_of(allocated_, [&](const VarNode* buffer) { return data.contains(buffer); });
    if (!straight_ || growth_.empty() || of_body || !mentions.found().empty()) return std::nullopt;
    return growth_;
  }

 private:
  void Take(const Stmt& s) {
    if (const auto* sequence = dyn_cast<SeqNode>(s)) {
      for (const Stmt& part : sequence->stmts) Take(part);
    } else if (const auto* allocate = dyn_cast<AllocateNode>(s)) {
      allocated_.push_back(allocate->buffer->data.get());
      Take(allocate->body);
    } else if (const std::optional<NarrowDot> dot = MatchNarrowDot(s)) {
      growth_[PlaceOf(*dot->store)] += dot->most_pair;
      for (const Expr& factor : {dot->a, dot->b}) others_.push_back(Evaluate(factor));
    } else {
      straight_ &= isa<StoreNode>(s);
      others_.push_back(s);
    }
  }

  std::map<Place, int64_t> growth_;
  std::vector<Stmt> others_;
  std::vector<const VarNode*> allocated_;
  bool straight_ = true;
};

int64_t MostOf(const std::map<Place, int64_t>& growth) {
  int64_t most = 1;
  for (const auto& [place, grows] : growth) most = std::max(most, grows);
  return most;
}

// A loop that makes sums grow too far, as two: throughout the inner one they wait. Null where it has no such part.
Stmt InParts(const ForNode& loop, uint32_t* next_id) {
  const std::optional<int64_t> extent = AsInt(loop.extent);
  if (loop.kind != ForKind::kSerial || !extent || !IsInt(loop.min, 0)) return {};
  const std::optional<std::map<Place, int64_t>> growth = GrowthOf().Find(loop.body);
  if (!growth) return {};
  int64_t part = std::min(*extent - 1, kMostSum / MostOf(*growth));
  while (part > 1 && *extent % part != 0) --part;
  if (part < 2) return {};
  const Var outer(loop.var.name(), loop.var.dtype());
  const Expr first = outer * Const(outer.dtype(), part);
  ForNode::Fields fields = loop.fields();
  fields.extent = Const(loop.extent.dtype(), part);
  fields.body = Substitute(loop.body, VarMap{{loop.var, first + loop.var}});
  return For({.id = (*next_id)++,
              .var = outer,
              .min = loop.min,
              .extent = Const(loop.extent.dtype(), *extent / part),
              .annotations = loop.annotations,
              .body = For(std::move(fields))});
}

// Straight-line code, buffers that are allocated in it and loops of few iterations included: statements one after the
// other, and the sums that wait in 16 bits.
class Run {
 public:
  void Take(const Stmt& s) {
    if (const std::optional<NarrowDot> dot = MatchNarrowDot(s)) return TakeDot(*dot);
    WidenBefore(s);
    stmts_.push_back(s);
  }

  // Statements of a buffer, or of a loop, up to the end.
  void Begin() { outer_.push_back(std::exchange(stmts_, {})); }
  void End(const AllocateNode& allocate) {
    WidenAll({allocate.buffer->data.get()});
    Stmt body = EndBody();
    stmts_.push_back(Stmt(new AllocateNode(allocate.buffer, allocate.annotations, std::move(body))));
  }

  // Whether sums wait throughout a loop, whose statements follow.
  bool BeginLoop(const ForNode& loop) {
    const std::optional<int64_t> extent = AsInt(loop.extent);
    if (in_loop_ || loop.kind != ForKind::kSerial || !extent || *extent > kMostSum) return false;
    const std::optional<std::map<Place, int64_t>> growth = GrowthOf().Find(loop.body);
    if (!growth || *extent * MostOf(*growth) > kMostSum) return false;
    grows_.clear();
    for (const auto& [place, most] : *growth) grows_[place] = *extent * most;
    WidenBefore(loop.body);
    Begin();
    return in_loop_ = true;
  }
  void EndLoop(const ForNode& loop) {
    in_loop_ = false;
    ForNode::Fields fields = loop.fields();
    fields.body = EndBody();
    for (const auto& [place, most] : grows_) {
      Sum& sum = sums_.at(place);
      sum.most = most;
      stmts_.push_back(Store(sum.pairs, Const(LanesOf(sum), 0), {All(sum.pairs)}));
    }
    stmts_.push_back(For(std::move(fields)));
  }

  // The statements, after which nothing waits.
  Stmt Finish() && {
    for (auto& [place, sum] : sums_) Widen(sum);
    Stmt result = Sequence(std::move(stmts_));
    for (const auto& [place, sum] : sums_) result = Stmt(new AllocateNode(sum.pairs, {}, result));
    return result;
  }

 private:
  struct Sum {
    const StoreNode* store;
    Buffer pairs;      // in registers: what waits
    int64_t most = 0;  // its largest magnitude; 0: nothing waits
  };

  static DataType LanesOf(const Sum& sum) { return kS16.with_lanes(2 * sum.store->value.dtype().lanes()); }
  static Expr All(const Buffer& pairs) {
    return Ramp(Const(kS32, 0), Const(kS32, 1), static_cast<int>(*AsInt(pairs->shape[0])));
  }

  Stmt EndBody() {
    Stmt body = Sequence(std::exchange(stmts_, std::move(outer_.back())));
    outer_.pop_back();
    return body;
  }

  void TakeDot(const NarrowDot& dot) {
    const auto [place, is_new] = sums_.try_emplace(PlaceOf(*dot.store), Sum{dot.store, Buffer()});
    Sum& sum = place->second;
    if (is_new) sum.pairs = Buffer("pairs", {Const(kS32, LanesOf(sum).lanes())}, kS16, Scope::Parse("register"));
    if (!in_loop_) {
      for (const Expr& factor : {dot.a, dot.b}) WidenBefore(Evaluate(factor));
      if (sum.most + dot.most_pair > kMostSum) Widen(sum);
    }
    const bool waits = in_loop_ || sum.most > 0;
    const Expr before = waits ? sum.pairs.Load({All(sum.pairs)}) : Const(LanesOf(sum), 0);
    stmts_.push_back(
        Store(sum.pairs, Call(before.dtype(), std::string(kDotAdd), {before, dot.a, dot.b}), {All(sum.pairs)}));
    if (!in_loop_) sum.most += dot.most_pair;
  }

  void Widen(Sum& sum) {
    if (std::exchange(sum.most, 0) == 0) return;
    const Expr pairs = sum.pairs.Load({All(sum.pairs)}), before = sum.store->buffer.Load(sum.store->indices);
    const Expr widened = Call(before.dtype(), std::string(kDotAdd), {before, pairs, Const(pairs.dtype(), 1)});
    stmts_.push_back(Store(sum.store->buffer, widened, sum.store->indices));
  }

  void WidenAll(const std::set<const VarNode*>& buffers) {
    for (auto& [place, sum] : sums_) {
      if (buffers.contains(place.first)) Widen(sum);
    }
  }

  void WidenBefore(const Stmt& s) {
    if (in_loop_) return;
    std::set<const VarNode*> waiting;
    for (const auto& [place, sum] : sums_) {
      if (sum.most > 0) waiting.insert(place.first);
    }
    Mentions mentions(waiting);
    if (!waiting.empty()) mentions.Visit(s);
    WidenAll(mentions.found());
  }

  std::vector<Stmt> stmts_;
  std::vector<std::vector<Stmt>> outer_;  // what comes before buffers and loops that are begun
  std::map<Place, Sum> sums_;
  std::map<Place, int64_t> grows_;  // in the loop: the sums that wait throughout, and their largest magnitudes
  bool in_loop_ = false;
};

class Narrower : public StmtMutator {
 public:
  explicit Narrower(uint32_t next_id) : next_id_(next_id) {}
  using StmtMutator::Mutate;
  uint32_t next_id() const { return next_id_; }

 protected:
  Stmt MutateFor(const ForNode*, const Stmt& self) override { return Straight(self); }
  Stmt MutateStore(const StoreNode*, const Stmt& self) override { return Straight(self); }
  Stmt MutateSeq(const SeqNode*, const Stmt& self) override { return Straight(self); }
  Stmt MutateAllocate(const AllocateNode*, const Stmt& self) override { return Straight(self); }

 private:
  Stmt Straight(const Stmt& s) {
    Run run;
    return TakeAll(s, run) ? std::move(run).Finish() : s;
  }

  // Whether something changes.
  bool TakeAll(const Stmt& s, Run& run) {
    if (const auto* sequence = dyn_cast<SeqNode>(s)) {
      bool changed = false;
      for (const Stmt& part : sequence->stmts) changed |= TakeAll(part, run);
      return changed;
    }
    if (const auto* allocate = dyn_cast<AllocateNode>(s)) {
      run.Begin();
      const bool changed = TakeAll(allocate->body, run);
      run.End(*allocate);
      return changed;
    }
    const auto* loop = dyn_cast<ForNode>(s);
    if (loop != nullptr && run.BeginLoop(*loop)) {
      TakeAll(loop->body, run);
      run.EndLoop(*loop);
      return true;
    }
    const Stmt parts = loop == nullptr ? Stmt() : InParts(*loop, &next_id_);
    if (parts) {
      run.Take(StmtMutator::MutateFor(cast<ForNode>(parts), parts));
      return true;
    }
    const Stmt now = loop != nullptr ? StmtMutator::MutateFor(loop, s) : isa<StoreNode>(s) ? s : Mutate(s);
    run.Take(now);
    return !now.same_as(s) || MatchNarrowDot(s);
  }

  uint32_t next_id_;
};

}  // namespace

Function NarrowSums(const Function& function, const Target& target) {
  if (!AddsPairsOfBytes(target) || FindInstruction(target, "narrow_dot", kS8, kU8, kS16) == nullptr) return function;
  Narrower narrower(function->next_id);
  Stmt body = narrower.Mutate(function->body);
  return function.WithBody(std::move(body), narrower.next_id());
}

}  // namespace tilewright
