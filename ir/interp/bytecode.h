// The bytecode: a flat list of instructions over a file of 64-bit registers.
//
// Every variable, temporary value and constant has a register (`Scalar`); constants are part of the initial register
// file. Vectors take one register per lane: an operation on a vector is one instruction per lane. A buffer is a slot of
// three registers: the address of its element 0, the bytes that may be accessed from there, and the handle (allocation
// number << 40 | offset in bytes) that detectors and pointers passed around use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/buffer.h"
#include "ir/data_type.h"
#include "ir/interp/interp.h"
#include "ir/interp/math_functions.h"

namespace tilewright::interp::internal {

// Operands: dst, a, b, c are registers unless said; imm is an immediate or an index into a table of Code.
// clang-format off: it does not settle on a layout for a list with comments.
#define TW_INTERP_OPS(X)                                                                                               \
  X(Move)                                                                                                              \
  /* Integers. The checked ones stop at signed overflow of 32 or 64 bits. */                                           \
  X(Add32) X(Sub32) X(Mul32) X(Madd32 /* a * b + c */) X(Add64) X(Sub64) X(Mul64) X(Madd64) X(AddRaw) X(SubRaw)        \
  X(MulRaw) X(SignExtend /* from imm bits */) X(ZeroExtend) X(DivS /* of imm bits */) X(ModS) X(FloorDiv) X(FloorMod) X(DivU) X(ModU)    \
  X(MinS) X(MaxS) X(MinU) X(MaxU) X(Eq) X(Ne) X(Lt) X(Le) X(LtU) X(LeU) X(And) X(Or) X(Xor) X(Not /* logical */)       \
  X(BitNot) X(Shl /* of imm bits */) X(ShrS) X(ShrU) X(AbsS) X(Popcount) X(Clz /* of imm bits */)                                        \
  /* Floating point: in double, the F32 ones rounded to float, the others followed by a Round. */                      \
  X(AddF32) X(SubF32) X(MulF32) X(DivF32) X(AddF) X(SubF) X(MulF) X(DivF) X(MinF) X(MaxF) X(EqF) X(NeF) X(LtF) X(LeF)  \
  X(Round /* to type imm */) X(Math1 /* function imm */) X(Math2) X(Fma /* rounded to type imm */)                     \
  X(IntToF /* to type imm */) X(UIntToF) X(FToInt /* to type imm */) X(FToBool) X(ToBits) X(FromBits)                  \
  /* Control. imm is the target. */                                                                                    \
  X(Jump) X(JumpIfZero) X(JumpIfNotZero) X(JumpIfGe /* a >= b */) X(LoopNext /* ++dst < a: jump */) X(CountStep)       \
  X(Fail /* message imm */) X(Return)                                                                                  \
  X(Fork /* a threads, dst takes min b + index; c is the number of the loop's region */) X(ThreadEnd)                  \
  X(Barrier /* t: 0 block, 1 warp; a: linear thread, b: threads */)                                                    \
  /* Memory: dst or c is the value, a the slot, b the offset in elements, imm the access. */                           \
  X(LoadI8) X(LoadI16) X(LoadI32) X(Load64) X(LoadU8) X(LoadU16) X(LoadU32) X(LoadF32) X(LoadF16) X(LoadBF16)          \
  X(LoadNarrow /* float of type t */) X(Store8) X(Store16) X(Store32) X(Store64) X(StoreF32) X(StoreNarrow)            \
  X(Allocate /* slot dst, a elements; imm the allocation */)                                                           \
  X(Handle /* dst: the handle of slot a plus b elements of imm bytes */)                                               \
  X(SlotFromHandle /* slot dst from handle a */) X(CallExtern /* imm: the call */)                                     \
  /* Detectors. imm is the access. */                                                                                  \
  X(CheckIndex /* 0 <= a < b in dimension t */) X(CheckRange /* b <= a < b + c: dst and= */)                           \
  X(CheckDomain /* b <= a < b + c */) X(CheckRegion /* a is true; b: message */)                                       \
  X(CheckEqual /* a == b, else message imm */) X(ShadowRead) X(ShadowWrite)                                            \
  X(RegionBegin /* region imm, iterations a to b */) X(StrandNext /* iteration a */) X(RegionEnd)
// clang-format on

enum class Op : uint16_t {
#define X(name) k##name,
  TW_INTERP_OPS(X)
#undef X
};

struct Instruction {
  Op op;
  uint16_t t = 0;
  int32_t dst = 0, a = 0, b = 0, c = 0;
  int32_t imm = 0;
};

// A load or store in the program's text, for messages.
struct Access {
  std::string block;  // the innermost block around it
  std::string buffer;
  bool is_store = false;
  DataType element;
  int combines = 0;  // other than 0: threads combine into the buffer; accesses with the same number do not race
  uint32_t combined_tags = 0;                          // of those threads, a bit for each
  std::vector<int> indices;                            // registers of the indices
  std::vector<std::pair<std::string, int>> variables;  // the loops around it
};

struct Allocation {
  std::string buffer;
  DataType dtype;
  enum Owner { kThread, kWarp, kBlock } owner = kThread;  // who allocates it
  OwnerLevel level = OwnerLevel::kDevice;                 // of its scope
  int thread_register = 0;                                // linear number of the thread, for warps
  bool own_per_iteration = false;                         // each iteration of a parallel loop has a copy of its own
  bool own_per_thread = false;                            // so has each thread
};

struct ExternCall {
  std::string name;
  ExternFunction function;
  DataType result_type;
  int result = 0;  // the first of the result's registers
  struct Arg {
    DataType dtype;
    std::string text;
    int first = 0;   // the first of its registers, or the handle's
    int access = 0;  // pointers: bits kAccessRead, kAccessWrite
  };
  std::vector<Arg> args;
};

// A loop whose iterations may run at once.
struct Region {
  std::string loop;
  bool threads = false;
  bool blocks = false;  // of threads
  bool virtual_threads = false;
  int grid_tag = -1;            // of blockIdx, clusterCtaIdx, threadIdx .x, .y, .z; -1 for other loops
  std::vector<int> slots = {};  // of a loop over threads: first registers of the slots of memory that is in scope
};

struct BlockIterator {
  std::string block, iterator;
};

struct ParamCode {
  bool is_buffer = false;
  DataType dtype;
  std::string name;
  int slot = 0;              // or the scalar's register
  std::vector<int> extents;  // registers that take the array's extents
  std::vector<int> strides;  // registers that take the strides of its memory, if the buffer declares some
};

struct Code {
  Function function;
  std::vector<Instruction> instructions;
  std::vector<Scalar> registers;  // the initial register file
  std::vector<ParamCode> params;
  std::vector<Access> accesses;
  std::vector<Allocation> allocations;
  std::vector<ExternCall> calls;
  std::vector<Region> regions;
  std::vector<BlockIterator> iterators;
  std::vector<std::string> messages;
  std::vector<Math1Function> math1;
  std::vector<Math2Function> math2;
  std::vector<DataType> types;
  bool shadow_init = false, shadow_races = false, values_unknown = false;
};

}  // namespace tilewright::interp::internal
