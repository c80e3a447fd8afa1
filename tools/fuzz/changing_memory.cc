#include "tools/fuzz/changing_memory.h"

#include <array>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/fuzz/draw.h"

namespace tilewright {
namespace {

constexpr std::array<std::string_view, 4> kValueTypes = {"float32", "float32", "int32", "float64"};
constexpr std::array<std::string_view, 3> kCounterTypes = {"int32", "int32", "int64"};
constexpr std::array<std::string_view, 6> kCompare = {"<", "<=", ">", ">=", "==", "!="};
constexpr std::array<std::string_view, 5> kRowLoops = {"range", "range", "T.vectorized", "T.parallel", "T.unroll"};

class Maker {
 public:
  Maker(uint64_t seed, const std::set<int>& without) : draw_(seed * 2 + 1), without_(without) {}

  ProgramText Make() {
    rows_ = 1 + draw_.Below(20);
    columns_ = 1 + draw_.Below(9);
    width_ = 2 + draw_.Below(6);
    type_ = draw_.Of(kValueTypes);
    counter_ = draw_.Of(kCounterTypes);
    const int64_t form = draw_.Below(6);
    const std::string body = form == 0 ? Reduction() : form == 1 ? Queue() : form <= 3 ? Rows() : Guards();
    return {
        absl::StrCat("@T.prim_func\ndef main(", Param("A", rows_, columns_, type_), ", ",
                     Param("B", rows_, columns_, "int32"), ", ", Param("S", rows_, width_, type_), ", N: T.Buffer((",
                     rows_, ",), \"", counter_, "\"), L: T.Buffer((", rows_, ",), \"", type_, "\")):\n", body),
        "main", piece_};
  }

 private:
  bool Piece() { return !without_.contains(piece_++); }
  static std::string Param(const std::string& name, int64_t rows, int64_t columns, const std::string& type) {
    return absl::StrCat(name, ": T.Buffer((", rows, ", ", columns, "), \"", type, "\")");
  }
  static std::string Spaces(int depth) { return std::string(static_cast<size_t>(depth) * 4, ' '); }
  std::string Counted(const std::string& e) const { return absl::StrCat("T.Cast(\"", counter_, "\", ", e, ")"); }
  std::string Number(int64_t value) const {
    return counter_ == "int32" ? absl::StrCat(value) : absl::StrCat("T.", counter_, "(", value, ")");
  }

  // An integer of the counters' type.
  std::string Integer(int depth = 1) {
    if (depth > 0 && draw_.Chance(30)) {
      static constexpr std::array<std::string_view, 2> kOperators = {"+", "-"};
      const std::string a = Integer(depth - 1), b = Integer(depth - 1);
      return draw_.Chance(60) ? absl::StrCat("(", a, " ", draw_.Of(kOperators), " ", b, ")")
                              : absl::StrCat(draw_.Chance(50) ? "T.min(" : "T.max(", a, ", ", b, ")");
    }
    const int64_t kind = draw_.Below(12);
    if (kind < 5) return counter_at_;
    if (kind < 6 && local_) return Counted("x");
    if (kind < 8 && !inner_.empty()) return Counted(draw_.Of(inner_));
    if (kind < 10) return Counted(absl::StrCat("B[", row_, ", ", Place(columns_, 0), "]"));
    return Number(draw_.Below(5) - 1);
  }
  // A place in [0, size).
  std::string Place(int64_t size, int depth = 1) {
    if (draw_.Chance(20)) return absl::StrCat(draw_.Below(size));
    return absl::StrCat("T.max(T.min(", Integer(depth), ", ", Number(size - 1), "), ", Number(0), ")");
  }
  std::string Value() {
    const int64_t kind = draw_.Below(8);
    if (kind < 3) return absl::StrCat("A[", row_, ", ", Place(columns_, 0), "]");
    if (kind < 4) return absl::StrCat("S[", row_, ", ", Place(width_, 0), "]");
    if (kind < 6) return best_at_;
    if (kind < 7) return absl::StrCat("T.Cast(\"", type_, "\", ", Place(16), ")");
    return absl::StrCat("T.max(", best_at_, ", A[", row_, ", ", Place(columns_, 0), "])");
  }
  std::string Condition() {
    const std::string first = draw_.Chance(50) ? absl::StrCat(Integer(), " ", draw_.Of(kCompare), " ", Integer())
                                               : absl::StrCat(Value(), " ", draw_.Of(kCompare), " ", Value());
    if (!draw_.Chance(30)) return first;
    const bool both = draw_.Chance(50);
    const std::string second = absl::StrCat(Integer(), " ", draw_.Of(kCompare), " ", Integer());
    return Piece() ? absl::StrCat("(", first, both ? " and " : " or ", second, ")") : first;
  }

  std::string Statements(int indent, int depth, int64_t count) {
    std::string text;
    for (int64_t i = 0; i < count; ++i) text += Statement(indent, depth);
    return text.empty() ? absl::StrCat(Spaces(indent), "T.evaluate(0)\n") : text;
  }

  // What follows is drawn as if a statement that is left out was there.
  std::string Statement(int indent, int depth) {
    const bool kept = Piece();
    const std::string text = AnyStatement(indent, depth);
    return kept ? text : "";
  }

  std::string AnyStatement(int indent, int depth) {
    const std::string at = Spaces(indent);
    switch (draw_.Below(depth > 0 ? 13 : 6)) {
      case 0:
      case 1:
        return absl::StrCat(at, counter_at_, " = ", CountUp(), "\n");
      case 2:
        return absl::StrCat(at, best_at_, " = ", Value(), "\n");
      case 3:
      case 4:
        return absl::StrCat(at, "S[", row_, ", ", Place(width_), "] = ", Value(), "\n");
      case 5:
        if (!local_) return absl::StrCat(at, counter_at_, " = ", CountUp(), "\n");
        return absl::StrCat(at, "x = T.Cast(\"int32\", ", Place(9), ")\n");
      case 6:
      case 7:
      case 8: {
        const std::string condition = Condition();
        std::string text =
            absl::StrCat(at, "if ", condition, ":\n", Statements(indent + 1, depth - 1, 1 + draw_.Below(3)));
        if (!draw_.Chance(25)) return text;
        const std::string otherwise = Statements(indent + 1, depth - 1, 1);
        return Piece() ? absl::StrCat(text, at, "else:\n", otherwise) : text;
      }
      case 9:
      case 10:
        return Loop(indent, depth);
      case 11:
        return While(indent, depth);
      default:
        return Block(indent, depth);
    }
  }
  std::string CountUp() {
    const std::string next = draw_.Chance(60) ? absl::StrCat(counter_at_, " + ", Number(1)) : Integer();
    return absl::StrCat("T.max(T.min(", next, ", ", Number(7), "), ", Number(0), ")");
  }

  std::string Loop(int indent, int depth) {
    const std::string name = absl::StrCat("k", names_++);
    // One iteration, a number in memory of them, or from a place in memory on.
    const std::string first = Place(4);
    std::string range;
    switch (draw_.Below(4)) {
      case 0:
        range = absl::StrCat(first, ", ", first, " + ", Number(1));
        break;
      case 1:
        range = absl::StrCat(first, ", ", Number(5));
        break;
      case 2:
        range = Number(1 + draw_.Below(4));
        break;
      default:
        range = first;
        break;
    }
    inner_.push_back(name);
    const std::string body = Statements(indent + 1, depth - 1, 1 + draw_.Below(3));
    inner_.pop_back();
    return absl::StrCat(Spaces(indent), "for ", name, " in range(", range, "):\n", body);
  }
  // A counter of its own ends it.
  std::string While(int indent, int depth) {
    if (!local_ || in_while_) return Loop(indent, depth);
    const std::string most = Place(4);
    in_while_ = true;
    const std::string body = Statements(indent + 1, depth - 1, 1 + draw_.Below(2));
    in_while_ = false;
    const std::string at = Spaces(indent);
    return absl::StrCat(at, "w = 0\n", at, "while ", Counted("w"), " < ", most, ":\n", body, at, "    w = w + 1\n");
  }
  std::string Block(int indent, int depth) {
    const std::string name = absl::StrCat("v", names_++), at = Spaces(indent);
    const std::string value = Place(8), where = draw_.Chance(30) ? Condition() : "";
    const bool guarded = !where.empty() && Piece();
    inner_.push_back(name);
    const std::string body = Statements(indent + 1, depth - 1, 1 + draw_.Below(3));
    inner_.pop_back();
    return absl::StrCat(at, "with T.block(\"block_", name, "\"):\n", at, "    ", name, " = T.axis.opaque(", Number(8),
                        ", ", value, ")\n", guarded ? absl::StrCat(at, "    T.where(", where, ")\n") : "", body);
  }

  // A state for each row.
  std::string Rows() {
    row_ = "vi";
    counter_at_ = "N[vi]";
    best_at_ = "L[vi]";
    const std::string loop = draw_.Of(kRowLoops);
    local_ = draw_.Chance(50);
    std::string text =
        absl::StrCat("    for i in ", loop, "(", rows_,
                     "):\n        with T.block(\"rows\"):\n            vi = T.axis.spatial(", rows_, ", i)\n");
    if (local_) text += "            x: T.int32 = vi\n            w: T.int32 = 0\n";
    absl::StrAppend(&text, "            N[vi] = ", Number(draw_.Below(4)), "\n            L[vi] = T.Cast(\"", type_,
                    "\", ", draw_.Below(9) - 4, ")\n            for c in range(", width_,
                    "):\n                S[vi, c] = T.Cast(\"", type_, "\", 0)\n");
    return text + Statements(3, 3, 2 + draw_.Below(3));
  }

  // Guards one after the other, and inside of one another, that read what those before them store or load.
  std::string Guards() {
    row_ = "vi";
    counter_at_ = "N[vi]";
    best_at_ = "L[vi]";
    std::string text =
        absl::StrCat("    for i in ", draw_.Of(kRowLoops), "(", rows_,
                     "):\n        with T.block(\"guards\"):\n            vi = T.axis.spatial(", rows_, ", i)\n");
    if (draw_.Chance(50)) absl::StrAppend(&text, "            N[vi] = ", Number(draw_.Below(4)), "\n");
    const bool inside = draw_.Chance(30);
    const std::string outer = Condition();
    const int indent = inside && Piece() ? 4 : 3;
    if (indent == 4) absl::StrAppend(&text, "            if ", outer, ":\n");
    std::string guards;
    for (int64_t count = 2 + draw_.Below(3); count > 0; --count) {
      const std::string condition = draw_.Chance(50) ? absl::StrCat(counter_at_, " == ", Number(0)) : Condition();
      const std::string body = Statements(indent + 1, draw_.Chance(20) ? 1 : 0, 1 + draw_.Below(2));
      if (Piece()) absl::StrAppend(&guards, Spaces(indent), "if ", condition, ":\n", body);
    }
    return text + (guards.empty() ? absl::StrCat(Spaces(indent), "T.evaluate(0)\n") : guards);
  }

  // Guards of a reduction that hold several stores.
  std::string Reduction() {
    row_ = "vi";
    counter_at_ = "N[vi]";
    best_at_ = "L[vi]";
    inner_ = {"vk"};
    const std::string sign = draw_.Chance(50) ? "<" : ">";
    const int64_t more = draw_.Below(3);
    const std::string statements = more == 0 ? "" : Statements(4, 1, more);
    const bool place_first = draw_.Chance(50);
    const std::string best = "                L[vi] = A[vi, vk]\n",
                      place = absl::StrCat("                N[vi] = ", Counted("vk"), "\n");
    return absl::StrCat(
        "    for i, c in T.grid(", rows_, ", ", width_,
        "):\n        with T.block(\"clear\"):\n            vi, vc = T.axis.remap(\"SS\", [i, c])\n            S[vi, "
        "vc] = "
        "T.Cast(\"",
        type_, "\", 0)\n    for i, k in T.grid(", rows_, ", ", columns_,
        "):\n        with T.block(\"least\"):\n            vi, vk = T.axis.remap(\"SR\", [i, k])\n            with "
        "T.init():\n                L[vi] = A[vi, 0]\n                N[vi] = ",
        Number(0), "\n            if A[vi, vk] ", sign, " L[vi]:\n", place_first ? place : best,
        place_first ? best : place, statements);
  }

  // Iterators have their values from memory.
  std::string Queue() {
    row_ = "0";
    counter_at_ = "N[0]";
    best_at_ = "L[0]";
    inner_ = {"vi", "vp"};
    return absl::StrCat("    with T.block(\"empty\"):\n        N[0] = ", Number(draw_.Below(3)),
                        "\n        L[0] = A[0, 0]\n        for c in range(", width_,
                        "):\n            S[0, c] = A[0, 0]\n", "    for i in range(", columns_,
                        "):\n        with T.block(\"push\"):\n            vi = T.axis.opaque(", columns_,
                        ", i)\n            vp = T.axis.opaque(", Number(width_), ", ", QueuePlace(),
                        ")\n            N[0] = ", CountUp(), "\n", Statements(3, 2, 1 + draw_.Below(3)),
                        "            S[0, vp] = A[0, vi]\n");
  }
  std::string QueuePlace() const {
    return absl::StrCat("T.max(T.min(N[0], ", Number(width_ - 1), "), ", Number(0), ")");
  }

  Draw draw_;
  const std::set<int>& without_;
  int piece_ = 0, names_ = 0;
  int64_t rows_ = 1, columns_ = 1, width_ = 1;
  bool local_ = false, in_while_ = false;
  std::string type_, counter_, row_, counter_at_, best_at_;
  std::vector<std::string> inner_;  // variables that hold integers here
};

}  // namespace

ProgramText MakeChangingMemoryText(uint64_t seed, const std::set<int>& without) { return Maker(seed, without).Make(); }

}  // namespace tilewright
