#include "intrin/amx_tile.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "intrin/from_text.h"
#include "target/amx_registers.h"

namespace tilewright {
namespace {

constexpr absl::string_view kPrefix = "amx_", kZeroPrefix = "amx_zero_";
absl::string_view AsAbsl(std::string_view text) { return {text.data(), text.size()}; }

// Upper-case words are filled in: the rows of C and A as a shape, as a region, as loops and iterators with their kinds,
// the strides of these in A and C, in the call with that of tiles first, and their numbers.
constexpr absl::string_view kTile = R"(
@T.prim_func
def desc(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (SHAPE, DEPTH), "TYPE_A", offset_factor=1)
    B = T.match_buffer(b, (GROUPS, COLUMNS, GROUP), "TYPE_B", offset_factor=1)
    C = T.match_buffer(c, (SHAPE, COLUMNS), "TYPE_C", offset_factor=1)
    with T.block("root"):
        T.reads(C[REGION, 0:COLUMNS], A[REGION, 0:DEPTH], B[0:GROUPS, 0:COLUMNS, 0:GROUP])
        T.writes(C[REGION, 0:COLUMNS])
        for LOOPS, j, k in T.grid(SHAPE, COLUMNS, DEPTH):
            with T.block("tile"):
                ITERATORS, vj, vk = T.axis.remap("KINDSSR", [LOOPS, j, k])
                C[ITERATORS, vj] = C[ITERATORS, vj] + T.Cast("TYPE_C", A[ITERATORS, vk]) * T.Cast("TYPE_C", B[vk // GROUP, vj, vk % GROUP])

@T.prim_func
def impl(a: T.handle, b: T.handle, c: T.handle):
    sa = T.int32()
    sb = T.int32()
    sc = T.int32()
    ta = T.int32()
    tc = T.int32()
    A = T.match_buffer(a, (SHAPE, DEPTH), "TYPE_A", offset_factor=1, strides=[STRIDES_A, 1])
    B = T.match_buffer(b, (GROUPS, COLUMNS, GROUP), "TYPE_B", offset_factor=1, strides=[sb, GROUP, 1])
    C = T.match_buffer(c, (SHAPE, COLUMNS), "TYPE_C", offset_factor=1, strides=[STRIDES_C, 1])
    with T.block("root"):
        T.reads(C[REGION, 0:COLUMNS], A[REGION, 0:DEPTH], B[0:GROUPS, 0:COLUMNS, 0:GROUP])
        T.writes(C[REGION, 0:COLUMNS])
        T.evaluate(T.amx_dot_add(C.access_ptr("rw"), CALL_C, A.access_ptr("r"), CALL_A, B.access_ptr("r"), sb, TILES, COLUMNS, DEPTH))
)";

constexpr absl::string_view kZero = R"(
@T.prim_func
def desc(c: T.handle):
    C = T.match_buffer(c, (SHAPE, COLUMNS), "TYPE_C", offset_factor=1)
    with T.block("root"):
        T.reads()
        T.writes(C[REGION, 0:COLUMNS])
        for LOOPS, j in T.grid(SHAPE, COLUMNS):
            with T.block("tile"):
                ITERATORS, vj = T.axis.remap("KINDSS", [LOOPS, j])
                C[ITERATORS, vj] = ZERO

@T.prim_func
def impl(c: T.handle):
    sc = T.int32()
    tc = T.int32()
    C = T.match_buffer(c, (SHAPE, COLUMNS), "TYPE_C", offset_factor=1, strides=[STRIDES_C, 1])
    with T.block("root"):
        T.reads()
        T.writes(C[REGION, 0:COLUMNS])
        T.evaluate(T.amx_zero(C.access_ptr("w"), CALL_C, TILES, COLUMNS))
)";

// The numbers of a name such as "2x14x32x32"; empty when there is something else.
std::vector<int> SizesOf(absl::string_view text) {
  std::vector<int> sizes;
  for (const absl::string_view part : absl::StrSplit(text, 'x')) {
    if (!absl::SimpleAtoi(part, &sizes.emplace_back())) return {};
  }
  return sizes;
}

// What stands for the first of `sizes`: [rows, columns], or [row tiles, rows, columns]. Nothing when the registers do
// not hold them.
std::optional<AmxTiles> TilesOf(const std::vector<int>& sizes) {
  if (sizes.size() == 2) return AmxTilesOf(sizes[0], sizes[1]);
  return sizes.size() == 3 ? AmxTilesOf(sizes[0], sizes[1], sizes[2]) : std::nullopt;
}

Words WordsOf(const AmxTiles& tiles, bool tiles_apart) {
  const int rows = tiles.row_tiles * tiles.rows, columns = tiles.column_tiles * tiles.columns;
  Words words = {{"COLUMNS", absl::StrCat(columns)}, {"TILES", absl::StrCat(tiles.row_tiles, ", ", tiles.rows)}};
  const auto add = [&](absl::string_view word, const std::string& together, const std::string& apart) {
    words.emplace_back(word, tiles_apart ? apart : together);
  };
  add("SHAPE", absl::StrCat(rows), absl::StrCat(tiles.row_tiles, ", ", tiles.rows));
  add("REGION", absl::StrCat("0:", rows), absl::StrCat("0:", tiles.row_tiles, ", 0:", tiles.rows));
  add("LOOPS", "i", "t, i");
  add("ITERATORS", "vi", "vt, vi");
  add("KINDS", "S", "SS");
  add("STRIDES_A", "sa", "ta, sa");
  add("STRIDES_C", "sc", "tc, sc");
  add("CALL_A", absl::StrCat("sa * ", tiles.rows, ", sa"), "ta, sa");
  add("CALL_C", absl::StrCat("sc * ", tiles.rows, ", sc"), "tc, sc");
  return words;
}

std::optional<TensorIntrin> Make(std::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(AsAbsl(name).substr(kPrefix.size()), '_');
  const MachineInstruction* instruction = InstructionNamed("amx", {parts[0].data(), parts[0].size()});
  if (parts.size() != 2 || instruction == nullptr) return std::nullopt;
  std::vector<int> sizes = SizesOf(parts[1]);
  if (sizes.empty()) return std::nullopt;
  const int depth = sizes.back(), group = instruction->group();
  sizes.pop_back();
  const std::optional<AmxTiles> tiles = TilesOf(sizes);
  if (!tiles || depth < group || depth % group != 0 || depth > instruction->k) return std::nullopt;
  Words words = WordsOf(*tiles, sizes.size() == 3);
  words.emplace_back("TYPE_A", instruction->a.type.ToString());
  words.emplace_back("TYPE_B", instruction->b.type.ToString());
  words.emplace_back("TYPE_C", instruction->c.type.ToString());
  words.emplace_back("DEPTH", absl::StrCat(depth));
  words.emplace_back("GROUPS", absl::StrCat(depth / group));
  words.emplace_back("GROUP", absl::StrCat(group));
  TensorIntrin intrin = IntrinFromText(kTile, words, name, {});
  intrin.features = instruction->FeatureNames();
  intrin.instruction = instruction;
  return intrin;
}

std::optional<TensorIntrin> MakeZero(std::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(AsAbsl(name).substr(kZeroPrefix.size()), '_');
  if (parts.size() != 2 || (parts[0] != "f32" && parts[0] != "s32")) return std::nullopt;
  const std::vector<int> sizes = SizesOf(parts[1]);
  const std::optional<AmxTiles> tiles = TilesOf(sizes);
  if (!tiles) return std::nullopt;
  const bool is_float = parts[0] == "f32";
  Words words = WordsOf(*tiles, sizes.size() == 3);
  words.emplace_back("TYPE_C", is_float ? "float32" : "int32");
  words.emplace_back("ZERO", is_float ? "T.float32(0)" : "0");
  TensorIntrin intrin = IntrinFromText(kZero, words, name, {});
  intrin.features = {"amx-tile"};
  return intrin;
}

// "2x14x32", or "28x32" where the rows of C are not apart.
std::string SizesText(int row_tiles, int rows, int columns) {
  return row_tiles == 0 ? absl::StrCat(rows, "x", columns) : absl::StrCat(row_tiles, "x", rows, "x", columns);
}

}  // namespace

std::string AmxTileName(const MachineInstruction& instruction, int row_tiles, int mr, int nr, int kr) {
  return absl::StrCat(kPrefix, AsAbsl(instruction.types), "_", SizesText(row_tiles, mr, nr), "x", kr);
}

std::string AmxZeroName(const MachineInstruction& instruction, int row_tiles, int mr, int nr) {
  return absl::StrCat(kZeroPrefix, instruction.c.type.is_float() ? "f32" : "s32", "_", SizesText(row_tiles, mr, nr));
}

IntrinFamily AmxZeroFamily() {
  return {.prefix = std::string(kZeroPrefix),
          .description = "amx_zero_{f32|s32}_[{T}x]{MR}x{NR}: C[T, MR, NR] = 0 by tile registers",
          .make = MakeZero,
          .examples = {"amx_zero_f32_32x32", "amx_zero_s32_28x32", "amx_zero_s32_1x7", "amx_zero_f32_4x7x16"}};
}

IntrinFamily AmxTileFamily() {
  return {
      .prefix = std::string(kPrefix),
      .description =
          "amx_{bf16|s8s8|s8u8|u8s8|u8u8}_[{T}x]{MR}x{NR}x{KR}: C[T, MR, NR] += A[T, MR, KR] * B[KR / V, NR, V] by "
          "tile registers, V = 2 (bf16) or 4",
      .make = Make,
      .examples = {"amx_bf16_16x16x32", "amx_u8s8_16x16x64", "amx_s8s8_16x16x64", "amx_s8u8_3x16x8", "amx_u8u8_16x5x4",
                   "amx_bf16_32x32x32", "amx_u8s8_28x32x64", "amx_s8s8_14x64x40", "amx_bf16_96x7x6",
                   "amx_u8s8_10x96x12", "amx_bf16_2x14x32x32", "amx_s8s8_4x7x16x64", "amx_u8s8_1x9x64x20"}};
}

}  // namespace tilewright
