#include "autoschedule/cost/gpu/kernel_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "autoschedule/cost/gpu/lane_requests.h"
#include "autoschedule/cost/gpu/loop_chain.h"
#include "autoschedule/cost/memory_traffic.h"
#include "intrin/cuda/call_roles.h"
#include "ir/annotations.h"
#include "ir/thread_tags.h"
#include "target/clusters.h"
#include "target/costs.h"
#include "verify/memory/memory_limits.h"

namespace tilewright {
namespace {

// An access computes its address by an instruction.
constexpr double kAddressInstructions = 1;

// What units take together whose times overlap (GpuCosts::overlap_order).
double Norm(double order, std::initializer_list<double> times) {
  double sum = 0, most = 0;
  for (const double time : times) most = std::max(most, time);
  if (most == 0) return 0;
  for (const double time : times) sum += std::pow(time / most, order);
  return most * std::pow(sum, 1 / order);
}

// What one kernel does. Work is that of one block.
struct KernelWork {
  const ForNode* root = nullptr;
  double launches = 1;
  std::map<std::string, double> extents;  // of the grid, by axis
  double turns = 1;                       // iterations of a loop over blocks that one block runs
  double instructions = 0;                // of warps
  double arithmetic = 0, special = 0;     // of threads
  double matrix_cycles = 0, shared_cycles = 0;
  double l2_bytes = 0;      // what blocks of a cluster bring to each other is read once
  double alone_bytes = 0;   // from L2 without clusters
  double filled_bytes = 0;  // into shared memory, by the engine
  // Cycles that a thread waits in each loop, for what comes meanwhile and for what it asks for then; -1: in no loop.
  std::map<int, double> ahead, waits;
  std::map<int, std::pair<double, double>> memory_bytes;  // read and written, by buffer

  double Blocks() const {
    double blocks = 1;
    for (const auto& [axis, extent] : extents) blocks *= extent;
    return blocks;
  }
  int64_t BlocksOfCluster() const {
    double blocks = 1;
    for (const auto& [axis, extent] : extents) blocks *= IsClusterTag(axis) ? extent : 1;
    return static_cast<int64_t>(blocks);
  }
};

class Projector {
 public:
  Projector(const ProgramFacts& facts, const Target& target) : facts_(facts), target_(target), gpu_(target.gpu_part()) {
    for (const LoopFacts& loop : facts.loops) extents_.push_back(static_cast<double>(loop.extent));
  }

  Projection Run() {
    for (size_t l = 0; l < facts_.loops.size(); ++l) AddGrid(static_cast<int>(l));
    for (const OperationFacts& operation : facts_.operations) Add(operation);
    for (const AccessFacts& access : facts_.accesses) Add(access);
    Projection p{.iterations = IterationsOfAThread()};
    std::map<const ForNode*, KernelMemoryUse> memory;
    for (const KernelMemoryUse& use : MemoryOfKernels(facts_.function, gpu_)) {
      memory[use.root] = use;
    }
    p.levels = {{.from = "L2"}, {.from = "memory"}};
    double longest = 0;
    for (const auto& [root, work] : kernels_) {
      const auto use = memory.find(root);
      AddTime(work, use == memory.end() ? KernelMemoryUse{} : use->second, p, longest);
    }
    return p;
  }

 private:
  const LoopFacts& Loop(int l) const { return facts_.loops[static_cast<size_t>(l)]; }
  bool Varies(LoopMask mask, int l) const { return (mask >> std::min(Loop(l).depth, 63) & 1) != 0; }

  // Iterations of one thread: loops over blocks and threads run once.
  std::vector<double> IterationsOfAThread() const {
    std::vector<double> iterations;
    for (const LoopFacts& loop : facts_.loops) {
      iterations.push_back(loop.kind == ForKind::kThreadBound ? 1 : static_cast<double>(loop.extent));
    }
    return iterations;
  }

  // The kernel of a place; what no thread is bound to runs in one of its own.
  KernelWork& KernelOf(int place) {
    const ForNode* root = nullptr;
    double launches = 1, outside = 1;
    for (int l = place; l >= 0; l = Loop(l).parent) {
      if (Loop(l).kind == ForKind::kThreadBound) {
        root = Loop(l).loop;
        outside = 1;
      } else {
        outside *= extents_[static_cast<size_t>(l)];
      }
      launches = outside;
    }
    KernelWork& work = kernels_[root];
    work.root = root;
    if (root != nullptr) work.launches = std::max(work.launches, launches);
    return work;
  }

  void AddGrid(int l) {
    if (!IsLoopOverBlocks(Loop(l))) return;
    // Pieces of a loop count at the last one.
    double extent = 1;
    for (int piece = l; piece >= 0 && Loop(piece).loop == Loop(l).loop; piece = Loop(piece).parent) {
      extent *= extents_[static_cast<size_t>(piece)];
    }
    double& most = KernelOf(l).extents[Loop(l).loop->thread_tag];
    most = std::max(most, extent);
    const auto sharing = Loop(l).loop->annotations.find(kSharingBlocks);
    if (sharing == Loop(l).loop->annotations.end()) return;
    const auto* blocks = std::get_if<Expr>(&sharing->second.value);
    const double count = static_cast<double>(blocks == nullptr ? 1 : AsInt(*blocks).value_or(1));
    KernelOf(l).turns = std::max(1.0, std::ceil(extent / std::max(1.0, count)));
  }

  void Add(const OperationFacts& operation) {
    const LoopChain chain = ChainOf(facts_, extents_, operation.loop);
    KernelWork& work = KernelOf(operation.loop);
    double count = operation.share * std::max(operation.dtype.lanes(), 1);
    for (const int l : chain.serial) {
      const bool runs = Varies(operation.varies, l) || operation.accumulates || !operation.instruction.empty();
      if (runs) count *= extents_[static_cast<size_t>(l)];
    }
    const double of_threads = count * chain.threads;
    if (!operation.instruction.empty()) {
      if (operation.kind == OperationKind::kMultiplyAdd) {
        work.matrix_cycles += of_threads / MatrixRate(operation.instruction, operation.operand);
      }
      return;
    }
    double arithmetic = 1, special = 0;
    switch (operation.kind) {
      case OperationKind::kDivide:
        arithmetic = GpuCostsOf(target_).divide_instructions;
        special = 1;
        break;
      case OperationKind::kTranscendental:
        arithmetic = GpuCostsOf(target_).function_instructions;
        special = 1;
        break;
      default:
        break;
    }
    work.arithmetic += arithmetic * of_threads;
    work.special += special * of_threads;
    work.instructions += (arithmetic + special) * of_threads / gpu_.warp_size;
  }

  // Multiply-adds per cycle and core. Those of a warp have units of their own where the target names them.
  double MatrixRate(std::string_view instruction, DataType operand) const {
    const bool of_warps = cuda::RoleOfCall(instruction) != cuda::CallRole::kWarpgroupProduct;
    const bool narrow = operand.bits() == 8, wide = operand.bits() == 32;
    double rate = 0;
    for (const ComputeUnit& unit : target_.units) {
      if (unit.operand != (narrow ? "int8" : "bfloat16")) continue;
      if (unit.name == "matrix" && rate == 0) rate = unit.per_cycle;
      if (unit.name == "warp" && of_warps) rate = unit.per_cycle;
    }
    return std::max(rate, 1.0) / (wide ? 2 : 1);
  }
  // Cycles until a sum of an instruction of a warp can be added to.
  double MatrixLatency() const {
    double latency = 0;
    for (const ComputeUnit& unit : target_.units) {
      if (unit.name == "warp" || (unit.name == "matrix" && latency == 0)) latency = unit.latency;
    }
    return latency;
  }
  // L1 and shared memory are one memory.
  double SharedBytesPerCycle() const { return target_.Nearest().bytes_per_cycle; }

  void Add(const AccessFacts& access) {
    const BufferFacts& buffer = facts_.buffers[static_cast<size_t>(access.buffer)];
    const LoopChain chain = ChainOf(facts_, extents_, access.loop);
    KernelWork& work = KernelOf(access.loop);
    const MemoryKind kind = buffer.buffer->scope.kind();
    if (access.accumulates) AddChained(access, chain, work);
    if (kind == MemoryKind::kShared) return AddShared(access, chain, work);
    if (kind == MemoryKind::kGlobal) AddGlobal(access, chain, work);
  }

  // Sums that wait for each other.
  void AddChained(const AccessFacts& access, const LoopChain& chain, KernelWork& work) const {
    double links = access.share;
    int innermost = -1;
    for (const int l : chain.serial) {
      if (Varies(access.varies, l)) continue;
      links *= extents_[static_cast<size_t>(l)];
      innermost = l;
    }
    // Those inside of an instruction do not.
    double cycles = target_.FmaLatency();
    if (!access.instruction.empty()) {
      for (const int l : chain.serial) {
        const bool inside = chain.innermost_thread >= 0 && Loop(l).depth > Loop(chain.innermost_thread).depth;
        if (inside && !Varies(access.varies, l)) links /= extents_[static_cast<size_t>(l)];
      }
      cycles = cuda::RoleOfCall(access.instruction) == cuda::CallRole::kWarpgroupProduct
                   ? 0
                   : MatrixLatency() + gpu_.shared_latency;
    }
    double& waits = work.waits[innermost];
    waits = std::max(waits, links * cycles);
    AddCombined(access, work);
  }

  // Sums of several threads.
  void AddCombined(const AccessFacts& access, KernelWork& work) const {
    double threads = 1;
    for (int l = access.loop; l >= 0; l = Loop(l).parent) {
      if (IsLoopOverThreads(Loop(l)) && !Varies(access.varies, l)) threads *= extents_[static_cast<size_t>(l)];
    }
    if (threads <= 1 || !access.instruction.empty()) return;
    double cycles = gpu_.shuffle_cycles * std::ceil(std::log2(threads));
    if (threads > gpu_.warp_size) cycles += 2 * gpu_.barrier_cycles;
    work.waits[-2 - access.buffer] = cycles;
  }

  void AddShared(const AccessFacts& access, const LoopChain& chain, KernelWork& work) const {
    if (!access.instruction.empty()) {
      // The instruction reads each element once.
      if (chain.innermost_thread < 0) return;
      const int depth = Loop(chain.innermost_thread).depth;
      double executions = access.share * chain.threads / chain.innermost_threads;
      for (const int l : chain.serial) {
        if (Loop(l).depth < depth) executions *= extents_[static_cast<size_t>(l)];
      }
      const double bytes = FootprintBytes(facts_, access, depth, 1, extents_);
      work.shared_cycles += executions * bytes / SharedBytesPerCycle();
      work.instructions += executions;
      return;
    }
    const auto [count, vector] = WarpAccesses(access, chain);
    const LaneRequests requests = RequestsOfWarp(facts_, access, vector, gpu_.warp_size, gpu_.sector_bytes);
    work.shared_cycles += count * std::max(1.0, requests.bytes / SharedBytesPerCycle());
    if (!IsBulk(chain)) work.instructions += count * (1 + kAddressInstructions);
  }

  // Copies of a pipeline with roles are those of an engine.
  bool IsBulk(const LoopChain& chain) const {
    return chain.pipelined >= 0 && Loop(chain.pipelined).loop->annotations.contains(kPipelineRoles);
  }

  // How often a warp accesses memory, of all warps, and how many neighbours each thread asks for at once.
  std::pair<double, int> WarpAccesses(const AccessFacts& access, const LoopChain& chain) const {
    double count = access.share * std::ceil(chain.threads / gpu_.warp_size);
    int vector = std::max(access.lanes, 1);
    const int bytes = facts_.buffers[static_cast<size_t>(access.buffer)].buffer->dtype.bytes();
    for (const int l : chain.serial) {
      if (!Varies(access.varies, l) && !access.write) continue;
      const double extent = extents_[static_cast<size_t>(l)];
      if (Loop(l).kind != ForKind::kVectorized || vector > 1 || !MovesByOne(access, l)) {
        count *= extent;
        continue;
      }
      const double most = std::max(1.0, static_cast<double>(gpu_.max_access_bytes) / bytes);
      vector = static_cast<int>(std::min(extent, most));
      count *= std::ceil(extent / vector);
    }
    return {count, vector};
  }
  static bool MovesByOne(const AccessFacts& access, int l) {
    if (access.index.empty()) return false;
    for (const IndexTerm& term : access.index.back().terms) {
      if (term.loop == l) return std::abs(term.scale) == 1;
    }
    return false;
  }

  void AddGlobal(const AccessFacts& access, const LoopChain& chain, KernelWork& work) const {
    const auto [count, vector] = WarpAccesses(access, chain);
    const LaneRequests requests = RequestsOfWarp(facts_, access, vector, gpu_.warp_size, gpu_.sector_bytes);
    const double bytes = requests.sectors * gpu_.sector_bytes;
    if (!IsBulk(chain)) {
      work.shared_cycles += count * std::max(1.0, bytes / SharedBytesPerCycle());
      work.instructions += count * (1 + kAddressInstructions);
    }
    const double once = access.write ? count * bytes : std::min(count * bytes, ReadOnce(access, chain));
    work.l2_bytes += once / Receivers(access, chain);
    work.alone_bytes += once;
    if (IsBulk(chain) && !access.write) work.filled_bytes += once;
    auto& [read, written] = work.memory_bytes[access.buffer];
    double& moved = access.write ? written : read;
    moved = std::max(moved, FootprintBytes(facts_, access, 0, gpu_.sector_bytes, extents_));
    if (!access.write) AddLoadWait(access, chain, work);
  }

  // Blocks of a cluster that one copy brings what it reads (codegen/lower/gpu/multicast.h).
  double Receivers(const AccessFacts& access, const LoopChain& chain) const {
    double blocks = 1;
    if (access.write || !IsBulk(chain)) return blocks;
    for (int l = access.loop; l >= 0; l = Loop(l).parent) {
      if (IsClusterTag(Loop(l).loop->thread_tag) && !Varies(access.varies, l))
        blocks *= extents_[static_cast<size_t>(l)];
    }
    return blocks;
  }

  // Bytes that a block reads from L2: what fits into the first level next to it is read once.
  double ReadOnce(const AccessFacts& access, const LoopChain& chain) const {
    const auto room = static_cast<double>(target_.Nearest().usable_bytes);
    double times = access.share;
    int depth = chain.first_inside;
    for (const int l : chain.serial) {
      const double bytes = FootprintBytes(facts_, access, depth, gpu_.sector_bytes, extents_);
      if (bytes <= room) return times * bytes;
      times *= extents_[static_cast<size_t>(l)];
      depth = Loop(l).depth + 1;
    }
    return std::numeric_limits<double>::infinity();
  }

  void AddLoadWait(const AccessFacts& access, const LoopChain& chain, KernelWork& work) const {
    double times = 1;
    int innermost = -1;
    for (const int l : chain.serial) {
      const bool straight = Loop(l).kind == ForKind::kVectorized || Loop(l).kind == ForKind::kUnrolled;
      if (straight || (!Varies(access.varies, l) && l != chain.pipelined)) continue;
      const bool inside = chain.pipelined >= 0 && Loop(l).depth > Loop(chain.pipelined).depth;
      if (inside) continue;
      times *= extents_[static_cast<size_t>(l)];
      innermost = l;
    }
    if (chain.pipelined >= 0) {
      double& ahead = work.ahead[chain.pipelined];
      ahead = std::max(ahead, times * gpu_.memory_latency / chain.stages_ahead);
      work.waits[-1] = std::max(work.waits[-1], gpu_.memory_latency);
      return;
    }
    double& waits = work.waits[innermost];
    waits = std::max(waits, std::ceil(times / GpuCostsOf(target_).unrolled_loads) * gpu_.memory_latency);
  }

  // Blocks that a core runs at the same time.
  double Resident(const KernelMemoryUse& use) const {
    const auto threads = static_cast<double>(std::max<int64_t>(use.threads, gpu_.warp_size));
    const double registers =
        std::min<double>(gpu_.max_registers_per_thread,
                         GpuCostsOf(target_).thread_registers + static_cast<double>(use.registers + use.local) / 4);
    return std::max(
        1.0, std::floor(std::min({static_cast<double>(gpu_.max_blocks_per_core), gpu_.max_threads_per_core / threads,
                                  gpu_.registers_per_core / (registers * threads),
                                  static_cast<double>(gpu_.shared_bytes_per_core) /
                                      static_cast<double>(use.shared + gpu_.reserved_shared_bytes_per_block)})));
  }

  // Cycles until shared memory has taken in what the engine copies.
  double FillCycles(const KernelWork& work) const {
    return gpu_.shared_fill_bytes_per_cycle > 0 ? work.filled_bytes / gpu_.shared_fill_bytes_per_cycle : 0;
  }

  void AddInstructions(const KernelWork& work, const KernelMemoryUse& use, Projection& p) const {
    const double blocks = work.launches * work.Blocks();
    p.levels[0].read_bytes += blocks * work.l2_bytes;
    p.instructions.multiply_adds += blocks * work.arithmetic;
    p.instructions.transcendentals += blocks * work.special;
    p.instructions.tile_rows += blocks * work.matrix_cycles;
    p.instructions.loads += blocks * work.instructions;
    p.register_vectors =
        std::max(p.register_vectors, GpuCostsOf(target_).thread_registers + static_cast<double>(use.registers) / 4);
  }

  void AddTime(const KernelWork& work, const KernelMemoryUse& use, Projection& p, double& longest) const {
    const double cycle = 1e-9 / target_.clock_ghz;
    const double l2 = target_.Farthest().bytes_per_cycle;
    // Blocks of a cluster that follow others on the cores wait for each other about as long as they save
    // (measured: docs/h200.md).
    const double sharing = work.Blocks() / work.turns;
    const double read_bytes = sharing > target_.cores ? work.alone_bytes : work.l2_bytes;
    const auto units = std::to_array<std::pair<double, const char*>>({
        {work.instructions / gpu_.warp_instructions_per_cycle, "issue"},
        {work.arithmetic / std::max(1, target_.FmaPerCycle()), "arithmetic"},
        {work.special / gpu_.special_per_cycle, "special functions"},
        {work.matrix_cycles, "matrix units"},
        {work.shared_cycles, "shared memory"},
        {std::max(read_bytes / l2, FillCycles(work)), "L2"},
    });
    const double order = GpuCostsOf(target_).overlap_order;
    const double busy =
        Norm(order, {units[0].first, units[1].first, units[2].first, units[3].first, units[4].first, units[5].first});
    double waits = 0, ahead = 0;
    for (const auto& [loop, cycles] : work.waits) waits += cycles;
    for (const auto& [loop, cycles] : work.ahead) ahead += cycles;
    const double cores = CoresForClusters(target_, work.BlocksOfCluster());
    // A block that stays waits once: what it needs next comes meanwhile.
    const double staying = std::ceil(sharing / cores), blocks_of_core = staying * work.turns, resident = Resident(use);
    const double throughput = blocks_of_core * busy * cycle;
    const double latency = std::ceil(staying / resident) * (waits + work.turns * std::max(busy, ahead)) * cycle;
    double read = 0, written = 0;
    for (const auto& [buffer, bytes] : work.memory_bytes) {
      const double all = facts_.buffers[static_cast<size_t>(buffer)].bytes;
      read += std::min(bytes.first, all);
      written += std::min(bytes.second, all);
    }
    const double memory = (read + written) / (target_.memory_gbs * 1e9);
    const double on_cores = std::max(throughput, latency);
    const double seconds = Norm(order, {on_cores, memory}) + gpu_.launch_seconds;
    p.seconds += work.launches * seconds;
    p.compute_seconds += work.launches * on_cores;
    p.throughput_seconds += work.launches * throughput;
    p.latency_seconds += work.launches * latency;
    p.forks += work.launches;
    p.fork_seconds += work.launches * gpu_.launch_seconds;
    p.levels[0].seconds += work.launches * blocks_of_core * units[5].first * cycle;
    p.levels[1].read_bytes += work.launches * read;
    p.levels[1].written_bytes += work.launches * written;
    p.levels[1].seconds += work.launches * memory;
    AddInstructions(work, use, p);
    if (work.launches * seconds <= longest) return;
    longest = work.launches * seconds;
    p.cores_used = static_cast<int>(std::min<double>(target_.cores, sharing));
    p.balance = work.Blocks() / (target_.cores * blocks_of_core);
    const auto busiest = std::max_element(units.begin(), units.end());
    const double launch = gpu_.launch_seconds;
    p.limiter = launch > on_cores && launch > memory ? "launches"
                : memory > on_cores                  ? "memory"
                : latency > throughput               ? "latency"
                                                     : busiest->second;
  }

  const ProgramFacts& facts_;
  const Target& target_;
  const GpuTarget& gpu_;
  std::vector<double> extents_;
  std::map<const ForNode*, KernelWork> kernels_;
};

}  // namespace

Projection ProjectKernels(const ProgramFacts& facts, const Target& target) { return Projector(facts, target).Run(); }

}  // namespace tilewright
