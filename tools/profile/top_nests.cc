#include "tools/profile/top_nests.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/builtin.h"
#include "ir/functor.h"

namespace tilewright {
namespace {

// Names that are shown of a nest with many blocks.
constexpr size_t kMostNames = 4;
// CLOCK_MONOTONIC of Linux.
constexpr int64_t kMonotonicClock = 1;

// Replaces each nest at the top; what is around nests stays.
class NestMutator : public StmtMutator {
 public:
  explicit NestMutator(std::function<Stmt(const Stmt&)> replace) : replace_(std::move(replace)) {}

 protected:
  Stmt MutateFor(const ForNode*, const Stmt& self) override { return replace_(self); }
  Stmt MutateWhile(const WhileNode*, const Stmt& self) override { return replace_(self); }
  Stmt MutateIf(const IfNode*, const Stmt& self) override { return replace_(self); }
  Stmt MutateStore(const StoreNode*, const Stmt& self) override { return replace_(self); }
  Stmt MutateEvaluate(const EvaluateNode*, const Stmt& self) override { return IsNoOp(self) ? self : replace_(self); }
  Stmt MutateBlockRealize(const BlockRealizeNode* op, const Stmt& self) override {
    return op->block->iter_vars.empty() ? StmtMutator::MutateBlockRealize(op, self) : replace_(self);
  }

 private:
  const std::function<Stmt(const Stmt&)> replace_;
};

void AddName(const std::string& name, std::vector<std::string>* names) {
  if (std::ranges::find(*names, name) == names->end()) names->push_back(name);
}

std::string NameOf(const Stmt& nest) {
  std::vector<std::string> blocks, buffers;
  PreOrder(nest, [&](const Stmt& stmt) {
    if (const auto* realize = dyn_cast<BlockRealizeNode>(stmt)) AddName(realize->block->name, &blocks);
    if (const auto* store = dyn_cast<StoreNode>(stmt)) AddName(store->buffer->name, &buffers);
    return true;
  });
  std::vector<std::string>& names = blocks.empty() ? buffers : blocks;
  if (names.empty()) return "a call";
  const size_t more = names.size() - std::min(names.size(), kMostNames);
  names.resize(names.size() - more);
  return absl::StrCat(absl::StrJoin(names, ", "), more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

std::string PlaceOf(const Stmt& nest) {
  if (const auto* loop = dyn_cast<ForNode>(nest)) return absl::StrCat("for ", loop->var.name());
  return dyn_cast<WhileNode>(nest) != nullptr ? "while" : "-";
}

Function WithBody(const Function& function, Stmt body) { return function.WithBody(std::move(body), function->next_id); }

Stmt ReadClock(const Buffer& times, int64_t row) {
  const Expr address(
      new CallNode(DataType::Handle(), std::string(kAddressOf), {times.Load({Expr(row), Expr(int64_t{0})})}));
  return Evaluate(Expr(new CallNode(DataType::Int(32), std::string(kCallExtern),
                                    {String("clock_gettime"), Const(DataType::Int(32), kMonotonicClock), address})));
}

}  // namespace

std::vector<TopNest> TopNestsOf(const Function& function) {
  std::vector<Stmt> found;
  NestMutator([&](const Stmt& nest) {
    found.push_back(nest);
    return nest;
  }).Mutate(function->body);
  std::vector<TopNest> nests;
  for (const Stmt& nest : found) {
    NestMutator others([&](const Stmt& stmt) { return stmt.same_as(nest) ? stmt : Evaluate(Expr(0)); });
    nests.push_back({NameOf(nest), PlaceOf(nest), WithBody(function, others.Mutate(function->body))});
  }
  return nests;
}

Function WithClock(const Function& function) {
  const size_t nests = TopNestsOf(function).size();
  const Buffer times("clock_times", {Expr(static_cast<int64_t>(2 * nests)), Expr(int64_t{2})}, DataType::Int(64));
  int64_t next = 0;
  NestMutator timed([&](const Stmt& nest) {
    const Stmt before = ReadClock(times, next++);
    return Sequence({before, nest, ReadClock(times, next++)});
  });
  FunctionNode::Fields fields = function->fields();
  fields.body = timed.Mutate(function->body);
  fields.params.push_back({Var("clock_times_handle", DataType::Handle()), times});
  return Function(std::move(fields));
}

}  // namespace tilewright
