#include "autoschedule/search/warm_start.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status_macros.h"
#include "ir/functor.h"
#include "ir/script/parser.h"
#include "schedule/script/trace_text.h"

namespace tilewright {
namespace {

// Records of this workload, and of others, whose choices are taken.
constexpr size_t kOwnStarts = 8, kOtherStarts = 8;
// More measurements hardly improve what a model says of another task, and take longer to train with.
constexpr int kWorkloads = 64, kMeasuredOfEach = 64;

// What a program is made of, whatever its names and extents, and what its blocks and buffers are called.
class Outline : public Visitor {
 public:
  explicit Outline(const Module& program) {
    const Function main = program.Main();
    if (!main) return;
    for (const Param& param : main->params) {
      if (param.buffer) names.push_back(param.buffer->name);
    }
    Visit(main->body);
  }
  using Visitor::Visit;
  void Visit(const Expr& e) override {
    if (!e) return;
    kinds.push_back(static_cast<int>(e->kind()));
    if (const auto* binary = dyn_cast<BinaryNode>(e)) kinds.push_back(static_cast<int>(binary->op));
    if (const auto* load = dyn_cast<LoadNode>(e)) kinds.push_back(static_cast<int>(load->indices.size()));
    Visitor::Visit(e);
  }
  std::vector<std::string> names;
  std::vector<int> kinds;

 private:
  void VisitBlock(const BlockNode* op) override {
    names.push_back(op->name);
    for (const IterVar& iter : op->iter_vars) kinds.push_back(1000 + static_cast<int>(iter.kind));
    for (const Buffer& buffer : op->alloc_buffers) names.push_back(buffer->name);
    Visitor::VisitBlock(op);
  }
};

// Choices are called after blocks and these after buffers: "C.tile_rows", "A_packed.where".
std::string Renamed(const std::string& choice, const std::vector<std::string>& from,
                    const std::vector<std::string>& to) {
  size_t best = from.size();
  for (size_t i = 0; i < std::min(from.size(), to.size()); ++i) {
    const bool named = choice.starts_with(from[i]) && choice.size() > from[i].size() &&
                       (choice[from[i].size()] == '.' || choice[from[i].size()] == '_');
    if (named && (best == from.size() || from[i].size() > from[best].size())) best = i;
  }
  return best == from.size() ? choice : to[best] + choice.substr(from[best].size());
}

// The choices of a record of a program of the same kind as `program`, by the names of `program`; nothing where it is of
// another kind.
std::optional<Choices> ChoicesFor(const Outline& program, const TuningRecord& record) {
  const auto trace = TraceFromJson(record.trace);
  const auto recorded = ParseModule(record.program);
  if (!trace.ok() || !recorded.ok()) return std::nullopt;
  const Outline outline(*recorded);
  if (outline.kinds != program.kinds) return std::nullopt;
  Trace renamed;
  for (const Instruction& instruction : trace->instructions) {
    Instruction same = instruction;
    if (std::string_view(same.primitive->name) == "sample_categorical") {
      if (const auto* name = same.args[2].As<std::string>()) {
        same.args[2] = Renamed(*name, outline.names, program.names);
      }
    }
    renamed.instructions.push_back(std::move(same));
  }
  return Choices::OfTrace(renamed);
}

}  // namespace

absl::StatusOr<std::vector<Choices>> GoodChoices(const Database& database, const RecordQuery& query,
                                                 const Module& program) {
  std::vector<Choices> good;
  const Outline outline(program);
  absl::Status visited = database.VisitMeasured(query, [&](const TuningRecord& record) {
    if (auto choices = ChoicesFor(outline, record)) good.push_back(*std::move(choices));
    return good.size() < kOwnStarts;
  });
  if (!visited.ok()) return visited;
  TW_ASSIGN_OR_RETURN(const auto best, database.BestOfEach());
  size_t others = 0;
  for (auto record = best.rbegin(); record != best.rend() && others < kOtherStarts; ++record) {
    if (record->workload == query.workload || record->target != query.target || record->threads != query.threads ||
        record->caches != query.caches) {
      continue;
    }
    auto choices = ChoicesFor(outline, *record);
    if (!choices) continue;
    good.push_back(*std::move(choices));
    ++others;
  }
  return good;
}

absl::StatusOr<std::vector<MeasuredFeatures>> MeasuredBefore(const Database& database, const RecordQuery& query) {
  std::vector<MeasuredFeatures> measured;
  absl::Status visited = database.VisitFeatures(query, kWorkloads, kMeasuredOfEach,
                                                [&](uint64_t workload, double seconds, std::string_view bytes) {
                                                  if (auto features = Unpack(bytes)) {
                                                    measured.push_back({*std::move(features), seconds, workload});
                                                  }
                                                });
  if (!visited.ok()) return visited;
  return measured;
}

}  // namespace tilewright
