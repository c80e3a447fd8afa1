#include "codegen/cuda/preamble.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "codegen/cuda/device_text.h"
#include "codegen/cuda/wgmma_forms.h"

namespace tilewright::cuda {
namespace {

// The files of the device's text: each uses definitions of those before it.
constexpr std::string_view kFiles[] = {"device/device.cuh", "device/mma.inc", "device/numerics.h",
                                       "device/device_sm90.cuh"};
// Replacements for GPUs that cannot convert two numbers at once.
constexpr std::string_view kSingleFile = "device/device_sm75.cuh";

constexpr std::string_view kNarrowTypes[] = {"f16", "bf16", "tf32", "e4m3", "e5m2"};

constexpr char kStart[] = R"(// Made by tilewright. Kernels are launched as their host parts say; see docs/abi.md.
#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#endif
)";

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && IsWord(text[end])) ++end;
    if (end > i) words.emplace_back(text.substr(i, end - i));
    i = std::max(end, i + 1);
  }
  return words;
}

// A definition of the device's text.
struct Piece {
  std::string text;
  bool is_macro = false;
  std::vector<std::string> names;   // that it defines
  std::vector<std::string> needed;  // narrow types that its signature mentions
};

// Brackets that the line opens and does not close, outside of strings.
int Opened(std::string_view line) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && (i == 0 || line[i - 1] != '\\')) in_string = !in_string;
    if (in_string) continue;
    if (line.substr(i).starts_with("//")) break;
    if (line[i] == '{' || line[i] == '(') ++depth;
    if (line[i] == '}' || line[i] == ')') --depth;
  }
  return depth;
}

// Names of a call of a macro that defines functions.
std::vector<std::string> NamesOfCall(const std::vector<std::string>& words, std::string_view text) {
  if (words[0] == "TW_MMA") return {"mma_" + words[1]};
  if (words[0] == "TW_LDMATRIX") {
    const std::string form = absl::StrContains(std::string(text), "_trans") ? "_trans" : "";
    return {words[1] + "x1" + form, words[1] + "x2" + form, words[1] + "x4" + form};
  }
  return {words[1]};
}

// The macros whose names a call puts together: mma's by its numbers of registers.
std::string MacrosOf(const std::vector<std::string>& words) {
  if (words[0] == "TW_LDMATRIX") return " TW_FORM TW_FORM_trans";
  if (words[0] != "TW_MMA" || words.size() < 5) return "";
  const size_t n = words.size();
  return absl::StrCat(" TW_MMA_", words[n - 3], words[n - 2], words[n - 1], " TW_SUM_", words[n - 4]);
}

void Describe(Piece& piece) {
  const std::vector<std::string> words = Words(piece.text);
  if (piece.is_macro) {
    piece.names = {words[1]};
    return;
  }
  if (piece.text.starts_with("TW_") && !piece.text.starts_with("TW_DEVICE")) {
    piece.names = NamesOfCall(words, piece.text);
    return;
  }
  const std::string head = piece.text.substr(0, piece.text.find_first_of("{;"));
  const std::vector<std::string> of_head = Words(head);
  const auto after = [&](std::string_view word) -> std::string {
    for (size_t i = 0; i + 1 < of_head.size(); ++i) {
      if (of_head[i] != word) continue;
      if (of_head[i + 1] != "alignas") return of_head[i + 1];
      const size_t closed = head.rfind(')');
      return closed == std::string::npos ? "" : Words(head.substr(closed)).at(0);
    }
    return "";
  };
  if (std::ranges::find(of_head, "enum") != of_head.end()) {
    for (const std::string& word : words) {
      if (std::isdigit(static_cast<unsigned char>(word[0])) == 0) piece.names.push_back(word);
    }
    return;
  }
  const bool is_function = absl::StrContains(head, "TW_DEVICE");
  if (!is_function) {
    const std::string of_struct = after("struct");
    const std::string of_using = after("using");
    piece.names = {!of_using.empty() ? of_using : !of_struct.empty() ? of_struct : "tw_dynamic_shared"};
    return;
  }
  // The word in front of the first parenthesis, template arguments left out.
  const std::string from_device = head.substr(head.find("TW_DEVICE") + 9);
  std::string name = from_device.substr(0, from_device.find('('));
  if (name.ends_with('>')) name = name.substr(0, name.rfind('<'));
  const std::vector<std::string> before = Words(name);
  if (!before.empty()) piece.names = {before.back()};
  for (const std::string& word : of_head) {
    if (std::ranges::find(kNarrowTypes, word) != std::end(kNarrowTypes)) piece.needed.push_back(word);
  }
}

std::vector<Piece> PiecesOf(std::string_view text) {
  std::vector<Piece> pieces;
  std::string comment, current;
  int depth = 0;
  bool skipping = false;
  const auto finish = [&](bool is_macro) {
    Piece piece{.text = std::exchange(current, ""), .is_macro = is_macro};
    Describe(piece);
    piece.text = std::exchange(comment, "") + piece.text;
    pieces.push_back(std::move(piece));
    depth = 0;
  };
  for (const auto view : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    const std::string line(view);
    if (skipping || line.starts_with("#if")) {
      skipping = !line.starts_with("#endif");
      continue;
    }
    if (!current.empty() && current.starts_with("#define")) {
      current += line + "\n";
      if (!line.ends_with('\\')) finish(true);
      continue;
    }
    if (current.empty()) {
      if (line.empty()) comment.clear();
      if (line.starts_with("//")) comment += line + "\n";
      if (line.empty() || line.starts_with("//") || line.starts_with("namespace") ||
          line.starts_with("}  // namespace")) {
        continue;
      }
      if (line.starts_with("#define")) {
        current = line + "\n";
        if (!line.ends_with('\\')) finish(true);
        continue;
      }
      if (line.starts_with("#")) {
        comment.clear();
        continue;
      }
    }
    current += line + "\n";
    depth += Opened(line);
    const bool is_call = current.starts_with("TW_") && !current.starts_with("TW_DEVICE") && line.ends_with(')');
    if (depth == 0 && (line.ends_with(';') || line.ends_with('}') || is_call)) finish(false);
  }
  return pieces;
}

std::vector<Piece> PiecesOfFile(std::string_view file) {
  for (const DeviceHeader& header : DeviceHeaders()) {
    if (header.path.ends_with(file)) return PiecesOf(header.text);
  }
  return {};
}

// Definitions that older GPUs do not have are replaced where the first of them stands.
std::vector<Piece> WithoutPairs(const std::vector<Piece>& pieces) {
  std::vector<Piece> others = PiecesOfFile(kSingleFile), result;
  const auto replaced = [&](const Piece& piece) {
    return std::ranges::any_of(others, [&](const Piece& other) { return other.names == piece.names; });
  };
  bool inserted = false;
  for (const Piece& piece : pieces) {
    if (!replaced(piece)) {
      result.push_back(piece);
    } else if (!std::exchange(inserted, true)) {
      result.insert(result.end(), others.begin(), others.end());
    }
  }
  return result;
}

const std::vector<Piece>& AllPieces(bool pairs) {
  static const auto* const all = [] {
    auto* pieces = new std::vector<Piece>;
    for (std::string_view file : kFiles) {
      for (Piece& piece : PiecesOfFile(file)) pieces->push_back(std::move(piece));
    }
    return pieces;
  }();
  static const auto* const without = new std::vector<Piece>(WithoutPairs(*all));
  return pairs ? *all : *without;
}

}  // namespace

std::string PreambleFor(const std::string& text, bool pairs) {
  const std::vector<Piece>& pieces = AllPieces(pairs);
  std::vector<bool> wanted(pieces.size());
  std::set<std::string> used;
  const std::string forms = WgmmaForms(text);
  for (const std::string& word : Words(text + forms)) used.insert(word);
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < pieces.size(); ++i) {
      const auto is_used = [&](const std::string& name) { return used.contains(name); };
      if (wanted[i] || !std::ranges::any_of(pieces[i].names, is_used)) continue;
      if (!std::ranges::all_of(pieces[i].needed, is_used)) continue;
      wanted[i] = more = true;
      const std::vector<std::string> words = Words(pieces[i].text);
      for (const std::string& word : words) used.insert(word);
      for (const std::string& word : Words(MacrosOf(Words(pieces[i].text)))) used.insert(word);
    }
  }
  std::string result = kStart;
  if (used.contains("TW_MATH")) absl::StrAppend(&result, "#define TW_MATH(name) ::name\n");
  // Outside of the namespace: memory of the block, and types that CUDA's own interface names.
  std::string inside;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const bool outside =
        pieces[i].is_macro || pieces[i].names[0] == "tw_dynamic_shared" || pieces[i].names[0] == "TwTensorMap";
    if (wanted[i]) absl::StrAppend(outside ? &result : &inside, pieces[i].text);
  }
  inside += forms;
  if (!inside.empty()) absl::StrAppend(&result, "namespace tw {\n", inside, "}  // namespace tw\n");
  return result + "\n";
}

}  // namespace tilewright::cuda
