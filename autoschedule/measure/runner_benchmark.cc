// How long it takes until a candidate's time is known: the reference, compiling, measuring.
//
//   bazel run //autoschedule/measure:runner_benchmark
#include <cstdio>

#include "autoschedule/measure/runner.h"
#include "autoschedule/sketch/auto_schedule.h"
#include "codegen/runtime/timer.h"
#include "intrin/registry.h"
#include "ir/ops/conv.h"
#include "ir/ops/matmul.h"

namespace tilewright {
namespace {

double SecondsSince(int64_t start) { return static_cast<double>(runtime::NowNanoseconds() - start) * 1e-9; }

void MeasureOne(const char* name, const Function& function) {
  const Module program(function);
  const Target target = HostTarget();
  IntrinRegistry intrins = IntrinRegistry::Builtin();
  const AutoScheduled scheduled = AutoSchedule(program, target, &intrins);
  const int64_t start = runtime::NowNanoseconds();
  const auto runner = LocalRunner::Start(program, target);
  const double reference = SecondsSince(start);
  if (!runner.ok()) {
    std::printf("%-20s %s\n", name, std::string(runner.status().message()).c_str());
    return;
  }
  const Module candidate = scheduled.schedule.module();
  // The first candidate of a runner starts the measuring worker and fills its tensors.
  for (const char* which : {"first", "second"}) {
    const int64_t begin = runtime::NowNanoseconds();
    const Measurement result = (*runner)->Run({&candidate, 1})[0];
    std::printf(
        "%-20s reference %.2f s, %s candidate %.2f s (compiling %.2f s): %.4f ms of %zu samples, error %.2g%s\n", name,
        reference, which, SecondsSince(begin), result.compile_seconds, result.MedianSeconds() * 1e3,
        result.seconds.size(), result.max_error, result.message.c_str());
  }
}

ops::ConvShape Convolution(int64_t channels, int64_t extent, int64_t kernel) {
  ops::ConvShape shape{.batch = 1, .in_channels = channels, .out_channels = channels};
  for (int d = 0; d < 2; ++d) {
    shape.spatial.push_back(extent);
    shape.windows.push_back({.kernel = kernel, .padding = kernel / 2});
  }
  return shape;
}

}  // namespace
}  // namespace tilewright

int main() {
  using namespace tilewright;  // NOLINT
  MeasureOne("GMM 128", ops::Matmul(128, 128, 128));
  MeasureOne("GMM 1024", ops::Matmul(1024, 1024, 1024));
  MeasureOne("GMM 1024 u8s8", ops::Matmul(1024, 1024, 1024, *ops::OperandTypes::Parse("u8s8")));
  MeasureOne("C2D 56x56x64", ops::Conv(Convolution(64, 56, 3)));
}
