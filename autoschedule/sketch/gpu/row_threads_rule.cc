#include "autoschedule/sketch/gpu/row_threads_rule.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "autoschedule/movement/auto_copy.h"
#include "autoschedule/movement/gpu/bind_threads.h"
#include "autoschedule/program/access_strides.h"
#include "autoschedule/program/block_loops.h"
#include "autoschedule/program/row_chain.h"
#include "base/math.h"
#include "base/status_macros.h"
#include "ir/functor.h"
#include "target/costs.h"

namespace tilewright {
namespace {

using Done = std::monostate;
constexpr const char* kName = "row_threads_rule";

// Elements along the iterator that a thread may load at once: those of the widest type fill an access.
int64_t VectorOfLoads(const BlockNode& block, size_t iterator, int64_t widest) {
  int64_t bytes = 0;
  for (const Access& access : AccessesOf(block)) {
    if (!access.store && access.strides[iterator] == 1) bytes = std::max<int64_t>(bytes, access.buffer->dtype.bytes());
  }
  return bytes == 0 ? 1 : widest / bytes;
}

// The same where elements are stored, too: all accesses are to neighbours, or to one element.
int64_t VectorOfMaps(const BlockNode& block, size_t iterator, int64_t widest) {
  int64_t bytes = 1;
  for (const Access& access : AccessesOf(block)) {
    const std::optional<int64_t> stride = access.strides[iterator];
    if (stride != 1 && (access.store || stride != 0)) return 1;
    bytes = std::max<int64_t>(bytes, access.buffer->dtype.bytes());
  }
  return widest / bytes;
}

// The one iterator of a block that runs along rows of the length, of which the others count; -1 where there is none.
int AlongRow(const BlockNode& block, size_t rows, int64_t length) {
  if (block.iter_vars.size() != rows + 1) return -1;
  const auto last = static_cast<int>(rows);
  return ExtentOf(block.iter_vars.back()) == length ? last : -1;
}

// Whether a value of the block takes a function or a quotient, of which there is one unit for many threads.
bool IsCostly(const BlockNode& block) {
  bool costly = false;
  PreOrderExprs(block.body, [&](const Expr& e) {
    const auto* binary = dyn_cast<BinaryNode>(e);
    costly |= isa<CallNode>(e) || (binary != nullptr && binary->op == BinaryOp::kDiv);
    return !costly;
  });
  return costly;
}

// What stages keep of the elements of a row.
enum class Kept : uint8_t { kNothing, kShared, kRegisters };

// One block of the chain.
struct Stage {
  BlockRv block;
  bool reduces = false;  // its last loop runs along the row, and is combined
  int64_t vector = 1;
};

class RowThreads {
 public:
  RowThreads(Schedule& sch, const Target& target, Choices& choices) : sch_(sch), target_(target), choices_(choices) {}

  Outcome<Done> Apply(std::vector<BlockRv> chain) {
    name_ = RealizeOf(sch_, chain.back()).block->name;
    rows_ = RowCount(sch_, chain);
    TW_RETURN_IF_ERROR(StoreApart(&chain));
    TW_RETURN_IF_ERROR(ChooseKept(&chain));
    for (const BlockRv& block : chain) TW_RETURN_IF_ERROR(AddStage(block));
    TW_RETURN_IF_ERROR(Place());
    TW_RETURN_IF_ERROR(ChooseThreads());
    for (const Stage& stage : stages_) TW_RETURN_IF_ERROR(WriteStage(stage));
    TW_RETURN_IF_ERROR(BindRows());
    if (how_ != Kept::kRegisters) return Done();
    for (const BlockRv& block : kept_) TW_RETURN_IF_ERROR(SpreadOverThreads(block));
    return Done();
  }

 private:
  int64_t Widest() const { return target_.gpu_part().max_access_bytes; }
  uint32_t IdOf(BlockRv block) const { return RealizeOf(sch_, block).block->id; }

  // Whether nothing but the chain reads what the block writes.
  bool IsInternal(BlockRv block, const std::vector<BlockRv>& chain) {
    const Outcome<std::vector<BlockRv>> consumers = sch_.GetConsumers(block);
    return consumers.ok() && !consumers->empty() && std::ranges::all_of(*consumers, [&](const BlockRv& consumer) {
             return std::ranges::any_of(chain, [&](const BlockRv& member) { return IdOf(member) == IdOf(consumer); });
           });
  }

  // Elements of rows that are results and are read by later stages: a stage of its own stores them, and the others read
  // what threads have.
  Outcome<Done> StoreApart(std::vector<BlockRv>* chain) {
    for (size_t i = 0; i < chain->size(); ++i) {
      const BlockRv block = (*chain)[i];
      const Block node = RealizeOf(sch_, block).block;
      if (node->init || node->writes.size() != 1 || node->iter_vars.size() <= rows_) continue;
      const auto is_result = [&](const Param& param) { return param.buffer.same_as(node->writes[0].buffer); };
      if (std::ranges::none_of(FunctionOf(sch_, block)->params, is_result)) continue;
      TW_ASSIGN_OR_RETURN(const std::vector<BlockRv> readers, sch_.GetConsumers(block));
      std::vector<Value> inside;
      for (const BlockRv& member : *chain) {
        const auto is_member = [&](const BlockRv& reader) { return IdOf(reader) == IdOf(member); };
        if (std::ranges::any_of(readers, is_member)) inside.push_back(member);
      }
      if (inside.empty()) continue;
      TW_ASSIGN_OR_RETURN(const BlockRv store, sch_.CacheWrite(block, 0, "local", std::move(inside)));
      chain->insert(chain->begin() + static_cast<std::ptrdiff_t>(i) + 1, store);
    }
    return Done();
  }

  // Elements between the stages: computed where they are read, unless they are to be kept. In registers are those whose
  // values are costly, and what several stages read.
  Outcome<Done> ChooseKept(std::vector<BlockRv>* chain) {
    std::vector<BlockRv> maps;
    for (const BlockRv& block : *chain) {
      const BlockNode& node = *RealizeOf(sch_, block).block;
      if (!node.init && node.iter_vars.size() > rows_ && IsInternal(block, *chain)) maps.push_back(block);
    }
    length_ = LengthOfRows(*chain);
    const bool fits = length_ > 0 && !ThreadsThatKeep(length_ / CommonVector(*chain)).empty();
    const bool registers = fits && (!maps.empty() || ReadByFirst(*chain));
    if (maps.empty() && !registers) return Done();
    std::vector<int64_t> values = {0};
    std::vector<Choice::Meaning> meanings = {{"nothing"}};
    if (!maps.empty()) {
      values.push_back(1);
      meanings.push_back({"shared"});
    }
    if (registers) {
      values.push_back(2);
      meanings.push_back({"registers"});
    }
    TW_ASSIGN_OR_RETURN(
        const Choices::Pick pick,
        choices_.Take(sch_, name_ + ".kept", values, registers ? values.size() - 1 : 0, std::move(meanings)));
    how_ = static_cast<Kept>(pick.value);
    for (const BlockRv& map : maps) {
      const bool computed = how_ == Kept::kNothing || (how_ == Kept::kRegisters && !IsReadOften(map));
      if (computed && sch_.ComputeInline(map).ok()) {
        std::erase_if(*chain, [&](const BlockRv& member) { return member.index == map.index; });
      } else {
        kept_.push_back(map);
      }
    }
    if (how_ != Kept::kRegisters) return Done();
    vector_ = CommonVector(*chain);
    return ReadOnce(chain);
  }

  bool IsReadOften(BlockRv map) {
    const Outcome<std::vector<BlockRv>> consumers = sch_.GetConsumers(map);
    return consumers.ok() && consumers->size() > 1 && IsCostly(*RealizeOf(sch_, map).block);
  }

  // The constant length of the rows, where all blocks run along them by their last iterator, or give one value for
  // each; 0 where they do not.
  int64_t LengthOfRows(const std::vector<BlockRv>& chain) const {
    int64_t length = 0;
    for (const BlockRv& block : chain) {
      const BlockNode& node = *RealizeOf(sch_, block).block;
      if (rows_ == 0 || node.iter_vars.size() < rows_) return 0;
      if (node.iter_vars.size() == rows_) continue;
      const int64_t extent = ExtentOf(node.iter_vars.back()).value_or(0);
      if (length == 0) length = extent;
      if (length == 0 || AlongRow(node, rows_, length) < 0) return 0;
    }
    return length;
  }

  // Neighbours of a thread in all stages.
  int64_t CommonVector(const std::vector<BlockRv>& chain) const {
    int64_t most = Widest();
    for (const BlockRv& block : chain) {
      const BlockNode& node = *RealizeOf(sch_, block).block;
      if (AlongRow(node, rows_, length_) < 0) continue;
      most = std::min(most, node.init ? VectorOfLoads(node, rows_, Widest()) : VectorOfMaps(node, rows_, Widest()));
    }
    while (most > 1 && length_ % most != 0) most /= 2;
    return std::max<int64_t>(most, 1);
  }

  // An array of rows that the first stage reads, and others too; null where there is none.
  Buffer ReadByFirst(const std::vector<BlockRv>& chain) const {
    const Block node = RealizeOf(sch_, chain.front()).block;
    if (AlongRow(*node, rows_, length_) < 0) return Buffer();
    for (const BufferRegion& read : node->reads) {
      const Buffer& buffer = read.buffer;
      const bool are_rows = buffer->scope.kind() == MemoryKind::kGlobal && buffer->ndim() == rows_ + 1 &&
                            AsInt(buffer->shape.back()) == length_ && IsRead(chain.front(), buffer);
      if (are_rows && Readers(chain, buffer).size() > 1) return buffer;
    }
    return Buffer();
  }
  // Whether the block reads the rows' elements by its own iterators.
  bool IsRead(BlockRv block, const Buffer& buffer) const {
    const Block node = RealizeOf(sch_, block).block;
    bool found = false;
    for (const BufferRegion& read : node->reads) {
      if (!read.buffer.same_as(buffer)) continue;
      found = true;
      for (size_t d = 0; d < read.region.size(); ++d) {
        if (!IsInt(read.region[d].extent, 1) || !read.region[d].min.same_as(node->iter_vars[d].var)) return false;
      }
    }
    return found;
  }
  std::vector<BlockRv> Readers(const std::vector<BlockRv>& chain, const Buffer& buffer) const {
    std::vector<BlockRv> readers;
    for (const BlockRv& block : chain) {
      const bool along = AlongRow(*RealizeOf(sch_, block).block, rows_, length_) >= 0;
      if (along && IsRead(block, buffer)) readers.push_back(block);
    }
    return readers;
  }

  // A copy of the rows that several stages read becomes the first stage.
  Outcome<Done> ReadOnce(std::vector<BlockRv>* chain) {
    const Buffer buffer = ReadByFirst(*chain);
    if (!buffer) return Done();
    const std::vector<BlockRv> readers = Readers(*chain, buffer);
    const std::vector<BufferRegion>& reads = RealizeOf(sch_, readers[0]).block->reads;
    const auto at = std::ranges::find_if(reads, [&](const BufferRegion& r) { return r.buffer.same_as(buffer); });
    std::vector<Value> consumers(readers.begin(), readers.end());
    TW_ASSIGN_OR_RETURN(const BlockRv copy, sch_.CacheRead(readers[0], static_cast<int>(at - reads.begin()), "local",
                                                           std::move(consumers)));
    chain->insert(chain->begin(), copy);
    kept_.push_back(copy);
    return Done();
  }

  // A thread's elements of a row lie together.
  Outcome<Done> SpreadOverThreads(BlockRv block) {
    std::vector<Var> inputs;
    std::vector<Expr> outputs;
    for (size_t d = 0; d <= rows_; ++d) inputs.emplace_back(absl::StrCat("i", d));
    outputs.assign(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(rows_));
    const Expr along = inputs.back(), vector(static_cast<int>(vector_)), threads(static_cast<int>(threads_));
    const Expr unit = FloorDiv(along, vector);
    outputs.insert(outputs.end(), {FloorDiv(unit, threads), FloorMod(unit, threads), FloorMod(along, vector)});
    const Value written = Value::List{Value("write"), Value(0)};
    TW_RETURN_IF_ERROR(sch_.Apply("transform_layout", {block, written, IndexMap(std::move(inputs), std::move(outputs)),
                                                       Value(), /*assume_injective_transform=*/true}));
    return Done();
  }

  Outcome<Done> AddStage(BlockRv block) {
    const Block node = RealizeOf(sch_, block).block;
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsByIterator(sch_, block, kName));
    std::vector<LoopRv> rows, others, lanes;
    const int iterator = LaneIterator(*node);
    const std::vector<int> together = iterator < 0 ? std::vector<int>() : LaneIterators(*node, iterator);
    for (size_t i = 0; i < loops.size(); ++i) {
      if (node->iter_vars[i].kind == IterKind::kSpatial && rows.size() < rows_)
        rows.push_back(loops[i]);
      else if (std::ranges::find(together, static_cast<int>(i)) == together.end())
        others.push_back(loops[i]);
    }
    for (int i : together) lanes.push_back(loops[static_cast<size_t>(i)]);
    std::vector<LoopRv> order = rows;
    order.insert(order.end(), others.begin(), others.end());
    order.insert(order.end(), lanes.begin(), lanes.end());
    if (order.size() > 1) TW_RETURN_IF_ERROR(sch_.Reorder(order));
    Stage stage{.block = block, .reduces = !lanes.empty()};
    int64_t length = 1;
    if (lanes.size() > 1) {
      TW_ASSIGN_OR_RETURN(const LoopRv fused, sch_.Fuse(lanes));
      lanes = {fused};
    }
    if (stage.reduces) {
      length = LikelyExtent(sch_, lanes[0]);
      TW_RETURN_IF_ERROR(
          TakeVector(&stage, ExtentOf(sch_, lanes[0]), VectorOfLoads(*node, static_cast<size_t>(iterator), Widest())));
    } else if (!others.empty()) {
      length = 1;
      for (const LoopRv& loop : others) length *= LikelyExtent(sch_, loop);
      const size_t last = node->iter_vars.size() - 1;
      TW_RETURN_IF_ERROR(
          TakeVector(&stage, ExtentOf(sch_, others.back()), node->init ? 1 : VectorOfMaps(*node, last, Widest())));
    }
    if (stage.reduces || !others.empty()) {
      const int64_t units = CeilDiv(length, stage.vector);
      units_ = std::max(units_, units);
      least_units_ = least_units_ == 0 ? units : std::min(least_units_, units);
    }
    if (rows_ == 0) {
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> now, sch_.GetLoops(block));
      TW_RETURN_IF_ERROR(sch_.AddUnitLoop(now[0]));
    }
    stages_.push_back(stage);
    return Done();
  }

  Outcome<Done> TakeVector(Stage* stage, std::optional<int64_t> extent, int64_t most) {
    if (how_ == Kept::kRegisters) {
      stage->vector = vector_;
      return Done();
    }
    std::vector<int64_t> widths = {1};
    while (extent && widths.back() * 2 <= most && *extent % (widths.back() * 2) == 0)
      widths.push_back(widths.back() * 2);
    const std::string& name = RealizeOf(sch_, stage->block).block->name;
    TW_ASSIGN_OR_RETURN(const Choices::Pick width,
                        choices_.Take(sch_, name + ".row_vector", widths, widths.size() - 1));
    stage->vector = width.value;
    return Done();
  }

  // All stages into the loops over rows of the first one.
  Outcome<Done> Place() {
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, sch_.GetLoops(stages_[0].block));
    const size_t count = std::max<size_t>(rows_, 1);
    row_loops_.assign(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(count));
    std::vector<BlockRv> others;
    for (size_t i = 1; i < stages_.size(); ++i) others.push_back(stages_[i].block);
    TW_RETURN_IF_ERROR(PlaceInRows(sch_, others, row_loops_.back(), count));
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> placed, sch_.GetLoops(stages_[0].block));
    row_loops_.assign(placed.begin(), placed.begin() + static_cast<std::ptrdiff_t>(count));
    return Done();
  }

  std::vector<int64_t> ThreadCounts() const {
    std::vector<int64_t> counts;
    for (int64_t count = 4; count <= target_.gpu_part().max_threads_per_block; count *= 2) counts.push_back(count);
    return counts;
  }
  // Threads that share the loads of a row equally, and have registers for their parts.
  // Loads of a thread from a row above which more threads share the row: fewer where it keeps what it loads.
  int64_t MostLoads() const { return how_ == Kept::kRegisters ? MostKept() : GpuCostsOf(target_).row_loads; }
  int64_t MostKept() const { return GpuCostsOf(target_).row_loads / 2; }

  std::vector<int64_t> ThreadsThatKeep(int64_t loads) const {
    std::vector<int64_t> counts = ThreadCounts();
    std::erase_if(counts, [&](int64_t count) { return loads % count != 0 || loads > count * MostKept(); });
    return counts;
  }

  Outcome<Done> ChooseThreads() {
    int64_t rows = 1;
    for (const LoopRv& loop : row_loops_) rows *= LikelyExtent(sch_, loop);
    const GpuTarget& gpu = target_.gpu_part();
    const int64_t block_threads = GpuCostsOf(target_).row_block_threads;
    std::vector<int64_t> counts = ThreadCounts();
    // Every thread has a part of each row: verification relies on it where a thread reads what all of them combined.
    int64_t most = counts.front();
    while (most * 2 <= std::min<int64_t>(least_units_, counts.back())) most *= 2;
    int64_t preferred = std::min<int64_t>(most, gpu.warp_size);
    const auto more = [&] {
      const bool idle = rows * preferred < target_.cores * gpu.max_threads_per_core / 2;
      const bool long_rows = units_ > preferred * MostLoads();
      return idle || long_rows;
    };
    while (preferred < most && more()) preferred *= 2;
    if (how_ == Kept::kRegisters) {
      counts = ThreadsThatKeep(units_);
      const auto enough = std::ranges::find_if(counts, [&](int64_t count) { return count >= preferred; });
      preferred = enough == counts.end() ? counts.back() : *enough;
    }
    TW_ASSIGN_OR_RETURN(threads_, TakeFrom(name_ + ".row_threads", counts, preferred));
    std::vector<int64_t> groups;
    int64_t best = 1;
    for (int64_t count = 1; count * threads_ <= gpu.max_threads_per_block && count <= block_threads / 4; count *= 2) {
      groups.push_back(count);
      if (rows % count == 0 && count * threads_ <= block_threads) best = count;
    }
    TW_ASSIGN_OR_RETURN(group_, TakeFrom(name_ + ".rows", groups, best));
    return Done();
  }

  Outcome<int64_t> TakeFrom(const std::string& name, const std::vector<int64_t>& values, int64_t preferred) {
    const auto place = static_cast<size_t>(std::ranges::find(values, preferred) - values.begin());
    TW_ASSIGN_OR_RETURN(const Choices::Pick pick, choices_.Take(sch_, name, values, place));
    return pick.value;
  }

  Outcome<Done> WriteStage(const Stage& stage) {
    TW_RETURN_IF_ERROR(PlaceResult(stage));
    TW_ASSIGN_OR_RETURN(std::vector<LoopRv> loops, LoopsInside(sch_, stage.block, row_loops_.back()));
    if (loops.empty()) return Done();
    LoopRv along = loops.back();
    if (!stage.reduces && loops.size() > 1 && LoopsToFuse(sch_, loops) == loops.size()) {
      TW_ASSIGN_OR_RETURN(along, sch_.Fuse(loops));
    }
    std::optional<LoopRv> vector;
    if (stage.vector > 1) {
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch_.Split(along, {Value(), Value(stage.vector)}));
      along = parts[0];
      vector = parts[1];
    }
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch_.Split(along, {Value(), Value(threads_)}));
    TW_RETURN_IF_ERROR(sch_.Bind(parts[1], "threadIdx.x"));
    // Registers have no addresses.
    if (how_ == Kept::kRegisters) TW_RETURN_IF_ERROR(sch_.Unroll(parts[0]));
    if (!vector) return Done();
    if (!stage.reduces) return sch_.Vectorize(*vector);
    TW_RETURN_IF_ERROR(LoadVectors(stage.block, parts[1]));
    return how_ == Kept::kRegisters ? sch_.Unroll(*vector) : Outcome<Done>(Done());
  }

  // Results of a row are every thread's own; rows of elements are shared by the threads.
  Outcome<Done> PlaceResult(const Stage& stage) {
    const Block node = RealizeOf(sch_, stage.block).block;
    const bool kept = std::ranges::any_of(kept_, [&](const BlockRv& map) { return IdOf(map) == node->id; });
    std::vector<BlockRv> chain;
    for (const Stage& other : stages_) chain.push_back(other.block);
    if (!IsInternal(stage.block, chain)) return Done();
    if (kept) return sch_.SetScope(stage.block, 0, how_ == Kept::kShared ? "shared" : "local");
    for (size_t i = 0; i < node->writes.size(); ++i) {
      // A buffer that outlives the function stays where it is.
      (void)sch_.SetScope(stage.block, static_cast<int>(i), "local").ok();
    }
    return Done();
  }

  // Neighbours are loaded at once into a thread's own memory, and combined from there.
  Outcome<Done> LoadVectors(BlockRv block, LoopRv thread) {
    const Block node = RealizeOf(sch_, block).block;
    const auto lanes = static_cast<size_t>(LaneIterator(*node));
    std::vector<Buffer> loaded;
    for (const Access& access : AccessesOf(*node)) {
      if (access.store || access.strides[lanes] != 1 || access.buffer->scope.kind() != MemoryKind::kGlobal) continue;
      if (std::ranges::none_of(loaded, [&](const Buffer& b) { return b.same_as(access.buffer); }))
        loaded.push_back(access.buffer);
    }
    for (const Buffer& buffer : loaded) {
      const Block now = RealizeOf(sch_, block).block;
      if (std::ranges::none_of(now->reads, [&](const BufferRegion& r) { return r.buffer.same_as(buffer); })) continue;
      TW_ASSIGN_OR_RETURN(const AutoCopy copy, ReadOperandAt(sch_, block, buffer, thread, "local"));
      TW_RETURN_IF_ERROR(Expand(sch_, copy));
      TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> loops, LoopsInside(sch_, copy.block, thread));
      if (!loops.empty()) TW_RETURN_IF_ERROR(sch_.Vectorize(loops.back()));
    }
    return Done();
  }

  Outcome<Done> BindRows() {
    const size_t fused = LoopsToFuse(sch_, row_loops_);
    TW_ASSIGN_OR_RETURN(LoopRv row, FuseFirst(sch_, row_loops_, fused));
    if (fused < row_loops_.size()) {
      TW_RETURN_IF_ERROR(sch_.Bind(row, "blockIdx.y"));
      row = row_loops_.back();
    }
    if (group_ == 1) return sch_.Bind(row, "blockIdx.x");
    TW_ASSIGN_OR_RETURN(const std::vector<LoopRv> parts, sch_.Split(row, {Value(), Value(group_)}));
    TW_RETURN_IF_ERROR(sch_.Bind(parts[0], "blockIdx.x"));
    return sch_.Bind(parts[1], "threadIdx.y");
  }

  Schedule& sch_;
  const Target& target_;
  Choices& choices_;
  std::string name_;
  size_t rows_ = 0;
  std::vector<Stage> stages_;  // in the order of the program
  Kept how_ = Kept::kNothing;
  std::vector<BlockRv> kept_;
  int64_t length_ = 0, vector_ = 1;  // of rows, and of what a thread has of them, where they are kept in registers
  std::vector<LoopRv> row_loops_;
  int64_t units_ = 1, least_units_ = 0;  // loads of a row, in the longest and in the shortest stage
  int64_t threads_ = 1, group_ = 1;      // of a row; rows of a block
};

}  // namespace

std::optional<int64_t> RowLength(const BlockNode& block) {
  const int lanes = LaneIterator(block);
  if (lanes < 0) return std::nullopt;
  int64_t length = 1;
  for (int i : LaneIterators(block, lanes)) length *= ExtentOf(block.iter_vars[static_cast<size_t>(i)]).value_or(1);
  return length;
}

Outcome<Done> ScheduleRowThreads(Schedule& sch, std::vector<BlockRv> chain, const Target& target, Choices& choices) {
  return RowThreads(sch, target, choices).Apply(std::move(chain));
}

}  // namespace tilewright
