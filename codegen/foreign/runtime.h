// What the code of a kernel calls: functions by name, for the linker of the code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/cuda/emulator/generic.h"
#include "codegen/foreign/ptx/program.h"

namespace tilewright::foreign {

inline constexpr char kAccess[] = "tw_foreign_access";            // void*(void*, i64 bytes, i32 flags, i32 place)
inline constexpr char kAccessRun[] = "tw_foreign_access_run";     // void*(void*, i64, i32 alignment, i32, i32)
inline constexpr char kLetOthersRun[] = "tw_foreign_yield";       // void()
inline constexpr char kTurnOfLoop[] = "tw_foreign_turn";          // void(i32 place)
inline constexpr char kDivisionByZero[] = "tw_foreign_division";  // void(i32 place)
inline constexpr char kOutsideOfLocal[] = "tw_foreign_local";     // void(i32 place, i64 offset, i64 size)
inline constexpr char kUseSum[] = "tw_foreign_use_sum";           // void(states, i64 count, i64 offset, i32 place)
inline constexpr char kTouchSum[] =
    "tw_foreign_touch_sum";                              // void(states, i64 count, i64 offset, i64 bytes, i32 place)
inline constexpr char kSetPlace[] = "tw_foreign_place";  // void(i32 place)
inline constexpr char kRunPtx[] = "tw_foreign_ptx";      // void(const Program*, i64* operands)
inline constexpr char kBlockBarrier[] = "__tw_syncthreads";  // void()
inline constexpr char kTrap[] = "__tw_trap";                 // void()

// Flags of an access.
inline constexpr int kWrites = 1, kIsVolatile = 2;

struct RuntimeFunction {
  std::string name;
  void* address;
};
// Those above and the ones that our headers declare; functions of mathematics are those of the C library.
const std::vector<RuntimeFunction>& RuntimeFunctions();
bool IsRuntimeFunction(const std::string& name);
// Functions of the C library that kernels may call: "expf".
bool IsMathFunction(const std::string& name);

// The number of the place of the instruction that runs; the code writes it before it calls.
uint32_t* CurrentPlace();

}  // namespace tilewright::foreign
