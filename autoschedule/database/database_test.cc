#include "autoschedule/database/database.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/files.h"

namespace tilewright {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string FreshPath() {
  const std::string path =
      testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".db";
  for (const char* suffix : {"", "-wal", "-shm"}) unlink((path + suffix).c_str());
  return path;
}

Database OpenFresh(const std::string& path = FreshPath()) {
  auto database = Database::Open(path);
  EXPECT_TRUE(database.ok()) << database.status();
  return *std::move(database);
}

TuningRecord Measured(const std::string& uid, std::vector<double> seconds) {
  return {.uid = uid,
          .workload = 0xfedcba9876543210,
          .program = "def main(): ...",
          .target = "znver4 +avx2",
          .threads = 2,
          .trace = R"({"trace": []})",
          .scheduled = std::hash<std::string>()(uid),
          .seconds = std::move(seconds),
          .unix_time = 1000};
}

TuningRecord Failed(std::string uid, std::string failure) {
  TuningRecord record = Measured(std::move(uid), {});
  record.failure = std::move(failure);
  record.message = "signal 11";
  return record;
}

RecordQuery Query(const TuningRecord& record) { return {.workload = record.workload, .target = record.target}; }

std::vector<std::string> Uids(const Database& database) {
  std::vector<std::string> uids;
  const auto records = database.All();
  EXPECT_TRUE(records.ok()) << records.status();
  for (const TuningRecord& record : *records) uids.push_back(record.uid);
  return uids;
}

// As another program would.
void ExecuteIn(const std::string& path, const char* sql) {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &connection), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(connection, sql, nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(connection);
}

TEST(Database, HoldsWhatWasPut) {
  const std::string path = FreshPath();
  TuningRecord record = Measured("r", {0.25, 1.0 / 3});
  record.dimensions = {{"n", 1, 128}};
  record.final = true;
  record.caches = Caches::kCold;
  record.message = std::string("any bytes: \0 \xff '\"", 17);
  record.features = std::string("\0\1\xff", 3);
  ASSERT_TRUE(OpenFresh(path).Put(record).ok());
  const auto records = Database::Open(path)->All();
  ASSERT_TRUE(records.ok()) << records.status();
  ASSERT_EQ(records->size(), 1u);
  const TuningRecord& read = (*records)[0];
  EXPECT_EQ(read.uid, "r");
  EXPECT_EQ(read.workload, record.workload);
  EXPECT_EQ(read.program, record.program);
  EXPECT_EQ(read.target, record.target);
  EXPECT_EQ(read.threads, 2);
  ASSERT_EQ(read.dimensions.size(), 1u);
  EXPECT_EQ(DimensionsText(read.dimensions), R"({"n":[1,128]})");
  EXPECT_EQ(read.trace, record.trace);
  EXPECT_EQ(read.scheduled, record.scheduled);
  EXPECT_EQ(read.features, record.features);
  EXPECT_EQ(read.seconds, record.seconds);
  EXPECT_TRUE(read.final);
  EXPECT_EQ(read.caches, Caches::kCold);
  EXPECT_EQ(read.message, record.message);
  EXPECT_EQ(read.version, kTunerVersion);
  EXPECT_EQ(read.unix_time, 1000);
}

TEST(Database, NamesAndDatesRecords) {
  Database database = OpenFresh();
  TuningRecord record = Measured("", {1});
  record.unix_time = 0;
  ASSERT_TRUE(database.Put(record).ok());
  ASSERT_TRUE(database.Put(record).ok());
  const auto records = database.All();
  ASSERT_EQ(records->size(), 2u);
  EXPECT_EQ((*records)[0].uid.size(), 32u);
  EXPECT_NE((*records)[0].uid, (*records)[1].uid);
  EXPECT_GT((*records)[0].unix_time, 1'700'000'000);
}

TEST(Database, BestIsOfLeastMedian) {
  Database database = OpenFresh();
  const TuningRecord steady = Measured("steady", {2, 2, 2});
  ASSERT_TRUE(database.Put(Failed("failed", "crash")).ok());
  ASSERT_TRUE(database.Put(Measured("lucky", {1, 3, 3})).ok());
  ASSERT_TRUE(database.Put(steady).ok());
  EXPECT_EQ(database.Best(Query(steady))->uid, "steady");
  std::vector<std::string> order;
  ASSERT_TRUE(database
                  .VisitMeasured(Query(steady),
                                 [&](const TuningRecord& record) {
                                   order.push_back(record.uid);
                                   return true;
                                 })
                  .ok());
  EXPECT_THAT(order, ElementsAre("steady", "lucky"));
}

// In turn with others a program is measured more fairly than when it is first met; the last time counts.
TEST(Database, BestIsOfTheLastFinals) {
  Database database = OpenFresh();
  const auto put = [&](const std::string& program, double seconds, bool final) {
    TuningRecord record = Measured(program, {seconds});
    record.uid += std::to_string(seconds) + (final ? " final" : "");
    record.final = final;
    ASSERT_TRUE(database.Put(record).ok());
  };
  const auto order = [&] {
    std::vector<std::string> uids;
    EXPECT_TRUE(database
                    .VisitMeasured(Query(Measured("", {})),
                                   [&](const TuningRecord& record) {
                                     uids.push_back(record.uid.substr(0, 1) + (record.final ? "!" : ""));
                                     return true;
                                   })
                    .ok());
    return uids;
  };
  put("a", 5, false);
  put("b", 3, false);
  put("c", 4, false);
  EXPECT_THAT(order(), ElementsAre("b", "c", "a"));
  put("b", 6, false);
  EXPECT_THAT(order(), ElementsAre("c", "a", "b"));
  put("a", 7, true);
  put("b", 8, true);
  EXPECT_THAT(order(), ElementsAre("a!", "b!", "c"));
  put("a", 2, false);
  put("a", 9, true);
  EXPECT_THAT(order(), ElementsAre("b!", "a!", "c"));
  const auto best = database.BestOfEach();
  ASSERT_EQ(best->size(), 1u);
  EXPECT_EQ((*best)[0].seconds, std::vector<double>{8});
  EXPECT_EQ(*database.Prune(1), 7);
  EXPECT_THAT(order(), ElementsAre("b!"));
}

TEST(Database, BestIsOfTheWorkloadTargetThreadsAndDimensions) {
  Database database = OpenFresh();
  TuningRecord record = Measured("r", {1});
  record.dimensions = {{"n", 8, 16}};
  ASSERT_TRUE(database.Put(record).ok());
  const auto found = [&](RecordQuery query) { return database.Best(query).ok(); };
  RecordQuery query{.workload = record.workload, .target = record.target, .dimensions = {{"n", 16}}};
  EXPECT_TRUE(found(query));
  query.threads = 2;
  EXPECT_TRUE(found(query));
  query.threads = 1;
  EXPECT_FALSE(found(query));
  query.threads = 0;
  query.dimensions["n"] = 17;
  EXPECT_FALSE(found(query));
  query.dimensions.clear();
  EXPECT_FALSE(found(query));
  EXPECT_EQ(database.Best(query).status().message(),
            database.path() + ": no measured record of workload fedcba9876543210 for target znver4 +avx2");
  EXPECT_TRUE(absl::IsNotFound(database.Best({}).status()));
}

TEST(Database, PutRefusesARecordThatSaysNothing) {
  Database database = OpenFresh();
  EXPECT_EQ(database.Put(Measured("r", {})).message(), "a record has times, or a reason why there are none");
}

TEST(Database, MergeAddsWhatIsNew) {
  const std::string path = FreshPath();
  Database a = OpenFresh(path), b = OpenFresh(path + ".other");
  ASSERT_TRUE(a.Put(Measured("1", {1})).ok());
  ASSERT_TRUE(b.Put(Measured("1", {1})).ok());
  ASSERT_TRUE(b.Put(Failed("2", "timeout")).ok());
  EXPECT_EQ(*a.Merge(b), 1);
  EXPECT_EQ(*a.Merge(b), 0);
  EXPECT_THAT(Uids(a), ElementsAre("1", "2"));
  unlink((path + ".other").c_str());
}

TEST(Database, PruneKeepsTheFastest) {
  Database database = OpenFresh();
  TuningRecord one_thread = Measured("one thread", {9});
  one_thread.threads = 1;
  TuningRecord other = Measured("other program", {7});
  other.workload = 3;
  for (const TuningRecord& record : {Measured("slow", {3}), Measured("fast", {1}), Failed("failed", "crash"),
                                     Measured("middle", {2}), one_thread, other}) {
    ASSERT_TRUE(database.Put(record).ok());
  }
  EXPECT_EQ(*database.Prune(2), 2);
  EXPECT_THAT(Uids(database), ElementsAre("fast", "middle", "one thread", "other program"));
  EXPECT_EQ(*database.Prune(0), 4);
  EXPECT_THAT(Uids(database), ElementsAre());
}

// VisitFeatures visits the latest workloads of a target and number of threads, any measured ones.
TEST(Database, VisitsFeatures) {
  Database database = OpenFresh();
  const auto put = [&](uint64_t workload, int count, const TuningRecord& like) {
    for (int i = 0; i < count; ++i) {
      TuningRecord record = like;
      record.uid = absl::StrCat(workload, " ", i, " ", like.uid);
      record.workload = workload;
      record.features = record.uid;
      ASSERT_TRUE(database.Put(record).ok());
    }
  };
  TuningRecord other_target = Measured("other", {1}), one_thread = Measured("one thread", {1});
  other_target.target = "another";
  one_thread.threads = 1;
  for (uint64_t workload : {1, 2, 3}) put(workload, 10, Measured("", {0.5 * static_cast<double>(workload)}));
  put(1, 2, Measured("again", {0.5}));
  put(4, 5, other_target);
  put(5, 5, one_thread);
  put(6, 5, Failed("failed", "crash"));
  ASSERT_TRUE(database.Put(Measured("without", {1})).ok());
  const auto visited = [&](int workloads, int each) {
    std::map<uint64_t, int> counts;
    std::set<std::string> features;
    absl::Status status = database.VisitFeatures({.target = "znver4 +avx2", .threads = 2}, workloads, each,
                                                 [&](uint64_t workload, double seconds, std::string_view bytes) {
                                                   ++counts[workload];
                                                   features.emplace(bytes);
                                                   EXPECT_EQ(seconds, 0.5 * static_cast<double>(workload));
                                                   EXPECT_TRUE(bytes.starts_with(absl::StrCat(workload, " "))) << bytes;
                                                 });
    EXPECT_TRUE(status.ok()) << status;
    size_t sum = 0;
    for (const auto& [workload, count] : counts) sum += static_cast<size_t>(count);
    EXPECT_EQ(features.size(), sum);
    return counts;
  };
  using Counts = std::map<uint64_t, int>;
  EXPECT_EQ(visited(100, 100), (Counts{{1, 12}, {2, 10}, {3, 10}}));
  EXPECT_EQ(visited(100, 4), (Counts{{1, 4}, {2, 4}, {3, 4}}));
  EXPECT_EQ(visited(3, 4), (Counts{{1, 4}, {3, 4}})) << "the workload of what has no features is the latest";
  ASSERT_TRUE(database.Prune(1).ok());
  EXPECT_EQ(visited(100, 100), (Counts{{1, 1}, {2, 1}, {3, 1}}));
}

TEST(Database, ExportsLinesOfJson) {
  Database database = OpenFresh();
  TuningRecord final = Measured("a", {0.5});
  final.final = true;
  final.features = std::string("\0\xff", 2);
  ASSERT_TRUE(database.Put(final).ok());
  ASSERT_TRUE(database.Put(Failed("b", "crash")).ok());
  const std::string lines = *database.Export();
  const size_t end = lines.find('\n');
  const auto a = RecordFromJson(lines.substr(0, end)), b = RecordFromJson(lines.substr(end + 1));
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->workload, 0xfedcba9876543210);
  EXPECT_THAT(a->seconds, ElementsAre(0.5));
  EXPECT_TRUE(a->final && !b->final);
  EXPECT_EQ(a->features, final.features);
  EXPECT_EQ(b->failure, "crash");
  EXPECT_EQ(ToJson(*a) + "\n" + ToJson(*b) + "\n", lines);
}

TEST(Record, RefusesOtherJson) {
  EXPECT_EQ(RecordFromJson("[1]").status().message(), "a record is a JSON object");
  EXPECT_EQ(RecordFromJson("{").status().message(), "a record is a JSON object");
  EXPECT_EQ(RecordFromJson(R"({"uid": 3})").status().message(), "a record's \"uid\" is missing or of the wrong type");
  EXPECT_EQ(RecordFromJson(R"({"uid": "a", "workload": "12"})").status().message(),
            "a record's \"workload\" is missing or of the wrong type");
  EXPECT_EQ(ParseDimensions("{\"n\": [1]}").status().message(), "dimension ranges are an object of pairs of integers");
  EXPECT_EQ(ParseHash("xyz").status().message(), "\"xyz\" is not a hash of 16 hexadecimal digits");
}

// What a file says after an attempt to open it, and that the attempt left it as it was.
std::string Refusal(const std::string& path) {
  const std::string before = *ReadFile(path);
  const auto database = Database::Open(path);
  EXPECT_FALSE(database.ok());
  EXPECT_EQ(*ReadFile(path), before);
  return database.ok() ? "" : std::string(database.status().message());
}

TEST(Database, RefusesWhatIsNoDatabase) {
  const std::string path = FreshPath();
  EXPECT_EQ(Database::Open(path, Database::Mode::kExisting).status().message(), path + ": there is no such file");
  EXPECT_THAT(Database::Open("/nowhere/at/all.db").status().message(), HasSubstr("cannot open the database"));
  EXPECT_FALSE(Database::Open(testing::TempDir()).ok());
  EXPECT_EQ(Database::Open("").status().message(), "a database has a path");
  std::ofstream(path) << "these are no records, but a text of somebody else";
  EXPECT_EQ(Refusal(path), path + ": the database cannot be read: file is not a database");
}

TEST(Database, RefusesOtherProgramsDatabases) {
  const std::string path = FreshPath();
  ExecuteIn(path, "CREATE TABLE addresses(name TEXT)");
  EXPECT_EQ(Refusal(path), path + ": this SQLite database is not one of tuning records");
}

TEST(Database, RefusesNewerVersions) {
  const std::string path = FreshPath();
  {
    OpenFresh(path);
  }
  ExecuteIn(path, "PRAGMA user_version=99");
  EXPECT_EQ(Refusal(path), path + ": the database has version 99 of the format; this program reads version 5");
}

// A file with the record "old", once `sql` has made an older version of it.
Database OpenOlder(const char* sql) {
  const std::string path = FreshPath();
  EXPECT_TRUE(OpenFresh(path).Put(Measured("old", {1})).ok());
  ExecuteIn(path, sql);
  return OpenFresh(path);
}

TEST(Database, ReadsTheFirstVersion) {
  Database database = OpenOlder(
      "DROP INDEX standings; DROP TABLE features; ALTER TABLE records DROP COLUMN final; "
      "ALTER TABLE records DROP COLUMN caches; CREATE INDEX records_by_time ON records(workload, target, "
      "median); PRAGMA user_version=1");
  TuningRecord final = Measured("new", {2});
  final.final = true;
  ASSERT_TRUE(database.Put(final).ok());
  EXPECT_THAT(Uids(database), ElementsAre("old", "new"));
  EXPECT_EQ(database.Best(Query(final))->uid, "new");
}

TEST(Database, ReadsTheSecondVersion) {
  Database database = OpenOlder(
      "DROP INDEX standings; DROP TABLE features; ALTER TABLE records DROP COLUMN caches; "
      "PRAGMA user_version=2");
  TuningRecord with_features = Measured("new", {2});
  with_features.features = "of the new one";
  ASSERT_TRUE(database.Put(with_features).ok());
  const auto records = database.All();
  ASSERT_EQ(records->size(), 2u);
  EXPECT_EQ((*records)[0].features, "");
  EXPECT_EQ((*records)[1].features, "of the new one");
}

TEST(Database, ReadsTheThirdVersion) {
  Database database = OpenOlder(
      "DROP INDEX standings; ALTER TABLE records DROP COLUMN caches; CREATE INDEX standings ON records("
      "workload, target, threads, dimensions, scheduled, final, median) WHERE median IS NOT NULL; "
      "PRAGMA user_version=3");
  TuningRecord cold = Measured("new", {0.5});
  cold.caches = Caches::kCold;
  ASSERT_TRUE(database.Put(cold).ok());
  EXPECT_THAT(Uids(database), ElementsAre("old", "new"));
  EXPECT_EQ(database.Best(Query(cold))->uid, "old");
}

TEST(Database, ReadsTheFourthVersion) {
  Database database = OpenOlder(
      "ALTER TABLE records RENAME COLUMN caches TO cold_cache; UPDATE records SET cold_cache = 1; "
      "PRAGMA user_version=4");
  ASSERT_TRUE(database.Put(Measured("new", {2})).ok());
  EXPECT_EQ(database.Best(Query(Measured("new", {2})))->uid, "new");
  EXPECT_EQ((*database.All())[0].caches, Caches::kCold);
}

// Times with other caches are a matter of their own.
TEST(Database, SeparatesCaches) {
  Database database = OpenFresh();
  TuningRecord cold = Measured("cold", {1});
  cold.caches = Caches::kCold;
  ASSERT_TRUE(database.Put(cold).ok());
  EXPECT_FALSE(database.Best(Query(cold)).ok());
  ASSERT_TRUE(database.Put(Measured("rotating", {2})).ok());
  RecordQuery query = Query(cold);
  EXPECT_EQ(database.Best(query)->uid, "rotating");
  query.caches = Caches::kCold;
  EXPECT_EQ(database.Best(query)->uid, "cold");
  EXPECT_EQ(database.BestOfEach()->size(), 2u);
  EXPECT_EQ(*database.Prune(1), 0);
}

TEST(Database, RefusesDamage) {
  const std::string path = FreshPath();
  {
    Database database = OpenFresh(path);
    for (int i = 0; i < 40; ++i) {
      TuningRecord record = Measured(std::to_string(i), {1.0 + i});
      record.trace = std::string(3000, 'x');
      ASSERT_TRUE(database.Put(record).ok());
    }
  }
  const std::string whole = *ReadFile(path);
  ASSERT_GT(whole.size(), 16u * 4096);
  const auto write = [&](const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; };
  write(whole.substr(0, whole.size() / 2));
  EXPECT_NE(Refusal(path), "");
  std::string overwritten = whole;
  for (size_t i = 4096; i < overwritten.size(); ++i) overwritten[i] = static_cast<char>(i * 31);
  write(overwritten);
  EXPECT_NE(Refusal(path), "");
  // Whatever page is damaged: an error or records, never a crash.
  for (size_t page = 0; page < whole.size(); page += 4096) {
    std::string damaged = whole;
    for (size_t i = 0; i < 64; ++i) damaged[page + i * 61 % 4096] ^= static_cast<char>(i + 1);
    write(damaged);
    const auto database = Database::Open(path);
    if (database.ok()) static_cast<void>(database->All().ok());
  }
}

// What another program wrote into a record concerns that record alone.
TEST(Database, PassesOverDamagedRecords) {
  for (const char* damage : {"scheduled = 'zzz'", "dimensions = '{'", "seconds = x'0102'", "caches = 9"}) {
    const std::string path = FreshPath();
    Database database = OpenFresh(path);
    for (const double seconds : {1.0, 2.0, 3.0}) {
      TuningRecord record = Measured(absl::StrCat("took", seconds), {seconds});
      record.scheduled = static_cast<uint64_t>(seconds);
      ASSERT_TRUE(database.Put(record).ok());
    }
    ExecuteIn(path, absl::StrCat("UPDATE records SET ", damage, " WHERE uid = 'took1'").c_str());
    EXPECT_EQ(database.Best(Query(Measured("", {1})))->uid, "took2") << damage;
    EXPECT_THAT(Uids(database), ElementsAre("took2", "took3")) << damage;
    const auto best = database.BestOfEach();
    ASSERT_TRUE(best.ok());
    EXPECT_EQ((*best)[0].uid, "took2") << damage;
    Database copy = OpenFresh(":memory:");
    EXPECT_EQ(*copy.Merge(database), 2) << damage;
    EXPECT_THAT(database.damaged(), ElementsAre(path + ": record took1 is damaged and passed over")) << damage;
  }
}

}  // namespace
}  // namespace tilewright
