#include "graph/pipeline.h"

#include <optional>

#include "graph/fusion/fold_scales.h"
#include "graph/fusion/integer_products.h"
#include "graph/fusion/kernel_cost.h"
#include "graph/fusion/known_extents.h"
#include "graph/fusion/layout.h"
#include "graph/fusion/likely_sizes.h"
#include "graph/fusion/mixed_precision.h"
#include "graph/fusion/share_kernels.h"
#include "graph/fusion/sink_dequantization.h"
#include "graph/fusion/specialize.h"
#include "graph/rewrite/legalize.h"

namespace tilewright::graph {
namespace {

// The type in which products multiply floats; nothing where it is that of the model.
std::optional<DataType> NarrowType(Precision precision) {
  if (precision == Precision::kFloat16) return DataType::Float(16);
  if (precision == Precision::kBFloat16) return DataType::BFloat16();
  return std::nullopt;
}

}  // namespace

std::vector<Pass> GraphPasses(const PassEnvironment& environment) {
  const PassEnvironment e = environment;
  const auto fold = [e](const GraphModule& m) { return FoldConstants(m, *e.ops, e.folder); };
  const auto cse = [e](const GraphModule& m) { return EliminateCommonSubexpressions(m, *e.ops); };
  const auto dce = [e](const GraphModule& m) { return EliminateDeadCode(m, *e.ops); };
  const auto legalize = [e](const GraphModule& m) -> absl::StatusOr<GraphModule> {
    return e.lowerings == nullptr ? m : LegalizeOps(m, *e.ops, *e.lowerings);
  };
  const auto integers = [e](const GraphModule& m) {
    return IntegerProducts(m, *e.ops, e.precision == Precision::kInteger);
  };
  const auto sink = [e](const GraphModule& m) { return SinkDequantization(m, *e.ops); };
  const auto scales = [e](const GraphModule& m) { return FoldScales(m, *e.ops); };
  const auto layouts = [e](const GraphModule& m) { return AssignLayouts(m, *e.ops); };
  const auto extents = [e](const GraphModule& m) { return KnownExtents(m, *e.ops); };
  const auto specialize = [e](const GraphModule& m) { return SpecializePrograms(m, *e.ops); };
  const std::optional<DataType> narrow = NarrowType(e.precision);
  const auto round = [e, narrow](const GraphModule& m) -> absl::StatusOr<GraphModule> {
    return narrow ? MixedPrecision(m, *e.ops, *narrow) : m;
  };
  const auto unround = [e, narrow](const GraphModule& m) -> absl::StatusOr<GraphModule> {
    return narrow ? DropRoundings(m, *e.ops, *narrow) : m;
  };
  const auto fuse = [e](const GraphModule& m) {
    const Function main = m.Main();
    const SizesByName sizes = main ? TypicalSizes(main, e.sizes) : e.sizes;
    KernelCosts costs(e.target, e.scheduled, sizes, e.measured);
    return FuseKernels(NameLikelySizes(m, sizes), *e.ops, costs, e.report, e.kept);
  };
  const auto share = [e](const GraphModule& m) { return ShareKernels(m, *e.ops); };
  return {
      // Before small weights are folded to floats, and where others were brought into their order.
      {.name = "IntegerProducts", .opt_level = 2, .run = integers},
      {.name = "FoldConstants", .opt_level = 1, .run = fold},
      {.name = "EliminateCommonSubexpressions", .opt_level = 1, .run = cse},
      {.name = "EliminateDeadCode", .opt_level = 1, .run = dce},
      {.name = "LegalizeOps", .opt_level = 0, .run = legalize},
      // Before anything looks at programs.
      {.name = "KnownExtents", .opt_level = 1, .run = extents},
      {.name = "IntegerProducts", .opt_level = 2, .run = integers},
      {.name = "SinkDequantization", .opt_level = 2, .run = sink},
      {.name = "FoldScales", .opt_level = 2, .run = scales},
      {.name = "FoldConstants", .opt_level = 2, .run = fold},
      {.name = "AssignLayouts", .opt_level = 2, .run = layouts},
      {.name = "SpecializePrograms", .opt_level = 2, .run = specialize},
      // Fusion does not have to serve readers that are dead.
      {.name = "EliminateDeadCode", .opt_level = 1, .run = dce},
      // After weights got their scales and their order; fusion sees what will run.
      {.name = "MixedPrecision", .opt_level = 2, .run = round},
      {.name = "FuseKernels", .opt_level = 2, .run = fuse},
      {.name = "DropRoundings", .opt_level = 2, .run = unround},
      {.name = "ShareKernels", .opt_level = 2, .run = share},
      {.name = "EliminateDeadCode", .opt_level = 1, .run = dce},
  };
}

}  // namespace tilewright::graph
