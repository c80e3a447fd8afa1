#include "autoschedule/cost/instruction_mix.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/lane_runs.h"

namespace tilewright {
namespace {

const LoopFacts& LoopAt(const ProgramFacts& facts, int loop) { return facts.loops[static_cast<size_t>(loop)]; }

bool IsStraight(const LoopFacts& loop) { return loop.kind == ForKind::kUnrolled || loop.kind == ForKind::kVectorized; }

bool VariesWith(const ProgramFacts& facts, LoopMask varies, int loop) {
  return (varies >> std::min(LoopAt(facts, loop).depth, 63) & 1) != 0;
}

// The loop of the region that a place belongs to.
int RegionLoop(const ProgramFacts& facts, int place) {
  while (place >= 0 && IsStraight(LoopAt(facts, place))) place = LoopAt(facts, place).parent;
  return place;
}

class Counter {
 public:
  Counter(const ProgramFacts& facts, const Target& target, const std::vector<double>& iterations)
      : facts_(facts), target_(target), regions_(facts.loops.size() + 1) {
    for (size_t row = 0; row < regions_.size(); ++row) {
      Region& region = regions_[row];
      region.loop = static_cast<int>(row) - 1;
      region.iterations = 1;
      for (int l = region.loop; l >= 0; l = LoopAt(facts, l).parent)
        region.iterations *= iterations[static_cast<size_t>(l)];
    }
    for (const LoopFacts& loop : facts.loops) {
      if (!IsStraight(loop)) At(RegionLoop(facts, loop.parent)).has_inner_loops = true;
    }
    FindCompilerVectorized();
  }

  std::vector<Region> Run() {
    for (const OperationFacts& operation : facts_.operations) Count(operation);
    for (const AccessFacts& access : facts_.accesses) Count(access);
    CountRegisters();
    std::vector<Region> result;
    for (Region& region : regions_) {
      if (region.counts.Total() > 0) result.push_back(region);
    }
    return result;
  }

 private:
  Region& At(int loop) { return regions_[static_cast<size_t>(loop + 1)]; }

  // The compiler turns an innermost loop into vectors where every access stands still or runs along its last dimension,
  // and nothing is summed up over it.
  void FindCompilerVectorized() {
    by_compiler_.assign(regions_.size(), 0);
    for (Region& region : regions_) {
      by_compiler_[static_cast<size_t>(region.loop + 1)] = region.loop >= 0 && !region.has_inner_loops;
    }
    for (const LoopFacts& loop : facts_.loops) {
      if (loop.kind == ForKind::kVectorized) by_compiler_[static_cast<size_t>(RegionLoop(facts_, loop.parent) + 1)] = 0;
    }
    for (const AccessFacts& access : facts_.accesses) {
      const int loop = RegionLoop(facts_, access.loop);
      const bool varies = loop >= 0 && VariesWith(facts_, access.varies, loop);
      const bool contiguous = loop >= 0 && varies && Stride(access, loop) == 1;
      if (access.lanes != 1 || (access.write && !contiguous) || (varies && !contiguous)) {
        by_compiler_[static_cast<size_t>(loop + 1)] = 0;
      }
    }
    for (const OperationFacts& operation : facts_.operations) {
      if (operation.kind == OperationKind::kCall || operation.kind == OperationKind::kTiles)
        by_compiler_[static_cast<size_t>(RegionLoop(facts_, operation.loop) + 1)] = 0;
    }
    for (size_t row = 0; row < regions_.size(); ++row) regions_[row].vectorized = by_compiler_[row] != 0;
  }

  // Elements of a compact buffer between what neighbouring iterations touch; 0 when that is not known.
  int64_t Stride(const AccessFacts& access, int loop) const {
    const std::vector<Expr>& shape = facts_.buffers[static_cast<size_t>(access.buffer)].buffer->shape;
    if (access.index.size() != shape.size()) return 0;
    int64_t stride = 0, inner = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      for (const IndexTerm& term : access.index[d].terms) {
        if (term.loop == loop) stride += term.scale * inner;
      }
      inner *= AsInt(shape[d]).value_or(0);
    }
    return stride;
  }

  // Instructions per iteration of a region for something of `bits` that varies with the loops in `varies`.
  struct Shape {
    double copies = 1;    // by unrolled loops
    double elements = 1;  // by vectorized loops
    bool in_vector = false;
    double outside = 1;  // less than 1: it does not vary with the region's loop and is done before
  };
  Shape ShapeOf(int place, LoopMask varies, int lanes) {
    Shape shape{.elements = static_cast<double>(std::max(lanes, 1)), .in_vector = lanes > 1};
    int loop = place;
    for (; loop >= 0 && IsStraight(LoopAt(facts_, loop)); loop = LoopAt(facts_, loop).parent) {
      if (!VariesWith(facts_, varies, loop)) continue;
      const auto extent = static_cast<double>(LoopAt(facts_, loop).extent);
      if (LoopAt(facts_, loop).kind == ForKind::kVectorized) {
        shape.elements *= extent;
        shape.in_vector = true;
      } else {
        shape.copies *= extent;
      }
    }
    Region& region = At(loop);
    if (loop >= 0 && !region.has_inner_loops && !VariesWith(facts_, varies, loop)) {
      shape.outside = 1 / static_cast<double>(LoopAt(facts_, loop).extent);
    } else if (region.vectorized && by_compiler_[static_cast<size_t>(loop + 1)]) {
      // `lanes` iterations at a time.
      shape.in_vector = true;
    }
    return shape;
  }

  double Vectors(const Shape& shape, int bits, int region_loop) const {
    const double lanes = std::max(1, target_.lanes(std::max(bits, 8)));
    if (by_compiler_[static_cast<size_t>(region_loop + 1)])
      return shape.copies * shape.outside / (shape.outside < 1 ? 1 : lanes);
    return shape.copies * (shape.in_vector ? std::ceil(shape.elements / lanes) : 1) * shape.outside;
  }

  void Count(const OperationFacts& operation) {
    const int loop = RegionLoop(facts_, operation.loop);
    Region& region = At(loop);
    const bool sums = operation.accumulates;
    // A sum varies with every loop: its old value does.
    const Shape shape = ShapeOf(operation.loop, sums ? ~LoopMask{0} : operation.varies, operation.dtype.lanes());
    const int bits = operation.kind == OperationKind::kConvert
                         ? std::max(operation.dtype.bits(), operation.operand.bits())
                         : operation.dtype.bits();
    const double count = Vectors(shape, bits, loop) * operation.share;
    if (shape.in_vector) region.vectorized = true;
    InstructionCounts& counts = region.counts;
    switch (operation.kind) {
      case OperationKind::kMultiplyAdd:
        counts.multiply_adds += count;
        break;
      case OperationKind::kDot:
        counts.dots += count;
        break;
      case OperationKind::kArithmetic:
        counts.arithmetic += count;
        break;
      case OperationKind::kDivide:
        counts.divides += count;
        break;
      case OperationKind::kTranscendental:
        counts.transcendentals += count;
        break;
      case OperationKind::kConvert:
        counts.converts += count;
        break;
      case OperationKind::kTiles:
        counts.tile_rows += operation.share * operation.rows * std::ceil(operation.columns / 16.0);
        break;
      case OperationKind::kCall:
        counts.calls += count;
        break;
    }
    if (sums) Chain(operation, loop);
  }

  // How many of these wait for each other in one iteration: the sum's copies that add to the same element.
  void Chain(const OperationFacts& operation, int region_loop) {
    const auto write = std::find_if(facts_.accesses.begin(), facts_.accesses.end(), [&](const AccessFacts& a) {
      return a.write && a.accumulates && a.loop == operation.loop;
    });
    if (write == facts_.accesses.end()) return;
    const LoopMask where = IndexMask(*write);
    if (region_loop >= 0 && VariesWith(facts_, where, region_loop)) return;  // another element in each iteration
    double chained = operation.share;
    for (int loop = operation.loop; loop >= 0 && loop != region_loop; loop = LoopAt(facts_, loop).parent) {
      if (!VariesWith(facts_, where, loop)) chained *= static_cast<double>(LoopAt(facts_, loop).extent);
    }
    Region& region = At(region_loop);
    region.chained = std::max(region.chained, chained);
  }

  void Count(const AccessFacts& access) {
    const BufferFacts& buffer = facts_.buffers[static_cast<size_t>(access.buffer)];
    if (buffer.in_registers || access.lanes == 0) return;
    const int loop = RegionLoop(facts_, access.loop);
    const int bits = buffer.buffer->dtype.bytes() * 8;
    const Shape shape = ShapeOf(access.loop, access.varies, access.lanes);
    InstructionCounts& counts = At(loop).counts;
    const Runs runs = RunsOf(access);
    if (shape.in_vector && !by_compiler_[static_cast<size_t>(loop + 1)] && runs.number > 1) {
      const double times = shape.copies * shape.outside * access.share;
      if (const int64_t part = TransposedPart(access, runs, bits, shape.elements); part > 1) {
        const double lanes = std::min<double>(shape.elements, target_.lanes(bits)), parts = lanes / part;
        const double vectors = times * std::ceil(shape.elements / lanes);
        counts.narrow_loads += vectors * parts;
        counts.arithmetic += vectors * (parts - 1 + std::log2(part));  // they are joined and interleaved
      } else if (!access.write && runs.number <= kMostRuns && runs.length >= kLeastOfRun) {
        const double vectors = std::ceil(runs.length / std::max(1, target_.lanes(bits)));
        counts.loads += times * runs.number * vectors;
        counts.arithmetic += times * runs.number * vectors;  // they are put together in registers
      } else {
        counts.gathered += times * shape.elements;
      }
      return;
    }
    const bool narrow = !shape.in_vector || shape.outside < 1;
    (access.write ? counts.stores
     : narrow     ? counts.narrow_loads
                  : counts.loads) += Vectors(shape, bits, loop) * access.share;
  }

  // Lanes that lie side by side, and how many times there are as many.
  struct Runs {
    double length = 1, number = 1;
  };
  Runs RunsOf(const AccessFacts& access) const {
    Runs runs{.length = static_cast<double>(access.lanes)};
    std::vector<std::pair<int64_t, int64_t>> loops;  // stride and extent
    for (int loop = access.loop; loop >= 0 && IsStraight(LoopAt(facts_, loop)); loop = LoopAt(facts_, loop).parent) {
      if (LoopAt(facts_, loop).kind != ForKind::kVectorized || !VariesWith(facts_, access.varies, loop)) continue;
      loops.emplace_back(std::abs(Stride(access, loop)), LoopAt(facts_, loop).extent);
    }
    std::sort(loops.begin(), loops.end());
    for (const auto& [stride, extent] : loops) {
      const bool side_by_side = runs.number == 1 && static_cast<double>(stride) == runs.length;
      (side_by_side ? runs.length : runs.number) *= static_cast<double>(extent);
    }
    return runs;
  }

  // The elements of the parts of rows that are loaded for a vector that goes down these rows, with others beside it
  // (codegen/lower/cpu/transpose_loads.h); 1 where each element is loaded by itself.
  int64_t TransposedPart(const AccessFacts& access, const Runs& runs, int bits, double elements) const {
    if (access.write || runs.length != 1) return 1;
    uint64_t columns = 1;
    for (int loop = access.loop; loop >= 0 && IsStraight(LoopAt(facts_, loop)); loop = LoopAt(facts_, loop).parent) {
      const LoopFacts& facts = LoopAt(facts_, loop);
      if (!VariesWith(facts_, access.varies, loop)) continue;
      const int64_t stride = std::abs(Stride(access, loop));
      if (facts.kind == ForKind::kVectorized && stride <= kLongestStride) return 1;
      if (facts.kind == ForKind::kUnrolled && stride == 1) columns = static_cast<uint64_t>(facts.extent);
    }
    const auto most =
        std::min({columns, static_cast<uint64_t>(elements), static_cast<uint64_t>(kTransposedBits / bits)});
    const auto part = static_cast<int64_t>(std::bit_floor(most));
    return part * bits < DataType::Int(32).bits() ? 1 : part;  // smaller ones are not put together
  }

  // Buffers in registers hold what one iteration touches. Of an operand, the vectors are live that are used together:
  // those along the accumulated tile, not those of the next steps of a sum. One more holds what is broadcast.
  void CountRegisters() {
    std::vector<std::vector<const AccessFacts*>> by_region(regions_.size());
    for (const AccessFacts& access : facts_.accesses) {
      by_region[static_cast<size_t>(RegionLoop(facts_, access.loop) + 1)].push_back(&access);
    }
    std::vector<double> held(facts_.buffers.size());
    for (size_t row = 0; row < regions_.size(); ++row) {
      std::fill(held.begin(), held.end(), 0);
      LoopMask tile = 0;
      for (const AccessFacts* access : by_region[row]) {
        if (access->accumulates) tile |= IndexMask(*access);
      }
      double operands = 0;
      for (const AccessFacts* access : by_region[row]) {
        const BufferFacts& buffer = facts_.buffers[static_cast<size_t>(access->buffer)];
        const bool in_register = buffer.in_registers;
        if (!in_register && access->write) continue;
        const LoopMask varies = in_register ? access->varies : access->varies & tile;
        const Shape shape = ShapeOf(access->loop, varies, access->lanes);
        const int bits = buffer.buffer->dtype.bytes() * 8;
        // Scalars, and groups of bytes for dot products, are broadcast from memory when they are used.
        if (!shape.in_vector || shape.elements * bits <= DataType::Int(64).bits()) continue;
        const double lanes = std::max(1, target_.lanes(bits));
        const double vectors = shape.copies * std::ceil(shape.elements / lanes);
        double& most = in_register ? held[static_cast<size_t>(access->buffer)] : operands;
        most = std::max(most, vectors);
      }
      double sum = 0;
      for (double vectors : held) sum += vectors;
      if (sum > 0) regions_[row].register_vectors = sum + std::min(operands, sum) + 1;
    }
  }

  LoopMask IndexMask(const AccessFacts& access) const {
    LoopMask mask = 0;
    for (const IndexForm& form : access.index) {
      for (const IndexTerm& term : form.terms) mask |= LoopMask{1} << std::min(LoopAt(facts_, term.loop).depth, 63);
    }
    return mask;
  }

  const ProgramFacts& facts_;
  const Target& target_;
  std::vector<Region> regions_;
  std::vector<char> by_compiler_;
};

}  // namespace

double InstructionCounts::Total() const {
  return multiply_adds + dots + arithmetic + divides + transcendentals + converts + tile_rows + calls + loads +
         narrow_loads + stores + gathered;
}

InstructionCounts& InstructionCounts::operator+=(const InstructionCounts& other) {
  multiply_adds += other.multiply_adds;
  dots += other.dots;
  arithmetic += other.arithmetic;
  divides += other.divides;
  transcendentals += other.transcendentals;
  converts += other.converts;
  tile_rows += other.tile_rows;
  calls += other.calls;
  loads += other.loads;
  narrow_loads += other.narrow_loads;
  stores += other.stores;
  gathered += other.gathered;
  return *this;
}

InstructionCounts InstructionCounts::operator*(double factor) const {
  InstructionCounts scaled = *this;
  for (double* count : {&scaled.multiply_adds, &scaled.dots, &scaled.arithmetic, &scaled.divides,
                        &scaled.transcendentals, &scaled.converts, &scaled.tile_rows, &scaled.calls, &scaled.loads,
                        &scaled.narrow_loads, &scaled.stores, &scaled.gathered}) {
    *count *= factor;
  }
  return scaled;
}

std::vector<Region> RegionsOf(const ProgramFacts& facts, const Target& target, const std::vector<double>& iterations) {
  return Counter(facts, target, iterations).Run();
}

std::vector<double> CoreIterations(const ProgramFacts& facts, int cores) {
  std::vector<double> iterations;
  for (const LoopFacts& loop : facts.loops) iterations.push_back(static_cast<double>(loop.extent));
  for (size_t l = 0; l < facts.loops.size(); ++l) {
    const LoopFacts& loop = facts.loops[l];
    if (loop.kind != ForKind::kParallel) continue;
    // Pieces of one loop follow each other; loops inside of a parallel one run on its core.
    bool nested = false;
    for (int outer = loop.parent; outer >= 0; outer = LoopAt(facts, outer).parent) {
      nested |= LoopAt(facts, outer).kind == ForKind::kParallel;
    }
    if (nested) continue;
    size_t end = l + 1;
    double all = iterations[l], inner = 1;
    for (; end < facts.loops.size() && facts.loops[end].loop == loop.loop; ++end) inner *= iterations[end];
    all *= inner;
    double left = std::ceil(all / cores);
    for (size_t piece = l; piece < end; ++piece) {
      const double count = std::clamp(left / inner, 1.0, iterations[piece]);
      left /= count;
      iterations[piece] = count;
      if (piece + 1 < end) inner /= static_cast<double>(facts.loops[piece + 1].extent);
    }
  }
  return iterations;
}

}  // namespace tilewright
