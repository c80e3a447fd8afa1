// What a user's intrinsic calls in tune_robustness_test: a product of tiles that now and then crashes, hangs or wants
// all memory, and that writes down when it ran.
//
// TILE_LOG names a file of zeros of the size of TileLog, which all processes that load this library share.
#include "tools/unreliable_tile.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <vector>

namespace tilewright {
namespace {

int64_t Now() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

TileLog* OpenLog() {
  const char* path = std::getenv("TILE_LOG");
  const int fd = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  void* memory = mmap(nullptr, sizeof(TileLog), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return memory == MAP_FAILED ? nullptr : static_cast<TileLog*>(memory);
}

void Misbehave(const TileLog& log, int64_t call) {
  if (call == log.crash_at) std::abort();
  if (call == log.hang_at) {
    for (;;) pause();
  }
  if (call == log.eat_memory_at) {
    std::vector<std::vector<char>> eaten;
    for (;;) eaten.emplace_back().reserve(size_t{1} << 30);
  }
}

// One entry for each stay of a process: a call soon after the process's last one continues it.
void WriteDown(TileLog& log, int64_t begin, int64_t end) {
  static TileStay* stay = nullptr;
  if (stay == nullptr || begin - stay->end > kStayGap) {
    const int64_t place = log.stays.fetch_add(1);
    if (place >= kMostStays) return;
    stay = &log.stay[place];
    stay->process = getpid();
    stay->begin = begin;
  }
  stay->end = end;
}

}  // namespace
}  // namespace tilewright

extern "C" int unreliable_tile(double* c, const double* a, const double* b, int stride_a, int stride_b, int stride_c) {
  using namespace tilewright;  // NOLINT(build/namespaces): C names cannot be in it.
  static TileLog* const log = OpenLog();
  const int64_t begin = Now();
  if (log != nullptr) Misbehave(*log, log->calls.fetch_add(1) + 1);
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      double sum = c[i * stride_c + j];
      for (int k = 0; k < 16; ++k) sum += a[i * stride_a + k] * b[j * stride_b + k];
      c[i * stride_c + j] = sum;
    }
  }
  if (log != nullptr) WriteDown(*log, begin, Now());
  return 0;
}
