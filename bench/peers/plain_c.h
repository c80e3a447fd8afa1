// Plain loops in C, compiled by the system's compiler and run on our own threads: what a program would take without
// any of our work.
//
//   // jacobi.c: the iterations [begin, end) of the outermost loop, and how many it has; then main's parameters in
//   order const long jacobi_iterations = 400; void jacobi(long begin, long end, const float *a, float *b) { ... }
//
//   absl::StatusOr<PlainC> code = PlainC::Compile("jacobi.c", "clang-19 -O3 -march=native");
//   code->Run(pool, {a.data(), b.data()});
//
// That is what `#pragma omp parallel for` makes of the outermost loop, on the same threads as the program beside it.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "codegen/runtime/thread_pool.h"

namespace tilewright::bench {

// What the compiler is told, and what lets it add in another order, as our reductions do.
inline constexpr char kPlainCFlags[] = "-O3 -march=native";
inline constexpr char kFastMath[] = "-ffast-math";

class PlainC {
 public:
  // The function and the number of its iterations are named after the file. `compiler`: a command with its flags.
  static absl::StatusOr<PlainC> Compile(const std::string& path, const std::string& compiler);

  // `args`: one pointer for each parameter after the first two, 8 at most.
  void Run(runtime::ThreadPool& pool, std::span<void* const> args) const;

 private:
  PlainC(std::shared_ptr<void> library, void* function, int64_t iterations)
      : library_(std::move(library)), function_(function), iterations_(iterations) {}

  std::shared_ptr<void> library_;
  void* function_;
  int64_t iterations_;
};

}  // namespace tilewright::bench
