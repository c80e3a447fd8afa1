#include "codegen/lower/pipeline.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "codegen/lower/common/align_strides.h"
#include "codegen/lower/common/compact_buffers.h"
#include "codegen/lower/common/flatten_buffers.h"
#include "codegen/lower/common/loop_partition.h"
#include "codegen/lower/common/lower_blocks.h"
#include "codegen/lower/common/lower_init.h"
#include "codegen/lower/common/lower_match_buffers.h"
#include "codegen/lower/common/mark_pipelines.h"
#include "codegen/lower/common/plan_allocations.h"
#include "codegen/lower/common/simplify.h"
#include "codegen/lower/common/software_pipeline.h"
#include "codegen/lower/common/storage_annotations.h"
#include "codegen/lower/common/substitute_iterators.h"
#include "codegen/lower/common/unroll.h"
#include "codegen/lower/common/vectorize.h"
#include "codegen/lower/common/verify_lowered.h"
#include "codegen/lower/cpu/align_stores.h"
#include "codegen/lower/cpu/cache_hints.h"
#include "codegen/lower/cpu/hoist_conditions.h"
#include "codegen/lower/cpu/load_runs.h"
#include "codegen/lower/cpu/mask_late.h"
#include "codegen/lower/cpu/shuffle_overlaps.h"
#include "codegen/lower/cpu/signed_dots.h"
#include "codegen/lower/cpu/skip_padding.h"
#include "codegen/lower/cpu/trim_windows.h"

namespace tilewright {
namespace {

using Result = absl::StatusOr<Function>;
struct Pass {
  std::string_view name;
  Result (*run)(const Function& function, const Target& target);
};

// A GPU has no vector registers; its loads and stores move up to 128 bits.
int VectorBits(const Target& target) { return target.kind == TargetKind::kCuda ? 128 : target.vector_bits; }

// The order matters. Signatures of blocks are needed until allocations are placed; regions of sub-buffers until buffers
// are compact; pipelines are expanded where the index of a version can be added to all accesses, which are of whole
// buffers again; loops are cut before they are written out, so that each part folds its own conditions; vectors are
// made of flat indices, where adjacent elements can be seen, and of loops that say where they lie in cache lines, runs
// of them once loops over vectors are written out, and overlaps of vectors once all stand side by side.
constexpr Pass kPasses[] = {
    {"plan_allocations", [](const Function& f, const Target&) -> Result { return PlanAllocations(f); }},
    {"place_storage_annotations", [](const Function& f, const Target&) { return PlaceStorageAnnotations(f); }},
    {"mark_pipelines", [](const Function& f, const Target&) { return MarkPipelines(f); }},
    {"lower_init", [](const Function& f, const Target&) -> Result { return LowerInit(f); }},
    {"substitute_iterators", [](const Function& f, const Target&) -> Result { return SubstituteIterators(f); }},
    {"compact_buffers", [](const Function& f, const Target&) -> Result { return CompactBuffers(f); }},
    {"align_strides", [](const Function& f, const Target&) { return AlignStrides(f); }},
    {"lower_match_buffers", [](const Function& f, const Target&) { return LowerMatchBuffers(f); }},
    {"lower_blocks", [](const Function& f, const Target&) -> Result { return LowerBlocks(f); }},
    {"software_pipeline", [](const Function& f, const Target&) { return InjectPipelines(f); }},
    {"simplify", [](const Function& f, const Target&) -> Result { return SimplifyFunction(f); }},
    {"trim_windows", [](const Function& f, const Target&) -> Result { return TrimWindows(f); }},
    {"loop_partition", [](const Function& f, const Target&) -> Result { return PartitionLoops(f); }},
    {"flatten_buffers", [](const Function& f, const Target&) { return FlattenBuffers(f); }},
    {"align_stores", [](const Function& f, const Target& t) -> Result { return AlignStores(f, t); }},
    {"vectorize", [](const Function& f, const Target& t) -> Result { return VectorizeLoops(f, VectorBits(t)); }},
    {"unroll", [](const Function& f, const Target&) -> Result { return UnrollLoops(f); }},
    {"simplify_unrolled", [](const Function& f, const Target&) -> Result { return SimplifyFunction(f); }},
    {"load_runs", [](const Function& f, const Target&) -> Result { return LoadRuns(f); }},
    {"hoist_conditions", [](const Function& f, const Target&) -> Result { return HoistConditions(f); }},
    {"skip_padding", [](const Function& f, const Target&) -> Result { return SkipPadding(f); }},
    {"shuffle_overlaps", [](const Function& f, const Target& t) -> Result { return ShuffleOverlaps(f, t); }},
    {"insert_cache_hints", [](const Function& f, const Target&) -> Result { return InsertCacheHints(f); }},
    {"mask_late", [](const Function& f, const Target&) -> Result { return MaskLate(f); }},
    {"signed_dots", [](const Function& f, const Target& t) -> Result { return LowerSignedDots(f, t); }},
};

}  // namespace

std::vector<std::string_view> LoweringPassNames() {
  std::vector<std::string_view> names;
  for (const Pass& pass : kPasses) names.push_back(pass.name);
  return names;
}

absl::StatusOr<Module> Lower(const Module& module, const Target& target, const LowerOptions& options,
                             std::vector<PassTime>* times) {
  Module lowered = module;
  for (const Pass& pass : kPasses) {
    const auto start = std::chrono::steady_clock::now();
    for (const Function& before : module.functions()) {
      const Function current = lowered.Find(before->name);
      Result after = pass.run(current, target);
      if (!after.ok()) {
        return absl::Status(after.status().code(),
                            absl::StrCat("function ", before->name, ": ", after.status().message()));
      }
      if (options.after_pass && !(*after)->body.same_as(current->body)) options.after_pass(pass.name, current, *after);
      lowered.Set(*std::move(after));
    }
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
    if (times != nullptr) times->push_back({pass.name, spent.count()});
  }
  for (const Function& function : lowered.functions()) {
    if (absl::Status status = VerifyLowered(function); !status.ok()) return status;
  }
  return lowered;
}

}  // namespace tilewright
