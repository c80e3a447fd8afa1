// A load joins kernels by what a database says of them and of their parts. One test measures, and asks for records, not
// for times.
#include "graph/tune/tune_joins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "autoschedule/database/canonical_names.h"
#include "graph/executor/kernel_cache.h"
#include "graph/executor/onnx_model.h"
#include "graph/onnx/testing.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string FreshDatabase(const std::string& name) {
  const std::string path = testing::TempDir() + "/" + name;
  for (const char* suffix : {"", "-wal", "-shm"}) unlink((path + suffix).c_str());
  return path;
}

struct Loaded {
  FusionReport report;
  std::unique_ptr<OnnxModel> model;
  size_t kernels() const { return model->executor().planned()->plan().steps.size(); }
};

// A product, and a function of its elements.
Loaded Load(const std::string& database, const KernelCache* cache = nullptr, bool anew = true) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, {24, 64});
  m.Floats("w", {64, 96}, std::vector<float>(64 * 96, 0.01f));
  m.Node("MatMul", {"x", "w"}, {"h"});
  m.Node("Relu", {"h"}, {"y"});
  m.Output("y");
  Loaded loaded{.report = {.anew = anew}};
  OnnxModel::LoadOptions options;
  options.executor.kernels.target = HostTarget();
  options.executor.kernels.use = KernelUse::kExplain;
  options.executor.kernels.schedule = false;
  options.executor.kernels.cache = cache;
  options.executor.kernels.database = database;
  options.report = &loaded.report;
  auto model = OnnxModel::Load(*m.File(), options);
  EXPECT_TRUE(model.ok()) << model.status();
  if (model.ok()) loaded.model = *std::move(model);
  return loaded;
}

// Stores a time of each of the three programs.
void PutTimes(const std::string& path, const FusionReport::Join& join, double joined, double first, double second) {
  auto database = Database::Open(path);
  ASSERT_TRUE(database.ok()) << database.status();
  const RecordQuery query = QueryOf(HostTarget(), {});
  for (const auto& [program, seconds] : {std::pair(join.joined, joined), {join.first, first}, {join.second, second}}) {
    ASSERT_TRUE(database
                    ->Put({.workload = WorkloadOf(Module(program)),
                           .target = query.target,
                           .threads = query.threads,
                           .scheduled = 1,
                           .seconds = {seconds}})
                    .ok());
  }
}

TEST(TuneJoins, WhatWasMeasuredSlowerIsTakenApart) {
  const std::string path = FreshDatabase("slower.db");
  const Loaded before = Load(path);
  ASSERT_EQ(before.kernels(), 1);
  ASSERT_EQ(before.report.joins.size(), 1);
  const FusionReport::Join& join = before.report.joins[0];
  EXPECT_GT(join.seconds, 0);
  EXPECT_GT(join.apart_seconds, 0);
  EXPECT_EQ(join.calls, 1);
  PutTimes(path, join, 9e-6, 4e-6, 2e-6);
  const Loaded after = Load(path);
  EXPECT_EQ(after.kernels(), 2);
  EXPECT_THAT(after.report.joins, IsEmpty());
  EXPECT_THAT(after.report.measured_apart,
              ElementsAre(AllOf(HasSubstr(" and "), HasSubstr(": measured joined 9.0 us, apart 6.1 us"))));
  EXPECT_THAT(ToString(after.report), HasSubstr(": measured joined 9.0 us, apart 6.1 us"));
  EXPECT_EQ(Load("").kernels(), 1) << "without the database nothing is known";
}

TEST(TuneJoins, WhatWasMeasuredFasterStaysJoined) {
  const std::string path = FreshDatabase("faster.db");
  PutTimes(path, Load(path).report.joins[0], 6e-6, 4e-6, 2e-6);
  const Loaded after = Load(path);
  EXPECT_EQ(after.kernels(), 1);
  EXPECT_THAT(after.report.measured_apart, IsEmpty());
}

// Times are compared where there are some of all three.
TEST(TuneJoins, OneTimeDecidesNothing) {
  const std::string path = FreshDatabase("one.db");
  const Loaded before = Load(path);
  auto database = Database::Open(path);
  const RecordQuery query = QueryOf(HostTarget(), {});
  ASSERT_TRUE(database
                  ->Put({.workload = WorkloadOf(Module(before.report.joins[0].joined)),
                         .target = query.target,
                         .threads = query.threads,
                         .scheduled = 1,
                         .seconds = {1.0}})
                  .ok());
  EXPECT_EQ(Load(path).kernels(), 1);
}

// A decision that is kept says why kernels are apart, and is made anew when the database has changed.
TEST(TuneJoins, KeptDecisionsAreOfTheDatabaseAsItIs) {
  const std::string path = FreshDatabase("kept.db");
  const KernelCache cache(testing::TempDir() + "/tune_joins_cache");
  const FusionReport::Join join = Load(path).report.joins[0];
  EXPECT_EQ(Load(path, &cache, /*anew=*/false).kernels(), 1);
  PutTimes(path, join, 9e-6, 4e-6, 2e-6);
  for (int load = 0; load < 2; ++load) {
    const Loaded after = Load(path, &cache, /*anew=*/false);
    EXPECT_EQ(after.kernels(), 2);
    EXPECT_THAT(after.report.kernels, IsEmpty());
    EXPECT_THAT(after.report.measured_apart, ElementsAre(HasSubstr("measured joined")));
  }
}

TEST(TuneJoins, MeasuresAllThreeOnce) {
  const std::string path = FreshDatabase("measured.db");
  const Loaded before = Load(path);
  auto database = Database::Open(path);
  const ModelTuneOptions options{.seconds = 300, .trials = 24};
  const auto tuning = TuneJoins(before.report.joins, HostTarget(), *database, options);
  ASSERT_TRUE(tuning.ok()) << tuning.status();
  EXPECT_EQ(tuning->joins, 1);
  EXPECT_THAT(tuning->failures, IsEmpty());
  const FusionReport::Join& join = before.report.joins[0];
  for (const PrimFunc& program : {join.joined, join.first, join.second}) {
    RecordQuery query = QueryOf(HostTarget(), {});
    query.workload = WorkloadOf(Module(program));
    EXPECT_TRUE(database->Best(query).ok());
  }
  const auto again = TuneJoins(before.report.joins, HostTarget(), *database, options);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->joins, 0);
  EXPECT_EQ(again->trials, 0);
}

TEST(TuneJoins, NothingIsExpectedOfJoinsThatSaveMuch) {
  EXPECT_EQ(ExpectedGainApart({.seconds = 1e-6, .apart_seconds = 2e-6, .calls = 3}), 0);
  EXPECT_GT(ExpectedGainApart({.seconds = 2e-6, .apart_seconds = 2e-6, .calls = 3}),
            ExpectedGainApart({.seconds = 2e-6, .apart_seconds = 2e-6, .calls = 1}));
}

}  // namespace
}  // namespace tilewright::graph
