#include "autoschedule/cost/memory_traffic.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "target/costs.h"

namespace tilewright {
namespace {

// The part of a working set that a cache of this capacity keeps.
double KeptPart(double working_set, double capacity, const CpuCosts& costs) {
  const double none = costs.keeps_none_from;
  return std::clamp((none - working_set / capacity) / (none - costs.keeps_all_below), 0.0, 1.0);
}

// How far an index moves and how many values it takes while loops run.
struct Movement {
  double span = 1, values = 1;
};

Movement MovementOf(const ProgramFacts& facts, const IndexForm& form, int64_t width, int outermost,
                    const std::vector<double>& iterations) {
  Movement m{static_cast<double>(width), static_cast<double>(width)};
  for (const IndexTerm& term : form.terms) {
    const auto loop = static_cast<size_t>(term.loop);
    if (facts.loops[loop].depth < outermost) continue;
    const double count = std::min(iterations[loop], static_cast<double>(term.extent));
    m.span += std::abs(static_cast<double>(term.scale)) * (count - 1);
    m.values *= count;
  }
  m.values = std::min(m.values, m.span);
  return m;
}

// What is left of a buffer in memory. Lowering keeps of a temporary what one iteration of the loops around all of its
// accesses touches: these loops do not move its elements.
//
//   for i in range(96):              P (96 x 512 x 64): of each core, 512 x 64 elements
//       ... P[i, 0:512, 0:64]
struct KeptBuffer {
  int depth = 0;  // of the outermost loop that moves its elements
  std::vector<int64_t> shape;
};

int CommonLoop(const ProgramFacts& facts, int a, int b) {
  const auto depth = [&](int loop) { return loop < 0 ? -1 : facts.loops[static_cast<size_t>(loop)].depth; };
  while (a != b) {
    int& inner = depth(a) >= depth(b) ? a : b;
    inner = facts.loops[static_cast<size_t>(inner)].parent;
  }
  return a;
}

std::vector<KeptBuffer> KeptBuffers(const ProgramFacts& facts) {
  std::vector<KeptBuffer> kept(facts.buffers.size());
  std::vector<std::optional<int>> around(facts.buffers.size());
  for (const AccessFacts& access : facts.accesses) {
    std::optional<int>& loop = around[static_cast<size_t>(access.buffer)];
    loop = loop ? CommonLoop(facts, *loop, access.loop) : access.loop;
  }
  for (size_t b = 0; b < kept.size(); ++b) {
    const bool whole = facts.buffers[b].param || !around[b] || *around[b] < 0;
    kept[b].depth = whole ? 0 : facts.loops[static_cast<size_t>(*around[b])].depth + 1;
    kept[b].shape = facts.buffers[b].shape;
    if (kept[b].depth > 0) std::ranges::fill(kept[b].shape, 1);
  }
  std::vector<double> extents;
  for (const LoopFacts& loop : facts.loops) extents.push_back(static_cast<double>(loop.extent));
  for (const AccessFacts& access : facts.accesses) {
    KeptBuffer& buffer = kept[static_cast<size_t>(access.buffer)];
    const std::vector<int64_t>& whole = facts.buffers[static_cast<size_t>(access.buffer)].shape;
    for (size_t d = 0; buffer.depth > 0 && d < std::min(whole.size(), access.index.size()); ++d) {
      const Movement m = MovementOf(facts, access.index[d], access.width[d], buffer.depth, extents);
      buffer.shape[d] = std::min(whole[d], std::max(buffer.shape[d], static_cast<int64_t>(m.span)));
    }
  }
  return kept;
}

// What an access touches while the loops from depth `outermost` inwards run once: so many contiguous rows.
struct Rows {
  double count = 1, bytes = 0;
};

Rows RowsOf(const ProgramFacts& facts, const KeptBuffer& kept, const AccessFacts& access, int outermost, int line_bytes,
            const std::vector<double>& iterations) {
  const BufferFacts& buffer = facts.buffers[static_cast<size_t>(access.buffer)];
  outermost = std::max(outermost, kept.depth);
  Rows rows{.bytes = static_cast<double>(buffer.buffer->dtype.bytes())};
  bool contiguous = true;  // so far, each dimension is touched as a whole
  for (size_t d = access.index.size(); d-- > 0;) {
    Movement m = MovementOf(facts, access.index[d], access.width[d], outermost, iterations);
    const double extent = d < kept.shape.size() ? static_cast<double>(kept.shape[d]) : m.span;
    m.span = std::min(m.span, extent);
    m.values = std::min(m.values, extent);
    if (contiguous) {
      // Elements with gaps of more than a line are on lines of their own.
      const double span = rows.bytes * m.span;
      const double apart = m.values * std::max<double>(rows.bytes, line_bytes);
      rows.bytes = std::min(span, std::max(apart, rows.bytes));
      contiguous = m.span == extent;
    } else {
      rows.count *= m.values;
    }
  }
  return rows;
}

// The part of the lines of a write that do not continue what was written shortly before.
double ScatteredPart(const ProgramFacts& facts, const KeptBuffer& kept, const AccessFacts& write, const Target& target,
                     const std::vector<double>& iterations) {
  const CpuCosts& costs = CpuCostsOf(target);
  const int line_bytes = target.Nearest().line_bytes;
  int depth = write.loop < 0 ? 0 : facts.loops[static_cast<size_t>(write.loop)].depth + 1;
  Rows rows = RowsOf(facts, kept, write, depth, line_bytes, iterations);
  for (; depth > 0 && rows.count <= costs.written_rows; --depth) {
    rows = RowsOf(facts, kept, write, depth - 1, line_bytes, iterations);
  }
  return std::min(1.0, costs.long_run_lines * line_bytes / rows.bytes);
}

// Whether the rows that an access touches at a time share so few sets of the first level that they evict each other.
bool Conflicts(const ProgramFacts& facts, const KeptBuffer& kept, const AccessFacts& access, int outermost,
               const MemoryLevel& l1, const std::vector<double>& iterations) {
  const BufferFacts& buffer = facts.buffers[static_cast<size_t>(access.buffer)];
  outermost = std::max(outermost, kept.depth);
  const int64_t way = l1.bytes / l1.ways;
  int64_t stride = buffer.buffer->dtype.bytes(), step = 0;
  double rows = 1, lines_of_row = 1;
  for (size_t d = access.index.size(); d-- > 0;) {
    const Movement m = MovementOf(facts, access.index[d], access.width[d], outermost, iterations);
    if (d + 1 == access.index.size()) {
      lines_of_row = std::max(1.0, m.span * static_cast<double>(stride) / l1.line_bytes);
    } else if (m.values > 1) {
      rows *= m.values;
      step = std::gcd(step, stride);
    }
    stride *= d < kept.shape.size() ? kept.shape[d] : 1;
  }
  if (rows <= 1) return false;
  const double starts = static_cast<double>(way / std::max<int64_t>(l1.line_bytes, std::gcd(step, way)));
  const double sets = std::min(starts * lines_of_row, static_cast<double>(way / l1.line_bytes));
  return rows * lines_of_row > sets * l1.ways;
}

double BytesOf(const Rows& rows, int line_bytes) {
  return rows.count * std::ceil(rows.bytes / line_bytes) * line_bytes;
}

class Traffic {
 public:
  Traffic(const ProgramFacts& facts, const Target& target, const std::vector<double>& iterations)
      : facts_(facts),
        target_(target),
        iterations_(iterations),
        kept_(KeptBuffers(facts)),
        buffers_(2 * facts.buffers.size()),
        rows_(facts.loops.size() + 1) {
    std::vector<const AccessFacts*> accesses;
    for (const AccessFacts& access : facts.accesses) {
      if (!facts.buffers[static_cast<size_t>(access.buffer)].in_registers) accesses.push_back(&access);
    }
    // Rows are filled in the order of their buffers.
    std::ranges::sort(accesses, {}, &AccessFacts::buffer);
    for (const AccessFacts* access : accesses) Add(*access, static_cast<size_t>(access->buffer));
    for (const AccessFacts* access : accesses) {
      if (access->write) Add(*access, facts.buffers.size() + static_cast<size_t>(access->buffer));
    }
  }

  // Bytes of each buffer that a cache takes from the level behind it, and then bytes of each buffer that it gives back.
  // Cache 0 is L1. `beside`: bytes that others touch before the program runs again.
  std::vector<double> Misses(size_t cache, int cores, double beside) const {
    const MemoryLevel& level = target_.levels[cache];
    const double capacity = static_cast<double>(level.bytes) / std::min(level.shared_by, cores);
    std::vector<double> misses(buffers_);
    std::vector<std::vector<double>> sums(rows_.size());  // of what is below an iteration, buffer by buffer
    for (size_t l = 0; l < rows_.size(); ++l) {
      for (const Touched& touched : rows_[l]) sums[l].push_back(touched.direct);
    }
    for (size_t l = rows_.size(); l-- > 0;) {
      const double working_set = WorkingSet(l) + (l == 0 ? beside : 0);
      const double kept = KeptPart(working_set, capacity, CpuCostsOf(target_));
      for (size_t i = 0; i < rows_[l].size(); ++i) {
        const Touched& touched = rows_[l][i];
        if (touched.body == 0) continue;
        const double part = cache == 0 && touched.conflicts ? 0 : kept;
        const double iteration = part * touched.body + (1 - part) * std::max(sums[l][i], touched.body);
        // Outside of all loops: the program runs again and again, and finds what it left.
        const double again = l == 0 ? 0 : std::min(touched.once, iterations_[l - 1] * iteration);
        const double total = part * again + (1 - part) * (l == 0 ? 1 : iterations_[l - 1]) * iteration;
        if (l == 0) {
          misses[touched.buffer] = total;
        } else {
          const auto around = static_cast<size_t>(facts_.loops[l - 1].parent + 1);
          sums[around][PlaceOf(touched.buffer, rows_[around])] += total;
        }
      }
    }
    return misses;
  }

  // Bytes that one iteration touches: of loop `row` - 1, or of what is outside of all loops.
  double WorkingSet(size_t row) const {
    double bytes = 0;
    for (const Touched& touched : rows_[row]) bytes += touched.buffer < buffers_ / 2 ? touched.body : 0;
    return bytes;
  }

 private:
  // Footprints in bytes of one buffer, or of what is written to it: of a loop that runs once, of one of its iterations,
  // of the accesses directly in its body.
  struct Touched {
    size_t buffer;  // or the number of buffers and the buffer's number: writes only
    double once = 0, body = 0, direct = 0;
    bool conflicts = false;  // in one iteration of the loop
  };
  using Row = std::vector<Touched>;  // by their buffers

  static size_t PlaceOf(size_t buffer, const Row& row) {
    return static_cast<size_t>(std::ranges::lower_bound(row, buffer, {}, &Touched::buffer) - row.begin());
  }

  // The buffer is the last one of the row, or comes behind all that are there.
  Touched& At(size_t row, size_t buffer) {
    if (rows_[row].empty() || rows_[row].back().buffer != buffer) rows_[row].push_back({buffer});
    return rows_[row].back();
  }

  void Add(const AccessFacts& access, size_t b) {
    const int line = target_.Nearest().line_bytes;
    int depth = access.loop < 0 ? 0 : facts_.loops[static_cast<size_t>(access.loop)].depth + 1;
    const KeptBuffer& kept = kept_[static_cast<size_t>(access.buffer)];
    const auto bytes_from = [&](int outermost) {
      return BytesOf(RowsOf(facts_, kept, access, outermost, line, iterations_), line) * access.share;
    };
    double inner = bytes_from(depth);
    auto raise = [](double& value, double to) { value = std::max(value, to); };
    raise(At(static_cast<size_t>(access.loop + 1), b).direct, inner);
    bool conflicts = false;
    for (int loop = access.loop;; loop = facts_.loops[static_cast<size_t>(loop)].parent, --depth) {
      Touched& touched = At(static_cast<size_t>(loop + 1), b);
      raise(touched.body, inner);
      conflicts = conflicts || Conflicts(facts_, kept, access, depth, target_.Nearest(), iterations_);
      touched.conflicts |= conflicts;
      if (loop < 0) break;
      inner = bytes_from(depth - 1);
      raise(touched.once, inner);
    }
  }

  const ProgramFacts& facts_;
  const Target& target_;
  const std::vector<double>& iterations_;
  const std::vector<KeptBuffer> kept_;
  const size_t buffers_;
  // Row 0 is the place outside of all loops, row l + 1 loop l. A loop touches few of the buffers of a long program.
  std::vector<Row> rows_;
};

}  // namespace

double FootprintBytes(const ProgramFacts& facts, const AccessFacts& access, int outermost, int line_bytes,
                      const std::vector<double>& iterations) {
  const KeptBuffer whole{0, facts.buffers[static_cast<size_t>(access.buffer)].shape};
  return BytesOf(RowsOf(facts, whole, access, outermost, line_bytes, iterations), line_bytes);
}

MemoryTraffic TrafficOf(const ProgramFacts& facts, const Target& target, const std::vector<double>& iterations,
                        int cores, double beside) {
  const Traffic traffic(facts, target, iterations);
  const int line = target.Nearest().line_bytes;
  const std::vector<KeptBuffer> kept = KeptBuffers(facts);
  std::vector<double> scattered(facts.buffers.size());  // parts of what is written
  for (const AccessFacts& access : facts.accesses) {
    if (!access.write || facts.buffers[static_cast<size_t>(access.buffer)].in_registers) continue;
    scattered[static_cast<size_t>(access.buffer)] =
        ScatteredPart(facts, kept[static_cast<size_t>(access.buffer)], access, target, iterations);
  }
  MemoryTraffic result;
  for (size_t cache = 0; cache < target.levels.size(); ++cache) {
    const bool last = cache + 1 == target.levels.size();
    LevelTraffic level{last ? "memory" : target.levels[cache + 1].name};
    const std::vector<double> misses = traffic.Misses(cache, cores, beside);
    const auto half = misses.begin() + static_cast<std::ptrdiff_t>(misses.size() / 2);
    level.read_bytes = std::accumulate(misses.begin(), half, 0.0);
    level.written_bytes = std::accumulate(half, misses.end(), 0.0);
    level.scattered_lines = std::inner_product(half, misses.end(), scattered.begin(), 0.0) / line;
    result.levels.push_back(std::move(level));
  }
  return result;
}

double FootprintBytes(const ProgramFacts& facts, const Target& target, const std::vector<double>& iterations) {
  return Traffic(facts, target, iterations).WorkingSet(0);
}

}  // namespace tilewright
