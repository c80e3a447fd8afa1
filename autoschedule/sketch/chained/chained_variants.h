// Attention and its relatives as plain programs, nothing of them scheduled: what the chained sketch is tried on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace tilewright::testing {

struct ChainedVariant {
  std::string name;
  int64_t rows = 128, keys = 256, depth = 16, width = 16, heads = 2, key_heads = 2;
  // What the maximum is taken of, in terms of a product P[vh, vi, vj].
  std::string score = "P[vh, vi, vj] * T.float32(0.125)";
  std::string start = "-3.0e+38";
  bool late_division = false, log_sum = false;
  std::string bias = "";      // a parameter
  bool by_tokens = false;     // heads of parameters and of the result are behind tokens: blocks move them
  bool batch_of_one = false;  // the result has a dimension of one in front
  // The type of queries, keys and values, to which weights are rounded; float64: of everything.
  std::string type = "float32";
  bool two_values = false;     // a second array of values, with a result of its own
  bool gives_weights = false;  // weights are a result too
};

// A block that moves elements: `to` of iterators a, b and c within the extents is `from`.
inline std::string Moved(const std::string& to, const std::string& from, const std::string& extents) {
  return "    for a, b, c in T.grid(" + extents + "):\n        with T.block(\"" + to.substr(0, to.find('[')) +
         "\"):\n            va, vb, vc = T.axis.remap(\"SSS\", [a, b, c])\n            " + to + " = " + from + "\n";
}

// The program with queries, keys, values and the result by tokens: moved to heads before the chain and back behind it.
inline std::string ByTokens(std::string text) {
  text = absl::StrReplaceAll(text, {{"Q: T.Buffer((HEADS, ROWS, DEPTH)", "QT: T.Buffer((ROWS, HEADS, DEPTH)"},
                                    {"K: T.Buffer((KHEADS, KEYS, DEPTH)", "KT: T.Buffer((KEYS, KHEADS, DEPTH)"},
                                    {"V: T.Buffer((KHEADS, KEYS, WIDTH)", "VT: T.Buffer((KEYS, KHEADS, WIDTH)"},
                                    {"O: T.Buffer((HEADS, ROWS, WIDTH)", "OT: T.Buffer((ROWS, HEADS, WIDTH)"},
                                    {"K[vh // GROUP, vj, vd]", "K[vh // GROUP, vd, vj]"}});
  const std::string first = "    P = T.alloc_buffer";
  text.insert(text.find(first), R"(    Q = T.alloc_buffer((HEADS, ROWS, DEPTH), "float32")
    K = T.alloc_buffer((KHEADS, DEPTH, KEYS), "float32")
    V = T.alloc_buffer((KHEADS, KEYS, WIDTH), "float32")
    O = T.alloc_buffer((HEADS, ROWS, WIDTH), "float32")
)");
  text.insert(text.find("    for h, i, j, d"), Moved("Q[va, vb, vc]", "QT[vb, va, vc]", "HEADS, ROWS, DEPTH") +
                                                   Moved("K[va, vb, vc]", "KT[vc, va, vb]", "KHEADS, DEPTH, KEYS") +
                                                   Moved("V[va, vb, vc]", "VT[vb, va, vc]", "KHEADS, KEYS, WIDTH"));
  return text + Moved("OT[va, vb, vc]", "O[vb, va, vc]", "ROWS, HEADS, WIDTH");
}

// The program with queries, keys and values in a narrower type, to which weights are rounded.
inline std::string InType(const std::string& type, const std::string& text) {
  const std::string narrow = "T.Cast(\"" + type + "\", ", wide = "T.Cast(\"float32\", ";
  const std::string query = "Q[vh, vi, vd]", key = "K[vh // GROUP, vj, vd]", value = "V[vh // GROUP, vj, vd]";
  const auto element = [](const std::string& dtype, const std::string& shape) {
    return "((" + shape + "), \"" + dtype + "\")";
  };
  const auto params = [&](const std::string& dtype) {
    return "Q: T.Buffer" + element(dtype, "HEADS, ROWS, DEPTH") + ", K: T.Buffer" +
           element(dtype, "KHEADS, KEYS, DEPTH") + ", V: T.Buffer" + element(dtype, "KHEADS, KEYS, WIDTH");
  };
  const std::string weights = "W = T.alloc_buffer";
  return absl::StrReplaceAll(
      text, {{query + " * " + key, wide + query + ") * " + wide + key + ")"},
             {"E[vh, vi, vj] * " + value, wide + narrow + "E[vh, vi, vj])) * " + wide + value + ")"},
             {"E[vh, vi, vj] / S[vh, vi]", narrow + "E[vh, vi, vj] / S[vh, vi])"},
             {"W[vh, vi, vj] * " + value, wide + "W[vh, vi, vj]) * " + wide + value + ")"},
             {weights + element("float32", "HEADS, ROWS, KEYS"), weights + element(type, "HEADS, ROWS, KEYS")},
             {params("float32"), params(type)}});
}

// P = Q K, X = score, M = max X, E = exp(X - M), S = sum E, O = sum of E / S times V.
inline constexpr const char* kWeights = R"(
@T.prim_func
def main(Q: T.Buffer((HEADS, ROWS, DEPTH), "float32"), K: T.Buffer((KHEADS, KEYS, DEPTH), "float32"), V: T.Buffer((KHEADS, KEYS, WIDTH), "float32"), BIASO: T.Buffer((HEADS, ROWS, WIDTH), "float32")LOGSUM):
    P = T.alloc_buffer((HEADS, ROWS, KEYS), "float32")
    X = T.alloc_buffer((HEADS, ROWS, KEYS), "float32")
    M = T.alloc_buffer((HEADS, ROWS), "float32")
    E = T.alloc_buffer((HEADS, ROWS, KEYS), "float32")
    S = T.alloc_buffer((HEADS, ROWS), "float32")
    W = T.alloc_buffer((HEADS, ROWS, KEYS), "float32")
    R = T.alloc_buffer((HEADS, ROWS, WIDTH), "float32")
    for h, i, j, d in T.grid(HEADS, ROWS, KEYS, DEPTH):
        with T.block("P"):
            vh, vi, vj, vd = T.axis.remap("SSSR", [h, i, j, d])
            with T.init():
                P[vh, vi, vj] = T.float32(0)
            P[vh, vi, vj] = P[vh, vi, vj] + Q[vh, vi, vd] * K[vh // GROUP, vj, vd]
    for h, i, j in T.grid(HEADS, ROWS, KEYS):
        with T.block("X"):
            vh, vi, vj = T.axis.remap("SSS", [h, i, j])
            X[vh, vi, vj] = SCORE
    for h, i, j in T.grid(HEADS, ROWS, KEYS):
        with T.block("M"):
            vh, vi, vj = T.axis.remap("SSR", [h, i, j])
            with T.init():
                M[vh, vi] = T.float32(START)
            M[vh, vi] = T.max(M[vh, vi], X[vh, vi, vj])
    for h, i, j in T.grid(HEADS, ROWS, KEYS):
        with T.block("E"):
            vh, vi, vj = T.axis.remap("SSS", [h, i, j])
            E[vh, vi, vj] = T.exp(X[vh, vi, vj] - M[vh, vi])
    for h, i, j in T.grid(HEADS, ROWS, KEYS):
        with T.block("S"):
            vh, vi, vj = T.axis.remap("SSR", [h, i, j])
            with T.init():
                S[vh, vi] = T.float32(0)
            S[vh, vi] = S[vh, vi] + E[vh, vi, vj]
)";

// The product with V, divided at last or before, and the logarithm of the sums.
inline constexpr const char* kLateDivision = R"(    for h, i, d, j in T.grid(HEADS, ROWS, WIDTH, KEYS):
        with T.block("R"):
            vh, vi, vd, vj = T.axis.remap("SSSR", [h, i, d, j])
            with T.init():
                R[vh, vi, vd] = T.float32(0)
            R[vh, vi, vd] = R[vh, vi, vd] + E[vh, vi, vj] * V[vh // GROUP, vj, vd]
    for h, i, d in T.grid(HEADS, ROWS, WIDTH):
        with T.block("O"):
            vh, vi, vd = T.axis.remap("SSS", [h, i, d])
            O[vh, vi, vd] = R[vh, vi, vd] / S[vh, vi]
)";
inline constexpr const char* kEarlyDivision = R"(    for h, i, j in T.grid(HEADS, ROWS, KEYS):
        with T.block("W"):
            vh, vi, vj = T.axis.remap("SSS", [h, i, j])
            W[vh, vi, vj] = E[vh, vi, vj] / S[vh, vi]
    for h, i, d, j in T.grid(HEADS, ROWS, WIDTH, KEYS):
        with T.block("O"):
            vh, vi, vd, vj = T.axis.remap("SSSR", [h, i, d, j])
            with T.init():
                O[vh, vi, vd] = T.float32(0)
            O[vh, vi, vd] = O[vh, vi, vd] + W[vh, vi, vj] * V[vh // GROUP, vj, vd]
)";
inline constexpr const char* kLogSum = R"(    for h, i in T.grid(HEADS, ROWS):
        with T.block("L"):
            vh, vi = T.axis.remap("SS", [h, i])
            L[vh, vi] = M[vh, vi] + T.log(S[vh, vi])
)";

// The blocks behind the sums, for values U that give N too.
inline std::string OfOtherValues(bool late_division) {
  const std::string all = late_division ? kLateDivision : kEarlyDivision;
  return absl::StrReplaceAll(late_division ? all : all.substr(all.find("    for h, i, d, j")),
                             {{"O[", "N["}, {"\"O\"", "\"N\""}, {"R[", "Z["}, {"\"R\"", "\"Z\""}, {"V[", "U["}});
}

inline std::string TextOf(const ChainedVariant& v) {
  std::string text = absl::StrCat(kWeights, v.late_division ? kLateDivision : kEarlyDivision,
                                  v.two_values ? OfOtherValues(v.late_division) : "", v.log_sum ? kLogSum : "");
  if (v.two_values) {
    const std::string values = "V: T.Buffer((KHEADS, KEYS, WIDTH), \"float32\")";
    const std::string result = "O: T.Buffer((HEADS, ROWS, WIDTH), \"float32\")";
    const std::string sums = "    R = T.alloc_buffer((HEADS, ROWS, WIDTH), \"float32\")\n";
    text = absl::StrReplaceAll(text, {{values, values + ", U" + values.substr(1)},
                                      {result, result + ", N" + result.substr(1)},
                                      {sums, sums + "    Z" + sums.substr(5)}});
  }
  if (v.gives_weights) {
    const std::string weights = "((HEADS, ROWS, KEYS), \"float32\")";
    text = absl::StrReplaceAll(
        text, {{"    W = T.alloc_buffer" + weights + "\n", ""}, {"LOGSUM):", "LOGSUM, W: T.Buffer" + weights + "):"}});
  }
  if (v.batch_of_one) {
    text = absl::StrReplaceAll(
        text, {{"O: T.Buffer((HEADS", "O: T.Buffer((1, HEADS"}, {"O[vh, vi, vd]", "O[0, vh, vi, vd]"}});
  }
  if (v.type != "float32" && v.type != "float64") text = InType(v.type, text);
  if (v.by_tokens) text = ByTokens(std::move(text));
  const auto number = [](int64_t n) { return std::to_string(n); };
  text = absl::StrReplaceAll(
      text,
      {{"KHEADS", number(v.key_heads)},
       {"HEADS", number(v.heads)},
       {"ROWS", number(v.rows)},
       {"KEYS", number(v.keys)},
       {"DEPTH", number(v.depth)},
       {"WIDTH", number(v.width)},
       {"GROUP", number(v.heads / v.key_heads)},
       {"SCORE", v.score},
       {"START", v.start},
       {"BIAS", v.bias},
       {"LOGSUM", v.log_sum ? ", L: T.Buffer((" + number(v.heads) + ", " + number(v.rows) + "), \"float32\")" : ""}});
  return v.type == "float64" ? absl::StrReplaceAll(text, {{"float32", "float64"}}) : text;
}

// The program with `n` rows and `m` keys, where the variant has 1111 and 2222 of them.
enum : int64_t { kRows = 1111, kKeys = 2222 };
inline std::string Symbolic(const std::string& text) {
  const size_t end = text.find("):\n");
  std::string header = text.substr(0, end), matches;
  for (const char* number : {"1111", "2222"}) {
    const bool used = text.find(number) != std::string::npos;
    if (used) matches += std::string("    ") + (number[0] == '1' ? "n" : "m") + " = T.int64()\n";
  }
  const std::string buffer = ": T.Buffer(";
  for (size_t at = 0; (at = header.find(buffer, at)) != std::string::npos;) {
    const size_t close = header.find("\")", at), begin = header.find_last_of(" (", at) + 1;
    const std::string name = header.substr(begin, at - begin);
    at += buffer.size();
    matches += "    " + name + " = T.match_buffer(" + name + "_, " + header.substr(at, close + 1 - at) + ")\n";
    header.replace(begin, close + 2 - begin, name + "_: T.handle");
    at = begin;
  }
  return absl::StrReplaceAll(header + "):\n" + matches + text.substr(end + 3), {{"1111", "n"}, {"2222", "m"}});
}

inline constexpr const char* kInfinity = "\"-inf\"";

inline std::string Scaled() { return "P[vh, vi, vj] * T.float32(0.125)"; }
inline std::string Masked(const std::string& condition) {
  return "T.if_then_else(" + condition + ", " + Scaled() + ", T.float32(\"-inf\"))";
}

inline std::vector<ChainedVariant> VariantsOfManyQueries() {
  return {
      {.name = "plain"},
      {.name = "late division", .late_division = true},
      {.name = "unscaled", .score = "P[vh, vi, vj]"},
      {.name = "one head", .heads = 1, .key_heads = 1},
      {.name = "head 64", .depth = 64, .width = 64},
      {.name = "head 96", .depth = 96, .width = 96},
      {.name = "head 128", .depth = 128, .width = 128},
      {.name = "head 256", .depth = 256, .width = 256},
      {.name = "narrow head", .depth = 8, .width = 8},
      {.name = "odd head", .depth = 20, .width = 20},
      {.name = "wide values", .depth = 16, .width = 80},
      {.name = "causal", .score = Masked("vj <= vi"), .start = kInfinity},
      {.name = "causal, large number", .score = "T.if_then_else(vj <= vi, " + Scaled() + ", T.float32(-1.0e+9))"},
      {.name = "window", .score = Masked("vj <= vi and vi - vj < 16"), .start = kInfinity},
      {.name = "masked rows", .score = Masked("vi % 3 != 0"), .start = kInfinity},
      {.name = "causal by blocks", .score = Masked("vj // 16 <= vi // 16"), .start = kInfinity},
      {.name = "key blocks", .score = Scaled() + " + B[vj // 8]", .bias = "B: T.Buffer((32,), \"float32\"), "},
      {.name = "bias", .score = Scaled() + " + B[vi, vj]", .bias = "B: T.Buffer((128, 256), \"float32\"), "},
      {.name = "mask of keys", .score = Scaled() + " + B[vj]", .bias = "B: T.Buffer((256,), \"float32\"), "},
      {.name = "ALiBi", .score = Scaled() + " + T.Cast(\"float32\", vj - vi) * T.float32(0.0625)"},
      {.name = "soft cap", .score = "T.tanh(" + Scaled() + ") * T.float32(20)"},
      {.name = "grouped heads", .heads = 4, .key_heads = 2},
      {.name = "one key head", .heads = 4, .key_heads = 1},
      {.name = "log-sum-exp", .log_sum = true},
      {.name = "log-sum-exp, late division", .late_division = true, .log_sum = true},
      {.name = "by tokens", .by_tokens = true},
      {.name = "by tokens, late division", .late_division = true, .by_tokens = true},
      {.name = "by tokens, grouped heads", .heads = 4, .key_heads = 2, .by_tokens = true},
      {.name = "by tokens, odd", .rows = 37, .keys = 50, .depth = 20, .width = 12, .by_tokens = true},
      {.name = "batch of one", .batch_of_one = true},
      {.name = "batch of one, late division", .late_division = true, .batch_of_one = true},
      {.name = "37 rows and keys", .rows = 37, .keys = 37},
      {.name = "129 rows and keys", .rows = 129, .keys = 129},
      {.name = "197 rows and keys", .rows = 197, .keys = 197},
      {.name = "577 rows", .rows = 577, .keys = 64, .heads = 1, .key_heads = 1},
      {.name = "few rows", .rows = 32, .keys = 192},
      {.name = "many keys", .rows = 32, .keys = 512},
      {.name = "50 keys", .keys = 50},
      {.name = "two values", .two_values = true},
      {.name = "two values, late division", .keys = 128, .late_division = true, .two_values = true},
      {.name = "two values, masked rows", .score = Masked("vi % 3 != 0"), .start = kInfinity, .two_values = true},
      {.name = "two values, odd", .rows = 37, .keys = 50, .depth = 20, .width = 12, .two_values = true},
      {.name = "float64", .type = "float64"},
      {.name = "float64, causal", .score = Masked("vj <= vi"), .start = kInfinity, .type = "float64"},
      {.name = "float64, two values", .log_sum = true, .type = "float64", .two_values = true},
      {.name = "float64, odd", .rows = 37, .keys = 77, .depth = 20, .width = 12, .type = "float64"},
  };
}

inline std::vector<ChainedVariant> VariantsOfFewQueries() {
  std::vector<ChainedVariant> all = {
      {.name = "4 queries", .rows = 4, .keys = 128},
      {.name = "1 query", .rows = 1, .keys = 512},
      {.name = "1 query, late division", .rows = 1, .keys = 512, .late_division = true},
      {.name = "1 query, odd", .rows = 1, .keys = 509, .depth = 20, .width = 12},
      {.name = "1 query, narrow head", .rows = 1, .keys = 512, .depth = 3, .width = 5},
      {.name = "1 query, head 128", .rows = 1, .keys = 512, .depth = 128, .width = 128},
      {.name = "1 query, grouped heads", .rows = 1, .keys = 512, .heads = 8, .key_heads = 2},
      {.name = "1 query, by tokens", .rows = 1, .keys = 512, .by_tokens = true},
      {.name = "1 query, bias",
       .rows = 1,
       .keys = 512,
       .score = Scaled() + " + B[vj]",
       .bias = "B: T.Buffer((512,), \"float32\"), "},
      {.name = "3 queries, odd", .rows = 3, .keys = 77, .depth = 40, .width = 24},
      {.name = "4 queries, grouped heads",
       .rows = 4,
       .keys = 192,
       .depth = 64,
       .width = 64,
       .heads = 6,
       .key_heads = 2},
      {.name = "5 queries, last at the last key",
       .rows = 5,
       .keys = 256,
       .score = Masked("vj <= vi + 251"),
       .start = kInfinity},
  };
  for (const char* type : {"bfloat16", "float16"}) {
    const std::string name = type;
    all.push_back({.name = name + ", 1 query", .rows = 1, .keys = 512, .heads = 4, .key_heads = 2, .type = type});
  }
  return all;
}

// The list that sketches of all kinds of machines are tried on.
inline std::vector<ChainedVariant> Variants() {
  std::vector<ChainedVariant> all = VariantsOfManyQueries();
  for (ChainedVariant& variant : VariantsOfFewQueries()) all.push_back(std::move(variant));
  return all;
}

// Chains of which weights are a result too: all keys are one block.
inline std::vector<ChainedVariant> VariantsThatGiveWeights() {
  return {
      {.name = "weights", .gives_weights = true},
      {.name = "weights, log-sum-exp", .log_sum = true, .gives_weights = true},
      {.name = "weights, masked rows", .score = Masked("vi % 3 != 0"), .start = kInfinity, .gives_weights = true},
      {.name = "weights, causal, odd",
       .rows = 37,
       .keys = 77,
       .depth = 20,
       .width = 12,
       .score = Masked("vj <= vi"),
       .start = kInfinity,
       .gives_weights = true},
      {.name = "weights of 3 queries", .rows = 3, .keys = 77, .depth = 20, .width = 12, .gives_weights = true},
      {.name = "weights in float64", .rows = 40, .keys = 50, .type = "float64", .gives_weights = true},
      {.name = "weights, two values", .rows = 40, .keys = 50, .two_values = true, .gives_weights = true},
  };
}

// What reduces the rows of a product without a second one: a text for the blocks behind P; R and S hold results.
struct RowsVariant {
  std::string name, blocks;
  std::string params = "";  // beside R
};

inline std::string TextOf(const RowsVariant& v) {
  return R"(
@T.prim_func
def main(Q: T.Buffer((2, 128, 16), "float32"), K: T.Buffer((2, 256, 16), "float32"), R: T.Buffer((2, 128), "float32"))" +
         v.params + R"():
    P = T.alloc_buffer((2, 128, 256), "float32")
    M = T.alloc_buffer((2, 128), "float32")
    E = T.alloc_buffer((2, 128, 256), "float32")
    S = T.alloc_buffer((2, 128), "float32")
    for h, i, j, d in T.grid(2, 128, 256, 16):
        with T.block("P"):
            vh, vi, vj, vd = T.axis.remap("SSSR", [h, i, j, d])
            with T.init():
                P[vh, vi, vj] = T.float32(0)
            P[vh, vi, vj] = P[vh, vi, vj] + Q[vh, vi, vd] * K[vh, vj, vd]
)" + v.blocks;
}

// A block over rows and keys that reduces keys.
inline std::string RowsReduced(const std::string& buffer, const std::string& start, const std::string& value) {
  const std::string element = buffer + "[vh, vi]";
  return "    for h, i, j in T.grid(2, 128, 256):\n        with T.block(\"" + buffer +
         "\"):\n            vh, vi, vj = T.axis.remap(\"SSR\", [h, i, j])\n            with T.init():\n               "
         " " +
         element + " = T.float32(" + start + ")\n            " + element + " = " + value + "\n";
}
inline std::string RowsComputed(const std::string& element, const std::string& value, bool keys) {
  return std::string("    for h, i") + (keys ? ", j" : "") + " in T.grid(2, 128" + (keys ? ", 256" : "") +
         "):\n        with T.block(\"" + element.substr(0, 1) + "\"):\n            vh, vi" + (keys ? ", vj" : "") +
         " = T.axis.remap(\"" + (keys ? "SSS" : "SS") + "\", [h, i" + (keys ? ", j" : "") + "])\n            " +
         element + " = " + value + "\n";
}

inline std::vector<RowsVariant> RowsVariants() {
  const std::string most = RowsReduced("M", "-3.0e+38", "T.max(M[vh, vi], P[vh, vi, vj])");
  const std::string exponentials = RowsComputed("E[vh, vi, vj]", "T.exp(P[vh, vi, vj] - M[vh, vi])", true);
  return {
      {"log-sum-exp of a product", most + RowsReduced("S", "0", "S[vh, vi] + T.exp(P[vh, vi, vj] - M[vh, vi])") +
                                       RowsComputed("R[vh, vi]", "M[vh, vi] + T.log(S[vh, vi])", false)},
      {"norm of a product's rows", RowsReduced("S", "0", "S[vh, vi] + P[vh, vi, vj] * P[vh, vi, vj]") +
                                       RowsComputed("R[vh, vi]", "T.sqrt(S[vh, vi])", false)},
      {"variance around a mean",
       RowsReduced("S", "0", "S[vh, vi] + P[vh, vi, vj]") +
           RowsComputed("M[vh, vi]", "S[vh, vi] * T.float32(0.00390625)", false) +
           RowsReduced("R", "0", "R[vh, vi] + (P[vh, vi, vj] - M[vh, vi]) * (P[vh, vi, vj] - M[vh, vi])")},
      {"greatest probability", most + exponentials + RowsReduced("S", "0", "S[vh, vi] + E[vh, vi, vj]") +
                                   RowsReduced("R", "0", "T.max(R[vh, vi], E[vh, vi, vj] / S[vh, vi])")},
      {"sum of absolute values", RowsReduced("R", "0", "R[vh, vi] + T.fabs(P[vh, vi, vj])")},
      {"sum of a window", most + RowsReduced("R", "0",
                                             "R[vh, vi] + T.if_then_else(vj <= vi + 9 and vi - vj < 21, "
                                             "T.exp(P[vh, vi, vj] - M[vh, vi]), T.float32(0))")},
  };
}

// Chains that need whole rows of scores: they choose keys, give places of keys, or elements for all of them.
inline std::vector<RowsVariant> WholeRowsVariants() {
  const std::string most = RowsReduced("M", "-3.0e+38", "T.max(M[vh, vi], P[vh, vi, vj])");
  const std::string exponentials = RowsComputed("E[vh, vi, vj]", "T.exp(P[vh, vi, vj] - M[vh, vi])", true);
  const std::string sum = RowsReduced("S", "0", "S[vh, vi] + E[vh, vi, vj]");
  const std::string scores = ", Z: T.Buffer((2, 128, 256), \"float32\")", places = ", A: T.Buffer((2, 128), \"int32\")";
  const std::string place = absl::StrReplaceAll(
      RowsReduced("A", "0",
                  "T.min(A[vh, vi], T.Select(P[vh, vi, vj] == M[vh, vi], T.Cast(\"int32\", vj), 2147483647))"),
      {{"T.float32(0)", "2147483647"}});
  return {
      {"softmax of a product",
       most + exponentials + sum + RowsComputed("R[vh, vi]", "S[vh, vi]", false) +
           RowsComputed("Z[vh, vi, vj]", "E[vh, vi, vj] / S[vh, vi]", true),
       scores},
      {"scaled scores as a result",
       RowsComputed("Z[vh, vi, vj]", "P[vh, vi, vj] * T.float32(0.125)", true) +
           RowsReduced("R", "0", "R[vh, vi] + Z[vh, vi, vj] * Z[vh, vi, vj]"),
       scores},
      {"place beside a sum of exponentials",
       most + exponentials + place + RowsReduced("R", "0", "R[vh, vi] + E[vh, vi, vj]"), places},
      {"score of a label",
       most + exponentials + sum +
           RowsComputed("R[vh, vi]",
                        "P[vh, vi, T.max(T.min(A[vh, vi], 130), 0)] - M[vh, vi] - "
                        "T.log(S[vh, vi])",
                        false),
       places},
  };
}

// The variant with 83 rows and 131 keys, which no tile divides. M, which the chain itself reads, is a result too.
inline std::string TextOfOddRows(const RowsVariant& v) {
  std::string text = absl::StrReplaceAll(TextOf(v), {{"128", "83"}, {"256", "131"}});
  if (v.blocks.find("M[vh, vi] =") == std::string::npos) return text;
  const std::string shape = "((2, 83), \"float32\")";
  return absl::StrReplaceAll(
      text, {{"    M = T.alloc_buffer" + shape + "\n", ""}, {"R: T.Buffer", "M: T.Buffer" + shape + ", R: T.Buffer"}});
}

}  // namespace tilewright::testing
