// Bulk copies and bulk tensor copies, element by element against the definition of a box, a swizzle, a column of
// pixels.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "codegen/cuda/emulator/device/kernel.h"
#include "codegen/cuda/emulator/launch.h"
#include "codegen/cuda/emulator/tensor_map.h"
#include "codegen/cuda/emulator/testing/arrays.h"
#include "gtest/gtest.h"

namespace tilewright::emulator {
namespace {

// The byte where a swizzle puts byte `at` of a tile that begins at a multiple of 1024 bytes: chunks of 16 bytes of each
// 128 bytes are exchanged by the number of the 128 bytes.
uint32_t SwizzledByte(uint32_t at, int span) {
  const uint32_t line = at / 128, chunk = at / 16 % 8, within = at % 16;
  const uint32_t moves = span == 128 ? line % 8 : span == 64 ? line % 4 : span == 32 ? line % 2 : 0;
  return line * 128 + (chunk ^ moves) * 16 + within;
}

constexpr uint32_t kTileBytes = 32768;

// Loads one box into shared memory filled with 0xdeadbeef and copies that out.
void LoadBox(const TwTensorMap& map, tw::Global<uint32_t> out, uint32_t bytes, const int* at, int rank,
             const uint16_t* offsets) {
  const tw::Shared<uint32_t> s = tw::SharedAt<uint32_t>(0);
  const tw::Shared<uint64_t> bar = tw::SharedAt<uint64_t>(kTileBytes);
  for (uint32_t i = threadIdx.x; i < kTileBytes / 4; i += blockDim.x) s[i] = 0xdeadbeefu;
  if (threadIdx.x == 0) {
    tw::mbarrier_init(bar, 1);
    tw::fence_mbarrier_init();
  }
  tw::fence_proxy_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    tw::mbarrier_arrive_expect_tx(bar, bytes);
    if (offsets == nullptr) {
      if (rank == 1) tw::tma_load(s, &map, bar, at[0]);
      if (rank == 2) tw::tma_load(s, &map, bar, at[0], at[1]);
      if (rank == 3) tw::tma_load(s, &map, bar, at[0], at[1], at[2]);
      if (rank == 4) tw::tma_load(s, &map, bar, at[0], at[1], at[2], at[3]);
      if (rank == 5) tw::tma_load(s, &map, bar, at[0], at[1], at[2], at[3], at[4]);
    } else {
      if (rank == 3) tw::tma_load_im2col_3d(s, &map, bar, at[0], at[1], at[2], offsets[0]);
      if (rank == 4) tw::tma_load_im2col_4d(s, &map, bar, at[0], at[1], at[2], at[3], offsets[0], offsets[1]);
      if (rank == 5) {
        tw::tma_load_im2col_5d(s, &map, bar, at[0], at[1], at[2], at[3], at[4], offsets[0], offsets[1], offsets[2]);
      }
    }
  }
  tw::mbarrier_wait(bar, 0);
  for (uint32_t i = threadIdx.x; i < kTileBytes / 4; i += blockDim.x) out[i] = s[i];
}

int Below(std::mt19937& random, int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); }

TEST(TensorLoad, EqualsTheDefinitionOnRandomBoxes) {
  std::mt19937 random(5);
  for (int test = 0; test < 150; ++test) {
    const int rank = 1 + Below(random, 5), swizzle = (int[]){0, 32, 64, 128}[random() % 4];
    const int inner = swizzle == 0 ? 8 * (1 + Below(random, 8)) : swizzle / 2 / (1 + Below(random, 2));
    TiledMap map = {.swizzle_bytes = swizzle, .fill_nan = Below(random, 4) == 0};
    map.extents = {8ull * (1 + random() % 12)};
    map.box = {static_cast<uint32_t>(inner)};
    map.steps = {1};
    int at[5], rows = 1;
    uint64_t elements = map.extents[0];
    at[0] = Below(random, static_cast<int>(map.extents[0]) + 40) - 20;
    for (int d = 1; d < rank; ++d) {
      map.strides.push_back(elements * 2);
      map.extents.push_back(1 + random() % 9);
      map.box.push_back(1 + static_cast<uint32_t>(random() % (rank == 2 ? 32 : 4)));
      map.steps.push_back(Below(random, 3) == 0 ? 2 : 1);
      elements *= map.extents.back();
      at[d] = Below(random, static_cast<int>(map.extents.back()) + 4) - 2;
      rows *= static_cast<int>((map.box.back() + map.steps.back() - 1) / map.steps.back());
    }
    Array<tw::f16> tensor(elements);
    for (size_t i = 0; i < tensor.size(); ++i) tensor[i].bits = static_cast<uint16_t>(random());
    Array<uint32_t> out(kTileBytes / 4);
    GlobalMemory memory;
    memory.Add("tensor", tensor.data(), tensor.bytes());
    memory.Add("out", out.data(), out.bytes(), GlobalMemory::kOutput);
    map.address = tensor.data();
    const auto encoded = EncodeTiled(map);
    ASSERT_TRUE(encoded.ok()) << encoded.status();
    const auto bytes = static_cast<uint32_t>(rows * inner * 2);
    ASSERT_THAT(Launch({.block = {32}, .shared_bytes = kTileBytes + 8, .seed = random() % 3}, memory,
                       [&] { LoadBox(*encoded, out.data(), bytes, at, rank, nullptr); }),
                RanWell());
    std::vector<uint8_t> expected(kTileBytes);
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<uint8_t>(0xdeadbeefu >> (i % 4 * 8));
    for (int row = 0; row < rows; ++row) {
      for (int i = 0; i < inner; ++i) {
        uint64_t offset = 0;
        bool inside = at[0] + i >= 0 && at[0] + i < static_cast<int64_t>(map.extents[0]);
        for (int d = 1, rest = row; d < rank; ++d) {
          const int count = static_cast<int>((map.box[d] + map.steps[d] - 1) / map.steps[d]);
          const int64_t x = at[d] + rest % count * static_cast<int64_t>(map.steps[d]);
          rest /= count;
          inside = inside && x >= 0 && x < static_cast<int64_t>(map.extents[d]);
          offset += static_cast<uint64_t>(x) * map.strides[d - 1] / 2;
        }
        const uint16_t value = inside         ? tensor[offset + static_cast<uint64_t>(at[0] + i)].bits
                               : map.fill_nan ? 0xffff
                                              : 0;
        const uint32_t to = SwizzledByte(static_cast<uint32_t>((row * inner + i) * 2), swizzle);
        expected[to] = static_cast<uint8_t>(value);
        expected[to + 1] = static_cast<uint8_t>(value >> 8);
      }
    }
    ASSERT_EQ(std::memcmp(expected.data(), out.data(), kTileBytes), 0) << "test " << test << " rank " << rank;
  }
}

// A convolution's window: pixel i of the column is output (n, ..., p, q) counted on from the first, tap as the offsets.
TEST(TensorLoad, Im2colWalksOutputsOfConvolutions) {
  std::mt19937 random(6);
  for (int test = 0; test < 120; ++test) {
    const int spatial = 1 + Below(random, 3), channels = 8 * (1 + Below(random, 4)), images = 1 + Below(random, 3);
    int extent[3], taps[3], pad[3], stride[3], dilation[3], outputs[3], total = images;
    Im2colMap map = {.channels = 16, .pixels = 64, .swizzle_bytes = 32};
    map.extents = {static_cast<uint64_t>(channels)};
    uint64_t elements = static_cast<uint64_t>(channels);
    for (int d = 0; d < spatial; ++d) {
      do {
        extent[d] = 3 + Below(random, 7);
        taps[d] = 1 + Below(random, 3);
        pad[d] = Below(random, 3);
        stride[d] = 1 + Below(random, 2);
        dilation[d] = 1 + Below(random, 2);
      } while (extent[d] + 2 * pad[d] < (taps[d] - 1) * dilation[d] + 1);
      outputs[d] = (extent[d] + 2 * pad[d] - (taps[d] - 1) * dilation[d] - 1) / stride[d] + 1;
      total *= outputs[d];
      map.strides.push_back(elements * 2);
      map.extents.push_back(static_cast<uint64_t>(extent[d]));
      elements *= static_cast<uint64_t>(extent[d]);
      map.lower.push_back(-pad[d]);
      map.upper.push_back(pad[d] - (taps[d] - 1) * dilation[d]);
      map.steps.push_back(static_cast<uint32_t>(stride[d]));
    }
    map.strides.push_back(elements * 2);
    map.extents.push_back(static_cast<uint64_t>(images));
    Array<tw::f16> image(elements * static_cast<uint64_t>(images));
    for (size_t i = 0; i < image.size(); ++i) image[i].bits = static_cast<uint16_t>(random());
    map.address = image.data();
    const auto encoded = EncodeIm2col(map);
    ASSERT_TRUE(encoded.ok()) << encoded.status();

    const int first = Below(random, total), channel = 16 * Below(random, (channels + 15) / 16);
    uint16_t offsets[3] = {};
    int tap[3], at[5] = {channel}, rest = first;
    for (int d = 0; d < spatial; ++d) {
      tap[d] = Below(random, taps[d]);
      offsets[d] = static_cast<uint16_t>(tap[d] * dilation[d]);
      at[1 + d] = rest % outputs[d] * stride[d] - pad[d];
      rest /= outputs[d];
    }
    at[1 + spatial] = rest;
    Array<uint32_t> out(kTileBytes / 4);
    GlobalMemory memory;
    memory.Add("image", image.data(), image.bytes());
    memory.Add("out", out.data(), out.bytes(), GlobalMemory::kOutput);
    ASSERT_THAT(Launch({.block = {32}, .shared_bytes = kTileBytes + 8}, memory,
                       [&] { LoadBox(*encoded, out.data(), 64 * 32, at, spatial + 2, offsets); }),
                RanWell());
    for (int pixel = 0; pixel < 64; ++pixel) {
      int left = first + pixel;
      uint64_t offset = 0;
      bool inside = true;
      for (int d = 0; d < spatial; ++d) {
        const int x = left % outputs[d] * stride[d] - pad[d] + tap[d] * dilation[d];
        left /= outputs[d];
        inside = inside && x >= 0 && x < extent[d];
        offset += static_cast<uint64_t>(x) * map.strides[static_cast<size_t>(d)] / 2;
      }
      inside = inside && left < images;
      offset += static_cast<uint64_t>(left) * map.strides.back() / 2;
      for (int c = 0; c < 16; ++c) {
        const bool exists = inside && channel + c < channels;
        const uint16_t value = exists ? image[offset + static_cast<uint64_t>(channel + c)].bits : 0;
        const auto* bytes = reinterpret_cast<const uint8_t*>(out.data());
        const uint32_t byte = SwizzledByte(static_cast<uint32_t>((pixel * 16 + c) * 2), 32);
        ASSERT_EQ(bytes[byte] | bytes[byte + 1] << 8, value) << test << " pixel " << pixel << " channel " << c;
      }
    }
  }
}

// Stores a box of 64 x 8 floats, or combines it.
void StoreBox(const TwTensorMap& map, int kind, int x, int y, bool fence, bool wait) {
  const tw::Shared<float> s = tw::SharedAt<float>(0);
  for (int i = static_cast<int>(threadIdx.x); i < 256; i += 32) s[i] = static_cast<float>(i % 19) - 9;
  if (fence) tw::fence_proxy_async_shared();
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (kind == 0) tw::tma_store(&map, s, x, y);
  if (kind == 1) tw::tma_reduce_add(&map, s, x, y);
  if (kind == 2) tw::tma_reduce_max(&map, s, x, y);
  if (kind == 3) tw::tma_reduce_min(&map, s, x, y);
  tw::bulk_commit();
  if (wait) tw::bulk_wait<0>();
}

TEST(TensorStore, ClipsAndCombines) {
  std::mt19937 random(8);
  for (int test = 0; test < 60; ++test) {
    Array<float> to(40 * 10);
    Fill(to, random);
    std::vector<float> expected(to.data(), to.data() + to.size());
    const int x = Below(random, 60) - 10, y = Below(random, 16) - 4, kind = Below(random, 4);
    const auto map = EncodeTiled({.type = MapType::kF32,
                                  .address = to.data(),
                                  .extents = {40, 10},
                                  .strides = {160},
                                  .box = {32, 8},
                                  .swizzle_bytes = 128});
    ASSERT_TRUE(map.ok()) << map.status();
    GlobalMemory memory;
    memory.Add("to", to.data(), to.bytes(), GlobalMemory::kInOut);
    ASSERT_THAT(Launch({.block = {32}, .shared_bytes = 1024}, memory, [&] { StoreBox(*map, kind, x, y, true, true); }),
                RanWell());
    for (int r = 0; r < 8; ++r) {
      for (int c = 0; c < 32; ++c) {
        if (x + c < 0 || x + c >= 40 || y + r < 0 || y + r >= 10) continue;
        const float v = static_cast<float>(SwizzledByte(static_cast<uint32_t>((r * 32 + c) * 4), 128) / 4 % 19) - 9;
        float& e = expected[static_cast<size_t>((y + r) * 40 + x + c)];
        e = kind == 0 ? v : kind == 1 ? e + v : kind == 2 ? std::fmax(e, v) : std::fmin(e, v);
      }
    }
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(to[i], expected[i]) << test << " at " << i;
  }
}

TEST(TensorStore, FaultsAreNamed) {
  Array<float> to(40 * 10);
  const auto map =
      EncodeTiled({.type = MapType::kF32, .address = to.data(), .extents = {40, 10}, .strides = {160}, .box = {32, 8}});
  ASSERT_TRUE(map.ok());
  GlobalMemory memory;
  memory.Add("to", to.data(), to.bytes(), GlobalMemory::kOutput);
  const auto run = [&](const std::function<void()>& kernel) {
    return Launch({.block = {32}, .shared_bytes = 2048}, memory, kernel);
  };
  EXPECT_THAT(run([&] { StoreBox(*map, 0, 0, 0, false, true); }),
              Faults(FaultKind::kUnfenced, "bulk store by thread 0 of block (0, 0, 0) at shared byte"));
  EXPECT_THAT(run([&] { StoreBox(*map, 0, 0, 0, true, false); }), Faults(FaultKind::kUnfinished, "has not waited for"));
  EXPECT_THAT(run([&] {
                StoreBox(*map, 0, 0, 0, true, true);
                __syncthreads();
                if (threadIdx.x == 0) tw::tma_store(&*map, tw::SharedAt<float>(0), 0, 0);
              }),
              Faults(FaultKind::kUnfinished, "has not committed"));
  // The source is overwritten before it was read.
  EXPECT_THAT(run([&] {
                StoreBox(*map, 0, 0, 0, true, false);
                if (threadIdx.x == 0) {
                  tw::SharedAt<float>(0)[5] = 1;
                  tw::bulk_wait<0>();
                }
              }),
              Faults(FaultKind::kRace, "bulk store by bulk stores of thread 0"));
  // Two threads that nothing orders store the same elements, or one stores what the engine does.
  EXPECT_THAT(run([&] {
                StoreBox(*map, 0, 0, 0, true, true);
                if (threadIdx.x != 1) return;
                tw::tma_store(&*map, tw::SharedAt<float>(0), 0, 0);
                tw::bulk_commit();
                tw::bulk_wait<0>();
              }),
              Faults(FaultKind::kRace, "bulk store by thread 1 of block (0, 0, 0) at to byte 0: a write that is not"));
  EXPECT_THAT(run([&] {
                StoreBox(*map, 0, 0, 0, true, true);
                if (threadIdx.x == 1) tw::Global<float>(to.data())[3] = 1;
              }),
              Faults(FaultKind::kRace, "store by thread 1"));
  // Its source may be overwritten after wait_group.read, its destination may not be read.
  EXPECT_THAT(run([&] {
                StoreBox(*map, 0, 0, 0, true, false);
                if (threadIdx.x != 0) return;
                tw::bulk_wait_read<0>();
                tw::SharedAt<float>(0)[5] = 1;
              }),
              RanWell());
  EXPECT_THAT(run([&] {
                StoreBox(*map, 0, 0, 0, true, false);
                if (threadIdx.x != 0) return;
                tw::bulk_wait_read<0>();
                (void)static_cast<float>(tw::Global<float>(to.data())[3]);
              }),
              Faults(FaultKind::kRace, "load by thread 0"));
}

TEST(TensorLoad, FaultsAreNamed) {
  Array<tw::f16> tensor(64 * 64);
  std::mt19937 random(1);
  Fill(tensor, random);
  GlobalMemory memory;
  memory.Add("tensor", tensor.data(), tensor.bytes());
  const auto map = EncodeTiled(
      {.address = tensor.data(), .extents = {64, 64}, .strides = {128}, .box = {64, 8}, .swizzle_bytes = 128});
  ASSERT_TRUE(map.ok());
  struct Options {
    uint32_t bytes = 1024, at = 0;
    int coordinates = 2;
    bool fence_init = true, fence_stores = true, write_first = false, encoded = true;
  };
  const auto run = [&](const Options& o) {
    return Launch({.block = {32}, .shared_bytes = 2048}, memory, [&] {
      const TwTensorMap none = {};
      const tw::Shared<uint64_t> bar = tw::SharedAt<uint64_t>(1536);
      const tw::Shared<uint32_t> to = tw::SharedAt<uint32_t>(o.at);
      if (threadIdx.x == 0) {
        tw::mbarrier_init(bar, 1);
        if (o.fence_init) tw::fence_mbarrier_init();
      }
      if (o.write_first) to[static_cast<int>(threadIdx.x)] = 1;
      if (o.write_first && o.fence_stores) tw::fence_proxy_async_shared();
      __syncthreads();
      if (threadIdx.x == 0) {
        tw::mbarrier_arrive_expect_tx(bar, o.bytes);
        if (o.coordinates == 2) tw::tma_load(to, o.encoded ? &*map : &none, bar, 0, 0);
        if (o.coordinates == 3) tw::tma_load(to, &*map, bar, 0, 0, 0);
        if (o.coordinates == 4) tw::tma_load_im2col_4d(to, &*map, bar, 0, 0, 0, 0, 0, 0);
      }
      tw::mbarrier_wait(bar, 0);
    });
  };
  EXPECT_THAT(run({}), RanWell());
  EXPECT_THAT(run({.write_first = true}), RanWell());
  EXPECT_THAT(run({.fence_stores = false, .write_first = true}), Faults(FaultKind::kUnfenced, "bulk load"));
  EXPECT_THAT(run({.fence_init = false}), Faults(FaultKind::kUnfenced, "the mbarrier's initialization is not visible"));
  EXPECT_THAT(run({.bytes = 1040}), Faults(FaultKind::kDeadlock, "0 of 1 arrivals and 16 bytes"));
  EXPECT_THAT(run({.bytes = 1008}), Faults(FaultKind::kDeadlock, "0 of 1 arrivals and -16 bytes"));
  EXPECT_THAT(run({.at = 16}), Faults(FaultKind::kTensorMap, "not a multiple of 128"));
  EXPECT_THAT(run({.at = 1152}), Faults(FaultKind::kMbarrier, "the bytes of an mbarrier"));
  EXPECT_THAT(run({.at = 1664}), Faults(FaultKind::kOutOfBounds, "shared byte 2048"));
  EXPECT_THAT(run({.coordinates = 3}), Faults(FaultKind::kTensorMap, "3 coordinates for a map of rank 2"));
  EXPECT_THAT(run({.coordinates = 4}), Faults(FaultKind::kTensorMap, "4 coordinates"));
  EXPECT_THAT(run({.encoded = false}), Faults(FaultKind::kTensorMap, "was not encoded"));
  // Nobody waits: the block ends first.
  const LaunchResult result = Launch({.shared_bytes = 2048}, memory, [&] {
    const tw::Shared<uint64_t> bar = tw::SharedAt<uint64_t>(1536);
    tw::mbarrier_init(bar, 1);
    tw::fence_mbarrier_init();
    tw::mbarrier_arrive_expect_tx(bar, 1024);
    tw::tma_load(tw::SharedAt<uint32_t>(0), &*map, bar, 0, 0);
  });
  EXPECT_THAT(result, Faults(FaultKind::kUnfinished, "while bulk copies to its shared memory are under way"));
}

// Each block of a cluster fetches a part of a tile for all.
TEST(TensorLoad, Multicast) {
  Array<tw::f16> tensor(64 * 32);
  std::mt19937 random(1);
  Fill(tensor, random);
  Array<uint32_t> out(4 * 1024);
  GlobalMemory memory;
  memory.Add("tensor", tensor.data(), tensor.bytes());
  memory.Add("out", out.data(), out.bytes(), GlobalMemory::kOutput);
  const auto map = EncodeTiled({.address = tensor.data(), .extents = {64, 32}, .strides = {128}, .box = {64, 8}});
  ASSERT_TRUE(map.ok());
  const auto kernel = [&](tw::Global<uint32_t> to, uint16_t mask, bool sync) {
    const tw::Shared<uint32_t> s = tw::SharedAt<uint32_t>(0);
    const tw::Shared<uint64_t> bar = tw::SharedAt<uint64_t>(4096);
    const int rank = static_cast<int>(tw::cluster_rank());
    if (threadIdx.x == 0) {
      tw::mbarrier_init(bar, 1);
      tw::fence_mbarrier_init();
      tw::mbarrier_arrive_expect_tx(bar, 4096);
    }
    tw::cluster_sync();
    if (threadIdx.x == 0) tw::tma_load_multicast(s + rank * 256, &*map, bar, mask, 0, rank * 8);
    tw::mbarrier_wait(bar, 0);
    for (int i = static_cast<int>(threadIdx.x); i < 1024; i += 32) to[static_cast<int>(blockIdx.x) * 1024 + i] = s[i];
    if (sync) tw::cluster_sync();
  };
  const LaunchOptions options = {.grid = {4}, .block = {32}, .cluster = {4}, .shared_bytes = 4104};
  for (uint64_t seed = 0; seed < 4; ++seed) {
    LaunchOptions seeded = options;
    seeded.seed = seed;
    EXPECT_THAT(Launch(seeded, memory, [&] { kernel(out.data(), 15, true); }), RanWell());
    for (size_t i = 0; i < 4096; ++i) ASSERT_EQ(out[i], reinterpret_cast<const uint32_t*>(tensor.data())[i % 1024]);
  }
  EXPECT_THAT(Launch(options, memory, [&] { kernel(out.data(), 7, true); }),
              Faults(FaultKind::kDeadlock, "4096 bytes"));
  EXPECT_THAT(Launch(options, memory, [&] { kernel(out.data(), 31, true); }),
              Faults(FaultKind::kArguments, "the mask 31"));
}

TEST(Bulk, CopiesRunsOfBytes) {
  Array<float> in(256), out(256), sum(256);
  std::mt19937 random(1);
  Fill(in, random);
  GlobalMemory memory;
  memory.Add("in", in.data(), in.bytes());
  memory.Add("out", out.data(), out.bytes(), GlobalMemory::kOutput);
  memory.Add("sum", sum.data(), sum.bytes(), GlobalMemory::kInOut);
  for (size_t i = 0; i < 256; ++i) sum[i] = 1;
  const auto kernel = [&](uint32_t bytes) {
    const tw::Shared<float> s = tw::SharedAt<float>(0), copy = tw::SharedAt<float>(1024);
    const tw::Shared<uint64_t> bar = tw::SharedAt<uint64_t>(2048);
    const uint32_t rank = tw::cluster_rank();
    tw::mbarrier_init(bar, 1), tw::mbarrier_init(bar + 1, 1);
    tw::fence_mbarrier_init();
    tw::mbarrier_arrive_expect_tx(bar, bytes);
    tw::mbarrier_arrive_expect_tx(bar + 1, bytes);
    tw::cluster_sync();
    tw::bulk_load(s, tw::Global<const float>(in.data()) + static_cast<int>(rank) * 128, bytes, bar);
    tw::mbarrier_wait(bar, 0);
    tw::bulk_copy_cluster(tw::map_shared(copy, rank ^ 1), s, bytes, tw::map_shared(bar + 1, rank ^ 1));
    tw::mbarrier_wait(bar + 1, 0);
    tw::bulk_store(tw::Global<float>(out.data()) + static_cast<int>(rank) * 128, copy, bytes);
    tw::bulk_reduce_add(tw::Global<float>(sum.data()), s, bytes);
    tw::bulk_commit();
    tw::bulk_wait<0>();
    tw::cluster_sync();
  };
  const LaunchOptions options = {.grid = {2}, .cluster = {2}, .shared_bytes = 2064};
  EXPECT_THAT(Launch(options, memory, [&] { kernel(512); }), RanWell());
  for (size_t i = 0; i < 256; ++i) {
    EXPECT_EQ(out[i], in[i ^ 128]);
    EXPECT_FLOAT_EQ(sum[i], i < 128 ? 1 + in[i] + in[i + 128] : 1);
  }
  EXPECT_THAT(Launch(options, memory, [&] { kernel(500); }), Faults(FaultKind::kMisaligned, "not all multiples of 16"));
}

}  // namespace
}  // namespace tilewright::emulator
