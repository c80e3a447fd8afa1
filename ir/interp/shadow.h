// The shadow of memory that the detectors keep: which bytes were ever written, and who touched each element last.
//
// Who: a strand, one iteration of a loop whose iterations may run at once. Strands form a tree (a strand inside a
// parallel loop inside a strand). Two strands run at once when, at the point where their paths part, they are different
// iterations of one execution of a loop; for threads, also no barrier lies between them. Two accesses of an element
// race when their strands run at once and at least one writes.
//
// Per element three accesses suffice: the last write (two that run at once are a race at once) and two reads that run
// at once and part as high up in the tree as any (a later write that races with some read also races with one of
// those).
//
// Memory that is narrower than the device belongs to executors: threads, warps, blocks of threads. Whoever reads an
// element of it must be who wrote it last, since each executor has elements of its own. An executor is where it stands
// in the grid: parts of a program that share such memory are one kernel (codegen/lower/gpu/unify_threads.h).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/buffer.h"
#include "ir/interp/bytecode.h"

namespace tilewright::interp::internal {

using StrandId = uint32_t;  // 0: none

inline constexpr size_t kMaxStrands = size_t{1} << 24;  // that are remembered at once: about 700 MB

// The place in the grid at which code runs: the iterations of loops over blockIdx, clusterCtaIdx and threadIdx, each in
// x, y, z.
struct Executor {
  static constexpr size_t kBlockTags = 6, kTags = 9;
  std::array<int64_t, kTags> at = {-1, -1, -1, -1, -1, -1, -1, -1, -1};  // -1: in no such loop, so that all run it
  std::array<int64_t, kTags> extent = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  auto operator<=>(const Executor&) const = default;
};
using ExecutorId = uint32_t;  // 0: outside of all such loops

class Strands {
 public:
  explicit Strands(const Code& code) : code_(code), executors_(1) { strands_.resize(2); }
  static constexpr StrandId kRoot = 1;

  // A new execution of the loop `region`, with so many iterations.
  uint32_t BeginRegion(int32_t region, int64_t extent) {
    executions_.push_back({region, extent});
    return static_cast<uint32_t>(executions_.size() - 1);
  }
  // Iteration `iteration` of an execution, inside of `parent`.
  StrandId Add(StrandId parent, uint32_t execution, int64_t iteration);
  // The same thread after a barrier.
  StrandId AfterBlockBarrier(StrandId strand, uint32_t phase);
  StrandId AfterWarpBarrier(StrandId strand, uint32_t warp, uint32_t phase);

  // Whether accesses in both may happen at the same time; `depth`: that of the strands where their paths part.
  bool Concurrent(StrandId a, StrandId b, int* depth = nullptr) const;
  // Whether they are in different blocks of threads.
  bool InDifferentBlocks(StrandId a, StrandId b) const;
  // Whether they are virtual threads of one thread.
  bool OfOneThread(StrandId a, StrandId b) const;
  // Whether two accesses combine values of threads into the same element, in which order they come.
  bool Combine(int32_t a, int32_t b) const;
  // Who runs a strand, and whether memory of `owner` that one wrote is the memory that the other one reads.
  ExecutorId ExecutorOf(StrandId strand) const { return At(Known(strand)).executor; }
  // Who has what an access writes: the strand's executor, or all the threads that combine it.
  ExecutorId WriterOf(StrandId strand, int32_t access);
  bool SeesWrite(OwnerLevel owner, ExecutorId writer, ExecutorId reader) const;
  // "blockIdx.x = 1, threadIdx.x = 3", or "no loop over threads"
  std::string DescribeExecutor(ExecutorId executor) const;
  // "i = 3, threadIdx.x = 1"
  std::string Describe(StrandId strand) const;
  size_t size() const { return strands_.size(); }
  // All that ran so far comes before all that will run: nothing runs beside the root. Its strands count as the root.
  void Forget();

 private:
  static constexpr uint32_t kNoWarp = ~uint32_t{0};
  struct Strand {
    StrandId parent = 0;
    uint32_t execution = 0;
    int64_t iteration = 0;
    uint32_t depth = 0;
    uint32_t block_phase = 0;
    uint32_t warp = kNoWarp, warp_phase = 0;
    StrandId before = 0;  // the same thread before its last barrier
    ExecutorId executor = 0;
  };
  struct Execution {
    int32_t region;
    int64_t extent;
  };
  const Strand& At(StrandId id) const { return strands_[id <= kRoot ? id : id - first_]; }
  StrandId Append(const Strand& strand);
  ExecutorId Find(const Executor& executor);
  // What is forgotten is the root.
  StrandId Known(StrandId id) const { return id < first_ + 2 && id != 0 ? kRoot : id; }

  const Code& code_;
  std::vector<Strand> strands_;  // none, the root, then those with ids from first_ + 2 on
  StrandId first_ = 0;
  const Region& RegionOf(const Strand& strand) const {
    return code_.regions[static_cast<size_t>(executions_[strand.execution].region)];
  }
  std::vector<Execution> executions_;
  std::vector<Executor> executors_;  // by ExecutorId
  std::map<Executor, ExecutorId> known_executors_;
};

class Shadow {
 public:
  // For `bytes` of memory in elements of `element_bytes`.
  // `own`: each strand has a copy of the memory, so that writes never race; reading what another strand wrote does.
  // `owner`: whose memory it is; writes of different blocks of threads to memory that is not the device's never race.
  void Reset(int64_t bytes, int element_bytes, bool initialized, bool init, bool races, bool own = false,
             OwnerLevel owner = OwnerLevel::kDevice);
  // Whether the last write of the element at an offset came after `before`, a copy of this one; nothing when writes are
  // not watched.
  std::optional<bool> WroteSince(const Shadow& before, int64_t offset) const;
  // What a thread did in its copy of the memory, which was like `before` when the thread began.
  void Merge(const Shadow& copy, const Shadow& before);
  // Each returns whether all is well.
  bool Initialized(int64_t offset, int64_t bytes) const;
  void MarkWritten(int64_t offset, int64_t bytes);

  struct Conflict {
    StrandId strand = 0;  // 0: none
    int32_t access = 0;
    bool wrote = false;
    bool other_executor = false;  // no race: another executor wrote its own element
    ExecutorId executor = 0;      // that one
  };
  Conflict Read(const Strands& strands, int64_t offset, int64_t bytes, StrandId strand, int32_t access);
  // `same_value`: whether what is written is there already, which virtual threads of one thread may repeat.
  template <class SameValue>
  Conflict Write(Strands& strands, int64_t offset, int64_t bytes, StrandId strand, int32_t access,
                 const SameValue& same_value) {
    const Conflict conflict = Write(strands, offset, bytes, strand, access, /*again=*/false);
    const bool again = conflict.wrote && strands.OfOneThread(conflict.strand, strand) && same_value();
    return again ? Write(strands, offset, bytes, strand, access, /*again=*/true) : conflict;
  }

 private:
  // `again`: an earlier write of the same value by another virtual thread is none.
  Conflict Write(Strands& strands, int64_t offset, int64_t bytes, StrandId strand, int32_t access, bool again);

  struct Touch {
    StrandId strand = 0;
    int32_t access = 0;
    bool operator==(const Touch&) const = default;
  };
  struct Cell {
    Touch write, read[2];
    bool operator==(const Cell&) const = default;
  };
  int element_bytes_ = 1;
  bool own_ = false;
  OwnerLevel owner_ = OwnerLevel::kDevice;
  std::vector<uint8_t> written_;     // per byte; empty when not watched
  std::vector<Cell> cells_;          // per element
  std::vector<ExecutorId> writers_;  // who wrote each last; empty for memory that all executors share
};

}  // namespace tilewright::interp::internal
