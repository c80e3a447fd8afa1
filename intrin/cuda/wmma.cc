#include "intrin/cuda/wmma.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "intrin/cuda/warp_intrin.h"
#include "intrin/instructions.h"
#include "intrin/operand_layout.h"

namespace tilewright {
namespace {

constexpr absl::string_view kPrefix = "wmma_";
// Sides of tiles: M x N x K. Sums have the first of them.
constexpr absl::string_view kShape = "16x16x16", kDeepShape = "16x16x32";
constexpr int kDepth = 16, kDeep = 32;

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
    A = T.match_buffer(a, (TALL, WIDE), "TYPE", offset_factor=STEP, scope="FROM")
    C = T.match_buffer(c, (TALL, WIDE), "TYPE", offset_factor=STEP, scope="TO")
    with T.block("root"):
        T.reads(A[0:TALL, 0:WIDE])
        T.writes(C[0:TALL, 0:WIDE])
        for i, j in T.grid(TALL, WIDE):
            with T.block("tile"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj]

@T.prim_func
def impl(a: T.handle, c: T.handle):
    sa = T.int32()
    sc = T.int32()
    A = T.match_buffer(a, (TALL, WIDE), "TYPE", offset_factor=STEP, scope="FROM", strides=[sa, 1])
    C = T.match_buffer(c, (TALL, WIDE), "TYPE", offset_factor=STEP, scope="TO", strides=[sc, 1])
    with T.block("root"):
        T.reads(A[0:TALL, 0:WIDE])
        T.writes(C[0:TALL, 0:WIDE])
        T.block_attr({"warp_execution": 1})
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.attr(0, "MARK", VALUE):
                for e in range(ELEMENTS):
                    C[ROW, COLUMN] = A[ROW, COLUMN]
)";

constexpr absl::string_view kFill = R"(
@T.prim_func
def desc(c: T.handle):
    C = T.match_buffer(c, (TALL, WIDE), "TYPE", offset_factor=STEP, scope="SCOPE_C")
    with T.block("root"):
        T.reads()
        T.writes(C[0:TALL, 0:WIDE])
        for i, j in T.grid(TALL, WIDE):
            with T.block("tile"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.TYPE(0)

@T.prim_func
def impl(c: T.handle):
    sc = T.int32()
    C = T.match_buffer(c, (TALL, WIDE), "TYPE", offset_factor=STEP, scope="SCOPE_C", strides=[sc, 1])
    with T.block("root"):
        T.reads()
        T.writes(C[0:TALL, 0:WIDE])
        T.block_attr({"warp_execution": 1})
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.attr(0, "cuda.registers", FRAGMENT_C * ELEMENTS):
                for e in range(ELEMENTS):
                    C[ROW, COLUMN] = T.TYPE(0)
)";

// TERM_A, FACTOR_A, ...: elements as the instruction's products take them. Instructions for each 8 columns follow.
constexpr absl::string_view kSync = R"(
@T.prim_func
def desc(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (SHAPE_A), "TYPE_A", offset_factor=STEP, scope="SCOPE_A")
    B = T.match_buffer(b, (SHAPE_B), "TYPE_B", offset_factor=STEP, scope="SCOPE_B")
    C = T.match_buffer(c, (16, WIDE), "TYPE_C", offset_factor=STEP, scope="SCOPE_C")
    with T.block("root"):
        T.reads(C[0:16, 0:WIDE], A[REGION_A], B[REGION_B])
        T.writes(C[0:16, 0:WIDE])
        for i, j, k in T.grid(16, WIDE, DEPTH):
            with T.block("tile"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + TERM_A * TERM_B

@T.prim_func
def impl(a: T.handle, b: T.handle, c: T.handle):
    sa = T.int32()
    sb = T.int32()
    sc = T.int32()
    A = T.match_buffer(a, (SHAPE_A), "TYPE_A", offset_factor=STEP, scope="SCOPE_A", strides=[sa, 1])
    B = T.match_buffer(b, (SHAPE_B), "TYPE_B", offset_factor=STEP, scope="SCOPE_B", strides=[sb, 1])
    C = T.match_buffer(c, (16, WIDE), "TYPE_C", offset_factor=STEP, scope="SCOPE_C", strides=[sc, 1])
    with T.block("root"):
        T.reads(C[0:16, 0:WIDE], A[REGION_A], B[REGION_B])
        T.writes(C[0:16, 0:WIDE])
        T.block_attr({"warp_execution": 1})
        for tx in T.thread_binding(32, thread="threadIdx.x"):
)";
constexpr absl::string_view kSyncOfColumns =
    R"(            with T.attr(0, "cuda.instruction", T.cuda.MMA(T.tvm_access_ptr(T.type_annotation("TYPE_D"), C.data, FRAGMENT_C * REGISTERS_C + FIRST_C, PART_C, 3), T.tvm_access_ptr(T.type_annotation("uint32"), A.data, FRAGMENT_A * REGISTERS_A + FIRST_A, PART_A, 1), T.tvm_access_ptr(T.type_annotation("uint32"), B.data, FRAGMENT_B * REGISTERS_B + FIRST_B, HALF_B, 1))):
                for e, k in T.grid(4, INNER_K):
                    C[ROW, OF_COLUMN] = C[ROW, OF_COLUMN] + FACTOR_A * FACTOR_B
)";

// The number of the fragment that a sub-buffer is, among the tiles of the buffer it is a part of.
std::string FragmentNumber(absl::string_view buffer, absl::string_view stride, int tall = 16, int wide = 16) {
  const std::string row = absl::StrCat("T.max(", stride, ", 1)"), offset = absl::StrCat(buffer, ".elem_offset");
  return absl::StrCat("(", offset, " // ", row, " // ", tall, " * (", stride, " // ", wide, ") + ", offset, " % ", row,
                      " // ", wide, ")");
}

// Fragments of wmma. Sums are tiles of 16 x 16.
const Words& TileWords() {
  static const auto* words = new Words{{"TALL", "16"},
                                       {"WIDE", "16"},
                                       {"DEPTH", "16"},
                                       {"STEP", "16"},
                                       {"ELEMENTS", "8"},
                                       {"SCOPE_A", "wmma.matrix_a"},
                                       {"SCOPE_B", "wmma.matrix_b"},
                                       {"SCOPE_C", "wmma.accumulator"}};
  return *words;
}
// Some words, and others.
Words And(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// "shared", "shared_dyn", "global" as scopes.
std::optional<std::string> ScopeNamed(absl::string_view name) {
  if (name == "shared" || name == "global") return std::string(name);
  if (name == "shared_dyn") return "shared.dyn";
  return std::nullopt;
}

// "16x16x16_rest" or "16x16x32_rest": the tile's elements along K, and what follows.
std::optional<int> ConsumeDepth(absl::string_view* members) {
  if (absl::ConsumePrefix(members, absl::StrCat(kShape, "_"))) return kDepth;
  return absl::ConsumePrefix(members, absl::StrCat(kDeepShape, "_")) ? std::optional(kDeep) : std::nullopt;
}

// A tile of an operand in shared memory.
struct LoadedTile {
  bool is_b = false, by_columns = false;
  // Rows lie as a layout says that keeps 16 bytes together, and not in equal distances.
  bool swizzled = false;
  int bits = 16, depth = kDepth;
};

// The call of ldmatrix that loads a tile whose registers `elements` (of 16 bits) are 4 or 2 matrices of 8 x 8.
std::string LoadCall(const LoadedTile& tile) {
  const bool transposes = tile.is_b != tile.by_columns;
  // The row that a lane points to: the four matrices one below the other first, or side by side first.
  const std::string four = tile.by_columns ? "tx % 8 + tx // 16 * 8" : "tx % 16";
  const int registers = 16 * tile.depth * tile.bits / 1024, elements = 16 * 8 / tile.bits;
  const std::string row = registers == 2 ? "tx % 16" : four;
  const std::string column =
      registers == 2 ? "0" : absl::StrCat(tile.by_columns ? "tx // 8 % 2" : "tx // 16", " * ", elements);
  const std::string address =
      tile.swizzled ? absl::StrCat("T.address_of(A[", row, ", ", column, "])")
                    : absl::StrCat("T.tvm_access_ptr(T.type_annotation(\"TYPE\"), A.data, A.elem_offset + sa * (", row,
                                   ") + ", column, ", ", elements, ", 1)");
  return absl::StrCat("T.cuda.ldmatrix_x", registers, transposes ? "_trans" : "",
                      "(T.tvm_access_ptr(T.type_annotation(\"uint32\"), C.data, FRAGMENT_C * ", registers, ", ",
                      registers, ", 2), ", address, ")");
}

// The text of a load, of which A has no strides that are known.
std::string SwizzledLoad(absl::string_view text) {
  return absl::StrReplaceAll(text, {{", offset_factor=STEP, scope=\"FROM\"", ", scope=\"FROM\""},
                                    {"    sa = T.int32()\n", ""},
                                    {", strides=[sa, 1]", ""}});
}

std::optional<TensorIntrin> MakeLoad(std::string_view name, absl::string_view rest) {
  // 16x16x16_f16_a_shared, 16x16x16_f16_b_trans_shared_dyn, 16x16x32_s8_a_shared_dyn_swizzled
  LoadedTile tile;
  const std::optional<int> depth = ConsumeDepth(&rest);
  tile.swizzled = absl::ConsumeSuffix(&rest, "_swizzled");
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, absl::MaxSplits('_', 2));
  if (!depth || parts.size() != 3 || (parts[1] != "a" && parts[1] != "b")) return std::nullopt;
  const MachineInstruction* row = InstructionNamed("ldmatrix", {parts[0].data(), parts[0].size()});
  if (row == nullptr || row->a.type.bits() > 16) return std::nullopt;
  tile.bits = row->a.type.bits();
  tile.depth = *depth;
  // Products of 8-bit floats have the row's depth alone, those of 16 bits too.
  if (tile.depth != row->k && (tile.depth > row->k || row->a.type.is_float())) return std::nullopt;
  absl::string_view place = parts[2];
  tile.is_b = parts[1] == "b";
  tile.by_columns = absl::ConsumePrefix(&place, "trans_");
  const std::optional<std::string> scope = ScopeNamed(place);
  if (!scope) return std::nullopt;
  ElementText map =
      ElementOf(LayoutOfFragment(tile.is_b ? FragmentOperand::kB : FragmentOperand::kA, tile.bits, tile.depth));
  if (tile.by_columns) std::swap(map.row, map.column);
  // There is no load that transposes bytes, and none from global memory: lanes load their elements.
  const bool by_instruction = *scope != "global" && (tile.bits == 16 || tile.is_b == tile.by_columns);
  if ((tile.swizzled || tile.depth == kDeep) && !by_instruction) return std::nullopt;
  const Words outer = {{"MARK", by_instruction ? "cuda.instruction" : "cuda.registers"},
                       {"VALUE", by_instruction ? LoadCall(tile) : "FRAGMENT_C * 8"}};
  const std::string text = absl::StrReplaceAll(tile.swizzled ? SwizzledLoad(kCopy) : std::string(kCopy), outer);
  return IntrinOfRow(text,
                     {{"TALL", "16"},
                      {"WIDE", absl::StrCat(tile.depth)},
                      {"STEP", absl::StrCat(tile.depth)},
                      {"ELEMENTS", absl::StrCat(map.elements)},
                      {"TYPE", row->a.type.ToString()},
                      {"FROM", *scope},
                      {"TO", tile.is_b ? "wmma.matrix_b" : "wmma.matrix_a"},
                      {"FRAGMENT_C", FragmentNumber("C", "sc", 16, tile.depth)},
                      {"ROW", map.row},
                      {"COLUMN", map.column}},
                     name, *row);
}

std::optional<TensorIntrin> MakeStore(std::string_view name, absl::string_view rest) {
  if (ConsumeDepth(&rest) != kDepth) return std::nullopt;
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, absl::MaxSplits('_', 1));
  const std::optional<DataType> sum = SumNamed(parts[0]);
  const std::optional<std::string> scope = parts.size() == 2 ? ScopeNamed(parts[1]) : std::nullopt;
  if (!sum || !scope) return std::nullopt;
  const ElementText map = ElementOf(LayoutOfFragment(FragmentOperand::kSum));
  const Words outer = {{"MARK", "cuda.registers"}, {"VALUE", "FRAGMENT_A * 8"}};
  return IntrinOfSums(absl::StrReplaceAll(kCopy, outer),
                      And(TileWords(), {{"TYPE", sum->ToString()},
                                        {"FROM", "wmma.accumulator"},
                                        {"TO", *scope},
                                        {"FRAGMENT_A", FragmentNumber("A", "sa")},
                                        {"ROW", map.row},
                                        {"COLUMN", map.column}}),
                      name, *sum);
}

std::optional<TensorIntrin> MakeFill(std::string_view name, absl::string_view rest) {
  if (ConsumeDepth(&rest) != kDepth) return std::nullopt;
  const std::optional<DataType> sum = SumNamed(rest);
  if (!sum) return std::nullopt;
  const ElementText map = ElementOf(LayoutOfFragment(FragmentOperand::kSum));
  return IntrinOfSums(kFill,
                      And(TileWords(), {{"TYPE", sum->ToString()},
                                        {"FRAGMENT_C", FragmentNumber("C", "sc")},
                                        {"ROW", map.row},
                                        {"COLUMN", map.column}}),
                      name, *sum);
}

// C += A * B for tiles of so many columns, and of `depth` along K: the row's instruction for each 8 columns and as much
// of the depth as it takes, which are registers in their order. `words`: scopes, fragments.
TensorIntrin Product(const MachineInstruction& row, bool trans_a, bool trans_b, const Words& words, int columns,
                     int depth, std::string_view name) {
  const ElementText map = ElementOf(LayoutOfFragment(FragmentOperand::kSum));
  const bool packed = row.c.type.bits() == 16;
  const int per_part = packed ? 2 : 4, parts = columns / row.n;
  const int registers_a = row.m * row.k * row.a.type.bits() / 1024, registers_b = registers_a / 2;
  const auto a = [&](const std::string& line, const std::string& k) {
    return FactorOf(row, trans_a ? absl::StrCat("A[", k, ", ", line, "]") : absl::StrCat("A[", line, ", ", k, "]"));
  };
  const auto b = [&](const std::string& k, const std::string& column) {
    return FactorOf(row, trans_b ? absl::StrCat("B[", column, ", ", k, "]") : absl::StrCat("B[", k, ", ", column, "]"));
  };
  const auto sides = [&](bool swapped, int first, int second) {
    return swapped ? std::pair(second, first) : std::pair(first, second);
  };
  const auto shape = [](std::pair<int, int> s) { return absl::StrCat(s.first, ", ", s.second); };
  const auto region = [](std::pair<int, int> s) { return absl::StrCat("0:", s.first, ", 0:", s.second); };
  const auto sides_a = sides(trans_a, row.m, depth), sides_b = sides(trans_b, depth, columns);
  const int steps = depth / row.k;
  std::string text(kSync);
  for (int part = 0; part < parts; ++part) {
    const std::string column = part == 0 ? map.column : absl::StrCat(8 * part, " + ", map.column);
    for (int step = 0; step < steps; ++step) {
      const std::string k = step == 0 ? "k" : absl::StrCat(step * row.k, " + k");
      absl::StrAppend(
          &text, absl::StrReplaceAll(kSyncOfColumns, {{"OF_COLUMN", column},
                                                      {"FACTOR_A", a(map.row, k)},
                                                      {"FACTOR_B", b(k, column)},
                                                      {"FIRST_A", absl::StrCat(step * registers_a)},
                                                      {"FIRST_B", absl::StrCat((part * steps + step) * registers_b)},
                                                      {"FIRST_C", absl::StrCat(part * per_part)}}));
    }
  }
  return IntrinOfRow(text,
                     And(words, {{"SHAPE_A", shape(sides_a)},
                                 {"SHAPE_B", shape(sides_b)},
                                 {"REGION_A", region(sides_a)},
                                 {"REGION_B", region(sides_b)},
                                 {"TYPE_A", row.a.type.ToString()},
                                 {"TYPE_B", row.b.type.ToString()},
                                 {"TYPE_C", row.c.type.ToString()},
                                 {"TYPE_D", packed ? "uint32" : row.c.type.ToString()},
                                 {"MMA", MmaFunction(row)},
                                 {"REGISTERS_A", absl::StrCat(registers_a * steps)},
                                 {"REGISTERS_B", absl::StrCat(registers_b * steps * parts)},
                                 {"REGISTERS_C", absl::StrCat(per_part * parts)},
                                 {"INNER_K", absl::StrCat(row.k)},
                                 {"PART_A", absl::StrCat(registers_a)},
                                 {"HALF_B", absl::StrCat(registers_b)},
                                 {"PART_C", absl::StrCat(per_part)},
                                 {"TERM_A", a("vi", "vk")},
                                 {"TERM_B", b("vk", "vj")},
                                 {"ROW", map.row}}),
                     name, row);
}

std::optional<TensorIntrin> MakeSync(std::string_view name, absl::string_view rest) {
  const std::optional<int> depth = ConsumeDepth(&rest);
  const bool by_halves = absl::ConsumeSuffix(&rest, "_k8");
  const bool trans = absl::ConsumeSuffix(&rest, "_trans"), trans_a = absl::ConsumeSuffix(&rest, "_trans_a");
  const std::string_view types(rest.data(), rest.size());
  const MachineInstruction* row = InstructionNamed("mma", types, by_halves ? "k8" : "");
  if (row != nullptr && row->k != depth && !by_halves) row = InstructionNamed("mma", types, "k16");
  // Bytes are not transposed on their way into fragments of 32 of them.
  const bool fits = row != nullptr && (by_halves ? 2 * row->k : row->k) == depth;
  if (!fits || (row->k == kDeep && (trans_a || !trans))) return std::nullopt;
  const int wide = *depth;
  const Words words = {{"DEPTH", absl::StrCat(wide)},
                       {"WIDE", "16"},
                       {"STEP", "16"},
                       {"SCOPE_A", "wmma.matrix_a"},
                       {"SCOPE_B", "wmma.matrix_b"},
                       {"SCOPE_C", "wmma.accumulator"},
                       {"FRAGMENT_A", FragmentNumber("A", "sa", 16, wide)},
                       {"FRAGMENT_B", FragmentNumber("B", "sb", 16, wide)},
                       {"FRAGMENT_C", FragmentNumber("C", "sc")}};
  return Product(*row, trans_a, trans, words, 16, wide, name);
}

std::optional<TensorIntrin> Make(std::string_view name) {
  absl::string_view rest(name.data(), name.size());
  if (!absl::ConsumePrefix(&rest, kPrefix)) return std::nullopt;
  const std::pair<absl::string_view, std::optional<TensorIntrin> (*)(std::string_view, absl::string_view)> kinds[] = {
      {"load_", MakeLoad}, {"store_", MakeStore}, {"fill_", MakeFill}, {"sync_", MakeSync}};
  for (const auto& [kind, make] : kinds) {
    absl::string_view members = rest;
    if (absl::ConsumePrefix(&members, kind)) return make(name, members);
  }
  return std::nullopt;
}

// Fragments of mma.sync of 16 x 8 x 8. One ldmatrix brings 32 rows of A or 32 columns of B, so the fragments of A lie
// in pairs, one of 16 rows below the other.
Words SmallTileWords() {
  const std::string rows = "T.max(sa, 1)";
  return {{"DEPTH", "8"},
          {"WIDE", "8"},
          {"STEP", "8"},
          {"SCOPE_A", "m16n8k8.matrixA"},
          {"SCOPE_B", "m16n8k8.matrixB"},
          {"SCOPE_C", "m16n8k8.matrixC"},
          {"FRAGMENT_A",
           absl::StrCat("(", FragmentNumber("A", "sa", 32, 8), " * 2 + A.elem_offset // ", rows, " % 32 // 16)")},
          {"FRAGMENT_B", FragmentNumber("B", "sb", 8, 8)},
          {"FRAGMENT_C", FragmentNumber("C", "sc", 16, 8)}};
}
constexpr absl::string_view kSmallShape = "m16n8k8_";

std::optional<TensorIntrin> MakeSmallLoad(std::string_view name, absl::string_view rest) {
  // f16_A_shared_dyn
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, absl::MaxSplits('_', 2));
  if (parts.size() != 3 || (parts[1] != "A" && parts[1] != "B")) return std::nullopt;
  const MachineInstruction* row = InstructionNamed("ldmatrix", {parts[0].data(), parts[0].size()});
  const std::optional<std::string> scope = ScopeNamed(parts[2]);
  if (row == nullptr || row->a.type.bits() != 16 || !scope || *scope == "global") return std::nullopt;
  const bool is_b = parts[1] == "B";
  // 32 rows of A, or columns of B: those of two or four instructions.
  const MachineInstruction& product = *InstructionNamed("mma", "f16f16f32", "k8");
  const ElementText element = ElementOf(is_b ? LayoutOf(product.b, product.k, product.n).Repeat(1, 4, 1)
                                             : LayoutOf(product.a, product.m, product.k).Repeat(0, 2, 1));
  const std::string fragment =
      is_b ? FragmentNumber("C", "sc", 8, 8) : absl::StrCat(FragmentNumber("C", "sc", 32, 8), " * 4");
  const std::string call = absl::StrCat(
      "T.cuda.ldmatrix_x4", is_b ? "_trans" : "", "(T.tvm_access_ptr(T.type_annotation(\"uint32\"), C.data, ", fragment,
      ", 4, 2), T.tvm_access_ptr(T.type_annotation(\"TYPE\"), A.data, A.elem_offset + ",
      is_b ? "sa * (tx % 8) + tx // 8 * 8" : "sa * tx", ", 8, 1))");
  const std::string text = absl::StrReplaceAll(kCopy, {{"MARK", "cuda.instruction"}, {"VALUE", call}});
  return IntrinOfRow(text,
                     {{"TALL", is_b ? "8" : "32"},
                      {"WIDE", is_b ? "32" : "8"},
                      {"STEP", "8"},
                      {"ELEMENTS", "8"},
                      {"TYPE", row->a.type.ToString()},
                      {"FROM", *scope},
                      {"TO", is_b ? "m16n8k8.matrixB" : "m16n8k8.matrixA"},
                      {"ROW", element.row},
                      {"COLUMN", element.column}},
                     name, *row);
}

// A fill, or a store, of sums.
std::optional<TensorIntrin> OfSmallSums(absl::string_view text, absl::string_view sum_name, std::string_view name) {
  const std::optional<DataType> sum = SumNamed(sum_name);
  if (!sum || !sum->is_float()) return std::nullopt;
  const ElementText map = ElementOf(LayoutOfFragment(FragmentOperand::kSum));
  return IntrinOfSums(text,
                      {{"TALL", "16"},
                       {"WIDE", "8"},
                       {"STEP", "8"},
                       {"ELEMENTS", "4"},
                       {"TYPE", sum->ToString()},
                       {"SCOPE_C", "m16n8k8.matrixC"},
                       {"FROM", "m16n8k8.matrixC"},
                       {"TO", "shared.dyn"},
                       {"FRAGMENT_C", FragmentNumber("C", "sc", 16, 8)},
                       {"FRAGMENT_A", FragmentNumber("A", "sa", 16, 8)},
                       {"ROW", map.row},
                       {"COLUMN", map.column}},
                      name, *sum);
}

std::optional<TensorIntrin> MakeSmall(std::string_view name) {
  absl::string_view rest(name.data(), name.size());
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, absl::MaxSplits('_', 2));
  if (parts.size() != 3 || parts[0] != "mma") return std::nullopt;
  absl::string_view members = parts[2];
  if (!absl::ConsumePrefix(&members, kSmallShape)) return std::nullopt;
  if (parts[1] == "init") return OfSmallSums(kFill, members, name);
  if (parts[1] == "load") return MakeSmallLoad(name, members);
  if (parts[1] == "store" && absl::ConsumeSuffix(&members, "_global")) {
    const std::string text =
        absl::StrReplaceAll(kCopy, {{"MARK", "cuda.registers"}, {"VALUE", "FRAGMENT_A * ELEMENTS"}});
    return OfSmallSums(text, members, name);
  }
  const MachineInstruction* row = InstructionNamed("mma", {members.data(), members.size()}, "k8");
  if (parts[1] != "sync" || row == nullptr) return std::nullopt;
  return Product(*row, false, false, SmallTileWords(), row->n, row->k, name);
}

}  // namespace

IntrinFamily WmmaFamily() {
  return {.prefix = std::string(kPrefix),
          .description = "wmma_{load|fill|sync|store}_16x16x{16|32}_...: matrix products of a warp (sm_80; _k8: sm_75)",
          .make = Make,
          .examples = {"wmma_load_16x16x16_f16_a_shared",
                       "wmma_load_16x16x16_f16_a_shared_dyn",
                       "wmma_load_16x16x16_f16_b_shared",
                       "wmma_load_16x16x16_f16_b_trans_shared",
                       "wmma_load_16x16x16_f16_a_trans_shared",
                       "wmma_load_16x16x16_s8_a_trans_shared_dyn",
                       "wmma_load_16x16x16_s8_a_shared",
                       "wmma_load_16x16x16_s8_b_shared",
                       "wmma_load_16x16x16_s8_b_trans_shared",
                       "wmma_load_16x16x16_bf16_a_global",
                       "wmma_load_16x16x32_s8_a_shared_dyn",
                       "wmma_load_16x16x32_s8_b_trans_shared_dyn_swizzled",
                       "wmma_load_16x16x32_e4m3_a_shared_dyn_swizzled",
                       "wmma_load_16x16x16_f16_b_shared_dyn_swizzled",
                       "wmma_load_16x16x16_f16_a_shared_dyn_swizzled",
                       "wmma_sync_16x16x16_f16f16f32",
                       "wmma_sync_16x16x16_f16f16f32_trans",
                       "wmma_sync_16x16x16_f16f16f32_k8",
                       "wmma_sync_16x16x16_f16f16f16_trans_k8",
                       "wmma_sync_16x16x16_f16f16f32_trans_a",
                       "wmma_sync_16x16x16_s8s8s32_trans_a_trans",
                       "wmma_sync_16x16x16_f16f16f16",
                       "wmma_sync_16x16x16_bf16bf16f32",
                       "wmma_sync_16x16x16_s8s8s32_trans",
                       "wmma_sync_16x16x16_u8s8s32",
                       "wmma_sync_16x16x32_s8s8s32_trans",
                       "wmma_sync_16x16x32_e4m3e4m3f32_trans",
                       "wmma_fill_16x16x16_f32",
                       "wmma_fill_16x16x16_s32",
                       "wmma_store_16x16x16_f32_shared",
                       "wmma_store_16x16x16_f16_global"}};
}

IntrinFamily M16n8k8Family() {
  return {.prefix = "mma_",
          .description = "mma_{init|load|sync|store}_m16n8k8_...: matrix products of a warp by small tiles (sm_80)",
          .make = MakeSmall,
          .examples = {"mma_init_m16n8k8_f16", "mma_init_m16n8k8_f32", "mma_load_m16n8k8_f16_A_shared_dyn",
                       "mma_load_m16n8k8_f16_B_shared_dyn", "mma_sync_m16n8k8_f16f16f16", "mma_sync_m16n8k8_f16f16f32",
                       "mma_sync_m16n8k8_bf16bf16f32", "mma_store_m16n8k8_f16_global", "mma_store_m16n8k8_f32_global"}};
}

}  // namespace tilewright
