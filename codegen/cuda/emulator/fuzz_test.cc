// Random kernels of loads, stores, copies and barriers whose races are known by construction: the emulator reports one
// where there is one, none where there is none, and reads give what was written. A failure names its seed.
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "codegen/cuda/emulator/device/kernel.h"
#include "codegen/cuda/emulator/launch.h"
#include "codegen/cuda/emulator/testing/arrays.h"
#include "gtest/gtest.h"

namespace tilewright::emulator {
namespace {

constexpr int kThreads = 64, kSlots = 24, kPhases = 6, kBytes = kSlots * 16;

enum class Way : uint8_t { kLoad, kStore, kCopyAsync, kBulkLoad };
enum class Barrier : uint8_t { kBlock, kNamed, kMbarrier, kCluster, kNone };

// An access of [first, first + bytes) of shared memory by a thread in a phase. Slots of bulk loads are whole.
struct Step {
  int thread, first, bytes;
  Way way;
  bool waited = true;  // of cp.async: before the phase's barrier
};
struct Program {
  std::vector<Step> phases[kPhases];
  Barrier barriers[kPhases] = {};  // after each phase
};

bool Writes(Way way) { return way != Way::kLoad; }
bool Overlap(const Step& a, const Step& b) { return a.first < b.first + b.bytes && b.first < a.first + a.bytes; }
uint8_t ValueOf(int phase, int byte) { return static_cast<uint8_t>(phase * 37 + byte * 11 + 1); }

int Below(std::mt19937& random, int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); }

// In each phase, bytes are written by one thread or read by any, never both.
Program RandomProgram(std::mt19937& random) {
  Program program;
  for (int phase = 0; phase < kPhases; ++phase) {
    for (int slot = 0; slot < kSlots; ++slot) {
      const bool writes = phase == 0 || Below(random, 3) == 0;
      if (!writes) {
        for (int i = Below(random, 4); i > 0; --i) {
          const int bytes = 1 << Below(random, 5);
          program.phases[phase].push_back(
              {Below(random, kThreads), slot * 16 + Below(random, 16 / bytes) * bytes, bytes, Way::kLoad});
        }
        continue;
      }
      const auto way = static_cast<Way>(1 + Below(random, 3));
      const int least = way == Way::kCopyAsync ? 4 : way == Way::kBulkLoad ? 16 : 1;
      int bytes = 16;
      while (bytes > least && Below(random, 2) == 0) bytes /= 2;
      for (int at = 0; at < 16; at += bytes) {
        program.phases[phase].push_back({Below(random, kThreads), slot * 16 + at, bytes, way});
      }
    }
    program.barriers[phase] = static_cast<Barrier>(Below(random, 4));
  }
  return program;
}

// Whether some pair of conflicting accesses is not ordered, by definition: accesses of different threads are ordered by
// a barrier between their phases; a copy that is not waited for is ordered before nothing.
bool HasRace(const Program& program) {
  int section[kPhases] = {};
  for (int phase = 1; phase < kPhases; ++phase) {
    section[phase] = section[phase - 1] + (program.barriers[phase - 1] == Barrier::kNone ? 0 : 1);
  }
  for (int p = 0; p < kPhases; ++p) {
    for (int q = p; q < kPhases; ++q) {
      for (const Step& a : program.phases[p]) {
        for (const Step& b : program.phases[q]) {
          if (&a == &b || !Overlap(a, b) || (!Writes(a.way) && !Writes(b.way))) continue;
          if (p == q && a.way != Way::kLoad && b.way != Way::kLoad) continue;  // parts of one slot do not overlap
          if (!a.waited && q > p) return true;
          if (section[p] == section[q] && a.thread != b.thread) return true;
        }
      }
    }
  }
  return false;
}

class Runner {
 public:
  explicit Runner(const Program& program) : program_(program), source_(kPhases * kBytes) {
    for (int i = 0; i < kPhases * kBytes; ++i) source_[static_cast<size_t>(i)] = ValueOf(i / kBytes, i % kBytes);
  }

  LaunchResult Run(uint64_t seed) {
    wrong_.clear();
    GlobalMemory memory;
    memory.Add("source", source_.data(), source_.bytes());
    return Launch({.block = {kThreads}, .shared_bytes = kBytes + 16 + kPhases * 8, .seed = seed}, memory,
                  [&] { Kernel(); });
  }
  const std::string& wrong() const { return wrong_; }

 private:
  // The last phase before `phase` that wrote the byte.
  int Writer(int phase, int byte) const {
    for (int p = phase - 1; p >= 0; --p) {
      for (const Step& step : program_.phases[p]) {
        if (Writes(step.way) && step.first <= byte && byte < step.first + step.bytes) return p;
      }
    }
    return -1;
  }

  template <class V>
  void LoadAs(int phase, const Step& step) {
    const V value = tw::Load<V>(tw::SharedAt<uint8_t>(static_cast<uint32_t>(step.first)));
    uint8_t bytes[sizeof(V)];
    std::memcpy(bytes, &value, sizeof(V));
    for (int i = 0; i < step.bytes; ++i) {
      const int writer = Writer(phase, step.first + i);
      if (bytes[i] != ValueOf(writer, step.first + i)) {
        wrong_ = "phase " + std::to_string(phase) + " byte " + std::to_string(step.first + i);
      }
    }
  }
  template <class V>
  void StoreAs(int phase, const Step& step) {
    V value;
    std::memcpy(&value, &source_[static_cast<size_t>(phase * kBytes + step.first)], sizeof(V));
    tw::Store(tw::SharedAt<uint8_t>(static_cast<uint32_t>(step.first)), value);
  }
  void Access(int phase, const Step& step) {
    const auto as = [&](auto v) {
      using V = decltype(v);
      step.way == Way::kLoad ? LoadAs<V>(phase, step) : StoreAs<V>(phase, step);
    };
    if (step.bytes == 1) as(uint8_t{});
    if (step.bytes == 2) as(uint16_t{});
    if (step.bytes == 4) as(uint32_t{});
    if (step.bytes == 8) as(tw::u32x2{});
    if (step.bytes == 16) as(tw::u32x4{});
  }
  void CopyAsync(int phase, const Step& step) {
    const tw::Shared<uint8_t> to = tw::SharedAt<uint8_t>(static_cast<uint32_t>(step.first));
    const tw::Global<const uint8_t> from = tw::Global<const uint8_t>(source_.data()) + phase * kBytes + step.first;
    if (step.bytes == 4) tw::cp_async<4>(to, from);
    if (step.bytes == 8) tw::cp_async<8>(to, from);
    if (step.bytes == 16) tw::cp_async<16>(to, from);
  }

  void RunPhase(int phase, int tid) {
    const tw::Shared<uint64_t> bulk = tw::SharedAt<uint64_t>(kBytes + 16) + phase;
    uint32_t expected = 0;
    bool waits = false;
    for (const Step& step : program_.phases[phase]) {
      if (step.way == Way::kBulkLoad) expected += 16;
      if (step.thread != tid) continue;
      if (step.way == Way::kLoad || step.way == Way::kStore) Access(phase, step);
      if (step.way == Way::kCopyAsync) {
        CopyAsync(phase, step);
        waits = waits || step.waited;
      }
      if (step.way == Way::kBulkLoad) {
        tw::bulk_load(tw::SharedAt<uint8_t>(static_cast<uint32_t>(step.first)),
                      tw::Global<const uint8_t>(source_.data()) + phase * kBytes + step.first, 16, bulk);
      }
    }
    tw::cp_async_commit();
    if (waits) tw::cp_async_wait<0>();
    if (tid == phase) tw::mbarrier_arrive_expect_tx(bulk, expected);
    // Who reads what was copied waits for it; everybody does, after which a barrier orders them.
    tw::mbarrier_wait(bulk, 0);
    // Stores of this phase may be overwritten by copies of a later one.
    tw::fence_proxy_async_shared();
  }

  void Kernel() {
    const int tid = static_cast<int>(threadIdx.x);
    const tw::Shared<uint64_t> all = tw::SharedAt<uint64_t>(kBytes);
    if (tid == 0) {
      tw::mbarrier_init(all, kThreads);
      for (int i = 0; i < kPhases; ++i) tw::mbarrier_init(tw::SharedAt<uint64_t>(kBytes + 16) + i, 1);
      tw::fence_mbarrier_init();
    }
    __syncthreads();
    uint32_t parity = 0;
    for (int phase = 0; phase < kPhases; ++phase) {
      RunPhase(phase, tid);
      switch (program_.barriers[phase]) {
        case Barrier::kBlock:
          __syncthreads();
          break;
        case Barrier::kNamed:
          tw::named_barrier(1 + phase, kThreads);
          break;
        case Barrier::kMbarrier:
          tw::mbarrier_arrive(all);
          tw::mbarrier_wait(all, parity);
          parity ^= 1;
          break;
        case Barrier::kCluster:
          tw::cluster_sync();
          break;
        case Barrier::kNone:
          break;
      }
    }
  }

  const Program& program_;
  Array<uint8_t> source_;
  std::string wrong_;
};

// What the mbarrier of a phase orders: the thread that expects the bytes, with all others. The oracle knows nothing of
// it, so that thread does nothing else in phases without a barrier (see below).
bool OnlyMbarrierOrders(const Program& program) {
  for (int phase = 0; phase < kPhases; ++phase) {
    if (program.barriers[phase] != Barrier::kNone) continue;
    for (int p = 0; p <= phase; ++p) {
      for (const Step& step : program.phases[p]) {
        if (step.thread == phase || step.way == Way::kBulkLoad) return true;
      }
    }
  }
  return false;
}

bool FoundRace(const LaunchResult& result) {
  for (const Fault& fault : result.faults) {
    if (fault.kind == FaultKind::kRace || fault.kind == FaultKind::kUnfenced || fault.kind == FaultKind::kUnwritten)
      return true;
  }
  return false;
}

TEST(Fuzz, RightProgramsHaveNoFault) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const Program program = RandomProgram(random);
    ASSERT_FALSE(HasRace(program)) << "seed " << seed;
    Runner runner(program);
    for (const uint64_t order : {uint64_t{0}, uint64_t{seed} + 1}) {
      ASSERT_THAT(runner.Run(order), RanWell()) << "seed " << seed << " order " << order;
      ASSERT_EQ(runner.wrong(), "") << "seed " << seed << " order " << order;
    }
  }
}

TEST(Fuzz, RacesAreReportedExactlyWhereTheyAre) {
  int racy = 0, harmless = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    Program program = RandomProgram(random);
    // A barrier is missing, or a copy is not waited for.
    const int phase = Below(random, kPhases);
    if (Below(random, 2) == 0) {
      program.barriers[phase] = Barrier::kNone;
      // Fewer accesses, so that many programs stay right.
      for (auto& steps : program.phases) {
        std::erase_if(steps, [&](const Step& s) { return s.way == Way::kLoad && Below(random, 8) != 0; });
      }
      if (OnlyMbarrierOrders(program)) {
        for (auto& steps : program.phases) {
          for (Step& step : steps) {
            if (step.thread < kPhases) step.thread += kPhases;
            if (step.way == Way::kBulkLoad) step.way = Way::kStore;
          }
        }
      }
    } else {
      std::vector<Step*> copies;
      for (Step& step : program.phases[phase]) {
        if (step.way == Way::kCopyAsync) copies.push_back(&step);
      }
      if (copies.empty()) continue;
      Step* chosen = copies[random() % copies.size()];
      const int thread = chosen->thread;
      chosen->thread = kThreads - 1;  // which copies nothing else
      chosen->waited = false;
      for (auto& steps : program.phases) {
        for (Step& step : steps) {
          if (&step != chosen && step.way == Way::kCopyAsync && step.thread == kThreads - 1)
            step.thread = thread % (kThreads - 1);
        }
      }
    }
    const bool race = HasRace(program);
    ++(race ? racy : harmless);
    Runner runner(program);
    for (const uint64_t order : {uint64_t{0}, uint64_t{seed} + 1}) {
      const LaunchResult result = runner.Run(order);
      ASSERT_EQ(FoundRace(result), race) << "seed " << seed << " order " << order << "\n" << FaultsOf(result);
      if (!race) {
        ASSERT_EQ(runner.wrong(), "") << "seed " << seed << " order " << order;
      }
    }
  }
  EXPECT_GT(racy, 50);
  EXPECT_GT(harmless, 20);
}

}  // namespace
}  // namespace tilewright::emulator
