// Each row of the instruction table that a GPU executes: a product is scheduled
// for its intrinsics, emitted, and run in the emulator, which has to compute
// what the program, and so the intrinsic's description, says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/cuda/emit_program.h"
#include "codegen/cuda/emulator/fragments.h"
#include "codegen/cuda/testing/scheduled_kernels.h"
#include "codegen/lower/gpu/testing/tensor_core_products.h"
#include "intrin/instructions.h"
#include "intrin/operand_layout.h"
#include "ir/data_type.h"
#include "target/target.h"

namespace tilewright {
namespace {

using cuda::testing::KernelText;
using cuda::testing::KernelTrial;
using cuda::testing::Scheduled;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::M16n8k8Schedule;
using testing::MmaSchedule;
using ::testing::Not;
using testing::ProgramOf;
using testing::TensorCoreProduct;
using testing::WmmaSchedule;

// The function of the device's text that each line of mma.inc defines, and its
// instruction.
const std::map<std::string, std::string>& MmaFunctions() {
  static const auto* functions = new std::map<std::string, std::string>{
#define TW_MMA(name, ptx, ...) {"mma_" #name, "mma.sync.aligned." ptx},
#include "codegen/cuda/emulator/device/mma.inc"
#undef TW_MMA
  };
  return *functions;
}

// A warpgroup multiplies what its threads copied to where the swizzle puts it.
constexpr char kWgmma[] = R"(
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
i0, i1 = sch.split(i, factors=[None, 64])
k0, k1 = sch.split(k, factors=[None, DEPTH])
sch.reorder(i0, k0, i1, j, k1)
sch.bind(i0, "blockIdx.x")
CF = sch.cache_write(C, 0, "wgmma.accumulator")
sch.reverse_compute_at(CF, i0)
AS = sch.cache_read(C, 0, "shared.dyn")
BS = sch.cache_read(C, 1, "shared.dyn")
sch.compute_at(AS, k0)
sch.compute_at(BS, k0)
a = sch.fuse(sch.get_loops(AS)[-2], sch.get_loops(AS)[-1])
a0, a1, a2 = sch.split(a, factors=[None, 128, CHUNK])
sch.bind(a1, "threadIdx.x")
sch.vectorize(a2)
b = sch.fuse(sch.get_loops(BS)[-2], sch.get_loops(BS)[-1])
b0, b1, b2 = sch.split(b, factors=[None, 128, CHUNK])
sch.bind(b1, "threadIdx.x")
sch.vectorize(b2)
sch.set_layout(AS, 0, "swizzle_32B")
sch.set_layout(BS, 0, "swizzle_32B")
init = sch.decompose_reduction(C, k0)
sch.tensorize(sch.get_loops(init)[-2], "wgmma_fill_64x32_SUM")
sch.tensorize(i1, "wgmma_sync_64x32xDEPTH_TYPES_trans_dyn")
sch.tensorize(sch.get_loops(CF)[-2], "wgmma_store_64x32_SUM_global")
)";

constexpr char kDp4a[] = R"(
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
k0, k1 = sch.split(k, factors=[None, 4])
i0, i1 = sch.split(i, factors=[None, 16])
sch.bind(i0, "blockIdx.x")
sch.bind(i1, "threadIdx.x")
CL = sch.cache_write(C, 0, "local")
sch.reverse_compute_at(CL, j)
AS = sch.cache_read(C, 0, "shared")
BS = sch.cache_read(C, 1, "shared")
sch.compute_at(AS, i0)
sch.compute_at(BS, i0)
a0, a1 = sch.split(sch.fuse(sch.get_loops(AS)[-2], sch.get_loops(AS)[-1]), factors=[None, 16])
sch.bind(a1, "threadIdx.x")
b0, b1 = sch.split(sch.fuse(sch.get_loops(BS)[-2], sch.get_loops(BS)[-1]), factors=[None, 16])
sch.bind(b1, "threadIdx.x")
init = sch.decompose_reduction(C, k0)
sch.tensorize(k1, "dp4a_TYPES")
)";

std::string Kernel(const char* schedule, const MachineInstruction& row) {
  const DataType sum = row.c.type;
  return absl::StrReplaceAll(schedule, {{"DEPTH", absl::StrCat(row.k)},
                                        {"CHUNK", absl::StrCat(128 / row.a.type.bits())},
                                        {"TYPES", std::string(row.types)},
                                        {"SUM", absl::StrCat(sum.is_float() ? "f" : "s", sum.bits())}});
}

struct Case {
  Function function;
  std::string call;  // in the emitted text
};
// The product as a kernel, by a schedule for tensor cores, or by that of its family.
Case CaseOf(const TensorCoreProduct& product, const std::string& schedule) {
  const MachineInstruction& row = *product.row;
  if (row.family == "dp4a") return {Scheduled(ProgramOf(product, 32, 8, 16), Kernel(kDp4a, row)), "tw::dp4a"};
  if (row.family == "wgmma") {
    return {Scheduled(ProgramOf(product, 128, 32, 3 * row.k), Kernel(kWgmma, row)), "tw::wgmma<32"};
  }
  // The name of the function has equal types of more than a byte once.
  std::string_view types = row.types;
  const std::string sum(types.substr(types.size() - 3));
  types.remove_suffix(3);
  if (row.a.type.bits() > 8) types.remove_suffix(types.size() / 2);
  return {Scheduled(ProgramOf(product), schedule),
          absl::StrCat("tw::mma_m16n8k", row.k, "_", sum, "_", std::string(types))};
}

class Rows : public ::testing::TestWithParam<const MachineInstruction*> {};
void Check(const TensorCoreProduct& product, const std::string& schedule = "") {
  const MachineInstruction& row = *product.row;
  const Case kernel = CaseOf(product, schedule);
  const char* target = row.family == "wgmma" ? "cuda-sm90a" : row.features[1] == "fp8" ? "cuda-sm89" : "cuda-sm80";
  ASSERT_TRUE(Executes(*NamedTarget(target), row));
  EXPECT_THAT(KernelText(kernel.function, target), HasSubstr(kernel.call));
  const auto trial = KernelTrial::Make(kernel.function, target);
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_EQ(trial->Run(trial->program()), "");
  if (row.family != "mma") return;
  const auto found = MmaFunctions().find(kernel.call.substr(4));
  ASSERT_NE(found, MmaFunctions().end()) << kernel.call;
  EXPECT_EQ(found->second, row.ptx);
}
TEST_P(Rows, ComputeWhatIsDescribed) {
  const MachineInstruction& row = *GetParam();
  if (row.family != "mma") return Check({&row, false, true});
  if (row.suffix == "k8") {
    const TensorCoreProduct product = {&row, false, false, "shared.dyn"};
    return Check(product, M16n8k8Schedule(product));
  }
  for (const bool b_by_columns : {false, true}) {
    for (const bool a_by_columns : {false, true}) {
      const TensorCoreProduct product = {&row, a_by_columns, b_by_columns};
      if (row.k == 16) Check(product, WmmaSchedule(product));
      if (row.suffix.empty() && (!a_by_columns || row.a.type.bits() == 16)) Check(product, MmaSchedule(product));
    }
  }
}

// Loops over fragments are unrolled in any case, those over the steps that operands are loaded at only where registers
// suffice (cuda_backend.cc).
TEST(Unrolling, OfAddressesIsLeftOut) {
  const TensorCoreProduct product = {InstructionNamed("mma", "f16f16f32"), false, false};
  std::string schedule = absl::StrReplaceAll(WmmaSchedule(product), {{"[None, 1, 16]", "[None, 2, 16]"}});
  const Function kernel = Scheduled(ProgramOf(product), schedule);
  const std::string text = KernelText(kernel, "cuda-sm80");
  EXPECT_THAT(text, HasSubstr("#pragma unroll  // addresses\n  "));
  const std::string shorter = KernelText(kernel, "cuda-sm80", {.unroll_addresses = false});
  EXPECT_THAT(shorter, HasSubstr("#pragma unroll\n"));
  EXPECT_THAT(shorter, Not(HasSubstr("// addresses")));
  std::string removed = text;
  for (size_t at; (at = removed.find("#pragma unroll  // addresses\n")) != removed.npos;) {
    const size_t line = removed.rfind('\n', at) + 1;
    removed.erase(line, removed.find('\n', at) + 1 - line);
  }
  EXPECT_EQ(shorter, removed);
}

// Rows say which lane holds what as the emulator does, which agrees with
// devices (docs/h200.md).
TEST(RowsOfFragments, LanesHoldWhatTheEmulatorSays) {
  for (const MachineInstruction& row : Instructions()) {
    if (row.family != "mma" && row.family != "ldmatrix" && row.family != "stmatrix") continue;
    const int per = 32 / row.a.type.bits(), k = row.k;
    const auto elements_of = [](const InstructionOperand& operand, int rows, int columns) {
      return LayoutOf(operand, rows, columns).Inverse();
    };
    const TileLayout a = elements_of(row.family == "ldmatrix" ? row.c : row.a, 16, k);
    for (int lane = 0; lane < 32; ++lane) {
      for (int e = 0; e < 16 * k / 32; ++e) {
        const int at = emulator::OffsetOfA(lane, e / per, 16, k, per) + e % per;
        EXPECT_THAT(a.At({lane, e}), ElementsAre(at / k, at % k)) << row.name << " " << row.types;
      }
    }
    if (row.family != "mma") continue;
    const TileLayout b = elements_of(row.b, k, row.n), c = elements_of(row.c, row.m, row.n);
    for (int lane = 0; lane < 32; ++lane) {
      for (int e = 0; e < k * row.n / 32; ++e) {
        const int at = emulator::OffsetOfB(lane, e / per, k, per) + e % per;
        EXPECT_THAT(b.At({lane, e}), ElementsAre(at % k, at / k)) << row.types;
      }
      for (int e = 0; e < 4; ++e) {
        const int at = emulator::OffsetOfD(lane, e / 2, row.n) + e % 2;
        EXPECT_THAT(c.At({lane, e}), ElementsAre(at / row.n, at % row.n)) << row.types;
      }
    }
  }
}

// A warpgroup's sums are those of its four warps, one below the other.
TEST(RowsOfFragments, WarpgroupsHoldWhatTheEmulatorSays) {
  for (const int n : {8, 24, 256}) {
    const TileLayout elements = LayoutOfSums("wgmma", n).Inverse();
    for (int lane = 0; lane < 128; ++lane) {
      for (int e = 0; e < n / 2; ++e) {
        const int at = emulator::OffsetOfD(lane % 32, e / 2 % 2, n) + e / 4 * 8 + e % 2;
        EXPECT_THAT(elements.At({lane, e}), ElementsAre(lane / 32 * 16 + at / n, at % n)) << n;
      }
    }
  }
}

std::vector<const MachineInstruction*> RowsOfGpus() {
  std::vector<const MachineInstruction*> rows;
  for (const MachineInstruction& row : Instructions()) {
    // Tiles come to mma.sync by ldmatrix.
    if (row.family == "mma" || row.family == "wgmma" || row.family == "dp4a") rows.push_back(&row);
  }
  return rows;
}
INSTANTIATE_TEST_SUITE_P(All, Rows, ::testing::ValuesIn(RowsOfGpus()), [](const auto& info) {
  return absl::StrCat(std::string(info.param->family), "_", std::string(info.param->types),
                      std::string(info.param->suffix));
});

}  // namespace
}  // namespace tilewright
