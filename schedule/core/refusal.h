// What a schedule primitive answers: the transformed function, or a refusal.
//
// A primitive is a free function from a function to a transformed one, in its own file. When its conditions do not hold
// it refuses. A refusal is data: a search is refused thousands of times a second, so the sentence a person reads is
// made only when somebody asks for it.
//
//   Outcome<SplitResult> result = Split(function, loop, factors);
//   if (!result.ok()) return Render(result.refusal(), function);  // target :render_refusal
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "ir/function.h"

namespace tilewright {

struct Refusal {
  // The primitive's name as schedules write it: "split". A string literal.
  const char* primitive = "";
  // One sentence without its objects, a string literal with places for them: "{loop0} has the annotation {text0}".
  // {loopN}, {blockN}, {objectN}: the N-th of `objects`, rendered as "loop i" or "block C"; {exprN}; {textN};
  // {numN}.
  const char* reason = "";
  std::vector<uint32_t> objects;  // ids of loops and blocks; the first one is where the program is marked
  std::vector<Expr> exprs;        // expressions that failed
  std::vector<std::string> texts;
  std::vector<int64_t> numbers;
};

template <class T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : value_(std::move(value)) {}
  Outcome(Refusal refusal) : value_(std::move(refusal)) {}

  bool ok() const { return value_.index() == 0; }
  const T& value() const& {
    TW_CHECK(ok());
    return std::get<0>(value_);
  }
  T&& value() && {
    TW_CHECK(ok());
    return std::get<0>(std::move(value_));
  }
  const T& operator*() const& { return value(); }
  const T* operator->() const { return &value(); }
  const Refusal& refusal() const {
    TW_CHECK(!ok());
    return std::get<1>(value_);
  }

 private:
  std::variant<T, Refusal> value_;
};

// "split: loop i has the annotation "x"": one line. `function` is the one the primitive was given.
std::string RenderLine(const Refusal& refusal, const Function& function);

// The line, then the program with the offending loops and blocks marked.
std::string Render(const Refusal& refusal, const Function& function);

}  // namespace tilewright
