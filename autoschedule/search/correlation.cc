// How well the cost models order candidates: draws schedules of a few operators, measures them, and prints the rank
// correlation of each model with the measured times.
//
//   nice -n -19 bazel-bin/autoschedule/cost/correlation --candidates=60
//   ... --times=/tmp/times.txt      keeps the times: a second run with the same flags does not measure
//   ... --each                      prints each candidate, fastest first
//
// The learned model is trained on one half of a task's candidates and asked for the other, and the other way round; and
// once more trained on the other tasks only.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <unordered_set>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "autoschedule/cost/learned.h"
#include "autoschedule/cost/projected.h"
#include "autoschedule/cost/speed_of_light.h"
#include "autoschedule/sketch/space.h"
#include "base/rank_correlation.h"
#include "base/status_macros.h"
#include "codegen/backend.h"
#include "codegen/runtime/tensor.h"
#include "codegen/runtime/thread_pool.h"
#include "codegen/runtime/timer.h"
#include "ir/ops/conv.h"
#include "ir/ops/matmul.h"
#include "schedule/layout/hoist_prepack.h"

ABSL_FLAG(int, candidates, 60, "schedules drawn for each operator");
ABSL_FLAG(int, rounds, 4, "times that all candidates of an operator are measured, in turn");
ABSL_FLAG(std::string, times, "", "a file that keeps measured times");
ABSL_FLAG(bool, each, false, "print each candidate");

namespace tilewright {
namespace {

using runtime::NowNanoseconds;
using runtime::Tensor;

struct Task {
  std::string name;
  Function function;
  std::vector<Candidate> candidates;
  std::vector<Function> scheduled;
  std::vector<double> seconds;
};

std::vector<Task> Tasks() {
  const auto conv = [](int size, int in, int out, ops::Window window) {
    return ops::Conv(
        {.spatial = {size, size}, .in_channels = in, .out_channels = out, .windows = ops::Same(window, 2)});
  };
  std::vector<Task> tasks;
  tasks.push_back({"GMM 512", ops::Matmul(512, 512, 512)});
  tasks.push_back({"GMM 1024", ops::Matmul(1024, 1024, 1024)});
  tasks.push_back({"C2D 14,14,256,256,3,1,1", conv(14, 256, 256, {3, 1, 1})});
  tasks.push_back({"C2D 56,56,64,128,1,2,0", conv(56, 64, 128, {1, 2, 0})});
  for (Task& task : tasks) task.function = MarkConstant(task.function, {1});
  return tasks;
}

void Draw(const Target& target, IntrinRegistry* intrins, Task* task) {
  const Space space(Module(task->function), target, intrins);
  std::unordered_set<uint64_t> seen;
  const auto wanted = static_cast<size_t>(absl::GetFlag(FLAGS_candidates));
  for (uint64_t seed = 1; task->candidates.size() < wanted && seed < 20 * wanted; ++seed) {
    Outcome<Candidate> candidate = space.Make(seed == 1 ? Choices::Preferred() : Choices::Drawn(seed));
    if (!candidate.ok() || !seen.insert(candidate->hash).second) continue;
    task->scheduled.push_back(candidate->schedule.module().Main());
    task->candidates.push_back(*std::move(candidate));
  }
}

// A compiled candidate with its arguments. The contents do not matter for the time.
struct Compiled {
  std::unique_ptr<CompiledModule> module;
  TwFunction function = nullptr;
  std::vector<Tensor> tensors;
  std::vector<TwTensor*> args;
};

absl::StatusOr<Compiled> Compile(const Candidate& candidate, const Function& main, const Target& target) {
  Compiled compiled;
  TW_ASSIGN_OR_RETURN(auto module, CompileAndLoad(candidate.schedule.module(), target));
  compiled.module = std::move(module);
  compiled.function = compiled.module->Find(main->name);
  for (const Param& param : main->params) {
    std::vector<int64_t> shape;
    for (const Expr& extent : param.buffer->shape) shape.push_back(*AsInt(extent));
    compiled.tensors.push_back(*Tensor::Allocate(runtime::kFloat32, shape));
  }
  for (Tensor& tensor : compiled.tensors) compiled.args.push_back(tensor.abi());
  return compiled;
}

void Measure(const Target& target, runtime::ThreadPool& pool, Task* task) {
  constexpr int64_t kRoundNanoseconds = 4'000'000;
  const TwParallelHook hook = pool.hook();
  std::vector<Compiled> compiled;
  for (size_t i = 0; i < task->candidates.size(); ++i) {
    auto one = Compile(task->candidates[i], task->scheduled[i], target);
    if (!one.ok()) std::fprintf(stderr, "%s\n", std::string(one.status().message()).c_str());
    compiled.push_back(one.ok() ? *std::move(one) : Compiled{});
  }
  task->seconds.assign(compiled.size(), 0);
  for (int round = 0; round < absl::GetFlag(FLAGS_rounds); ++round) {
    for (size_t i = 0; i < compiled.size(); ++i) {
      Compiled& c = compiled[i];
      if (c.function == nullptr) continue;
      const int64_t until = NowNanoseconds() + kRoundNanoseconds;
      do {
        TwCall call = {.parallel = &hook};
        const int64_t start = NowNanoseconds();
        c.function(&call, c.args.data(), static_cast<int32_t>(c.args.size()));
        const double spent = static_cast<double>(NowNanoseconds() - start) * 1e-9;
        if (task->seconds[i] == 0 || spent < task->seconds[i]) task->seconds[i] = spent;
      } while (NowNanoseconds() < until);
    }
  }
}

// Times by task and hash of the program.
class TimesFile {
 public:
  explicit TimesFile(std::string path) : path_(std::move(path)) {
    std::ifstream file(path_);
    uint64_t hash;
    double seconds;
    while (file >> hash >> seconds) times_[hash] = seconds;
  }
  bool Fill(Task* task) const {
    task->seconds.clear();
    for (const Candidate& candidate : task->candidates) {
      const auto it = times_.find(candidate.hash);
      if (it == times_.end()) return false;
      task->seconds.push_back(it->second);
    }
    return true;
  }
  void Add(const Task& task) {
    if (path_.empty()) return;
    std::ofstream file(path_, std::ios::app);
    for (size_t i = 0; i < task.seconds.size(); ++i) file << task.candidates[i].hash << " " << task.seconds[i] << "\n";
  }

 private:
  std::string path_;
  std::map<uint64_t, double> times_;
};

template <class T>
std::vector<T> Half(const std::vector<T>& all, size_t which) {
  std::vector<T> half;
  for (size_t i = which; i < all.size(); i += 2) half.push_back(all[i]);
  return half;
}

// Mean over both ways to train on one half and ask for the other.
double HeldOutHalves(const Task& task, const Target& target) {
  double sum = 0;
  for (size_t which : {0, 1}) {
    LearnedModel model(target);
    model.Update(Half(task.scheduled, which), Half(task.seconds, which), 0);
    sum += RankCorrelation(model.Predict(Half(task.scheduled, 1 - which)), Half(task.seconds, 1 - which)) / 2;
  }
  return sum;
}

double OtherTasks(const std::vector<Task>& tasks, const Task& asked, const Target& target) {
  LearnedModel model(target);
  for (size_t t = 0; t < tasks.size(); ++t) {
    if (&tasks[t] != &asked) model.Update(tasks[t].scheduled, tasks[t].seconds, t);
  }
  return RankCorrelation(model.Predict(asked.scheduled), asked.seconds);
}

// How much slower than the best the best of a model's first five is.
double LossOfFive(const std::vector<double>& predicted, const std::vector<double>& seconds) {
  std::vector<size_t> order(seconds.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return predicted[a] < predicted[b]; });
  double best = seconds[order[0]];
  for (size_t i = 0; i < std::min<size_t>(5, order.size()); ++i) best = std::min(best, seconds[order[i]]);
  return best / *std::min_element(seconds.begin(), seconds.end());
}

void PrintEach(const Task& task, const Target& target) {
  std::vector<size_t> order(task.seconds.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return task.seconds[a] < task.seconds[b]; });
  for (size_t i : order) {
    const Projection p = Project(task.scheduled[i], target);
    std::printf("  %8.1f us, projected %8.1f (compute %.1f", task.seconds[i] * 1e6, p.seconds * 1e6,
                p.compute_seconds * 1e6);
    for (const Projection::Level& level : p.levels) std::printf(", %s %.1f", level.from.c_str(), level.seconds * 1e6);
    std::printf("; %s)", p.limiter.c_str());
    for (const Choice& choice : task.candidates[i].choices) {
      std::printf(" %s=%d", choice.name.substr(choice.name.find('.') + 1).c_str(), static_cast<int>(choice.value));
    }
    std::printf("\n");
  }
}

int Main() {
  const Target target = HostTarget();
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  runtime::ThreadPool pool;
  TimesFile times(absl::GetFlag(FLAGS_times));
  std::vector<Task> tasks = Tasks();
  for (Task& task : tasks) {
    Draw(target, &intrins, &task);
    if (!times.Fill(&task)) {
      Measure(target, pool, &task);
      times.Add(task);
    }
  }
  const ProjectedModel projected(target);
  std::printf("%-26s %10s %10s %10s %9s %9s %9s %9s %8s\n", "task", "candidates", "best us", "worst us", "bound us",
              "projected", "halves", "others", "loss of 5");
  for (const Task& task : tasks) {
    const auto [best, worst] = std::minmax_element(task.seconds.begin(), task.seconds.end());
    const std::vector<double> seconds = projected.Predict(task.scheduled);
    std::printf("%-26s %10zu %10.1f %10.1f %9.1f %9.2f %9.2f %9.2f %8.2f\n", task.name.c_str(), task.seconds.size(),
                *best * 1e6, *worst * 1e6, SpeedOfLightOf(task.function, target).seconds * 1e6,
                RankCorrelation(seconds, task.seconds), HeldOutHalves(task, target), OtherTasks(tasks, task, target),
                LossOfFive(seconds, task.seconds));
    if (absl::GetFlag(FLAGS_each)) PrintEach(task, target);
  }
  const int64_t start = NowNanoseconds();
  size_t predicted = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    for (const Task& task : tasks) predicted += projected.Predict(task.scheduled).size();
  }
  const double microseconds = static_cast<double>(NowNanoseconds() - start) * 1e-3 / static_cast<double>(predicted);
  const int64_t features_start = NowNanoseconds();
  for (const Task& task : tasks) {
    for (const Function& function : task.scheduled) predicted += FeaturesOf(function, target).numbers.size();
  }
  size_t programs = 0;
  for (const Task& task : tasks) programs += task.scheduled.size();
  std::printf("a projection takes %.1f us, features %.1f us\n", microseconds,
              static_cast<double>(NowNanoseconds() - features_start) * 1e-3 / static_cast<double>(programs));
  return 0;
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return tilewright::Main();
}
