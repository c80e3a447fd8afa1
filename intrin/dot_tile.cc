#include "intrin/dot_tile.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "intrin/from_text.h"

namespace tilewright {
namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }
std::string_view Std(absl::string_view text) { return {text.data(), text.size()}; }

// {V}: neighbours along K that one instruction multiplies, of types {TA} and {TB}; {GROUPS} of these are KR.
constexpr absl::string_view kDot = R"(
@T.prim_func
def desc(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, ({MR}, {KR}), "{TA}", offset_factor=1, scope="register")
    B = T.match_buffer(b, ({GROUPS}, {NR}, {V}), "{TB}", offset_factor=1)
    C = T.match_buffer(c, ({MR}, {NR}), "{TC}", offset_factor=1, scope="register")
    with T.block("root"):
        T.reads(C[0:{MR}, 0:{NR}], A[0:{MR}, 0:{KR}], B[0:{GROUPS}, 0:{NR}, 0:{V}])
        T.writes(C[0:{MR}, 0:{NR}])
        for i, j, k in T.grid({MR}, {NR}, {KR}):
            with T.block("tile"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + T.Cast("{TC}", A[vi, vk]) * T.Cast("{TC}", B[vk // {V}, vj, vk % {V}])

@T.prim_func
def impl(a: T.handle, b: T.handle, c: T.handle):
    sa = T.int32()
    sb = T.int32()
    sc = T.int32()
    A = T.match_buffer(a, ({MR}, {KR}), "{TA}", offset_factor=1, strides=[sa, 1], scope="register")
    B = T.match_buffer(b, ({GROUPS}, {NR}, {V}), "{TB}", offset_factor=1, strides=[sb, {V}, 1])
    C = T.match_buffer(c, ({MR}, {NR}), "{TC}", offset_factor=1, strides=[sc, 1], scope="register")
    with T.block("root"):
        T.reads(C[0:{MR}, 0:{NR}], A[0:{MR}, 0:{KR}], B[0:{GROUPS}, 0:{NR}, 0:{V}])
        T.writes(C[0:{MR}, 0:{NR}])
        for k in T.unroll({GROUPS}):
            for i in T.unroll({MR}):
                for v in T.unroll({VECTORS}):
                    for l in T.vectorized({LANES}):
                        C[i, v * {LANES} + l] = T.dot_add(C[i, v * {LANES} + l], A[i, T.Ramp(k * {V}, 1, {V})],
                                                          B[k, v * {LANES} + l, T.Ramp(0, 1, {V})])
)";

// A vector of C is two rows of two columns. {TWICE_ROWS} and {TWICE_COLUMNS} are the lanes of two groups of A and of B,
// each as often as it is a factor. {INNER} runs over the operand of which there are fewer vectors: it is held in
// registers.
constexpr absl::string_view kMmla = R"(
@T.prim_func
def desc(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, ({MR}, {KR}), "{TA}", offset_factor=1, scope="register")
    B = T.match_buffer(b, ({GROUPS}, {NR}, {V}), "{TB}", offset_factor=1)
    C = T.match_buffer(c, ({PAIRS}, {VECTORS}, 4), "{TC}", offset_factor=1, scope="register")
    with T.block("root"):
        T.reads(C[0:{PAIRS}, 0:{VECTORS}, 0:4], A[0:{MR}, 0:{KR}], B[0:{GROUPS}, 0:{NR}, 0:{V}])
        T.writes(C[0:{PAIRS}, 0:{VECTORS}, 0:4])
        for i, j, k in T.grid({MR}, {NR}, {KR}):
            with T.block("tile"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi // 2, vj // 2, vi % 2 * 2 + vj % 2] = C[vi // 2, vj // 2, vi % 2 * 2 + vj % 2] + T.Cast("{TC}", A[vi, vk]) * T.Cast("{TC}", B[vk // {V}, vj, vk % {V}])

@T.prim_func
def impl(a: T.handle, b: T.handle, c: T.handle):
    sa = T.int32()
    sb = T.int32()
    sc = T.int32()
    A = T.match_buffer(a, ({MR}, {KR}), "{TA}", offset_factor=1, strides=[sa, 1], scope="register")
    B = T.match_buffer(b, ({GROUPS}, {NR}, {V}), "{TB}", offset_factor=1, strides=[sb, {V}, 1])
    C = T.match_buffer(c, ({PAIRS}, {VECTORS}, 4), "{TC}", offset_factor=1, strides=[sc, 4, 1], scope="register")
    with T.block("root"):
        T.reads(C[0:{PAIRS}, 0:{VECTORS}, 0:4], A[0:{MR}, 0:{KR}], B[0:{GROUPS}, 0:{NR}, 0:{V}])
        T.writes(C[0:{PAIRS}, 0:{VECTORS}, 0:4])
        for k in T.unroll({GROUPS}):
            for {OUTER}:
                for {INNER}:
                    C[i, v, T.Ramp(0, 1, 4)] = T.dot_add(C[i, v, T.Ramp(0, 1, 4)],
                        T.Shuffle([A[i * 2, T.Ramp(k * {V}, 1, {V})], A[i * 2 + 1, T.Ramp(k * {V}, 1, {V})]], [{TWICE_ROWS}]),
                        T.Shuffle([B[k, v * 2, T.Ramp(0, 1, {V})], B[k, v * 2 + 1, T.Ramp(0, 1, {V})]], [{TWICE_COLUMNS}]))
)";

// The lanes of a vector of two groups: each group, or (`pairs`) both, follows itself.
std::string Twice(int group, bool pairs) {
  std::string lanes;
  for (int lane = 0; lane < 4 * group; ++lane) {
    const int block = lane / group, of_block = pairs ? block % 2 : block / 2;
    absl::StrAppend(&lanes, lane == 0 ? "" : ", ", of_block * group + lane % group);
  }
  return lanes;
}

std::optional<TensorIntrin> Make(std::string_view full_name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(View(full_name), '_');
  if (parts.size() != 4) return std::nullopt;
  const MachineInstruction* instruction = InstructionNamed(Std(parts[0]), Std(parts[1]), Std(parts[3]));
  const std::vector<absl::string_view> sizes = absl::StrSplit(parts[2], 'x');
  int mr, nr, kr;
  if (instruction == nullptr || sizes.size() != 3 || !absl::SimpleAtoi(sizes[0], &mr) ||
      !absl::SimpleAtoi(sizes[1], &nr) || !absl::SimpleAtoi(sizes[2], &kr)) {
    return std::nullopt;
  }
  const int group = instruction->group(), lanes = instruction->n, pairs = mr / instruction->m;
  if (mr < 1 || mr % instruction->m != 0 || nr < lanes || nr % lanes != 0) return std::nullopt;
  if (kr < group || kr % group != 0 || kr > kMostDotGroups * group) return std::nullopt;
  const int vectors = nr / lanes, held = instruction->m == 1 ? vectors : std::min(vectors, pairs);
  const std::string rows_loop = absl::StrCat("i in T.unroll(", pairs, ")"),
                    columns_loop = absl::StrCat("v in T.unroll(", vectors, ")");
  if (pairs * vectors + instruction->OtherRegisters(held) > instruction->registers) return std::nullopt;

  const std::string text =
      absl::StrReplaceAll(instruction->m == 1 ? kDot : kMmla, {{"{MR}", absl::StrCat(mr)},
                                                               {"{NR}", absl::StrCat(nr)},
                                                               {"{KR}", absl::StrCat(kr)},
                                                               {"{V}", absl::StrCat(group)},
                                                               {"{GROUPS}", absl::StrCat(kr / group)},
                                                               {"{TA}", instruction->a.type.ToString()},
                                                               {"{TB}", instruction->b.type.ToString()},
                                                               {"{TC}", instruction->c.type.ToString()},
                                                               {"{LANES}", absl::StrCat(lanes)},
                                                               {"{VECTORS}", absl::StrCat(vectors)},
                                                               {"{PAIRS}", absl::StrCat(pairs)},
                                                               {"{OUTER}", held == vectors ? rows_loop : columns_loop},
                                                               {"{INNER}", held == vectors ? columns_loop : rows_loop},
                                                               {"{TWICE_ROWS}", Twice(group, false)},
                                                               {"{TWICE_COLUMNS}", Twice(group, true)}});
  return IntrinOfRow(text, {}, full_name, *instruction);
}

}  // namespace

std::string DotTileName(const MachineInstruction& instruction, int mr, int nr, int kr) {
  return absl::StrCat(View(instruction.family), "_", View(instruction.types), "_", mr, "x", nr, "x", kr, "_",
                      View(instruction.suffix));
}

IntrinFamily DotTileFamily() {
  return {.prefix = "dot_",
          .description =
              "dot_{bf16|u8s8|s8s8|u8u8|s8u8|s16s16}_{MR}x{NR}x{KR}_"
              "{avx512bf16|avx512vnni|avxvnni|avxvnniint8|avx512bw|avx2|bf16|dotprod|i8mm}: "
              "C[MR, NR] += A[MR, KR] * B[KR / V, NR, V] in registers, V = 2 (bf16, s16) or 4",
          .make = Make,
          .examples = {"dot_bf16_12x32x2_avx512bf16", "dot_bf16_14x32x4_avx512bf16",   "dot_bf16_6x64x2_avx512bf16",
                       "dot_bf16_1x16x6_avx512bf16",  "dot_bf16_2x32x64_avx512bf16",   "dot_u8s8_12x32x4_avx512vnni",
                       "dot_u8s8_14x32x8_avx512vnni", "dot_u8s8_1x64x4_avx512vnni",    "dot_u8s8_6x16x4_avxvnni",
                       "dot_s8s8_4x24x4_avxvnniint8", "dot_s8s8_12x32x16_avx512vnni",  "dot_s8s8_1x16x4_avx512vnni",
                       "dot_s8s8_4x16x8_avxvnni",     "dot_s16s16_12x32x2_avx512vnni", "dot_s16s16_2x16x8_avx512vnni",
                       "dot_s16s16_4x16x4_avxvnni",   "dot_s16s16_4x16x4_avx2",        "dot_s16s16_12x32x2_avx512bw",
                       "dot_bf16_8x8x4_bf16",         "dot_u8s8_6x12x8_i8mm",          "dot_s8s8_8x8x16_dotprod",
                       "dot_u8u8_4x16x4_dotprod",     "dot_s8u8_12x32x8_avx512vnni",   "dot_s8u8_4x16x8_avxvnni",
                       "dot_s8u8_3x16x8_avx2",        "dot_s8u8_6x12x8_i8mm",          "dot_u8s8_6x8x16_dotprod",
                       "dot_s8u8_1x12x8_dotprod",     "dot_u8s8_2x16x8_avx2",          "dot_s8s8_1x32x4_avx2"}};
}

IntrinFamily MmlaTileFamily() {
  return {.prefix = "mmla_",
          .description =
              "mmla_{s8s8|u8u8|u8s8|bf16}_{MR}x{NR}x{KR}_{i8mm|bf16}: C[MR, NR] += A[MR, KR] * B[KR / V, NR, V], C in "
              "registers of two rows by two columns, V = 4 (bf16) or 8",
          .make = Make,
          .examples = {"mmla_s8s8_8x8x8_i8mm", "mmla_u8s8_8x12x16_i8mm", "mmla_u8u8_2x2x8_i8mm", "mmla_bf16_8x8x4_bf16",
                       "mmla_bf16_4x10x12_bf16", "mmla_s8s8_4x24x8_i8mm", "mmla_bf16_6x18x8_bf16"}};
}

}  // namespace tilewright
