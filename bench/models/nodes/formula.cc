#include "bench/models/nodes/formula.h"

#include <cctype>

#include "absl/strings/str_cat.h"

namespace tilewright::bench {
namespace {

// Recursive descent; the first error is kept.
class Evaluation {
 public:
  Evaluation(absl::string_view text, int64_t i) : text_(text), i_(i) {}

  absl::StatusOr<int64_t> Run() {
    const int64_t value = Comparison();
    if (ok_ && at_ == text_.size()) return value;
    return absl::InvalidArgumentError(absl::StrCat("\"", text_, "\" is not a formula"));
  }

 private:
  bool Take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  int64_t Comparison() {
    const int64_t left = Sum();
    return Take('<') ? left < Sum() : left;
  }

  int64_t Sum() {
    int64_t value = Product();
    while (true) {
      if (Take('+')) {
        ok_ &= !__builtin_add_overflow(value, Product(), &value);
      } else if (Take('-')) {
        ok_ &= !__builtin_sub_overflow(value, Product(), &value);
      } else {
        return value;
      }
    }
  }

  int64_t Product() {
    int64_t value = Factor();
    while (true) {
      if (Take('*')) {
        ok_ &= !__builtin_mul_overflow(value, Factor(), &value);
      } else if (Take('/')) {
        value /= Divisor();
      } else if (Take('%')) {
        value %= Divisor();
      } else {
        return value;
      }
    }
  }

  int64_t Divisor() {
    const int64_t divisor = Factor();
    ok_ &= divisor > 0;
    return divisor > 0 ? divisor : 1;
  }

  int64_t Factor() {
    if (Take('i')) return i_;
    if (Take('(')) {
      const int64_t value = Comparison();
      ok_ &= Take(')');
      return value;
    }
    int64_t value = 0;
    const size_t start = at_;
    while (at_ < text_.size() && at_ < start + 9 && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
      value = value * 10 + (text_[at_++] - '0');
    }
    ok_ &= at_ > start;
    return value;
  }

  absl::string_view text_;
  int64_t i_;
  size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace

absl::StatusOr<int64_t> EvaluateFormula(absl::string_view formula, int64_t i) { return Evaluation(formula, i).Run(); }

}  // namespace tilewright::bench
