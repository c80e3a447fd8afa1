// What a scheduled program does, gathered in one walk: its loops, the memory it touches, the arithmetic.
//
//   ProgramFacts facts = GatherFacts(function);
//   for (const AccessFacts& access : facts.accesses) ... facts.loops[access.loop] ...
//
// The function is scheduled, not lowered: blocks are there, loops have their kinds, tensor intrinsics stand as their
// implementations. Everything that cost models know about a program comes from here. Terms:
//   place      the innermost loop around something; -1 is outside of all loops
//   share      the part of a place's iterations in which something happens: under a predicate, in an init
//   varies     loops whose variable matters for a result, or for where an access goes; what does not vary with a loop
//              needs to be done only once for it
// A loop that a schedule fused is taken apart again where indices divide its variable, so that every index is a plain
// sum over loops. Symbolic extents are likely ones (autoschedule/program/sizes.h); others that are not constant count
// as the mean of their bounds, which the loops around give (min(8, i // 4 + 1)), or as kUnknownExtent.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "autoschedule/cost/index_form.h"
#include "ir/function.h"

namespace tilewright {

inline constexpr int64_t kUnknownExtent = 64;

using LoopMask = uint64_t;  // bit d: the loop at depth d of the chain of loops around a place

struct LoopFacts {
  const ForNode* loop = nullptr;
  int parent = -1;
  int depth = 0;  // 0: outermost
  int64_t extent = 1;
  ForKind kind = ForKind::kSerial;
  // Whether the program alone says how often this loop and those around it run; else `extent` is an estimate.
  bool known = true;
};

struct BufferFacts {
  const BufferNode* buffer = nullptr;
  bool param = false;
  // In register scope, or a temporary that lowering leaves in registers: each iteration of one loop writes and reads a
  // few vectors of it, in straight code.
  bool in_registers = false;
  double bytes = 0;
  std::vector<int64_t> shape;
  // Products with the zeros of a padding need not be computed. Either the box outside of which all elements are such
  // zeros, one inclusive interval per dimension, or (no box) the part of its elements that are not.
  std::vector<std::pair<int64_t, int64_t>> nonzero_box;
  double nonzero = 1;
  // What anything but sums onto themselves reads of a buffer in register scope, one inclusive interval per dimension;
  // none when nothing does.
  std::vector<std::pair<int64_t, int64_t>> read;
};

struct AccessFacts {
  int buffer = 0;  // in ProgramFacts::buffers
  int loop = -1;
  bool write = false;
  bool accumulates = false;  // a write of the old value with something added
  double share = 1;
  int lanes = 1;  // of a vector access, or 0: the region that an opaque call declares
  LoopMask varies = 0;
  std::vector<IndexForm> index;  // one per dimension
  std::vector<int64_t> width;    // one per dimension: how far the access reaches from the index; mostly 1
  std::string_view instruction;  // of a GPU that does it, as code calls it; empty where there is none
};

enum class OperationKind : uint8_t {
  kMultiplyAdd,     // a * b + c: one instruction
  kDot,             // the dot_add builtin: several products added up
  kArithmetic,      // add, multiply, min, max, compare, select
  kDivide,          // and square root
  kTranscendental,  // exp, tanh, ...: tens of instructions
  kConvert,
  kTiles,  // the amx_dot_add builtin: a product of matrices
  kCall,   // of something opaque
};

struct OperationFacts {
  OperationKind kind = OperationKind::kArithmetic;
  DataType dtype;           // of the result
  DataType operand;         // of what is multiplied, casts removed
  int products = 1;         // of one kDot: how many for each lane of the result; of one kTiles: all
  int rows = 0;             // of the first matrix of kTiles
  int columns = 0;          // of the second one
  std::string_view callee;  // of calls
  int loop = -1;
  double share = 1;
  LoopMask varies = 0;
  bool accumulates = false;           // onto what it computed in the iteration before
  std::string_view instruction = {};  // as of accesses
};

struct ProgramFacts {
  Function function;             // with likely sizes in the place of symbolic extents
  std::vector<LoopFacts> loops;  // parents before children
  std::vector<BufferFacts> buffers;
  std::vector<AccessFacts> accesses;
  std::vector<OperationFacts> operations;

  // How often a place's body runs; 1 for -1.
  double Iterations(int loop) const;
  // Whether `outer` is `loop` or around it.
  bool Encloses(int outer, int loop) const;
};

// The function must stay alive as long as the facts are used.
ProgramFacts GatherFacts(const Function& function);

}  // namespace tilewright
