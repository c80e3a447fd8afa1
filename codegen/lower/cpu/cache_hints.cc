#include "codegen/lower/cpu/cache_hints.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "codegen/lower/common/split_constant.h"
#include "ir/analysis.h"
#include "ir/annotations.h"
#include "ir/arith/analyzer.h"
#include "ir/builtin.h"
#include "ir/functor.h"
#include "ir/structural.h"
#include "ir/substitute.h"

namespace tilewright {
namespace {

using Pointers = std::unordered_set<const VarNode*>;

// Most lines fetched at once; more would wait for each other.
constexpr size_t kMostLines = 32;
// Most iterations of a loop whose lines are collected.
constexpr int64_t kMostIterations = 64;
// Least bytes of a store that bypasses the caches; smaller ones would write a line in parts.
constexpr int kLeastStreamedBytes = 32;

// The first element of an access to adjacent elements; null for other accesses.
Expr FirstOfVector(const Expr& index) {
  const auto* ramp = dyn_cast<RampNode>(index);
  return ramp != nullptr && IsInt(ramp->stride, 1) ? ramp->base : Expr();
}

Stmt Prefetch(const Expr& load) {
  return Evaluate(
      Call(DataType::Void(), std::string(kPrefetch), {Call(DataType::Handle(), std::string(kAddressOf), {load})}));
}

Pointers LoadedIn(const Stmt& stmt) {
  Pointers loaded;
  PreOrderExprs(stmt, [&](const Expr& e) {
    if (const auto* load = dyn_cast<LoadNode>(e)) loaded.insert(load->buffer->data.get());
    return true;
  });
  return loaded;
}

// Fetches, before each store, the vectors that the same store loads in the next iteration.
class PrefetchInStores : public StmtMutator {
 public:
  PrefetchInStores(Var loop, const Pointers& pointers) : loop_(std::move(loop)), pointers_(pointers) {}

 protected:
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    std::vector<Stmt> stmts;
    std::vector<Expr> seen;
    PreOrder(op->value, [&](const Expr& e) {
      const auto* load = dyn_cast<LoadNode>(e);
      if (load == nullptr || !pointers_.contains(load->buffer->data.get())) return true;
      const Expr first = FirstOfVector(load->indices[0]);
      if (!first || !UsesVar(first, loop_)) return true;
      if (std::ranges::any_of(seen, [&](const Expr& other) { return StructuralEqual(other, first); })) return true;
      seen.push_back(first);
      const Expr next = load->buffer.Load({Substitute(first, {{loop_, loop_ + 1}})});
      stmts.push_back(Prefetch(next));
      return true;
    });
    stmts.push_back(self);
    return Sequence(std::move(stmts));
  }

 private:
  const Var loop_;
  const Pointers& pointers_;
};

// Works on a loop's body: the statements that follow each other below the allocations.
class PrefetchSecondReads : public StmtMutator {
 public:
  PrefetchSecondReads(Var loop, const Pointers& params) : loop_(std::move(loop)), params_(params) {}

 protected:
  Stmt MutateFor(const ForNode*, const Stmt& self) override { return Visit(self); }
  Stmt MutateStore(const StoreNode*, const Stmt& self) override { return Visit(self); }

 private:
  Stmt Visit(const Stmt& stage) {
    Pointers again;
    for (const VarNode* pointer : LoadedIn(stage)) {
      if (params_.contains(pointer) && ++reads_[pointer] == 2) again.insert(pointer);
    }
    return again.empty() ? stage : PrefetchInStores(loop_, again).Mutate(stage);
  }

  const Var loop_;
  const Pointers& params_;
  std::unordered_map<const VarNode*, int> reads_;  // in how many stages
};

// The value of an annotation; 0 if it is not a number.
int64_t AsInteger(const Annotation& annotation) {
  const auto* value = std::get_if<Expr>(&annotation.value);
  return value == nullptr ? 0 : AsInt(*value).value_or(0);
}

// Elements of one buffer at `rest` plus constants.
struct Elements {
  Buffer buffer;
  Expr rest;
  std::set<int64_t> offsets;
};

// Fetches, at the beginning of an iteration over tiles, the lines of single elements that a later iteration reads.
class PrefetchRows : public StmtMutator {
 public:
  PrefetchRows(Var loop, int64_t ahead, const Pointers& params, int64_t line_bytes)
      : loop_(std::move(loop)), ahead_(static_cast<int>(ahead)), params_(params), line_bytes_(line_bytes) {}

  Stmt InBody(const Stmt& body) {
    if (isa<ForNode>(body)) return Mutate(body);
    std::vector<Stmt> stmts = Lines(body);
    stmts.push_back(body);
    return Sequence(std::move(stmts));
  }

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt&) override {
    ForNode::Fields fields = op->fields();
    fields.body = InBody(op->body);
    return For(std::move(fields));
  }

 private:
  // The statements that fetch the lines; empty if there are too many.
  std::vector<Stmt> Lines(const Stmt& stmt) const {
    std::vector<Elements> read;
    ElementsOf(stmt, read);
    std::vector<Stmt> fetched;
    for (const Elements& elements : read) {
      const int64_t line = line_bytes_ / elements.buffer->dtype.bytes();
      std::optional<int64_t> last;
      for (int64_t offset : elements.offsets) {
        if (last && offset - *last < line) continue;
        if (fetched.size() == kMostLines) return {};
        last = offset;
        const Expr later = Substitute(elements.rest, {{loop_, loop_ + ahead_}});
        fetched.push_back(Prefetch(elements.buffer.Load({offset == 0 ? later : later + Const(later.dtype(), offset)})));
      }
    }
    return fetched;
  }

  void ElementsOf(const Stmt& stmt, std::vector<Elements>& read) const {
    std::vector<const ForNode*> loops;
    PreOrder(stmt, [&](const Stmt& s) {
      if (const auto* loop = dyn_cast<ForNode>(s)) loops.push_back(loop);
      return true;
    });
    PreOrderExprs(stmt, [&](const Expr& e) {
      const auto* load = dyn_cast<LoadNode>(e);
      if (load == nullptr || !params_.contains(load->buffer->data.get()) || load->dtype().lanes() > 1) return true;
      const auto [rest, offset] = SplitConstant(load->indices[0]);
      if (rest && UsesVar(rest, loop_)) Add({load->buffer, rest, {offset}}, read);
      return true;
    });
    for (const ForNode* loop : loops) {
      std::vector<Elements> outside;
      for (const Elements& elements : read) AddIterations(elements, *loop, outside);
      read = std::move(outside);
    }
  }

  // Adds the elements read in all iterations of a loop, or in the first one if the extent is not known.
  static void AddIterations(const Elements& elements, const ForNode& loop, std::vector<Elements>& read) {
    const int64_t iterations = UsesVar(elements.rest, loop.var) ? AsInt(loop.extent).value_or(1) : 1;
    for (int64_t i = 0; i < std::min(iterations, kMostIterations); ++i) {
      const Expr value = loop.min + Const(loop.min.dtype(), i);
      const auto [rest, more] = SplitConstant(arith::Simplify(Substitute(elements.rest, {{loop.var, value}})));
      Elements moved{elements.buffer, rest, {}};
      for (int64_t offset : elements.offsets) moved.offsets.insert(offset + more);
      Add(moved, read);
    }
  }

  static void Add(const Elements& elements, std::vector<Elements>& read) {
    const auto same = std::ranges::find_if(read, [&](const Elements& other) {
      return other.buffer.same_as(elements.buffer) && StructuralEqual(other.rest, elements.rest);
    });
    if (same == read.end()) {
      read.push_back(elements);
    } else {
      same->offsets.insert(elements.offsets.begin(), elements.offsets.end());
    }
  }

  const Var loop_;
  const int ahead_;
  const Pointers& params_;
  const int64_t line_bytes_;
};

class StreamStores : public StmtMutator {
 public:
  StreamStores(const Pointers& params, const Pointers& loaded) : params_(params), loaded_(loaded) {}

 protected:
  Stmt MutateStore(const StoreNode* op, const Stmt& self) override {
    const VarNode* pointer = op->buffer->data.get();
    const DataType type = op->value.dtype();
    if (!params_.contains(pointer) || loaded_.contains(pointer) || op->predicate || !FirstOfVector(op->indices[0]) ||
        type.bytes() * type.lanes() < kLeastStreamedBytes) {
      return self;
    }
    return Stmt(new AttrStmtNode(Const(DataType::Int(32), 0), kStream, Const(DataType::Int(32), 1), self));
  }

 private:
  const Pointers& params_;
  const Pointers& loaded_;
};

class CacheHints : public StmtMutator {
 public:
  CacheHints(const Function& function, int64_t line_bytes)
      : loaded_(LoadedIn(function->body)), line_bytes_(line_bytes) {
    for (const Param& param : function->params) {
      if (param.buffer) params_.insert(param.buffer->data.get());
    }
  }

 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    const auto find = [&](const char* name) { return op->annotations.find(name); };
    const auto next = find(kPrefetchNext), rows = find(kPrefetchRows), stream = find(kStream),
               none = op->annotations.end();
    if (next == none && rows == none && stream == none) return StmtMutator::MutateFor(op, self);
    Stmt body = Mutate(op->body);
    if (const int64_t ahead = rows == none ? 0 : AsInteger(rows->second); ahead != 0) {
      body = PrefetchRows(op->var, ahead, params_, line_bytes_).InBody(body);
    }
    if (next != none) body = PrefetchSecondReads(op->var, params_).Mutate(body);
    if (stream != none) body = StreamStores(params_, loaded_).Mutate(body);
    ForNode::Fields fields = op->fields();
    fields.body = std::move(body);
    std::erase_if(fields.annotations, [](const auto& entry) {
      return entry.first == kPrefetchNext || entry.first == kPrefetchRows || entry.first == kStream;
    });
    return For(std::move(fields));
  }

 private:
  Pointers params_;
  const Pointers loaded_;
  const int64_t line_bytes_;
};

}  // namespace

Function InsertCacheHints(const Function& function, const Target& target) {
  return function.WithBody(CacheHints(function, target.Nearest().line_bytes).Mutate(function->body), function->next_id);
}

}  // namespace tilewright
