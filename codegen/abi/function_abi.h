// How compiled functions are called: the C interface of every function that code generation exports.
//
// A compiled module exports, for each function NAME of the program,
//
//   int     NAME(const TwCall* call, TwTensor* const* args, int32_t num_args);
//   int64_t NAME_workspace_bytes(void);
//   int     NAME_unchecked(const TwCall* call, void* const* data, const int64_t* const* shapes);
//
// `args` has one tensor per parameter of the program, in its order; a scalar parameter is a tensor of rank 0. The
// function checks its arguments and either runs to its end and returns kTwOk, or returns another code without having
// touched the tensors (kTwErrorAssertion: after part of the work). Calls may run at the same time in several threads.
// NAME_unchecked is for callers that have proven what NAME checks, once for many calls: `data` points to the elements
// of each parameter (of a scalar, to its value), `shapes` to the extents of each tensor, which is compact. docs/abi.md
// has the whole contract.
#pragma once

#include <stdint.h>

#include "codegen/abi/parallel_hook.h"
#include "codegen/abi/tensor_abi.h"

// Goes up when something below changes for callers. A library has it as `const int32_t tw_abi_version`.
#define TW_ABI_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

// What a call gets besides its tensors. All fields may be zero, and the pointer to the whole may be null.
typedef struct TwCall {
  const TwParallelHook* parallel;  // Null: parallel loops run serially.
  void* workspace;                 // Memory for temporaries, 64-byte aligned; null: the call allocates what it needs.
  int64_t workspace_bytes;         // Less than NAME_workspace_bytes(): treated like a null workspace.
  char* message;                   // Receives a sentence when the call fails; null: no text.
  int64_t message_bytes;           // Room at `message`, the terminating zero included.
  void* stream;                    // A GPU's CUstream: the call returns once its work is in it. CPUs: not used.
} TwCall;

typedef enum TwError {
  kTwOk = 0,
  kTwErrorArgumentCount = 1,
  kTwErrorNullArgument = 2,
  kTwErrorDevice = 3,
  kTwErrorRank = 4,
  kTwErrorType = 5,
  kTwErrorShape = 6,
  kTwErrorStrides = 7,
  kTwErrorAlignment = 8,
  kTwErrorAliasing = 9,     // A tensor that is written overlaps another one.
  kTwErrorMemory = 10,      // Temporaries could not be allocated.
  kTwErrorAssertion = 11,   // An assertion of the program does not hold; part of the work may be done.
  kTwErrorPermission = 12,  // The operating system does not let the program use a part of the processor.
} TwError;

typedef int (*TwFunction)(const TwCall* call, TwTensor* const* args, int32_t num_args);
typedef int64_t (*TwWorkspaceBytes)(void);
typedef int (*TwUncheckedFunction)(const TwCall* call, void* const* data, const int64_t* const* shapes);

#ifdef __cplusplus
}
#endif
