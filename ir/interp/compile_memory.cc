#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/changes/updates.h"
#include "ir/interp/compiler.h"

namespace tilewright::interp::internal {
namespace {

Op LoadOp(DataType element) {
  switch (element.code()) {
    case TypeCode::kFloat:
      return element.bits() == 16 ? Op::kLoadF16 : element.bits() == 32 ? Op::kLoadF32 : Op::kLoad64;
    case TypeCode::kBFloat:
      return Op::kLoadBF16;
    case TypeCode::kE4M3:
    case TypeCode::kE5M2:
      return Op::kLoadNarrow;
    default:
      break;
  }
  switch (element.bytes()) {
    case 1:
      return element.is_int() ? Op::kLoadI8 : Op::kLoadU8;
    case 2:
      return element.is_int() ? Op::kLoadI16 : Op::kLoadU16;
    case 4:
      return element.is_int() ? Op::kLoadI32 : Op::kLoadU32;
    default:
      return Op::kLoad64;
  }
}

Op StoreOp(DataType element) {
  if (element.is_float() && element.bits() != 64) {
    return element == DataType::Float(32) ? Op::kStoreF32 : Op::kStoreNarrow;
  }
  switch (element.bytes()) {
    case 1:
      return Op::kStore8;
    case 2:
      return Op::kStore16;
    case 4:
      return Op::kStore32;
    default:
      return Op::kStore64;
  }
}

// The lane of a value that may be one number for all lanes, or (after an error) too short.
Reg LaneOf(const Lanes& lanes, size_t lane) { return lanes[lane < lanes.size() ? lane : 0]; }

}  // namespace

Reg Compiler::Slot(const Buffer& buffer) {
  if (auto it = slots_.find(buffer->data.get()); it != slots_.end()) return it->second;
  Error(absl::InvalidArgumentError(absl::StrCat("buffer ", buffer->name, " is not defined where it is used")));
  return NewReg(3);
}

Reg Compiler::SlotFromHandle(Reg handle) {
  const Reg slot = NewReg(3);
  memory_slots_.push_back(slot);
  Emit(Op::kSlotFromHandle, slot, handle);
  return slot;
}

std::vector<Reg> Compiler::Strides(const Buffer& buffer) {
  std::vector<Reg> strides;
  for (const Expr& stride : buffer->strides) strides.push_back(ScalarValue(stride));
  if (!strides.empty() || buffer->ndim() == 0) return strides;
  strides.assign(buffer->ndim(), Constant(1));
  for (size_t i = buffer->ndim() - 1; i > 0; --i) {
    strides[i - 1] = IntegerLane(BinaryOp::kMul, DataType::Int(64), ScalarValue(buffer->shape[i]), strides[i]);
  }
  return strides;
}

Reg Compiler::Offset(const Buffer& buffer, const std::vector<Reg>& indices) {
  for (const CachedOffset& cached : offset_cache_) {
    if (cached.buffer == buffer.get() && cached.indices == indices) return cached.offset;
  }
  const DataType i64 = DataType::Int(64);
  if (auto view = views_.find(buffer.get()); view != views_.end()) {
    std::vector<Reg> in_source = view->second.start;
    for (size_t i = 0; i < indices.size(); ++i) {
      Reg& index = in_source[view->second.dims[i]];
      index = IntegerLane(BinaryOp::kAdd, i64, index, indices[i]);
    }
    return Offset(view->second.source, in_source);
  }
  std::vector<Reg> positions = indices;
  std::vector<Expr> shape = buffer->shape;
  if (buffer->layout) {
    const IndexMap& map = buffer->layout.map;
    for (size_t i = 0; i < indices.size(); ++i) vars_[map->inputs[i].get()] = {indices[i]};
    // The same nodes with other indices must not be found again.
    const size_t cached = cache_.size();
    positions.clear();
    for (const Expr& output : map->outputs) positions.push_back(ScalarValue(output));
    cache_.resize(cached);
    shape = buffer->layout.shape;
  }
  const auto multiply_add = [&](Reg a, Reg b, Reg c) {
    if (ConstantValue(b) == 1) return IntegerLane(BinaryOp::kAdd, i64, a, c);
    if (ConstantValue(a) == 0) return c;
    return EmitValue(Op::kMadd64, a, b, c);
  };
  Reg offset = Constant(0);
  if (!buffer->layout && !buffer->strides.empty()) {
    for (size_t i = 0; i < positions.size(); ++i) {
      offset = multiply_add(positions[i], ScalarValue(buffer->strides[i]), offset);
    }
  } else {
    for (size_t i = 0; i < positions.size(); ++i) {
      offset = i == 0 ? positions[i] : multiply_add(offset, ScalarValue(shape[i]), positions[i]);
    }
  }
  if (buffer->elem_offset) offset = IntegerLane(BinaryOp::kAdd, i64, offset, ScalarValue(buffer->elem_offset));
  offset_cache_.push_back({buffer.get(), indices, offset});
  return offset;
}

int Compiler::AddAccess(const Buffer& buffer, const std::vector<Reg>& indices, bool is_store) {
  Access access;
  for (auto it = blocks_.rbegin(); it != blocks_.rend() && access.block.empty(); ++it) {
    if (it->block != nullptr) access.block = it->block->name;
  }
  access.buffer = buffer->name;
  access.is_store = is_store;
  access.element = buffer->dtype.element();
  if (!blocks_.empty() && blocks_.back().combines != 0) {
    if (Mentions(blocks_.back().block->writes, buffer)) {
      access.combines = blocks_.back().combines;
      access.combined_tags = blocks_.back().combined_tags;
    }
  }
  access.indices = indices;
  access.variables = loops_;
  code_.accesses.push_back(std::move(access));
  return static_cast<int>(code_.accesses.size()) - 1;
}

void Compiler::EmitChecks(const Buffer& buffer, const std::vector<Reg>& indices, int access, bool is_store) {
  if (options_.check_bounds) {
    for (size_t i = 0; i < indices.size(); ++i) {
      Emit(Op::kCheckIndex, 0, indices[i], ScalarValue(buffer->shape[i]), 0, access, static_cast<int>(i));
    }
  }
  if (options_.check_regions && !declaring_) CheckDeclared(buffer, indices, access, is_store);
}

void Compiler::CheckDeclared(const Buffer& buffer, const std::vector<Reg>& indices, int access, bool is_store) {
  for (auto frame = blocks_.rbegin(); frame != blocks_.rend() && frame->block != nullptr; ++frame) {
    const BlockNode* block = frame->block;
    if (std::find(frame->own.begin(), frame->own.end(), buffer->data.get()) != frame->own.end() ||
        std::any_of(block->match_buffers.begin(), block->match_buffers.end(),
                    [&](const MatchBuffer& match) { return match.buffer.same_as(buffer); })) {
      return;
    }
    // The root block of a function declares nothing; a view of memory is declared under another name.
    if (block->iter_vars.empty() && block->reads.empty() && block->writes.empty()) continue;
    bool other_view = false;
    std::vector<const DeclaredRegion*> candidates;
    for (const DeclaredRegion& region : frame->regions) {
      if (region.buffer != buffer.get()) {
        other_view |= region.buffer->data.same_as(buffer->data);
        continue;
      }
      // A reduction reads what it updates without saying so.
      if (is_store ? region.write : !region.write || block->init) candidates.push_back(&region);
    }
    if (candidates.empty() && other_view) return;
    const Reg any = NewReg();
    Emit(Op::kMove, any, Constant(0));
    for (const DeclaredRegion* region : candidates) {
      const Reg inside = NewReg();
      Emit(Op::kMove, inside, Constant(1));
      for (size_t i = 0; i < indices.size(); ++i) {
        Emit(Op::kCheckRange, inside, indices[i], region->ranges[i].first, region->ranges[i].second);
      }
      Emit(Op::kOr, any, any, inside);
    }
    Emit(Op::kCheckRegion, 0, any, MessageIndex(block->name), 0, access);
  }
}

std::vector<std::vector<Reg>> Compiler::ElementIndices(const Buffer& buffer, const std::vector<Expr>& indices) {
  size_t positions = 1;
  for (const Expr& index : indices) positions = std::max(positions, static_cast<size_t>(index.dtype().lanes()));
  std::vector<std::vector<Reg>> elements(positions);
  if (indices.size() != buffer->ndim() || (buffer->layout && buffer->layout.map->inputs.size() != buffer->ndim())) {
    Error(absl::InvalidArgumentError(absl::StrCat("buffer ", buffer->name, " has ", buffer->ndim(), " dimensions, but ",
                                                  indices.size(), " indices are given")));
    return {};
  }
  for (const Expr& index : indices) {
    const Lanes lanes = Value(index);
    if (lanes.size() != 1 && lanes.size() != positions) {
      Error(absl::InvalidArgumentError(
          absl::StrCat("indices of buffer ", buffer->name, " of ", lanes.size(), " and ", positions, " lanes")));
      return {};
    }
    for (size_t i = 0; i < positions; ++i) elements[i].push_back(lanes[lanes.size() == 1 ? 0 : i]);
  }
  return elements;
}

Lanes Compiler::Load(const LoadNode* op) {
  const Buffer& buffer = op->buffer;
  const std::vector<std::vector<Reg>> elements = ElementIndices(buffer, op->indices);
  const Lanes mask = op->predicate ? Value(op->predicate) : Lanes();
  const Reg slot = Slot(buffer);
  const DataType element = buffer->dtype.element();
  const int per_element = buffer->dtype.lanes();
  Lanes result;
  for (const std::vector<Reg>& at : elements) {
    for (int lane = 0; lane < per_element; ++lane) {
      const Reg value = NewReg();
      size_t skip = 0;
      if (op->predicate) {
        Emit(Op::kMove, value, Constant(0));
        skip = Emit(Op::kJumpIfZero, 0, LaneOf(mask, result.size()));
      }
      const size_t cached = offset_cache_.size();
      const int access = AddAccess(buffer, at, /*is_store=*/false);
      EmitChecks(buffer, at, access, /*is_store=*/false);
      Reg offset = Offset(buffer, at);
      if (per_element > 1) offset = EmitValue(Op::kMadd64, offset, Constant(per_element), Constant(lane));
      if (options_.check_uninitialized || options_.check_races) {
        Emit(Op::kShadowRead, 0, slot, offset, 0, access);
      }
      Emit(LoadOp(element), value, slot, offset, 0, access, TypeIndex(element));
      if (op->predicate) {
        offset_cache_.resize(cached);
        PatchToHere(skip);
      }
      result.push_back(value);
    }
  }
  return result;
}

void Compiler::NoteUpdates(const Stmt& s) {
  const std::vector<const BinaryNode*> updates = WrappingUpdates(s);
  wrapping_.insert(updates.begin(), updates.end());
}

void Compiler::Store(const StoreNode* op) {
  const Buffer& buffer = op->buffer;
  const Lanes value = Value(op->value);
  const std::vector<std::vector<Reg>> elements = ElementIndices(buffer, op->indices);
  const Lanes mask = op->predicate ? Value(op->predicate) : Lanes();
  const Reg slot = Slot(buffer);
  const DataType element = buffer->dtype.element();
  const auto per_element = static_cast<size_t>(buffer->dtype.lanes());
  if (op->value.dtype().element() != element) {
    return Error(absl::InvalidArgumentError(absl::StrCat("a ", op->value.dtype().ToString(), " is stored into buffer ",
                                                         buffer->name, " of ", buffer->dtype.ToString())));
  }
  const size_t lanes = elements.size() * per_element;
  if (value.size() != 1 && value.size() != lanes) {
    return Error(absl::InvalidArgumentError(
        absl::StrCat(value.size(), " lanes are stored into ", lanes, " elements of buffer ", buffer->name)));
  }
  size_t index = 0;
  for (const std::vector<Reg>& at : elements) {
    for (size_t lane = 0; lane < per_element; ++lane, ++index) {
      size_t skip = 0;
      if (op->predicate) skip = Emit(Op::kJumpIfZero, 0, LaneOf(mask, index));
      const size_t cached = offset_cache_.size();
      const int access = AddAccess(buffer, at, /*is_store=*/true);
      EmitChecks(buffer, at, access, /*is_store=*/true);
      Reg offset = Offset(buffer, at);
      if (per_element > 1) {
        offset = EmitValue(Op::kMadd64, offset, Constant(static_cast<int64_t>(per_element)),
                           Constant(static_cast<int64_t>(lane)));
      }
      if (options_.check_uninitialized || options_.check_races) {
        Emit(Op::kShadowWrite, 0, slot, offset, LaneOf(value, index), access);
      }
      Emit(StoreOp(element), 0, slot, offset, LaneOf(value, index), access, TypeIndex(element));
      if (op->predicate) {
        offset_cache_.resize(cached);
        PatchToHere(skip);
      }
    }
  }
}

void Compiler::AllocateBuffer(const Buffer& buffer) {
  const std::vector<Expr>& shape = buffer->layout ? buffer->layout.shape : buffer->shape;
  Reg elements = Constant(1);
  if (!buffer->layout && !buffer->strides.empty()) {
    // One past the offset of the last element.
    for (size_t i = 0; i < shape.size(); ++i) {
      const Reg last = IntegerLane(BinaryOp::kSub, DataType::Int(64), ScalarValue(shape[i]), Constant(1));
      elements = EmitValue(Op::kMadd64, last, ScalarValue(buffer->strides[i]), elements);
    }
  } else {
    for (const Expr& extent : shape) {
      elements = IntegerLane(BinaryOp::kMul, DataType::Int(64), elements, ScalarValue(extent));
    }
  }
  if (buffer->elem_offset) {
    elements = IntegerLane(BinaryOp::kAdd, DataType::Int(64), elements, ScalarValue(buffer->elem_offset));
  }
  Allocation allocation{buffer->name, buffer->dtype};
  const OwnerLevel owner = buffer->scope.owner();
  allocation.level = owner;
  allocation.own_per_thread = owner == OwnerLevel::kThread;
  allocation.own_per_iteration = allocation.own_per_thread || iteration_buffers_.contains(buffer->data.get());
  if (owner == OwnerLevel::kBlock || owner == OwnerLevel::kCluster) {
    allocation.owner = Allocation::kBlock;
  } else if (owner == OwnerLevel::kWarp || owner == OwnerLevel::kWarpgroup) {
    allocation.owner = Allocation::kWarp;
    allocation.thread_register = LinearThread().first;
  }
  const Reg slot = NewReg(3);
  memory_slots_.push_back(slot);
  Emit(Op::kAllocate, slot, elements, 0, 0, static_cast<int>(code_.allocations.size()));
  code_.allocations.push_back(std::move(allocation));
  slots_[buffer->data.get()] = slot;
  buffers_[buffer->data.get()] = buffer;
  if (!blocks_.empty()) blocks_.back().own.push_back(buffer->data.get());
}

void Compiler::BindOrCheck(const Expr& variable, Reg reg, const std::string& what) {
  if (const auto* var = dyn_cast<VarNode>(variable); var != nullptr && vars_.count(var) == 0) {
    vars_[var] = {reg};
    return;
  }
  if (AsInt(variable) && ConstantValue(reg) && *AsInt(variable) == *ConstantValue(reg)) return;
  Emit(Op::kCheckEqual, 0, ScalarValue(variable), reg, 0, MessageIndex(what));
}

namespace {

// Which dimensions of the source a sub-buffer has: the last ones, without those of which the part is one element.
std::vector<size_t> DimsOfPart(const MatchBuffer& match) {
  const std::vector<Range>& region = match.source.region;
  const std::vector<Expr>& shape = match.buffer->shape;
  std::vector<size_t> dims(shape.size());
  size_t spare = region.size() - shape.size();
  for (size_t k = shape.size(), d = region.size(); k-- > 0;) {
    --d;
    for (; spare > 0 && IsInt(region[d].extent, 1) && !IsInt(shape[k], 1); --spare) --d;
    dims[k] = d;
  }
  return dims;
}

}  // namespace

void Compiler::MatchSubBuffer(const MatchBuffer& match) {
  const Buffer &buffer = match.buffer, &source = match.source.buffer;
  if (match.source.region.size() != source->ndim()) {
    return Error(absl::InvalidArgumentError(
        absl::StrCat("a region of ", match.source.region.size(), " dimensions of buffer ", source->name)));
  }
  if (source->ndim() < buffer->ndim()) {
    return Error(absl::InvalidArgumentError(
        absl::StrCat("buffer ", buffer->name, " is a part of ", source->name, ", which has fewer dimensions")));
  }
  const std::vector<size_t> dims = DimsOfPart(match);
  std::vector<Reg> start;
  for (const Range& range : match.source.region) start.push_back(ScalarValue(range.min));
  if (source->layout || views_.count(source.get()) != 0) {
    // No strides lead from element to element: each is looked up in the source. Stride variables have no value.
    views_[buffer.get()] = {source, std::move(start), dims};
    slots_[buffer->data.get()] = Slot(source);
    buffers_[buffer->data.get()] = buffer;
    return;
  }
  const std::vector<Reg> strides = Strides(source);
  const Reg offset = Offset(source, start);
  const Reg source_slot = Slot(source);
  for (size_t i = 0; i < buffer->ndim(); ++i) {
    BindOrCheck(buffer->shape[i], ScalarValue(match.source.region[dims[i]].extent),
                absl::StrCat("extent ", i, " of ", buffer->name, " and of its part of ", source->name));
  }
  if (!buffer->strides.empty()) {
    for (size_t i = 0; i < buffer->ndim(); ++i) {
      BindOrCheck(buffer->strides[i], strides[dims[i]],
                  absl::StrCat("stride ", i, " of ", buffer->name, " and of its part of ", source->name));
    }
  } else {
    // Declared compact: the source's strides must say so, but for extents of one.
    const std::vector<Reg> compact = Strides(buffer);
    for (size_t i = 0; i < buffer->ndim(); ++i) {
      if (IsInt(buffer->shape[i], 1)) continue;
      const std::string what =
          absl::StrCat("stride ", i, " of the compact ", buffer->name, " and of its part of ", source->name);
      if (ConstantValue(compact[i]) && ConstantValue(strides[dims[i]]) == ConstantValue(compact[i])) continue;
      Emit(Op::kCheckEqual, 0, compact[i], strides[dims[i]], 0, MessageIndex(what));
    }
  }
  if (isa<VarNode>(buffer->elem_offset)) {
    // Offsets count from the source's data.
    BindOrCheck(buffer->elem_offset, offset, "");
    slots_[buffer->data.get()] = source_slot;
  } else {
    const Reg handle = EmitValue(Op::kHandle, source_slot, offset, 0, source->dtype.bytes() * source->dtype.lanes());
    const Reg slot = SlotFromHandle(handle);
    slots_[buffer->data.get()] = slot;
  }
  buffers_[buffer->data.get()] = buffer;
}

}  // namespace tilewright::interp::internal
