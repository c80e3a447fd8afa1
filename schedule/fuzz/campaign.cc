#include "schedule/fuzz/campaign.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <set>

#include "absl/strings/ascii.h"
#include "base/check.h"
#include "ir/script/printer.h"
#include "ir/structural.h"
#include "schedule/fuzz/moves.h"
#include "schedule/fuzz/mutations.h"
#include "schedule/script/trace_text.h"

namespace tilewright::fuzz {
namespace {

constexpr size_t kKeep = 20;   // findings of each kind
constexpr int64_t kLooks = 3;  // at refusals for the same reason
constexpr int kTries = 70;     // for one schedule

bool IsStructural(const Primitive& primitive) {
  static const std::set<std::string_view> kNotes = {
      "parallel",   "vectorize",     "unroll",         "annotate",
      "unannotate", "storage_align", "enter_postproc", "annotate_buffer_access",
      "set_layout"};
  return primitive.role == Primitive::Role::kTransform && !kNotes.contains(primitive.name);
}

int Length(const Trace& trace) {
  return static_cast<int>(std::count_if(trace.instructions.begin(), trace.instructions.end(),
                                        [](const Instruction& i) { return IsStructural(*i.primitive); }));
}

// A third of them are the ones that need a certain program.
const Move& AnyFocus(std::span<const Move> moves, Random& random) {
  const bool particular = random.Below(3) == 0;
  while (true) {
    const Move& move = moves[random.Below(moves.size())];
    if (!particular || move.family != nullptr) return move;
  }
}

// What the interpreter found, without names and numbers: "undeclared access" of "PERMISSION_DENIED: undeclared access:
// block "C" reads ...".
std::string KindOf(const std::string& wrong) {
  if (wrong.starts_with("element ")) return "another result";
  const size_t code = wrong.find(": ");
  const std::string found = code == std::string::npos ? wrong : wrong.substr(code + 2);
  std::string kind = found.substr(0, found.find_first_of(":\"[0123456789"));
  while (!kind.empty() && kind.back() == ' ') kind.pop_back();
  return kind;
}

// A reason without names and numbers: "block x reads x[], which is not all written before" of "block C reads B[vi, vj],
// which ...". What has one or two letters and is no such word, or does not look like a word, counts as a name.
std::string ShapeOf(std::string_view reason) {
  static constexpr std::string_view kShortWords[] = {"an", "as", "at", "be", "by", "in", "is", "it", "no", "of", "to"};
  const auto is_word = [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  std::string shape;
  bool named = false;  // by the word before
  for (size_t i = 0; i < reason.size();) {
    if (reason[i] == '[') {
      int depth = 0;
      do {
        depth += (reason[i] == '[') - (reason[i] == ']');
      } while (++i < reason.size() && depth > 0);
      shape += "[]";
      continue;
    }
    if (!is_word(reason[i])) {
      shape += reason[i++];
      continue;
    }
    const size_t begin = i;
    while (i < reason.size() && is_word(reason[i])) ++i;
    const std::string_view word = reason.substr(begin, i - begin);
    const bool is_name = std::ranges::any_of(word, [](char c) { return !absl::ascii_islower(c); });
    const bool is_short = word.size() < 3 && std::ranges::find(kShortWords, word) == std::end(kShortWords);
    shape += named || is_name || is_short ? std::string("x") : std::string(word);
    named = word == "block" || word == "loop" || word == "iterator" || word == "buffer";
  }
  return shape;
}

}  // namespace

int64_t CampaignCounts::MedianLength() const {
  int64_t below = 0;
  for (const auto& [length, count] : by_length) {
    below += count;
    if (2 * below >= accepted) return length;
  }
  return 0;
}

Campaign::Campaign(CampaignOptions options) : options_(std::move(options)), families_(Families()) {
  for (const Family& family : families_) {
    if (!options_.family.empty() && family.name != options_.family) continue;
    std::vector<Start>& starts = starts_.emplace_back();
    for (const Function& program : family.programs) {
      starts.push_back({&family, program, std::make_unique<Oracle>(program, family.rounds), StructuralHash(program)});
    }
  }
  for (size_t i = 0; i < starts_.size(); ++i) {
    // Those that primitives ask for come up often anyway.
    const std::span<const Move> moves = Moves();
    const Family& family = *starts_[i][0].family;
    const bool asked = std::any_of(moves.begin(), moves.end(), [&](const Move& move) {
      return move.family != nullptr && family.name == move.family;
    });
    drawn_.insert(drawn_.end(), static_cast<size_t>(asked ? 1 : family.weight), i);
  }
  TW_CHECK(!starts_.empty()) << "no family is called " << options_.family;
  const absl::Status loaded = intrins_.LoadScript(kFuzzIntrinsics, "fuzz intrinsics");
  TW_CHECK(loaded.ok()) << loaded.ToString();
}

void Campaign::Run() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  for (uint64_t round = options_.first; counts_.accepted < options_.count; ++round) {
    if (std::chrono::duration<double>(Clock::now() - start).count() > options_.seconds) break;
    One(options_.seed * 1'000'003 + round);
  }
}

const std::vector<Campaign::Start>& Campaign::AnyFamily(const Move& focus, Random& random) const {
  if (focus.family != nullptr && random.Below(6) != 0) {
    for (const std::vector<Start>& starts : starts_) {
      if (starts[0].family->name == focus.family) return starts;
    }
  }
  return starts_[drawn_[random.Below(drawn_.size())]];
}

void Campaign::One(uint64_t seed) {
  Random random(seed);
  // Each schedule is about one primitive, so that all of them come up often; the rest is mixed.
  const std::span<const Move> moves = Moves();
  const Move& focus = AnyFocus(moves, random);
  const std::vector<Start>& family = AnyFamily(focus, random);
  const Start& start = family[random.Below(family.size())];
  Drawer drawer(start.program, random.Next(), &intrins_);
  const int wanted = 4 + static_cast<int>(random.Below(7));
  const int focus_after = focus.family != nullptr ? 0 : static_cast<int>(random.Below(4));
  bool focused = false;
  int done = 0;
  for (int i = 0; i < kTries && done < wanted; ++i) {
    if (!drawer.Look()) break;
    const bool about = !focused && done >= focus_after && (random.Below(2) == 0 || (focus.family != nullptr && i < 12));
    const Move& move = about ? focus : moves[random.Below(moves.size())];
    const bool changed = move.draw(drawer);
    done += changed;
    focused |= changed && about;
  }
  ++counts_.drawn;
  for (const auto& [name, calls] : drawer.accepted()) counts_.calls[name].first += calls;
  for (const auto& [name, calls] : drawer.refused()) counts_.calls[name].second += calls;

  const Function after = drawer.schedule().module().Main();
  const uint64_t hash = StructuralHash(after);
  if (hash == start.hash || !seen_.insert(hash ^ start.hash * 0x9e3779b97f4a7c15).second) {
    ++counts_.repeated;
    return;
  }
  const Trace trace = Simplified(drawer.schedule().trace());
  const Judgement judgement = start.oracle->Judge(drawer.schedule().module(), seed);
  if (!judgement.accepted) {
    return Refused(start, seed, trace, judgement);
  }
  ++counts_.accepted;
  ++counts_.by_family[start.family->name];
  ++counts_.by_length[Length(trace)];
  std::set<std::string> primitives;
  for (const Instruction& instruction : trace.instructions) {
    if (instruction.primitive->role != Primitive::Role::kQuery) primitives.insert(instruction.primitive->name);
  }
  for (const std::string& name : primitives) ++counts_.by_primitive[name];
  if (judgement.right) {
    if (options_.mutate && drawer.schedule().module().functions().size() == 1) Mutate(start, after, seed);
    return;
  }
  ++counts_.mismatched;
  if (mismatches_.size() < kKeep) {
    mismatches_.push_back(Describe(start, seed, trace, judgement));
    Save("mismatch", mismatches_.back());
  }
}

void Campaign::Refused(const Start& start, uint64_t seed, const Trace& trace, const Judgement& judgement) {
  if (!judgement.right) {
    ++counts_.sharp;
    ++counts_.sharp_by_check[judgement.check];
    if (sharp_.size() >= kKeep) return;
    sharp_.push_back(Describe(start, seed, trace, judgement));
    return Save("sharp", sharp_.back());
  }
  ++counts_.blunt;
  ++counts_.blunt_by_check[judgement.check];
  const std::string shape = judgement.check + ": " + ShapeOf(judgement.reason);
  Reason& reason = reasons_[shape];
  reason.shape = shape;
  ++reason.by_family[start.family->name];
  if (++reason.count > kLooks) return;
  Finding example = Describe(start, seed, trace, judgement);
  Save("blunt", example);
  if (reason.count == 1 || example.result.size() < reason.example.result.size()) reason.example = std::move(example);
}

std::vector<Campaign::Reason> Campaign::Reasons() const {
  std::vector<Reason> reasons;
  for (const auto& [shape, reason] : reasons_) reasons.push_back(reason);
  std::ranges::sort(reasons, [](const Reason& a, const Reason& b) {
    return std::pair(-a.count, a.shape) < std::pair(-b.count, b.shape);
  });
  return reasons;
}

void Campaign::Mutate(const Start& start, const Function& function, uint64_t seed) {
  Random random(seed ^ 0x6d757461746521);
  for (const Mutation& mutation : Mutations()) {
    const std::optional<Function> mutant = mutation.apply(function, random);
    if (!mutant) continue;
    const Judgement judgement = start.oracle->Judge(Module(*mutant), seed);
    CampaignCounts::Mutants& counts = counts_.by_mutation[mutation.name];
    ++(judgement.right ? counts.right : judgement.accepted ? counts.missed : counts.refused);
    if (judgement.sound()) continue;
    ++counts_.missed[{mutation.name, KindOf(judgement.wrong)}];
    Finding missed{seed, start.family->name, std::string(mutation.name) + ": " + judgement.wrong, Print(function),
                   "",   Print(*mutant)};
    std::string kind = std::string("missed_") + mutation.name;
    std::ranges::replace(kind, ' ', '_');
    Save(kind, missed);
    if (missed_.size() < kKeep) missed_.push_back(std::move(missed));
  }
}

Trace Campaign::Shrunk(const Start& start, uint64_t seed, const Trace& trace, const Judgement& judgement) {
  Trace best = trace;
  for (size_t i = trace.instructions.size(); i-- > 0;) {
    std::vector<SharedInstruction> left = best.instructions.ToVector();
    left.erase(left.begin() + static_cast<ptrdiff_t>(i));
    Trace fewer{ForkedList(std::move(left))};
    Schedule schedule(Module{start.program}, {.intrins = &intrins_});
    if (!schedule.Replay(fewer).ok()) continue;
    const Judgement now = start.oracle->Judge(schedule.module(), seed);
    const bool as_wrong = now.right == judgement.right && KindOf(now.wrong) == KindOf(judgement.wrong);
    if (now.accepted == judgement.accepted && as_wrong && now.check == judgement.check) {
      best = std::move(fewer);
    }
  }
  return best;
}

Finding Campaign::Describe(const Start& start, uint64_t seed, const Trace& trace, const Judgement& judgement) {
  const Trace shrunk = Shrunk(start, seed, trace, judgement);
  Schedule schedule(Module{start.program}, {.intrins = &intrins_});
  const bool replayed = schedule.Replay(shrunk).ok();
  Judgement last = judgement;
  if (replayed) last = start.oracle->Judge(schedule.module(), seed);
  std::string reason = last.right ? "right" : "wrong: " + last.wrong;
  reason += last.accepted ? "; verify accepts it" : "; verify: " + last.check + ": " + last.reason;
  if (!replayed) reason += "; the trace does not replay";
  return {seed, start.family->name, reason, Print(start.program), ToText(shrunk), Print(schedule.module().Main())};
}

void Campaign::Save(const std::string& kind, const Finding& finding) const {
  if (options_.reproducers.empty()) return;
  const std::string base = options_.reproducers + "/" + kind + "_" + std::to_string(finding.seed);
  std::string result = "# " + finding.family + ", " + finding.reason + "\n" + finding.result;
  std::ofstream(base + "_program.py") << finding.program;
  std::ofstream(base + "_schedule.py") << finding.schedule;
  std::ofstream(base + "_result.py") << result;
}

std::string Campaign::Report() const {
  std::string text;
  const auto line = [&]<class... Values>(const char* format, Values... values) {
    char buffer[200];
    std::snprintf(buffer, sizeof buffer, format, values...);
    text += buffer;
  };
  const auto percent = [](int64_t part, int64_t whole) {
    return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  };
  const CampaignCounts& c = counts_;
  line("schedules drawn %lld, repeated %lld\n", static_cast<long long>(c.drawn), static_cast<long long>(c.repeated));
  line("accepted and distinct %lld, median of structural primitives %lld\n", static_cast<long long>(c.accepted),
       static_cast<long long>(c.MedianLength()));
  line("mismatches %lld\n", static_cast<long long>(c.mismatched));
  line("refused by verify: wrong %lld, right %lld (%.2f%% of all right ones)\n", static_cast<long long>(c.sharp),
       static_cast<long long>(c.blunt), percent(c.blunt, c.blunt + c.accepted - c.mismatched));
  for (const auto& [check, count] : c.sharp_by_check) {
    line("  wrong, by check     %-20s %8lld\n", check.c_str(), static_cast<long long>(count));
  }
  for (const auto& [check, count] : c.blunt_by_check) {
    line("  right, by check     %-20s %8lld\n", check.c_str(), static_cast<long long>(count));
  }
  for (const Reason& reason : Reasons()) {
    if (reason.count * 50 < c.blunt) break;  // what is rarer than 2% of them
    text += "  right, refused " + std::to_string(reason.count) + " times: " + reason.shape + "; seed " +
            std::to_string(reason.example.seed) + ", " + reason.example.family + "\n";
  }
  if (!c.by_mutation.empty()) line("%-26s %10s %10s %10s\n", "mutation", "refused", "missed", "harmless");
  for (const auto& [name, mutants] : c.by_mutation) {
    line("%-26s %10lld %10lld %10lld   %.2f%% refused\n", name.c_str(), static_cast<long long>(mutants.refused),
         static_cast<long long>(mutants.missed), static_cast<long long>(mutants.right),
         percent(mutants.refused, mutants.refused + mutants.missed));
  }
  for (const auto& [what, count] : c.missed) {
    line("  missed  %-26s %-30s %8lld\n", what.first.c_str(), what.second.c_str(), static_cast<long long>(count));
  }
  line("%-26s %10s %8s\n", "family", "accepted", "percent");
  for (const auto& [name, count] : c.by_family) {
    line("%-26s %10lld %8.2f\n", name.c_str(), static_cast<long long>(count), percent(count, c.accepted));
  }
  line("%-26s %10s %8s %12s %12s\n", "primitive", "schedules", "percent", "calls", "refused");
  std::set<std::string> names;
  for (const auto& [name, count] : c.by_primitive) names.insert(name);
  for (const auto& [name, count] : c.calls) names.insert(name);
  for (const std::string& name : names) {
    const auto in = c.by_primitive.find(name);
    const auto calls = c.calls.find(name);
    const int64_t count = in == c.by_primitive.end() ? 0 : in->second;
    line("%-26s %10lld %8.2f %12lld %12lld\n", name.c_str(), static_cast<long long>(count), percent(count, c.accepted),
         static_cast<long long>(calls == c.calls.end() ? 0 : calls->second.first),
         static_cast<long long>(calls == c.calls.end() ? 0 : calls->second.second));
  }
  return text;
}

}  // namespace tilewright::fuzz
