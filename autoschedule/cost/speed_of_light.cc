#include "autoschedule/cost/speed_of_light.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "autoschedule/cost/memory_traffic.h"
#include "target/costs.h"

namespace tilewright {
namespace {

// Additions have units of their own on some processors.
constexpr double kArithmeticPerMultiplyAdd = 2;

bool IsKnown(const ProgramFacts& facts, int loop) { return loop < 0 || facts.loops[static_cast<size_t>(loop)].known; }

// How often something is computed that is computed once for each value of the loops it varies with.
double Computations(const ProgramFacts& facts, const OperationFacts& operation) {
  double count = operation.share * std::max(operation.dtype.lanes(), 1);
  for (int l = operation.loop; l >= 0; l = facts.loops[static_cast<size_t>(l)].parent) {
    const LoopFacts& loop = facts.loops[static_cast<size_t>(l)];
    const bool varies = (operation.varies >> std::min(loop.depth, 63) & 1) != 0;
    if (varies || operation.accumulates) count *= static_cast<double>(loop.extent);
  }
  return count;
}

// Bytes of parameters that are touched.
double ParameterBytes(const ProgramFacts& facts) {
  std::vector<double> touched(facts.buffers.size(), 0);
  std::vector<double> iterations;
  for (const LoopFacts& loop : facts.loops) iterations.push_back(static_cast<double>(loop.extent));
  for (const AccessFacts& access : facts.accesses) {
    const auto b = static_cast<size_t>(access.buffer);
    if (!facts.buffers[b].param || !IsKnown(facts, access.loop)) continue;
    touched[b] = std::max(touched[b], FootprintBytes(facts, access, 0, 1, iterations));
  }
  double bytes = 0;
  for (size_t b = 0; b < touched.size(); ++b) bytes += std::min(touched[b], facts.buffers[b].bytes);
  return bytes;
}

void FindSource(const Target& target, SpeedOfLight* limit) {
  for (const MemoryLevel& level : target.levels) {
    // A core's own level is empty when a kernel of a GPU begins.
    if (target.is_gpu() && level.shared_by == 1) continue;
    const double copies = std::max(1.0, static_cast<double>(target.cores) / level.shared_by);
    if (limit->bytes > static_cast<double>(level.bytes) * copies || level.bytes_per_cycle == 0) continue;
    limit->from = level.name;
    limit->traffic_seconds = limit->bytes / (level.bytes_per_cycle * target.clock_ghz * 1e9 * target.cores);
    return;
  }
  limit->from = "memory";
  limit->traffic_seconds = limit->bytes / (target.memory_gbs * 1e9);
}

}  // namespace

double MultiplyAddsPerCycle(const Target& target, DataType operand) {
  const double units = target.FmaPerCycle();
  if (target.is_gpu()) {
    if (operand.bits() == 16 && operand.is_float()) return std::max<double>(units, target.ProductsPerCycle("bfloat16"));
    return operand.bits() == 8 ? std::max<double>(units, target.ProductsPerCycle("int8")) : units;
  }
  if (operand.bits() == 8 && operand.is_integer()) {
    return std::max<double>(units * target.lanes(32), target.ProductsPerCycle("int8"));
  }
  const bool native_f16 = operand.code() == TypeCode::kFloat && (target.has("avx512fp16") || target.has("fullfp16"));
  if (operand.is_float() && operand.bits() <= 16) {
    const double f32 = units * target.lanes(32);
    if (operand.code() == TypeCode::kBFloat) return std::max<double>(f32, target.ProductsPerCycle("bfloat16"));
    return native_f16 ? 2 * f32 : f32;
  }
  return units * target.lanes(std::max(operand.bits(), 16));
}

SpeedOfLight SpeedOfLightOf(const ProgramFacts& facts, const Target& target) {
  SpeedOfLight limit;
  double cycles = 0;
  for (const LoopFacts& loop : facts.loops) limit.whole &= loop.known;
  for (const OperationFacts& operation : facts.operations) {
    if (!IsKnown(facts, operation.loop)) continue;
    const double count = Computations(facts, operation);
    switch (operation.kind) {
      case OperationKind::kMultiplyAdd:
      case OperationKind::kDot:
      case OperationKind::kTiles:
        limit.multiply_adds += count * operation.products;
        cycles += count * operation.products / MultiplyAddsPerCycle(target, operation.operand);
        break;
      case OperationKind::kArithmetic:
      case OperationKind::kDivide:
        if (!operation.dtype.is_float()) break;
        cycles += count / MultiplyAddsPerCycle(target, operation.dtype) / kArithmeticPerMultiplyAdd;
        break;
      case OperationKind::kTranscendental:
        cycles +=
            count * CpuCostsOf(target).least_function_instructions / MultiplyAddsPerCycle(target, operation.dtype);
        break;
      default:
        break;
    }
  }
  limit.arithmetic_seconds = cycles / (target.cores * target.clock_ghz * 1e9);
  limit.bytes = ParameterBytes(facts);
  FindSource(target, &limit);
  limit.seconds = std::max(limit.arithmetic_seconds, limit.traffic_seconds);
  return limit;
}

SpeedOfLight SpeedOfLightOf(const Function& function, const Target& target) {
  return SpeedOfLightOf(GatherFacts(function), target);
}

double BoundSeconds(const Function& program, const Function& preferred, const Target& target) {
  return std::min(SpeedOfLightOf(program, target).seconds, SpeedOfLightOf(preferred, target).seconds);
}

std::vector<double> SpeedOfLightModel::Predict(std::span<const Function> scheduled) const {
  std::vector<double> seconds;
  seconds.reserve(scheduled.size());
  for (const Function& function : scheduled) seconds.push_back(SpeedOfLightOf(function, target_).seconds);
  return seconds;
}

}  // namespace tilewright
