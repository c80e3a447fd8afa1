// Functions that are compiled twice: for any processor, and on x86 for those with AVX2, FMA and F16C. The body is the
// same plain C++; only what the compiler may use differs. Internal to the emulator.
//
//   TW_EMULATOR_INLINE void AddLoop(float* to, const float* from, int n) { for ... }
//   TW_EMULATOR_DISPATCH(Add, AddLoop, (float* to, const float* from, int n), (to, from, n))
#pragma once

#define TW_EMULATOR_INLINE __attribute__((always_inline)) inline

#if defined(__x86_64__)
namespace tilewright::emulator {
inline bool HasAvx2() {
  static const bool has =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  return has;
}
}  // namespace tilewright::emulator
#define TW_EMULATOR_DISPATCH(name, body, parameters, arguments)                              \
  __attribute__((target("avx2,fma,f16c"))) void name##ForAvx2 parameters { body arguments; } \
  void name##Portable parameters { body arguments; }                                         \
  void name parameters {                                                                     \
    if (::tilewright::emulator::HasAvx2()) return name##ForAvx2 arguments;                   \
    name##Portable arguments;                                                                \
  }
#else
#define TW_EMULATOR_DISPATCH(name, body, parameters, arguments) \
  void name parameters { body arguments; }
#endif
