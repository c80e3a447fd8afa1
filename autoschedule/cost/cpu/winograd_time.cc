#include "autoschedule/cost/cpu/winograd_time.h"

#include <algorithm>
#include <cstddef>

#include "autoschedule/cost/machine_costs.h"
#include "target/costs.h"

namespace tilewright {
namespace {

double ProductsPerCycle(const WinogradSizes& sizes, const Target& target) {
  return TileCostsOf(target).winograd_efficiency * sizes.lanes * sizes.per_cycle * target.cores;
}

// Cycles to move so many elements from or to the cache that holds `all` elements, no nearer than `nearest`.
double Moved(double elements, double all, size_t nearest, const Target& target) {
  return CyclesToMove(sizeof(float) * elements, sizeof(float) * all, nearest, target);
}

}  // namespace

double DirectCycles(const WinogradSizes& sizes, const Target& target) {
  return sizes.products / ProductsPerCycle(sizes, target);
}

double WinogradCycles(const WinogradSizes& sizes, const std::vector<WinogradWindow>& windows, bool balanced,
                      const Target& target) {
  // For each element of the rows and of the output: transformed ones, and those of all steps on the way.
  double part = 1, steps = 0;
  double products = sizes.products, kernel = sizes.kernel;
  for (const WinogradWindow& window : windows) {
    part *= window.products_per_output;
    steps += part;
    products *= window.products_per_output / static_cast<double>(window.taps);
    kernel *= static_cast<double>(window.products) / static_cast<double>(window.taps);
  }
  const double elements = sizes.rows + sizes.output;
  const double instructions =
      steps * elements / sizes.lanes * TileCostsOf(target).winograd_instructions / sizes.per_cycle / target.cores;
  const bool together = balanced && 4 * kernel <= static_cast<double>(target.Near().usable_bytes);
  const size_t nearest = together ? 1 : 2;
  return std::max(products / ProductsPerCycle(sizes, target), CyclesFromMemory(sizeof(float) * kernel, target)) +
         instructions + (together ? 0 : 2 * StageCycles(target)) +
         2 * Moved(part * elements, part * elements, nearest, target) + Moved(kernel - sizes.kernel, kernel, 1, target);
}

}  // namespace tilewright
