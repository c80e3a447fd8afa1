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

#include "bench/gpu/case_file.h"
#include "codegen/cuda/driver.h"

namespace tilewright::gpu {
namespace {

using cuda::Driver;

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// A case on the device.
class CaseRun {
 public:
  CaseRun(const Driver& driver, const CaseFile& file) : driver_(driver), file_(file) {}

  std::string Run() {
    if (!Check(driver_.LoadModule(file_.cubin.data(), &module_), "module")) return Line();
    for (const CaseArray& array : file_.arrays) {
      void* memory = nullptr;
      if (!Check(driver_.Allocate(static_cast<size_t>(array.bytes), &memory), "allocate")) return Line();
      memory_.push_back(memory);
    }
    if (!Prepare() || !Upload() || !Start() || !Check(driver_.Synchronize(nullptr), "run")) return Line();
    if (!Compare()) return Line();
    Time();
    return Line();
  }

 private:
  bool Check(int code, const std::string& what) {
    if (code == 0) return true;
    if (error_.empty()) error_ = what + ": " + driver_.Text(code);
    return false;
  }

  // Kernels, their parameters, tensor maps.
  bool Prepare() {
    launches_.resize(file_.launches.size());
    for (size_t i = 0; i < launches_.size(); ++i) {
      const CaseLaunch& from = file_.launches[i];
      Launch& to = launches_[i];
      if (!Check(driver_.FindKernel(module_, from.kernel.c_str(), from.shared_bytes, &to.kernel), from.kernel))
        return false;
      registers_ = std::max(registers_, driver_.KernelAttribute(to.kernel, 4));
      local_bytes_ = std::max(local_bytes_, driver_.KernelAttribute(to.kernel, 3));
      to.values.resize(from.params.size());
      for (size_t p = 0; p < from.params.size(); ++p) {
        const CaseParam& param = from.params[p];
        Value& value = to.values[p];
        if (param.kind == CaseParam::kArray) value.bits[0] = reinterpret_cast<uint64_t>(memory_[param.array]);
        if (param.kind == CaseParam::kScalar) std::memcpy(value.bits, param.bits, sizeof(param.bits));
        if (param.kind == CaseParam::kMap) {
          cuda::TensorMapSpec spec = param.map;
          spec.address = memory_[param.array];
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
    for (size_t i = 0; i < memory_.size(); ++i) {
      const CaseArray& array = file_.arrays[i];
      const auto bytes = static_cast<size_t>(array.bytes);
      if (array.input < 0) {
        if (!Check(driver_.Fill(memory_[i], 0xff, bytes), "fill")) return false;
      } else if (!Check(driver_.CopyToDevice(memory_[i], file_.data.data() + array.input, bytes), "copy")) {
        return false;
      }
    }
    return true;
  }

  bool Start(void* stream = nullptr) {
    for (size_t i = 0; i < launches_.size(); ++i) {
      const CaseLaunch& from = file_.launches[i];
      if (!Check(driver_.Launch(launches_[i].kernel, from.grid, from.block, from.shared_bytes, stream,
                                launches_[i].params.data()),
                 "launch of " + from.kernel)) {
        return false;
      }
    }
    return true;
  }

  bool Compare() {
    for (size_t i = 0; i < memory_.size(); ++i) {
      const CaseArray& array = file_.arrays[i];
      if (array.expected < 0) continue;
      std::vector<char> got(static_cast<size_t>(array.bytes));
      if (!Check(driver_.CopyToHost(got.data(), memory_[i], got.size()), "copy back")) return false;
      const ArrayDifference difference =
          CompareArrays(array.type, got.data(), file_.data.data() + array.expected, got.size());
      if (difference.error > error_size_ || difference.position < 0)
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

  // The least of some runs of about a hundred microseconds each, by events, from a stream and from a graph.
  void Time() {
    void *stream = nullptr, *begin = nullptr, *end = nullptr;
    if (!Check(driver_.CreateStream(&stream), "stream") || !Check(driver_.CreateEvent(&begin), "event") ||
        !Check(driver_.CreateEvent(&end), "event")) {
      return;
    }
    const auto least = [&](int repeats, auto&& start) {
      double best = 1e30;
      for (int round = 0; round < 12 && error_.empty(); ++round) {
        Check(driver_.Record(begin, stream), "record");
        for (int i = 0; i < repeats; ++i) start();
        Check(driver_.Record(end, stream), "record");
        float time = 0;
        Check(driver_.ElapsedMilliseconds(&time, begin, end), "time");
        best = std::min(best, 1000.0 * static_cast<double>(time) / repeats);
      }
      return best;
    };
    stream_us_ = least(20, [&] { Start(stream); });
    Check(driver_.Synchronize(stream), "synchronize");
    const double before = Now();
    for (int i = 0; i < 200; ++i) Start(stream);
    host_us_ = (Now() - before) / 200 * 1e6;
    Check(driver_.Synchronize(stream), "synchronize");
    void* graph = nullptr;
    if (Check(driver_.BeginCapture(stream), "capture")) {
      for (int i = 0; i < 20; ++i) Start(stream);
      if (Check(driver_.EndCapture(stream, &graph), "graph")) {
        graph_us_ = least(1, [&] { Check(driver_.LaunchGraph(graph, stream), "graph launch"); }) / 20;
        driver_.DestroyGraph(graph);
      }
    }
    driver_.DestroyEvent(begin);
    driver_.DestroyEvent(end);
    driver_.DestroyStream(stream);
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

  struct Value {
    alignas(64) uint64_t bits[16] = {};
  };
  struct Launch {
    void* kernel = nullptr;
    std::vector<Value> values;
    std::vector<void*> params;
  };

  const Driver& driver_;
  const CaseFile& file_;
  void* module_ = nullptr;
  std::vector<void*> memory_;
  std::vector<Launch> launches_;
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
