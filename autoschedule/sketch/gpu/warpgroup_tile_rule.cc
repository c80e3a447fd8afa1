#include "autoschedule/sketch/gpu/warpgroup_tile_rule.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "autoschedule/cost/gpu/product_time.h"
#include "autoschedule/movement/gpu/bind_threads.h"
#include "autoschedule/movement/gpu/bulk_operands.h"
#include "autoschedule/movement/gpu/pack_operand.h"
#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/sketch/gpu/plain_gpu_rule.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "ir/annotations.h"
#include "ir/functor.h"
#include "target/clusters.h"

namespace tilewright {
namespace {

using Done = std::monostate;
constexpr const char* kName = "warpgroup_tile_rule";

constexpr int64_t kMostStages = 8, kMostStagesOfThreads = 4;
// Columns of a tile of one warpgroup up to which registers are left for a second block.
constexpr int64_t kMostColumnsOfTwo = 128;
// Parts of the depth at most.
constexpr int64_t kMostParts = 16;
// Bytes of shared memory that the barriers of stages take, and what keeps buffers aligned.
constexpr int64_t kOtherSharedBytes = 2048;

// The type of sums as names of intrinsics spell it.
const char* SumName(DataType type) {
  if (type == DataType::Float(32)) return "f32";
  return type == DataType::Float(16) ? "f16" : "s32";
}

// Blocks of a cluster along rows and columns of tiles.
struct Cluster {
  int64_t m = 1, n = 1;
};

class WarpgroupSchedule {
 public:
  WarpgroupSchedule(Schedule& sch, const ProductPlan& plan, const WarpgroupTile& kind, const Target& target,
                    Choices& choices)
      : sch_(sch),
        plan_(plan),
        kind_(kind),
        row_(*kind.instruction),
        target_(target),
        gpu_(target.gpu_part()),
        choices_(choices) {}

  Outcome<Done> Apply(BlockRv block) {
    Outcome<Done> way = FindWay(block);
    if (!way.ok() && PadChannels(block)) way = FindWay(block);
    if (!way.ok()) TW_RETURN_IF_ERROR(PackOperands(block));
    TW_RETURN_IF_ERROR(Choose());
    TW_ASSIGN_OR_RETURN(blocks_, MakeBlocks(sch_, block, tile_, by_depth_));
    TW_ASSIGN_OR_RETURN(const Tiled tiled, DivideDepth());
    const BlockRv product = tiled.product;
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> i,
                        sch_.Split(tiled.loops.m, {Value(), warpgroups_, int64_t{row_.m}}));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> j, sch_.Split(tiled.loops.n, {Value(), tile_.n}));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> k,
                        sch_.Split(tiled.loops.k, {Value(), tile_.k / row_.k, int64_t{row_.k}}));
    TW_RETURN_IF_ERROR(sch_.Reorder({i[0], j[0], i[1], k[0], k[1], i[2], j[1], k[2]}));
    TW_RETURN_IF_ERROR(BindInGroups(tiled.loops, i[0], j[0]));
    TW_RETURN_IF_ERROR(sch_.Bind(i[1], "threadIdx.y"));
    TW_RETURN_IF_ERROR(StoreSums(tiled, i[1]));
    TW_RETURN_IF_ERROR(CopyTiles(product, k[0]));
    TW_ASSIGN_OR_RETURN(const BlockRv init, sch_.DecomposeReduction(product, k[0]));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> filled, sch_.GetLoops(init));
    const std::string columns = absl::StrCat(int64_t{row_.m}, "x", tile_.n), sums = SumName(row_.c.type);
    TW_RETURN_IF_ERROR(sch_.Tensorize(filled[filled.size() - 2], absl::StrCat("wgmma_fill_", columns, "_", sums)));
    TW_RETURN_IF_ERROR(sch_.Tensorize(i[2], absl::StrCat("wgmma_sync_", columns, "x", row_.k, "_",
                                                         std::string(row_.types), by_depth_ ? "_trans" : "", "_dyn")));
    TW_RETURN_IF_ERROR(Pipeline(k[0]));
    return parts_ > 1 ? AddParts() : Outcome<Done>(Done());
  }

 private:
  // What is tiled: the product whose sums lie in registers, its loops, and the block that stores the sums where another
  // one than the product's own does.
  struct Tiled {
    BlockRv product;
    std::optional<BlockRv> stored;
    ProductLoops loops;
  };
  // Parts of the depth are products of their own, whose sums are added up by another kernel.
  Outcome<Tiled> DivideDepth() {
    const BlockRv whole = blocks_.form.product;
    TW_ASSIGN_OR_RETURN(ProductLoops loops, LoopsOfProduct(sch_, blocks_));
    if (parts_ == 1) return Tiled{whole, blocks_.form.output, loops};
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> k, sch_.Split(loops.k, {parts_, Value()}));
    Tiled tiled;
    TW_ASSIGN_OR_RETURN(tiled.product, sch_.Rfactor(k[0], 0));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> all, LoopsByIterator(sch_, tiled.product, kName));
    const size_t last = all.size() - 1;
    tiled.loops = {.batch = {}, .m = all[last - 2], .n = all[last - 1], .k = all[last]};
    TW_RETURN_IF_ERROR(sch_.Reorder(all));
    TW_ASSIGN_OR_RETURN(tiled.loops.batch, FuseFirst(sch_, all, last - 2));
    return tiled;
  }
  // The sums of the parts, by threads, with what consumers make of them.
  Outcome<Done> AddParts() {
    const BlockRv sum = blocks_.form.product, output = blocks_.form.output;
    TW_RETURN_IF_ERROR(sch_.SetScope(sum, 0, "local"));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch_.GetLoops(output));
    TW_ASSIGN_OR_RETURN(const ThreadLoops threads, BindThreads(sch_, loops, 1, plan_.name + ".sum", target_, choices_));
    TW_RETURN_IF_ERROR(sch_.ComputeAt(sum, threads.thread));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> inside, LoopsInside(sch_, sum, threads.thread));
    return inside.empty() ? Outcome<Done>(Done()) : sch_.Unroll(inside.back());
  }

  // Whether the engine can copy both operands, how the column operand's tiles lie then, and how deep they are at most.
  Outcome<Done> FindWay(BlockRv block) {
    std::vector<bool> ways = {true};
    // Bytes are not transposed on their way into the instruction.
    if (Bytes() > 1) ways.insert(kind_.by_depth ? ways.end() : ways.begin(), false);
    by_depth_ = ways.front();
    int64_t vector = 0;
    for (const bool by_depth : ways) {
      for (depth_ = gpu_.max_swizzle_bytes / Bytes(); depth_ >= row_.k; depth_ /= 2) {
        Schedule tried = sch_;
        const ProductTile tile = {int64_t{row_.m}, int64_t{row_.m}, depth_};
        TW_ASSIGN_OR_RETURN(const ProductBlocks blocks, MakeBlocks(tried, block, tile, by_depth));
        vector = std::max(vector, std::min(blocks.row_vector, blocks.column_vector));
        const BulkCopy rows = HowCopied(tried, blocks.form.rows, /*depth_is_last=*/true),
                       columns = HowCopied(tried, blocks.form.columns, by_depth);
        bulk_ = rows != BulkCopy::kNone && columns == BulkCopy::kBoxes;
        if (bulk_) {
          by_depth_ = by_depth;
          return rows == BulkCopy::kPixels ? ChooseCopies() : Outcome<Done>(Done());
        }
        // A step of fewer elements may be one of a single window element.
        if (rows == BulkCopy::kBoxes) break;
      }
    }
    depth_ = gpu_.max_swizzle_bytes / Bytes();
    if (vector * Bytes() >= gpu_.min_async_copy_bytes) return Done();
    return SingleElements(block);
  }
  Refusal SingleElements(BlockRv block) const {
    const uint32_t id = RealizeOf(sch_, block).block->id;
    return {kName, "operands of {block0} can be copied by single elements alone", {id}};
  }

  // Images of few channels: a copy with as many as a thread copies at once, where that is not much more. Windows of it
  // lie where they are, while a matrix of windows would be as many copies of the image.
  bool PadChannels(BlockRv block) {
    const Contraction& contraction = plan_.contraction;
    const Block node = RealizeOf(sch_, block).block;
    const bool runs = std::ranges::any_of(AccessesOf(*node), [&](const Access& access) {
      return access.buffer.same_as(contraction.row_operand) && !access.store &&
             access.strides[static_cast<size_t>(contraction.inner.back())] == 1;
    });
    if (contraction.inner.size() < 2 || !runs) return false;
    const auto channels = static_cast<size_t>(contraction.inner.back());
    const int64_t extent = *ExtentOf(node->iter_vars[channels]);
    int64_t together = gpu_.max_access_bytes / Bytes();
    while (together * Bytes() > gpu_.min_async_copy_bytes &&
           RoundUp(extent, together) > RoundUp(extent, gpu_.min_async_copy_bytes / Bytes())) {
      together /= 2;
    }
    Value::List padding(node->iter_vars.size(), Value(1));
    padding[channels] = Value(together);
    Schedule attempt = sch_;
    if (!attempt.PadEinsum(block, padding).ok()) return false;
    const std::optional<ProductPlan> padded = PlanProduct(RealizeOf(attempt, block), target_);
    const Outcome<std::vector<BlockRv>> producers = attempt.GetProducers(block);
    if (!padded || !producers.ok()) return false;
    for (const BlockRv& copy : *producers) {
      const Block writer = RealizeOf(attempt, copy).block;
      if (!writer->writes[0].buffer.same_as(padded->contraction.row_operand)) continue;
      if (!Pack(attempt, copy).ok()) return false;
    }
    sch_ = std::move(attempt);
    plan_ = *padded;
    return true;
  }

  Outcome<Done> Pack(Schedule& sch, BlockRv copy) const {
    InlineCheapProducers(sch, copy);
    return PackOperand(sch, copy, target_, choices_);
  }

  // The product of matrices in memory: operands of single elements become such matrices, rows of whole bytes that the
  // engine copies at once. What else the matrix form copies is computed where a tile reads and writes it.
  Outcome<Done> PackOperands(BlockRv block) {
    const Contraction& contraction = plan_.contraction;
    const int64_t together = gpu_.bulk_alignment / Bytes();
    const Block node = RealizeOf(sch_, block).block;
    row_vector_ = VectorAlong(*node, contraction.row_operand, contraction.inner, together, gpu_.max_access_bytes);
    column_vector_ = VectorAlong(*node, contraction.column_operand, contraction.inner, together, gpu_.max_access_bytes);
    output_vector_ = VectorAlong(*node, contraction.output, contraction.columns, together, gpu_.max_access_bytes,
                                 /*stored=*/true);
    const bool rows = row_vector_ * Bytes() < gpu_.min_async_copy_bytes,
               columns = column_vector_ * Bytes() < gpu_.min_async_copy_bytes;
    TW_ASSIGN_OR_RETURN(const MatrixForm form, BringIntoMatrixForm(sch_, block, contraction, {1, 1, together}, true));
    if (rows) TW_RETURN_IF_ERROR(Pack(sch_, form.rows));
    if (columns) TW_RETURN_IF_ERROR(Pack(sch_, form.columns));
    if (rows) row_vector_ = together;
    if (columns) column_vector_ = together;
    const std::optional<ProductPlan> packed = PlanProduct(RealizeOf(sch_, block), target_);
    if (packed) plan_ = *packed;
    return packed ? FindWay(block) : SingleElements(block);
  }

  // Packed operands hide how many neighbours lie side by side in the arrays behind them.
  Outcome<ProductBlocks> MakeBlocks(Schedule& sch, BlockRv block, const ProductTile& tile, bool by_depth) const {
    TW_ASSIGN_OR_RETURN(ProductBlocks blocks, MakeProductBlocks(sch, block, plan_, tile, by_depth));
    blocks.row_vector = std::min(blocks.row_vector, row_vector_);
    blocks.column_vector = std::min(blocks.column_vector, column_vector_);
    blocks.output_vector = std::min(blocks.output_vector, output_vector_);
    return blocks;
  }
  BulkCopy HowCopied(const Schedule& sch, BlockRv copy, bool depth_is_last) const {
    return BulkCopyOf({RealizeOf(sch, copy).block.get(), depth_is_last, depth_, kSidesM, &gpu_});
  }
  // Pixels can be copied by the engine, or by all threads in deeper steps. The engine is preferred where its steps are
  // as deep and there are some of them: a producer that has little to run ahead of costs more than it saves (measured:
  // docs/h200.md).
  Outcome<Done> ChooseCopies() {
    const bool deep = depth_ * Bytes() == gpu_.max_swizzle_bytes && plan_.sizes.k >= gpu_.min_producer_steps * depth_;
    TW_ASSIGN_OR_RETURN(const Choices::Pick pick,
                        choices_.Take(sch_, plan_.name + ".copies", {1, 0}, deep ? 0 : 1, {{"bulk"}, {"threads"}}));
    bulk_ = pixels_ = pick.value == 1;
    if (!bulk_) depth_ = gpu_.max_swizzle_bytes / Bytes();
    return Done();
  }

  int64_t Bytes() const { return row_.a.type.bytes(); }
  int64_t StageBytes(const ProductTile& tile) const { return (tile.m + tile.n) * tile.k * Bytes(); }
  int64_t SharedBytes() const { return gpu_.max_shared_bytes_per_block - kOtherSharedBytes; }

  // Threads that copy need registers for addresses beside those of sums.
  int64_t MostColumns() const { return bulk_ ? kSidesN.back() : kMostColumnsOfTwo; }

  double Seconds(const ProductTile& tile, int64_t parts, const Cluster& cluster = {}) const {
    const BlockTile block = {tile.m, tile.n, tile.k, parts, cluster.m, cluster.n};
    return ProductSeconds(Shape(), block, target_);
  }
  // How many parts of whole steps the depth may be divided into, and the fastest of them.
  std::vector<int64_t> Parts(int64_t depth) const {
    const int64_t steps = CeilDiv(plan_.sizes.k, depth);
    std::vector<int64_t> parts;
    for (int64_t count = 1; count <= std::min(kMostParts, steps / 2 + 1); ++count) {
      if (steps % count == 0) parts.push_back(count);
    }
    return parts;
  }
  int64_t FastestParts(const ProductTile& tile) const {
    return std::ranges::min(Parts(tile.k), {}, [&](int64_t count) { return Seconds(tile, count); });
  }
  // Clusters along rows or columns of tiles that the grid divides into, in which blocks copy whole repeats of swizzles
  // for each other.
  std::vector<Cluster> Clusters(const ProductTile& tile) const {
    constexpr int64_t kSizes[] = {2, 4}, kRepeat = 8;
    std::vector<Cluster> clusters = {{}};
    if (!bulk_ || MaxClusterBlocks(target_) == 1) return clusters;
    const int64_t columns_rows = by_depth_ ? tile.n : tile.k;
    for (const int64_t size : kSizes) {
      if (CeilDiv(plan_.sizes.m, tile.m) % size == 0 && columns_rows % (size * kRepeat) == 0)
        clusters.push_back({size, 1});
      // Blocks do not copy pixels for each other.
      if (!pixels_ && CeilDiv(plan_.sizes.n, tile.n) % size == 0 && tile.m % (size * kRepeat) == 0)
        clusters.push_back({1, size});
    }
    return clusters;
  }
  int64_t Blocks(const ProductTile& tile, int64_t parts) const {
    return plan_.sizes.batch * parts * CeilDiv(plan_.sizes.m, tile.m) * CeilDiv(plan_.sizes.n, tile.n);
  }
  // Blocks of a cluster that follow others on the cores wait for each other about as long as they save
  // (measured: docs/h200.md).
  Cluster FastestCluster(const ProductTile& tile, int64_t parts) const {
    if (Blocks(tile, parts) > target_.cores) return {};
    return std::ranges::min(Clusters(tile), {}, [&](const Cluster& cluster) { return Seconds(tile, parts, cluster); });
  }
  // The tile that is estimated to be the fastest.
  ProductTile Fastest() const {
    ProductTile best;
    double least = 0;
    const int64_t depth = DepthOfStage();
    for (const int64_t m : kSidesM) {
      for (const int64_t n : kSidesN) {
        if (n > MostColumns()) break;
        const bool narrow = !by_depth_ && n * Bytes() < gpu_.fetched_bytes && n < plan_.sizes.n;
        if (narrow || !row_.HasColumns(static_cast<int>(n))) continue;
        const ProductTile tile = {m, n, depth};
        const int64_t parts = FastestParts(tile);
        const double seconds = Seconds(tile, parts, FastestCluster(tile, parts));
        if (best.m != 0 && seconds >= least) continue;
        best = tile;
        least = seconds;
      }
    }
    return best;
  }
  ProductShape Shape() const {
    const MatrixSizes& sizes = plan_.sizes;
    return {.batch = sizes.batch,
            .m = sizes.m,
            .n = sizes.n,
            .k = sizes.k,
            .factor = row_.a.type,
            .output_bytes = plan_.contraction.output->dtype.bytes()};
  }
  // Elements of K of a stage: as wide as the widest swizzle where that leaves two steps or more, of which one is copied
  // while the other is multiplied.
  int64_t DepthOfStage() const {
    int64_t depth = depth_;
    while (depth > row_.k && depth >= plan_.sizes.k) depth /= 2;
    return depth;
  }

  Outcome<Done> Choose() {
    const ProductTile best = Fastest();
    std::vector<int64_t> columns, depths;
    TW_ASSIGN_OR_RETURN(const Choices::Pick m, TakeUpTo(sch_, plan_.name + ".tile_m", kSidesM, best.m, choices_));
    for (const int64_t n : kSidesN) {
      if (n <= MostColumns() && row_.HasColumns(static_cast<int>(n))) columns.push_back(n);
    }
    TW_ASSIGN_OR_RETURN(const Choices::Pick n, TakeUpTo(sch_, plan_.name + ".tile_n", columns, best.n, choices_));
    for (int64_t depth = row_.k; depth <= best.k; depth *= 2) depths.push_back(depth);
    TW_ASSIGN_OR_RETURN(const Choices::Pick k, TakeUpTo(sch_, plan_.name + ".tile_k", depths, best.k, choices_));
    tile_ = {m.value, n.value, k.value};
    warpgroups_ = tile_.m / int64_t{row_.m};
    TW_RETURN_IF_ERROR(ChooseParts());
    TW_RETURN_IF_ERROR(ChooseCluster());
    const int64_t fit = SharedBytes() / StageBytes(tile_), steps = CeilDiv(plan_.sizes.k, tile_.k) / parts_;
    std::vector<int64_t> stages = {2};
    const int64_t most = bulk_ ? kMostStages : kMostStagesOfThreads;
    while (stages.back() < std::min({most, fit, steps})) stages.push_back(stages.back() + 1);
    // Two blocks of few registers run on a core where both have room: one multiplies while the other begins or ends.
    const bool two = warpgroups_ == 1 && tile_.n <= kMostColumnsOfTwo && Blocks(tile_, parts_) > target_.cores;
    const int64_t preferred = two ? std::max<int64_t>(2, SharedBytes() / 2 / StageBytes(tile_)) : kMostStages;
    TW_ASSIGN_OR_RETURN(const Choices::Pick pick, TakeUpTo(sch_, plan_.name + ".stages", stages, preferred, choices_));
    stages_ = pick.value;
    return ChooseGroup();
  }

  // Few tiles leave cores idle: parts of the depth are more of them.
  Outcome<Done> ChooseParts() {
    TW_ASSIGN_OR_RETURN(const Choices::Pick pick,
                        TakeUpTo(sch_, plan_.name + ".parts", Parts(tile_.k), FastestParts(tile_), choices_));
    parts_ = pick.value;
    return Done();
  }

  // Blocks that bring operands to each other read less from L2.
  Outcome<Done> ChooseCluster() {
    const std::vector<Cluster> clusters = Clusters(tile_);
    const Cluster best = FastestCluster(tile_, parts_);
    std::vector<int64_t> sizes, along;
    for (const Cluster& each : clusters) {
      if (std::ranges::find(sizes, each.m * each.n) == sizes.end()) sizes.push_back(each.m * each.n);
    }
    TW_ASSIGN_OR_RETURN(const Choices::Pick size,
                        TakeUpTo(sch_, plan_.name + ".cluster", sizes, best.m * best.n, choices_));
    if (size.value == 1) return Done();
    for (const Cluster& each : clusters) {
      if (each.m * each.n == size.value) along.push_back(each.m > 1 ? 0 : 1);
    }
    TW_ASSIGN_OR_RETURN(const Choices::Pick columns,
                        TakeUpTo(sch_, plan_.name + ".cluster_columns", along, best.n > best.m ? 1 : 0, choices_));
    (columns.value == 1 ? cluster_.n : cluster_.m) = size.value;
    return Done();
  }

  // Rows of tiles that run at the same time, with as many columns of tiles as cores are left: a group that is about as
  // high as it is wide reads the least.
  Outcome<Done> ChooseGroup() {
    const int64_t rows = CeilDiv(plan_.sizes.m, tile_.m);
    std::vector<int64_t> groups;
    for (int64_t group = 1; group <= rows; group *= 2) {
      if (rows % group == 0 && group % cluster_.m == 0) groups.push_back(group);
    }
    int64_t square = 1;
    while (4 * square * square * tile_.m <= 2 * target_.cores * tile_.n) square *= 2;
    TW_ASSIGN_OR_RETURN(const Choices::Pick pick, TakeUpTo(sch_, plan_.name + ".group", groups, square, choices_));
    group_ = pick.value;
    return Done();
  }

  // Blocks in their order: rows of a group, columns, groups. Those of a cluster are neighbours.
  Outcome<Done> BindInGroups(const ProductLoops& loops, LoopRv m, LoopRv n) {
    if (loops.batch) TW_RETURN_IF_ERROR(sch_.Bind(*loops.batch, "blockIdx.z"));
    TW_ASSIGN_OR_RETURN(std::vector<LoopRv> rows, sch_.Split(m, {Value(), group_}));
    std::optional<LoopRv> cluster;
    if (cluster_.m * cluster_.n > 1) {
      LoopRv& divided = cluster_.m > 1 ? rows[1] : n;
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch_.Split(divided, {Value(), cluster_.m * cluster_.n}));
      divided = parts[0];
      cluster = parts[1];
    }
    std::vector<LoopRv> order = {rows[0], n, rows[1]};
    if (cluster) order.push_back(*cluster);
    TW_RETURN_IF_ERROR(sch_.Reorder(order));
    TW_ASSIGN_OR_RETURN(const LoopRv tiles, FuseFirst(sch_, {rows[0], n, rows[1]}, 3));
    if (cluster) TW_RETURN_IF_ERROR(sch_.Bind(*cluster, "clusterCtaIdx.x"));
    return sch_.Bind(tiles, "blockIdx.x");
  }

  // Each lane stores the sums that it holds (codegen/lower/gpu/fragment_lanes.h), with what consumers make of them.
  Outcome<Done> StoreSums(const Tiled& tiled, LoopRv warpgroup) {
    constexpr const char* kScope = "wgmma.accumulator";
    TW_ASSIGN_OR_RETURN(const AutoCopy sums, tiled.stored
                                                 ? WriteStageAt(sch_, tiled.product, *tiled.stored, warpgroup, kScope)
                                                 : WriteResultAt(sch_, tiled.product, warpgroup, kScope));
    TW_RETURN_IF_ERROR(Expand(sch_, sums));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsInside(sch_, sums.block, warpgroup));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> r, sch_.Split(loops[loops.size() - 2], {Value(), 4, 2, 8}));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> c, sch_.Split(loops.back(), {Value(), 4, 2}));
    TW_RETURN_IF_ERROR(sch_.Reorder({r[1], r[3], c[1], r[0], c[0], r[2], c[2]}));
    TW_ASSIGN_OR_RETURN(const LoopRv lanes, FuseFirst(sch_, {r[1], r[3], c[1]}, 3));
    TW_RETURN_IF_ERROR(sch_.Bind(lanes, "threadIdx.x"));
    for (const LoopRv& loop : {r[0], c[0], r[2]}) TW_RETURN_IF_ERROR(sch_.Unroll(loop));
    return StoresPairs() ? sch_.Vectorize(c[2]) : sch_.Unroll(c[2]);
  }
  // Whether pairs of columns lie side by side in what is stored, none of them half outside.
  bool StoresPairs() const { return parts_ > 1 || (plan_.sizes.n % 2 == 0 && blocks_.output_vector % 2 == 0); }

  // All threads copy together; the engine does it for them where a producer has the copies.
  Outcome<Done> CopyTiles(BlockRv product, LoopRv loop) {
    const int64_t threads = warpgroups_ * gpu_.warpgroup_size;
    blocks_.row_vector = std::min(blocks_.row_vector, tile_.m * tile_.k / threads);
    blocks_.column_vector = std::min(blocks_.column_vector, tile_.n * tile_.k / threads);
    TW_RETURN_IF_ERROR(CopyOperands(sch_, blocks_, product, "shared.dyn", loop,
                                    {{"threadIdx.y", warpgroups_}, {"threadIdx.x", gpu_.warpgroup_size}}));
    const int64_t k_span = tile_.k * Bytes(),
                  span = by_depth_ ? k_span : std::min<int64_t>(gpu_.max_swizzle_bytes, tile_.n * Bytes());
    TW_RETURN_IF_ERROR(sch_.SetLayout(blocks_.form.rows, 0, absl::StrCat("swizzle_", k_span, "B")));
    return sch_.SetLayout(blocks_.form.columns, 0, absl::StrCat("swizzle_", span, "B"));
  }

  Outcome<Done> Pipeline(LoopRv loop) {
    const Value::List stages = {0, 0, stages_ - 1}, order = {0, 1, 2}, asynchronous = {0};
    TW_RETURN_IF_ERROR(sch_.Annotate(loop, kPipelineStage, stages));
    TW_RETURN_IF_ERROR(sch_.Annotate(loop, kPipelineOrder, order));
    TW_RETURN_IF_ERROR(sch_.Annotate(loop, kPipelineAsyncStages, asynchronous));
    return bulk_ ? sch_.Annotate(loop, kPipelineRoles, 1) : Outcome<Done>(Done());
  }

  static inline const std::vector<int64_t> kSidesM = {64, 128}, kSidesN = {16, 32, 64, 128, 256};

  Schedule& sch_;
  ProductPlan plan_;
  const WarpgroupTile& kind_;
  const MachineInstruction& row_;
  const Target& target_;
  const GpuTarget& gpu_;
  Choices& choices_;
  ProductTile tile_;
  ProductBlocks blocks_;
  bool by_depth_ = false, bulk_ = false, pixels_ = false;
  Cluster cluster_;
  int64_t depth_ = 0;  // elements of K of a stage at most
  int64_t warpgroups_ = 1, stages_ = 2, group_ = 1, parts_ = 1;
  int64_t row_vector_ = gpu_.max_access_bytes, column_vector_ = row_vector_, output_vector_ = row_vector_;
};

}  // namespace

std::optional<WarpgroupTile> FindWarpgroupTile(const BlockNode& block, const Contraction& contraction,
                                               const Target& target) {
  const MachineInstruction* row = FindInstruction(target, "wgmma", contraction.row_operand->dtype,
                                                  contraction.column_operand->dtype, contraction.product_type);
  if (row == nullptr || !target.has("tma")) return std::nullopt;
  return WarpgroupTile{row, ColumnsRunAlongDepth(block, contraction)};
}

Outcome<Done> ScheduleWarpgroupTiles(Schedule& sch, BlockRv block, const ProductPlan& plan, const WarpgroupTile& tile,
                                     const Target& target, Choices& choices) {
  return WarpgroupSchedule(sch, plan, tile, target, choices).Apply(block);
}

}  // namespace tilewright
