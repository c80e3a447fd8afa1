#include "intrin/cuda/mma_sync.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "intrin/cuda/warp_intrin.h"
#include "intrin/instructions.h"
#include "intrin/operand_layout.h"

namespace tilewright {
namespace {

constexpr absl::string_view kPrefix = "mma_";

// Types as these intrinsics name them, and as rows of the instruction table do.
constexpr std::pair<absl::string_view, absl::string_view> kTypes[] = {
    {"f16", "f16"},   {"bf16", "bf16"}, {"i8", "s8"},   {"u8", "u8"},  {"e4m3", "e4m3"},
    {"e5m2", "e5m2"}, {"tf32", "tf32"}, {"f32", "f32"}, {"i32", "s32"}};

// A row whose types are those of the name: "f16f16f32"; of a load: "f16".
const MachineInstruction* RowNamed(absl::string_view family, absl::string_view name) {
  std::string types;
  while (!name.empty()) {
    const auto* found =
        std::ranges::find_if(kTypes, [&](const auto& type) { return absl::ConsumePrefix(&name, type.first); });
    if (found == std::end(kTypes)) return nullptr;
    absl::StrAppend(&types, found->second);
  }
  return InstructionNamed({family.data(), family.size()}, types);
}

// The type of sums, of which there are fills and stores.
std::optional<DataType> SumNamed(absl::string_view name) {
  if (name == "f32") return DataType::Float(32);
  if (name == "f16") return DataType::Float(16);
  return name == "i32" ? std::optional(DataType::Int(32)) : std::nullopt;
}

// Tiles of B that are stored by their rows and not of 16 bits: ldmatrix cannot load them, so that lane and register are
// those of mma.sync. All others lie as ldmatrix brings them.
TileLayout LayoutOfTile(bool by_instruction, const MachineInstruction& row) {
  return LayoutOfFragment(by_instruction ? FragmentOperand::kA : FragmentOperand::kB, row.a.type.bits(), row.k);
}

constexpr absl::string_view kLoad = R"(
@T.prim_func
def desc(w: T.handle, s: T.handle):
    warp = T.match_buffer(w, (32, ELEMENTS), "TYPE", align=64, offset_factor=FACTOR, scope="warp")
    shared = T.match_buffer(s, (TALL, WIDE), "TYPE", align=64, offset_factor=STEP, scope="SCOPE")
    with T.block("root"):
        T.reads(shared[0:TALL, 0:WIDE])
        T.writes(warp[0:32, 0:ELEMENTS])
        for ax0, ax1 in T.grid(TALL, WIDE):
            with T.block("tile"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(shared[v0, v1])
                T.writes(warp[PLACE])
                warp[PLACE] = shared[v0, v1]

@T.prim_func
def impl(w: T.handle, s: T.handle):
    s0 = T.int32()
    warp = T.match_buffer(w, (32, ELEMENTS), "TYPE", align=64, offset_factor=FACTOR, scope="warp")
    shared = T.match_buffer(s, (TALL, WIDE), "TYPE", align=64, offset_factor=STEP, scope="SCOPE", strides=[s0, 1])
    with T.block("root"):
        T.reads(shared[0:TALL, 0:WIDE])
        T.writes(warp[0:32, 0:ELEMENTS])
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.attr(0, HOW):
                for e in range(ELEMENTS):
                    warp[tx, e] = shared[ROW, COLUMN]
)";

// What takes the place of HOW: an instruction, or that lanes load their registers.
constexpr absl::string_view kLdMatrix =
    R"("cuda.instruction", T.cuda.ldmatrix_x4TRANSPOSED(T.tvm_access_ptr(T.type_annotation("uint32"), warp.data, warp.elem_offset // TILE * 4, 4, 2), T.tvm_access_ptr(T.type_annotation("TYPE"), shared.data, shared.elem_offset + ADDRESS, CHUNK, 1)))";
constexpr absl::string_view kRegisters = R"("cuda.registers", warp.elem_offset // TILE * ELEMENTS)";

constexpr absl::string_view kProduct = R"(
@T.prim_func
def desc(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (32, ELEMENTS), "TYPE", align=64, offset_factor=FACTOR, scope="warp")
    B = T.match_buffer(b, (32, ELEMENTS), "TYPE_B", align=64, offset_factor=FACTOR, scope="warp")
    C = T.match_buffer(c, (32, 8), "SUM", align=64, offset_factor=FACTOR, scope="warp")
    with T.block("root"):
        T.reads(C[0:32, 0:8], A[0:32, 0:ELEMENTS], B[0:32, 0:ELEMENTS])
        T.writes(C[0:32, 0:8])
        for i, j, k in T.grid(16, 16, DEPTH):
            with T.block("tile"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(C[DESC_C], A[DESC_A], B[DESC_B])
                T.writes(C[DESC_C])
                C[DESC_C] = C[DESC_C] + TERM_A * TERM_B

@T.prim_func
def impl(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (32, ELEMENTS), "TYPE", align=64, offset_factor=FACTOR, scope="warp")
    B = T.match_buffer(b, (32, ELEMENTS), "TYPE_B", align=64, offset_factor=FACTOR, scope="warp")
    C = T.match_buffer(c, (32, 8), "SUM", align=64, offset_factor=FACTOR, scope="warp")
    with T.block("root"):
        T.reads(C[0:32, 0:8], A[0:32, 0:ELEMENTS], B[0:32, 0:ELEMENTS])
        T.writes(C[0:32, 0:8])
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.attr(0, "cuda.instruction", T.cuda.MMA(T.tvm_access_ptr(T.type_annotation("TYPE_D"), C.data, C.elem_offset // 256 * REGISTERS_C, HALF_C, 3), T.tvm_access_ptr(T.type_annotation("uint32"), A.data, A.elem_offset // TILE * 4, 4, 1), T.tvm_access_ptr(T.type_annotation("uint32"), B.data, B.elem_offset // TILE * 4, 2, 1))):
                for e, k in T.grid(4, DEPTH):
                    C[tx, e] = C[tx, e] + PART_A * PART_B
            with T.attr(0, "cuda.instruction", T.cuda.MMA(T.tvm_access_ptr(T.type_annotation("TYPE_D"), C.data, C.elem_offset // 256 * REGISTERS_C + HALF_C, HALF_C, 3), T.tvm_access_ptr(T.type_annotation("uint32"), A.data, A.elem_offset // TILE * 4, 4, 1), T.tvm_access_ptr(T.type_annotation("uint32"), B.data, B.elem_offset // TILE * 4 + 2, 2, 1))):
                for e, k in T.grid(4, DEPTH):
                    C[tx, 4 + e] = C[tx, 4 + e] + PART_A * NEXT_B
)";

constexpr absl::string_view kFill = R"(
@T.prim_func
def desc(w: T.handle):
    C_warp = T.match_buffer(w, (32, 8), "SUM", scope="warp", offset_factor=1)
    with T.block("root"):
        T.reads()
        T.writes(C_warp[0:32, 0:8])
        for i0, i1 in T.grid(16, 16):
            with T.block("tile"):
                v0, v1 = T.axis.remap("SS", [i0, i1])
                T.reads()
                T.writes(C_warp[PLACE])
                C_warp[PLACE] = T.SUM(0)

@T.prim_func
def impl(w: T.handle):
    C_warp = T.match_buffer(w, (32, 8), "SUM", scope="warp", offset_factor=1)
    with T.block("root"):
        T.reads()
        T.writes(C_warp[0:32, 0:8])
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.attr(0, "cuda.registers", C_warp.elem_offset // 256 * 8):
                for e in range(8):
                    C_warp[tx, e] = T.SUM(0)
)";

constexpr absl::string_view kStore = R"(
@T.prim_func
def desc(w: T.handle, c: T.handle):
    C_warp = T.match_buffer(w, (32, 8), "SUM", scope="warp", offset_factor=1)
    C = T.match_buffer(c, (16, 16), "SUM", scope="SCOPE", offset_factor=1)
    with T.block("root"):
        T.reads(C_warp[0:32, 0:8])
        T.writes(C[0:16, 0:16])
        for i0, i1 in T.grid(16, 16):
            with T.block("tile"):
                v0, v1 = T.axis.remap("SS", [i0, i1])
                T.reads(C_warp[PLACE])
                T.writes(C[v0, v1])
                C[v0, v1] = C_warp[PLACE]

@T.prim_func
def impl(w: T.handle, c: T.handle):
    s0 = T.int32()
    C_warp = T.match_buffer(w, (32, 8), "SUM", scope="warp", offset_factor=1)
    C = T.match_buffer(c, (16, 16), "SUM", scope="SCOPE", offset_factor=1, strides=[s0, 1])
    with T.block("root"):
        T.reads(C_warp[0:32, 0:8])
        T.writes(C[0:16, 0:16])
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.attr(0, "cuda.registers", C_warp.elem_offset // 256 * 8):
                for e in range(8):
                    C[ROW, COLUMN] = C_warp[tx, e]
)";

Words OperandWords(const MachineInstruction& row) {
  const int bits = row.a.type.bits();
  return {{"ELEMENTS", absl::StrCat(16 * row.k / 32)},
          {"TILE", absl::StrCat(16 * row.k)},
          {"DEPTH", absl::StrCat(row.k)},
          {"FACTOR", absl::StrCat(row.k)},
          {"CHUNK", absl::StrCat(128 / bits)},
          {"TYPE", row.a.type.ToString()}};
}

std::optional<TensorIntrin> MakeLoad(std::string_view name, absl::string_view rest) {
  const bool dynamic = absl::ConsumeSuffix(&rest, "_dyn"), by_columns = absl::ConsumeSuffix(&rest, "_trans");
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, '_');
  if (parts.size() != 2 || (parts[1] != "a" && parts[1] != "b")) return std::nullopt;
  const MachineInstruction* row = RowNamed("ldmatrix", parts[0]);
  if (row == nullptr) return std::nullopt;
  const bool is_b = parts[1] == "b";
  const int bits = row->a.type.bits();
  if (bits != 16 && !is_b && by_columns) return std::nullopt;
  const bool transposes = is_b != by_columns, by_instruction = bits == 16 || !transposes;
  const TileLayout tile = LayoutOfTile(by_instruction, *row);
  const ElementText element = ElementOf(tile);
  const std::string chunk = absl::StrCat(128 / bits);
  // The 8 x 8 matrices of A one below the other first; those that are stored by columns the other way round.
  const std::string address = by_columns ? absl::StrCat("s0 * (tx % 8 + tx // 16 * 8) + tx // 8 % 2 * ", chunk)
                                         : absl::StrCat("s0 * (tx % 16) + tx // 16 * ", chunk);
  Words words = OperandWords(*row);
  const Words more = {{"ADDRESS", address},
                      {"TRANSPOSED", transposes ? "_trans" : ""},
                      {"SCOPE", dynamic ? "shared.dyn" : "shared"},
                      {"TALL", by_instruction ? "16" : absl::StrCat(row->k)},
                      {"WIDE", by_instruction ? absl::StrCat(row->k) : "16"},
                      {"STEP", by_instruction ? absl::StrCat(row->k) : "1"},
                      {"PLACE", OwnerText(tile, "v0", "v1")},
                      {"ROW", element.row},
                      {"COLUMN", element.column}};
  words.insert(words.end(), more.begin(), more.end());
  const std::string text = absl::StrReplaceAll(kLoad, {{"HOW", by_instruction ? kLdMatrix : kRegisters}});
  return IntrinOfRow(text, words, name, *row);
}

std::optional<TensorIntrin> MakeProduct(std::string_view name, absl::string_view rest) {
  const bool trans_b = absl::ConsumeSuffix(&rest, "_trans_b"), trans_a = absl::ConsumeSuffix(&rest, "_trans_a");
  const MachineInstruction* row = RowNamed("mma", rest);
  if (row == nullptr) return std::nullopt;
  const int bits = row->a.type.bits();
  if (bits != 16 && trans_a) return std::nullopt;
  const TileLayout tile_a = LayoutOfTile(true, *row), tile_b = LayoutOfTile(bits == 16 || trans_b, *row),
                   sums = LayoutOfFragment(FragmentOperand::kSum);
  const auto a = [&](const std::string& line, const std::string& k) {
    return trans_a ? OwnerText(tile_a, k, line) : OwnerText(tile_a, line, k);
  };
  const auto b = [&](const std::string& k, const std::string& column) {
    return trans_b ? OwnerText(tile_b, column, k) : OwnerText(tile_b, k, column);
  };
  // The sums of the first of the two instructions.
  const ElementText first = ElementOf(LayoutOf(row->c, row->m, row->n));
  const auto factor = [&](const char* buffer, const std::string& place) {
    return FactorOf(*row, absl::StrCat(buffer, "[", place, "]"));
  };
  const bool packed = row->c.type.bits() == 16;
  Words words = OperandWords(*row);
  const Words more = {{"MMA", MmaFunction(*row)},
                      {"SUM", row->c.type.ToString()},
                      {"TYPE_B", row->b.type.ToString()},
                      {"TYPE_D", packed ? "uint32" : row->c.type.ToString()},
                      {"REGISTERS_C", packed ? "4" : "8"},
                      {"HALF_C", packed ? "2" : "4"},
                      {"TERM_A", factor("A", a("vi", "vk"))},
                      {"TERM_B", factor("B", b("vk", "vj"))},
                      {"DESC_A", a("vi", "vk")},
                      {"DESC_B", b("vk", "vj")},
                      {"DESC_C", OwnerText(sums, "vi", "vj")},
                      {"PART_A", factor("A", a(first.row, "k"))},
                      {"PART_B", factor("B", b("k", first.column))},
                      {"NEXT_B", factor("B", b("k", absl::StrCat(first.column, " + ", row->n)))}};
  words.insert(words.end(), more.begin(), more.end());
  return IntrinOfRow(kProduct, words, name, *row);
}

std::optional<TensorIntrin> MakeFill(std::string_view name, absl::string_view rest) {
  const std::optional<DataType> sum = SumNamed(rest);
  if (!sum) return std::nullopt;
  const TileLayout sums = LayoutOfFragment(FragmentOperand::kSum);
  return IntrinOfSums(kFill, {{"SUM", sum->ToString()}, {"PLACE", OwnerText(sums, "v0", "v1")}}, name, *sum);
}

std::optional<TensorIntrin> MakeStore(std::string_view name, absl::string_view rest) {
  if (!absl::ConsumeSuffix(&rest, "_")) return std::nullopt;
  absl::ConsumeSuffix(&rest, "_simple");
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, absl::MaxSplits('_', 1));
  const std::optional<DataType> sum = SumNamed(parts[0]);
  if (!sum || parts.size() != 2 || (parts[1] != "global" && parts[1] != "shared_dyn")) return std::nullopt;
  const TileLayout sums = LayoutOfFragment(FragmentOperand::kSum);
  const ElementText element = ElementOf(sums);
  return IntrinOfSums(kStore,
                      {{"SUM", sum->ToString()},
                       {"SCOPE", parts[1] == "global" ? "global" : "shared.dyn"},
                       {"PLACE", OwnerText(sums, "v0", "v1")},
                       {"ROW", element.row},
                       {"COLUMN", element.column}},
                      name, *sum);
}

std::optional<TensorIntrin> Make(std::string_view name) {
  absl::string_view rest(name.data(), name.size());
  if (!absl::ConsumePrefix(&rest, kPrefix)) return std::nullopt;
  if (absl::ConsumePrefix(&rest, "ldmatrix_")) return MakeLoad(name, rest);
  if (absl::ConsumePrefix(&rest, "fill_16x16_")) return MakeFill(name, rest);
  if (absl::ConsumePrefix(&rest, "store_16x16_")) return MakeStore(name, rest);
  return MakeProduct(name, rest);
}

}  // namespace

IntrinFamily MmaFamily() {
  return {.prefix = std::string(kPrefix),
          .description = "mma_...: matrix products of a warp from memory of the warp (sm_80)",
          .make = Make,
          .examples = {"mma_ldmatrix_f16_a",
                       "mma_ldmatrix_f16_a_trans_dyn",
                       "mma_ldmatrix_f16_b",
                       "mma_ldmatrix_f16_b_trans",
                       "mma_ldmatrix_i8_a",
                       "mma_ldmatrix_i8_b",
                       "mma_ldmatrix_i8_b_trans",
                       "mma_ldmatrix_bf16_b",
                       "mma_ldmatrix_e4m3_b_trans",
                       "mma_bf16bf16f32",
                       "mma_e4m3e4m3f32",
                       "mma_e4m3e4m3f32_trans_b",
                       "mma_e5m2e5m2f32_trans_b",
                       "mma_f16f16f32",
                       "mma_f16f16f16_trans_b",
                       "mma_f16f16f32_trans_a_trans_b",
                       "mma_i8i8i32",
                       "mma_i8i8i32_trans_b",
                       "mma_ldmatrix_tf32_a",
                       "mma_ldmatrix_tf32_b_trans_dyn",
                       "mma_tf32tf32f32_trans_b",
                       "mma_fill_16x16_f32",
                       "mma_fill_16x16_i32",
                       "mma_store_16x16_f32_global_",
                       "mma_store_16x16_f16_shared_dyn_simple_"}};
}

}  // namespace tilewright
