#include "codegen/foreign/runtime.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/cuda/emulator/device/emulated.h"
#include "codegen/cuda/emulator/generic.h"
#include "codegen/foreign/device_print.h"
#include "codegen/foreign/ptx/atomics.h"
#include "codegen/foreign/ptx/program.h"

namespace tilewright::foreign {
namespace {

namespace emu = tw::emu;
using emulator::FaultKind;
using emulator::Space;

uint32_t current_place = 0;

void* AccessOf(void* pointer, uint64_t bytes, int flags, uint32_t place) {
  current_place = place;
  return emulator::Access(pointer, static_cast<uint32_t>(bytes), (flags & kWrites) != 0, (flags & kIsVolatile) != 0);
}

void* AccessRunOf(void* pointer, uint64_t bytes, uint32_t alignment, int flags, uint32_t place) {
  current_place = place;
  return emulator::AccessRun(pointer, bytes, alignment, (flags & kWrites) != 0);
}

void SetPlace(uint32_t place) { current_place = place; }

void TurnAt(uint32_t place) {
  if (place != 0) current_place = place;
  emulator::TurnOfLoop();
}

void DivisionAt(uint32_t place) {
  current_place = place;
  emulator::ReportHere(FaultKind::kTrap, "division", "a division of integers by zero, whose result is undefined");
}

void OutsideOfLocal(uint32_t place, int64_t offset, int64_t size) {
  current_place = place;
  emulator::ReportHere(FaultKind::kOutOfBounds, "access of a local variable",
                       "byte " + std::to_string(offset) + " of " + std::to_string(size) + "; the kernel ends here");
  emulator::EndKernel();
}

// The states of the registers of one variable, of 4 bytes each.
void UseSumAt(emu::AccumulatorState* states, uint64_t count, uint64_t offset, uint32_t place) {
  current_place = place;
  if (offset / 4 < count) emulator::UseSum(states[offset / 4]);
}
void TouchSumAt(emu::AccumulatorState* states, uint64_t count, uint64_t offset, uint64_t bytes, uint32_t place) {
  current_place = place;
  for (uint64_t i = offset / 4; i < count && i * 4 < offset + bytes; ++i) emulator::TouchSum(states[i]);
}

void RunPtx(const ptx::Program* program, uint64_t* operands) { program->Run(operands); }

// Special registers, in the order of our headers.
unsigned Register(int number) {
  const emu::View& view = *emu::view;
  const std::array<const emu::Index*, 4> all = {&view.thread, &view.block, &view.block_dim, &view.grid_dim};
  const emu::Index& index = *all[static_cast<size_t>(number / 3)];
  return number % 3 == 0 ? index.x : number % 3 == 1 ? index.y : index.z;
}

uint64_t AtomicOf(void* pointer, int type, int operation, uint64_t operand, uint64_t other) {
  const auto of = static_cast<AtomicType>(type);
  return AtomicAt(pointer, BytesOf(of), UpdateOf(of, static_cast<AtomicOperation>(operation)), operand, other);
}

uint64_t AtomicAddHalf(void* pointer, int bf16, uint64_t operand) {
  return AtomicAt(pointer, 2, bf16 != 0 ? &emu::AddPairsBf16 : &emu::AddPairsF16, operand, 0);
}

uint64_t ShuffleOf(int kind, unsigned mask, uint64_t value, int bytes, int lane, int width) {
  return emu::Shuffle(static_cast<emu::ShuffleKind>(kind), mask, value, static_cast<uint32_t>(bytes), lane, width);
}

unsigned ReduceOf(int kind, unsigned mask, unsigned value) {
  return emu::Reduce(static_cast<emu::ReduceKind>(kind), mask, value);
}

unsigned BallotOf(unsigned mask, int predicate) { return emu::Ballot(mask, predicate != 0); }
int BarrierReduceOf(int kind, int predicate) { return emu::BlockBarrierReduce(kind, predicate); }
void SyncWarpOf(unsigned mask) { emu::WarpBarrier(mask); }
void FenceOf(int device) { emu::Fence(device != 0); }
void ClusterBarrierOf(int arrive, int wait) {
  if (arrive != 0) emu::ClusterArrive(true);
  if (wait != 0) emu::ClusterWait();
}

uint64_t ToShared(const void* pointer) {
  const emulator::GenericPlace place = emulator::Resolve(pointer, 1);
  if (place.space == Space::kShared) return place.shared;
  if (place.space != Space::kNone) {
    emulator::ReportHere(FaultKind::kArguments, "__cvta_generic_to_shared",
                         "a pointer that is not into shared memory is taken for one that is");
  }
  return 0;
}
void* FromShared(uint64_t address) {
  return reinterpret_cast<void*>(emulator::GenericOfAddress(static_cast<uint32_t>(address)));
}
int IsShared(const void* pointer) { return emulator::SpaceOf(pointer) == Space::kShared; }
int IsGlobal(const void* pointer) { return emulator::SpaceOf(pointer) == Space::kGlobal; }
void* MapRank(const void* pointer, unsigned rank) {
  return FromShared(emu::MapShared(static_cast<uint32_t>(ToShared(pointer)), rank));
}

void Trap() {
  emulator::ReportHere(FaultKind::kTrap, "trap", "the kernel ends itself");
  emulator::EndKernel();
}
void AssertFail(const char* condition, const char* /*file*/, unsigned /*line*/, const char* /*function*/) {
  emulator::ReportHere(FaultKind::kTrap, "assert", std::string("the assertion ") + condition + " does not hold");
  emulator::EndKernel();
}

emu::WmmaShape ShapeOf(unsigned shape) {
  return {static_cast<emu::WmmaUse>(shape & 15), static_cast<emu::Type>(shape >> 4 & 15),
          static_cast<uint8_t>(shape >> 8), static_cast<uint8_t>(shape >> 16), static_cast<uint8_t>(shape >> 24)};
}

void WmmaLoadOf(void* fragment, const void* from, unsigned shape, unsigned stride, int row_major) {
  const emulator::GenericPlace place = emulator::Resolve(from, 4);
  const uint64_t at = place.space == Space::kShared ? place.shared : reinterpret_cast<uint64_t>(from);
  if (place.space != Space::kShared && place.space != Space::kGlobal) return;
  emu::WmmaLoad(ShapeOf(shape), static_cast<uint32_t*>(fragment), at, place.array, stride, row_major != 0);
}
void WmmaStoreOf(void* to, const void* fragment, unsigned shape, unsigned stride, int row_major) {
  const emulator::GenericPlace place = emulator::Resolve(to, 4);
  const uint64_t at = place.space == Space::kShared ? place.shared : reinterpret_cast<uint64_t>(to);
  if (place.space != Space::kShared && place.space != Space::kGlobal) return;
  emu::WmmaStore(ShapeOf(shape), static_cast<const uint32_t*>(fragment), at, place.array, stride, row_major != 0);
}
void WmmaMultiplyOf(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c, unsigned shape, int b_type,
                    int sum_type) {
  emu::WmmaMultiply(ShapeOf(shape), static_cast<emu::Type>(b_type), d, a, b, c, static_cast<emu::Type>(sum_type));
}

void CopyAsyncOf(void* to, const void* from, int bytes, int valid) {
  const emulator::GenericPlace place = emulator::Resolve(to, static_cast<uint32_t>(bytes));
  if (place.space != Space::kShared) {
    if (place.space != Space::kNone) {
      emulator::ReportHere(FaultKind::kArguments, "cp.async",
                           "the destination of an asynchronous copy is not in shared memory");
    }
    return;
  }
  emu::CopyAsync(place.shared, from, emulator::NearestArray(from), bytes, valid);
}

float HalfToFloat(int bf16, unsigned bits) {
  return bf16 != 0 ? emu::FromBf16(static_cast<uint16_t>(bits)) : emu::FromF16(static_cast<uint16_t>(bits));
}
unsigned FloatToHalf(int bf16, float value) { return bf16 != 0 ? emu::ToBf16(value) : emu::ToF16(value); }

uint64_t Time() {
  static uint64_t time = 0;
  return time += 16;
}

template <class Function>
RuntimeFunction Entry(const char* name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

constexpr std::string_view kMathFunctions =
    " acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 exp10 expm1 fabs fdim floor "
    "fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf "
    "nearbyint nextafter pow remainder rint round scalbn sin sincos sinh sqrt tan tanh tgamma trunc memcpy memset "
    "memmove ";

}  // namespace

const std::vector<RuntimeFunction>& RuntimeFunctions() {
  static const auto* const functions = new std::vector<RuntimeFunction>{
      Entry(kAccess, &AccessOf),
      Entry(kAccessRun, &AccessRunOf),
      Entry(kSetPlace, &SetPlace),
      Entry(kLetOthersRun, &emulator::LetOthersRun),
      Entry(kTurnOfLoop, &TurnAt),
      Entry(kDivisionByZero, &DivisionAt),
      Entry(kOutsideOfLocal, &OutsideOfLocal),
      Entry(kUseSum, &UseSumAt),
      Entry(kTouchSum, &TouchSumAt),
      Entry(kRunPtx, &RunPtx),
      Entry(kBlockBarrier, &emu::BlockBarrier),
      Entry(kTrap, &Trap),
      Entry("__tw_register", &Register),
      Entry("__tw_lane", &ptx::LaneOfThread),
      Entry("__tw_atomic", &AtomicOf),
      Entry("__tw_atomic_add_half", &AtomicAddHalf),
      Entry("__tw_shuffle", &ShuffleOf),
      Entry("__tw_reduce", &ReduceOf),
      Entry("__tw_ballot", &BallotOf),
      Entry("__tw_activemask", &emulator::ActiveLanes),
      Entry("__tw_syncthreads_vote", &BarrierReduceOf),
      Entry("__tw_syncwarp", &SyncWarpOf),
      Entry("__tw_fence", &FenceOf),
      Entry("__tw_cluster_barrier", &ClusterBarrierOf),
      Entry("__tw_cluster_rank", &emu::ClusterRank),
      Entry("__tw_cluster_size", &emu::ClusterSize),
      Entry("__tw_to_shared", &ToShared),
      Entry("__tw_from_shared", &FromShared),
      Entry("__tw_is_shared", &IsShared),
      Entry("__tw_is_global", &IsGlobal),
      Entry("__tw_map_rank", &MapRank),
      Entry("__tw_half_to_float", &HalfToFloat),
      Entry("__tw_float_to_half", &FloatToHalf),
      Entry("__tw_time", &Time),
      Entry("__tw_yield", &emulator::LetOthersRun),
      Entry("__tw_wmma_load", &WmmaLoadOf),
      Entry("__tw_wmma_store", &WmmaStoreOf),
      Entry("__tw_wmma_multiply", &WmmaMultiplyOf),
      Entry("__tw_round_to_tf32", &emu::RoundToTf32),
      Entry("__tw_copy_async", &CopyAsyncOf),
      Entry("__tw_copy_commit", &emu::CopyAsyncCommit),
      Entry("__tw_copy_wait", &emu::CopyAsyncWait),
      Entry("__assert_fail", &AssertFail),
      Entry("vprintf", &DevicePrint),
  };
  return *functions;
}

bool IsRuntimeFunction(const std::string& name) {
  const auto& functions = RuntimeFunctions();
  return std::any_of(functions.begin(), functions.end(), [&](const auto& f) { return f.name == name; });
}

bool IsMathFunction(const std::string& name) {
  const auto is_listed = [](std::string_view word) {
    return kMathFunctions.find(" " + std::string(word) + " ") != std::string_view::npos;
  };
  return is_listed(name) || (name.ends_with("f") && is_listed(std::string_view(name).substr(0, name.size() - 1)));
}

uint32_t* CurrentPlace() { return &current_place; }

}  // namespace tilewright::foreign
