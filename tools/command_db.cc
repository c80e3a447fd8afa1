#include <algorithm>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "autoschedule/database/apply_best.h"
#include "autoschedule/database/canonical_names.h"
#include "autoschedule/database/database.h"
#include "base/files.h"
#include "base/nearest_names.h"
#include "codegen/abi/c_header.h"
#include "intrin/registry.h"
#include "ir/script/parser.h"
#include "ir/structural.h"
#include "schedule/script/trace_text.h"
#include "target/target.h"
#include "tools/commands.h"
#include "tools/program_file.h"

namespace tilewright {
namespace {

int Refuse(const CommandArguments& args, const absl::Status& status) {
  args.err() << std::string(status.message()) << "\n";
  return kRefused;
}

void NameDamaged(const CommandArguments& args, const Database& database) {
  for (const std::string& record : database.damaged()) args.err() << record << "\n";
}

std::string Milliseconds(const TuningRecord& record) { return absl::StrFormat("%.4f", record.MedianSeconds() * 1e3); }

std::string KindOfTimes(Caches caches) {
  return caches == Caches::kRotating ? "" : absl::StrCat(", ", CachesName(caches), " caches");
}

// The records of one task.
struct Group {
  int64_t records = 0;
  std::map<std::string, int64_t> failures;  // by reason
  std::optional<TuningRecord> first;        // any
  std::optional<TuningRecord> best;         // where one was measured
};
using Groups = std::map<std::tuple<uint64_t, std::string, int, Caches>, Group>;

absl::StatusOr<Groups> GroupRecords(const Database& database) {
  const auto records = database.All(), best = database.BestOfEach();
  if (!records.ok()) return records.status();
  if (!best.ok()) return best.status();
  Groups groups;
  const auto group_of = [&](const TuningRecord& record) -> Group& {
    return groups[{record.workload, record.target, record.threads, record.caches}];
  };
  for (const TuningRecord& record : *records) {
    Group& group = group_of(record);
    ++group.records;
    if (!group.first) group.first = record;
    if (record.failed()) ++group.failures[record.failure];
  }
  for (const TuningRecord& record : *best) group_of(record).best = record;
  return groups;
}

// "; (a0: float32[512, 512], a1: float32[512])": by these a person knows the program again, since records have no
// names of functions.
std::string ParametersOf(const std::optional<TuningRecord>& record) {
  if (!record) return "";
  const script::ParseResult parsed = script::Parse(record->program, "record");
  if (!parsed.diagnostics.empty() || parsed.module.functions().empty()) return "";
  return "; " + ParameterList(parsed.module.functions()[0], /*variables=*/true);
}

int List(const CommandArguments& args, const Database& database) {
  const auto groups = GroupRecords(database);
  if (!groups.ok()) return Refuse(args, groups.status());
  args.out() << "workload         threads records    best ms target; parameters; failures\n";
  for (const auto& [key, group] : *groups) {
    const auto& [workload, target, threads, caches] = key;
    std::string failures;
    for (const auto& [reason, count] : group.failures) {
      absl::StrAppend(&failures, failures.empty() ? "; " : ", ", count, " ", reason);
    }
    args.out() << absl::StrFormat("%s %7d %7d %10s %s%s%s%s\n", HashText(workload), threads, group.records,
                                  group.best ? Milliseconds(*group.best) : "-", target, KindOfTimes(caches),
                                  ParametersOf(group.first), failures);
  }
  return kDone;
}

// The schedule of a record, by the names of `program` where it is given.
absl::StatusOr<Trace> TraceOf(const TuningRecord& record, const std::optional<Module>& program) {
  if (!program) {
    auto trace = TraceFromJson(record.trace);
    if (trace.ok()) return trace;
    return absl::FailedPreconditionError(
        absl::StrCat("record ", record.uid, " has no trace that can be read: ", std::string(trace.status().message())));
  }
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const auto schedule = ReplayRecord(*program, record, &intrins);
  if (!schedule.ok()) return schedule.status();
  return schedule->trace();
}

// The best record of every group, or of one program's: a comment that says what it is, and the schedule.
int Best(const CommandArguments& args, const Database& database) {
  std::optional<std::pair<uint64_t, uint64_t>> wanted;  // as it is known now, and as it was by its names
  std::optional<Module> module;
  if (args.operands().size() > 1) {
    module = ReadProgram(args, args.operands()[1]);
    if (!module) return kRefused;
    wanted = {WorkloadOf(*module), StructuralHash(*module)};
  }
  const auto groups = GroupRecords(database);
  if (!groups.ok()) return Refuse(args, groups.status());
  bool found = false;
  for (const auto& [key, group] : *groups) {
    const uint64_t workload = std::get<0>(key);
    if (!group.best || (wanted && workload != wanted->first && workload != wanted->second)) continue;
    found = true;
    const TuningRecord& record = *group.best;
    args.out() << "# workload " << HashText(record.workload) << ", " << Milliseconds(record) << " ms (median of "
               << record.seconds.size() << "), " << record.threads << " threads, " << record.target
               << KindOfTimes(record.caches) << "\n";
    const auto trace = TraceOf(record, module);
    if (trace.ok()) {
      args.out() << ToText(*trace);
    } else {
      args.err() << database.path() << ": " << std::string(trace.status().message()) << "\n";
    }
  }
  if (found) return kDone;
  args.err() << database.path() << ": no measured record" << (wanted ? " of this program" : "") << "\n";
  return kRefused;
}

int Export(const CommandArguments& args, const Database& database) {
  const auto lines = database.Export();
  if (!lines.ok()) return Refuse(args, lines.status());
  const std::optional<std::string> path = args.Get("-o");
  if (!path) {
    args.out() << *lines;
    return kDone;
  }
  return WriteText(args, *path, *lines) ? kDone : kRefused;
}

// What is merged: where it is from, and its records.
struct Source {
  std::string path;
  std::vector<TuningRecord> records;
};

// Lines of `export` or of `tune --records`.
absl::StatusOr<Source> ReadLines(const std::string& path, std::string_view text) {
  Source source{.path = path};
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    auto record = RecordFromJson(line);
    if (!record.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ":", number,
          ":1: error: neither a database nor a line of `db export`: ", std::string(record.status().message())));
    }
    source.records.push_back(*std::move(record));
  }
  if (source.records.empty()) return absl::InvalidArgumentError(path + ": there are no records in this file");
  return source;
}

absl::StatusOr<Source> ReadRecords(const CommandArguments& args, const std::string& path) {
  const absl::StatusOr<std::string> text = path == "-" ? args.Input() : ReadFile(path);
  if (!text.ok()) return absl::NotFoundError(path + ": there is no such file");
  if (!text->starts_with("SQLite format 3")) return ReadLines(path, *text);
  const auto other = Database::Open(path, Database::Mode::kExisting);
  if (!other.ok()) return other.status();
  auto records = other->All();
  NameDamaged(args, *other);
  if (!records.ok()) return records.status();
  return Source{path, *std::move(records)};
}

// Times of another processor say nothing of this one.
int Merge(const CommandArguments& args, const std::string& path) {
  if (args.operands().size() < 2) {
    return UsageError(args, "db", "merge needs the database, or the lines of export, to take records from");
  }
  const auto target = NamedTarget(args.Get("--target").value_or("host"));
  if (!target.ok()) return Refuse(args, target.status());
  // First what is read: where it cannot be, no file is made.
  const absl::StatusOr<Source> source = ReadRecords(args, args.operands()[1]);
  if (!source.ok()) return Refuse(args, source.status());
  auto database = Database::Open(path);
  if (!database.ok()) return Refuse(args, database.status());
  const std::set<std::string> keys = {TargetKey(*target), TargetKey(*target, /*emulated=*/true)};
  std::map<std::string, int64_t> refused;  // by target
  const auto added = database->Merge(source->records, keys, &refused);
  NameDamaged(args, *database);
  if (!added.ok()) return Refuse(args, added.status());
  args.out() << "added " << *added << " records\n";
  for (const auto& [key, count] : refused) {
    args.err() << source->path << ": " << count << (count == 1 ? " record is" : " records are")
               << " of another target, " << key << ", not of " << TargetKey(*target)
               << "; --target=NAME takes those of another machine\n";
  }
  return refused.empty() ? kDone : kRefused;
}

int Prune(const CommandArguments& args, Database& database) {
  int64_t keep = 0;
  const std::optional<std::string> text = args.Get("--keep");
  if (!text || !absl::SimpleAtoi(*text, &keep) || keep < 0) {
    return UsageError(args, "db", "prune needs --keep=N, how many records of each program stay");
  }
  const auto deleted = database.Prune(keep);
  if (!deleted.ok()) return Refuse(args, deleted.status());
  args.out() << "deleted " << *deleted << " records\n";
  return kDone;
}

int RunDb(const CommandArguments& args) {
  const std::string& action = args.operands()[0];
  static const std::vector<std::string> kActions = {"list", "best", "export", "merge", "prune"};
  if (std::find(std::begin(kActions), std::end(kActions), action) == std::end(kActions)) {
    return UsageError(args, "db",
                      action + " is none of list, best, export, merge and prune" + DidYouMean(action, kActions));
  }
  if (args.operands().size() > 1 && action != "best" && action != "merge") {
    return UsageError(args, "db", "unexpected operand " + args.operands()[1]);
  }
  const std::optional<std::string> path = args.Get("--db");
  if (!path) return UsageError(args, "db", "--db=PATH is missing");
  if (action == "merge") return Merge(args, *path);  // may collect into a new file
  auto database = Database::Open(*path, Database::Mode::kExisting);
  if (!database.ok()) return Refuse(args, database.status());
  const int done = action == "list"     ? List(args, *database)
                   : action == "best"   ? Best(args, *database)
                   : action == "export" ? Export(args, *database)
                                        : Prune(args, *database);
  NameDamaged(args, *database);
  return done;
}

}  // namespace

Command DbCommand() {
  return {
      .name = "db",
      .operands = "ACTION [FILE]",
      .summary = "looks into and maintains a tuning database",
      .details =
          "ACTION is one of\n"
          "  list          every tuned program: records, best time, parameters, failures by reason\n"
          "  best [FILE]   the best schedule of each, by canonical names, or of the program in FILE, by its own, as "
          "text\n"
          "  export        every record as a line of JSON\n"
          "  merge FILE    adds the records of another database, or the lines of export, that are not there yet; "
          "those\n"
          "                of another target than this machine or --target are refused and named\n"
          "  prune         deletes failures and all but the best records of each program",
      .run = RunDb};
}

}  // namespace tilewright
