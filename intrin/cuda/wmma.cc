#include "intrin/cuda/wmma.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "intrin/cuda/fragments.h"
#include "intrin/cuda/warp_intrin.h"
#include "intrin/instructions.h"

namespace tilewright {
namespace {

constexpr absl::string_view kPrefix = "wmma_", kShape = "16x16x16";

// The type of sums.
std::optional<DataType> SumNamed(absl::string_view name) {
  if (name == "f32") return DataType::Float(32);
  if (name == "f16") return DataType::Float(16);
  return name == "s32" ? std::optional(DataType::Int(32)) : std::nullopt;
}

// A copy between memory and a fragment. FROM and TO are the buffers, MARK the attribute around what a lane does.
constexpr absl::string_view kCopy = R"(
@T.prim_func
def desc(a: T.handle, c: T.handle):
    A = T.match_buffer(a, (16, 16), "TYPE", offset_factor=16, scope="FROM")
    C = T.match_buffer(c, (16, 16), "TYPE", offset_factor=16, scope="TO")
    with T.block("root"):
        T.reads(A[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        for i, j in T.grid(16, 16):
            with T.block("tile"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj]

@T.prim_func
def impl(a: T.handle, c: T.handle):
    sa = T.int32()
    sc = T.int32()
    A = T.match_buffer(a, (16, 16), "TYPE", offset_factor=16, scope="FROM", strides=[sa, 1])
    C = T.match_buffer(c, (16, 16), "TYPE", offset_factor=16, scope="TO", strides=[sc, 1])
    with T.block("root"):
        T.reads(A[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        T.block_attr({"warp_execution": 1})
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.attr(0, "MARK", VALUE):
                for e in range(8):
                    C[ROW, COLUMN] = A[ROW, COLUMN]
)";

constexpr absl::string_view kFill = R"(
@T.prim_func
def desc(c: T.handle):
    C = T.match_buffer(c, (16, 16), "TYPE", offset_factor=16, scope="wmma.accumulator")
    with T.block("root"):
        T.reads()
        T.writes(C[0:16, 0:16])
        for i, j in T.grid(16, 16):
            with T.block("tile"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.TYPE(0)

@T.prim_func
def impl(c: T.handle):
    sc = T.int32()
    C = T.match_buffer(c, (16, 16), "TYPE", offset_factor=16, scope="wmma.accumulator", strides=[sc, 1])
    with T.block("root"):
        T.reads()
        T.writes(C[0:16, 0:16])
        T.block_attr({"warp_execution": 1})
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.attr(0, "cuda.registers", FRAGMENT_C * 8):
                for e in range(8):
                    C[ROW, COLUMN] = T.TYPE(0)
)";

// TERM_A, PART_A, ...: elements as the instruction's products take them.
constexpr absl::string_view kSync = R"(
@T.prim_func
def desc(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (16, 16), "TYPE_A", offset_factor=16, scope="wmma.matrix_a")
    B = T.match_buffer(b, (16, 16), "TYPE_B", offset_factor=16, scope="wmma.matrix_b")
    C = T.match_buffer(c, (16, 16), "TYPE_C", offset_factor=16, scope="wmma.accumulator")
    with T.block("root"):
        T.reads(C[0:16, 0:16], A[0:16, 0:16], B[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        for i, j, k in T.grid(16, 16, 16):
            with T.block("tile"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + TERM_A * TERM_B

@T.prim_func
def impl(a: T.handle, b: T.handle, c: T.handle):
    sa = T.int32()
    sb = T.int32()
    sc = T.int32()
    A = T.match_buffer(a, (16, 16), "TYPE_A", offset_factor=16, scope="wmma.matrix_a", strides=[sa, 1])
    B = T.match_buffer(b, (16, 16), "TYPE_B", offset_factor=16, scope="wmma.matrix_b", strides=[sb, 1])
    C = T.match_buffer(c, (16, 16), "TYPE_C", offset_factor=16, scope="wmma.accumulator", strides=[sc, 1])
    with T.block("root"):
        T.reads(C[0:16, 0:16], A[0:16, 0:16], B[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        T.block_attr({"warp_execution": 1})
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.attr(0, "cuda.instruction", T.cuda.MMA(T.tvm_access_ptr(T.type_annotation("TYPE_D"), C.data, FRAGMENT_C * REGISTERS_C, HALF_C, 3), T.tvm_access_ptr(T.type_annotation("uint32"), A.data, FRAGMENT_A * REGISTERS_A, REGISTERS_A, 1), T.tvm_access_ptr(T.type_annotation("uint32"), B.data, FRAGMENT_B * REGISTERS_A, HALF_B, 1))):
                for e, k in T.grid(4, 16):
                    C[ROW, COLUMN] = C[ROW, COLUMN] + PART_A * PART_B
            with T.attr(0, "cuda.instruction", T.cuda.MMA(T.tvm_access_ptr(T.type_annotation("TYPE_D"), C.data, FRAGMENT_C * REGISTERS_C + HALF_C, HALF_C, 3), T.tvm_access_ptr(T.type_annotation("uint32"), A.data, FRAGMENT_A * REGISTERS_A, REGISTERS_A, 1), T.tvm_access_ptr(T.type_annotation("uint32"), B.data, FRAGMENT_B * REGISTERS_A + HALF_B, HALF_B, 1))):
                for e, k in T.grid(4, 16):
                    C[ROW, 8 + COLUMN] = C[ROW, 8 + COLUMN] + PART_A * NEXT_B
)";

// The number of the fragment that a sub-buffer is, among the 16 x 16 tiles of the buffer it is a part of.
std::string FragmentNumber(absl::string_view buffer, absl::string_view stride) {
  const std::string row = absl::StrCat("T.max(", stride, ", 1)"), offset = absl::StrCat(buffer, ".elem_offset");
  return absl::StrCat("(", offset, " // ", row, " // 16 * (", stride, " // 16) + ", offset, " % ", row, " // 16)");
}

// "shared", "shared_dyn", "global" as scopes.
std::optional<std::string> ScopeNamed(absl::string_view name) {
  if (name == "shared" || name == "global") return std::string(name);
  if (name == "shared_dyn") return "shared.dyn";
  return std::nullopt;
}

// The call of ldmatrix that loads a tile whose registers `elements` (of 16 bits) are 4 or 2 matrices of 8 x 8.
std::string LoadCall(bool is_b, bool by_columns, int bits) {
  const bool transposes = is_b && !by_columns;
  // The row that a lane points to: those of A one below the other first, those of B's columns likewise in pairs.
  const std::string row = !is_b || transposes ? "tx % 16" : "tx % 8 + tx // 16 * 8";
  const std::string chunk = !is_b || transposes ? "tx // 16" : "tx // 8 % 2";
  const int registers = bits == 8 ? 2 : 4;
  const std::string place = bits == 8 ? "sa * (tx % 16)" : absl::StrCat("sa * (", row, ") + ", chunk, " * 8");
  return absl::StrCat("T.cuda.ldmatrix_x", registers, transposes ? "_trans" : "",
                      "(T.tvm_access_ptr(T.type_annotation(\"uint32\"), C.data, FRAGMENT_C * ", registers, ", ",
                      registers, ", 2), T.tvm_access_ptr(T.type_annotation(\"TYPE\"), A.data, A.elem_offset + ", place,
                      ", ", 16 * 8 / bits, ", 1))");
}

std::optional<TensorIntrin> MakeLoad(std::string_view name, absl::string_view rest) {
  // f16_a_shared, f16_b_trans_shared_dyn
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, absl::MaxSplits('_', 2));
  if (parts.size() != 3 || (parts[1] != "a" && parts[1] != "b")) return std::nullopt;
  const MachineInstruction* row = InstructionNamed("ldmatrix", {parts[0].data(), parts[0].size()});
  // There are products of a depth of 16 of these alone.
  if (row == nullptr || (row->a.type.bits() != 16 && row->a.type.is_float())) return std::nullopt;
  const int bits = row->a.type.bits();
  absl::string_view place = parts[2];
  const bool is_b = parts[1] == "b", trans = absl::ConsumePrefix(&place, "trans_");
  const std::optional<std::string> scope = ScopeNamed(place);
  if (!scope || (trans && !is_b)) return std::nullopt;
  FragmentMap map = FragmentOf(is_b ? FragmentOperand::kB : FragmentOperand::kA, bits);
  if (trans) std::swap(map.row, map.column);
  // There is no load that transposes bytes, and none from global memory: lanes load their elements.
  const bool by_instruction = *scope != "global" && (bits == 16 || !is_b || trans);
  const Words outer = {{"MARK", by_instruction ? "cuda.instruction" : "cuda.registers"},
                       {"VALUE", by_instruction ? LoadCall(is_b, trans, bits) : "FRAGMENT_C * 8"}};
  const std::string text = absl::StrReplaceAll(kCopy, outer);
  return IntrinOfRow(text,
                     {{"TYPE", row->a.type.ToString()},
                      {"FROM", *scope},
                      {"TO", is_b ? "wmma.matrix_b" : "wmma.matrix_a"},
                      {"FRAGMENT_C", FragmentNumber("C", "sc")},
                      {"ROW", map.row},
                      {"COLUMN", map.column}},
                     name, *row);
}

std::optional<TensorIntrin> MakeStore(std::string_view name, absl::string_view rest) {
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, absl::MaxSplits('_', 1));
  const std::optional<DataType> sum = SumNamed(parts[0]);
  const std::optional<std::string> scope = parts.size() == 2 ? ScopeNamed(parts[1]) : std::nullopt;
  if (!sum || !scope) return std::nullopt;
  const FragmentMap map = FragmentOf(FragmentOperand::kSum, sum->bits());
  const Words outer = {{"MARK", "cuda.registers"}, {"VALUE", "FRAGMENT_A * 8"}};
  return IntrinOfSums(absl::StrReplaceAll(kCopy, outer),
                      {{"TYPE", sum->ToString()},
                       {"FROM", "wmma.accumulator"},
                       {"TO", *scope},
                       {"FRAGMENT_A", FragmentNumber("A", "sa")},
                       {"ROW", map.row},
                       {"COLUMN", map.column}},
                      name, *sum);
}

std::optional<TensorIntrin> MakeFill(std::string_view name, absl::string_view rest) {
  const std::optional<DataType> sum = SumNamed(rest);
  if (!sum) return std::nullopt;
  const FragmentMap map = FragmentOf(FragmentOperand::kSum, sum->bits());
  return IntrinOfSums(
      kFill,
      {{"TYPE", sum->ToString()}, {"FRAGMENT_C", FragmentNumber("C", "sc")}, {"ROW", map.row}, {"COLUMN", map.column}},
      name, *sum);
}

std::optional<TensorIntrin> MakeSync(std::string_view name, absl::string_view rest) {
  const bool trans = absl::ConsumeSuffix(&rest, "_trans");
  const std::string_view types(rest.data(), rest.size());
  // Tiles have a depth of 16.
  const MachineInstruction* row = InstructionNamed("mma", types);
  if (row != nullptr && row->k != 16) row = InstructionNamed("mma", types, "k16");
  if (row == nullptr) return std::nullopt;
  const FragmentMap map = FragmentOf(FragmentOperand::kSum, row->c.type.bits());
  const bool packed = row->c.type.bits() == 16;
  const int registers = row->a.type.bits() == 8 ? 2 : 4;
  const auto b = [&](const std::string& k, const std::string& column) {
    return FactorOf(*row, trans ? absl::StrCat("B[", column, ", ", k, "]") : absl::StrCat("B[", k, ", ", column, "]"));
  };
  return IntrinOfRow(kSync,
                     {{"TYPE_A", row->a.type.ToString()},
                      {"TYPE_B", row->b.type.ToString()},
                      {"TYPE_C", row->c.type.ToString()},
                      {"TYPE_D", packed ? "uint32" : row->c.type.ToString()},
                      {"MMA", MmaFunction(*row)},
                      {"FRAGMENT_A", FragmentNumber("A", "sa")},
                      {"FRAGMENT_B", FragmentNumber("B", "sb")},
                      {"FRAGMENT_C", FragmentNumber("C", "sc")},
                      {"REGISTERS_A", absl::StrCat(registers)},
                      {"REGISTERS_C", packed ? "4" : "8"},
                      {"HALF_B", absl::StrCat(registers / 2)},
                      {"HALF_C", packed ? "2" : "4"},
                      {"TERM_A", FactorOf(*row, "A[vi, vk]")},
                      {"TERM_B", b("vk", "vj")},
                      {"PART_A", FactorOf(*row, absl::StrCat("A[", map.row, ", k]"))},
                      {"PART_B", b("k", map.column)},
                      {"NEXT_B", b("k", absl::StrCat("8 + ", map.column))},
                      {"ROW", map.row},
                      {"COLUMN", map.column}},
                     name, *row);
}

std::optional<TensorIntrin> Make(std::string_view name) {
  absl::string_view rest(name.data(), name.size());
  if (!absl::ConsumePrefix(&rest, kPrefix)) return std::nullopt;
  const std::pair<absl::string_view, std::optional<TensorIntrin> (*)(std::string_view, absl::string_view)> kinds[] = {
      {"load_", MakeLoad}, {"store_", MakeStore}, {"fill_", MakeFill}, {"sync_", MakeSync}};
  for (const auto& [kind, make] : kinds) {
    absl::string_view members = rest;
    if (!absl::ConsumePrefix(&members, kind) || !absl::ConsumePrefix(&members, kShape) ||
        !absl::ConsumePrefix(&members, "_")) {
      continue;
    }
    return make(name, members);
  }
  return std::nullopt;
}

}  // namespace

IntrinFamily WmmaFamily() {
  return {.prefix = std::string(kPrefix),
          .description = "wmma_{load|fill|sync|store}_16x16x16_...: matrix products of a warp (sm_80)",
          .make = Make,
          .examples = {"wmma_load_16x16x16_f16_a_shared", "wmma_load_16x16x16_f16_a_shared_dyn",
                       "wmma_load_16x16x16_f16_b_shared", "wmma_load_16x16x16_f16_b_trans_shared",
                       "wmma_load_16x16x16_s8_a_shared", "wmma_load_16x16x16_s8_b_shared",
                       "wmma_load_16x16x16_s8_b_trans_shared", "wmma_load_16x16x16_bf16_a_global",
                       "wmma_sync_16x16x16_f16f16f32", "wmma_sync_16x16x16_f16f16f32_trans",
                       "wmma_sync_16x16x16_f16f16f16", "wmma_sync_16x16x16_bf16bf16f32",
                       "wmma_sync_16x16x16_s8s8s32_trans", "wmma_sync_16x16x16_u8s8s32", "wmma_fill_16x16x16_f32",
                       "wmma_fill_16x16x16_s32", "wmma_store_16x16x16_f32_shared", "wmma_store_16x16x16_f16_global"}};
}

}  // namespace tilewright
