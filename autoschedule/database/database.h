// A tuning database: records of measured candidates in one SQLite file.
//
//   auto database = Database::Open("tuning.db");
//   database->Put(record);
//   auto best = database->Best({.workload = StructuralHash(module), .target = TargetKey(target)});
//
// What Put has returned OK for is on the disk: neither the end of the process at any instant (SIGKILL included) nor a
// second process that writes into the same file loses it. Several processes may share a file, each with a Database of
// its own; one Database is used by one thread at a time.
//
// What is *better*: a program counts by its last time in the end of a search, or else by its last time at all. Those of
// the first sort, which were measured in turn and for long, are better than all others; among equals the faster one is.
//
// A file that is not a tuning database, is damaged, or was written by a newer version is refused and left as it is. A
// record whose columns hold what no record has is passed over, and named by damaged().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "autoschedule/database/record.h"

struct sqlite3;

namespace tilewright {

// Which records serve a program.
struct RecordQuery {
  uint64_t workload = 0;
  std::string target;
  int threads = 0;  // 0: any number
  Caches caches = Caches::kRotating;
  // The values of symbolic extents. A record serves when each of its ranges contains the value that is given here.
  std::map<std::string, int64_t> dimensions = {};
};

class Database {
 public:
  enum class Mode {
    kCreate,    // makes the file where there is none
    kExisting,  // a missing file is an error (NotFound), and so is an empty one
  };
  static absl::StatusOr<Database> Open(const std::string& path, Mode mode = Mode::kCreate);

  // Adds a record, durably. One with the uid of a record that is there changes nothing.
  absl::Status Put(TuningRecord record);

  // The best record among those that were measured; NotFound where there is none.
  absl::StatusOr<TuningRecord> Best(const RecordQuery& query) const;
  // Calls `visit` on one of each measured program, from best to worst, until it returns false.
  absl::Status VisitMeasured(const RecordQuery& query, const std::function<bool(const TuningRecord&)>& visit) const;
  // Calls `visit` on features of programs that were measured as the query says, whatever their workloads: of each of
  // the latest `workloads`, `each` at most, any.
  absl::Status VisitFeatures(
      const RecordQuery& query, int workloads, int each,
      const std::function<void(uint64_t workload, double seconds, std::string_view features)>& visit) const;
  // The best record of each workload, target, number of threads and state of the caches: of each *task*.
  absl::StatusOr<std::vector<TuningRecord>> BestOfEach() const;
  // Every record, failures included, in the order in which they were put.
  absl::StatusOr<std::vector<TuningRecord>> All() const;

  // Copies the records of another database that are not here yet; returns how many.
  absl::StatusOr<int64_t> Merge(const Database& other) { return Merge(other, {}, nullptr); }
  // Those of these targets only; `refused` receives how many there are of each other target. Null: any target.
  absl::StatusOr<int64_t> Merge(const Database& other, const std::set<std::string>& targets,
                                std::map<std::string, int64_t>* refused);
  // The same of records from elsewhere, Export's lines for example.
  absl::StatusOr<int64_t> Merge(const std::vector<TuningRecord>& records, const std::set<std::string>& targets,
                                std::map<std::string, int64_t>* refused);
  // Keeps the `keep` best records of each task, and no failures; returns how many were deleted.
  absl::StatusOr<int64_t> Prune(int64_t keep);
  // Every record as a line of JSON (record.h).
  absl::StatusOr<std::string> Export() const;

  const std::string& path() const { return path_; }
  // One sentence for each record that was passed over so far because it is damaged.
  const std::set<std::string>& damaged() const { return damaged_; }

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  Database(std::string path, std::unique_ptr<sqlite3, Close> connection)
      : path_(std::move(path)), connection_(std::move(connection)) {}

  absl::Status Prepare();  // checks whose file it is, and makes the tables in an empty one
  absl::Status CreateTables();
  absl::Status Upgrade(int64_t from);  // a file of that version, to the next
  absl::Status Execute(const char* sql) const;
  absl::StatusOr<int64_t> QueryInteger(const char* sql) const;
  // One transaction: all of what `body` does, or nothing when it fails.
  absl::Status Transaction(const std::function<absl::Status()>& body);
  absl::StatusOr<bool> Insert(const TuningRecord& record);  // whether it was new
  absl::StatusOr<std::vector<TuningRecord>> Collect(const std::string& condition) const;
  absl::Status Visit(const std::string& condition, const std::vector<std::string>& values,
                     const std::function<bool(const TuningRecord&)>& visit, bool* damaged = nullptr) const;
  absl::Status Error(int code, const char* doing) const;

  std::string path_;
  std::unique_ptr<sqlite3, Close> connection_;
  mutable std::set<std::string> damaged_;
};

}  // namespace tilewright
