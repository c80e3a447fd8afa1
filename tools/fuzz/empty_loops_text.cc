#include "tools/fuzz/empty_loops_text.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/fuzz/draw.h"

namespace tilewright {
namespace {

constexpr std::array<std::string_view, 3> kTypes = {"int32", "int64", "float32"};
constexpr std::array<int64_t, 12> kSizes = {0, 0, 0, 1, 2, 5, 15, 16, 17, 31, 32, 64};

class Maker {
 public:
  Maker(uint64_t seed, const std::set<int>& without) : draw_(seed * 2 + 1), without_(without) {}

  ProgramText Make() {
    rows_ = 1 + draw_.Below(12);
    columns_ = 1 + draw_.Below(20);
    type_ = draw_.Of(kTypes);
    const int64_t size = kSizes[static_cast<size_t>(draw_.Below(kSizes.size()))];
    const int64_t stages = 1 + draw_.Below(3);
    std::string body, allocations;
    for (int64_t s = 0; s < stages; ++s) {
      Draw own = draw_.Apart();
      const bool last = s + 1 == stages;
      if (!last && !Piece()) continue;
      target_ = last ? "C" : absl::StrCat("S", s);
      if (!last) {
        absl::StrAppend(&allocations, "    ", target_, " = T.alloc_buffer((", rows_, ", ", columns_, "), \"", type_,
                        "\")\n");
      }
      body += Stage(own);
      arrays_.push_back(target_);
    }
    const std::string shape = absl::StrCat("(", rows_, ", ", columns_, ")");
    return {.text = absl::StrCat("@T.prim_func\ndef main(b: T.handle, A: T.Buffer(", shape, ", \"", type_,
                                 "\"), L: T.Buffer((", rows_, ",), \"int32\"), C: T.Buffer(", shape, ", \"", type_,
                                 "\")):\n    n = T.int32()\n    B = T.match_buffer(b, (n,), \"", type_, "\")\n",
                                 allocations, body),
            .function = "main",
            .pieces = piece_,
            .sizes = {{"n", size}}};
  }

 private:
  bool Piece() { return !without_.contains(piece_++); }
  std::string Number(int64_t value) const { return absl::StrCat("T.Cast(\"", type_, "\", ", value, ")"); }
  std::string Element() const { return absl::StrCat(target_, "[vi, vj]"); }

  // An extent below 65 that may be 0 or negative; `row` names a variable below the number of rows.
  std::string Extent(const std::string& row, Draw& own) const {
    const int64_t c = 2 + own.Below(8);
    switch (own.Below(14)) {
      case 0:
      case 1:
        return absl::StrCat(row, " // ", c);
      case 2:
        return absl::StrCat(row, " % ", c);
      case 3:
        return absl::StrCat("(", row, " % ", c, " + ", c - 1, ") // ", c);
      case 4:
        return absl::StrCat("T.min(", row, ", ", c, ")");
      case 5:
        return absl::StrCat("T.max(", c, " - ", row, ", 0)");
      case 6:
        return absl::StrCat(c, " - ", row);
      case 7:
        return absl::StrCat("T.max(T.min(L[", row, "], ", c, "), 0)");
      case 8:
        return absl::StrCat("n // ", 8 * (1 + own.Below(3)));
      case 9:
        return absl::StrCat("(n % ", c, " + ", c - 1, ") // ", c);
      case 10:
        return absl::StrCat("T.min(n, ", row, ")");
      case 11:
        return absl::StrCat("n - ", c);
      case 12:
        return absl::StrCat("n % ", c, " // 2");
      default:
        return absl::StrCat(row, " // ", c, " * ", 1 + own.Below(3));
    }
  }

  // Values of the loop's variable `t`, below 65.
  std::string Value(const std::string& t, Draw& own) {
    const std::string array = arrays_[static_cast<size_t>(own.Below(static_cast<int64_t>(arrays_.size())))];
    switch (own.Below(5)) {
      case 0:
        return absl::StrCat("T.Cast(\"", type_, "\", ", t, ")");
      case 1:
        return Number(1 + own.Below(5));
      case 2:
        return absl::StrCat("T.if_then_else(", t, " < n, B[", t, "], ", Number(3), ")");
      default:
        return absl::StrCat(array, "[vi, (vj + ", t, ") % ", columns_, "]");
    }
  }

  std::string Update(const std::string& value, bool maximum) const {
    return maximum ? absl::StrCat(Element(), " = T.max(", Element(), ", ", value, ")\n")
                   : absl::StrCat(Element(), " = ", Element(), " + ", value, "\n");
  }
  std::string Header(const std::string& name) const {
    return absl::StrCat("    for i, j in T.grid(", rows_, ", ", columns_, "):\n        with T.block(\"", target_, name,
                        "\"):\n            vi, vj = T.axis.remap(\"SS\", [i, j])\n");
  }

  std::string Stage(Draw& own) {
    const std::string leaf = own.Chance(50) ? Number(own.Below(7)) : absl::StrCat(arrays_.back(), "[vi, vj]");
    const std::string start = absl::StrCat("            ", Element(), " = ", leaf, "\n");
    switch (own.Below(5)) {
      case 0:
        return Header("") + start + Header("_loop") + InBlock(own);
      case 1:
        return Header("") + start + AroundBlock(own);
      case 2:
        return Header("") + start + Sum(own, /*alone=*/false);
      case 3:
        // Nothing sets what a sum of no terms leaves out: of an output, rules write the init (docs/numerics.md).
        return target_ == "C" ? Header("") + start + InBlock(own) : Sum(own, /*alone=*/true);
      default:
        return Header("") + start + InBlock(own);
    }
  }

  // A loop inside of the block, and what follows it, which may use the same extent.
  std::string InBlock(Draw& own) {
    const std::string extent = Extent("vi", own), inner = Extent("t", own);
    const bool maximum = own.Chance(40), nested = own.Chance(35), behind = own.Chance(35);
    std::string text = absl::StrCat("            for t in range(", extent, "):\n");
    const std::string value = Value("t", own), other = Value("u", own);
    if (nested && Piece()) {
      absl::StrAppend(&text, "                for u in range(", inner, "):\n                    ",
                      Update(other, maximum));
    }
    if (!nested || Piece()) absl::StrAppend(&text, "                ", Update(value, maximum));
    if (text.find("u in range") == std::string::npos && text.find("    " + target_) == std::string::npos) {
      absl::StrAppend(&text, "                ", Update(value, maximum));
    }
    if (behind && Piece() && extent.find('L') == std::string::npos) {
      absl::StrAppend(&text, "            ", Update(absl::StrCat("T.Cast(\"", type_, "\", ", extent, ")"), maximum));
    }
    return text;
  }

  // Loops around a block, of which the middle one may have no iteration.
  std::string AroundBlock(Draw& own) {
    const std::string extent = Extent("i", own);
    const bool maximum = own.Chance(40), outside = own.Chance(50);
    const std::string loops = outside ? absl::StrCat("    for i in range(", rows_, "):\n        for t in range(",
                                                     extent, "):\n            for j in range(", columns_, "):\n")
                                      : absl::StrCat("    for i in range(", rows_, "):\n        for j in range(",
                                                     columns_, "):\n            for t in range(", extent, "):\n");
    return absl::StrCat(loops, "                with T.block(\"", target_, "_update\"):\n                    vi, vj = ",
                        "T.axis.remap(\"SS\", [i, j])\n                    vt = T.axis.reduce(65, t)\n",
                        "                    ", Update(Value("vt", own), maximum));
  }

  // A sum of n terms, with or without a start value of its own; `alone`: with one, since no block before sets it.
  std::string Sum(Draw& own, bool alone) {
    const bool maximum = own.Chance(40), init = own.Chance(40);
    const std::string terms = own.Chance(60) ? "n" : own.Chance(50) ? "n // 16" : "(n % 16 + 15) // 16";
    const std::string product = own.Chance(50) ? absl::StrCat("A[vi, vj] * B[vk]") : "B[vk]";
    std::string text =
        absl::StrCat("    for i, j, k in T.grid(", rows_, ", ", columns_, ", ", terms, "):\n        with T.block(\"",
                     target_, "_sum\"):\n            vi, vj, vk = ", "T.axis.remap(\"SSR\", [i, j, k])\n");
    if (alone || (init && Piece())) {
      absl::StrAppend(&text, "            with T.init():\n                ", Element(), " = ", Number(own.Below(3)),
                      "\n");
    }
    return absl::StrCat(text, "            ", Update(product, maximum));
  }

  Draw draw_;
  const std::set<int>& without_;
  int piece_ = 0;
  int64_t rows_ = 1, columns_ = 1;
  std::string type_, target_;
  std::vector<std::string> arrays_ = {"A"};
};

}  // namespace

ProgramText MakeEmptyLoopsText(uint64_t seed, const std::set<int>& without) { return Maker(seed, without).Make(); }

}  // namespace tilewright
