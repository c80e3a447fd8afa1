#include "autoschedule/measure/executor/machine_load.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "codegen/runtime/available_cpus.h"

namespace tilewright {
namespace {

struct Process {
  long parent = 0;
  double ticks = 0;  // of it and of its children that have ended
};

// Reads /proc/PID/stat. The name stands in parentheses and may hold anything.
Process ReadProcess(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  std::string state;
  Process process;
  fields >> state >> process.parent;
  std::string skipped;
  for (int i = 0; i < 9; ++i) fields >> skipped;
  // utime stime cutime cstime
  for (int i = 0; i < 4; ++i) {
    double ticks = 0;
    fields >> ticks;
    process.ticks += ticks;
  }
  return process;
}

std::map<long, Process> AllProcesses() {
  std::map<long, Process> processes;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return processes;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    processes[std::atol(entry->d_name)] = ReadProcess(entry->d_name);
  }
  closedir(folder);
  return processes;
}

bool DescendsFrom(const std::map<long, Process>& processes, long pid, long ancestor) {
  for (size_t steps = 0; steps <= processes.size(); ++steps) {
    if (pid == ancestor) return true;
    const auto process = processes.find(pid);
    if (process == processes.end() || process->second.parent == pid) return false;
    pid = process->second.parent;
  }
  return false;
}

}  // namespace

MachineLoad::MachineLoad() : cpus_(runtime::AffinityCpus()), start_(Read()) {}

MachineLoad::Times MachineLoad::Read() const {
  Times times;
  const std::map<long, Process> processes = AllProcesses();
  for (const auto& [pid, process] : processes) {
    if (DescendsFrom(processes, pid, getpid())) times.own += process.ticks;
  }
  // "cpuN user nice system idle iowait irq softirq steal", in ticks.
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string label;
    fields >> label;
    if (!label.starts_with("cpu") || label.size() == 3) continue;
    if (std::ranges::find(cpus_, std::atoi(label.c_str() + 3)) == cpus_.end()) continue;
    for (int i = 0; i < 8; ++i) {
      double ticks = 0;
      fields >> ticks;
      times.total += ticks;
      if (i != 3 && i != 4) times.busy += ticks;
    }
  }
  return times;
}

double MachineLoad::OthersShare() const {
  const Times now = Read();
  const double total = now.total - start_.total;
  if (total <= 0) return 0;
  return std::clamp(((now.busy - start_.busy) - (now.own - start_.own)) / total, 0.0, 1.0);
}

}  // namespace tilewright
