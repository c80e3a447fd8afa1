#include "tools/fuzz/views_text.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tools/fuzz/draw.h"

namespace tilewright {
namespace {

struct Element {
  std::string_view name;
  int bytes;
  bool is_float;
};
constexpr std::array<Element, 8> kElements = {{{"float32", 4, true},
                                               {"float32", 4, true},
                                               {"int32", 4, false},
                                               {"int64", 8, false},
                                               {"int16", 2, false},
                                               {"uint8", 1, false},
                                               {"uint32", 4, false},
                                               {"float64", 8, true}}};
// By their bytes.
constexpr std::array<std::string_view, 9> kBits = {"", "uint8", "int16", "", "int32", "", "", "", "int64"};

// A name of memory: an array, or a view of one.
struct Name {
  std::string name, type;
  std::vector<int64_t> shape;
  bool is_float = false;
  bool distinct = true;  // no two indices are the same place
  bool whole = true;     // it has all of the memory
};

struct Memory {
  std::vector<Name> names;  // the array itself is the first
  bool is_param = false;
};

class Maker {
 public:
  Maker(uint64_t seed, const std::set<int>& without) : draw_(seed * 2 + 1), without_(without) {}

  ProgramText Make() {
    rows_ = 2 + draw_.Below(7);
    columns_ = 2 * (1 + draw_.Below(8));
    memory_ = {Array("A", true), Array("B", true), Array("O", true)};
    const int64_t temporaries = 1 + draw_.Below(3);
    for (int64_t t = 0; t < temporaries; ++t) memory_.push_back(Array(absl::StrCat("S", t), false));
    std::string allocations, views, body;
    for (Memory& memory : memory_) {
      if (!memory.is_param) absl::StrAppend(&allocations, Allocate(memory.names[0]));
      const int64_t count = 1 + draw_.Below(3);
      for (int64_t v = 0; v < count; ++v) views += View(memory, absl::StrCat(memory.names[0].name, "_v", v));
    }
    // Temporaries are written as a whole first; what was written may be read.
    readable_ = {0, 1};
    for (size_t m = 3; m < memory_.size(); ++m) {
      body += Apart([&] { return Stage(m, /*first=*/true); });
      readable_.push_back(m);
      if (draw_.Chance(40)) body += Again(m);
    }
    body += Apart([&] { return Stage(2, /*first=*/true); });
    readable_.push_back(2);
    if (draw_.Chance(50)) body += Again(2);
    std::vector<std::string> params;
    for (const Memory& memory : memory_) {
      const Name& array = memory.names[0];
      if (memory.is_param) {
        params.push_back(absl::StrCat(array.name, ": T.Buffer(", Shape(array), ", \"", array.type, "\")"));
      }
    }
    return {absl::StrCat("@T.prim_func\ndef main(", absl::StrJoin(params, ", "), "):\n", allocations, views, body),
            "main", piece_};
  }

 private:
  bool Piece() { return !without_.contains(piece_++); }
  static std::string Shape(const Name& name) {
    return absl::StrCat("(", absl::StrJoin(name.shape, ", "), name.shape.size() == 1 ? ",)" : ")");
  }
  static std::string Spaces(int depth) { return std::string(static_cast<size_t>(depth) * 4, ' '); }
  static int BytesOf(std::string_view type) {
    for (const Element& element : kElements) {
      if (element.name == type) return element.bytes;
    }
    return 0;
  }

  // What is drawn inside does not change what is drawn afterwards.
  template <class Text>
  std::string Apart(const Text& text) {
    Draw own = draw_.Apart();
    std::swap(draw_, own);
    std::string result = text();
    std::swap(draw_, own);
    return result;
  }
  std::string Again(size_t memory) {
    const bool kept = Piece();
    std::string text = Apart([&] { return Stage(memory, /*first=*/false); });
    return kept ? text : "";
  }

  Memory Array(const std::string& name, bool is_param) {
    const Element& element = kElements[static_cast<size_t>(draw_.Below(kElements.size()))];
    return {{{name, std::string(element.name), {rows_, columns_}, element.is_float}}, is_param};
  }
  static std::string Allocate(const Name& array) {
    return absl::StrCat("    ", array.name, " = T.alloc_buffer(", Shape(array), ", \"", array.type, "\")\n");
  }

  // Declares a view, and adds it to the memory's names.
  std::string View(Memory& memory, const std::string& name) {
    const Name& array = memory.names[0];
    Name view = {name, array.type, {}, array.is_float};
    const int64_t all = rows_ * columns_;
    const int bytes = BytesOf(array.type);
    std::string more;
    switch (draw_.Below(8)) {
      case 0:
        view.shape = {all};
        break;
      case 1:
        view.shape = {columns_, rows_};
        break;
      case 2:  // the bits of its numbers
        view.shape = draw_.Chance(50) ? std::vector<int64_t>{all} : std::vector<int64_t>{rows_, columns_};
        view.type = kBits[static_cast<size_t>(bytes)];
        view.is_float = false;
        break;
      case 3: {  // parts of its numbers
        const int64_t parts = bytes >= 4 && draw_.Chance(50) ? 2 : bytes;
        view.type = kBits[static_cast<size_t>(bytes / parts)];
        view.shape = {rows_, columns_ * parts};
        view.is_float = false;
        break;
      }
      case 4:  // pairs of integers as one
        if (array.is_float || bytes == 8) {
          view.shape = {all};
        } else {
          view.type = kBits[static_cast<size_t>(bytes * 2)];
          view.shape = {rows_, columns_ / 2};
        }
        break;
      case 5:  // from a later row on
        view.shape = {rows_ - 1, columns_};
        view.whole = false;
        more = absl::StrCat(", elem_offset=", columns_);
        break;
      case 6:  // each second column
        view.shape = {rows_, columns_ / 2};
        view.whole = false;
        more = absl::StrCat(", strides=(", columns_, ", 2), elem_offset=", draw_.Below(2));
        break;
      default:  // windows that overlap
        view.shape = {rows_, columns_ + 1 - columns_ / 2};
        view.distinct = false;
        view.whole = false;
        more = absl::StrCat(", strides=(", draw_.Chance(50) ? 1 : columns_ / 2, ", 1)");
        break;
    }
    std::string text = absl::StrCat("    ", name, " = T.decl_buffer(", Shape(view), ", \"", view.type,
                                    "\", data=", array.name, ".data", more, ")\n");
    memory.names.push_back(view);
    return text;
  }

  const Name& AnyOf(const std::vector<Name>& names) {
    return names[static_cast<size_t>(draw_.Below(static_cast<int64_t>(names.size())))];
  }

  // A place of the name near the iterators: some index of them, cut to its range.
  std::string Index(const Name& name, const std::vector<std::string>& iters) {
    std::vector<std::string> indices;
    for (size_t d = 0; d < name.shape.size(); ++d) {
      const int64_t extent = name.shape[d];
      const std::string& iter = iters[static_cast<size_t>(draw_.Below(static_cast<int64_t>(iters.size())))];
      switch (draw_.Below(5)) {
        case 0:
          indices.push_back(absl::StrCat("(", iter, " + ", draw_.Below(5), ") % ", extent));
          break;
        case 1:
          indices.push_back(absl::StrCat(extent - 1, " - ", iter, " % ", extent));
          break;
        case 2:
          indices.push_back(absl::StrCat(iters[0], " * ", 1 + draw_.Below(7), " % ", extent));
          break;
        default:
          indices.push_back(absl::StrCat(iters[d % iters.size()], " % ", extent));
          break;
      }
    }
    return absl::StrCat(name.name, "[", absl::StrJoin(indices, ", "), "]");
  }

  // A value of the type from memory that may be read, of which `own` is what the stage writes.
  std::string Value(const Name& target, const std::string& element, size_t own, bool first,
                    const std::vector<std::string>& iters, int depth) {
    if (depth > 0 && draw_.Chance(60)) {
      const std::string a = Value(target, element, own, first, iters, depth - 1),
                        b = Value(target, element, own, first, iters, depth - 1);
      const int64_t kind = draw_.Below(4);
      if (kind == 0) return absl::StrCat("T.max(", a, ", ", b, ")");
      if (kind == 1) return absl::StrCat("T.min(", a, ", ", b, ")");
      if (kind == 2) return absl::StrCat("T.Select(", Condition(own, first, iters), ", ", a, ", ", b, ")");
      return absl::StrCat("(", a, " + ", b, ")");
    }
    if (!first && draw_.Chance(30)) return element;
    if (!first && draw_.Chance(15)) return Number(target, Index(AnyOf(memory_[own].names), iters), "");
    const Memory& memory = memory_[readable_[static_cast<size_t>(draw_.Below(std::ssize(readable_)))]];
    const Name& from = AnyOf(memory.names);
    return Number(target, Index(from, iters), from.type);
  }
  // A number as one of the target's type. Floats of any size, NaN among them, are made small integers.
  static std::string Number(const Name& target, const std::string& value, std::string_view type) {
    if (type == target.type) return value;
    if (type.starts_with("float")) {
      const std::string number = absl::StrCat("T.", std::string(type), "(");
      return absl::StrCat("T.Cast(\"", target.type, "\", T.Select(", value, " >= ", number, "0) and ", value,
                          " <= ", number, "100), ", value, ", ", number, "0)))");
    }
    return absl::StrCat("T.Cast(\"", target.type, "\", ", value, ")");
  }
  std::string Condition(size_t own, bool first, const std::vector<std::string>& iters) {
    static constexpr std::array<std::string_view, 4> kCompare = {"<", ">=", "==", "!="};
    if (draw_.Chance(50)) return absl::StrCat(iters[0], " % 3 ", draw_.Of(kCompare), " ", draw_.Below(3));
    const Memory& memory =
        memory_[!first && draw_.Chance(20) ? own : readable_[static_cast<size_t>(draw_.Below(std::ssize(readable_)))]];
    const Name& from = AnyOf(memory.names);
    return absl::StrCat(Index(from, iters), " ", draw_.Of(kCompare), " T.Cast(\"", from.type, "\", ", draw_.Below(9),
                        ")");
  }

  // Writes the memory by one of its names, all of it where it is the first time.
  std::string Stage(size_t memory, bool first) {
    std::vector<Name> names;
    for (const Name& name : memory_[memory].names) {
      // Any bits are integers; those of floats are not numbers for sure.
      const bool writable = name.distinct && name.is_float == memory_[memory].names[0].is_float;
      if (writable && (name.whole || !first)) names.push_back(name);
    }
    const Name target = AnyOf(names);
    const std::string block = absl::StrCat("block", blocks_++);
    const int64_t form = draw_.Below(10);
    if (form < 2 && target.shape.size() == 2) return Rows(target, block, memory, first);
    if (form < 4) return Sum(target, block, memory, first);
    return Plain(target, block, memory, first);
  }

  // "for i0, i1 in ..." with the block's iterators, and their names.
  std::string Header(const std::vector<int64_t>& extents, const std::string& kinds, const std::string& block,
                     std::vector<std::string>* iters) {
    std::vector<std::string> loops;
    for (size_t d = 0; d < extents.size(); ++d) {
      loops.push_back(absl::StrCat("i", d));
      iters->push_back(absl::StrCat("v", d));
    }
    const std::string head =
        extents.size() == 1
            ? absl::StrCat("    for i0 in ", draw_.Chance(20) ? "T.parallel(" : "range(", extents[0], "):\n")
            : absl::StrCat("    for ", absl::StrJoin(loops, ", "), " in T.grid(", absl::StrJoin(extents, ", "), "):\n");
    return absl::StrCat(head, "        with T.block(\"", block, "\"):\n            ", absl::StrJoin(*iters, ", "),
                        " = T.axis.remap(\"", kinds, "\", [", absl::StrJoin(loops, ", "), "])\n");
  }

  std::string Plain(const Name& target, const std::string& block, size_t own, bool first) {
    std::vector<std::string> iters;
    std::string text = Header(target.shape, std::string(target.shape.size(), 'S'), block, &iters);
    const std::string element = absl::StrCat(target.name, "[", absl::StrJoin(iters, ", "), "]");
    const bool guarded = !first && draw_.Chance(40);
    const std::string condition = Condition(own, first, iters);
    const std::string value = Value(target, element, own, first, iters, 2);
    if (guarded && Piece())
      return absl::StrCat(text, Spaces(3), "if ", condition, ":\n", Spaces(4), element, " = ", value, "\n");
    return absl::StrCat(text, Spaces(3), element, " = ", value, "\n");
  }

  // The greatest of some terms.
  std::string Sum(const Name& target, const std::string& block, size_t own, bool first) {
    std::vector<int64_t> extents = target.shape;
    extents.push_back(1 + draw_.Below(6));
    std::vector<std::string> iters;
    std::string text = Header(extents, std::string(target.shape.size(), 'S') + "R", block, &iters);
    const std::vector<std::string> spatial(iters.begin(), iters.end() - 1);
    const std::string element = absl::StrCat(target.name, "[", absl::StrJoin(spatial, ", "), "]");
    std::vector<std::string> last_first(iters.rbegin(), iters.rend());
    const std::string term = Value(target, Number(target, "0", "int32"), own, first, last_first, 1);
    return absl::StrCat(text, Spaces(3), "with T.init():\n", Spaces(4), element, " = T.Cast(\"", target.type,
                        "\", 0)\n", Spaces(3), element, " = T.max(", element, ", ", term, ")\n");
  }

  // Rows through match_buffer.
  std::string Rows(const Name& target, const std::string& block, size_t own, bool first) {
    std::vector<std::string> iters;
    std::string text = Header({target.shape[0]}, "S", block, &iters);
    const int64_t columns = target.shape[1];
    const std::string stride =
        target.name.find("_v") == std::string::npos ? "" : absl::StrCat(", strides=(\"s", block, "\",)");
    Name row = {"M", target.type, {columns}, target.is_float};
    iters.push_back("k");
    const std::string element = "M[k]";
    const std::string value = Value(target, element, own, first, iters, 1);
    if (!Piece()) {
      return absl::StrCat(text, Spaces(3), "for k in range(", columns, "):\n", Spaces(4), target.name,
                          "[v0, k] = ", Value(target, absl::StrCat(target.name, "[v0, k]"), own, first, iters, 0),
                          "\n");
    }
    return absl::StrCat(text, Spaces(3), "M = T.match_buffer(", target.name, "[v0, 0:", columns, "], (", columns,
                        ",), \"", target.type, "\"", stride, ", offset_factor=1)\n", Spaces(3), "for k in range(",
                        columns, "):\n", Spaces(4), element, " = ", value, "\n");
  }

  Draw draw_;
  const std::set<int>& without_;
  int piece_ = 0, blocks_ = 0;
  int64_t rows_ = 2, columns_ = 2;
  std::vector<Memory> memory_;    // parameters A, B, O, then temporaries
  std::vector<size_t> readable_;  // of them
};

}  // namespace

ProgramText MakeViewsText(uint64_t seed, const std::set<int>& without) { return Maker(seed, without).Make(); }

}  // namespace tilewright
