// A call sequence whose numbers depend on extents: a whole model that is compiled once for all sizes.
//
//   SizedSequence sequence{.name = "bert", .params = {ids, scores}, .num_inputs = 1, .extents = {batch, length}, ...};
//   CompileSequence(kernels, target, sequence, "so");     // codegen/sequence_library.h
//
// The exported function finds the extents in the shapes of its tensors; `NAME_workspace_bytes` takes them as arguments.
// Both compute `sizes`, refuse extents that break one of `checks`, and leave what the calls need in a table. Without
// extents this is a CallSequence (codegen/call_sequence.h), whose terms are used here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/call_sequence.h"
#include "ir/expr.h"
#include "ir/function.h"

namespace tilewright {

struct SizedSequence {
  using Memory = CallSequence::Argument::Memory;

  // A number below is a constant, one of `extents`, or the variable of one of `sizes`.
  using Number = Expr;

  // Integer arithmetic of extents and of sizes before it. An overflow or a division by zero refuses the extents.
  struct Size {
    Var var;
    Expr value;
  };
  // What must hold. A refusal says `sentence`, "the model needs n >= 4, but " for example, and then each of `named` as
  // "NAME = VALUE".
  struct Check {
    Expr holds;
    std::string sentence;
    std::vector<std::pair<std::string, Number>> named;
  };
  // An element of a parameter of integers that has to be this number, an extent of what is written, say: a caller who
  // makes room for results knows it before.
  struct Read {
    size_t param = 0;
    int64_t element = 0;
    Number value;
  };
  // Two parameters, one that is read and one that is written, which a caller may give the same memory where both have
  // the same extents: what is written there replaces a part of what is read, as a sequence appends to its cache.
  struct SharedMemory {
    size_t read = 0, written = 0;
  };
  struct Argument {
    Memory memory = Memory::kParam;
    Number at;                  // as CallSequence::Argument::at
    std::vector<Number> shape;  // not of scalars
  };
  // Another function for the same call, in the same place for temporaries.
  struct Version {
    std::vector<std::pair<Number, int64_t>> when;  // all of these numbers are equal,
    std::vector<SharedMemory> shared;              // and all of these parameters are the same memory
    std::string function;
    std::vector<Argument> arguments;
  };
  struct Call {
    std::string function;
    std::vector<Argument> arguments;
    Number workspace_offset;             // null: behind everything else, as many bytes as the function needs
    int64_t workspace_bytes = 0;         // of a given offset
    std::vector<Number> written;         // bytes that it writes: it is left out where all are 0
    std::vector<Version> versions = {};  // the first that fits is called instead
  };
  struct Copy {
    Argument from;
    int64_t to = 0;  // number of the parameter
    Number bytes;
  };
  // Bytes that a loop moves between memory that does not overlap.
  struct Move {
    // One side may be a row, `bytes` of an array of rows: that of the iteration, which `reversed` counts from the last.
    enum class Row { kNone, kFrom, kTo };
    Argument from, to;
    Number bytes;
    Row row = Row::kNone;
    bool reversed = false;
  };
  // Calls that repeat. An iteration moves, calls and moves again; loops inside are among its calls.
  struct Loop {
    size_t first = 0, end = 0;  // calls
    size_t loops_end = 0;       // the loops after this one, up to there, are inside
    Number count;               // iterations; null: memory says
    // Memory that is read where there is no count: an int64, the most iterations; a byte that is 0 after the last one.
    std::optional<Argument> trips, condition;
    std::optional<Argument> iteration;  // an int64 that has the iteration's number
    std::vector<Move> start;            // before the first iteration
    std::vector<Move> before, after;    // the calls of each one
  };

  std::string name;
  std::vector<Param> params;  // the first `num_inputs` are read, the others written; extents are numbers or arithmetic
  size_t num_inputs = 0;
  std::vector<Var> extents;  // int64, in the order in which they first stand alone as an extent of a parameter
  std::vector<Size> sizes;
  std::vector<Check> checks;
  std::vector<Read> reads = {};  // for CPUs
  std::vector<Call> calls;
  std::vector<Loop> loops = {};  // in order, outer ones before those inside; for CPUs
  std::vector<Copy> copies;
  std::vector<SharedMemory> shared = {};
  Number workspace_bytes;
  std::string constants_file;
  int64_t constants_bytes = 0;
};

// The same with constants for numbers.
SizedSequence Sized(const CallSequence& sequence);

}  // namespace tilewright
