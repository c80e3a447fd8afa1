// What tests of rescale_reduction and rescale_parts share: programs with a maximum and sums that read it, and a run of
// one of the primitives that is verified and compared with the program.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/function.h"
#include "schedule/reduction/rescale_reduction.h"

namespace tilewright::testing {

// Sums of exponentials in another order, relative to the largest element.
inline constexpr double kMaxRescaleError = 2e-5;

// The only block of this name.
uint32_t BlockId(const Function& f, std::string_view name);

// A maximum M of scores, and a plain and a weighted sum, S and O, of what is made of a score and the maximum. `start`:
// of the maximum.
Function Attention(std::string_view score, std::string_view weight, std::string_view start = "T.float32(-3.0e+38)",
                   int keys = 12);

// One loop of a block that has to be shared, by the block's name and the loop's place.
struct Part {
  std::string_view block;
  size_t place;
};
inline const std::vector<Part> kSums = {{"M", 1}, {"S", 1}};

// The loops split by `by`, the outer one inside of the rows and outside of all else; `loops` receives these.
Function SplitAll(Function f, const std::vector<Part>& parts, int by, std::vector<uint32_t>* loops);

using RescalePrimitive = std::function<Outcome<RescaleReductionResult>(const Function&, const std::vector<uint32_t>&)>;
Outcome<RescaleReductionResult> WithTermsAlone(const Function& function, const std::vector<uint32_t>& loops);
Outcome<RescaleReductionResult> FromTheFirst(const Function& function, const std::vector<uint32_t>& loops);

// The program with the reductions in one loop over blocks of `by`. Expects that the primitive takes it, that the result
// is proven and that it computes what the program does.
Function Rescaled(const Function& program, const std::vector<Part>& parts, int by, double max_error = kMaxRescaleError,
                  const RescalePrimitive& primitive = WithTermsAlone);

// The text with the first `from` as `to`, which it has.
std::string Replaced(std::string text, std::string_view from, std::string_view to);

}  // namespace tilewright::testing
