#include "ir/interp/shadow.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/math.h"

namespace tilewright::interp::internal {

StrandId Strands::Append(const Strand& strand) {
  strands_.push_back(strand);
  return first_ + static_cast<StrandId>(strands_.size() - 1);
}

StrandId Strands::Add(StrandId parent, uint32_t execution, int64_t iteration) {
  Strand strand = At(parent);  // the phases go on
  strand.parent = parent;
  strand.execution = execution;
  strand.iteration = iteration;
  strand.before = 0;
  ++strand.depth;
  const int tag = RegionOf(strand).grid_tag;
  const int64_t extent = executions_[execution].extent;
  if (tag >= 0 && extent > 1) {
    Executor executor = executors_[strand.executor];
    executor.at[static_cast<size_t>(tag)] = iteration;
    executor.extent[static_cast<size_t>(tag)] = extent;
    strand.executor = Find(executor);
  }
  return Append(strand);
}

ExecutorId Strands::Find(const Executor& executor) {
  if (executor == Executor()) return 0;
  const auto [known, is_new] = known_executors_.emplace(executor, static_cast<ExecutorId>(executors_.size()));
  if (is_new) executors_.push_back(executor);
  return known->second;
}

ExecutorId Strands::WriterOf(StrandId strand, int32_t access) {
  const uint32_t combined = code_.accesses[static_cast<size_t>(access)].combined_tags;
  if (combined == 0) return ExecutorOf(strand);
  Executor executor = executors_[ExecutorOf(strand)];
  for (size_t tag = 0; tag < Executor::kTags; ++tag) {
    if ((combined >> tag & 1) == 0) continue;
    executor.at[tag] = -1;
    executor.extent[tag] = 1;
  }
  return Find(executor);
}

StrandId Strands::AfterBlockBarrier(StrandId id, uint32_t phase) {
  Strand strand = At(id);
  strand.block_phase = phase;
  strand.before = id;
  return Append(strand);
}

StrandId Strands::AfterWarpBarrier(StrandId id, uint32_t warp, uint32_t phase) {
  // The warp of a thread shows at its first barrier; what it did before belongs to the same warp.
  for (StrandId s = id; s != 0 && At(s).warp == kNoWarp; s = At(s).before) strands_[s - first_].warp = warp;
  Strand strand = At(id);
  strand.warp_phase = phase;
  strand.before = id;
  return Append(strand);
}

void Strands::Forget() {
  first_ += static_cast<StrandId>(strands_.size() - 2);
  strands_.resize(2);
  executions_.clear();
}

bool Strands::Concurrent(StrandId a, StrandId b, int* depth) const {
  a = Known(a);
  b = Known(b);
  if (a == b) return false;
  const Strand &from_a = At(a), &from_b = At(b);
  while (At(a).depth > At(b).depth) a = At(a).parent;
  while (At(b).depth > At(a).depth) b = At(b).parent;
  // The place at which the paths part; copies of one strand before and after a barrier count as one. The part nearest
  // to the root decides, and every strand on the way has the same parent only above it.
  bool concurrent = false;
  for (; a != b && a > kRoot && b > kRoot; a = At(a).parent, b = At(b).parent) {
    const Strand &x = At(a), &y = At(b);
    if (x.execution != y.execution) {
      concurrent = false;
      continue;
    }
    if (x.iteration == y.iteration) continue;
    const bool threads = RegionOf(x).threads;
    const bool same_phase =
        from_a.block_phase == from_b.block_phase &&
        (from_a.warp != from_b.warp || from_a.warp == kNoWarp || from_a.warp_phase == from_b.warp_phase);
    concurrent = !threads || same_phase;
    if (depth != nullptr) *depth = static_cast<int>(x.depth);
  }
  return concurrent;
}

bool Strands::InDifferentBlocks(StrandId a, StrandId b) const {
  a = Known(a);
  b = Known(b);
  while (At(a).depth > At(b).depth) a = At(a).parent;
  while (At(b).depth > At(a).depth) b = At(b).parent;
  bool different = false;
  for (; a != b && a > kRoot && b > kRoot; a = At(a).parent, b = At(b).parent) {
    different |= At(a).iteration != At(b).iteration && RegionOf(At(a)).blocks;
  }
  return different;
}

bool Strands::OfOneThread(StrandId a, StrandId b) const {
  a = Known(a);
  b = Known(b);
  if (At(a).depth != At(b).depth) return false;
  for (; a != b && a > kRoot && b > kRoot; a = At(a).parent, b = At(b).parent) {
    if (At(a).iteration == At(b).iteration) continue;
    if (!RegionOf(At(a)).virtual_threads) return false;
  }
  return true;
}

bool Strands::Combine(int32_t a, int32_t b) const {
  const int combines = code_.accesses[static_cast<size_t>(a)].combines;
  return combines != 0 && combines == code_.accesses[static_cast<size_t>(b)].combines;
}

bool Strands::SeesWrite(OwnerLevel owner, ExecutorId writer, ExecutorId reader) const {
  if (writer == reader || owner == OwnerLevel::kDevice || owner == OwnerLevel::kCore) return true;
  const Executor &w = executors_[writer], &r = executors_[reader];
  // What runs in no loop over a tag, all indices of the tag run, each in memory of its own.
  const auto same = [&](size_t tag) { return w.at[tag] < 0 || w.at[tag] == r.at[tag]; };
  const auto same_from = [&](size_t tag, size_t end) {
    while (tag < end && same(tag)) ++tag;
    return tag == end;
  };
  constexpr size_t kThreads = Executor::kBlockTags, kEnd = Executor::kTags;
  if (!same_from(0, kThreads)) return false;
  if (owner == OwnerLevel::kBlock || owner == OwnerLevel::kCluster) return true;
  if (same_from(kThreads, kEnd)) return true;
  const int64_t size = owner == OwnerLevel::kWarp ? 32 : 128;
  if (owner == OwnerLevel::kThread || w.at[kThreads] < 0) return false;
  // All lanes of a warp run what stands in no loop over threadIdx.x.
  const bool lanes_absent = r.at[kThreads] < 0;
  if (lanes_absent) return w.extent[kThreads] <= size && same_from(kThreads + 1, kEnd);
  const auto group = [&](const Executor& of) {
    int64_t number = 0, count = 1;
    for (size_t tag = kThreads; tag < kEnd; ++tag) {
      if (w.at[tag] < 0) continue;
      if (of.at[tag] < 0) return int64_t{-1};
      number += of.at[tag] * count;
      count *= std::max(w.extent[tag], r.extent[tag]);
    }
    return number / size;
  };
  return group(w) == group(r);
}

std::string Strands::DescribeExecutor(ExecutorId executor) const {
  constexpr const char* kNames[] = {"blockIdx.x",      "blockIdx.y",      "blockIdx.z",
                                    "clusterCtaIdx.x", "clusterCtaIdx.y", "clusterCtaIdx.z",
                                    "threadIdx.x",     "threadIdx.y",     "threadIdx.z"};
  std::string text;
  for (size_t tag = 0; tag < Executor::kTags; ++tag) {
    const int64_t at = executors_[executor].at[tag];
    if (at >= 0) absl::StrAppend(&text, text.empty() ? "" : ", ", kNames[tag], " = ", at);
  }
  return text.empty() ? "no loop over threads" : text;
}

std::string Strands::Describe(StrandId strand) const {
  std::string text;
  for (strand = Known(strand); strand > kRoot; strand = At(strand).parent) {
    const Strand& s = At(strand);
    text = absl::StrCat(RegionOf(s).loop, " = ", s.iteration, text.empty() ? "" : ", ", text);
  }
  return text;
}

void Shadow::Reset(int64_t bytes, int element_bytes, bool initialized, bool init, bool races, bool own,
                   OwnerLevel owner) {
  own_ = own;
  owner_ = owner;
  element_bytes_ = std::max(element_bytes, 1);
  if (init) written_.assign(static_cast<size_t>(bytes), initialized ? 1 : 0);
  if (!races) return;
  cells_.assign(static_cast<size_t>(CeilDiv(bytes, element_bytes_)), Cell());
  const bool owned = owner != OwnerLevel::kDevice && owner != OwnerLevel::kCore;
  writers_.assign(owned ? cells_.size() : 0, 0);
}

std::optional<bool> Shadow::WroteSince(const Shadow& before, int64_t offset) const {
  if (cells_.empty()) return std::nullopt;
  const auto cell = static_cast<size_t>(offset / element_bytes_);
  return !(cells_[cell].write == before.cells_[cell].write);
}

void Shadow::Merge(const Shadow& copy, const Shadow& before) {
  for (size_t i = 0; i < written_.size(); ++i) written_[i] |= copy.written_[i];
  for (size_t i = 0; i < cells_.size(); ++i) {
    if (copy.cells_[i] == before.cells_[i]) continue;
    cells_[i] = copy.cells_[i];
    if (!writers_.empty()) writers_[i] = copy.writers_[i];
  }
}

bool Shadow::Initialized(int64_t offset, int64_t bytes) const {
  const auto first = written_.begin() + offset;
  return std::find(first, first + bytes, 0) == first + bytes;
}

void Shadow::MarkWritten(int64_t offset, int64_t bytes) {
  if (!written_.empty()) std::fill_n(written_.begin() + offset, bytes, uint8_t{1});
}

Shadow::Conflict Shadow::Read(const Strands& strands, int64_t offset, int64_t bytes, StrandId strand, int32_t access) {
  for (int64_t i = offset / element_bytes_; i <= (offset + bytes - 1) / element_bytes_; ++i) {
    Cell& cell = cells_[static_cast<size_t>(i)];
    if (cell.write.strand != 0 && strands.Concurrent(cell.write.strand, strand) &&
        !strands.Combine(cell.write.access, access)) {
      return {cell.write.strand, cell.write.access, true};
    }
    if (!writers_.empty()) {
      const ExecutorId writer = writers_[static_cast<size_t>(i)];
      if (!strands.SeesWrite(owner_, writer, strands.ExecutorOf(strand))) {
        return {cell.write.strand, cell.write.access, true, /*other_executor=*/true, writer};
      }
    }
    const Touch touch{strand, access};
    Touch &first = cell.read[0], &second = cell.read[1];
    int first_depth = 0, pair_depth = 0;
    if (first.strand == strand || second.strand == strand) continue;
    if (first.strand == 0 || !strands.Concurrent(first.strand, strand, &first_depth)) {
      // Ordered after the first, which is no longer needed; the same may hold for the second.
      first = touch;
      if (second.strand != 0 && !strands.Concurrent(second.strand, strand)) second = {};
    } else if (second.strand == 0 || !strands.Concurrent(first.strand, second.strand, &pair_depth) ||
               first_depth < pair_depth) {
      second = touch;
    }
  }
  return {};
}

Shadow::Conflict Shadow::Write(Strands& strands, int64_t offset, int64_t bytes, StrandId strand, int32_t access,
                               bool again) {
  const bool of_blocks = owner_ != OwnerLevel::kDevice && owner_ != OwnerLevel::kThread && owner_ != OwnerLevel::kCore;
  const ExecutorId writer = strands.WriterOf(strand, access);
  const auto race = [&](const Touch& other) {
    return other.strand != 0 && strands.Concurrent(other.strand, strand) && !strands.Combine(other.access, access) &&
           !(of_blocks && strands.InDifferentBlocks(other.strand, strand));
  };
  for (int64_t i = offset / element_bytes_; i <= (offset + bytes - 1) / element_bytes_; ++i) {
    Cell& cell = cells_[static_cast<size_t>(i)];
    if (!writers_.empty()) writers_[static_cast<size_t>(i)] = writer;
    if (own_) {
      cell = {{strand, access}, {}};
      continue;
    }
    if (race(cell.write) && !(again && strands.OfOneThread(cell.write.strand, strand))) {
      return {cell.write.strand, cell.write.access, true};
    }
    for (Touch& read : cell.read) {
      if (race(read)) return {read.strand, read.access, false};
    }
    cell = {{strand, access}, {}};
  }
  return {};
}

}  // namespace tilewright::interp::internal
