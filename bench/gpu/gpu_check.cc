// Runs prepared kernels on a GPU, compares what they compute with what the emulator computed, and times them.
//
//   gpu_check FOLDER [SECONDS]       one line of JSON for each case, on standard output
//
// FOLDER holds NAME.case, NAME.cubin and NAME.bin, as make_cases writes them. Needs the C library and the driver alone.
// Cases run in a child process; one that ends it or takes too long costs itself only.
#include <dirent.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "base/statistics.h"
#include "bench/gpu/case_file.h"
#include "codegen/cuda/driver.h"

namespace tilewright::gpu {
namespace {

using cuda::Driver;

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Bytes of copies of a case's arrays that launches take in turn: more than the last-level cache holds.
constexpr size_t kRotatedBytes = size_t{160} << 20;
constexpr size_t kMostSets = 24;

// A case on the device.
class CaseRun {
 public:
  CaseRun(const Driver& driver, const CaseFile& file) : driver_(driver), file_(file) {}
  ~CaseRun() {
    for (const Memory& memory : memory_) {
      for (void* array : memory) driver_.Free(array);
    }
    if (module_ != nullptr) driver_.UnloadModule(module_);
  }
  CaseRun(const CaseRun&) = delete;
  CaseRun& operator=(const CaseRun&) = delete;

  std::string Run() {
    if (!Check(driver_.LoadModule(file_.cubin.data(), &module_), "module")) return Line();
    if (!Allocate() || !Upload()) return Line();
    Launches reference;
    if (!Prepare(file_.reference, memory_[0], &reference) || !Start(reference) ||
        !Check(driver_.Synchronize(nullptr), "reference")) {
      return Line();
    }
    sets_.resize(memory_.size());
    for (size_t set = 0; set < sets_.size(); ++set) {
      if (!Prepare(file_.launches, memory_[set], &sets_[set])) return Line();
    }
    if (!Start(sets_[0]) || !Check(driver_.Synchronize(nullptr), "run") || !Compare()) return Line();
    Time();
    return Line();
  }

 private:
  struct Value {
    alignas(64) uint64_t bits[16] = {};
  };
  struct Launch {
    const CaseLaunch* of = nullptr;
    void* kernel = nullptr;
    std::vector<Value> values;
    std::vector<void*> params;
  };
  using Launches = std::vector<Launch>;
  using Memory = std::vector<void*>;  // of each array

  bool Check(int code, const std::string& what) {
    if (code == 0) return true;
    if (error_.empty()) error_ = what + ": " + driver_.Text(code);
    return false;
  }

  bool Allocate() {
    size_t bytes = 1;
    for (const CaseArray& array : file_.arrays) bytes += static_cast<size_t>(array.bytes);
    memory_.resize(std::clamp<size_t>(kRotatedBytes / bytes + 1, 1, kMostSets));
    for (Memory& memory : memory_) {
      for (const CaseArray& array : file_.arrays) {
        memory.push_back(nullptr);
        if (!Check(driver_.Allocate(static_cast<size_t>(array.bytes), &memory.back()), "allocate")) return false;
      }
    }
    return true;
  }

  // Kernels, their parameters, tensor maps.
  bool Prepare(const std::vector<CaseLaunch>& launches, const Memory& memory, Launches* prepared) {
    prepared->resize(launches.size());
    for (size_t i = 0; i < launches.size(); ++i) {
      const CaseLaunch& from = launches[i];
      Launch& to = (*prepared)[i];
      to.of = &from;
      if (!Check(driver_.FindKernel(module_, from.kernel.c_str(), from.shared_bytes, &to.kernel), from.kernel))
        return false;
      if (&launches == &file_.launches) {
        registers_ = std::max(registers_, driver_.KernelAttribute(to.kernel, 4));
        local_bytes_ = std::max(local_bytes_, driver_.KernelAttribute(to.kernel, 3));
      }
      to.values.resize(from.params.size());
      for (size_t p = 0; p < from.params.size(); ++p) {
        const CaseParam& param = from.params[p];
        Value& value = to.values[p];
        if (param.kind == CaseParam::kArray) value.bits[0] = reinterpret_cast<uint64_t>(memory[param.array]);
        if (param.kind == CaseParam::kScalar) std::memcpy(value.bits, param.bits, sizeof(param.bits));
        if (param.kind == CaseParam::kMap) {
          cuda::TensorMapSpec spec = param.map;
          spec.address = memory[param.array];
          cuda::EncodedTensorMap map;
          if (!Check(driver_.Encode(spec, &map), "tensor map")) return false;
          std::memcpy(value.bits, &map, sizeof(map));
        }
      }
      for (Value& value : to.values) to.params.push_back(value.bits);
    }
    return true;
  }

  bool Upload() {
    for (size_t i = 0; i < file_.arrays.size(); ++i) {
      const CaseArray& array = file_.arrays[i];
      const auto bytes = static_cast<size_t>(array.bytes);
      std::vector<char> seeded(array.seed != 0 ? bytes : 0);
      if (array.seed != 0) FillSeeded(array.type, array.seed, seeded.data(), bytes);
      const char* contents = array.seed != 0 ? seeded.data() : file_.data.data() + std::max<int64_t>(array.input, 0);
      for (const Memory& memory : memory_) {
        const bool none = array.seed == 0 && array.input < 0;
        const int code = none ? driver_.Fill(memory[i], 0xff, bytes) : driver_.CopyToDevice(memory[i], contents, bytes);
        if (!Check(code, "contents")) return false;
      }
    }
    return true;
  }

  bool Start(Launches& launches, void* stream = nullptr) {
    for (Launch& launch : launches) {
      const CaseLaunch& of = *launch.of;
      if (!Check(driver_.Launch(launch.kernel, of.grid, of.block, of.shared_bytes, stream, launch.params.data()),
                 "launch of " + of.kernel)) {
        return false;
      }
    }
    return true;
  }
  // On the arrays whose turn it is.
  bool StartNext(void* stream) { return Start(sets_[turn_++ % sets_.size()], stream); }

  bool Compare() {
    for (size_t i = 0; i < file_.arrays.size(); ++i) {
      const CaseArray& array = file_.arrays[i];
      if (array.expected < 0 && array.same_as < 0) continue;
      std::vector<char> got(static_cast<size_t>(array.bytes)), reference(array.same_as < 0 ? 0 : got.size());
      if (!Check(driver_.CopyToHost(got.data(), memory_[0][i], got.size()), "copy back")) return false;
      if (array.same_as >= 0 &&
          !Check(driver_.CopyToHost(reference.data(), memory_[0][static_cast<size_t>(array.same_as)], reference.size()),
                 "copy back")) {
        return false;
      }
      const char* expected = array.same_as >= 0 ? reference.data() : file_.data.data() + array.expected;
      const ArrayDifference difference = CompareArrays(array.type, got.data(), expected, got.size());
      error_size_ = std::max(error_size_, difference.error);
      if (difference.error > file_.tolerance && worst_.empty()) {
        char text[160];
        std::snprintf(text, sizeof(text), "%s[%lld] is %.9g, expected %.9g", array.name.c_str(),
                      static_cast<long long>(difference.position), difference.got, difference.expected);
        worst_ = text;
      }
    }
    return true;
  }

  // Medians of some runs of about a hundred microseconds each, by events, from a stream and from a graph. Few runs
  // where one takes long.
  void Time() {
    void *stream = nullptr, *begin = nullptr, *end = nullptr;
    if (!Check(driver_.CreateStream(&stream), "stream") || !Check(driver_.CreateEvent(&begin), "event") ||
        !Check(driver_.CreateEvent(&end), "event")) {
      return;
    }
    const auto median = [&](int rounds, int repeats, auto&& start) {
      std::vector<double> times;
      for (int round = 0; round < rounds && error_.empty(); ++round) {
        Check(driver_.Record(begin, stream), "record");
        for (int i = 0; i < repeats; ++i) start();
        Check(driver_.Record(end, stream), "record");
        float time = 0;
        Check(driver_.ElapsedMilliseconds(&time, begin, end), "time");
        times.push_back(1000.0 * static_cast<double>(time) / repeats);
      }
      return times.empty() ? 0 : Median(times);
    };
    const double once = median(2, 1, [&] { StartNext(stream); });
    constexpr double kLong = 3000;
    const int rounds = once > kLong ? 3 : 12, repeats = once > kLong ? 1 : 20;
    stream_us_ = median(rounds, repeats, [&] { StartNext(stream); });
    if (once > kLong) {
      graph_us_ = stream_us_;
    } else {
      TimeLaunches(stream, median);
    }
    driver_.DestroyEvent(begin);
    driver_.DestroyEvent(end);
    driver_.DestroyStream(stream);
  }

  template <class Median>
  void TimeLaunches(void* stream, const Median& median) {
    Check(driver_.Synchronize(stream), "synchronize");
    const double before = Now();
    for (int i = 0; i < 100; ++i) StartNext(stream);
    host_us_ = (Now() - before) / 100 * 1e6;
    Check(driver_.Synchronize(stream), "synchronize");
    void* graph = nullptr;
    if (!Check(driver_.BeginCapture(stream), "capture")) return;
    for (int i = 0; i < 20; ++i) StartNext(stream);
    if (!Check(driver_.EndCapture(stream, &graph), "graph")) return;
    graph_us_ = median(12, 1, [&] { Check(driver_.LaunchGraph(graph, stream), "graph launch"); }) / 20;
    driver_.DestroyGraph(graph);
  }

  std::string Line() const {
    std::string message = error_.empty() ? worst_ : error_;
    std::replace(message.begin(), message.end(), '"', '\'');
    char text[1024];
    std::snprintf(text, sizeof(text),
                  "{\"case\": \"%s\", \"right\": %s, \"error\": %.3g, \"tolerance\": %.3g, \"stream_us\": %.3f, "
                  "\"graph_us\": %.3f, \"host_launch_us\": %.3f, \"launches\": %zu, \"gflops\": %.1f, \"gbs\": %.1f, "
                  "\"registers\": %d, \"local_bytes\": %d, \"message\": \"%s\"}",
                  file_.name.c_str(), message.empty() ? "true" : "false",
                  std::isfinite(error_size_) ? error_size_ : 1e30, file_.tolerance, stream_us_, graph_us_, host_us_,
                  file_.launches.size(), graph_us_ > 0 ? file_.operations / graph_us_ / 1e3 : 0,
                  graph_us_ > 0 ? file_.traffic / graph_us_ / 1e3 : 0, registers_, local_bytes_, message.c_str());
    return text;
  }

  const Driver& driver_;
  const CaseFile& file_;
  void* module_ = nullptr;
  std::vector<Memory> memory_;  // of each set of arrays
  std::vector<Launches> sets_;
  size_t turn_ = 0;
  std::string error_, worst_;
  double error_size_ = 0, stream_us_ = 0, graph_us_ = 0, host_us_ = 0;
  int registers_ = 0, local_bytes_ = 0;
};

std::string RunCase(const std::string& folder, const std::string& name) {
  std::string error;
  CaseFile file;
  const Driver* driver = nullptr;
  if (ReadCase(folder, name, &file, &error)) driver = Driver::Open(&error);
  if (driver == nullptr) return "{\"case\": \"" + name + "\", \"right\": false, \"message\": \"" + error + "\"}";
  return CaseRun(*driver, file).Run();
}

// How a child ends after a case that was not right: what a kernel did to the context may spoil the next one.
constexpr int kWantsAnotherChild = 3;

// Runs the cases from `first` on and writes each one's line to `out`.
[[noreturn]] void Child(const std::string& folder, const std::vector<std::string>& names, size_t first, int out) {
  for (size_t i = first; i < names.size(); ++i) {
    const std::string line = RunCase(folder, names[i]) + "\n";
    if (write(out, line.data(), line.size()) < 0) break;
    if (line.find("\"right\": true") == line.npos) _exit(kWantsAnotherChild);
  }
  _exit(0);
}

// Lines of the children in the order of the cases, with one of our own for a case that ended its child.
int RunAll(const std::string& folder, const std::vector<std::string>& names, double seconds) {
  constexpr int kMostMillisecondsOfACase = 15000;
  const double end = Now() + seconds;
  size_t done = 0, wrong = 0;
  while (done < names.size() && Now() < end) {
    int ends[2];
    if (pipe(ends) != 0) return 1;
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      Child(folder, names, done, ends[1]);
    }
    close(ends[1]);
    std::string pending;
    bool alive = true;
    while (alive && done < names.size() && Now() < end) {
      pollfd wait = {ends[0], POLLIN, 0};
      char buffer[4096];
      const ssize_t size = poll(&wait, 1, kMostMillisecondsOfACase) > 0 ? read(ends[0], buffer, sizeof(buffer)) : 0;
      alive = size > 0;
      if (alive) pending.append(buffer, static_cast<size_t>(size));
      for (size_t at = 0; (at = pending.find('\n')) != std::string::npos; pending.erase(0, at + 1)) {
        const std::string line = pending.substr(0, at);
        wrong += line.find("\"right\": true") == std::string::npos ? 1 : 0;
        ++done;
        std::printf("%s\n", line.c_str());
        std::fflush(stdout);
      }
    }
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    close(ends[0]);
    const bool goes_on = WIFEXITED(status) && WEXITSTATUS(status) == kWantsAnotherChild;
    if (!alive && !goes_on && done < names.size()) {
      std::printf("{\"case\": \"%s\", \"right\": false, \"message\": \"ended the process or took too long\"}\n",
                  names[done].c_str());
      ++done;
      ++wrong;
    }
  }
  std::printf("{\"cases\": %zu, \"done\": %zu, \"wrong\": %zu}\n", names.size(), done, wrong);
  return wrong == 0 && done == names.size() ? 0 : 1;
}

std::vector<std::string> CasesIn(const std::string& folder) {
  std::vector<std::string> names;
  DIR* directory = opendir(folder.c_str());
  for (dirent* entry = nullptr; directory != nullptr && (entry = readdir(directory)) != nullptr;) {
    const std::string name = entry->d_name;
    if (name.size() > 5 && name.substr(name.size() - 5) == ".case") names.push_back(name.substr(0, name.size() - 5));
  }
  if (directory != nullptr) closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace
}  // namespace tilewright::gpu

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: gpu_check FOLDER [SECONDS]\n");
    return 2;
  }
  return tilewright::gpu::RunAll(argv[1], tilewright::gpu::CasesIn(argv[1]), argc > 2 ? std::atof(argv[2]) : 100);
}
