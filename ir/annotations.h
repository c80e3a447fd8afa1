// Keys of annotations and attributes: each once, with its meaning, who writes it and who reads it.
//
// Annotations say how code is made of a program, never what it computes. A key that nobody reads changes nothing. Keys
// of other tools are kept and printed.
#pragma once

namespace tilewright {

// ---- Functions (T.func_attr)

// Positions of the parameters whose contents are the same in every call. Written by users and MarkConstant; read by
// hoist_prepack, the rules, and the runner.
inline constexpr char kConstantParams[] = "tilewright.constant_params";
// The name of the function for which this one packs constant parameters, once and ahead of time: Module::PrepackOf.
// Parameters with the same name are the same tensor in both. Written by hoist_prepack.
inline constexpr char kPrepackOf[] = "tilewright.prepack_of";
// Whether convolutions may be computed by Winograd's algorithm, which rounds differently; true where it is absent.
// Written by users; read by the Winograd rule.
inline constexpr char kWinograd[] = "tilewright.winograd";
// By names of symbolic extents, one or several sizes that they probably have: {"n": [1, 37, 512]}. Written by users and
// tune; read by the rules and cost models, for estimates (autoschedule/program/sizes.h). Comparison and hashing leave
// it out.
inline constexpr char kLikelySizes[] = "tilewright.likely_sizes";
// Names of the processor features that an intrinsic's implementation needs. Written by users; read by IntrinRegistry.
inline constexpr char kFeatures[] = "features";
// The exported name. It says what the function's own name says, so comparison and hashing leave it out.
inline constexpr char kGlobalSymbol[] = "global_symbol";
// The function's callers have checked their arguments: compiled code has NAME_unchecked of it alone, without NAME and
// __tvm_ffi_NAME, which check them and take as long to compile as many a kernel (docs/abi.md). Written by the executor
// of graphs; read by codegen.
inline constexpr char kUncheckedOnly[] = "tilewright.unchecked_only";
// No two buffer parameters overlap. Written by FunctionBuilder for the peers; our own functions always check it.
inline constexpr char kNoAlias[] = "tir.noalias";

// ---- Blocks

// A list of [write buffer, axis, factor, offset]: the stride of the axis is `offset` more than a multiple of `factor`.
// Of an allocation the entries are [axis, factor, offset]. Written by storage_align; read by lowering and the memory
// limits of verify.
inline constexpr char kBufferDimAlign[] = "buffer_dim_align";
// The number of a write buffer that has two versions, so that one is filled while the other is used. Of an allocation:
// 1. Written by users; read by lowering and the memory limits of verify.
inline constexpr char kDoubleBuffer[] = "double_buffer_scope";
// A list of [write buffer, name of a layout]. Of an allocation: the name. Written by set_layout; read by lowering.
inline constexpr char kBufferLayout[] = "buffer_layout";
// The block is a copy whose loops are still to be chosen. Written by read_at and write_at.
inline constexpr char kAutoCopy[] = "auto_copy";
// The numbers of reads and writes that annotate_buffer_access declared: they are not derived from the body again.
inline constexpr char kExplicitReads[] = "explicit_read_region";
inline constexpr char kExplicitWrites[] = "explicit_write_region";
// Whether all threads of a warp run the block together; absent: by the instructions in it. Written by users; read by
// the execution scopes of verify.
inline constexpr char kWarpExecution[] = "warp_execution";

// ---- Loops

// One number for each statement of the loop: its stage of the pipeline, and its place in the new body; and the stages
// that may be asynchronous. Written by users; read by lowering and the memory limits of verify.
inline constexpr char kPipelineStage[] = "software_pipeline_stage";
inline constexpr char kPipelineOrder[] = "software_pipeline_order";
inline constexpr char kPipelineAsyncStages[] = "software_pipeline_async_stages";
// Bulk copies of the asynchronous stages are done by threads of their own (codegen/lower/gpu/warp_roles.h). Written by
// the rules; lowering makes kWarpRoles of it.
inline constexpr char kPipelineRoles[] = "software_pipeline_roles";
// How many blocks run the iterations of a loop over blocks, each every so many-th (codegen/lower/gpu/share_blocks.h).
// Written by the rules; read by lowering and the cost models.
inline constexpr char kSharingBlocks[] = "tilewright.sharing_blocks";
// What caches are asked for (codegen/lower/cpu/cache_hints.h): what the next iteration reads a second time, rows so
// many iterations ahead, and stores past the caches. Written by the rules; read by lowering, kStream by code
// generation too.
inline constexpr char kPrefetchNext[] = "tilewright.prefetch_next";
inline constexpr char kPrefetchRows[] = "tilewright.prefetch_rows";
inline constexpr char kStream[] = "tilewright.stream";
// Threads share the iterations of a parallel loop from this number of statements on, as StatementIterations counts them
// (ir/iterations.h); where sizes give it less to do, one thread runs all of them. Written by the rules; read by
// lowering and code generation of CPUs.
inline constexpr char kThreadsFrom[] = "tilewright.threads_from";

// ---- Implementations of intrinsics on GPUs (codegen/lower/common/instruction_attributes.h): attribute statements

// The call that does what the body says, or makes the value that the one store in the body stores.
inline constexpr char kCudaInstruction[] = "cuda.instruction";
inline constexpr char kCudaValue[] = "cuda.value";
// The iterations of the loop in the body are registers of the lane, from this one on.
inline constexpr char kCudaRegisters[] = "cuda.registers";

// ---- Between passes of lowering only

// Which statement of a pipeline an attribute statement holds. Written by mark_pipelines; read by software_pipeline.
inline constexpr char kPipelineStatement[] = "software_pipeline_statement";
// The part of a fused loop that a loop stands for while the fused one is partitioned. Written and read by
// loop_partition.
inline constexpr char kLoopPart[] = "loop_part";
// An attribute around copies of asynchronous stages, and one around a pipeline with kPipelineRoles. Written by
// software_pipeline; read by the passes of codegen/lower/gpu.
inline constexpr char kAsyncCopy[] = "async_copy";
inline constexpr char kWarpRoles[] = "warp_roles";
// An attribute around arrivals that release what earlier products read. Written by bulk_barriers; read by order_async.
inline constexpr char kEarlierRelease[] = "earlier_release";
// The registers that a lane has of each tile of an allocation of wgmma sums.
inline constexpr char kCudaAccumulator[] = "cuda.accumulator";
// The columns of an allocated fragment, which its flat buffer does not show. Written by MarkFragments; read by
// select_instructions.
inline constexpr char kFragmentColumns[] = "fragment_columns";

}  // namespace tilewright
