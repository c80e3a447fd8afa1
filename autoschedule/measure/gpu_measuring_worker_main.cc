// gpu_measuring_worker [--emulate]: answers requests on standard input (gpu_measuring_worker.h).
#include <cstring>
#include <string>
#include <vector>

#include "autoschedule/measure/gpu_measuring_worker.h"
#include "autoschedule/measure/protocol/serve.h"

int main(int argc, char** argv) {
  bool emulate = false;
  std::vector<char*> others;
  for (int i = 0; i < argc; ++i) {
    if (std::strcmp(argv[i], "--emulate") == 0) {
      emulate = true;
    } else {
      others.push_back(argv[i]);
    }
  }
  const auto worker = tilewright::GpuMeasuringWorker(emulate);
  return tilewright::ServeLines(static_cast<int>(others.size()), others.data(),
                                [&](const std::string& request) { return tilewright::ToLine(worker(request)); });
}
