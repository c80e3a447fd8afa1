#include "autoschedule/cost/features.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "autoschedule/cost/memory_traffic.h"
#include "autoschedule/cost/projected.h"
#include "autoschedule/cost/speed_of_light.h"
#include "base/check.h"

namespace tilewright {
namespace {

constexpr size_t kLevels = 3;      // of memory behind L1
constexpr size_t kChain = 8;       // loops around the hottest region, innermost first
constexpr size_t kHotBuffers = 3;  // that the hottest region touches, by footprint

// Numbers with their names. A second pass for the names keeps both in one place.
class Row {
 public:
  void Plain(std::string_view name, double value) {
    numbers.push_back(static_cast<float>(value));
    if (with_names) names.push_back(prefix + std::string(name));
  }
  void Log(std::string_view name, double value) { Plain(name, std::log2(1 + std::max(0.0, value))); }
  void Numbered(std::string_view name, size_t i, double value) {
    Log(with_names ? absl::StrCat(std::string(name), " ", i) : std::string(), value);
  }

  bool with_names = false;
  std::string prefix;  // of the names that follow
  std::vector<float> numbers;
  std::vector<std::string> names;
};

void AddInstructions(Row& row, const InstructionCounts& n) {
  row.Log("multiply-adds", n.multiply_adds);
  row.Log("dot products", n.dots);
  row.Log("arithmetic", n.arithmetic);
  row.Log("divides", n.divides);
  row.Log("functions", n.transcendentals);
  row.Log("conversions", n.converts);
  row.Log("calls", n.calls);
  row.Log("rows of tiles", n.tile_rows);
  row.Log("loads", n.loads);
  row.Log("narrow loads", n.narrow_loads);
  row.Log("stores", n.stores);
  row.Log("gathered elements", n.gathered);
}

void AddProjection(Row& row, const Projection& p, const SpeedOfLight& limit) {
  row.Log("projected", p.seconds * 1e9);
  row.Plain("speed of light over projected", p.seconds > 0 ? limit.seconds / p.seconds : 0);
  row.Log("speed of light", limit.seconds * 1e9);
  row.Plain("compute part", p.seconds > 0 ? p.compute_seconds / p.seconds : 0);
  row.Plain("throughput part", p.seconds > 0 ? p.throughput_seconds / p.seconds : 0);
  row.Plain("latency part", p.seconds > 0 ? p.latency_seconds / p.seconds : 0);
  row.Plain("fork part", p.seconds > 0 ? p.fork_seconds / p.seconds : 0);
  row.Log("forks", p.forks);
  row.Plain("cores", p.cores_used);
  row.Plain("balance", p.balance);
  for (size_t i = 0; i < kLevels; ++i) {
    const bool has = i < p.levels.size();
    row.Numbered("bytes read from level", i, has ? p.levels[i].read_bytes : 0);
    row.Numbered("bytes written to level", i, has ? p.levels[i].written_bytes : 0);
    row.Numbered("percent of time for level", i, has && p.seconds > 0 ? 100 * p.levels[i].seconds / p.seconds : 0);
  }
  AddInstructions(row, p.instructions);
}

const Region* Hottest(const std::vector<Region>& regions) {
  const auto work = [](const Region& r) { return r.iterations * r.counts.Total(); };
  const auto it = std::max_element(regions.begin(), regions.end(),
                                   [&](const Region& a, const Region& b) { return work(a) < work(b); });
  return it == regions.end() ? nullptr : &*it;
}

void AddHottest(Row& row, const ProgramFacts& facts, const Target& target, const Region* hot) {
  static const Region kNone;
  const Region& r = hot != nullptr ? *hot : kNone;
  row.prefix = "hottest: ";
  row.Log("iterations", r.iterations);
  AddInstructions(row, r.counts);
  row.Plain("registers", r.register_vectors);
  row.Plain("registers over limit", std::max(0.0, r.register_vectors - target.cpu_part().vector_registers));
  row.Plain("chained", r.chained);
  const double products = r.counts.multiply_adds + r.counts.dots;
  row.Plain("loads per product", products > 0 ? (r.counts.loads + r.counts.narrow_loads) / products : 0);
  // The tensor instruction and its tile.
  double rows = 1, vectors = 1, lanes = 1, operand_bits = 0, per_lane = 1;
  for (const OperationFacts& operation : facts.operations) {
    const bool tiles = operation.kind == OperationKind::kTiles;
    const bool product =
        tiles || operation.kind == OperationKind::kMultiplyAdd || operation.kind == OperationKind::kDot;
    if (!product || hot == nullptr || !facts.Encloses(hot->loop, operation.loop)) continue;
    rows = vectors = lanes = 1;
    operand_bits = operation.operand.bits();
    per_lane = operation.products;
    double unrolled[2] = {1, 1};
    size_t dim = 0;
    for (int l = operation.loop; l >= 0 && l != hot->loop; l = facts.loops[static_cast<size_t>(l)].parent) {
      const LoopFacts& loop = facts.loops[static_cast<size_t>(l)];
      if (loop.kind == ForKind::kVectorized) {
        lanes *= static_cast<double>(loop.extent);
      } else {
        unrolled[std::min<size_t>(dim++, 1)] *= static_cast<double>(loop.extent);
      }
    }
    vectors = unrolled[0];
    rows = unrolled[1];
    if (tiles) {
      rows = operation.rows;
      vectors = std::ceil(operation.columns / 16.0);
      lanes = 16;
      per_lane = static_cast<double>(operation.products) / (operation.rows * operation.columns);
    }
  }
  row.Plain("tile rows", rows);
  row.Plain("tile vectors", vectors);
  row.Plain("tile lanes", lanes);
  row.Plain("tile operand bits", operand_bits);
  row.Plain("tile products per lane", per_lane);
  row.prefix.clear();
}

// The loops around the hottest region, and what one iteration of each touches.
void AddChain(Row& row, const ProgramFacts& facts, const std::vector<double>& iterations, const Region* hot) {
  int loop = hot != nullptr ? hot->loop : -1;
  std::vector<double> touched(facts.buffers.size());
  for (size_t i = 0; i < kChain; ++i) {
    double working_set = 0, extent = 0, parallel = 0;
    if (loop >= 0) {
      const LoopFacts& at = facts.loops[static_cast<size_t>(loop)];
      extent = iterations[static_cast<size_t>(loop)];
      parallel = at.kind == ForKind::kParallel;
      std::fill(touched.begin(), touched.end(), 0);
      for (const AccessFacts& access : facts.accesses) {
        const auto b = static_cast<size_t>(access.buffer);
        if (!facts.Encloses(loop, access.loop)) continue;
        if (facts.buffers[b].in_registers) continue;
        touched[b] = std::max(touched[b], FootprintBytes(facts, access, at.depth, 64, iterations));
      }
      for (double bytes : touched) working_set += bytes;
      loop = at.parent;
    }
    row.Numbered("chain iterations", i, extent);
    row.Numbered("chain bytes touched", i, working_set);
    row.Numbered("chain parallel", i, parallel);
  }
}

// What the hottest region reads and writes: bytes it touches while its loop runs once, and how rows lie in memory.
void AddBuffers(Row& row, const ProgramFacts& facts, const std::vector<double>& iterations, const Region* hot,
                int page_bytes) {
  struct Hot {
    double bytes = 0, size = 0, stride = 0;
  };
  std::vector<Hot> buffers(facts.buffers.size());
  for (const AccessFacts& access : facts.accesses) {
    const auto b = static_cast<size_t>(access.buffer);
    if (hot == nullptr || !facts.Encloses(hot->loop, access.loop)) continue;
    if (facts.buffers[b].in_registers) continue;
    const int depth = hot->loop < 0 ? 0 : facts.loops[static_cast<size_t>(hot->loop)].depth;
    Hot& entry = buffers[b];
    entry.bytes = std::max(entry.bytes, FootprintBytes(facts, access, depth, 64, iterations));
    entry.size = facts.buffers[b].bytes;
    double stride = facts.buffers[b].buffer->dtype.bytes();
    for (size_t d = access.index.size(); d-- > 0;) {
      if (d + 1 < access.index.size() && !access.index[d].terms.empty()) {
        entry.stride = stride;
        break;
      }
      stride *= static_cast<double>(facts.buffers[b].shape[d]);
    }
  }
  std::sort(buffers.begin(), buffers.end(), [](const Hot& a, const Hot& b) { return a.bytes > b.bytes; });
  buffers.resize(kHotBuffers);
  for (size_t i = 0; i < kHotBuffers; ++i) {
    row.Numbered("buffer bytes in hottest loop", i, buffers[i].bytes);
    row.Numbered("buffer bytes", i, buffers[i].size);
    row.Numbered("buffer row stride", i, buffers[i].stride);
    row.Numbered("buffer row stride modulo page", i, std::fmod(buffers[i].stride, page_bytes));
  }
}

// Returns the projected time.
double Fill(const ProgramFacts& facts, const Target& target, Row& row) {
  const Projection projection = Project(facts, target);
  const Region* hot = Hottest(projection.regions);
  AddProjection(row, projection, SpeedOfLightOf(facts, target));
  AddHottest(row, facts, target, hot);
  AddChain(row, facts, projection.iterations, hot);
  AddBuffers(row, facts, projection.iterations, hot, target.cpu_part().page_bytes);
  return projection.seconds;
}

// What precedes the numbers of packed features.
struct PackedHeader {
  uint64_t names;  // FNV-1a of what FeatureNames() gives
  double projected_seconds;
};

// The packed form of this version's features.
struct PackedForm {
  uint64_t names = 0xcbf29ce484222325;
  size_t bytes = sizeof(PackedHeader);
};

const PackedForm& FormOfPacked() {
  static const PackedForm form = [] {
    PackedForm f;
    for (const std::string& name : FeatureNames()) {
      for (const char c : name + "\n") f.names = (f.names ^ static_cast<unsigned char>(c)) * 0x100000001b3;
      f.bytes += sizeof(float);
    }
    return f;
  }();
  return form;
}

}  // namespace

Features FeaturesOf(const Function& function, const Target& target) {
  Row row;
  const double projected = Fill(GatherFacts(function), target, row);
  return {std::move(row.numbers), projected};
}

std::vector<std::string> FeatureNames() {
  Row row;
  row.with_names = true;
  Fill({}, *NamedTarget("x86-znver4"), row);
  return std::move(row.names);
}

std::string Pack(const Features& features) {
  const PackedHeader header = {FormOfPacked().names, features.projected_seconds};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(reinterpret_cast<const char*>(features.numbers.data()), features.numbers.size() * sizeof(float));
  return bytes;
}

std::optional<Features> Unpack(std::string_view bytes) {
  PackedHeader header;
  if (bytes.size() != FormOfPacked().bytes) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.names != FormOfPacked().names) return std::nullopt;
  Features features{.numbers = std::vector<float>((bytes.size() - sizeof header) / sizeof(float)),
                    .projected_seconds = header.projected_seconds};
  std::memcpy(features.numbers.data(), bytes.data() + sizeof header, features.numbers.size() * sizeof(float));
  const bool damaged = !std::isfinite(header.projected_seconds) ||
                       !std::ranges::all_of(features.numbers, [](float number) { return std::isfinite(number); });
  if (damaged) return std::nullopt;
  return features;
}

}  // namespace tilewright
