#include "ir/interp/machine.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "ir/builtin.h"
#include "ir/interp/rounding.h"
#include "ir/strided_array.h"

namespace tilewright::interp::internal {
namespace {

constexpr size_t kAlignment = 64;

std::string ShapeText(const std::vector<int64_t>& shape) { return absl::StrCat("(", absl::StrJoin(shape, ", "), ")"); }

}  // namespace

int64_t WrapInteger(DataType type, int64_t value) {
  if (type.is_bool()) return value != 0 ? 1 : 0;
  const int unused = 64 - type.bits();
  const uint64_t shifted = static_cast<uint64_t>(value) << unused;
  return type.is_int() ? static_cast<int64_t>(shifted) >> unused : static_cast<int64_t>(shifted >> unused);
}

void StoreScalar(DataType type, std::byte* to, Scalar value) {
  if (type.code() == TypeCode::kBFloat) {  // the upper half of a float
    const auto half = static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value.f)) >> 16);
    std::memcpy(to, &half, sizeof half);
    return;
  }
  const uint64_t bits = type.is_float() ? ToBits(type, value.f) : static_cast<uint64_t>(value.i);
  std::memcpy(to, &bits, static_cast<size_t>(type.bytes()));
}

Machine::Machine(const Code& code, const RunOptions& options)
    : code_(code),
      options_(options),
      free_memory_(code.allocations.size()),
      steps_left_(options.max_steps == UINT64_MAX ? UINT64_MAX : options.max_steps + 1),
      strands_(code) {}

absl::Status Machine::Run(absl::Span<const Argument> arguments) {
  Context main;
  main.registers = code_.registers;
  main.memory_of_allocation.assign(code_.allocations.size(), -1);
  std::vector<NDArray> with_gaps(arguments.size());
  TW_RETURN_IF_ERROR(BindArguments(arguments, main, with_gaps));
  Execute(main);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (with_gaps[i].data() == nullptr) continue;
    const NDArray& array = arguments[i].array;
    Collect(with_gaps[i].data(), StridesWithGaps(code_.function->params[i].buffer, array.shape()), array);
  }
  return error_;
}

absl::Status Machine::BindArguments(absl::Span<const Argument> arguments, Context& main,
                                    std::vector<NDArray>& with_gaps) {
  if (arguments.size() != code_.params.size()) {
    return absl::InvalidArgumentError(absl::StrCat("function ", code_.function->name, " takes ", code_.params.size(),
                                                   " arguments, not ", arguments.size()));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ParamCode& param = code_.params[i];
    const Argument& argument = arguments[i];
    Scalar* const value = &main.registers[static_cast<size_t>(param.slot)];
    if (!param.is_buffer) {
      if (argument.array.data() != nullptr) {
        return absl::InvalidArgumentError(absl::StrCat("argument ", param.name, " is a number, not an array"));
      }
      if (param.dtype.is_float()) {
        value->f = RoundFast(param.dtype, argument.real);
      } else {
        value->i = WrapInteger(param.dtype, argument.integer);
      }
      continue;
    }
    const NDArray& array = argument.array;
    if (array.data() == nullptr || array.dtype() != param.dtype || array.shape().size() != param.extents.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("argument ", param.name, " is ", array.data() == nullptr ? "a number" : array.dtype().ToString(),
                       array.data() == nullptr ? "" : ShapeText(array.shape()), ", not a ", param.dtype.ToString(),
                       " array of ", param.extents.size(), " dimensions"));
    }
    for (size_t dim = 0; dim < param.extents.size(); ++dim) {
      main.registers[static_cast<size_t>(param.extents[dim])].i = array.shape()[dim];
    }
    const std::vector<int64_t> strides = StridesWithGaps(code_.function->params[i].buffer, array.shape());
    if (!strides.empty()) with_gaps[i] = Spread(array, strides);
    int64_t compact = 1;
    for (size_t dim = param.strides.size(); dim-- > 0;) {
      main.registers[static_cast<size_t>(param.strides[dim])].i = strides.empty() ? compact : strides[dim];
      compact *= array.shape()[dim];
    }
    const NDArray& elements = strides.empty() ? array : with_gaps[i];
    const int32_t id = NewMemory();
    Memory& memory = memory_.back();
    memory.data = static_cast<std::byte*>(elements.data());
    memory.bytes = elements.bytes();
    memory.shadow.Reset(memory.bytes, param.dtype.bytes(), !argument.uninitialized, code_.shadow_init,
                        code_.shadow_races);
    SlotFromHandle(value, MakeHandle(id));
  }
  return absl::OkStatus();
}

int32_t Machine::NewMemory() {
  memory_.emplace_back();
  return static_cast<int32_t>(memory_.size() - 1);
}

bool Machine::MakePointer(int64_t handle, int64_t elements, int64_t bytes, int64_t* result) {
  int64_t offset = 0;
  if (__builtin_mul_overflow(elements, bytes, &offset) || __builtin_add_overflow(offset, OffsetOf(handle), &offset) ||
      offset < 0 || offset > memory_[static_cast<size_t>(MemoryOf(handle))].bytes) {
    Fail(absl::OutOfRangeError("out of bounds: a pointer outside of its buffer's memory"));
    return false;
  }
  *result = MakeHandle(MemoryOf(handle)) + offset;
  return true;
}

void Machine::SlotFromHandle(Scalar* slot, int64_t handle) {
  const Memory& memory = memory_[static_cast<size_t>(MemoryOf(handle))];
  slot[0].p = memory.data + OffsetOf(handle);
  slot[1].i = memory.bytes - OffsetOf(handle);
  slot[2].i = handle;
}

int32_t Machine::FreeMemory(size_t allocation) {
  std::vector<int32_t>& free_list = free_memory_[allocation];
  if (free_list.empty()) return NewMemory();
  const int32_t id = free_list.back();
  free_list.pop_back();
  return id;
}

bool Machine::Reserve(Memory& memory, int64_t bytes, const std::string& buffer) {
  if (memory.capacity < bytes || memory.data == nullptr) {
    allocated_bytes_ += bytes - memory.capacity;
    if (allocated_bytes_ > options_.max_memory) {
      Fail(absl::ResourceExhaustedError(
          absl::StrCat("buffer ", buffer, " of ", bytes, " bytes does not fit into the memory that the run may take")));
      return false;
    }
    const size_t room = static_cast<size_t>(bytes) + kAlignment;
    // Not zeros: a program that relies on them should fail everywhere in the same way.
    memory.owned.reset(new std::byte[room]);
    std::memset(memory.owned.get(), 0xa5, room);
    void* start = memory.owned.get();
    size_t space = room;
    memory.data = static_cast<std::byte*>(std::align(kAlignment, static_cast<size_t>(bytes), start, space));
    memory.capacity = bytes;
  }
  memory.bytes = bytes;
  return true;
}

bool Machine::Allocate(Context& context, const Instruction& instruction) {
  const Allocation& allocation = code_.allocations[static_cast<size_t>(instruction.imm)];
  const int64_t elements = context.registers[static_cast<size_t>(instruction.a)].i;
  int64_t bytes = 0;
  if (elements < 0 || __builtin_mul_overflow(elements, allocation.dtype.bytes() * allocation.dtype.lanes(), &bytes)) {
    Fail(absl::OutOfRangeError(absl::StrCat("buffer ", allocation.buffer, " has ", elements, " elements")));
    return false;
  }
  const bool shared = context.group != nullptr && allocation.owner != Allocation::kThread;
  int32_t* id = &context.memory_of_allocation[static_cast<size_t>(instruction.imm)];
  if (shared) {
    const int64_t warp = allocation.owner == Allocation::kBlock
                             ? -1
                             : context.registers[static_cast<size_t>(allocation.thread_register)].i / 32;
    id = &context.group->shared.emplace(std::pair(instruction.imm, warp), -1).first->second;
  }
  Scalar* const slot = &context.registers[static_cast<size_t>(instruction.dst)];
  if (shared && *id >= 0) {
    if (memory_[static_cast<size_t>(*id)].bytes >= bytes) {
      SlotFromHandle(slot, MakeHandle(*id));
      return true;
    }
    // A later instance needs more; threads that still run the one before keep its memory.
    context.group->outgrown.emplace_back(static_cast<int32_t>(instruction.imm), *id);
    *id = -1;
  }
  if (*id < 0) *id = FreeMemory(static_cast<size_t>(instruction.imm));
  Memory& memory = memory_[static_cast<size_t>(*id)];
  if (!Reserve(memory, bytes, allocation.buffer)) return false;
  memory.shadow.Reset(bytes, allocation.dtype.bytes(), /*initialized=*/false, code_.shadow_init, code_.shadow_races,
                      allocation.own_per_iteration, allocation.level);
  SlotFromHandle(slot, MakeHandle(*id));
  return true;
}

bool Machine::CallExternal(Context& context, const ExternCall& call) {
  std::vector<ExternArg> args;
  std::vector<Scalar> pointers(call.args.size());
  for (size_t i = 0; i < call.args.size(); ++i) {
    const ExternCall::Arg& arg = call.args[i];
    const Scalar* lanes = &context.registers[static_cast<size_t>(arg.first)];
    if (arg.dtype.is_handle() && arg.text.empty()) {
      const int64_t handle = lanes->i;
      Memory& memory = memory_[static_cast<size_t>(MemoryOf(handle))];
      pointers[i].p = memory.data + OffsetOf(handle);
      lanes = &pointers[i];
      if ((arg.access & kAccessWrite) != 0) memory.shadow.MarkWritten(0, memory.bytes);
    }
    args.push_back({arg.dtype, arg.text, absl::MakeConstSpan(lanes, static_cast<size_t>(arg.dtype.lanes()))});
  }
  const size_t lanes = call.result_type.is_void() ? 0 : static_cast<size_t>(call.result_type.lanes());
  absl::Status status = call.function(args, call.result_type,
                                      absl::MakeSpan(&context.registers[static_cast<size_t>(call.result)], lanes));
  if (status.ok()) return true;
  Fail(absl::Status(status.code(), absl::StrCat(call.name, ": ", status.message())));
  return false;
}

bool Machine::FloatToInt(double value, DataType to, int64_t* result) {
  const double truncated = std::trunc(value);
  const double low = to.is_int() ? -std::ldexp(1.0, to.bits() - 1) : 0;
  const double high = std::ldexp(1.0, to.is_int() ? to.bits() - 1 : to.bits());
  if (!(truncated >= low && truncated < high)) {
    Fail(absl::OutOfRangeError(absl::StrCat("conversion of ", value, " to ", to.ToString())));
    return false;
  }
  *result = to.is_int() ? static_cast<int64_t>(truncated) : static_cast<int64_t>(static_cast<uint64_t>(truncated));
  return true;
}

bool Machine::CheckRead(Context& context, const Instruction& instruction) {
  const Access& access = code_.accesses[static_cast<size_t>(instruction.imm)];
  const Scalar* slot = &context.registers[static_cast<size_t>(instruction.a)];
  const int64_t bytes = access.element.bytes();
  const int64_t offset = OffsetOf(slot[2].i) + context.registers[static_cast<size_t>(instruction.b)].i * bytes;
  Memory& memory = memory_[static_cast<size_t>(MemoryOf(slot[2].i))];
  if (offset < 0 || offset + bytes > memory.bytes) {
    FailAccess(context, instruction);
    return false;
  }
  if (code_.shadow_init && !memory.shadow.Initialized(offset, bytes)) {
    Fail(absl::FailedPreconditionError(absl::StrCat("uninitialized: ", Describe(access, context),
                                                    ", which was never written", Where(access, context))));
    return false;
  }
  if (!code_.shadow_races) return true;
  const Shadow::Conflict conflict = memory.shadow.Read(strands_, offset, bytes, context.strand, instruction.imm);
  return conflict.strand == 0 || FailRace(context, instruction.imm, conflict);
}

bool Machine::CheckWrite(Context& context, const Instruction& instruction) {
  const Access& access = code_.accesses[static_cast<size_t>(instruction.imm)];
  const Scalar* slot = &context.registers[static_cast<size_t>(instruction.a)];
  const int64_t bytes = access.element.bytes();
  const int64_t offset = OffsetOf(slot[2].i) + context.registers[static_cast<size_t>(instruction.b)].i * bytes;
  Memory& memory = memory_[static_cast<size_t>(MemoryOf(slot[2].i))];
  if (offset < 0 || offset + bytes > memory.bytes) {
    FailAccess(context, instruction);
    return false;
  }
  memory.shadow.MarkWritten(offset, bytes);
  if (!code_.shadow_races) return true;
  const Shadow::Conflict conflict = memory.shadow.Write(strands_, offset, bytes, context.strand, instruction.imm, [&] {
    if (code_.values_unknown) return false;
    std::byte value[16];
    StoreScalar(access.element, value, context.registers[static_cast<size_t>(instruction.c)]);
    return std::memcmp(value, memory.data + offset, static_cast<size_t>(bytes)) == 0;
  });
  return conflict.strand == 0 || FailRace(context, instruction.imm, conflict);
}

Machine::Stop Machine::Fail(absl::Status status) {
  if (error_.ok()) error_ = std::move(status);
  return Stop::kError;
}

std::string Machine::Describe(const Access& access, const Context& context) const {
  std::vector<int64_t> indices;
  for (int index : access.indices) indices.push_back(context.registers[static_cast<size_t>(index)].i);
  return absl::StrCat("block \"", access.block, "\" ", access.is_store ? "writes " : "reads ", access.buffer, "[",
                      absl::StrJoin(indices, ", "), "]");
}

std::string Machine::Where(const Access& access, const Context& context) const {
  std::string text;
  for (const auto& [name, index] : access.variables) {
    absl::StrAppend(&text, text.empty() ? " (" : ", ", name, " = ", context.registers[static_cast<size_t>(index)].i);
  }
  return text.empty() ? text : text + ")";
}

Machine::Stop Machine::FailAccess(const Context& context, const Instruction& instruction) {
  const Access& access = code_.accesses[static_cast<size_t>(instruction.imm)];
  return Fail(absl::OutOfRangeError(absl::StrCat("out of bounds: ", Describe(access, context),
                                                 ", outside of the buffer's memory", Where(access, context))));
}

Machine::Stop Machine::FailIndex(const Context& context, const Instruction& instruction) {
  const Access& access = code_.accesses[static_cast<size_t>(instruction.imm)];
  return Fail(absl::OutOfRangeError(
      absl::StrCat("out of bounds: ", Describe(access, context), "; dimension ", instruction.t, " has extent ",
                   context.registers[static_cast<size_t>(instruction.b)].i, Where(access, context))));
}

Machine::Stop Machine::FailRegion(const Context& context, const Instruction& instruction) {
  const Access& access = code_.accesses[static_cast<size_t>(instruction.imm)];
  const std::string& declaring = code_.messages[static_cast<size_t>(instruction.b)];
  return Fail(absl::PermissionDeniedError(absl::StrCat("undeclared access: ", Describe(access, context),
                                                       ", outside of the regions that block \"", declaring,
                                                       "\" declares", Where(access, context))));
}

bool Machine::FailRace(const Context& context, int32_t access_index, const Shadow::Conflict& conflict) {
  const Access& access = code_.accesses[static_cast<size_t>(access_index)];
  const Access& other = code_.accesses[static_cast<size_t>(conflict.access)];
  if (conflict.other_executor) {
    Fail(absl::AbortedError(absl::StrCat("another executor's memory: ", Describe(access, context), " in ",
                                         strands_.DescribeExecutor(strands_.ExecutorOf(context.strand)),
                                         ", and block \"", other.block, "\" wrote its own in ",
                                         strands_.DescribeExecutor(conflict.executor))));
    return false;
  }
  const std::string here = strands_.Describe(context.strand), there = strands_.Describe(conflict.strand);
  Fail(absl::AbortedError(absl::StrCat("race: ", Describe(access, context), " in ", here, ", which block \"",
                                       other.block, conflict.wrote ? "\" writes in " : "\" reads in ", there)));
  return false;
}

}  // namespace tilewright::interp::internal
