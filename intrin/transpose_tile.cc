#include "intrin/transpose_tile.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "base/check.h"
#include "ir/script/parser.h"

namespace tilewright {
namespace {

constexpr absl::string_view kPrefix = "transpose_";
constexpr int kGroupBits = 32;
// Groups of a vector, by what the target has; the widest first.
struct Vectors {
  int lanes;
  std::string_view feature;
};
constexpr Vectors kVectors[] = {{16, "avx512f"}, {8, "avx2"}, {4, "neon"}};
constexpr DataType kTypes[] = {DataType::Float(32), DataType::Int(32), DataType::BFloat16(),
                               DataType::Float(16), DataType::Int(8),  DataType::UInt(8)};

// $0 = L, $1 = W * V, $2 = V, $3 = the type, $4 = the shape of B, $5 = what B is indexed by, $6 = the whole of B
constexpr absl::string_view kDescription = R"(
@T.prim_func
def desc(a: T.handle, b: T.handle):
    A = T.match_buffer(a, ($0, $1), "$3", offset_factor=1)
    B = T.match_buffer(b, ($4), "$3", offset_factor=1)
    with T.block("root"):
        T.reads(A[0:$0, 0:$1])
        T.writes(B[$6])
        for i, k in T.grid($0, $1):
            with T.block("tile"):
                vi, vk = T.axis.remap("SS", [i, k])
                B[$5] = A[vi, vk]
)";

// $7 = strides of B, $8 = the steps
constexpr absl::string_view kImplementation = R"(
@T.prim_func
def impl(a: T.handle, b: T.handle):
    sa = T.int32()
    sb = T.int32()
    A = T.match_buffer(a, ($0, $1), "$3", offset_factor=1, strides=[sa, 1])
    B = T.match_buffer(b, ($4), "$3", offset_factor=1, strides=[sb, $7])
    with T.block("root"):
        T.reads(A[0:$0, 0:$1])
        T.writes(B[$6])
$8)";

// One of the steps: within pairs of vectors `distance` apart, the groups that lie on the wrong side of them change
// places.
std::string Step(int number, int lanes, int width, int distance, absl::string_view type) {
  std::vector<int> upper, lower;
  for (int k = 0; k < lanes; ++k) {
    const bool right = (k & distance) != 0;
    upper.push_back(right ? lanes + k - distance : k);
    lower.push_back(right ? lanes + k : k + distance);
  }
  std::string text = absl::Substitute("        R$0 = T.alloc_buffer(($1, $2), \"$3\", scope=\"register\")\n",
                                      number + 1, width, lanes, type);
  for (int i = 0; i < width; ++i) {
    const int first = i & ~distance, second = first | distance;
    absl::StrAppend(
        &text, absl::Substitute("        R$0[$1, 0:$2] = T.Shuffle([R$3[$4, 0:$2], R$3[$5, 0:$2]], [$6])\n", number + 1,
                                i, lanes, number, first, second, absl::StrJoin(i == first ? upper : lower, ", ")));
  }
  return text;
}

// Vector i of the first step holds the rows i, i + W, i + 2 W, ...
std::string Steps(int lanes, int width, int group, absl::string_view type) {
  const absl::string_view register_type = group == 1 ? type : "int32";
  std::string text = absl::Substitute("        R0 = T.alloc_buffer(($0, $1), \"$2\", scope=\"register\")\n", width,
                                      lanes, register_type);
  for (int row = 0; row < lanes; ++row) {
    const std::string groups = absl::Substitute("A[$0, 0:$1]", row, width * group);
    const int column = row / width * width;
    absl::StrAppend(
        &text, absl::Substitute("        R0[$0, $1:$2] = $3\n", row % width, column, column + width,
                                group == 1   ? groups
                                : width == 1 ? absl::Substitute("T.reinterpret(\"int32\", $0)", groups)
                                             : absl::Substitute("T.reinterpret(\"int32x$0\", $1)", width, groups)));
  }
  int number = 0;
  for (int distance = 1; distance < width; distance *= 2) text += Step(number++, lanes, width, distance, register_type);
  absl::StrAppend(
      &text,
      absl::Substitute(R"(        for k in T.unroll($0):
            for l in T.vectorized($1):
                $2
)",
                       width, lanes,
                       group == 1 ? absl::Substitute("B[k, l] = R$0[k, l]", number)
                                  : absl::Substitute("B[k, l, T.Ramp(0, 1, $1)] = T.reinterpret(\"$2x$1\", R$0[k, l])",
                                                     number, group, type)));
  return text;
}

std::string NameOf(DataType type, int lanes, int width) {
  return absl::StrCat(kPrefix, type.ToString(), "_", lanes, "x", width);
}

TensorIntrin MakeTile(DataType type, int lanes, int width) {
  const std::string type_name = type.ToString();
  const int group = kGroupBits / type.bits();
  const bool single = group == 1;
  const std::string shape =
      single ? absl::Substitute("$0, $1", width, lanes) : absl::Substitute("$0, $1, $2", width, lanes, group);
  const std::string whole =
      single ? absl::Substitute("0:$0, 0:$1", width, lanes) : absl::Substitute("0:$0, 0:$1, 0:$2", width, lanes, group);
  const std::string index = single ? "vk, vi" : absl::Substitute("vk // $0, vi, vk % $0", group);
  TensorIntrin intrin;
  intrin.name = NameOf(type, lanes, width);
  auto parse = [&](absl::string_view text, const char* function) {
    absl::StatusOr<Module> module =
        ParseModule(absl::Substitute(text, lanes, width * group, group, type_name, shape, index, whole,
                                     single ? "1" : absl::StrCat(group, ", 1"), Steps(lanes, width, group, type_name)),
                    intrin.name);
    TW_CHECK(module.ok()) << module.status().ToString();
    return module->Find(function);
  };
  intrin.description = parse(kDescription, "desc");
  intrin.implementation = parse(kImplementation, "impl");
  intrin.features = {std::string(std::ranges::find(kVectors, lanes, &Vectors::lanes)->feature)};
  return intrin;
}

std::optional<TensorIntrin> Make(std::string_view full_name) {
  for (const DataType& type : kTypes) {
    for (const auto& [lanes, feature] : kVectors) {
      for (int width = lanes; width >= 1; width /= 2) {
        if (full_name == NameOf(type, lanes, width)) return MakeTile(type, lanes, width);
      }
    }
  }
  return std::nullopt;
}

}  // namespace

IntrinFamily TransposeTileFamily() {
  return {
      .prefix = std::string(kPrefix),
      .description = "transpose_{type}_{L}x{W}: B[k // V, i, k % V] = A[i, k] for W groups of V elements of 32 bits",
      .make = Make,
      .examples = {"transpose_float32_16x16", "transpose_bfloat16_16x16", "transpose_int8_16x16", "transpose_uint8_8x8",
                   "transpose_float32_8x8", "transpose_float32_16x4", "transpose_bfloat16_16x8", "transpose_int8_16x2",
                   "transpose_uint8_16x1", "transpose_bfloat16_8x2", "transpose_float32_4x4", "transpose_int8_4x4",
                   "transpose_bfloat16_4x2"}};
}

std::vector<TransposeTile> TransposeTiles(const Target& target, DataType type) {
  std::vector<TransposeTile> tiles;
  const auto* vectors = std::ranges::find_if(kVectors, [&](const Vectors& v) { return target.has(v.feature); });
  if (vectors == std::end(kVectors) || std::ranges::find(kTypes, type) == std::end(kTypes)) return tiles;
  const int lanes = vectors->lanes;
  for (int width = lanes; width >= 1; width /= 2) {
    tiles.push_back({NameOf(type, lanes, width), lanes, width * kGroupBits / type.bits()});
  }
  return tiles;
}

}  // namespace tilewright
