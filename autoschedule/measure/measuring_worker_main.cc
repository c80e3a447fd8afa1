// measuring_worker: answers requests on standard input (measuring_worker.h).
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "autoschedule/measure/measuring_worker.h"
#include "autoschedule/measure/protocol/serve.h"

namespace tilewright {
namespace {

// Other processes leave the CPUs to candidates where the kernel and the user's rights allow it; elsewhere nothing
// changes. Where each session is a group of its own to the scheduler, nice values count within the group only.
void TakePrecedence() {
  setsid();
  setpriority(PRIO_PROCESS, 0, -10);
  if (std::FILE* file = std::fopen("/proc/self/autogroup", "w")) {
    std::fputs("-10", file);
    std::fclose(file);
  }
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) {
  tilewright::TakePrecedence();
  const auto worker = tilewright::MeasuringWorker();
  return tilewright::ServeLines(argc, argv,
                                [&](const std::string& request) { return tilewright::ToLine(worker(request)); });
}
