#include "bench/harness/process_setup.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "bench/harness/feature_cap.h"
#include "codegen/runtime/available_cpus.h"

namespace tilewright::bench {
namespace {

// Tells the second start which CPUs there are: its own affinity mask was narrowed by OpenMP already.
constexpr char kCpusVariable[] = "TILEWRIGHT_BENCH_CPUS";

absl::StatusOr<std::vector<int>> ParseCpus(const std::string& text) {
  std::vector<int> cpus;
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(text, ','))) {
    int cpu = 0;
    if (!absl::SimpleAtoi(word, &cpu)) return absl::InvalidArgumentError(absl::StrCat(kCpusVariable, "=", text));
    cpus.push_back(cpu);
  }
  return cpus;
}

void Set(const char* name, const std::string& value) { setenv(name, value.c_str(), /*overwrite=*/1); }

absl::Status StartAgain(std::vector<int> cpus, char** argv) {
  const std::string count = absl::StrCat(cpus.size());
  Set(kCpusVariable, absl::StrJoin(cpus, ","));
  Set("OMP_NUM_THREADS", count);
  Set("OMP_PLACES", absl::StrJoin(cpus, ",", [](std::string* out, int cpu) { absl::StrAppend(out, "{", cpu, "}"); }));
  Set("OMP_PROC_BIND", "true");
  Set("OMP_DYNAMIC", "false");
  // Iterations of GNU's OpenMP before it sleeps. Its default is three times as many.
  unsetenv("OMP_WAIT_POLICY");
  Set("GOMP_SPINCOUNT", "100000");
  // OpenBLAS: a power of two in time-stamp counts before its threads sleep, its default being 2^26. One thread at
  // first, because its others start with the affinity of the moment.
  Set("OPENBLAS_THREAD_TIMEOUT", "22");
  Set("OPENBLAS_NUM_THREADS", "1");
  for (const auto& [name, value] : PeerSwitches()) Set(name.c_str(), value);
  execv("/proc/self/exe", argv);
  return absl::InternalError(absl::StrCat("cannot start the program again: ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<std::vector<int>> SetUpProcess(int num_threads, char** argv) {
  if (const char* text = std::getenv(kCpusVariable)) {
    absl::StatusOr<std::vector<int>> cpus = ParseCpus(text);
    if (cpus.ok() && !runtime::SetAffinity({cpus->front()})) {
      return absl::InternalError(absl::StrCat("cannot bind the program to CPU ", cpus->front()));
    }
    return cpus;
  }
  std::vector<int> cpus = runtime::AvailableCpus();
  if (num_threads < 0 || static_cast<size_t>(num_threads) > cpus.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--threads=", num_threads, ": this process may use ", cpus.size(), " CPUs"));
  }
  if (num_threads > 0) cpus.resize(static_cast<size_t>(num_threads));
  return StartAgain(std::move(cpus), argv);
}

}  // namespace tilewright::bench
