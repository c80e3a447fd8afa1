#include "autoschedule/search/warm_start.h"

#include <cstdint>
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

class BlockNames : public StmtVisitor {
 public:
  static std::vector<std::string> Of(const Module& program) {
    BlockNames collector;
    for (const Function& function : program.functions()) collector.Visit(function->body);
    return std::move(collector.names_);
  }

 private:
  void VisitBlock(const BlockNode* op) override {
    names_.push_back(op->name);
    StmtVisitor::VisitBlock(op);
  }

  std::vector<std::string> names_;
};

bool IsOfAKind(const TuningRecord& record, const std::vector<std::string>& blocks) {
  const auto program = ParseModule(record.program);
  return program.ok() && BlockNames::Of(*program) == blocks;
}

}  // namespace

absl::StatusOr<std::vector<Choices>> GoodChoices(const Database& database, const RecordQuery& query,
                                                 const Module& program) {
  std::vector<Choices> good;
  absl::Status visited = database.VisitMeasured(query, [&](const TuningRecord& record) {
    const auto trace = TraceFromJson(record.trace);
    if (trace.ok()) good.push_back(Choices::OfTrace(*trace));
    return good.size() < kOwnStarts;
  });
  if (!visited.ok()) return visited;
  TW_ASSIGN_OR_RETURN(const auto best, database.BestOfEach());
  const std::vector<std::string> blocks = BlockNames::Of(program);
  size_t others = 0;
  for (auto record = best.rbegin(); record != best.rend() && others < kOtherStarts; ++record) {
    if (record->workload == query.workload || record->target != query.target || record->threads != query.threads ||
        record->caches != query.caches) {
      continue;
    }
    const auto trace = TraceFromJson(record->trace);
    if (!trace.ok() || !IsOfAKind(*record, blocks)) continue;
    good.push_back(Choices::OfTrace(*trace));
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
