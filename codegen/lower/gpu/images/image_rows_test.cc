#include "codegen/lower/gpu/images/image_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "ir/arith/expr_text.h"
#include "ir/functor.h"
#include "ir/script/parse_or_die.h"
#include "target/target.h"

namespace tilewright {
namespace {

using ::testing::HasSubstr;

// Copies of rows of X in a loop over tiles and a loop over steps.
struct Copy {
  std::string shape = "2, 14, 14, 64", value;
  int tiles = 7, steps = 9, rows = 64;
};

std::string TextOf(const Copy& copy) {
  return absl::StrCat("@T.prim_func\ndef main(X: T.Buffer((", copy.shape, "), \"float16\"), S: T.Buffer((", copy.rows,
                      ", 64), \"float16\")):\n    for x, k in T.grid(", copy.tiles, ", ", copy.steps,
                      "):\n        for i, j in T.grid(", copy.rows, ", 64):\n            S[i, j] = ", copy.value, "\n");
}

std::string Join(const std::vector<int64_t>& values) { return absl::StrJoin(values, ", "); }
std::string Join(const std::vector<Expr>& values) {
  return absl::StrJoin(values, ", ", [](std::string* out, const Expr& e) { absl::StrAppend(out, arith::ToText(e)); });
}

// The box, or why there is none. `positions` as FindImageRows takes it.
std::string BoxText(const Copy& copy, int64_t positions = 0) {
  const Function function = ParseFunctionOrDie(TextOf(copy));
  arith::Analyzer analyzer;
  std::vector<const ForNode*> loops;
  const StoreNode* store = nullptr;
  PreOrder(function->body, [&](const Stmt& s) {
    if (const auto* loop = dyn_cast<ForNode>(s)) loops.push_back(loop);
    if (const auto* found = dyn_cast<StoreNode>(s)) store = found;
    return true;
  });
  for (size_t i = 0; i < 2; ++i) analyzer.Bind(loops[i]->var, Range{loops[i]->min, loops[i]->extent});
  const Expr value = analyzer.Simplify(store->value);
  const std::optional<CopiedElement> element = CopiedBy(value);
  if (!element) return "no copy";
  const Target target = *NamedTarget("cuda-sm90a");
  const ImageNest nest = {element->load,   loops[2]->var,     loops[3]->var, copy.rows, 64,
                          element->inside, &target.gpu_part()};
  const auto rows = FindImageRows(nest, positions, &analyzer);
  if (!rows.ok()) return std::string(rows.status().message());
  const auto box = BoxOf(*rows, element->load->buffer, LeastShifts(*rows));
  if (!box.ok()) return std::string(box.status().message());
  return absl::StrCat("corners ", Join(box->lower), " to ", Join(box->upper), " steps ", Join(box->steps), " at ",
                      Join(box->coordinates), " shifted by ", Join(box->offsets));
}

// A copy of what `inside` names: `m` is the pixel's number, `r` and `s` the window element, `c` the channel.
Copy Of(std::string inside, std::string element, Copy copy = {}) {
  std::string value =
      inside.empty() ? element : absl::StrCat("T.if_then_else(", inside, ", ", element, ", T.float16(0))");
  copy.value = absl::StrReplaceAll(
      value, {{"$m", absl::StrCat("(x * ", copy.rows, " + i)")}, {"$r", "(k // 3)"}, {"$s", "(k % 3)"}, {"$c", "j"}});
  return copy;
}

TEST(ImageRows, StridesAndPaddingAreOfTheMap) {
  EXPECT_EQ(BoxText(Of("$m < 392 and 1 <= $m % 196 // 14 + $r and $m % 196 // 14 + $r < 15 and 1 <= $m % 14 + $s and "
                       "$m % 14 + $s < 15",
                       "X[$m // 196, $m % 196 // 14 + $r - 1, $m % 14 + $s - 1, $c]")),
            "corners -1, -1 to -1, -1 steps 1, 1 at 0, int32(int64(x) * 4 % 7 * 2 - 1), int32(int64(x) * 16 % 49 * 2 "
            "// 7 - 1), int32(int64(x) * 16 // 49) shifted by int32(int64(k) % 3), int32(int64(k) // 3)");
  EXPECT_EQ(BoxText(Of("$m < 98 and 2 <= $m % 49 // 7 * 2 + $r * 2 and $m % 49 // 7 * 2 + $r * 2 < 16 and "
                       "2 <= $m % 7 * 2 + $s * 2 and $m % 7 * 2 + $s * 2 < 16",
                       "X[$m // 49, $m % 49 // 7 * 2 + $r * 2 - 2, $m % 7 * 2 + $s * 2 - 2, $c]", {.tiles = 2})),
            "corners -2, -2 to -3, -3 steps 2, 2 at 0, int32(int64(x) * 2 - 2), int32(int64(x) * 15 // 7 * 2 - 2), "
            "int32(int64(x) * 64 // 49) shifted by int32(int64(k) % 3 * 2), int32(int64(k) // 3 * 2)");
}

// Numbers as simplification leaves them where a factor divides tiles.
TEST(ImageRows, DigitsThatAreDivided) {
  EXPECT_EQ(BoxText(Of("1 <= $m % 28 + $s and $m % 28 + $s < 29",
                       "X[(x * 4 + i // 16) // 49, ((x * 4 + i // 16) % 49 * 16 + i % 16) // 28, $m % 28 + $s - 1, $c]",
                       {.shape = "16, 28, 28, 64", .tiles = 196})),
            "corners -1, 0 to -1, 0 steps 1, 1 at 0, int32(int64(x) * 2 % 7 * 4 - 1), int32(int64(x) * 4 % 49 * 4 // "
            "7), int32(int64(x) * 4 // 49) shifted by int32(int64(k) % 3), 0");
}

// The image is the only one: its last axis of pixels ends where the program copies zeros.
TEST(ImageRows, OfOneImage) {
  const Copy copy =
      Of("$m < 196 and 1 <= $m // 14 + $r and $m // 14 + $r < 15 and 1 <= $m % 14 + $s and $m % 14 + $s < 15",
         "X[0, $m // 14 + $r - 1, $m % 14 + $s - 1, $c]", {.shape = "1, 14, 14, 64", .tiles = 4});
  EXPECT_EQ(BoxText(copy),
            "corners -1, -1 to -1, -1 steps 1, 1 at 0, int32(int64(x) * 4 % 7 * 2 - 1), int32(int64(x) * 32 // 7 - 1), "
            "0 shifted by int32(int64(k) % 3), int32(int64(k) // 3)");
  EXPECT_EQ(BoxText(copy, 14), BoxText(copy));
  EXPECT_THAT(BoxText(copy, 13), HasSubstr("zeros are copied where the image has elements"));
}

TEST(ImageRows, EndOfOneImage) {
  EXPECT_EQ(BoxText(Of("x * 4 + i // 32 < 98 and 1 <= $m // 196 + k and $m // 196 + k < 17",
                       "X[0, $m // 196 + k - 1, $m % 196 // 14, $m % 14, $c]",
                       {.shape = "1, 16, 14, 14, 64", .tiles = 25, .steps = 3, .rows = 128})),
            "corners 0, 0, -1 to 0, 0, -1 steps 1, 1, 1 at 0, int32(int64(x) % 7 * 2), int32(int64(x) * 32 % 49 * 2 // "
            "7), int32(int64(x) * 32 // 49 - 1), 0 shifted by 0, 0, int32(int64(k))");
}

// Conditions as simplification leaves them for several elements of a thread.
TEST(ImageRows, ConditionsThatAreMultiplied) {
  EXPECT_EQ(
      BoxText(Of("8 <= $m % 2 * 8 + $c // 8 and 4 <= $m % 8 // 2 * 3 + k and $m % 8 // 2 * 3 + k < 16",
                 "X[$m // 8, $m % 8 // 2 * 3 + k - 4, $m % 2 * 3 - 2, $c]", {.shape = "8, 12, 6, 64", .tiles = 1})),
      "corners -2, -4 to -4, -6 steps 3, 3 at 0, -2, -4, 0 shifted by 0, int32(int64(k))");
}

// Tiles of whole rows never pass the last pixel: any box has them.
TEST(ImageRows, NothingIsCarried) {
  EXPECT_EQ(BoxText(Of("1 <= x + $r and x + $r < 301 and 1 <= i + $s and i + $s < 65",
                       "X[k, x + $r - 1, i + $s - 1, $c]", {.shape = "9, 300, 64, 64", .tiles = 300})),
            "corners -128, -128 to 127, 127 steps 1, 1 at 0, int32(int64(k) % 3 - 1), int32(int64(k) // 3 + int64(x) - "
            "1), int32(int64(k)) shifted by 0, 0");
  EXPECT_EQ(BoxText(Of("1 <= x + $r and x + $r < 17 and 1 <= i + $s and i + $s < 65",
                       "X[k, x + $r - 1, i + $s - 1, $c]", {.shape = "9, 16, 64, 64", .tiles = 16})),
            "corners -1, -1 to -1, -16 steps 1, 1 at 0, -1, -1, int32(int64(k)) shifted by int32(int64(k) % 3), "
            "int32(int64(k) // 3 + int64(x))");
}

TEST(ImageRows, OfOneAndThreeAxes) {
  EXPECT_EQ(BoxText(Of("", "X[$m // 60, $m % 60 * 2 + k, $c]", {.shape = "16, 128, 64", .tiles = 15})),
            "corners 0 to -9 steps 2 at 0, int32(int64(x) * 8), int32(int64(x) * 16 // 15) shifted by int32(int64(k))");
  EXPECT_EQ(BoxText(Of("", "X[$m // 64, $m % 64 // 16 + $r, $m % 16 // 4 + $s, $m % 4 + $r, $c]",
                       {.shape = "7, 6, 6, 6, 64"})),
            "corners 0, 0, 0 to -2, -2, -2 steps 1, 1, 1 at 0, 0, 0, 0, int32(int64(x)) shifted by int32(int64(k) // "
            "3), int32(int64(k) % 3), int32(int64(k) // 3)");
}

struct Refused {
  const char* name;
  Copy copy;
  const char* reason;
};
class Refusals : public ::testing::TestWithParam<Refused> {};
TEST_P(Refusals, NameTheReason) { EXPECT_THAT(BoxText(GetParam().copy), HasSubstr(GetParam().reason)); }
INSTANTIATE_TEST_SUITE_P(
    All, Refusals,
    ::testing::Values(
        Refused{"rank", Of("", "X[$m, $c]", {.shape = "448, 64"}), "rows of X are not pixels: it has 2 dimensions"},
        Refused{"pixels", Of("", "X[$m // 196, $m % 196 // 14, $m % 14, $c]", {.tiles = 1, .rows = 1025}),
                "1025 are more than 1024"},
        Refused{"channels", Of("", "X[$m // 196, $m % 196 // 14, $m % 14, $c]", {.shape = "3, 14, 14, 68"}),
                "channels of a pixel are not a multiple of 16 bytes"},
        Refused{"columns", Of("", "X[$m // 196, $m % 196 // 14, $c % 14, $c + i]", {.shape = "3, 14, 14, 128"}),
                "columns do not run along the last dimension"},
        Refused{"column_elsewhere", Of("", "X[$m // 196, $m % 196 // 14, $c % 14, $c]"),
                "columns run along dimension 2"},
        Refused{"no_digit", Of("", "X[$m // 196, $m % 196 // 14 + i, $m % 14, $c]", {.shape = "3, 99, 14, 64"}),
                "the index of dimension 1 is not a digit of their number"},
        Refused{"transposed", Of("", "X[$m // 196, $m % 14, $m % 196 // 14, $c]"),
                "the index of dimension 2 is not the next digit of their number"},
        Refused{"step", Of("", "X[$m // 196, $m % 196 // 14 * 9, $m % 14, $c]", {.shape = "3, 140, 14, 64"}),
                "a step of 9 along dimension 1"},
        Refused{"same", Of("", "X[0, x, k, $c]", {.shape = "1, 14, 14, 64"}), "all are the same"},
        Refused{"begins_again", Of("", "X[$m % 196 // 98, $m % 98 // 14, $m % 14, $c]"),
                "the index of dimension 0 begins again"},
        Refused{"zeros", Of("3 <= $m % 14", "X[$m // 196, $m % 196 // 14, $m % 14, $c]"),
                "zeros are copied where the image has elements"},
        // Behind the last pixel of an image there is the next one.
        Refused{"next_image",
                Of("$m < 196 and 1 <= $m // 14 + $r", "X[0, $m // 14 + $r - 1, $m % 14, $c]", {.tiles = 4}),
                "zeros are copied where the image has elements"},
        Refused{"bits",
                Of("", "X[$m // 64, $m % 64 // 16 + k * 4, $m % 16 // 4, $m % 4, $c]", {.shape = "7, 64, 4, 4, 64"}),
                "dimension 1 goes from 0 to 32, for which a map does not have 5 bits"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tilewright
