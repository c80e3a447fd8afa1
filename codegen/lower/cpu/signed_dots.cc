#include "codegen/lower/cpu/signed_dots.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "intrin/instructions.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/structural.h"

namespace tilewright {
namespace {

constexpr DataType kS32 = DataType::Int(32);

// Whether the target multiplies these bytes at this width by an instruction for bytes a of the other sign.
bool FlipsSigns(const Target& target, int lanes, DataType a, DataType b) {
  for (const MachineInstruction& row : Instructions()) {
    const bool fits = row.family == "dot" && row.n == lanes && row.a.type == a && row.b.type == b;
    if (fits && Executes(target, row)) return row.flips();
  }
  return false;
}

// Bytes of the other sign.
DataType FlippedType(DataType bytes) {
  return (bytes.is_int() ? DataType::UInt(8) : DataType::Int(8)).with_lanes(bytes.lanes());
}

// C[i : i + lanes] = dot_add(C[i : i + lanes], a, b) of bytes whose instruction flips the signs of a, C in registers.
struct SignedDot {
  const StoreNode* store;
  int64_t first;  // i
  Expr a, b;
};
std::optional<SignedDot> MatchSignedDot(const Stmt& s, const Target& target) {
  const auto* store = dyn_cast<StoreNode>(s);
  if (store == nullptr || store->predicate || store->buffer->scope.kind() != MemoryKind::kRegister) return std::nullopt;
  const auto* dot = dyn_cast<CallNode>(store->value);
  if (dot == nullptr || dot->op != kDotAdd || dot->dtype().element() != kS32) return std::nullopt;
  const Expr &a = dot->args[1], &b = dot->args[2];
  if (!FlipsSigns(target, dot->dtype().lanes(), a.dtype().element(), b.dtype().element())) return std::nullopt;
  const auto* old = dyn_cast<LoadNode>(dot->args[0]);
  const auto* ramp = dyn_cast<RampNode>(store->indices[0]);
  const std::optional<int64_t> first = ramp != nullptr ? AsInt(ramp->base) : std::nullopt;
  if (old == nullptr || !old->buffer.same_as(store->buffer) || !StructuralEqual(old->indices[0], store->indices[0]) ||
      !first || !IsInt(ramp->stride, 1)) {
    return std::nullopt;
  }
  return SignedDot{store, *first, a, b};
}

// Signed bytes plus 128 as unsigned ones, and unsigned bytes minus 128 as signed ones.
Expr Flipped(const Expr& bytes) {
  const auto* broadcast = dyn_cast<BroadcastNode>(bytes);
  if (broadcast != nullptr && !broadcast->value.dtype().is_scalar()) {
    return Broadcast(Flipped(broadcast->value), bytes.dtype().lanes() / broadcast->value.dtype().lanes());
  }
  const DataType type = FlippedType(bytes.dtype());
  return Call(type, std::string(kFlipSignBit), {Call(type, "reinterpret", {bytes})});
}

using DataSet = std::set<const VarNode*>;

// Adds to `data` what an expression reads from.
void CollectReads(const Expr& e, DataSet& data) {
  class Collector : public Visitor {
   public:
    explicit Collector(DataSet& data) : data_(data) {}

   protected:
    void VisitLoad(const LoadNode* load) override {
      data_.insert(load->buffer->data.get());
      Visitor::VisitLoad(load);
    }

   private:
    DataSet& data_;
  };
  Collector(data).Visit(e);
}

bool ReadsAny(const Expr& e, const DataSet& data) {
  DataSet read;
  CollectReads(e, read);
  return std::any_of(read.begin(), read.end(), [&](const VarNode* var) { return data.contains(var); });
}

// What sums of flipped products need around them.
struct Correction {
  Buffer added;              // in registers: what is to be taken off
  std::vector<Stmt> before;  // sets it to zero
  std::vector<Stmt> after;   // takes it off
  DataSet sums;              // what the sums are held in
};

// A statement, still without its correction where it has one.
struct LoweredStmt {
  Stmt stmt;
  std::optional<Correction> correction;

  Stmt Corrected() && {
    if (!correction) return std::move(stmt);
    std::vector<Stmt> all = std::move(correction->before);
    all.push_back(std::move(stmt));
    std::move(correction->after.begin(), correction->after.end(), std::back_inserter(all));
    return Stmt(new AllocateNode(correction->added, {}, Sequence(std::move(all))));
  }
};

// Straight-line code whose sums of signed products are rewritten together.
class Run {
 public:
  explicit Run(const Target* target) : target_(target) {}

  // Takes the statement, or says that the run has to end before it.
  bool Take(const Stmt& s) {
    if (const std::optional<SignedDot> dot = MatchSignedDot(s, *target_)) return TakeDot(s, *dot);
    // Other registers may be written in between, but nothing that the sums are made of.
    const auto* store = dyn_cast<StoreNode>(s);
    if (store == nullptr || store->buffer->scope.kind() != MemoryKind::kRegister) return false;
    const VarNode* data = store->buffer->data.get();
    if (sum_data_.contains(data) || factor_data_.contains(data) || ReadsAny(store->value, sum_data_)) return false;
    steps_.push_back({s});
    return true;
  }

  // What the run becomes. The run is empty then.
  std::vector<LoweredStmt> Finish() {
    std::vector<LoweredStmt> result;
    if (sums_.empty()) {
      for (Step& step : steps_) result.push_back({std::move(step.stmt)});
    } else {
      result.push_back(Rewritten());
    }
    *this = Run(target_);
    return result;
  }

 private:
  struct Step {
    Stmt stmt;
    std::optional<SignedDot> dot;
    size_t sum = 0, factor = 0;  // of the dot
  };
  struct Sum {
    const StoreNode* store;       // the first one
    std::vector<size_t> factors;  // the vectors of B that it met
  };

  bool TakeDot(const Stmt& s, const SignedDot& dot) {
    const auto [sum, is_new] = sum_at_.try_emplace({dot.store->buffer->data.get(), dot.first}, sums_.size());
    const size_t factor = FactorOf(dot.b);
    if (is_new) {
      sums_.push_back({dot.store, {}});
      sum_data_.insert(dot.store->buffer->data.get());
    }
    std::vector<size_t>& factors = sums_[sum->second].factors;
    if (std::find(factors.begin(), factors.end(), factor) != factors.end()) return false;
    factors.push_back(factor);
    steps_.push_back({s, dot, sum->second, factor});
    return true;
  }

  size_t FactorOf(const Expr& b) {
    const auto [first, last] = factors_.equal_range(StructuralHash(b));
    for (auto it = first; it != last; ++it) {
      if (StructuralEqual(it->second.second, b)) return it->second.first;
    }
    const size_t number = factors_.size();
    factors_.insert({StructuralHash(b), {number, b}});
    CollectReads(b, factor_data_);
    return number;
  }

  LoweredStmt Rewritten() const {
    // Sums that met the same factors share what is taken off.
    std::map<std::pair<std::vector<size_t>, int>, int> offsets;
    std::vector<int> offset_of;  // by sum
    int elements = 0;
    std::vector<Stmt> result;
    Correction correction;
    const auto vector_at = [](int offset, int lanes) { return Ramp(Const(kS32, offset), Const(kS32, 1), lanes); };
    for (const Sum& sum : sums_) {
      const int lanes = sum.store->value.dtype().lanes();
      const auto [it, is_new] = offsets.try_emplace({sum.factors, lanes}, elements);
      if (is_new) elements += lanes;
      offset_of.push_back(it->second);
    }
    const Buffer added("added", {Const(kS32, elements)}, kS32, Scope::Parse("register"));
    correction.added = added;
    correction.sums = sum_data_;
    for (const auto& [key, offset] : offsets) {
      correction.before.push_back(Store(added, Const(kS32.with_lanes(key.second), 0), {vector_at(offset, key.second)}));
    }
    std::set<std::pair<int, size_t>> done;
    for (const Step& step : steps_) {
      if (!step.dot) {
        result.push_back(step.stmt);
        continue;
      }
      const StoreNode* store = step.dot->store;
      const DataType type = store->value.dtype();
      const int offset = offset_of[step.sum];
      const auto dot_add = [&](Expr sum, Expr a) {
        return Call(type, std::string(kDotAdd), {std::move(sum), std::move(a), step.dot->b});
      };
      if (done.insert({offset, step.factor}).second) {
        const Expr at = vector_at(offset, type.lanes());
        const DataType flipped = FlippedType(step.dot->a.dtype());
        // What flipping makes of zero: 128, or -128.
        const Expr zero = Const(flipped, WithSignBitFlipped(0, flipped.bits(), flipped.is_int()));
        result.push_back(Store(added, dot_add(added.Load({at}), zero), {at}));
      }
      result.push_back(
          Store(store->buffer, dot_add(store->buffer.Load(store->indices), Flipped(step.dot->a)), store->indices));
    }
    for (size_t i = 0; i < sums_.size(); ++i) {
      const StoreNode* store = sums_[i].store;
      const Expr taken = added.Load({vector_at(offset_of[i], store->value.dtype().lanes())});
      correction.after.push_back(Store(store->buffer, store->buffer.Load(store->indices) - taken, store->indices));
    }
    return {Sequence(std::move(result)), std::move(correction)};
  }

  const Target* target_;
  std::vector<Step> steps_;
  std::vector<Sum> sums_;
  std::map<std::pair<const VarNode*, int64_t>, size_t> sum_at_;
  std::unordered_multimap<uint64_t, std::pair<size_t, Expr>> factors_;
  DataSet sum_data_, factor_data_;  // what sums are held in, what factors are read from
};

class DotLowerer : public Mutator {
 public:
  explicit DotLowerer(const Target& target) : target_(target) {}
  using Mutator::Mutate;
  Expr Mutate(const Expr& e) override { return e; }

 protected:
  Stmt MutateSeq(const SeqNode*, const Stmt& self) override { return Lower(self).Corrected(); }
  Stmt MutateStore(const StoreNode*, const Stmt& self) override { return Lower(self).Corrected(); }
  Stmt MutateFor(const ForNode*, const Stmt& self) override { return Lower(self).Corrected(); }
  Stmt MutateAllocate(const AllocateNode*, const Stmt& self) override { return Lower(self).Corrected(); }

 private:
  // The correction is made where it runs least often: around loops in which nothing but such sums is computed.
  LoweredStmt Lower(const Stmt& s) {
    if (const auto* loop = dyn_cast<ForNode>(s)) return LowerFor(loop, s);
    if (const auto* allocate = dyn_cast<AllocateNode>(s)) return LowerAllocate(allocate, s);
    const auto* sequence = dyn_cast<SeqNode>(s);
    if (sequence == nullptr && !isa<StoreNode>(s)) return {Mutate(s)};
    std::vector<LoweredStmt> lowered = LowerAll(sequence != nullptr ? sequence->stmts : std::vector<Stmt>{s});
    if (lowered.size() == 1) return std::move(lowered[0]);
    std::vector<Stmt> stmts;
    for (LoweredStmt& part : lowered) stmts.push_back(std::move(part).Corrected());
    const bool same =
        sequence != nullptr && std::equal(stmts.begin(), stmts.end(), sequence->stmts.begin(), sequence->stmts.end(),
                                          [](const Stmt& a, const Stmt& b) { return a.same_as(b); });
    return {same ? s : Sequence(std::move(stmts))};
  }

  LoweredStmt LowerFor(const ForNode* loop, const Stmt& self) {
    LoweredStmt body = Lower(loop->body);
    const bool serial = loop->kind == ForKind::kSerial || loop->kind == ForKind::kUnrolled;
    std::optional<Correction> correction;
    if (serial) correction = std::exchange(body.correction, std::nullopt);
    Stmt inner = std::move(body).Corrected();
    if (inner.same_as(loop->body)) return {self};
    ForNode::Fields fields = loop->fields();
    fields.body = std::move(inner);
    return {For(std::move(fields)), std::move(correction)};
  }

  LoweredStmt LowerAllocate(const AllocateNode* allocate, const Stmt& self) {
    LoweredStmt body = Lower(allocate->body);
    std::optional<Correction> correction;
    if (body.correction && !body.correction->sums.contains(allocate->buffer->data.get())) {
      correction = std::exchange(body.correction, std::nullopt);
    }
    Stmt inner = std::move(body).Corrected();
    if (inner.same_as(allocate->body)) return {self};
    return {Stmt(new AllocateNode(allocate->buffer, allocate->annotations, std::move(inner))), std::move(correction)};
  }

  std::vector<LoweredStmt> LowerAll(const std::vector<Stmt>& stmts) {
    std::vector<LoweredStmt> result;
    Run run(&target_);
    const auto finish = [&] {
      for (LoweredStmt& part : run.Finish()) result.push_back(std::move(part));
    };
    for (const Stmt& s : stmts) {
      if (run.Take(s)) continue;
      finish();
      if (!run.Take(s)) result.push_back(isa<StoreNode>(s) ? LoweredStmt{s} : Lower(s));
    }
    finish();
    return result;
  }

  const Target& target_;
};

}  // namespace

Function LowerSignedDots(const Function& function, const Target& target) {
  return function.WithBody(DotLowerer(target).Mutate(function->body), function->next_id);
}

}  // namespace tilewright
