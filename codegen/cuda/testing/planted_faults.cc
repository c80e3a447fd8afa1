#include "codegen/cuda/testing/planted_faults.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/check.h"

namespace tilewright::cuda::testing {
namespace {

// A change of one line; without text the line is gone.
struct Edit {
  size_t line;
  std::optional<std::string> by;
};
struct Site {
  std::string place;
  std::vector<Edit> edits;
  std::string change_of_text = {};            // without the line's number: equal ones are made together
  std::function<void(Program&)> change = {};  // of the maps
};

class Planter {
 public:
  explicit Planter(const Program& program) : program_(program), lines_(absl::StrSplit(program.text, '\n')) {}

  void Barriers() { Remove({"__syncthreads();", "tw::cluster_sync();", "tw::named_barrier("}); }
  void Commits() { Remove({"tw::cp_async_commit();", "tw::wgmma_commit();", "tw::bulk_commit();"}); }
  void Fences() { Remove({"tw::fence_proxy_async", "tw::fence_mbarrier_init();", "tw::wgmma_fence("}); }

  void Waits() {
    for (const char* call : {"cp_async_wait<", "wgmma_wait<", "bulk_wait<", "bulk_wait_read<"}) {
      Numbers(call, ">", [](int64_t n) { return n + 1; });
    }
    Numbers("groups[1] + ", "u <", [](int64_t n) { return n + 1; });
    // What waits until a stage is free.
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (absl::StrContains(lines_[i], "mbarrier_wait(empty")) Add(i, std::nullopt);
    }
  }

  void Parities() {
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (absl::StrContains(lines_[i], "mbarrier_wait(empty")) Substitute(i, "u + 1u) % 2u)", "u) % 2u)");
      if (absl::StrContains(lines_[i], "mbarrier_wait(full")) Substitute(i, "u % 2u)", "u % 2u ^ 1u)");
    }
  }

  void Swizzles() {
    for (size_t i = 0; i < lines_.size(); ++i) {
      for (const auto& [what, by] : {std::pair{"kSwizzle128>", "kSwizzle64>"},
                                     {"kSwizzle64>", "kSwizzle128>"},
                                     {"kSwizzle32>", "kSwizzle64>"}}) {
        Substitute(i, what, by);
      }
      const bool copies =
          absl::StrContains(lines_[i], "cp_async<") || absl::StrContains(lines_[i], "tw::Store(tw::Cast");
      if (copies && !absl::StrContains(lines_[i], " ^ 0)")) Substitute(i, " ^ ", " | ");
    }
    Maps([](KernelTensorMap& map) {
      if (map.span == 0) return false;
      map.span = map.span == 128 ? 64 : 2 * map.span;
      return true;
    });
  }

  void Descriptors() {
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (!absl::StrContains(lines_[i], "wgmma_descriptor<")) continue;
      Substitute(i, "kMajorMN", "kMajorK");
      for (const char* stride : {", 256)", ", 512)", ", 1024)", ", 2048)"}) {
        int64_t bytes = 0;
        TW_CHECK(absl::SimpleAtoi(absl::string_view(stride).substr(2, absl::string_view(stride).size() - 3), &bytes));
        Substitute(i, stride, absl::StrCat(", ", bytes / 2, ")"));
      }
    }
    Maps([](KernelTensorMap& map) {
      if (map.lower.empty()) return false;
      ++map.lower[0];
      return true;
    });
    Maps([](KernelTensorMap& map) {
      if (map.box.empty() || map.box[0] < 16) return false;
      map.box[0] /= 2;
      return true;
    });
  }

  void Fragments() {
    for (size_t i = 0; i < lines_.size(); ++i) {
      Substitute(i, "stmatrix_x4(", "stmatrix_x4_trans(");
      if (!absl::StrContains(lines_[i], "ldmatrix_x")) continue;
      if (absl::StrContains(lines_[i], "_trans(")) {
        Substitute(i, "_trans(", "(");
      } else {
        for (const char* call : {"ldmatrix_x4(", "ldmatrix_x2("}) {
          Substitute(i, call, absl::StrCat(absl::string_view(call).substr(0, 11), "_trans("));
        }
      }
      NumbersOf(i, "tx % 16 * ", " ", [](int64_t n) { return n + 8; });
    }
  }

  // What frees a stage comes first, then the wait for those who use it.
  void EarlyReleases() {
    // The group whose products are under way is released with those before it.
    Numbers("groups[2] + ", "u <", [](int64_t n) { return n == 0 ? 0 : n - 1; });
    std::erase_if(sites_, [&](const Site& site) { return absl::StrContains(site.place, "groups[2] + 0u"); });
    for (size_t i = 0; i < lines_.size(); ++i) {
      const absl::string_view line = absl::StripAsciiWhitespace(lines_[i]);
      const bool waits = absl::StartsWith(line, "tw::wgmma_wait<"), barrier = line == "__syncthreads();";
      if (!waits && !barrier) continue;
      const std::optional<size_t> end = EndOfRelease(i, barrier);
      if (!end) continue;
      Site site{.place = absl::StrCat(Place(i), " after ", Place(*end)), .change_of_text = std::string(line)};
      site.edits.push_back({i, std::nullopt});
      site.edits.push_back({*end, absl::StrCat(lines_[*end], "\n", lines_[i])});
      sites_.push_back(std::move(site));
    }
  }

  void GridWaits() { Remove({"tw::grid_dependency_wait();"}); }
  // The wait comes last in its block of the text.
  void GridOrders() {
    Site site{.place = "all waits for the grid in front"};
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (absl::StripAsciiWhitespace(lines_[i]) != "tw::grid_dependency_wait();") continue;
      size_t last = i;
      while (IndentOf(lines_[last + 1]) >= IndentOf(lines_[i])) ++last;
      site.edits.push_back({i, std::nullopt});
      site.edits.push_back({last, absl::StrCat(lines_[last], "\n", lines_[i])});
    }
    if (!site.edits.empty()) sites_.push_back(std::move(site));
  }

  void ExpectedBytes() {
    for (const int64_t more : {-16, 16}) {
      for (size_t i = 0; i < lines_.size(); ++i) {
        const size_t end = lines_[i].rfind(");"), comma = lines_[i].rfind(", ");
        int64_t bytes = 0;
        if (!absl::StrContains(lines_[i], "mbarrier_expect_tx(") || comma == std::string::npos) continue;
        if (!absl::SimpleAtoi(lines_[i].substr(comma + 2, end - comma - 2), &bytes)) continue;
        Add(i, absl::StrCat(lines_[i].substr(0, comma + 2), bytes + more, lines_[i].substr(end)));
      }
    }
  }

  void Arrivals() {
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (absl::StrContains(lines_[i], "mbarrier_init(")) NumbersOf(i, ", ", ")", [](int64_t n) { return n + 1; });
    }
  }

  void Lanes() {
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (!absl::StrContains(lines_[i], "__shfl_")) continue;
      NumbersOf(i, ", ", ")", [](int64_t n) { return n == 1 ? 2 : n / 2; });
    }
  }

  // A buffer of shared memory begins where another one lies: its constant offset is left out in all accesses.
  void Overlaps() {
    std::set<std::string> seen;
    for (size_t i = 0; i < lines_.size(); ++i) {
      for (size_t at = lines_[i].find(kRegion); at != std::string::npos; at = lines_[i].find(kRegion, at + 1)) {
        const std::string offset = OffsetAt(lines_[i], at + kRegion.size());
        if (!offset.empty() && seen.insert(offset).second) WithoutOffset(offset);
      }
      const size_t barriers = lines_[i].find("SharedAt<uint64_t>(");
      if (barriers != std::string::npos) {
        Add(i, absl::StrCat(lines_[i].substr(0, barriers), "SharedAt<uint64_t>(0);"));
      }
    }
  }

  // Equal lines change together: what stands there twice, as a wait in front of each copy of a step, is not needed
  // twice.
  void Together() {
    std::vector<Site> merged;
    for (Site& site : sites_) {
      const auto same = std::ranges::find_if(merged, [&](const Site& other) {
        return !site.change_of_text.empty() && other.change_of_text == site.change_of_text;
      });
      if (same == merged.end()) {
        merged.push_back(std::move(site));
      } else {
        same->edits.insert(same->edits.end(), site.edits.begin(), site.edits.end());
      }
    }
    sites_ = std::move(merged);
  }

  std::vector<PlantedFault> Planted(size_t most) const {
    std::vector<PlantedFault> planted;
    const size_t count = std::min(most, sites_.size());
    for (size_t n = 0; n < count; ++n) {
      const Site& site = sites_[count == 1 ? 0 : n * (sites_.size() - 1) / (count - 1)];
      PlantedFault fault{site.place, program_};
      if (site.change) site.change(fault.program);
      if (!site.edits.empty()) fault.program.text = With(site.edits);
      planted.push_back(std::move(fault));
    }
    return planted;
  }

 private:
  static inline const std::string kRegion = "(shared_region)";

  std::string Place(size_t line) const {
    return absl::StrCat("line ", line + 1, ": ", absl::StripAsciiWhitespace(lines_[line]));
  }
  void Add(size_t line, std::optional<std::string> by) {
    const std::string change = absl::StrCat(absl::StripAsciiWhitespace(lines_[line]), " becomes ",
                                            by ? absl::StripAsciiWhitespace(*by) : "nothing");
    sites_.push_back({absl::StrCat("line ", line + 1, ": ", change), {{line, std::move(by)}}, change});
  }
  std::string With(const std::vector<Edit>& edits) const {
    std::vector<std::optional<std::string>> lines(lines_.begin(), lines_.end());
    for (const Edit& edit : edits) lines[edit.line] = edit.by;
    std::vector<std::string> left;
    for (const auto& line : lines) {
      if (line) left.push_back(*line);
    }
    return absl::StrJoin(left, "\n");
  }

  void Remove(std::initializer_list<absl::string_view> calls) {
    for (size_t i = 0; i < lines_.size(); ++i) {
      const absl::string_view line = absl::StripAsciiWhitespace(lines_[i]);
      if (std::ranges::any_of(calls, [&](absl::string_view call) { return absl::StartsWith(line, call); })) {
        Add(i, std::nullopt);
      }
    }
  }
  // Each occurrence is a site of its own.
  void Substitute(size_t line, const std::string& what, const std::string& by) {
    for (size_t at = lines_[line].find(what); at != std::string::npos; at = lines_[line].find(what, at + 1)) {
      Add(line, absl::StrCat(lines_[line].substr(0, at), by, lines_[line].substr(at + what.size())));
    }
  }
  // Numbers between two texts.
  void NumbersOf(size_t line, const std::string& before, const std::string& after,
                 const std::function<int64_t(int64_t)>& change) {
    const std::string& text = lines_[line];
    for (size_t at = text.find(before); at != std::string::npos; at = text.find(before, at + 1)) {
      const size_t begin = at + before.size();
      size_t end = begin;
      while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
      int64_t number = 0;
      if (!absl::SimpleAtoi(text.substr(begin, end - begin), &number) || text.compare(end, after.size(), after) != 0) {
        continue;
      }
      Add(line, absl::StrCat(text.substr(0, begin), change(number), text.substr(end)));
    }
  }
  void Numbers(const std::string& before, const std::string& after, const std::function<int64_t(int64_t)>& change) {
    for (size_t i = 0; i < lines_.size(); ++i) NumbersOf(i, before, after, change);
  }

  void Maps(const std::function<bool(KernelTensorMap&)>& change) {
    for (size_t f = 0; f < program_.functions.size(); ++f) {
      for (size_t k = 0; k < program_.functions[f].kernels.size(); ++k) {
        const Kernel& kernel = program_.functions[f].kernels[k];
        for (size_t p = 0; p < kernel.params.size(); ++p) {
          std::optional<KernelTensorMap> map = kernel.params[p].map;
          if (!map || !change(*map)) continue;
          const auto changed = [=](Program& program) { program.functions[f].kernels[k].params[p].map = map; };
          sites_.push_back({absl::StrCat("the map of ", kernel.params[p].buffer->name), {}, {}, changed});
        }
      }
    }
  }

  static size_t IndentOf(absl::string_view line) {
    return line.size() - absl::StripLeadingAsciiWhitespace(line).size();
  }

  // The last line of what frees a stage right behind a wait: arrivals at `empty`, copies into it. Nothing where other
  // statements come first.
  std::optional<size_t> EndOfRelease(size_t wait, bool barrier) const {
    const size_t indent = IndentOf(lines_[wait]);
    std::optional<size_t> end;
    bool frees = false;
    for (size_t i = wait + 1; i < lines_.size(); ++i) {
      const absl::string_view line = absl::StripAsciiWhitespace(lines_[i]);
      if (IndentOf(lines_[i]) < indent || absl::StrContains(line, "wgmma<") || absl::StrContains(line, "ldmatrix"))
        break;
      if (absl::StrContains(line, barrier ? "cp_async<" : "mbarrier_arrive") || absl::StrContains(line, "tma_load")) {
        frees = true;
      }
      if (IndentOf(lines_[i]) == indent && (line == "}" || absl::EndsWith(line, ";"))) end = i;
      if (frees && end == i && i > wait) return end;
    }
    return std::nullopt;
  }

  // The constant at the end of the offset or index that begins here, with its closing bracket: "+ 4096)", "[32]".
  static std::string OffsetAt(const std::string& line, size_t at) {
    const size_t open = line.find_first_of("([", at);
    if (open == std::string::npos || open - at > 3) return "";
    int depth = 0;
    for (size_t i = open; i < line.size(); ++i) {
      if (line[i] == '(' || line[i] == '[') ++depth;
      if ((line[i] != ')' && line[i] != ']') || --depth > 0) continue;
      size_t begin = i;
      while (std::isdigit(static_cast<unsigned char>(line[begin - 1])) != 0) --begin;
      if (begin == i) return "";
      if (begin == open + 1) return line.substr(begin, i - begin) == "0" ? "" : line.substr(open, i - open + 1);
      return line.compare(begin - 3, 3, " + ") == 0 ? line.substr(begin - 3, i - begin + 4) : "";
    }
    return "";
  }
  void WithoutOffset(const std::string& offset) {
    const std::string by = offset[0] == '[' ? "[0]" : offset.substr(offset.size() - 1);
    Site site{.place = absl::StrCat("without \"", offset, "\"")};
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (!absl::StrContains(lines_[i], kRegion) || !absl::StrContains(lines_[i], offset)) continue;
      site.edits.push_back({i, absl::StrReplaceAll(lines_[i], {{offset, by}})});
    }
    sites_.push_back(std::move(site));
  }

  const Program& program_;
  std::vector<std::string> lines_;
  std::vector<Site> sites_;
};

struct FaultKind {
  std::string_view name;
  void (Planter::*plant)();
  bool together = false;
};
constexpr FaultKind kKinds[] = {
    {"barrier", &Planter::Barriers, true},
    {"wait", &Planter::Waits, true},
    {"parity", &Planter::Parities, true},
    {"commit", &Planter::Commits, true},
    {"fence", &Planter::Fences, true},
    {"swizzle", &Planter::Swizzles},
    {"descriptor", &Planter::Descriptors},
    {"fragment", &Planter::Fragments},
    {"early_release", &Planter::EarlyReleases, true},
    {"expect_bytes", &Planter::ExpectedBytes},
    {"arrivals", &Planter::Arrivals},
    {"overlap", &Planter::Overlaps},
    {"lane", &Planter::Lanes},
    {"grid_wait", &Planter::GridWaits, true},
    {"grid_order", &Planter::GridOrders},
};

}  // namespace

std::vector<std::string_view> FaultKinds() {
  std::vector<std::string_view> names;
  for (const FaultKind& kind : kKinds) names.push_back(kind.name);
  return names;
}

std::vector<PlantedFault> PlantFaults(const Program& program, std::string_view kind, size_t most) {
  const auto* found = std::ranges::find(kKinds, kind, &FaultKind::name);
  TW_CHECK(found != std::end(kKinds)) << std::string(kind);
  Planter planter(program);
  (planter.*found->plant)();
  if (found->together) planter.Together();
  return planter.Planted(most);
}

}  // namespace tilewright::cuda::testing
