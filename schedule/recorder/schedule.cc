#include "schedule/recorder/schedule.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/nearest_names.h"
#include "base/status_macros.h"
#include "schedule/recorder/shared_steps.h"
#include "schedule/recorder/view_refusals.h"

namespace tilewright {
namespace {

bool TakesBlockName(ArgKind kind) {
  return kind == ArgKind::kBlock || kind == ArgKind::kLoopOrBlock || kind == ArgKind::kTarget;
}

// Loops and blocks in a value are all in the same function; empty when there are none.
void CollectFunctions(const Value& value, std::vector<const std::string*>& names) {
  if (const auto* loop = value.As<LoopRef>()) names.push_back(&loop->function);
  if (const auto* block = value.As<BlockRef>()) names.push_back(&block->function);
  if (const auto* list = value.As<Value::List>()) {
    for (const Value& entry : *list) CollectFunctions(entry, names);
  }
}

}  // namespace

Schedule::Schedule(Module module, const Options& options)
    : module_(std::move(module)), random_(options.seed), intrins_(options.intrins), shared_(options.shared) {
  if (shared_ != nullptr) place_ = shared_->Root(module_);
}

bool Schedule::IsKnown(Rv rv) const {
  const auto place = static_cast<size_t>(rv.index);
  return rv.index >= 0 && place < values_.size() && !values_[place].is_none();
}

const Value& Schedule::Get(Rv rv) const {
  TW_CHECK(IsKnown(rv)) << "random variable " << rv.index;
  return values_[static_cast<size_t>(rv.index)];
}

Outcome<Value> Schedule::ResolveRvs(const Primitive& primitive, const Value& value) const {
  bool known = true;
  Value resolved = MapRvs(value, [&](Rv rv) {
    known &= IsKnown(rv);
    return known ? values_[static_cast<size_t>(rv.index)] : Value();
  });
  if (!known) return Refusal{primitive.name, "an argument is not a random variable of this schedule"};
  return resolved;
}

std::string Schedule::FunctionOf(const Primitive& primitive, const std::vector<Value>& args) const {
  std::vector<const std::string*> names;
  for (const Value& arg : args) CollectFunctions(arg, names);
  if (!names.empty()) return *names[0];
  for (size_t i = 0; i < args.size(); ++i) {
    if (std::string_view(primitive.args[i].name) != "func_name") continue;
    const auto* name = args[i].As<std::string>();
    // "main" is the default; it means the only function, too.
    if (name != nullptr && (*name != "main" || module_.Find(*name))) return *name;
  }
  const Function main = module_.Main();
  return main ? main->name : "main";
}

std::optional<Refusal> Schedule::ReplaceBlockNames(const Primitive& primitive, std::vector<Value>& args) {
  auto replace = [&](Value& value) -> std::optional<Refusal> {
    const auto* name = value.As<std::string>();
    if (name == nullptr) return std::nullopt;
    TW_ASSIGN_OR_RETURN(BlockRv block, GetBlock(*name));
    value = block;
    return std::nullopt;
  };
  for (size_t i = 0; i < std::min(args.size(), primitive.args.size()); ++i) {
    const ArgKind kind = primitive.args[i].kind;
    if (TakesBlockName(kind)) {
      if (auto refusal = replace(args[i])) return refusal;
    }
    auto* list = kind == ArgKind::kBlocks ? std::get_if<Value::List>(&args[i].data) : nullptr;
    for (size_t k = 0; list != nullptr && k < list->size(); ++k) {
      if (auto refusal = replace((*list)[k])) return refusal;
    }
  }
  return std::nullopt;
}

Outcome<std::vector<Value>> Schedule::Resolve(const Primitive& primitive, std::vector<Value>& args) {
  if (args.size() > primitive.args.size()) {
    return Refusal{primitive.name,
                   "there are {num0} arguments, at most {num1} are taken",
                   {},
                   {},
                   {},
                   {std::ssize(args), std::ssize(primitive.args)}};
  }
  std::vector<Value> resolved;
  resolved.reserve(primitive.args.size());
  args.reserve(primitive.args.size());
  std::vector<const std::string*> functions;
  for (size_t i = 0; i < primitive.args.size(); ++i) {
    const ArgSpec& spec = primitive.args[i];
    if (i == args.size()) {
      if (!spec.default_value) {
        return Refusal{primitive.name, "the argument {text0} is missing", {}, {}, {spec.name}};
      }
      args.push_back(*spec.default_value);
    }
    TW_ASSIGN_OR_RETURN(Value value, ResolveRvs(primitive, args[i]));
    resolved.push_back(std::move(value));
    if (!FitsKind(spec.kind, resolved.back())) {
      return Refusal{
          primitive.name, "the argument {text0} must be {text1}", {}, {}, {spec.name, ArgKindName(spec.kind)}};
    }
  }
  for (const Value& value : resolved) CollectFunctions(value, functions);
  for (const std::string* name : functions) {
    if (*name != *functions[0]) return Refusal{primitive.name, "the arguments are in different functions"};
  }
  return resolved;
}

void Schedule::EndSharing() { place_ = nullptr; }

void Schedule::RemoveUnusedQueries() { trace_ = WithoutUnusedQueries(trace_); }

bool Schedule::CanDecomposePadding(Value block, Value loop) const {
  Schedule copy = *this;
  copy.EndSharing();
  return copy.Apply("decompose_padding", {std::move(block), std::move(loop)}).ok();
}

Outcome<std::monostate> Schedule::RemoveRv(Rv rv) {
  if (!IsKnown(rv)) {
    refused_function_ = module_.Main();
    return Refusal{"remove_rv", "the argument is not a random variable of this schedule"};
  }
  EndSharing();  // others may still use it
  values_.Set(static_cast<size_t>(rv.index), Value());
  return std::monostate();
}

std::vector<Rv> Schedule::Record(const SharedInstruction& instruction, const std::vector<Value>& results) {
  TW_CHECK(instruction->results.empty() || static_cast<size_t>(instruction->results[0].index) == values_.size());
  for (const Value& result : results) values_.push_back(result);
  trace_.instructions.push_back(instruction);
  return instruction->results;
}

Outcome<std::vector<Rv>> Schedule::Take(const SharedStep& step) {
  refused_function_ = step.function;
  if (step.refusal) return *step.refusal;
  module_ = step.module;
  return Record(*step.instruction, step.results);
}

Outcome<std::vector<Rv>> Schedule::Apply(const Primitive& primitive, std::vector<Value> args, const Value& decision) {
  if (auto refusal = ReplaceBlockNames(primitive, args)) return *refusal;
  if (primitive.role == Primitive::Role::kSampling && decision.is_none()) EndSharing();
  std::shared_ptr<SharedStep> step;
  if (place_ != nullptr) {
    if (std::shared_ptr<SharedStep> known = place_->Find(primitive, args, decision)) {
      if (!known->refusal) place_ = known;
      return Take(*known);
    }
    step = std::make_shared<SharedStep>();
    step->primitive = &primitive;
    step->given = args;
    step->decision = decision;
  }
  Outcome<std::vector<Value>> resolved = Resolve(primitive, args);
  if (!resolved.ok()) {
    refused_function_ = module_.Main();
    return resolved.refusal();
  }
  const std::string function = FunctionOf(primitive, *resolved);
  refused_function_ = module_.Find(function);
  if (!refused_function_) {
    refused_function_ = module_.Main();
    std::vector<std::string> names;
    for (const Function& known : module_.functions()) names.push_back(known->name);
    return Refusal{
        primitive.name, "there is no function {text0}{text1}", {}, {}, {function, DidYouMean(function, names)}};
  }
  Application application(module_, function, *resolved, decision, random_, intrins_);
  const std::optional<Refusal> views = WhyViewsForbid(primitive, refused_function_, *resolved);
  Outcome<Applied> applied = views ? Outcome<Applied>(*views) : primitive.apply(application);
  if (step != nullptr) step->function = refused_function_;
  if (!applied.ok()) {
    if (step != nullptr) {
      step->refusal = applied.refusal();
      shared_->Add(*place_, std::move(step));
    }
    return applied.refusal();
  }
  Applied result = std::move(applied).value();
  module_ = std::move(result.module);
  std::vector<Rv> rvs;
  for (size_t i = 0; i < result.results.size(); ++i) rvs.push_back(Rv{static_cast<int>(values_.size() + i)});
  const SharedInstruction instruction(
      Instruction{&primitive, std::move(args), std::move(rvs), std::move(result.decision)});
  if (step != nullptr) {
    step->module = module_;
    step->instruction = instruction;
    step->results = result.results;
    shared_->Add(*place_, step);
    place_ = std::move(step);
  }
  return Record(instruction, result.results);
}

Outcome<std::vector<Rv>> Schedule::Apply(std::string_view name, std::vector<Value> args, const Value& decision) {
  const Primitive* primitive = FindPrimitive(name);
  TW_CHECK(primitive != nullptr) << "there is no primitive " << std::string(name);
  return Apply(*primitive, std::move(args), decision);
}

Outcome<std::monostate> Schedule::Replay(const Trace& trace, std::map<int, Rv>* renamed) {
  std::map<int, Rv> names;
  for (const Instruction& instruction : trace.instructions) {
    std::vector<Value> args;
    for (const Value& arg : instruction.args) {
      args.push_back(MapRvs(arg, [&](Rv rv) {
        const auto name = names.find(rv.index);
        return name == names.end() ? Value(Rv{}) : Value(name->second);
      }));
    }
    TW_ASSIGN_OR_RETURN(std::vector<Rv> results, Apply(*instruction.primitive, std::move(args), instruction.decision));
    if (results.size() != instruction.results.size()) {
      return Refusal{instruction.primitive->name,
                     "there are {num0} results here, {num1} in the trace",
                     {},
                     {},
                     {},
                     {std::ssize(results), std::ssize(instruction.results)}};
    }
    for (size_t i = 0; i < results.size(); ++i) names[instruction.results[i].index] = results[i];
  }
  if (renamed != nullptr) *renamed = std::move(names);
  return std::monostate();
}

template <class T>
Outcome<std::vector<T>> Schedule::All(std::string_view primitive, std::vector<Value> args, const Value& decision) {
  TW_ASSIGN_OR_RETURN(std::vector<Rv> results, Apply(primitive, std::move(args), decision));
  std::vector<T> typed;
  typed.reserve(results.size());
  for (Rv rv : results) typed.push_back(T{rv});
  return typed;
}
template <class T>
Outcome<T> Schedule::One(std::string_view primitive, std::vector<Value> args, const Value& decision) {
  TW_ASSIGN_OR_RETURN(std::vector<T> results, All<T>(primitive, std::move(args), decision));
  return results.at(0);
}
Outcome<std::monostate> Schedule::None(std::string_view primitive, std::vector<Value> args) {
  TW_ASSIGN_OR_RETURN(std::vector<Rv> results, Apply(primitive, std::move(args)));
  return std::monostate();
}

namespace {
Value ListOf(const std::vector<LoopRv>& loops) {
  Value::List list;
  list.reserve(loops.size());
  for (LoopRv loop : loops) list.push_back(Rv(loop));
  return list;
}
}  // namespace

Outcome<BlockRv> Schedule::GetBlock(std::string name, std::string function) {
  return One<BlockRv>("get_block", {std::move(name), std::move(function)});
}
Outcome<std::vector<LoopRv>> Schedule::GetLoops(Value block) { return All<LoopRv>("get_loops", {block}); }
Outcome<std::vector<BlockRv>> Schedule::GetChildBlocks(Value block_or_loop) {
  return All<BlockRv>("get_child_blocks", {block_or_loop});
}
Outcome<std::vector<BlockRv>> Schedule::GetProducers(Value block) { return All<BlockRv>("get_producers", {block}); }
Outcome<std::vector<BlockRv>> Schedule::GetConsumers(Value block) { return All<BlockRv>("get_consumers", {block}); }
Outcome<std::vector<BlockRv>> Schedule::GetOutputBlocks(Value scope_block) {
  return All<BlockRv>("get_output_blocks", {scope_block});
}

Outcome<std::vector<IntRv>> Schedule::SamplePerfectTile(LoopRv loop, int n, int max_innermost_factor, Value decision) {
  return All<IntRv>("sample_perfect_tile", {Rv(loop), n, max_innermost_factor}, decision);
}
Outcome<std::vector<IntRv>> Schedule::SamplePartitionedTile(LoopRv loop, int n, int partition_pos, int innerpart_factor,
                                                            Value decision) {
  return All<IntRv>("sample_partitioned_tile", {Rv(loop), n, partition_pos, innerpart_factor}, decision);
}
Outcome<std::vector<IntRv>> Schedule::SampleImperfectTile(LoopRv loop, int n, int max_innermost_factor,
                                                          Value decision) {
  return All<IntRv>("sample_imperfect_tile", {Rv(loop), n, max_innermost_factor}, decision);
}
Outcome<IntRv> Schedule::SampleCategorical(std::vector<Value> candidates, std::vector<Value> probs, Value decision,
                                           Value name) {
  return One<IntRv>("sample_categorical", {std::move(candidates), std::move(probs), std::move(name)}, decision);
}
Outcome<LoopRv> Schedule::SampleComputeLocation(Value block, Value decision) {
  return One<LoopRv>("sample_compute_location", {block}, decision);
}

Outcome<std::vector<LoopRv>> Schedule::Split(LoopRv loop, std::vector<Value> factors, bool preserve_unit_iters,
                                             bool disable_predication) {
  return All<LoopRv>("split", {Rv(loop), std::move(factors), preserve_unit_iters, disable_predication});
}
Outcome<LoopRv> Schedule::Fuse(const std::vector<LoopRv>& loops, bool preserve_unit_iters) {
  return One<LoopRv>("fuse", {ListOf(loops), preserve_unit_iters});
}
Outcome<std::monostate> Schedule::Reorder(const std::vector<LoopRv>& loops) { return None("reorder", {ListOf(loops)}); }
Outcome<std::vector<LoopRv>> Schedule::LoopPartition(LoopRv loop, std::vector<Value> factors) {
  return All<LoopRv>("loop_partition", {Rv(loop), std::move(factors)});
}
Outcome<LoopRv> Schedule::Merge(const std::vector<LoopRv>& loops) { return One<LoopRv>("merge", {ListOf(loops)}); }
Outcome<std::monostate> Schedule::ReorderBlockIterVar(Value block, std::vector<Value> new_order) {
  return None("reorder_block_iter_var", {block, std::move(new_order)});
}
Outcome<LoopRv> Schedule::AddUnitLoop(Value block_or_loop) { return One<LoopRv>("add_unit_loop", {block_or_loop}); }
Outcome<std::monostate> Schedule::Parallel(LoopRv loop) { return None("parallel", {Rv(loop)}); }
Outcome<std::monostate> Schedule::Vectorize(LoopRv loop) { return None("vectorize", {Rv(loop)}); }
Outcome<std::monostate> Schedule::Unroll(LoopRv loop) { return None("unroll", {Rv(loop)}); }
Outcome<std::monostate> Schedule::Bind(LoopRv loop, std::string thread_axis) {
  return None("bind", {Rv(loop), std::move(thread_axis)});
}

Outcome<BlockRv> Schedule::CacheRead(Value block, int read_buffer_index, std::string storage_scope,
                                     std::vector<Value> consumers) {
  return One<BlockRv>("cache_read", {block, read_buffer_index, std::move(storage_scope), std::move(consumers)});
}
Outcome<BlockRv> Schedule::CacheWrite(Value block, int write_buffer_index, std::string storage_scope,
                                      std::vector<Value> consumers) {
  return One<BlockRv>("cache_write", {block, write_buffer_index, std::move(storage_scope), std::move(consumers)});
}
Outcome<BlockRv> Schedule::ReindexCacheRead(Value block, int read_buffer_index, std::string storage_scope,
                                            IndexMap index_map) {
  return One<BlockRv>("reindex_cache_read", {block, read_buffer_index, std::move(storage_scope), std::move(index_map)});
}
Outcome<BlockRv> Schedule::ReindexCacheWrite(Value block, int write_buffer_index, std::string storage_scope,
                                             IndexMap index_map) {
  return One<BlockRv>("reindex_cache_write",
                      {block, write_buffer_index, std::move(storage_scope), std::move(index_map)});
}
Outcome<BlockRv> Schedule::ReadAt(LoopRv loop, Value block, int read_buffer_index, std::string storage_scope) {
  return One<BlockRv>("read_at", {Rv(loop), block, read_buffer_index, std::move(storage_scope)});
}
Outcome<BlockRv> Schedule::WriteAt(LoopRv loop, Value block, int write_buffer_index, std::string storage_scope) {
  return One<BlockRv>("write_at", {Rv(loop), block, write_buffer_index, std::move(storage_scope)});
}
Outcome<std::monostate> Schedule::ExpandAutoCopy(Value block) { return None("expand_auto_copy", {block}); }
Outcome<std::vector<BlockRv>> Schedule::CacheInplace(Value block, int read_buffer_index, std::string storage_scope) {
  return All<BlockRv>("cache_inplace", {block, read_buffer_index, std::move(storage_scope)});
}
Outcome<std::vector<BlockRv>> Schedule::CacheIndex(Value block, std::string storage_scope, int cse_thresh) {
  return All<BlockRv>("cache_index", {block, std::move(storage_scope), cse_thresh});
}
Outcome<std::monostate> Schedule::SetScope(Value block, int buffer_index, std::string storage_scope) {
  return None("set_scope", {block, buffer_index, std::move(storage_scope)});
}
Outcome<std::monostate> Schedule::ComputeAt(Value block, LoopRv loop, bool preserve_unit_loops, int index) {
  return None("compute_at", {block, Rv(loop), preserve_unit_loops, index});
}
Outcome<std::monostate> Schedule::ReverseComputeAt(Value block, LoopRv loop, bool preserve_unit_loops, int index) {
  return None("reverse_compute_at", {block, Rv(loop), preserve_unit_loops, index});
}

Outcome<std::monostate> Schedule::ComputeInline(Value block) { return None("compute_inline", {block}); }
Outcome<std::monostate> Schedule::ReverseComputeInline(Value block) { return None("reverse_compute_inline", {block}); }
Outcome<BlockRv> Schedule::Reindex(Value block, Value buffer, Value kept_dims, bool skip_simplify) {
  return One<BlockRv>("reindex", {block, buffer, std::move(kept_dims), skip_simplify});
}
Outcome<std::monostate> Schedule::TransformLayout(Value block, Value buffer, IndexMap index_map, Value pad_value) {
  return None("transform_layout", {block, buffer, std::move(index_map), pad_value});
}
Outcome<std::monostate> Schedule::SkipZeroTerms(Value block) { return None("skip_zero_terms", {block}); }
Outcome<std::monostate> Schedule::JoinWindows(Value block, int iterator, int reduction) {
  return None("join_windows", {block, iterator, reduction});
}
Outcome<BlockRv> Schedule::GatherSums(Value block, std::vector<Value> window) {
  return One<BlockRv>("gather_sums", {block, std::move(window)});
}
Outcome<std::monostate> Schedule::FuseWithGaps(Value block, int outer, int inner, int pitch, bool run_in_gaps) {
  return None("fuse_with_gaps", {block, outer, inner, pitch, run_in_gaps});
}
Outcome<std::vector<BlockRv>> Schedule::Winograd(Value block, int iterator, int reduction, int outputs) {
  return All<BlockRv>("winograd", {block, iterator, reduction, outputs});
}
Outcome<BlockRv> Schedule::CacheFactors(Value block, std::vector<Value> factors) {
  return One<BlockRv>("cache_factors", {block, std::move(factors)});
}
Outcome<BlockRv> Schedule::DecomposeAccumulation(Value block) {
  return One<BlockRv>("decompose_accumulation", {block});
}
Outcome<BlockRv> Schedule::SplitOffset(Value block, int factor) {
  return One<BlockRv>("split_offset", {block, factor});
}
Outcome<std::monostate> Schedule::RollingBuffer(Value block, int write_buffer_index) {
  return None("rolling_buffer", {block, write_buffer_index});
}
Outcome<std::monostate> Schedule::TransformBlockLayout(Value block, IndexMap index_map) {
  return None("transform_block_layout", {block, std::move(index_map)});
}
Outcome<std::monostate> Schedule::PadEinsum(Value block, std::vector<Value> padding) {
  return None("pad_einsum", {block, std::move(padding)});
}

Outcome<std::monostate> Schedule::PadEinsumInPlace(Value block, std::vector<Value> padding) {
  return None("pad_einsum_in_place", {block, std::move(padding)});
}
Outcome<std::monostate> Schedule::HoistPrepack(Value block) { return None("hoist_prepack", {block}); }

Outcome<BlockRv> Schedule::DecomposePadding(Value block, LoopRv loop) {
  return One<BlockRv>("decompose_padding", {block, Rv(loop)});
}
Outcome<std::monostate> Schedule::StorageAlign(Value block, int buffer_index, int axis, int factor, int offset) {
  return None("storage_align", {block, buffer_index, axis, factor, offset});
}
Outcome<std::monostate> Schedule::SetLayout(Value block, int buffer_index, std::string layout) {
  return None("set_layout", {block, buffer_index, std::move(layout)});
}
Outcome<std::monostate> Schedule::UnsafeSetDtype(Value block, int buffer_index, std::string dtype) {
  return None("unsafe_set_dtype", {block, buffer_index, std::move(dtype)});
}
Outcome<std::monostate> Schedule::WidenBuffer(Value block, int buffer_index, std::string dtype) {
  return None("widen_buffer", {block, buffer_index, std::move(dtype)});
}
Outcome<std::monostate> Schedule::FlipSignBit(Value block, int buffer_index) {
  return None("flip_sign_bit", {block, buffer_index});
}
Outcome<std::monostate> Schedule::AnnotateBufferAccess(Value block, int buffer_index, std::string access,
                                                       IndexMap ranges) {
  return None("annotate_buffer_access", {block, buffer_index, std::move(access), std::move(ranges)});
}
Outcome<std::monostate> Schedule::UnsafeHideBufferAccess(Value block, std::string access, std::vector<Value> indices) {
  return None("unsafe_hide_buffer_access", {block, std::move(access), std::move(indices)});
}

Outcome<BlockRv> Schedule::DecomposeReduction(Value block, LoopRv loop) {
  return One<BlockRv>("decompose_reduction", {block, Rv(loop)});
}
Outcome<std::monostate> Schedule::ComposeReduction(Value init_block, Value update_block) {
  return None("compose_reduction", {init_block, update_block});
}
Outcome<std::monostate> Schedule::FuseReductionEpilogue(Value reduction_block, Value epilogue_block) {
  return None("fuse_reduction_epilogue", {reduction_block, epilogue_block});
}
Outcome<std::vector<BlockRv>> Schedule::RescaleReduction(const std::vector<LoopRv>& loops, bool skip_leading) {
  return All<BlockRv>("rescale_reduction", {ListOf(loops), skip_leading});
}
Outcome<std::vector<BlockRv>> Schedule::RescaleParts(const std::vector<LoopRv>& loops) {
  return All<BlockRv>("rescale_parts", {ListOf(loops)});
}
Outcome<BlockRv> Schedule::HoistFactor(Value block, int read_buffer_index) {
  return One<BlockRv>("hoist_factor", {block, read_buffer_index});
}
Outcome<BlockRv> Schedule::Rfactor(LoopRv loop, int factor_axis) {
  return One<BlockRv>("rfactor", {Rv(loop), factor_axis});
}
Outcome<BlockRv> Schedule::WidenSum(Value block, int write_buffer_index, std::string dtype) {
  return One<BlockRv>("widen_sum", {block, write_buffer_index, std::move(dtype)});
}
Outcome<BlockRv> Schedule::Blockize(Value target, bool preserve_unit_iters) {
  return One<BlockRv>("blockize", {target, preserve_unit_iters});
}
Outcome<std::monostate> Schedule::Tensorize(Value block_or_loop, std::string intrin, bool preserve_unit_iters) {
  return None("tensorize", {block_or_loop, std::move(intrin), preserve_unit_iters});
}
Outcome<std::monostate> Schedule::Annotate(Value block_or_loop, std::string key, Value value) {
  return None("annotate", {block_or_loop, std::move(key), value});
}
Outcome<std::monostate> Schedule::Unannotate(Value block_or_loop, std::string key) {
  return None("unannotate", {block_or_loop, std::move(key)});
}
Outcome<std::monostate> Schedule::EnterPostproc() { return None("enter_postproc", {}); }

}  // namespace tilewright
