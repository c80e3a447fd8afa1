#include "autoschedule/database/database.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <iterator>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autoschedule/database/statement.h"
#include "base/status_macros.h"

namespace tilewright {
namespace {

// In the file's header, so that a database of somebody else is not taken for one of ours: "TwDB".
constexpr int64_t kApplicationId = 0x54774442;
// Long enough for another process's transaction on a slow disk; a writer never holds the lock for longer.
constexpr int kBusyMilliseconds = 60'000;

// Texts are UTF-8, hashes 16 hexadecimal digits, `seconds` an array of doubles, `dimensions` JSON. `median` is null for
// a candidate that failed.
constexpr char kTables[] = R"(
CREATE TABLE workloads(
  hash TEXT PRIMARY KEY,
  program TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE records(
  id INTEGER PRIMARY KEY,
  uid TEXT NOT NULL UNIQUE,
  workload TEXT NOT NULL REFERENCES workloads(hash),
  target TEXT NOT NULL,
  threads INTEGER NOT NULL,
  dimensions TEXT NOT NULL,
  trace TEXT NOT NULL,
  scheduled TEXT NOT NULL,
  seconds BLOB NOT NULL,
  median REAL,
  failure TEXT NOT NULL,
  message TEXT NOT NULL,
  version TEXT NOT NULL,
  time INTEGER NOT NULL,
  final INTEGER NOT NULL DEFAULT 0,
  caches INTEGER NOT NULL DEFAULT 0);
)";
constexpr char kIndex[] = R"(
CREATE INDEX standings ON records(workload, target, threads, caches, dimensions, scheduled, final, median)
  WHERE median IS NOT NULL;
)";

// In a table of their own, since many records are asked for nothing else.
constexpr char kFeatures[] =
    "CREATE TABLE features(id INTEGER PRIMARY KEY REFERENCES records(id), bytes BLOB NOT NULL);";

// What makes a file of a version one of the next; from the first version on.
const std::string kUpgrades[] = {
    "ALTER TABLE records ADD COLUMN final INTEGER NOT NULL DEFAULT 0; DROP INDEX records_by_time;", kFeatures,
    "ALTER TABLE records ADD COLUMN cold_cache INTEGER NOT NULL DEFAULT 0;",
    absl::StrCat("ALTER TABLE records RENAME COLUMN cold_cache TO caches; DROP INDEX IF EXISTS standings;", kIndex)};
constexpr int64_t kSchemaVersion = std::size(kUpgrades) + 1;

constexpr char kSelect[] =
    "SELECT r.uid, r.workload, w.program, r.target, r.threads, r.dimensions, r.trace, r.scheduled, r.seconds, "
    "r.failure, r.message, r.version, r.time, r.final, r.caches, f.bytes FROM records r JOIN workloads w ON w.hash "
    "= r.workload "
    "LEFT JOIN features f ON f.id = r.id ";

// What is measured, better ones first: `place` counts from 1 in each task.
constexpr char kStandings[] =
    "SELECT id, workload, target, final, median, row_number() OVER "
    "(PARTITION BY workload, target, threads, caches ORDER BY final DESC, median, id) AS place FROM "
    "(SELECT id, workload, target, threads, caches, final, median, row_number() OVER "
    "(PARTITION BY workload, target, threads, caches, dimensions, scheduled ORDER BY final DESC, id DESC) AS newer "
    "FROM records WHERE median IS NOT NULL) WHERE newer = 1";

std::string NewUid() {
  std::random_device random;
  return absl::StrCat(absl::Hex(random(), absl::kZeroPad8), absl::Hex(random(), absl::kZeroPad8),
                      absl::Hex(random(), absl::kZeroPad8), absl::Hex(random(), absl::kZeroPad8));
}

// The record of a row of kSelect; false when something in it cannot be, which only damage or another program's hand
// does.
bool ReadRecord(const Statement& row, TuningRecord* record) {
  record->uid = row.Text(0);
  const auto workload = ParseHash(row.Bytes(1)), scheduled = ParseHash(row.Bytes(7));
  auto dimensions = ParseDimensions(row.Bytes(5));
  const std::string_view seconds = row.Bytes(8);
  const std::optional<Caches> caches = CachesOfValue(row.Integer(14));
  if (!caches || !workload.ok() || !scheduled.ok() || !dimensions.ok() || seconds.size() % sizeof(double) != 0)
    return false;
  record->workload = *workload;
  record->program = row.Text(2);
  record->target = row.Text(3);
  record->threads = static_cast<int>(row.Integer(4));
  record->trace = row.Text(6);
  record->scheduled = *scheduled;
  record->seconds.resize(seconds.size() / sizeof(double));
  if (!seconds.empty()) std::memcpy(record->seconds.data(), seconds.data(), seconds.size());
  record->failure = row.Text(9);
  record->message = row.Text(10);
  record->version = row.Text(11);
  record->unix_time = row.Integer(12);
  record->final = row.Integer(13) != 0;
  record->caches = *caches;
  record->features = row.Text(15);
  record->dimensions = *std::move(dimensions);
  return true;
}

bool Serves(const TuningRecord& record, const std::map<std::string, int64_t>& dimensions) {
  for (const DimensionRange& range : record.dimensions) {
    const auto value = dimensions.find(range.name);
    if (value == dimensions.end() || value->second < range.least || value->second > range.greatest) return false;
  }
  return true;
}

}  // namespace

void Database::Close::operator()(sqlite3* connection) const { sqlite3_close(connection); }

absl::Status Database::Error(int code, const char* doing) const {
  const std::string text =
      absl::StrCat(path_, ": ", doing, ": ", connection_ ? sqlite3_errmsg(connection_.get()) : sqlite3_errstr(code));
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(text);
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return absl::DataLossError(text);
    case SQLITE_CANTOPEN:
      return absl::NotFoundError(text);
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return absl::PermissionDeniedError(text);
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return absl::ResourceExhaustedError(text);
    default:
      return absl::InternalError(text);
  }
}

absl::StatusOr<Database> Database::Open(const std::string& path, Mode mode) {
  // SQLite would take the empty name for a temporary database and a leading "file:" for a URI.
  if (path.empty()) return absl::InvalidArgumentError("a database has a path");
  if (mode == Mode::kExisting && access(path.c_str(), F_OK) != 0) {
    return absl::NotFoundError(absl::StrCat(path, ": there is no such file"));
  }
  struct stat file = {};
  if (mode == Mode::kExisting && stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && file.st_size == 0) {
    return absl::NotFoundError(absl::StrCat(path, ": this file is empty, not a database"));
  }
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (mode == Mode::kCreate ? SQLITE_OPEN_CREATE : 0);
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &connection, flags, nullptr);
  Database database(path, std::unique_ptr<sqlite3, Close>(connection));
  if (code != SQLITE_OK) return database.Error(code, "cannot open the database");
  sqlite3_busy_timeout(connection, kBusyMilliseconds);
  TW_RETURN_IF_ERROR(database.Prepare());
  return database;
}

absl::Status Database::Prepare() {
  // In this order: another process may be creating the tables, which commits them together with the id.
  TW_ASSIGN_OR_RETURN(const auto tables, QueryInteger("SELECT count(*) FROM sqlite_master"));
  TW_ASSIGN_OR_RETURN(const auto id, QueryInteger("PRAGMA application_id"));
  if (id != kApplicationId) {
    if (id != 0 || tables != 0) {
      return absl::FailedPreconditionError(absl::StrCat(path_, ": this SQLite database is not one of tuning records"));
    }
    TW_RETURN_IF_ERROR(CreateTables());
  }
  auto version = QueryInteger("PRAGMA user_version");
  while (version.ok() && *version > 0 && *version < kSchemaVersion) {
    TW_RETURN_IF_ERROR(Upgrade(*version));
    version = QueryInteger("PRAGMA user_version");
  }
  if (!version.ok()) return version.status();
  if (*version != kSchemaVersion) {
    return absl::FailedPreconditionError(absl::StrCat(path_, ": the database has version ", *version,
                                                      " of the format; this program reads version ", kSchemaVersion));
  }
  // Durable against the end of the process and of the machine: every commit is synchronized.
  TW_RETURN_IF_ERROR(Execute("PRAGMA synchronous=FULL"));
  Statement check(connection_.get(), "PRAGMA quick_check(1)");
  if (const int code = check.Step(); code != SQLITE_ROW) return Error(code, "cannot check the database");
  if (check.Bytes(0) != "ok") {
    return absl::DataLossError(absl::StrCat(path_, ": the database is damaged: ", check.Text(0)));
  }
  return absl::OkStatus();
}

// Another process may be doing the same.
absl::Status Database::CreateTables() {
  // Changing the mode does not wait for other processes that have the file open, so it is tried again.
  absl::Status mode;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    mode = Execute("PRAGMA journal_mode=WAL");
    if (!absl::IsUnavailable(mode)) break;
    sqlite3_sleep(5);
  }
  if (!mode.ok()) return mode;
  return Transaction([&]() -> absl::Status {
    const auto tables = QueryInteger("SELECT count(*) FROM sqlite_master");
    if (!tables.ok() || *tables > 0) return tables.status();
    TW_RETURN_IF_ERROR(Execute(absl::StrCat(kTables, kIndex, kFeatures).c_str()));
    return Execute(
        absl::StrCat("PRAGMA application_id=", kApplicationId, "; PRAGMA user_version=", kSchemaVersion).c_str());
  });
}

// Another process may be doing the same.
absl::Status Database::Upgrade(int64_t from) {
  return Transaction([&]() -> absl::Status {
    const auto version = QueryInteger("PRAGMA user_version");
    if (!version.ok() || *version != from) return version.status();
    return Execute(absl::StrCat(kUpgrades[from - 1], "PRAGMA user_version=", from + 1).c_str());
  });
}

absl::Status Database::Execute(const char* sql) const {
  const int code = sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Error(code, "the database cannot be written");
}

absl::StatusOr<int64_t> Database::QueryInteger(const char* sql) const {
  Statement statement(connection_.get(), sql);
  const int code = statement.Step();
  if (code != SQLITE_ROW) return Error(code, "the database cannot be read");
  return statement.Integer(0);
}

absl::Status Database::Transaction(const std::function<absl::Status()>& body) {
  TW_RETURN_IF_ERROR(Execute("BEGIN IMMEDIATE"));
  absl::Status status = body();
  if (status.ok()) status = Execute("COMMIT");
  if (!status.ok()) sqlite3_exec(connection_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  return status;
}

absl::StatusOr<bool> Database::Insert(const TuningRecord& record) {
  Statement workload(connection_.get(), "INSERT OR IGNORE INTO workloads VALUES(?1, ?2)");
  const std::string hash = HashText(record.workload);
  workload.Bind(1, hash);
  workload.Bind(2, record.program);
  if (const int code = workload.Step(); code != SQLITE_DONE) return Error(code, "cannot put a record");
  Statement insert(connection_.get(),
                   "INSERT OR IGNORE INTO records(uid, workload, target, threads, dimensions, trace, scheduled, "
                   "seconds, median, failure, message, version, time, final, caches) "
                   "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)");
  insert.Bind(1, record.uid);
  insert.Bind(2, hash);
  insert.Bind(3, record.target);
  insert.Bind(4, int64_t{record.threads});
  insert.Bind(5, DimensionsText(record.dimensions));
  insert.Bind(6, record.trace);
  insert.Bind(7, HashText(record.scheduled));
  insert.Bind(8, record.seconds);
  if (!record.failed()) insert.Bind(9, record.MedianSeconds());
  insert.Bind(10, record.failure);
  insert.Bind(11, record.message);
  insert.Bind(12, record.version);
  insert.Bind(13, record.unix_time);
  insert.Bind(14, int64_t{record.final});
  insert.Bind(15, static_cast<int64_t>(record.caches));
  if (const int code = insert.Step(); code != SQLITE_DONE) return Error(code, "cannot put a record");
  if (sqlite3_changes(connection_.get()) == 0) return false;
  if (record.features.empty()) return true;
  Statement features(connection_.get(), "INSERT INTO features VALUES(last_insert_rowid(), ?1)");
  features.BindBlob(1, record.features);
  if (const int code = features.Step(); code != SQLITE_DONE) return Error(code, "cannot put a record's features");
  return true;
}

absl::Status Database::Put(TuningRecord record) {
  if (!record.failed() && record.seconds.empty()) {
    return absl::InvalidArgumentError("a record has times, or a reason why there are none");
  }
  if (record.uid.empty()) record.uid = NewUid();
  if (record.unix_time == 0) record.unix_time = std::time(nullptr);
  return Transaction([&] { return Insert(record).status(); });
}

absl::Status Database::Visit(const std::string& condition, const std::vector<std::string>& values,
                             const std::function<bool(const TuningRecord&)>& visit, bool* damaged) const {
  if (damaged != nullptr) *damaged = false;
  Statement statement(connection_.get(), absl::StrCat(kSelect, condition));
  for (size_t i = 0; i < values.size(); ++i) statement.Bind(static_cast<int>(i) + 1, values[i]);
  int code;
  while ((code = statement.Step()) == SQLITE_ROW) {
    TuningRecord record;
    if (!ReadRecord(statement, &record)) {
      damaged_.insert(absl::StrCat(path_, ": record ", record.uid, " is damaged and passed over"));
      if (damaged != nullptr) *damaged = true;
    } else if (!visit(record)) {
      return absl::OkStatus();
    }
  }
  return code == SQLITE_DONE ? absl::OkStatus() : Error(code, "the database cannot be read");
}

absl::Status Database::VisitMeasured(const RecordQuery& query,
                                     const std::function<bool(const TuningRecord&)>& visit) const {
  std::string condition = absl::StrCat(
      "JOIN (", kStandings,
      ") s USING (id) WHERE s.workload = ?1 AND s.target = ?2 AND r.caches = ", static_cast<int>(query.caches));
  if (query.threads > 0) absl::StrAppend(&condition, " AND r.threads = ", query.threads);
  return Visit(condition + " ORDER BY s.final DESC, s.median, s.id", {HashText(query.workload), query.target},
               [&](const TuningRecord& record) { return !Serves(record, query.dimensions) || visit(record); });
}

absl::StatusOr<TuningRecord> Database::Best(const RecordQuery& query) const {
  TuningRecord best;
  bool found = false;
  absl::Status status = VisitMeasured(query, [&](const TuningRecord& record) {
    best = record;
    found = true;
    return false;
  });
  if (!status.ok()) return status;
  if (!found) {
    return absl::NotFoundError(absl::StrCat(path_, ": no measured record of workload ", HashText(query.workload),
                                            " for target ", query.target));
  }
  return best;
}

absl::StatusOr<std::vector<TuningRecord>> Database::BestOfEach() const {
  std::vector<TuningRecord> best;
  std::set<std::tuple<uint64_t, std::string, int, Caches>> tasks;
  const auto add = [&](const TuningRecord& record) {
    const bool first = tasks.insert({record.workload, record.target, record.threads, record.caches}).second;
    if (first) best.push_back(record);
    return true;
  };
  // The next record of a task takes the place of a damaged one.
  bool damaged = true;
  for (int64_t place = 1; damaged; ++place) {
    TW_RETURN_IF_ERROR(
        Visit(absl::StrCat("JOIN (", kStandings, ") s USING (id) WHERE s.place = ", place, " ORDER BY r.id"), {}, add,
              &damaged));
  }
  return best;
}

absl::StatusOr<std::vector<TuningRecord>> Database::All() const { return Collect("ORDER BY r.id"); }

absl::StatusOr<std::vector<TuningRecord>> Database::Collect(const std::string& condition) const {
  std::vector<TuningRecord> records;
  absl::Status status = Visit(condition, {}, [&](const TuningRecord& record) {
    records.push_back(record);
    return true;
  });
  if (!status.ok()) return status;
  return records;
}

absl::Status Database::VisitFeatures(
    const RecordQuery& query, int workloads, int each,
    const std::function<void(uint64_t workload, double seconds, std::string_view features)>& visit) const {
  // Any of a workload's: in the order of a multiplicative hash of their ids.
  constexpr char kMeasured[] = "median IS NOT NULL AND target = ?1 AND threads = ?2 AND caches = ?5";
  Statement statement(
      connection_.get(),
      absl::StrCat("WITH latest AS (SELECT workload FROM records WHERE ", kMeasured,
                   " GROUP BY workload ORDER BY max(id) DESC LIMIT ?3), "
                   "drawn AS (SELECT workload, median, bytes, row_number() OVER (PARTITION BY workload "
                   "ORDER BY id * 2654435761 % 4294967296) AS place FROM records JOIN features USING (id) WHERE ",
                   kMeasured, " AND workload IN latest) SELECT workload, median, bytes FROM drawn WHERE place <= ?4"));
  statement.Bind(1, query.target);
  statement.Bind(2, int64_t{query.threads});
  statement.Bind(3, int64_t{workloads});
  statement.Bind(4, int64_t{each});
  statement.Bind(5, static_cast<int64_t>(query.caches));
  int code;
  while ((code = statement.Step()) == SQLITE_ROW) {
    const auto workload = ParseHash(statement.Bytes(0));
    if (workload.ok()) visit(*workload, statement.Real(1), statement.Bytes(2));
  }
  return code == SQLITE_DONE ? absl::OkStatus() : Error(code, "the database cannot be read");
}

absl::StatusOr<int64_t> Database::Merge(const Database& other, const std::set<std::string>& targets,
                                        std::map<std::string, int64_t>* refused) {
  TW_ASSIGN_OR_RETURN(const auto records, other.All());
  return Merge(records, targets, refused);
}

absl::StatusOr<int64_t> Database::Merge(const std::vector<TuningRecord>& records, const std::set<std::string>& targets,
                                        std::map<std::string, int64_t>* refused) {
  int64_t added = 0;
  absl::Status status = Transaction([&]() -> absl::Status {
    for (const TuningRecord& record : records) {
      if (refused != nullptr && !targets.contains(record.target)) {
        ++(*refused)[record.target];
        continue;
      }
      TW_ASSIGN_OR_RETURN(const auto inserted, Insert(record));
      added += inserted ? 1 : 0;
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return added;
}

absl::StatusOr<int64_t> Database::Prune(int64_t keep) {
  int64_t deleted = 0;
  absl::Status status = Transaction([&]() -> absl::Status {
    Statement prune(connection_.get(), absl::StrCat("DELETE FROM records WHERE id NOT IN (SELECT id FROM (", kStandings,
                                                    ") WHERE place <= ?1)"));
    prune.Bind(1, keep);
    if (const int code = prune.Step(); code != SQLITE_DONE) return Error(code, "cannot prune");
    deleted = sqlite3_changes(connection_.get());
    return Execute(
        "DELETE FROM features WHERE id NOT IN (SELECT id FROM records);"
        "DELETE FROM workloads WHERE hash NOT IN (SELECT workload FROM records)");
  });
  if (!status.ok()) return status;
  return deleted;
}

absl::StatusOr<std::string> Database::Export() const {
  std::string lines;
  absl::Status status = Visit("ORDER BY r.id", {}, [&](const TuningRecord& record) {
    lines += ToJson(record) + "\n";
    return true;
  });
  if (!status.ok()) return status;
  return lines;
}

}  // namespace tilewright
