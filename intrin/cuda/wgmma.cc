#include "intrin/cuda/wgmma.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "intrin/cuda/warp_intrin.h"
#include "intrin/instructions.h"
#include "intrin/operand_layout.h"

namespace tilewright {
namespace {

constexpr absl::string_view kPrefix = "wgmma_";

// The sum, or the element of A in registers, that register `e` of lane `tx` holds.
ElementText SumOf(int columns) { return ElementOf(LayoutOfSums("wgmma", columns)); }

constexpr absl::string_view kSync = R"(
@T.prim_func
def desc(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, SHAPE_A, "TYPE_A", MATCH_A)
    B = T.match_buffer(b, SHAPE_B, "TYPE_B", scope="SCOPE")
    C = T.match_buffer(c, (64, COLUMNS), "TYPE_C", offset_factor=8, scope="wgmma.accumulator")
    with T.block("root"):
        T.reads(C[0:64, 0:COLUMNS], REGION_A, REGION_B)
        T.writes(C[0:64, 0:COLUMNS])
        for i, j, k in T.grid(64, COLUMNS, DEPTH):
            with T.block("tile"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + T.Cast("TYPE_C", A[DESC_A]) * T.Cast("TYPE_C", B[DESC_B])

@T.prim_func
def impl(a: T.handle, b: T.handle, c: T.handle):
    sc = T.int32()STRIDE_A
    A = T.match_buffer(a, SHAPE_A, "TYPE_A", IMPL_MATCH_A)
    B = T.match_buffer(b, SHAPE_B, "TYPE_B", scope="SCOPE")
    C = T.match_buffer(c, (64, COLUMNS), "TYPE_C", offset_factor=8, scope="wgmma.accumulator", strides=[sc, 1])
    with T.block("root"):
        T.reads(C[0:64, 0:COLUMNS], REGION_A, REGION_B)
        T.writes(C[0:64, 0:COLUMNS])
        for tx in T.thread_binding(128, thread="threadIdx.x"):
            with T.attr(0, "cuda.instruction", T.cuda.CALL("COLUMNS", "NAME_C", "NAME_A", "NAME_B", MAJOR_A"MAJOR_B", T.tvm_access_ptr(T.type_annotation("TYPE_C"), C.data, FRAGMENT_C * REGISTERS, REGISTERS, 3), ADDRESS_A, T.address_of(B[0, 0]), 1)):
                for e, k in T.grid(REGISTERS, DEPTH):
                    C[ROW, COLUMN_] = C[ROW, COLUMN_] + T.Cast("TYPE_C", A[IMPL_A]) * T.Cast("TYPE_C", B[IMPL_B])
)";

constexpr absl::string_view kFill = R"(
@T.prim_func
def desc(c: T.handle):
    C = T.match_buffer(c, (64, COLUMNS), "TYPE_C", offset_factor=8, scope="wgmma.accumulator")
    with T.block("root"):
        T.reads()
        T.writes(C[0:64, 0:COLUMNS])
        for i, j in T.grid(64, COLUMNS):
            with T.block("tile"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.TYPE_C(0)

@T.prim_func
def impl(c: T.handle):
    sc = T.int32()
    C = T.match_buffer(c, (64, COLUMNS), "TYPE_C", offset_factor=8, scope="wgmma.accumulator", strides=[sc, 1])
    with T.block("root"):
        T.reads()
        T.writes(C[0:64, 0:COLUMNS])
        for tx in T.thread_binding(128, thread="threadIdx.x"):
            with T.attr(0, "cuda.registers", FRAGMENT_C * REGISTERS):
                for e in range(REGISTERS):
                    C[ROW, COLUMN_] = T.TYPE_C(0)
)";

constexpr absl::string_view kStore = R"(
@T.prim_func
def desc(c: T.handle, d: T.handle):
    C = T.match_buffer(c, (64, COLUMNS), "TYPE_C", offset_factor=8, scope="wgmma.accumulator")
    D = T.match_buffer(d, (64, COLUMNS), "TYPE_C", offset_factor=1, scope="SCOPE")
    with T.block("root"):
        T.reads(C[0:64, 0:COLUMNS])
        T.writes(D[0:64, 0:COLUMNS])
        for i, j in T.grid(64, COLUMNS):
            with T.block("tile"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj]

@T.prim_func
def impl(c: T.handle, d: T.handle):
    sc = T.int32()
    C = T.match_buffer(c, (64, COLUMNS), "TYPE_C", offset_factor=8, scope="wgmma.accumulator", strides=[sc, 1])
    D = T.match_buffer(d, (64, COLUMNS), "TYPE_C", offset_factor=1, scope="SCOPE")
    with T.block("root"):
        T.reads(C[0:64, 0:COLUMNS])
        T.writes(D[0:64, 0:COLUMNS])
        for tx in T.thread_binding(128, thread="threadIdx.x"):
            with T.attr(0, "cuda.registers", FRAGMENT_C * REGISTERS):
                for e in range(REGISTERS):
                    D[ROW, COLUMN_] = C[ROW, COLUMN_]
)";

// Four warps store 16 rows each. Each lane names one row of one of four 8 x 8 matrices.
constexpr absl::string_view kStMatrix = R"(
@T.prim_func
def desc(a: T.handle, d: T.handle):
    A = T.match_buffer(a, (64, 16), "TYPE", offset_factor=8, scope="wgmma.matrix_a")
    D = T.match_buffer(d, (64, 16), "TYPE", scope="SCOPE")
    with T.block("root"):
        T.reads(A[0:64, 0:16])
        T.writes(D[0:64, 0:16])
        for i, j in T.grid(64, 16):
            with T.block("tile"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = A[vi, vj]

@T.prim_func
def impl(a: T.handle, d: T.handle):
    sa = T.int32()
    A = T.match_buffer(a, (64, 16), "TYPE", offset_factor=8, scope="wgmma.matrix_a", strides=[sa, 1])
    D = T.match_buffer(d, (64, 16), "TYPE", scope="SCOPE")
    with T.block("root"):
        T.reads(A[0:64, 0:16])
        T.writes(D[0:64, 0:16])
        for tx in T.thread_binding(128, thread="threadIdx.x"):
            with T.attr(0, "cuda.instruction", T.cuda.stmatrix_x4(ADDRESS_D, REGISTERS_A)):
                for e in range(8):
                    D[ROW, COLUMN_] = A[ROW, COLUMN_]
)";

// The operand's type in the device's text.
std::string NameOf(const InstructionOperand& operand) {
  if (!operand.format.empty()) return "tw::" + std::string(operand.format);
  const DataType type = operand.type;
  if (type == DataType::Float(32)) return "float";
  if (type == DataType::Int(32)) return "int32_t";
  if (type == DataType::Float(16)) return "tw::f16";
  if (type == DataType::BFloat16()) return "tw::bf16";
  if (type.code() == TypeCode::kE4M3) return "tw::e4m3";
  if (type.code() == TypeCode::kE5M2) return "tw::e5m2";
  return type.is_int() ? "int8_t" : "uint8_t";
}

// The type of sums as names of intrinsics spell it.
absl::string_view ShortName(DataType type) {
  if (type == DataType::Float(32)) return "f32";
  return type == DataType::Float(16) ? "f16" : "s32";
}

// Words that all three texts have. A tile's number among those of the buffer it is a part of: tiles of a row of tiles
// follow each other.
Words SumWords(int columns, DataType type) {
  const std::string text = absl::StrCat(columns);
  const ElementText sum = SumOf(columns);
  return {{"FRAGMENT_C", absl::StrCat("(C.elem_offset // T.max(sc, 1) // 64 * (sc // ", text,
                                      ") + C.elem_offset % T.max(sc, 1) // ", text, ")")},
          {"COLUMNS", text},
          {"REGISTERS", absl::StrCat(sum.elements)},
          {"TYPE_C", type.ToString()},
          {"COLUMN_", sum.column},
          {"ROW", sum.row}};
}

// "64x128", "64x128x16".
std::optional<std::vector<int>> Extents(absl::string_view text) {
  std::vector<int> extents;
  for (const absl::string_view part : absl::StrSplit(text, 'x')) {
    int extent = 0;
    if (!absl::SimpleAtoi(part, &extent)) return std::nullopt;
    extents.push_back(extent);
  }
  return extents;
}

// What differs between A in shared memory and in registers.
Words OperandWords(bool in_registers, bool trans_a, const std::string& scope) {
  if (!in_registers) {
    const std::string match = absl::StrCat("scope=\"", scope, "\"");
    return {{"IMPL_MATCH_A", match},
            {"MATCH_A", match},
            {"STRIDE_A", ""},
            {"CALL", "wgmma"},
            {"MAJOR_A", trans_a ? "\"tw::kMajorMN\", " : "\"tw::kMajorK\", "},
            {"ADDRESS_A", "T.address_of(A[0, 0])"}};
  }
  const std::string match = "offset_factor=8, scope=\"wgmma.matrix_a\"";
  return {
      {"IMPL_MATCH_A", absl::StrCat(match, ", strides=[sa, 1]")},
      {"MATCH_A", match},
      {"STRIDE_A", "\n    sa = T.int32()"},
      {"CALL", "wgmma_rs"},
      {"MAJOR_A", ""},
      {"ADDRESS_A",
       "T.tvm_access_ptr(T.type_annotation(\"uint32\"), A.data, (A.elem_offset // T.max(sa, 1) // 64 * (sa // 16) + "
       "A.elem_offset % T.max(sa, 1) // 16) * 4, 4, 1)"}};
}

std::optional<TensorIntrin> MakeSync(std::string_view name, absl::string_view rest) {
  const bool dynamic = absl::ConsumeSuffix(&rest, "_dyn"), trans_b = absl::ConsumeSuffix(&rest, "_trans"),
             in_registers = absl::ConsumeSuffix(&rest, "_registers"), trans_a = absl::ConsumeSuffix(&rest, "_trans_a");
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, '_');
  const auto extents = parts.size() == 2 ? Extents(parts[0]) : std::nullopt;
  if (!extents || extents->size() != 3) return std::nullopt;
  const MachineInstruction* row = InstructionNamed("wgmma", {parts[1].data(), parts[1].size()});
  if (row == nullptr || (*extents)[0] != row->m || !row->HasColumns((*extents)[1]) || (*extents)[2] != row->k) {
    return std::nullopt;
  }
  if (row->a.type.bits() != 16 && (trans_a || in_registers || !trans_b)) return std::nullopt;
  if (in_registers && trans_a) return std::nullopt;
  const std::string n = absl::StrCat((*extents)[1]), k = absl::StrCat(row->k);
  const auto [i, j, registers] = SumOf((*extents)[1]);
  Words words = {
      {"SHAPE_A", trans_a ? absl::StrCat("(", k, ", 64)") : absl::StrCat("(64, ", k, ")")},
      {"SHAPE_B", trans_b ? absl::StrCat("(", n, ", ", k, ")") : absl::StrCat("(", k, ", ", n, ")")},
      {"REGION_A", trans_a ? absl::StrCat("A[0:", k, ", 0:64]") : absl::StrCat("A[0:64, 0:", k, "]")},
      {"REGION_B", trans_b ? absl::StrCat("B[0:", n, ", 0:", k, "]") : absl::StrCat("B[0:", k, ", 0:", n, "]")},
      {"DESC_A", trans_a ? "vk, vi" : "vi, vk"},
      {"DESC_B", trans_b ? "vj, vk" : "vk, vj"},
      {"IMPL_A", trans_a ? absl::StrCat("k, ", i) : absl::StrCat(i, ", k")},
      {"IMPL_B", trans_b ? absl::StrCat(j, ", k") : absl::StrCat("k, ", j)},
      {"TYPE_A", row->a.type.ToString()},
      {"TYPE_B", row->b.type.ToString()},
      {"NAME_A", NameOf(row->a)},
      {"NAME_B", NameOf(row->b)},
      {"NAME_C", NameOf(row->c)},
      {"MAJOR_B", trans_b ? "tw::kMajorK" : "tw::kMajorMN"},
      {"DEPTH", k},
      {"SCOPE", dynamic ? "shared.dyn" : "shared"}};
  const std::string scope = dynamic ? "shared.dyn" : "shared";
  for (const Words& more : {OperandWords(in_registers, trans_a, scope), SumWords((*extents)[1], row->c.type)}) {
    words.insert(words.end(), more.begin(), more.end());
  }
  std::string text(kSync);
  for (const char* factor : {"A[DESC_A]", "B[DESC_B]", "A[IMPL_A]", "B[IMPL_B]"}) {
    text = absl::StrReplaceAll(text, {{absl::StrCat("T.Cast(\"TYPE_C\", ", factor, ")"), FactorOf(*row, factor)}});
  }
  return IntrinOfRow(text, words, name, *row);
}

// A fill or a store of sums, for which any row with such sums has the registers.
std::optional<TensorIntrin> MakeOfSums(absl::string_view text, std::string_view name, absl::string_view extents_text,
                                       absl::string_view type_name, const Words& more) {
  const auto extents = Extents(extents_text);
  if (!extents || extents->size() != 2 || (*extents)[0] != 64) return std::nullopt;
  for (const MachineInstruction& row : Instructions()) {
    if (row.family != "wgmma" || !row.HasColumns((*extents)[1])) continue;
    if (type_name != ShortName(row.c.type)) continue;
    Words words = SumWords((*extents)[1], row.c.type);
    words.insert(words.end(), more.begin(), more.end());
    return IntrinFromText(text, words, name, row.FeatureNames());
  }
  return std::nullopt;
}

std::optional<TensorIntrin> MakeStMatrix(std::string_view name, absl::string_view rest) {
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, absl::MaxSplits('_', 1));
  if (parts.size() != 2 || (parts[1] != "shared" && parts[1] != "shared_dyn")) return std::nullopt;
  const MachineInstruction* row = InstructionNamed("stmatrix", {parts[0].data(), parts[0].size()});
  if (row == nullptr) return std::nullopt;
  const ElementText element = SumOf(16);
  return IntrinOfRow(kStMatrix,
                     {{"ADDRESS_D", "T.address_of(D[tx // 32 * 16 + tx % 16, tx % 32 // 16 * 8])"},
                      {"REGISTERS_A",
                       "T.tvm_access_ptr(T.type_annotation(\"uint32\"), A.data, (A.elem_offset // T.max(sa, 1) // 64 "
                       "* (sa // 16) + A.elem_offset % T.max(sa, 1) // 16) * 4, 4, 1)"},
                      {"TYPE", row->a.type.ToString()},
                      {"SCOPE", parts[1] == "shared" ? "shared" : "shared.dyn"},
                      {"COLUMN_", element.column},
                      {"ROW", element.row}},
                     name, *row);
}

std::optional<TensorIntrin> Make(std::string_view name) {
  absl::string_view rest(name.data(), name.size());
  if (!absl::ConsumePrefix(&rest, kPrefix)) return std::nullopt;
  if (absl::ConsumePrefix(&rest, "sync_")) return MakeSync(name, rest);
  if (absl::ConsumePrefix(&rest, "stmatrix_64x16_")) return MakeStMatrix(name, rest);
  const bool fills = absl::ConsumePrefix(&rest, "fill_");
  if (!fills && !absl::ConsumePrefix(&rest, "store_")) return std::nullopt;
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, absl::MaxSplits('_', 2));
  if (parts.size() != (fills ? 2 : 3)) return std::nullopt;
  if (fills) return MakeOfSums(kFill, name, parts[0], parts[1], {});
  const absl::string_view place = parts[2];
  if (place != "global" && place != "shared" && place != "shared_dyn") return std::nullopt;
  return MakeOfSums(kStore, name, parts[0], parts[1],
                    {{"SCOPE", place == "shared_dyn" ? "shared.dyn" : std::string(place)}});
}

}  // namespace

IntrinFamily WgmmaFamily() {
  return {.prefix = std::string(kPrefix),
          .description = "wgmma_{fill|sync|store|stmatrix}_64xNxK_...: matrix products of a warpgroup (sm_90a)",
          .make = Make,
          .examples = {"wgmma_sync_64x32x16_f16f16f32",
                       "wgmma_sync_64x16x16_f16f16f32_trans_dyn",
                       "wgmma_sync_64x32x16_f16f16f16_trans_a",
                       "wgmma_fill_64x16_f16",
                       "wgmma_store_64x16_f16_global",
                       "wgmma_sync_64x8x16_bf16bf16f32_trans_a",
                       "wgmma_sync_64x24x16_bf16bf16f32_trans_a_trans",
                       "wgmma_sync_64x16x32_s8s8s32_trans",
                       "wgmma_sync_64x32x32_u8s8s32_trans_dyn",
                       "wgmma_sync_64x8x32_e4m3e4m3f32_trans",
                       "wgmma_sync_64x16x32_e5m2e4m3f32_trans",
                       "wgmma_sync_64x16x16_f16f16f32_registers",
                       "wgmma_sync_64x24x16_bf16bf16f32_registers_trans_dyn",
                       "wgmma_fill_64x32_f32",
                       "wgmma_fill_64x16_s32",
                       "wgmma_store_64x32_f32_global",
                       "wgmma_store_64x16_s32_shared",
                       "wgmma_store_64x24_f32_shared_dyn",
                       "wgmma_stmatrix_64x16_f16_shared",
                       "wgmma_stmatrix_64x16_bf16_shared_dyn"}};
}

}  // namespace tilewright
