// The tuner as a program: it is killed, its candidates misbehave, and two of them share a database and the machine.
//
//   bazel test //tools:tune_robustness_test                                                       5 kills
//   bazel-bin/tools/tune_robustness_test bazel-bin/tools/tilewright LIBRARY --kills=50            longer
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autoschedule/database/database.h"
#include "gmock/gmock.h"
#include "tools/unreliable_tile.h"

namespace tilewright {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

std::string tilewright_path, library_path;
int kills = 5;

// No built-in instruction multiplies tiles of this type: candidates call the intrinsic, whatever the machine.
constexpr char kProduct[] = R"(
@T.prim_func
def main(A: T.Buffer((64, 64), "float64"), B: T.Buffer((64, 64), "float64"), C: T.Buffer((64, 64), "float64")):
    for i, j, k in T.grid(64, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float64(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
)";

constexpr char kIntrinsic[] = R"(
@T.prim_func
def tile_desc(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (16, 16), "float64", offset_factor=16)
    B = T.match_buffer(b, (16, 16), "float64", offset_factor=16)
    C = T.match_buffer(c, (16, 16), "float64", offset_factor=16)
    with T.block("root"):
        T.reads(C[0:16, 0:16], A[0:16, 0:16], B[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        for i, j, k in T.grid(16, 16, 16):
            with T.block("tile"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]


@T.prim_func
def tile_impl(a: T.handle, b: T.handle, c: T.handle) -> None:
    sa = T.int32()
    sb = T.int32()
    sc = T.int32()
    A = T.match_buffer(a, (16, 16), "float64", offset_factor=16, strides=[sa, 1])
    B = T.match_buffer(b, (16, 16), "float64", offset_factor=16, strides=[sb, 1])
    C = T.match_buffer(c, (16, 16), "float64", offset_factor=16, strides=[sc, 1])
    with T.block("root"):
        T.reads(C[0:16, 0:16], A[0:16, 0:16], B[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        T.evaluate(T.call_extern("unreliable_tile", C.access_ptr("w"), A.access_ptr("r"), B.access_ptr("r"), sa, sb, sc, dtype="int32"))
)";

std::string Path(const std::string& name) { return testing::TempDir() + "/" + name; }

std::string WriteText(const std::string& name, const std::string& text) {
  std::ofstream(Path(name)) << text;
  return Path(name);
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string FreshDatabase(const std::string& name) {
  for (const char* suffix : {"", "-wal", "-shm"}) unlink((Path(name) + suffix).c_str());
  return Path(name);
}

// A `tilewright` process whose output goes to files.
struct Tuner {
  pid_t pid = 0;
  std::string output;
};

Tuner Start(const std::string& name, std::vector<std::string> arguments) {
  Tuner tuner{.output = Path(name + ".txt")};
  std::vector<std::string> command = {tilewright_path};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, tuner.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  EXPECT_EQ(posix_spawn(&tuner.pid, argv[0], &actions, nullptr, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  return tuner;
}

// The exit status, or -1 when it did not exit by itself.
int Wait(const Tuner& tuner) {
  int status = 0;
  while (waitpid(tuner.pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Processes of killed tuners become children of this one: whether none is left after a while.
bool AllChildrenEnd() {
  for (int i = 0; i < 500; ++i) {
    const pid_t ended = waitpid(-1, nullptr, WNOHANG);
    if (ended < 0 && errno == ECHILD) return true;
    if (ended == 0) std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

// What a process that opens the file now finds; nothing while there is no file.
std::set<std::string> Uids(const std::string& path) {
  std::set<std::string> uids;
  const auto database = Database::Open(path, Database::Mode::kExisting);
  if (!database.ok()) return uids;
  const auto records = database->All();
  if (!records.ok()) return uids;
  for (const TuningRecord& record : *records) uids.insert(record.uid);
  return uids;
}

std::string IntegrityCheck(const std::string& path) {
  sqlite3* connection = nullptr;
  std::string answer;
  if (sqlite3_open_v2(path.c_str(), &connection, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK) {
    answer = sqlite3_errmsg(connection);
  } else {
    const auto take = [](void* text, int, char** values, char**) {
      *static_cast<std::string*>(text) += values[0];
      return 0;
    };
    if (sqlite3_exec(connection, "PRAGMA integrity_check", take, &answer, nullptr) != SQLITE_OK) {
      answer = sqlite3_errmsg(connection);
    }
  }
  sqlite3_close(connection);
  return answer;
}

// The tile's log, shared with all processes that load the library.
class SharedLog {
 public:
  explicit SharedLog(const std::string& name) {
    const int fd = open(Path(name).c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    EXPECT_EQ(ftruncate(fd, sizeof(TileLog)), 0);
    log_ = static_cast<TileLog*>(mmap(nullptr, sizeof(TileLog), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    close(fd);
    setenv("TILE_LOG", Path(name).c_str(), 1);
  }
  ~SharedLog() {
    munmap(log_, sizeof(TileLog));
    unsetenv("TILE_LOG");
  }
  TileLog* operator->() const { return log_; }

 private:
  TileLog* log_;
};

TEST(Tuner, IsKilledAndLosesNothing) {
  const std::string program = WriteText("product.py", kProduct), database = FreshDatabase("killed.db");
  std::mt19937 random(1);
  std::set<std::string> committed;
  int with_records = 0;
  for (int round = 0; round < kills; ++round) {
    const Tuner tuner =
        Start("killed", {"tune", program, "--seconds=600", "--seed=" + std::to_string(round), "--db=" + database});
    // At some instant: before the database is there, while candidates are compiled, measured, or written down. What
    // another process can read has been committed.
    const size_t before = committed.size();
    const bool early = random() % 4 == 0;
    const auto wait = milliseconds(random() % (early ? 300 : 1500));
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!early && committed.size() == before && std::chrono::steady_clock::now() < patience) {
      std::this_thread::sleep_for(milliseconds(20));
      committed.merge(Uids(database));
    }
    std::this_thread::sleep_for(wait);
    committed.merge(Uids(database));
    kill(tuner.pid, SIGKILL);
    ASSERT_EQ(Wait(tuner), -1) << "round " << round << ": the tuner ended by itself: " << ReadText(tuner.output);
    ASSERT_TRUE(AllChildrenEnd()) << "round " << round << ": workers outlive their tuner";

    const std::set<std::string> held = Uids(database);
    for (const std::string& uid : committed) ASSERT_TRUE(held.contains(uid)) << uid << " is lost in round " << round;
    if (access(database.c_str(), F_OK) == 0) ASSERT_EQ(IntegrityCheck(database), "ok") << "round " << round;
    with_records += committed.size() > before;
  }
  std::printf("%d kills, %d of them after records of the same run, %zu records\n", kills, with_records,
              committed.size());

  // The next run starts from what is there, and adds to it.
  const Tuner next = Start("next", {"tune", program, "--trials=4", "--seconds=60", "--db=" + database});
  EXPECT_EQ(Wait(next), 0) << ReadText(next.output);
  EXPECT_GT(Uids(database).size(), committed.size());
  const Tuner run = Start("run", {"run", program, "--engine=llvm", "--compare", "--db=" + database});
  EXPECT_EQ(Wait(run), 0) << ReadText(run.output);
  EXPECT_THAT(ReadText(run.output), Not(HasSubstr("rules")));
}

TEST(Tuner, CandidatesCostOnlyThemselves) {
  const std::string program = WriteText("product.py", kProduct), intrinsic = WriteText("tile.py", kIntrinsic);
  const std::string database = FreshDatabase("unreliable.db");
  const SharedLog log("unreliable.log");
  log->crash_at = 300;
  log->hang_at = 3000;
  log->eat_memory_at = 6000;
  const Tuner tuner = Start("unreliable", {"tune", program, "--intrin=" + intrinsic, "--extern=" + library_path,
                                           "--trials=12", "--seconds=120", "--db=" + database});
  EXPECT_EQ(Wait(tuner), 0);
  const std::string output = ReadText(tuner.output);
  EXPECT_THAT(output, HasSubstr("failed 1 times: crash"));
  EXPECT_THAT(output, HasSubstr("failed 1 times: timeout"));
  EXPECT_THAT(output, HasSubstr("failed 1 times: out of memory"));
  EXPECT_THAT(output, HasSubstr("best: "));
  EXPECT_TRUE(AllChildrenEnd());
  // Failures are records too.
  const Tuner list = Start("list", {"db", "list", "--db=" + database});
  EXPECT_EQ(Wait(list), 0);
  EXPECT_THAT(ReadText(list.output), HasSubstr("1 crash"));
}

TEST(Tuner, LibrariesMustBeThere) {
  const std::string program = WriteText("product.py", kProduct);
  const Tuner tuner = Start("missing", {"tune", program, "--extern=/nonexistent.so", "--trials=1"});
  EXPECT_EQ(Wait(tuner), 1);
  EXPECT_THAT(ReadText(tuner.output), HasSubstr("there is no library /nonexistent.so"));
}

TEST(Tuner, TwoShareADatabaseAndTheMachine) {
  const std::string program = WriteText("product.py", kProduct), intrinsic = WriteText("tile.py", kIntrinsic);
  const std::string database = FreshDatabase("shared.db");
  const SharedLog log("shared.log");
  constexpr int kTrials = 10;
  std::vector<Tuner> tuners;
  for (int i = 0; i < 2; ++i) {
    tuners.push_back(Start("shared" + std::to_string(i),
                           {"tune", program, "--intrin=" + intrinsic, "--extern=" + library_path, "--seconds=120",
                            absl::StrCat("--trials=", kTrials), absl::StrCat("--seed=", i), "--db=" + database}));
  }
  for (const Tuner& tuner : tuners) EXPECT_EQ(Wait(tuner), 0) << ReadText(tuner.output);
  const auto records = Database::Open(database, Database::Mode::kExisting)->All();
  EXPECT_EQ(std::ranges::count(*records, false, &TuningRecord::final), 2 * kTrials);
  EXPECT_EQ(IntegrityCheck(database), "ok");

  // While one measures the other does not.
  const int64_t count = log->stays;
  ASSERT_LE(count, kMostStays);
  std::vector<TileStay> stays(log->stay, log->stay + count);
  std::sort(stays.begin(), stays.end(), [](const TileStay& a, const TileStay& b) { return a.begin < b.begin; });
  std::set<int64_t> processes;
  for (const TileStay& stay : stays) processes.insert(stay.process);
  EXPECT_GE(processes.size(), 2u);
  for (size_t i = 1; i < stays.size(); ++i) {
    EXPECT_TRUE(stays[i].process == stays[i - 1].process || stays[i].begin >= stays[i - 1].end)
        << "processes " << stays[i - 1].process << " and " << stays[i].process << " measure at the same time";
  }
}

// A process that takes a CPU for itself.
pid_t StartLoad() {
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (volatile uint64_t i = 0;; i = i + 1) {
  }
}

TEST(Tuner, KeepsItsTimeOnABusyMachine) {
  const std::string program = WriteText("product.py", kProduct), database = FreshDatabase("busy.db");
  std::vector<pid_t> load;
  for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) load.push_back(StartLoad());
  const auto start = std::chrono::steady_clock::now();
  const Tuner tuner = Start("busy", {"tune", program, "--seconds=20", "--db=" + database});
  EXPECT_EQ(Wait(tuner), 0);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  for (const pid_t pid : load) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  const std::string output = ReadText(tuner.output);
  EXPECT_LT(spent.count(), 24) << output;
  EXPECT_THAT(output, HasSubstr("the machine is busy: other processes took "));
  EXPECT_THAT(output, HasSubstr("\npeak: "));
  const auto records = Database::Open(database, Database::Mode::kExisting)->All();
  EXPECT_GE(std::ranges::count(*records, false, &TuningRecord::final), 5) << output;
  EXPECT_GE(std::ranges::count(*records, true, &TuningRecord::final), 2) << "the rules' schedule is measured beside";
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 3) return 2;
  tilewright::tilewright_path = argv[1];
  tilewright::library_path = argv[2];
  for (int i = 3; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag.starts_with("--kills=")) tilewright::kills = std::atoi(flag.c_str() + 8);
  }
  // In a process whose only children are the tuners: this one may have got some from what started it.
  const pid_t tests = fork();
  if (tests == 0) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return RUN_ALL_TESTS();
  }
  return tests < 0 ? 1 : tilewright::Wait({.pid = tests, .output = {}});
}
