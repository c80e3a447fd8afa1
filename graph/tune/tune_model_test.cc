#include "graph/tune/tune_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "graph/executor/onnx_model.h"
#include "graph/onnx/testing.h"
#include "graph/tune/model_tasks.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<OnnxModel> Planned(const std::vector<ModelWriter::Dim>& shape) {
  ModelWriter m(17);
  m.Input("x", TensorProto::FLOAT, shape);
  for (const char* name : {"w", "v"}) m.Floats(name, {64, 64}, std::vector<float>(64 * 64, 0.01f));
  m.Floats("u", {64, 32}, std::vector<float>(64 * 32, 0.02f));
  m.Node("MatMul", {"x", "w"}, {"h0"});
  m.Node("Relu", {"h0"}, {"h1"});
  m.Node("MatMul", {"h1", "v"}, {"h2"});
  m.Node("Relu", {"h2"}, {"h3"});
  m.Node("MatMul", {"h3", "u"}, {"y"});
  m.Output("y");
  OnnxModel::LoadOptions options;
  options.executor.kernels = {.target = HostTarget(), .use = KernelUse::kExplain};
  auto model = OnnxModel::Load(*m.File(), options);
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

TEST(ModelTasks, AreThePlansDistinctPrograms) {
  const auto model = Planned({24, 64});
  const std::vector<ModelTask> tasks = TasksOf(model->executor().planned()->plan(), HostTarget());
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].calls, 2) << "what takes most of a run comes first";
  EXPECT_THAT(tasks[0].kernels, ElementsAre("k0"));
  EXPECT_GT(tasks[0].projected_seconds, tasks[0].bound_seconds);
  EXPECT_GT(tasks[0].bound_seconds, 0);
  EXPECT_TRUE(tasks[0].sizes.empty());
}

TEST(ModelTasks, OfSeveralSizesAreTogether) {
  const auto small = Planned({24, 64}), large = Planned({48, 64}), same = Planned({24, 64});
  const ExecutablePlan* const plans[] = {&small->executor().planned()->plan(), &large->executor().planned()->plan(),
                                         &same->executor().planned()->plan()};
  const std::vector<ModelTask> tasks = TasksOf(plans, HostTarget());
  ASSERT_EQ(tasks.size(), 4u);
  int calls = 0;
  for (const ModelTask& task : tasks) calls += task.calls;
  EXPECT_EQ(calls, 9);
}

TEST(ModelTasks, HaveTypicalSizesWhereTheyAreSymbolic) {
  const auto model = Planned({"n", 64});
  for (const ModelTask& task : TasksOf(model->executor().planned()->plan(), HostTarget())) {
    EXPECT_EQ(task.sizes.size(), 1u);
    EXPECT_GT(task.projected_seconds, 0);
  }
}

TEST(TuneModel, ReadsItsTableFromTheDatabase) {
  const auto model = Planned({24, 64});
  const Target target = HostTarget();
  const std::vector<ModelTask> tasks = TasksOf(model->executor().planned()->plan(), target);
  auto database = Database::Open(":memory:");
  const RecordQuery query = QueryOf(target, {});
  for (const auto& [scheduled, seconds] : {std::pair(tasks[0].by_rules, 4e-6), {tasks[0].by_rules + 1, 2e-6}}) {
    ASSERT_TRUE(database
                    ->Put({.workload = tasks[0].workload,
                           .target = query.target,
                           .threads = query.threads,
                           .scheduled = scheduled,
                           .seconds = {seconds}})
                    .ok());
  }
  ModelTuning tuning;
  for (const ModelTask& task : tasks) tuning.times.push_back(*TimesOf(task, query, *database));
  EXPECT_EQ(tuning.times[0].measured, 2);
  EXPECT_EQ(tuning.times[0].by_rules, 4e-6);
  EXPECT_EQ(tuning.times[0].best, 2e-6);
  EXPECT_FALSE(tuning.times[1].best);
  const std::string table = ToString(tuning, tasks);
  EXPECT_THAT(table, HasSubstr("k0               2     0.004 ms     0.002 ms "));
  EXPECT_THAT(table, HasSubstr("%  no     matmul_1\n"));
}

TEST(TuneModel, EndsWhenItIsStopped) {
  const auto model = Planned({24, 64});
  const std::vector<ModelTask> tasks = TasksOf(model->executor().planned()->plan(), HostTarget());
  auto database = Database::Open(":memory:");
  bool stop = false;
  int64_t records = 0;
  const auto tuning = TuneModel(tasks, HostTarget(), *database,
                                {.seconds = 600,
                                 .stop = [&] { return stop; },
                                 .on_record =
                                     [&](const TuningRecord&) {
                                       ++records;
                                       stop = true;
                                     }});
  ASSERT_TRUE(tuning.ok()) << tuning.status();
  EXPECT_TRUE(tuning->stopped);
  EXPECT_EQ(tuning->slices, 1);
  EXPECT_EQ(static_cast<int64_t>(database->All()->size()), records);
  const auto none = TuneModel(tasks, HostTarget(), *database, {.stop = [] { return true; }});
  EXPECT_EQ(none->slices, 0);
}

}  // namespace
}  // namespace tilewright::graph
