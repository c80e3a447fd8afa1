#include "codegen/lower/gpu/testing/tensor_core_products.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/check.h"

namespace tilewright::testing {
namespace {

// FACTOR_A, FACTOR_B: elements as the instruction takes them.
constexpr char kProduct[] = R"(
@T.prim_func
def main(A: T.Buffer((SHAPE_A), "TYPE_A"), B: T.Buffer((SHAPE_B), "TYPE_B"), C: T.Buffer((SIZE_M, SIZE_N), "TYPE_C")):
    for i, j, k in T.grid(SIZE_M, SIZE_N, SIZE_K):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.Cast("TYPE_C", 0)
            C[vi, vj] = C[vi, vj] + FACTOR_A * FACTOR_B
)";

// Blocks, warps and the copies into shared memory. CF, AF and BF are what the intrinsics multiply.
constexpr char kTiles[] = R"(
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
i0, i1, i2, i3 = sch.split(i, factors=[None, 2, 2, 16])
j0, j1, j2, j3 = sch.split(j, factors=[None, 2, 32 // COLUMNS, COLUMNS])
k0, k1, k2 = sch.split(k, factors=[None, 1, DEPTH])
sch.reorder(i0, j0, i1, j1, k0, k1, i2, j2, i3, j3, k2)
sch.bind(i0, "blockIdx.y")
sch.bind(j0, "blockIdx.x")
sch.bind(i1, "threadIdx.y")
sch.bind(j1, "threadIdx.z")
STAGED_SUMSCF = sch.cache_write(C, 0, "SCOPE_C")
sch.reverse_compute_at(CF, j1)
AS = sch.cache_read(C, 0, "PLACE")
BS = sch.cache_read(C, 1, "PLACE")
AF = sch.cache_read(C, 0, "SCOPE_A")
BF = sch.cache_read(C, 1, "SCOPE_B")
sch.compute_at(AF, k1)
sch.compute_at(BF, k1)
sch.compute_at(AS, k0)
sch.compute_at(BS, k0)
a = sch.fuse(sch.get_loops(AS)[-2], sch.get_loops(AS)[-1])
a0, a1, a2, a3, a4 = sch.split(a, factors=[None, 2, 2, 32, 4])
sch.bind(a1, "threadIdx.y")
sch.bind(a2, "threadIdx.z")
sch.bind(a3, "threadIdx.x")
sch.vectorize(a4)
sch.storage_align(AS, 0, -2, ROW_STEP, ROW_OFFSET)
b = sch.fuse(sch.get_loops(BS)[-2], sch.get_loops(BS)[-1])
b0, b1, b2, b3, b4 = sch.split(b, factors=[None, 2, 2, 32, 4])
sch.bind(b1, "threadIdx.y")
sch.bind(b2, "threadIdx.z")
sch.bind(b3, "threadIdx.x")
sch.vectorize(b4)
PIPELINEinit = sch.decompose_reduction(C, k0)
)";

// Dynamic shared memory that the fragments of a block go through, since they have no store to global memory.
constexpr char kStagedSums[] = R"(CS = sch.cache_write(C, 0, "shared.dyn")
sch.reverse_compute_at(CS, j0)
c0, c1, c2, c3 = sch.split(sch.fuse(sch.get_loops(CS)[-2], sch.get_loops(CS)[-1]), factors=[None, 2, 2, 32])
sch.bind(c1, "threadIdx.y")
sch.bind(c2, "threadIdx.z")
sch.bind(c3, "threadIdx.x")
)";

// A copy of 32 rows or columns, tile by tile.
constexpr char kTensorizedCopy[] = R"(
x0, x1 = sch.split(sch.get_loops(BLOCK)[-2], factors=[None, TALL])
y0, y1 = sch.split(sch.get_loops(BLOCK)[-1], factors=[None, WIDE])
sch.reorder(x0, y0, x1, y1)
sch.tensorize(x1, "NAME")
)";

std::string Factor(const InstructionOperand& operand, DataType sum, const std::string& element) {
  if (operand.format == "tf32") {
    return absl::StrCat("T.reinterpret(\"float32\", T.bitwise_and(T.reinterpret(\"uint32\", ", element,
                        "), T.uint32(4294959104)))");
  }
  return operand.type == sum ? element : absl::StrCat("T.Cast(\"", sum.ToString(), "\", ", element, ")");
}

// "f16", "e4m3", ...
std::string NameOf(const InstructionOperand& operand) {
  if (!operand.format.empty()) return std::string(operand.format);
  const DataType type = operand.type;
  if (type.code() == TypeCode::kE4M3) return "e4m3";
  if (type.code() == TypeCode::kE5M2) return "e5m2";
  if (type == DataType::BFloat16()) return "bf16";
  return absl::StrCat(type.is_float() ? "f" : type.is_uint() ? "u" : "s", type.bits());
}
// The intrinsics mma_... call "i8" what the table calls "s8".
std::string MmaNameOf(const InstructionOperand& operand) {
  const std::string name = NameOf(operand);
  return name[0] == 's' ? absl::StrCat("i", name.substr(1)) : name;
}

std::string TensorizedCopy(absl::string_view block, int tall, int wide, const std::string& name) {
  return absl::StrReplaceAll(
      kTensorizedCopy, {{"BLOCK", block}, {"TALL", absl::StrCat(tall)}, {"WIDE", absl::StrCat(wide)}, {"NAME", name}});
}
std::string Tensorized(const std::string& loop, const std::string& name) {
  return absl::StrCat("sch.tensorize(", loop, ", \"", name, "\")\n");
}
constexpr char kInit[] = "sch.get_loops(init)[-2]";

// `scopes`: of A, B and C as the intrinsics take them.
std::string Tiles(const TensorCoreProduct& product, std::array<std::string, 3> scopes, int columns, int depth) {
  // Elements in the 16 bytes that ldmatrix loads at once, to whose multiples rows are padded.
  const int chunk = 128 / product.row->a.type.bits();
  return absl::StrReplaceAll(kTiles, {{"32 // COLUMNS", absl::StrCat(32 / columns)},
                                      {"COLUMNS", absl::StrCat(columns)},
                                      {"DEPTH", absl::StrCat(depth)},
                                      {"ROW_STEP", absl::StrCat(2 * chunk)},
                                      {"ROW_OFFSET", absl::StrCat(chunk)},
                                      {"SCOPE_A", scopes[0]},
                                      {"SCOPE_B", scopes[1]},
                                      {"SCOPE_C", scopes[2]},
                                      {"PLACE", product.scope},
                                      {"STAGED_SUMS", columns == 8 ? kStagedSums : ""},
                                      {"PIPELINE", product.pipeline}});
}

}  // namespace

std::string ProgramOf(const TensorCoreProduct& product, int m, int n, int k) {
  const MachineInstruction& row = *product.row;
  const auto shape = [](bool by_columns, int rows, int columns) {
    return by_columns ? absl::StrCat(columns, ", ", rows) : absl::StrCat(rows, ", ", columns);
  };
  return absl::StrReplaceAll(
      kProduct, {{"SIZE_M", absl::StrCat(m)},
                 {"SIZE_N", absl::StrCat(n)},
                 {"SIZE_K", absl::StrCat(k)},
                 {"SHAPE_A", shape(product.a_by_columns, m, k)},
                 {"SHAPE_B", shape(product.b_by_columns, k, n)},
                 {"TYPE_A", row.a.type.ToString()},
                 {"TYPE_B", row.b.type.ToString()},
                 {"TYPE_C", row.c.type.ToString()},
                 {"FACTOR_A", Factor(row.a, row.c.type, product.a_by_columns ? "A[vk, vi]" : "A[vi, vk]")},
                 {"FACTOR_B", Factor(row.b, row.c.type, product.b_by_columns ? "B[vj, vk]" : "B[vk, vj]")}});
}

std::string WmmaSchedule(const TensorCoreProduct& product) {
  const MachineInstruction& row = *product.row;
  const std::string a = NameOf(row.a), b = NameOf(row.b), sum = NameOf(row.c), tile = "16x16x16_",
                    place = absl::StrReplaceAll(product.scope, {{".", "_"}});
  const auto load = [&](absl::string_view block, const std::string& type, const char* operand, bool by_columns) {
    return TensorizedCopy(block, 16, 16,
                          absl::StrCat("wmma_load_", tile, type, "_", operand, by_columns ? "_trans_" : "_", place));
  };
  return absl::StrCat(
      Tiles(product, {"wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator"}, 16, 16),
      Tensorized(kInit, absl::StrCat("wmma_fill_", tile, sum)), load("AF", a, "a", product.a_by_columns),
      load("BF", b, "b", product.b_by_columns),
      Tensorized("i3", absl::StrCat("wmma_sync_", tile, a, b, sum, product.a_by_columns ? "_trans_a" : "",
                                    product.b_by_columns ? "_trans" : "")),
      TensorizedCopy("CF", 16, 16, absl::StrCat("wmma_store_", tile, sum, "_global")));
}

std::string MmaSchedule(const TensorCoreProduct& product) {
  const MachineInstruction& row = *product.row;
  TW_CHECK(!product.a_by_columns || row.a.type.bits() == 16);
  const std::string a = MmaNameOf(row.a), b = MmaNameOf(row.b), sum = MmaNameOf(row.c),
                    dynamic = product.scope == "shared.dyn" ? "_dyn" : "";
  const int run = 32 / row.a.type.bits(), k = row.k;
  // Lanes and positions of an operand whose rows or columns are `line`: those of a tile that ldmatrix brings, and those
  // of a B that it cannot transpose.
  const auto place = [&](const char* line, const char* depth, bool by_lanes) {
    return absl::StrReplaceAll(by_lanes ? "4 * (LINE % 8) + DEPTH % WIDE // RUN, 2 * RUN * (LINE % 16 // 8) + "
                                          "DEPTH % TILE // WIDE * RUN + DEPTH % RUN"
                                        : "4 * (LINE % 8) + DEPTH % WIDE // RUN, 2 * RUN * (DEPTH % TILE // WIDE) + "
                                          "LINE % 16 // 8 * RUN + DEPTH % RUN",
                               {{"LINE", line},
                                {"DEPTH", depth},
                                {"TILE", absl::StrCat(k)},
                                {"WIDE", absl::StrCat(4 * run)},
                                {"RUN", absl::StrCat(run)}});
  };
  const auto layout = [](absl::string_view block, absl::string_view side, absl::string_view tiles,
                         const std::string& lanes) {
    return absl::StrCat("sch.transform_layout(", block, ", (\"", side, "\", 0), lambda i, j: (", tiles, ", ", lanes,
                        "))\n");
  };
  // By rows of lines, or by rows of depth.
  const auto tiles = [&](bool by_depth) {
    return by_depth ? absl::StrCat("i // ", k, ", j // 16") : absl::StrCat("i // 16, j // ", k);
  };
  const auto load = [&](absl::string_view block, bool by_depth, const std::string& name) {
    return TensorizedCopy(block, by_depth ? k : 16, by_depth ? 16 : k, absl::StrCat("mma_ldmatrix_", name, dynamic));
  };
  const bool b_by_depth = !product.b_by_columns, by_lanes = b_by_depth && run != 2;
  return absl::StrCat(
      Tiles(product, {"warp", "warp", "warp"}, 16, k),
      layout("AF", "write", tiles(product.a_by_columns), place("i", "j", false)),
      layout("BF", "write", tiles(b_by_depth), by_lanes ? place("j", "i", true) : place("i", "j", false)),
      layout("CF", "read", "i // 16, j // 16", "4 * (i % 8) + j % 8 // 2, 4 * (j % 16 // 8) + i % 16 // 8 * 2 + j % 2"),
      Tensorized(kInit, absl::StrCat("mma_fill_16x16_", sum)),
      load("AF", product.a_by_columns, absl::StrCat(a, product.a_by_columns ? "_a_trans" : "_a")),
      load("BF", b_by_depth, absl::StrCat(b, b_by_depth ? "_b" : "_b_trans")),
      Tensorized("i3", absl::StrCat("mma_", a, b, sum, product.a_by_columns ? "_trans_a" : "",
                                    product.b_by_columns ? "_trans_b" : "")),
      TensorizedCopy("CF", 16, 16, absl::StrCat("mma_store_16x16_", sum, "_global_")));
}

std::string M16n8k8Schedule(const TensorCoreProduct& product) {
  TW_CHECK(!product.a_by_columns && !product.b_by_columns && product.scope == "shared.dyn");
  const MachineInstruction& row = *product.row;
  const std::string a = NameOf(row.a), b = NameOf(row.b), sum = NameOf(row.c), tile = "m16n8k8_";
  return absl::StrCat(Tiles(product, {"m16n8k8.matrixA", "m16n8k8.matrixB", "m16n8k8.matrixC"}, 8, 8),
                      Tensorized(kInit, absl::StrCat("mma_init_", tile, sum)),
                      TensorizedCopy("AF", 32, 8, absl::StrCat("mma_load_", tile, a, "_A_shared_dyn")),
                      TensorizedCopy("BF", 8, 32, absl::StrCat("mma_load_", tile, b, "_B_shared_dyn")),
                      Tensorized("i3", absl::StrCat("mma_sync_", tile, a, b, sum)),
                      TensorizedCopy("CF", 16, 8, absl::StrCat("mma_store_", tile, sum, "_global")));
}

}  // namespace tilewright::testing
