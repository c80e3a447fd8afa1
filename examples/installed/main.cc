// Reads a program, checks it, schedules it, compiles it and calls it on its own data: everything that the tool does,
// from a program that found Tilewright by CMake or pkg-config.
//
//   ./multiply matmul.py schedule.py
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "tilewright/tilewright.h"

namespace {

std::string ReadFile(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

int Fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

// The largest error of C = A B.
double ErrorOf(const tilewright::runtime::Tensor& a, const tilewright::runtime::Tensor& b,
               const tilewright::runtime::Tensor& c, int64_t m, int64_t n, int64_t k) {
  double worst = 0;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += double{a.data<float>()[i * k + l]} * b.data<float>()[l * n + j];
      worst = std::fmax(worst, std::fabs(sum - c.data<float>()[i * n + j]));
    }
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tilewright;
  if (argc != 3) return Fail("usage: multiply PROGRAM SCHEDULE");
  const absl::StatusOr<Module> module = ParseModule(ReadFile(argv[1]), argv[1]);
  if (!module.ok()) return Fail(std::string(module.status().message()));
  const Target target = HostTarget();
  if (VerifyProgram(module->Main(), &target).verdict() == Verdict::kRefuted) return Fail("the program is refuted");

  IntrinRegistry intrins = IntrinRegistry::Builtin();
  Schedule schedule(*module, {.intrins = &intrins});
  if (const auto error = ApplyScheduleScript(ReadFile(argv[2]), argv[2], &schedule)) {
    return Fail(error->diagnostic.ToString());
  }
  if (VerifyProgram(schedule.module().Main(), &target).verdict() == Verdict::kRefuted) {
    return Fail("the scheduled program is refuted");
  }
  const auto code = CompileAndLoad(schedule.module(), target);
  if (!code.ok()) return Fail(std::string(code.status().message()));

  constexpr int64_t kM = 64, kN = 80, kK = 48;
  auto a = runtime::Tensor::Allocate(runtime::kFloat32, {kM, kK}),
       b = runtime::Tensor::Allocate(runtime::kFloat32, {kK, kN}),
       c = runtime::Tensor::Allocate(runtime::kFloat32, {kM, kN});
  if (!a || !b || !c) return Fail("no memory");
  for (int64_t i = 0; i < kM * kK; ++i) a->data<float>()[i] = static_cast<float>(i % 7) - 3;
  for (int64_t i = 0; i < kK * kN; ++i) b->data<float>()[i] = static_cast<float>(i % 5) - 2;
  runtime::ThreadPool pool;
  const TwParallelHook hook = pool.hook();
  TwTensor* arguments[] = {a->abi(), b->abi(), c->abi()};
  const absl::Status status = (*code)->Run("main", arguments, &hook);
  if (!status.ok()) return Fail(std::string(status.message()));
  const double error = ErrorOf(*a, *b, *c, kM, kN, kK);
  std::printf("tilewright %s: largest error %g\n", TILEWRIGHT_VERSION, error);
  return error == 0 ? 0 : 1;
}
