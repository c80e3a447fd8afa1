// The interpreter: what a program means.
//
//   absl::StatusOr<interp::Program> program = interp::Compile(function);
//   NDArray a(...), b(...), c(...);
//   absl::Status status = program->Run({a, b, c});           // in the order of the parameters
//
// A program is compiled to bytecode once and may run many times, from several threads at once. Every access stays
// inside the memory of its buffer, whatever the program does: an access outside of it ends the run with an error.
// Detectors, chosen when compiling, look for more.
//
// Meaning of the parts that are not obvious:
//   * Parallel, vectorized and unrolled loops and blockIdx loops run their iterations in order.
//   * threadIdx and vthread loops start one thread per iteration; a loop nested in another starts threads in each of
//     them. The threads advance in turn, each up to its next barrier. A barrier that some threads of its block (or
//     warp: 32 threads consecutive in x, y, z order) never reach is an error. A loop inside another of the same tag
//     starts no threads: each thread takes its own index, with a barrier before and after.
//   * A block with init whose reduce iterators depend on threadIdx combines the values of the threads, which is no
//   race.
//   * Buffers in global memory belong to the thread that allocates them; those of a shared scope, to the block of
//     threads; of a warp scope or a fragment, to the warp. Of a buffer in a thread-owned scope ("register", "local")
//     each thread has its own, which begins as the code around the loop over threads left it.
//   * A buffer of a thread-owned scope that lies outside of a parallel or vectorized loop has a
//     copy of its own in each iteration; so has any other that is used inside of one parallel loop only
//     (ir/iteration_buffers.h). Reading what another iteration wrote is a race.
//   * Memory of blocks, warps and threads that is allocated outside of the loops over them is one for each of them too,
//     and parts of a program that share it are one kernel: who reads an element must stand where in the grid the last
//     write of it did (what stands in no loop over a tag, all indices of the tag run).
//   * New memory has no defined contents.
//   * Signed arithmetic in 32 and 64 bits that overflows is an error; narrower signed types and unsigned ones wrap.
//   * Select evaluates all operands; if_then_else only the value that is chosen, And and Or of scalars their second
//     operand only where the first does not decide.
//   * Numerics: docs/numerics.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/function.h"
#include "ir/ndarray.h"

namespace tilewright::interp {

// One lane of a value: integers and booleans in `i` (unsigned ones zero-extended), floats in `f`, memory in `p`.
union Scalar {
  int64_t i;
  double f;
  void* p;
};

// An argument of a call of a function outside of the program.
struct ExternArg {
  DataType dtype;                  // of the value; handle for pointers
  std::string text;                // of a string literal
  absl::Span<const Scalar> lanes;  // one per lane
};
// Computes `result` (as many lanes as its type has, none for void).
using ExternFunction =
    std::function<absl::Status(absl::Span<const ExternArg> args, DataType result_type, absl::Span<Scalar> result)>;

// A C function that takes scalars (up to 12 integers or pointers and 8 floats) and returns one or nothing.
ExternFunction NativeFunction(void* address);

struct Environment {
  // Functions of C and instructions of the machine by the name that is called: the first argument of call_extern and
  // call_llvm_pure_intrin, or the name of any other call.
  std::map<std::string, ExternFunction, std::less<>> externs;
  // A program that says what a call means, or null; asked for names that `externs` lacks. Pointer arguments become its
  // buffers (strides that are variables take those of the caller's buffer), others its scalars, in order.
  std::function<Function(std::string_view name)> find_function;
};

struct CompileOptions {
  bool check_bounds = false;         // indices inside the shape, block iterators inside their domains
  bool check_uninitialized = false;  // reads of memory that was never written
  bool check_races = false;          // between iterations of parallel, vectorized and thread-bound loops
  bool check_regions = false;        // accesses outside of the regions their blocks declare
  bool wrap_signed = false;          // signed overflow wraps
  bool values_unknown = false;       // values are not those of the program: that two are the same says nothing
  Environment environment;

  static CompileOptions AllChecks() {
    return {.check_bounds = true, .check_uninitialized = true, .check_races = true, .check_regions = true};
  }
};

// An argument: an array for a buffer, a number for a scalar. Shapes and strides that are variables take their values
// from the array. Strides that leave gaps are those of memory that the run makes (ir/strided_array.h). All else has to
// agree.
struct Argument {
  Argument(NDArray array) : array(std::move(array)) {}
  Argument(int64_t value) : integer(value), real(static_cast<double>(value)) {}
  Argument(int value) : Argument(static_cast<int64_t>(value)) {}
  Argument(double value) : integer(static_cast<int64_t>(value)), real(value) {}
  NDArray array;
  int64_t integer = 0;
  double real = 0;
  bool uninitialized = false;  // for check_uninitialized: the array's contents may not be read before they are written
};

struct RunOptions {
  uint64_t max_steps = uint64_t{1} << 40;  // loop iterations in all; more is an error (a `while` that hangs)
  int64_t max_memory = int64_t{8} << 30;   // bytes that the program allocates
};

namespace internal {
struct Code;
}

class Program {
 public:
  explicit Program(std::shared_ptr<const internal::Code> code) : code_(std::move(code)) {}
  // Errors: InvalidArgument (the arguments do not fit), OutOfRange (an access outside of a buffer, an iterator outside
  // of its domain, overflow), FailedPrecondition (an uninitialized read, an assertion, barrier divergence), Aborted (a
  // race), PermissionDenied (outside of declared regions), ResourceExhausted (steps, memory).
  absl::Status Run(absl::Span<const Argument> arguments, const RunOptions& options = {}) const;
  absl::Status Run(std::initializer_list<Argument> arguments, const RunOptions& options = {}) const {
    return Run(absl::MakeConstSpan(arguments.begin(), arguments.size()), options);
  }
  // Parameters of the function that was compiled.
  const std::vector<Param>& params() const;

 private:
  std::shared_ptr<const internal::Code> code_;
};

// Errors: InvalidArgument (an undefined variable or buffer), Unimplemented (a call of unknown meaning, arrive and
// wait).
absl::StatusOr<Program> Compile(const Function& function, const CompileOptions& options = {});

}  // namespace tilewright::interp
