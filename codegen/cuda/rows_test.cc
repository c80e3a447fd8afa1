// Each row of the instruction table that a GPU executes: a product is scheduled
// for its intrinsics, emitted, and run in the emulator, which has to compute
// what the program, and so the intrinsic's description, says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/emulator/fragments.h"
#include "codegen/cuda/testing/scheduled_kernels.h"
#include "intrin/instructions.h"
#include "ir/data_type.h"
#include "ir/interp/interp.h"
#include "ir/ndarray.h"
#include "ir/script/parse_or_die.h"
#include "target/target.h"

namespace tilewright {
namespace {

using cuda::testing::Edits;
using cuda::testing::KernelText;
using cuda::testing::KernelTrial;
using cuda::testing::Replaced;
using cuda::testing::Scheduled;
using ::testing::HasSubstr;

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

std::string Text(std::string text, const Edits& edits) {
  for (const auto& [what, by] : edits) text = Replaced(text, what, by);
  return text;
}

// FACTOR_A, FACTOR_B: elements as the instruction takes them.
constexpr char kProduct[] = R"(
@T.prim_func
def main(A: T.Buffer((SIZE_M, SIZE_K), "TYPE_A"), B: T.Buffer((SIZE_N, SIZE_K), "TYPE_B"), C: T.Buffer((SIZE_M, SIZE_N), "TYPE_C")):
    for i, j, k in T.grid(SIZE_M, SIZE_N, SIZE_K):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.Cast("TYPE_C", 0)
            C[vi, vj] = C[vi, vj] + FACTOR_A * FACTOR_B
)";

std::string Factor(const MachineInstruction& row, const std::string& element) {
  if (row.a.format == "tf32") {
    return absl::StrCat("T.reinterpret(\"float32\", T.bitwise_and(T.reinterpret(\"uint32\", ", element,
                        "), T.uint32(4294959104)))");
  }
  return row.a.type == row.c.type ? element : absl::StrCat("T.Cast(\"", row.c.type.ToString(), "\", ", element, ")");
}
std::string Program(const MachineInstruction& row, int m, int n, int k) {
  return Text(kProduct, {{"SIZE_M", absl::StrCat(m)},
                         {"SIZE_N", absl::StrCat(n)},
                         {"SIZE_K", absl::StrCat(k)},
                         {"FACTOR_A", Factor(row, "A[vi, vk]")},
                         {"FACTOR_B", Factor(row, "B[vj, vk]")},
                         {"TYPE_A", row.a.type.ToString()},
                         {"TYPE_B", row.b.type.ToString()},
                         {"TYPE_C", row.c.type.ToString()}});
}

// A tile of 32 x 32 by a warp, operands in memory of the warp.
constexpr char kMma[] = R"(
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
i0, i1 = sch.split(i, factors=[None, 16])
j0, j1 = sch.split(j, factors=[None, 16])
k0, k1 = sch.split(k, factors=[None, DEPTH])
sch.reorder(i0, j0, k0, i1, j1, k1)
sch.bind(i0, "blockIdx.y")
sch.bind(j0, "blockIdx.x")
CW = sch.cache_write(C, 0, "warp")
sch.reverse_compute_at(CW, j0)
AS = sch.cache_read(C, 0, "shared")
BS = sch.cache_read(C, 1, "shared")
AW = sch.cache_read(C, 0, "warp")
BW = sch.cache_read(C, 1, "warp")
sch.compute_at(AW, k0)
sch.compute_at(BW, k0)
sch.compute_at(AS, k0)
sch.compute_at(BS, k0)
a = sch.fuse(sch.get_loops(AS)[-2], sch.get_loops(AS)[-1])
a0, a1 = sch.split(a, factors=[None, 32])
sch.bind(a1, "threadIdx.x")
b = sch.fuse(sch.get_loops(BS)[-2], sch.get_loops(BS)[-1])
b0, b1 = sch.split(b, factors=[None, 32])
sch.bind(b1, "threadIdx.x")
init = sch.decompose_reduction(C, k0)
sch.transform_layout(AW, ("write", 0), lambda i, j: (i // 16, j // DEPTH, 4 * (i % 8) + j % WIDE // RUN, 2 * RUN * (j % DEPTH // WIDE) + i % 16 // 8 * RUN + j % RUN))
sch.transform_layout(BW, ("write", 0), lambda i, j: (i // 16, j // DEPTH, 4 * (i % 8) + j % WIDE // RUN, 2 * RUN * (j % DEPTH // WIDE) + i % 16 // 8 * RUN + j % RUN))
sch.transform_layout(CW, ("read", 0), lambda i, j: (i // 16, j // 16, 4 * (i % 8) + j % 8 // 2, 4 * (j % 16 // 8) + i % 16 // 8 * 2 + j % 2))
sch.tensorize(sch.get_loops(init)[-2], "mma_fill_16x16_SUM")
sch.tensorize(sch.get_loops(AW)[-2], "mma_ldmatrix_IN_A_a")
sch.tensorize(sch.get_loops(BW)[-2], "mma_ldmatrix_IN_B_b_trans")
sch.tensorize(i1, "mma_IN_AIN_BSUM_trans_b")
sch.tensorize(sch.get_loops(CW)[-2], "mma_store_16x16_SUM_global_")
)";

// The same by fragments of 16 x 16.
constexpr char kWmma[] = R"(
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
i0, i1 = sch.split(i, factors=[None, 16])
j0, j1 = sch.split(j, factors=[None, 16])
k0, k1 = sch.split(k, factors=[None, 16])
sch.reorder(i0, j0, k0, i1, j1, k1)
sch.bind(i0, "blockIdx.y")
sch.bind(j0, "blockIdx.x")
CF = sch.cache_write(C, 0, "wmma.accumulator")
sch.reverse_compute_at(CF, j0)
AS = sch.cache_read(C, 0, "shared")
BS = sch.cache_read(C, 1, "shared")
AF = sch.cache_read(C, 0, "wmma.matrix_a")
BF = sch.cache_read(C, 1, "wmma.matrix_b")
sch.compute_at(AF, k0)
sch.compute_at(BF, k0)
sch.compute_at(AS, k0)
sch.compute_at(BS, k0)
a = sch.fuse(sch.get_loops(AS)[-2], sch.get_loops(AS)[-1])
a0, a1 = sch.split(a, factors=[None, 32])
sch.bind(a1, "threadIdx.x")
b = sch.fuse(sch.get_loops(BS)[-2], sch.get_loops(BS)[-1])
b0, b1 = sch.split(b, factors=[None, 32])
sch.bind(b1, "threadIdx.x")
init = sch.decompose_reduction(C, k0)
sch.tensorize(sch.get_loops(init)[-2], "wmma_fill_16x16x16_SUM")
sch.tensorize(sch.get_loops(AF)[-2], "wmma_load_16x16x16_IN_A_a_shared")
sch.tensorize(sch.get_loops(BF)[-2], "wmma_load_16x16x16_IN_B_b_trans_shared")
sch.tensorize(i1, "wmma_sync_16x16x16_IN_AIN_BSUM_trans")
sch.tensorize(sch.get_loops(CF)[-2], "wmma_store_16x16x16_SUM_global")
)";

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

// The types of a row: "f16", "f16", "f32" of "f16f16f32".
struct Types {
  std::string a, b, sum;
};
std::string NameOf(const InstructionOperand& operand) {
  if (!operand.format.empty()) return std::string(operand.format);
  const DataType type = operand.type;
  if (type.code() == TypeCode::kE4M3) return "e4m3";
  if (type.code() == TypeCode::kE5M2) return "e5m2";
  if (type == DataType::BFloat16()) return "bf16";
  return absl::StrCat(type.is_float() ? "f" : type.is_uint() ? "u" : "s", type.bits());
}
Types TypesOf(const MachineInstruction& row) { return {NameOf(row.a), NameOf(row.b), NameOf(row.c)}; }

struct Case {
  Function function;
  std::string call;  // in the emitted text
};
Case CaseOf(const MachineInstruction& row) {
  const auto [a, b, sum] = TypesOf(row);
  if (row.family == "dp4a") {
    return {Scheduled(Program(row, 32, 8, 16), Text(kDp4a, {{"TYPES", std::string(row.types)}})), "tw::dp4a"};
  }
  if (row.family == "wgmma") {
    return {Scheduled(Program(row, 128, 32, 3 * row.k), Text(kWgmma, {{"DEPTH", absl::StrCat(row.k)},
                                                                      {"CHUNK", absl::StrCat(128 / row.a.type.bits())},
                                                                      {"TYPES", std::string(row.types)},
                                                                      {"SUM", sum}})),
            "tw::wgmma<32"};
  }
  const std::string call =
      absl::StrCat("tw::mma_m16n8k", row.k, "_", sum, "_", a, a == b && row.a.type.bits() > 8 ? "" : b);
  if (row.suffix == "k16") {
    return {Scheduled(Program(row, 32, 32, 48), Text(kWmma, {{"IN_A", a}, {"IN_B", b}, {"SUM", sum}})), call};
  }
  // These intrinsics have TVM's names.
  const auto named = [](const std::string& type) { return type == "s8" ? "i8" : type == "s32" ? "i32" : type; };
  const int run = 32 / row.a.type.bits();
  return {Scheduled(Program(row, 32, 32, 3 * row.k), Text(kMma, {{"DEPTH", absl::StrCat(row.k)},
                                                                 {"WIDE", absl::StrCat(4 * run)},
                                                                 {"RUN", absl::StrCat(run)},
                                                                 {"IN_A", named(a)},
                                                                 {"IN_B", named(b)},
                                                                 {"SUM", named(sum)}})),
          call};
}

class Rows : public ::testing::TestWithParam<const MachineInstruction*> {};
TEST_P(Rows, ComputeWhatIsDescribed) {
  const MachineInstruction& row = *GetParam();
  const Case product = CaseOf(row);
  const char* target = row.family == "wgmma" ? "cuda-sm90a" : row.features[1] == "fp8" ? "cuda-sm89" : "cuda-sm80";
  ASSERT_TRUE(Executes(*NamedTarget(target), row));
  EXPECT_THAT(KernelText(product.function, target), HasSubstr(product.call));
  const auto trial = KernelTrial::Make(product.function, target);
  ASSERT_TRUE(trial.ok()) << trial.status();
  EXPECT_EQ(trial->Run(trial->program()), "");
  if (row.family != "mma") return;
  const auto found = MmaFunctions().find(product.call.substr(4));
  ASSERT_NE(found, MmaFunctions().end()) << product.call;
  EXPECT_EQ(found->second, row.ptx);
}

// A layout's place for element (x, y): its owner and the place there.
struct Place {
  int64_t owner, place;
};
class Places {
 public:
  Places(const std::string_view layout, int rows, int columns) : columns_(columns) {
    // "lambda i, k: (owner, place)"
    const size_t colon = layout.find(": ("), comma = layout.find(", ", colon);
    const std::string variables(layout.substr(7, colon - 7)), owner(layout.substr(colon + 3, comma - colon - 3)),
        place(layout.substr(comma + 2, layout.size() - comma - 3)), shape = absl::StrCat("(", rows, ", ", columns, ")");
    const Function function = ParseFunctionOrDie(
        absl::StrCat("@T.prim_func\ndef main(O: T.Buffer(", shape, ", \"int32\"), P: T.Buffer(", shape,
                     ", \"int32\")):\n    for ", variables, " in T.grid", shape, ":\n        O[", variables,
                     "] = ", owner, "\n        P[", variables, "] = ", place, "\n"));
    const auto program = interp::Compile(function);
    EXPECT_TRUE(program.ok()) << program.status();
    std::vector<interp::Argument> arguments = {interp::Argument(owners_ = NDArray(DataType::Int(32), {rows, columns})),
                                               interp::Argument(places_ = NDArray(DataType::Int(32), {rows, columns}))};
    EXPECT_TRUE(program->Run(arguments).ok());
  }
  Place Of(int row, int column) const {
    return {owners_.GetInt(row * columns_ + column), places_.GetInt(row * columns_ + column)};
  }

 private:
  int columns_;
  NDArray owners_, places_;
};

// Rows say which lane holds what as the emulator does, which agrees with
// devices (docs/h200.md).
TEST(RowsOfFragments, LanesHoldWhatTheEmulatorSays) {
  for (const MachineInstruction& row : Instructions()) {
    if (row.family != "mma" && row.family != "ldmatrix") continue;
    const int per = 32 / row.a.type.bits(), k = row.k;
    const Places a(row.family == "mma" ? row.a.layout : row.c.layout, 16, k);
    for (int lane = 0; lane < 32; ++lane) {
      for (int e = 0; e < 16 * k / 32; ++e) {
        const int at = emulator::OffsetOfA(lane, e / per, 16, k, per) + e % per;
        EXPECT_EQ(a.Of(at / k, at % k).owner, lane) << row.name << " " << row.types;
        EXPECT_EQ(a.Of(at / k, at % k).place, e) << row.name << " " << row.types;
      }
    }
    if (row.family != "mma") continue;
    const Places b(row.b.layout, k, row.n), c(row.c.layout, row.m, row.n);
    for (int lane = 0; lane < 32; ++lane) {
      for (int e = 0; e < k * row.n / 32; ++e) {
        const int at = emulator::OffsetOfB(lane, e / per, k, per) + e % per;
        EXPECT_EQ(b.Of(at % k, at / k).owner, lane) << row.types;
        EXPECT_EQ(b.Of(at % k, at / k).place, e) << row.types;
      }
      for (int e = 0; e < 4; ++e) {
        const int at = emulator::OffsetOfD(lane, e / 2, row.n) + e % 2;
        EXPECT_EQ(c.Of(at / row.n, at % row.n).owner, lane) << row.types;
        EXPECT_EQ(c.Of(at / row.n, at % row.n).place, e) << row.types;
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
