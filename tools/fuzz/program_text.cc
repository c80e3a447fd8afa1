#include "tools/fuzz/program_text.h"

#include <array>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/math.h"
#include "ir/data_type.h"
#include "tools/fuzz/changing_memory.h"
#include "tools/fuzz/draw.h"
#include "tools/fuzz/empty_loops_text.h"
#include "tools/fuzz/views_text.h"

namespace tilewright {
namespace {

constexpr std::array<std::string_view, 14> kTypes = {"int8",    "int16",   "int32",         "int64",      "uint8",
                                                     "uint16",  "uint32",  "uint64",        "float16",    "bfloat16",
                                                     "float32", "float64", "float8_e4m3fn", "float8_e5m2"};
constexpr std::array<std::string_view, 8> kIndexTypes = {"int8",  "int16",  "int32",  "int64",
                                                         "uint8", "uint16", "uint32", "uint64"};
constexpr std::array<std::string_view, 10> kNames = {"main", "main", "main", "sin", "expf",
                                                     "pow",  "tanf", "free", "int", "tw_required_features"};

struct Array {
  std::string name, type;
};

class Maker {
 public:
  Maker(uint64_t seed, const std::set<int>& without) : draw_(seed * 2 + 1), without_(without) {}

  ProgramText Make() {
    rows_ = 1 + draw_.Below(12);
    columns_ = 1 + draw_.Below(40);
    index_ = draw_.Chance(30) ? "int64" : "int32";
    arrays_ = {{"A", draw_.Of(kTypes)}, {"B", draw_.Of(kTypes)}};
    positions_ = draw_.Of(kIndexTypes);
    std::string name = draw_.Of(kNames);
    if (!Piece()) name = "main";
    const int64_t stages = 1 + draw_.Below(3);
    std::string body, allocations;
    for (int64_t s = 0; s < stages; ++s) {
      Draw own = draw_.Apart();
      const bool last = s + 1 == stages;
      if (!last && !Piece()) continue;
      const Array target{last ? "C" : absl::StrCat("S", s), last ? output_ = own.Of(kTypes) : own.Of(kTypes)};
      if (!last)
        absl::StrAppend(&allocations, "    ", target.name, " = T.alloc_buffer(", Shape(), ", \"", target.type, "\")\n");
      body += Stage(target, own);
      arrays_.push_back(target);
    }
    std::string text = absl::StrCat("@T.prim_func\ndef ", name, "(");
    for (const Array& array : {arrays_[0], arrays_[1]}) absl::StrAppend(&text, Param(array.name, array.type), ", ");
    absl::StrAppend(&text, "J: T.Buffer((", rows_, ",), \"", positions_, "\"), ", Param("C", output_), "):\n");
    return {.text = text + allocations + body, .function = name, .pieces = piece_};
  }

 private:
  bool Piece() { return !without_.contains(piece_++); }
  static bool IsFloat(const std::string& type) { return type.find("float") != std::string::npos; }
  static bool IsUnsigned(const std::string& type) { return type[0] == 'u'; }
  static int Bits(const std::string& type) { return DataType::Parse(type)->bits(); }
  std::string Shape() const { return absl::StrCat("(", rows_, ", ", columns_, ")"); }
  std::string Param(const std::string& name, const std::string& type) {
    const bool gaps = draw_.Chance(15), columns_first = draw_.Chance(30);
    const int64_t gap = 1 + draw_.Below(9);
    std::string strides;
    if (gaps && Piece()) {
      strides = columns_first ? absl::StrCat(", strides=(1, ", rows_ + gap, ")")
                              : absl::StrCat(", strides=(", columns_ + gap, ", 1)");
    }
    return absl::StrCat(name, ": T.Buffer(", Shape(), ", \"", type, "\"", strides, ")");
  }

  std::string Number(const std::string& type, int64_t value) const {
    if (IsUnsigned(type) && value < 0) value = -value;
    return absl::StrCat("T.Cast(\"", type, "\", ", value, ")");
  }

  std::string Convert(const std::string& text, const std::string& from, const std::string& to) const {
    if (from == to) return text;
    if (!IsFloat(from) || IsFloat(to)) return absl::StrCat("T.Cast(\"", to, "\", ", text, ")");
    // Values outside of the integer type are errors, and so are NaN: the limits take those too.
    const std::string low = Number(from, IsUnsigned(to) ? 0 : -100), high = Number(from, 100);
    return absl::StrCat("T.Cast(\"", to, "\", T.max(T.min(", text, ", ", high, "), ", low, "))");
  }

  std::string Load(const std::string& type, Draw& own) {
    const Array& array = arrays_[static_cast<size_t>(own.Below(static_cast<int64_t>(arrays_.size())))];
    const bool gather = own.Chance(25);
    std::string row = "vi";
    if (gather && Piece()) row = "J[vi]";
    return Convert(absl::StrCat(array.name, "[", row, ", vj]"), array.type, type);
  }

  std::string Leaf(const std::string& type, Draw& own) {
    const int64_t kind = own.Below(10);
    if (kind < 7) return Load(type, own);
    if (kind < 8) return Convert(own.Chance(50) ? "vi" : "vj", index_, type);
    return Number(type, own.Below(9) - 4);
  }

  std::string Condition(Draw& own, int depth) {
    const std::string type = own.Of(kTypes);
    static constexpr std::array<std::string_view, 6> kCompare = {"<", "<=", ">", ">=", "==", "!="};
    const std::string end = own.Chance(10) && HasEnds(type) ? End(type, own.Chance(50)) : Leaf(type, own);
    const std::string compare = absl::StrCat(Value(type, own, depth), " ", own.Of(kCompare), " ", end);
    if (own.Chance(15) && Piece()) return own.Chance(50) ? GuardedShift(own) : GuardedProduct(own);
    if (!own.Chance(40)) return compare;
    // A guard that the access behind it needs.
    const int64_t by = 1 + own.Below(3);
    const bool both = own.Chance(50);
    const Array& array = arrays_[0];
    if (!Piece()) return compare;
    const std::string inside = absl::StrCat("vj ", both ? "<" : ">=", " ", columns_ - by);
    return absl::StrCat("(", inside, both ? " and " : " or ",
                        Convert(array.name + absl::StrCat("[vi, vj + ", by, "]"), array.type, "float32"),
                        " > T.float32(0))");
  }

  // A shift that is too far where the guard before it does not hold.
  std::string GuardedShift(Draw& own) {
    const std::string type = own.Of(kIndexTypes);
    const bool both = own.Chance(50);
    return absl::StrCat("(vj ", both ? "<" : ">=", " ", Bits(type), both ? " and (" : " or (", "T.shift_right(",
                        Leaf(type, own), ", ", Convert("vj", index_, type), ") & ", Number(type, 1), ") ",
                        own.Chance(50) ? "==" : "!=", " ", Number(type, own.Below(2)), ")");
  }

  // A product that overflows where the guard before it does not hold.
  std::string GuardedProduct(Draw& own) {
    const std::string type = own.Chance(50) ? "int32" : "int64";
    const bool both = own.Chance(50);
    return absl::StrCat("(vj ", both ? "< 2 and " : ">= 2 or ", Convert("vj", index_, type), " * ", End(type, false),
                        " > ", Leaf(type, own), ")");
  }

  static bool HasEnds(const std::string& type) { return type == "int32" || type == "int64"; }
  // The least number of the type, or the greatest one.
  static std::string End(const std::string& type, bool least) {
    const int64_t most = MaxValue(*DataType::Parse(type));
    return absl::StrCat("T.", type, "(", least ? -most - 1 : most, ")");
  }

  std::string Value(const std::string& type, Draw& own, int depth) {
    if (depth <= 0 || !Piece()) return Leaf(type, own);
    if (own.Chance(15)) {
      const std::string other = own.Of(kTypes);
      return Convert(Value(other, own, depth - 1), other, type);
    }
    if (own.Chance(15)) {
      const std::string condition = Condition(own, depth - 1);
      return absl::StrCat(own.Chance(70) ? "T.if_then_else(" : "T.Select(", condition, ", ",
                          Value(type, own, depth - 1), ", ", Leaf(type, own), ")");
    }
    return IsFloat(type) ? FloatValue(type, own, depth) : IntegerValue(type, own, depth);
  }

  std::string IntegerValue(const std::string& type, Draw& own, int depth) {
    const std::string a = Value(type, own, depth - 1), b = Leaf(type, own);
    static constexpr std::array<std::string_view, 6> kOperators = {"+", "-", "*", "&", "|", "^"};
    switch (own.Below(9)) {
      case 0:  // guarded division
        return absl::StrCat("T.if_then_else(", b, " != ", Number(type, 0), ", ", a, own.Chance(50) ? " // " : " % ", b,
                            ", ", Number(type, 7), ")");
      case 1:
        if (own.Chance(20) && HasEnds(type)) return absl::StrCat("(", a, " % ", End(type, false), ")");
        return absl::StrCat(own.Chance(50) ? "T.truncdiv(" : "T.truncmod(", a, ", ",
                            Number(type, own.Chance(30) && !IsUnsigned(type) ? -1 : 1 + own.Below(7)), ")");
      case 2:
        return absl::StrCat(own.Chance(50) ? "T.shift_right(" : "T.shift_left(", a, ", ",
                            Number(type, own.Below(std::min(4, Bits(type)))), ")");
      case 3:
        return absl::StrCat(own.Chance(50) ? "T.min(" : "T.max(", a, ", ", b, ")");
      case 4:
        return IsUnsigned(type) ? absl::StrCat("T.popcount(", a, ")") : absl::StrCat("T.abs(", a, ")");
      default:
        return absl::StrCat("(", a, " ", own.Of(kOperators), " ", b, ")");
    }
  }

  std::string FloatValue(const std::string& type, Draw& own, int depth) {
    const std::string a = Value(type, own, depth - 1), b = Leaf(type, own);
    static constexpr std::array<std::string_view, 4> kOperators = {"+", "-", "*", "/"};
    static constexpr std::array<std::string_view, 15> kFunctions = {"exp",   "exp2", "tanh",  "erf",   "sigmoid",
                                                                    "sin",   "cos",  "atan",  "asinh", "cosh",
                                                                    "floor", "ceil", "trunc", "round", "round_away"};
    if (own.Chance(10) && Piece()) return ConvertedInteger(type, own);
    switch (own.Below(9)) {
      case 0:
        return absl::StrCat("T.", own.Of(kFunctions), "(", a, ")");
      case 1:
        return own.Chance(50) ? absl::StrCat("T.sqrt(T.abs(", a, "))") : absl::StrCat("T.log1p(T.abs(", a, "))");
      case 2:
        return absl::StrCat(own.Chance(50) ? "T.min(" : "T.max(", a, ", ", b, ")");
      case 3:
        return absl::StrCat("T.copysign(", a, ", ", b, ")");
      case 4:
        return absl::StrCat("T.pow(T.abs(", a, ") + ", Number(type, 1), ", ",
                            own.Chance(50) ? b : Number(type, own.Below(5)), ")");
      default:
        return absl::StrCat("(", a, " ", own.Of(kOperators), " ", b, ")");
    }
  }

  // An integer by way of another type of integers and of a narrower float, which rounds.
  std::string ConvertedInteger(const std::string& type, Draw& own) {
    const std::string from = own.Of(kIndexTypes), by = own.Of(kIndexTypes);
    const std::string narrow = own.Chance(50) ? "bfloat16" : "float16";
    return Convert(Convert(Convert(Leaf(from, own), from, by), by, narrow), narrow, type);
  }

  std::string Stage(const Array& target, Draw& own) {
    const int64_t form = own.Below(10);
    const int depth = static_cast<int>(1 + own.Below(3));
    if (form == 0 && Piece()) return Reduced(target, own, depth);
    if (form == 1 && Piece()) return Split(target, own, depth);
    if (form == 2 && Piece()) return InPlace(target, own, depth);
    if (form == 3 && Piece()) return Guarded(target, own, depth);
    return Plain(target, Value(target.type, own, depth));
  }

  std::string Header(const std::string& block) const {
    return absl::StrCat("    for i, j in T.grid(T.", index_, "(", rows_, "), T.", index_, "(", columns_,
                        ")):\n        with T.block(\"", block,
                        "\"):\n            vi, vj = T.axis.remap(\"SS\", [i, j])\n");
  }
  std::string Plain(const Array& target, const std::string& value) const {
    return absl::StrCat(Header(target.name), "            ", target.name, "[vi, vj] = ", value, "\n");
  }
  std::string Guarded(const Array& target, Draw& own, int depth) {
    std::string first = Plain(target, Leaf(target.type, own));
    const std::string condition = Condition(own, depth);
    return absl::StrCat(first, Header(target.name + "_if"), "            if ", condition, ":\n                ",
                        target.name, "[vi, vj] = ", Value(target.type, own, depth), "\n");
  }
  // Each element from itself, or from its neighbour to the left.
  std::string InPlace(const Array& target, Draw& own, int depth) {
    std::string first = Plain(target, Leaf(target.type, own));
    const std::string value = Value(target.type, own, depth);
    if (own.Chance(50)) {
      return absl::StrCat(first, Header(target.name + "_in_place"), "            ", target.name, "[vi, vj] = T.max(",
                          target.name, "[vi, vj], ", value, ")\n");
    }
    return absl::StrCat(first, Header(target.name + "_scan"), "            if vj >= 1:\n                ", target.name,
                        "[vi, vj] = T.max(", target.name, "[vi, vj - 1], ", value, ")\n");
  }
  std::string Split(const Array& target, Draw& own, int depth) {
    const int64_t tile = 1 + own.Below(7);
    return absl::StrCat("    for i, jo, ji in T.grid(", rows_, ", ", CeilDiv(columns_, tile), ", ", tile,
                        "):\n        with T.block(\"", target.name, "\"):\n            vi = T.axis.spatial(", rows_,
                        ", i)\n            vj = T.axis.spatial(", columns_, ", jo * ", tile,
                        " + ji)\n            T.where(jo * ", tile, " + ji < ", columns_, ")\n            ", target.name,
                        "[vi, vj] = ", Value(target.type, own, depth), "\n");
  }
  // The maximum over a row, for each of its elements: no order changes it.
  std::string Reduced(const Array& target, Draw& own, int depth) {
    const std::string value = Value(target.type, own, depth);
    return absl::StrCat(
        "    for i, c, j in T.grid(", rows_, ", ", columns_, ", ", columns_, "):\n        with T.block(\"", target.name,
        "\"):\n            vi, vc, vj = T.axis.remap(\"SSR\", [i, c, j])\n            with T.init():\n                ",
        target.name, "[vi, vc] = ", Number(target.type, 0), "\n            ", target.name, "[vi, vc] = T.max(",
        target.name, "[vi, vc], ", value, ")\n");
  }

  Draw draw_;
  const std::set<int>& without_;
  int piece_ = 0;
  int64_t rows_ = 1, columns_ = 1;
  std::string index_, positions_, output_ = "float32";
  std::vector<Array> arrays_;
};

}  // namespace

ProgramText MakeProgramText(uint64_t seed, const std::set<int>& without) {
  // Families of their own: views, stores between reads and guards, and loops of no iteration.
  if (seed % 3 == 0) return MakeViewsText(seed, without);
  if (seed % 3 == 1) return MakeChangingMemoryText(seed, without);
  return seed % 6 == 2 ? MakeEmptyLoopsText(seed, without) : Maker(seed, without).Make();
}

}  // namespace tilewright
