// The search against random search and against itself without each rung of its cost ladder, on the same tasks at equal
// times.
//
//   search --json=runs.jsonl --seconds=6 --seeds=2             // goes on where an earlier call with this file ended
//   search --json=all.jsonl --tasks=all --seconds=5            // every standard shape in f32
//   search --json=runs.jsonl --stop_after=150                  // begins nothing new after 150 seconds
//   search --json=runs.jsonl --stop_after=0 --plots=docs/search   // the tables and plots of what is there
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "bench/harness/dtype.h"
#include "bench/operators/problem.h"
#include "bench/operators/shapes.h"
#include "bench/search/search_report.h"
#include "bench/search/search_run.h"

ABSL_FLAG(std::string, tasks,
          "GMM:1,512,512,512 GMM:1,512,32,512 GMM:1,509,251,383 C2D:1,56,56,64,64,3,1,1 C2D:1,28,28,128,512,1,1,0 "
          "C1D:1,256,64,128,3,2,1 DEP:1,112,112,32,3,1,1 T2D:1,8,8,256,128,4,2,1 TBG:1,128,12,64 SFM:512,512 "
          "bf16=GMM:1,512,512,512 int8=C2D:1,56,56,64,64,1,1,0",
          "Shapes and operators, separated by blanks; an operator stands for its standard shapes, `all` for every "
          "operator; TYPE=SHAPE for other types than f32.");
ABSL_FLAG(double, seconds, 6, "Time for one run of one variant.");
ABSL_FLAG(int, seeds, 1, "Seeds for each task: 1, 2, ...");
ABSL_FLAG(double, stop_after, 1e9, "Seconds after which no task begins.");
ABSL_FLAG(std::string, json, "", "File with the runs, one task and seed a line. What it holds is not run again.");
ABSL_FLAG(std::string, db,
          ":memory:", "Tuning database from which the full search learns of other tasks, and which it adds to.");
ABSL_FLAG(std::string, plots, "", "Writes PATH_progress.svg and PATH_tasks.svg.");

namespace tilewright::bench {
namespace {

constexpr int kDone = 0, kFailed = 1, kWrongUsage = 2;

int Fail(int code, const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return code;
}

// "C2D:1,7,7,8,8,3,1,1" -> that one; "C2D" -> the standard ones of that operator; "all" -> those of every operator.
absl::StatusOr<std::vector<Shape>> ShapesOf(const std::string& word) {
  if (absl::StrContains(word, ':')) return ParseShapes(word);
  TW_ASSIGN_OR_RETURN(const auto operators, ParseOperators(word));
  std::vector<Shape> shapes;
  for (Operator op : operators) {
    for (Shape& shape : StandardShapes(op)) shapes.push_back(std::move(shape));
  }
  return shapes;
}

absl::StatusOr<std::vector<Workload>> ParseTasks(const std::string& text) {
  std::vector<Workload> tasks;
  for (std::string word : std::vector<std::string>(absl::StrSplit(text, ' ', absl::SkipEmpty()))) {
    std::string type = "f32";
    if (const size_t equal = word.find('='); equal != word.npos) {
      type = word.substr(0, equal);
      word = word.substr(equal + 1);
    }
    TW_ASSIGN_OR_RETURN(const auto types, ParseDTypes(type));
    TW_ASSIGN_OR_RETURN(const auto shapes, ShapesOf(word));
    for (const Shape& shape : shapes) {
      TW_ASSIGN_OR_RETURN(const auto problem, MakeProblem(shape));
      for (DType dtype : types) tasks.push_back({shape, dtype, problem});
    }
  }
  return tasks;
}

absl::StatusOr<std::vector<SearchGroup>> ReadGroups(const std::string& path) {
  std::vector<SearchGroup> groups;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    absl::StatusOr<SearchGroup> group = SearchGroupFromJson(line);
    // The last line of a call that was killed may be cut off.
    if (!group.ok() && file.peek() == EOF) break;
    if (!group.ok()) return group.status();
    groups.push_back(*std::move(group));
  }
  return groups;
}

int Main() {
  const auto start = std::chrono::steady_clock::now();
  const auto tasks = ParseTasks(absl::GetFlag(FLAGS_tasks));
  if (!tasks.ok()) return Fail(kWrongUsage, std::string(tasks.status().message()));
  const std::string path = AbsolutePath(absl::GetFlag(FLAGS_json));
  absl::StatusOr<std::vector<SearchGroup>> groups = ReadGroups(path);
  if (!groups.ok()) return Fail(kFailed, absl::StrCat(path, ": ", std::string(groups.status().message())));
  const std::string db = absl::GetFlag(FLAGS_db);
  auto database = Database::Open(db == ":memory:" ? db : AbsolutePath(db));
  if (!database.ok()) return Fail(kFailed, std::string(database.status().message()));
  const double seconds = absl::GetFlag(FLAGS_seconds);
  for (int seed = 1; seed <= absl::GetFlag(FLAGS_seeds); ++seed) {
    for (const Workload& task : *tasks) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      if (spent.count() >= absl::GetFlag(FLAGS_stop_after)) break;
      const std::string name = TaskName(task);
      if (std::ranges::any_of(*groups, [&](const SearchGroup& group) {
            return group.task == name && group.seed == static_cast<uint64_t>(seed) && group.seconds == seconds;
          })) {
        continue;
      }
      std::fprintf(stderr, "%s, seed %d\n", name.c_str(), seed);
      absl::StatusOr<SearchGroup> group = RunSearches(task, static_cast<uint64_t>(seed), seconds, *database);
      if (!group.ok()) return Fail(kFailed, absl::StrCat(name, ": ", std::string(group.status().message())));
      if (!path.empty()) {
        std::ofstream file(path, std::ios::app);
        file << ToJson(*group) << std::endl;
        if (!file) return Fail(kFailed, absl::StrCat("cannot write ", path));
      }
      groups->push_back(*std::move(group));
    }
  }
  if (groups->empty()) return kDone;
  std::fputs(SearchTables(*groups).c_str(), stdout);
  if (const std::string plots = AbsolutePath(absl::GetFlag(FLAGS_plots)); !plots.empty()) {
    std::ofstream progress(plots + "_progress.svg"), by_task(plots + "_tasks.svg");
    progress << ProgressPlot(*groups);
    by_task << TaskPlot(*groups);
    if (!progress || !by_task) return Fail(kFailed, absl::StrCat("cannot write ", plots, "_*.svg"));
  }
  return kDone;
}

}  // namespace
}  // namespace tilewright::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Compares the search with random search and with itself without each cost model.\n"
      "  search --json=runs.jsonl --seconds=6 --seeds=2\n"
      "  search --json=runs.jsonl --stop_after=0 --plots=docs/search");
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  if (rest.size() > 1) {
    return tilewright::bench::Fail(tilewright::bench::kWrongUsage, absl::StrCat("unexpected argument ", rest[1]));
  }
  return tilewright::bench::Main();
}
