// cp.async.
#include <cstdint>

#include "codegen/cuda/emulator/device/kernel.h"
#include "codegen/cuda/emulator/launch.h"
#include "codegen/cuda/emulator/testing/arrays.h"
#include "gtest/gtest.h"

namespace tilewright::emulator {
namespace {

class CopiesTest : public InAndOutTest {};

TEST_F(CopiesTest, FillsWithZeros) {
  const auto kernel = [&](tw::Global<const uint32_t> in, tw::Global<uint32_t> out) {
    const int lane = static_cast<int>(threadIdx.x);
    const tw::Shared<uint32_t> s = tw::SharedAt<uint32_t>(0);
    tw::cp_async<16>(s + lane * 8, in + lane * 8, lane % 17);
    tw::cp_async<8>(s + lane * 8 + 4, in + lane * 8 + 4);
    tw::cp_async<4>(s + lane * 8 + 6, in + lane * 8 + 6, lane % 2 * 4);
    tw::cp_async<4>(s + lane * 8 + 7, in + lane * 8 + 7);
    tw::cp_async_commit();
    tw::cp_async_wait<0>();
    __syncthreads();
    for (int i = 0; i < 8; ++i) out[lane * 8 + i] = s[(lane ^ 1) * 8 + i];
  };
  for (const uint64_t seed : kSeeds) {
    EXPECT_THAT(Run({.block = {64}, .seed = seed}, [&] { kernel(in_.data(), out_.data()); }), RanWell());
    for (uint32_t lane = 0; lane < 64; ++lane) {
      const uint32_t from = lane ^ 1;
      for (uint32_t byte = 0; byte < 32; ++byte) {
        const bool copied = byte < 16 ? byte < from % 17 : byte < 24 || byte >= 28 || from % 2 == 1;
        const auto* got = reinterpret_cast<const uint8_t*>(&out_[lane * 8]);
        const auto* source = reinterpret_cast<const uint8_t*>(&in_[from * 8]);
        ASSERT_EQ(got[byte], copied ? source[byte] : 0) << lane << " " << byte;
      }
    }
  }
}

// A pipeline of kStages; thread i copies element i and reads that of its neighbour.
struct Pipeline {
  static constexpr int kStages = 3, kSteps = 9;
  bool commit = true, barrier = true;
  int pending = kStages - 2;

  void operator()(tw::Global<const uint32_t> in, tw::Global<uint32_t> out) const {
    const int i = static_cast<int>(threadIdx.x), n = static_cast<int>(blockDim.x);
    const tw::Shared<uint32_t> s = tw::SharedAt<uint32_t>(0);
    const auto load = [&](int step) {
      if (step < kSteps) tw::cp_async<4>(s + step % kStages * n + i, in + step * n + i);
      if (commit) tw::cp_async_commit();
    };
    for (int step = 0; step < kStages - 1; ++step) load(step);
    for (int step = 0; step < kSteps; ++step) {
      if (pending == 0) tw::cp_async_wait<0>();
      if (pending == 1) tw::cp_async_wait<1>();
      if (pending == 2) tw::cp_async_wait<2>();
      if (barrier) __syncthreads();
      load(step + kStages - 1);
      out[step * n + i] = s[step % kStages * n + (i + 1) % n];
    }
  }
};

TEST_F(CopiesTest, GroupsArePipelined) {
  for (const uint64_t seed : kSeeds) {
    for (const int pending : {0, 1}) {
      EXPECT_THAT(Run({.block = {64}, .seed = seed}, [&] { Pipeline{.pending = pending}(in_.data(), out_.data()); }),
                  RanWell());
      for (uint32_t i = 0; i < 64 * 9; ++i) ASSERT_EQ(out_[i], in_[i / 64 * 64 + (i + 1) % 64]);
    }
  }
}

TEST_F(CopiesTest, FaultyPipelinesAreFound) {
  EXPECT_THAT(Run({.block = {64}}, [&] { Pipeline{.pending = 2}(in_.data(), out_.data()); }),
              Faults(FaultKind::kRace, "cp.async by cp.async of thread"));
  EXPECT_THAT(Run({.block = {64}}, [&] { Pipeline{.barrier = false}(in_.data(), out_.data()); }),
              Faults(FaultKind::kRace, "load"));
  const LaunchResult result = Run({.block = {64}}, [&] { Pipeline{.commit = false}(in_.data(), out_.data()); });
  EXPECT_THAT(result, Faults(FaultKind::kRace, "cp.async"));
  EXPECT_THAT(result, Faults(FaultKind::kUnfinished, "has not committed"));
}

TEST_F(CopiesTest, WrongCopies) {
  EXPECT_THAT(Run({}, [&] { tw::cp_async<16>(tw::SharedAt<uint32_t>(4), tw::Global<const uint32_t>(in_.data())); }),
              Faults(FaultKind::kMisaligned, "shared byte 4"));
  EXPECT_THAT(Run({}, [&] { tw::cp_async<16>(tw::SharedAt<uint32_t>(0), tw::Global<const uint32_t>(in_.data()) + 1); }),
              Faults(FaultKind::kMisaligned, "the source"));
  EXPECT_THAT(
      Run({}, [&] { tw::cp_async<16>(tw::SharedAt<uint32_t>(0), tw::Global<const uint32_t>(in_.data()) + 4096); }),
      Faults(FaultKind::kOutOfBounds, "in byte 16384"));
  EXPECT_THAT(Run({}, [&] { tw::cp_async<16>(tw::SharedAt<uint32_t>(8192), tw::Global<const uint32_t>(in_.data())); }),
              Faults(FaultKind::kOutOfBounds, "shared byte 8192"));
  EXPECT_THAT(Run({}, [&] { tw::cp_async<4>(tw::SharedAt<uint32_t>(0), tw::Global<const uint32_t>(in_.data()), 5); }),
              Faults(FaultKind::kArguments, "5 of 4 bytes"));
}

TEST_F(CopiesTest, ArrivesWhenCopiesAreDone) {
  const auto kernel = [&](tw::Global<const uint32_t> in, tw::Global<uint32_t> out, bool arrive) {
    const tw::Shared<uint64_t> bar = tw::SharedAt<uint64_t>(256);
    const tw::Shared<uint32_t> s = tw::SharedAt<uint32_t>(0);
    const int i = static_cast<int>(threadIdx.x);
    if (i == 0) tw::mbarrier_init(bar, 32);
    __syncthreads();
    tw::cp_async<4>(s + i, in + i);
    if (arrive) tw::cp_async_arrive_noinc(bar);
    if (!arrive) tw::mbarrier_arrive(bar), tw::cp_async_commit();
    tw::mbarrier_wait(bar, 0);
    out[i] = s[i ^ 3];
  };
  for (const uint64_t seed : kSeeds) {
    EXPECT_THAT(Run({.block = {32}, .seed = seed}, [&] { kernel(in_.data(), out_.data(), true); }), RanWell());
    for (uint32_t i = 0; i < 32; ++i) ASSERT_EQ(out_[i], in_[i ^ 3]);
  }
  EXPECT_THAT(Run({.block = {32}}, [&] { kernel(in_.data(), out_.data(), false); }),
              Faults(FaultKind::kRace, "cp.async"));
}

}  // namespace
}  // namespace tilewright::emulator
