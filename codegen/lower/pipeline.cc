#include "codegen/lower/pipeline.h"

#include <chrono>
#include <iterator>
#include <span>

#include "absl/strings/str_cat.h"
#include "base/phases.h"
#include "base/status_macros.h"
#include "codegen/lower/common/align_strides.h"
#include "codegen/lower/common/compact_buffers.h"
#include "codegen/lower/common/flatten_buffers.h"
#include "codegen/lower/common/guard_selects.h"
#include "codegen/lower/common/loop_partition.h"
#include "codegen/lower/common/lower_blocks.h"
#include "codegen/lower/common/lower_init.h"
#include "codegen/lower/common/lower_match_buffers.h"
#include "codegen/lower/common/mark_pipelines.h"
#include "codegen/lower/common/place_layouts.h"
#include "codegen/lower/common/plan_allocations.h"
#include "codegen/lower/common/simplify.h"
#include "codegen/lower/common/software_pipeline.h"
#include "codegen/lower/common/storage_annotations.h"
#include "codegen/lower/common/substitute_iterators.h"
#include "codegen/lower/common/unroll.h"
#include "codegen/lower/common/vectorize.h"
#include "codegen/lower/common/verify_lowered.h"
#include "codegen/lower/common/widen_indices.h"
#include "codegen/lower/cpu/align_stores.h"
#include "codegen/lower/cpu/cache_hints.h"
#include "codegen/lower/cpu/carry_elements.h"
#include "codegen/lower/cpu/hoist_conditions.h"
#include "codegen/lower/cpu/load_runs.h"
#include "codegen/lower/cpu/mask_bytes.h"
#include "codegen/lower/cpu/mask_late.h"
#include "codegen/lower/cpu/narrow_sums.h"
#include "codegen/lower/cpu/run_beside.h"
#include "codegen/lower/cpu/shuffle_overlaps.h"
#include "codegen/lower/cpu/signed_dots.h"
#include "codegen/lower/cpu/skip_padding.h"
#include "codegen/lower/cpu/symbolic_edges.h"
#include "codegen/lower/cpu/tabulate.h"
#include "codegen/lower/cpu/tabulate_bytes.h"
#include "codegen/lower/cpu/threads_from.h"
#include "codegen/lower/cpu/transpose_loads.h"
#include "codegen/lower/cpu/trim_windows.h"
#include "codegen/lower/cpu/whole_stores.h"
#include "codegen/lower/cpu/widen_bytes.h"
#include "codegen/lower/cpu/widen_shifts.h"
#include "codegen/lower/gpu/async_copies.h"
#include "codegen/lower/gpu/bulk_barriers.h"
#include "codegen/lower/gpu/bulk_copies.h"
#include "codegen/lower/gpu/bulk_stores.h"
#include "codegen/lower/gpu/cross_thread_reduction.h"
#include "codegen/lower/gpu/fragment_lanes.h"
#include "codegen/lower/gpu/grids/dependent_grids.h"
#include "codegen/lower/gpu/lower_vthreads.h"
#include "codegen/lower/gpu/lower_warp_memory.h"
#include "codegen/lower/gpu/merge_shared.h"
#include "codegen/lower/gpu/operand_descriptors.h"
#include "codegen/lower/gpu/order_async.h"
#include "codegen/lower/gpu/own_memory.h"
#include "codegen/lower/gpu/place_barriers.h"
#include "codegen/lower/gpu/select_instructions.h"
#include "codegen/lower/gpu/share_blocks.h"
#include "codegen/lower/gpu/unify_threads.h"
#include "ir/changes/keep_values.h"
#include "ir/iterations.h"

namespace tilewright {
namespace {

using Result = absl::StatusOr<Function>;
using Context = LowerContext;

Result VerifiedLowered(const Function& function) {
  TW_RETURN_IF_ERROR(VerifyLowered(function));
  return function;
}

// Passes write values elsewhere than where the program has them.
constexpr Pass kFirst[] = {
    {"keep_values", [](const Function& f, const Context&) -> Result { return KeepValues(f); }},
};

// The order matters. What a Select loads is looked at while buffers have their shapes. Signatures of blocks are needed
// until allocations are placed. Regions of sub-buffers are needed until buffers are compact. Pipelines are expanded
// where the index of a version can be added to all accesses, which are of whole buffers again.
constexpr Pass kCommonBefore[] = {
    {"guard_selects", [](const Function& f, const Context&) -> Result { return GuardSelects(f); }},
    {"widen_indices", [](const Function& f, const Context&) -> Result { return WidenIndices(f); }},
    {"plan_allocations", [](const Function& f, const Context&) -> Result { return PlanAllocations(f); }},
    {"place_storage_annotations", [](const Function& f, const Context&) { return PlaceStorageAnnotations(f); }},
    {"mark_pipelines", [](const Function& f, const Context&) { return MarkPipelines(f); }},
    {"lower_init", [](const Function& f, const Context&) { return LowerInit(f); }},
    {"substitute_iterators", [](const Function& f, const Context&) -> Result { return SubstituteIterators(f); }},
    {"compact_buffers", [](const Function& f, const Context&) -> Result { return CompactBuffers(f); }},
    {"align_strides", [](const Function& f, const Context&) { return AlignStrides(f); }},
    {"place_layouts", [](const Function& f, const Context&) { return PlaceLayouts(f); }},
    {"lower_match_buffers", [](const Function& f, const Context&) { return LowerMatchBuffers(f); }},
    {"lower_blocks", [](const Function& f, const Context&) -> Result { return LowerBlocks(f); }},
    {"software_pipeline", [](const Function& f, const Context& c) { return InjectPipelines(f, c.target); }},
    {"simplify", [](const Function& f, const Context&) -> Result { return SimplifyFunction(f); }},
};

// Whether loops meet in memory is seen while buffers have their shapes, and what they have to do before they are cut.
// Loops are cut before they are written out, so that each part folds its own conditions. Functions become tables before
// vectors are as short as what functions compute with. Vectors are made of flat indices, where adjacent elements can be
// seen, and of loops that say where they lie in cache lines. Runs of vectors
// are found once loops over vectors are written out, and overlaps of vectors once all stand side by side.
constexpr Pass kCpu[] = {
    {"run_beside", [](const Function& f, const Context& c) -> Result { return RunBeside(f, c.target); }},
    {"threads_from", [](const Function& f, const Context&) -> Result { return PlaceThreadConditions(f); }},
    {"trim_windows", [](const Function& f, const Context&) -> Result { return TrimWindows(f); }},
    {"symbolic_edges", [](const Function& f, const Context&) -> Result { return CutSymbolicEdges(f); }},
    {"loop_partition", [](const Function& f, const Context&) -> Result { return PartitionLoops(f); }},
    {"flatten_buffers", [](const Function& f, const Context&) { return FlattenBuffers(f); }},
    {"tabulate_bytes", [](const Function& f, const Context& c) -> Result { return TabulateBytes(f, c.target); }},
    {"align_stores", [](const Function& f, const Context& c) -> Result { return AlignStores(f, c.target); }},
    {"vectorize",
     [](const Function& f, const Context& c) -> Result { return VectorizeLoops(f, c.target.cpu_part().vector_bits); }},
    {"unroll", [](const Function& f, const Context&) -> Result { return UnrollLoops(f); }},
    {"simplify_unrolled", [](const Function& f, const Context&) -> Result { return SimplifyFunction(f); }},
    {"store_whole", [](const Function& f, const Context&) -> Result { return StoreWhole(f); }},
    {"carry_elements", [](const Function& f, const Context&) -> Result { return CarryElements(f); }},
    {"transpose_loads", [](const Function& f, const Context&) -> Result { return TransposeLoads(f); }},
    {"load_runs", [](const Function& f, const Context&) -> Result { return LoadRuns(f); }},
    {"hoist_conditions", [](const Function& f, const Context&) -> Result { return HoistConditions(f); }},
    {"skip_padding", [](const Function& f, const Context&) -> Result { return SkipPadding(f); }},
    {"shuffle_overlaps", [](const Function& f, const Context& c) -> Result { return ShuffleOverlaps(f, c.target); }},
    {"tabulate", [](const Function& f, const Context& c) -> Result { return Tabulate(f, c.target); }},
    {"widen_shifts", [](const Function& f, const Context& c) -> Result { return WidenShifts(f, c.target); }},
    {"widen_bytes", [](const Function& f, const Context& c) -> Result { return WidenBytes(f, c.target); }},
    {"insert_cache_hints", [](const Function& f, const Context& c) -> Result { return InsertCacheHints(f, c.target); }},
    {"mask_bytes", [](const Function& f, const Context& c) -> Result { return MaskBytes(f, c.target); }},
    {"narrow_sums", [](const Function& f, const Context& c) -> Result { return NarrowSums(f, c.target); }},
    {"mask_late", [](const Function& f, const Context&) -> Result { return MaskLate(f); }},
    {"signed_dots", [](const Function& f, const Context& c) -> Result { return LowerSignedDots(f, c.target); }},
};

// Threads of a kernel are brought together while blocks say what they reduce and which memory they write, and when it
// is known who owns that.
constexpr Pass kGpuBlocks[] = {
    {"own_memory", [](const Function& f, const Context&) -> Result { return GiveOwnMemory(f); }},
    {"unify_threads", [](const Function& f, const Context& c) { return UnifyThreads(f, c.gpu()); }},
    {"cross_thread_reduction", [](const Function& f, const Context& c) { return CombineAcrossThreads(f, c.gpu()); }},
};

// Up to place_barriers a statement means what it means when all threads execute it before any goes on. Barriers are
// placed when it is known which bytes buffers share.
constexpr Pass kGpu[] = {
    {"bulk_copies",
     [](const Function& f, const Context& c) -> Result {
       return c.target.has("tma") ? MakeBulkCopies(f, c.gpu()) : f;
     }},
    {"bulk_stores",
     [](const Function& f, const Context& c) -> Result {
       return c.target.has("tma") ? MakeBulkStores(f, c.gpu()) : f;
     }},
    {"operand_descriptors", [](const Function& f, const Context&) { return DescribeOperands(f); }},
    {"mark_fragments", [](const Function& f, const Context&) -> Result { return MarkFragments(f); }},
    {"lower_vthreads", [](const Function& f, const Context& c) -> Result { return LowerVirtualThreads(f, c.gpu()); }},
    {"loop_partition", [](const Function& f, const Context&) -> Result { return PartitionLoops(f); }},
    {"flatten_buffers", [](const Function& f, const Context&) { return FlattenBuffers(f); }},
    {"vectorize",
     [](const Function& f, const Context& c) -> Result { return VectorizeLoops(f, 8 * c.gpu().max_access_bytes); }},
    {"unroll", [](const Function& f, const Context&) -> Result { return UnrollLoops(f); }},
    {"simplify_unrolled", [](const Function& f, const Context&) -> Result { return SimplifyFunction(f); }},
    {"async_copies", [](const Function& f, const Context&) -> Result { return MakeAsyncCopies(f); }},
    {"share_blocks",
     [](const Function& f, const Context&) -> Result {
       const Function shared = ShareBlocks(f);
       return shared.same_as(f) ? f : SimplifyFunction(shared);
     }},
    {"merge_shared", [](const Function& f, const Context& c) { return MergeShared(f, c.gpu()); }},
    {"place_barriers", [](const Function& f, const Context&) { return PlaceBarriers(f); }},
    {"select_instructions", [](const Function& f, const Context& c) { return SelectInstructions(f, c.gpu()); }},
    {"bulk_barriers", [](const Function& f, const Context& c) { return MakeBulkBarriers(f, c.gpu()); }},
    {"unroll_registers", [](const Function& f, const Context&) -> Result { return UnrollLoops(f); }},
    {"lower_warp_memory", [](const Function& f, const Context& c) { return LowerWarpMemory(f, c.gpu()); }},
    {"order_async", [](const Function& f, const Context&) -> Result { return OrderAsync(f); }},
    {"dependent_grids",
     [](const Function& f, const Context& c) -> Result {
       return c.target.has("griddepcontrol") ? OrderDependentGrids(f) : f;
     }},
};

// What is left is in the form that pipeline.h describes.
constexpr Pass kCommonAfter[] = {
    {"verify_lowered", [](const Function& f, const Context&) { return VerifiedLowered(f); }},
};

}  // namespace

std::vector<Pass> PipelineFor(const Target& target) {
  const bool gpu = target.is_gpu();
  const std::span<const Pass> machine = gpu ? std::span<const Pass>(kGpu) : kCpu;
  std::vector<Pass> passes(std::begin(kFirst), std::end(kFirst));
  if (gpu) passes.insert(passes.end(), std::begin(kGpuBlocks), std::end(kGpuBlocks));
  passes.insert(passes.end(), std::begin(kCommonBefore), std::end(kCommonBefore));
  passes.insert(passes.end(), machine.begin(), machine.end());
  passes.insert(passes.end(), std::begin(kCommonAfter), std::end(kCommonAfter));
  return passes;
}

std::vector<std::string_view> LoweringPassNames(const Target& target) {
  std::vector<std::string_view> names;
  for (const Pass& pass : PipelineFor(target)) names.push_back(pass.name);
  return names;
}

absl::StatusOr<Module> Lower(const Module& module, const Target& target, const LowerOptions& options,
                             std::vector<PassTime>* times) {
  Module lowered = module;
  const LowerContext context{target};
  Phase lowering("lower");
  for (const Pass& pass : PipelineFor(target)) {
    const auto start = std::chrono::steady_clock::now();
    const Module given = lowered;
    Phase phase(pass.name);
    for (const Function& before : module.functions()) {
      const Function current = lowered.Find(before->name);
      Result after = pass.run(current, context);
      if (!after.ok()) {
        return absl::Status(after.status().code(),
                            absl::StrCat("function ", before->name, ": ", after.status().message()));
      }
      if (options.after_pass && !(*after)->body.same_as(current->body)) options.after_pass(pass.name, current, *after);
      lowered.Set(*std::move(after));
    }
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
    phase.End();
    if (phase.reported()) phase.Nodes(CountNodes(given), CountNodes(lowered));
    if (times != nullptr) times->push_back({pass.name, spent.count()});
  }
  lowering.End();
  if (lowering.reported()) lowering.Nodes(CountNodes(module), CountNodes(lowered));
  return lowered;
}

}  // namespace tilewright
