// Applies schedules that TVM applied, and says where the results part; compare.py writes the requests and reads the
// answers, one JSON object a line each.
//
//   judge INTRINS < requests > answers
//
//   {"program": TEXT, "lines": [LINE...], "results": [TEXT or null...], "tries": [{"after": 2, "line": LINE}...]}
//   {"same": 3, "outcome": "different", "detail": TEXT, "theirs": TEXT, "ours": TEXT, "tries": [REASON or null...]}
//
// `lines` are calls that TVM took, `results` the programs after each (null where nobody looks). `same` counts the lines
// before the first that we refuse ("only ours") or whose result differs; `theirs` and `ours` say what a run of the
// result shows to be wrong against the program before the call, and are empty when it shows nothing. `unread`: the
// parser refuses TVM's program. `tries` are calls that TVM refused, each made after the first lines; the answer is our
// reason, or null where we accept.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "intrin/registry.h"
#include "ir/arith/analyzer.h"
#include "ir/functor.h"
#include "ir/script/parser.h"
#include "ir/script/printer.h"
#include "ir/structural.h"
#include "ir/substitute.h"
#include "schedule/script/schedule_script.h"
#include "schedule/simplify_block.h"
#include "tools/peer/meaning.h"

namespace tilewright {
namespace {

using nlohmann::json;

// a > b is b < a: TVM's simplifier turns comparisons around, also of elements.
Expr TurnedAround(const Expr& e) {
  const auto* compare = dyn_cast<BinaryNode>(e);
  if (compare == nullptr || (compare->op != BinaryOp::kGT && compare->op != BinaryOp::kGE)) return e;
  return compare->op == BinaryOp::kGT ? compare->b < compare->a : compare->b <= compare->a;
}

// The number of values of each iterator that counts from 0.
class IteratorExtents : public Visitor {
 public:
  std::unordered_map<const VarNode*, int64_t> extents;

 protected:
  void VisitBlock(const BlockNode* op) override {
    for (const IterVar& iter : op->iter_vars) {
      const std::optional<int64_t> extent = AsInt(iter.domain.extent);
      if (extent && IsInt(iter.domain.min, 0)) extents[iter.var.get()] = *extent;
    }
    Visitor::VisitBlock(op);
  }
};

// v == 3 and 2 <= w, where v has 4 values and w has 5, says that v * 5 + w is one of the last: 17 <= v * 5 + w.
class LastTiles {
 public:
  explicit LastTiles(const Stmt& body) { iterators_.Visit(body); }

  Expr operator()(const Expr& e) const {
    const auto* both = dyn_cast<BinaryNode>(e);
    if (both == nullptr || both->op != BinaryOp::kAnd) return e;
    const auto *last = dyn_cast<BinaryNode>(both->a), *inside = dyn_cast<BinaryNode>(both->b);
    if (last == nullptr || inside == nullptr || last->op != BinaryOp::kEQ) return e;
    const bool one = inside->op == BinaryOp::kEQ;
    if (!one && inside->op != BinaryOp::kLE) return e;
    const Expr &v = last->a, &w = one ? inside->a : inside->b;
    const std::optional<int64_t> k = AsInt(last->b), least = AsInt(one ? inside->b : inside->a);
    const std::optional<int64_t> tiles = Extent(v), size = Extent(w);
    if (!k || !least || !tiles || !size || *k != *tiles - 1 || (one && *least != *size - 1)) return e;
    return Const(v.dtype(), *k * *size + *least) <= v * Const(v.dtype(), *size) + w;
  }

 private:
  std::optional<int64_t> Extent(const Expr& e) const {
    const auto found = iterators_.extents.find(dyn_cast<VarNode>(e));
    if (found == iterators_.extents.end()) return std::nullopt;
    return found->second;
  }

  IteratorExtents iterators_;
};

// (x // 2 + 2) // 4 is (x + 4) // 8, and (x // 2 + 2) % 4 is (x + 4) % 8 // 2.
Expr OneDivision(const Expr& e) {
  const auto* outer = dyn_cast<BinaryNode>(e);
  if (outer == nullptr || (outer->op != BinaryOp::kFloorDiv && outer->op != BinaryOp::kFloorMod)) return e;
  const std::optional<int64_t> by = AsInt(outer->b);
  const auto* sum = dyn_cast<BinaryNode>(outer->a);
  int64_t added = 0;
  Expr quotient = outer->a;
  if (sum != nullptr && (sum->op == BinaryOp::kAdd || sum->op == BinaryOp::kSub) && AsInt(sum->b)) {
    added = sum->op == BinaryOp::kAdd ? *AsInt(sum->b) : -*AsInt(sum->b);
    quotient = sum->a;
  }
  const auto* inner = dyn_cast<BinaryNode>(quotient);
  if (!by || *by <= 0 || inner == nullptr || inner->op != BinaryOp::kFloorDiv) return e;
  const std::optional<int64_t> first = AsInt(inner->b);
  if (!first || *first <= 0) return e;
  const Expr moved = inner->a + Const(e.dtype(), added * *first), whole = Const(e.dtype(), *first * *by);
  return outer->op == BinaryOp::kFloorDiv ? FloorDiv(moved, whole) : FloorDiv(FloorMod(moved, whole), inner->b);
}

// Iterators and loops of one value stand for it.
class UnitIterators : public Mutator {
 protected:
  Stmt MutateFor(const ForNode* op, const Stmt& self) override {
    Stmt mutated = Mutator::MutateFor(op, self);
    if (!IsInt(op->extent, 1)) return mutated;
    ForNode::Fields fields = cast<ForNode>(mutated)->fields();
    fields.body = Substitute(fields.body, {{op->var, op->min}});
    return For(std::move(fields));
  }
  Block MutateBlock(const Block& block) override {
    BlockNode::Fields fields = Mutator::MutateBlock(block)->fields();
    VarMap values;
    for (const IterVar& iter : fields.iter_vars) {
      if (IsInt(iter.domain.extent, 1)) values[iter.var] = iter.domain.min;
    }
    for (BufferRegion& read : fields.reads) read = Substitute(read, values);
    for (BufferRegion& write : fields.writes) write = Substitute(write, values);
    for (MatchBuffer& match : fields.match_buffers) match.source = Substitute(match.source, values);
    if (fields.init) fields.init = Substitute(fields.init, values);
    fields.body = Substitute(fields.body, values);
    return Block(std::move(fields));
  }
};

// v1 * 2 + v0 is v0 + v1 * 2: the terms of sums of indices in the order of their text.
class SortedSums : public Mutator {
 protected:
  Expr MutateBinary(const BinaryNode* op, const Expr& self) override {
    if (op->op != BinaryOp::kAdd || !self.dtype().is_int()) return Mutator::MutateBinary(op, self);
    std::vector<std::pair<std::string, Expr>> terms;
    Collect(self, &terms);
    std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    Expr sum;
    for (const auto& [text, term] : terms) sum = sum ? sum + term : term;
    return sum;
  }

 private:
  void Collect(const Expr& e, std::vector<std::pair<std::string, Expr>>* terms) {
    const auto* sum = dyn_cast<BinaryNode>(e);
    if (sum != nullptr && sum->op == BinaryOp::kAdd) {
      Collect(sum->a, terms);
      Collect(sum->b, terms);
      return;
    }
    const Expr term = Mutate(e);
    terms->emplace_back(Print(term), term);
  }
};

Module Sorted(Module module) {
  for (const Function& function : std::vector<Function>(module.functions())) {
    module.Set(function.WithBody(SortedSums().Mutate(function->body), function->next_id));
  }
  return module;
}

Module Simplified(Module module) {
  for (const Function& function : std::vector<Function>(module.functions())) {
    arith::Analyzer analyzer;
    Stmt body = SimplifyIndices(UnitIterators().Mutate(function->body), &analyzer);
    const LastTiles last_tiles(body);
    body = RewriteExprs(body, [&](const Expr& e) { return OneDivision(last_tiles(e)); });
    module.Set(function.WithBody(RewriteExprs(SimplifyIndices(body, &analyzer), TurnedAround), function->next_id));
  }
  return module;
}

class Judge {
 public:
  explicit Judge(IntrinRegistry* intrins) : intrins_(intrins) {}

  json Answer(const json& request) const {
    const absl::StatusOr<Module> module = ParseModule(request["program"].get<std::string>(), "program");
    if (!module.ok()) return {{"error", std::string(module.status().message())}};
    const std::vector<std::string> lines = request["lines"];
    json answer = Compare(*module, lines, request["results"]);
    answer["tries"] = json::array();
    for (const json& attempt : request["tries"]) {
      std::vector<std::string> some(lines.begin(), lines.begin() + attempt["after"].get<int>());
      some.push_back(attempt["line"]);
      const Applied applied = Apply(*module, some);
      answer["tries"].push_back(applied.refusal ? json(*applied.refusal) : json());
    }
    return answer;
  }

 private:
  struct Applied {
    std::vector<Module> after;  // each line
    std::optional<std::string> refusal;
  };

  Applied Apply(const Module& module, const std::vector<std::string>& lines) const {
    Applied applied;
    Schedule schedule(module, {.intrins = intrins_});
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    Module latest = module;
    ScheduleScriptOptions options;
    // A line may hold several calls.
    options.after_call = [&](std::string_view, int line, const Schedule& now) {
      while (static_cast<int>(applied.after.size()) < line - 1) applied.after.push_back(latest);
      latest = now.module();
    };
    const auto error = ApplyScheduleScript(text, "schedule", &schedule, options);
    const size_t reached = error ? error->diagnostic.line - 1 : lines.size();
    while (applied.after.size() < reached) applied.after.push_back(latest);
    if (error) applied.refusal = error->diagnostic.message;
    return applied;
  }

  json Compare(const Module& module, const std::vector<std::string>& lines, const json& results) const {
    const Applied applied = Apply(module, lines);
    for (size_t i = 0; i < applied.after.size(); ++i) {
      if (results[i].is_null()) continue;
      const std::string text = results[i];
      const Module& before = i == 0 ? module : applied.after[i - 1];
      const absl::StatusOr<Module> theirs = ParseModule(text, "TVM's program");
      if (!theirs.ok())
        return {{"same", i},
                {"outcome", "different"},
                {"detail", std::string(theirs.status().message())},
                {"unread", true},
                {"ours", WhyWrong(before, applied.after[i])}};
      Mismatch mismatch;
      if (StructuralEqual(applied.after[i], *theirs, &mismatch)) continue;
      // Regions, bindings and conditions are the same when they are up to simplification.
      const Module ours = Simplified(applied.after[i]), simplified = Simplified(*theirs);
      if (StructuralEqual(ours, simplified, &mismatch)) continue;
      if (StructuralEqual(Sorted(ours), Sorted(simplified))) continue;
      std::ostringstream detail;
      detail << "different at " << mismatch.path << ": " << mismatch.reason << "\n";
      if (mismatch.a) detail << "ours:\n" << Print(mismatch.a);
      if (mismatch.b) detail << "TVM's:\n" << Print(mismatch.b);
      detail << "-- all of ours:\n" << Print(applied.after[i]) << "-- all of TVM's:\n" << Print(*theirs);
      return {{"same", i},
              {"outcome", "different"},
              {"detail", detail.str()},
              {"theirs", WhyWrong(before, *theirs)},
              {"ours", WhyWrong(before, applied.after[i])}};
    }
    if (applied.refusal) {
      const size_t i = applied.after.size();
      const Module& before = i == 0 ? module : applied.after.back();
      const json& text = results[i];
      const absl::StatusOr<Module> theirs = ParseModule(text.is_null() ? "" : text.get<std::string>(), "TVM's program");
      return {{"same", i},
              {"outcome", "only ours"},
              {"detail", *applied.refusal},
              {"unread", !theirs.ok() && !text.is_null()},
              {"theirs", theirs.ok() ? WhyWrong(before, *theirs) : ""}};
    }
    return {{"same", lines.size()}, {"outcome", "same"}, {"detail", ""}};
  }

  IntrinRegistry* intrins_;
};

int Run(const std::string& path) {
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  if (const absl::Status loaded = intrins.LoadScript(text, path); !loaded.ok()) {
    std::cerr << std::string(loaded.message()) << "\n";
    return 1;
  }
  const Judge judge(&intrins);
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << judge.Answer(json::parse(line)).dump() << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: judge INTRINS\n";
    return 2;
  }
  return tilewright::Run(argv[1]);
}
