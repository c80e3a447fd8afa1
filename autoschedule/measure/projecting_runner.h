// Candidates for a GPU that this machine does not have: nothing is run, their times are projected (cost/projected.h).
// NVRTC, where it is installed, compiles every candidate, so that those with spills are refused as they are on a
// device.
#pragma once

#include <memory>
#include <utility>

#include "autoschedule/measure/builder/builder.h"
#include "autoschedule/measure/runner.h"
#include "target/target.h"

namespace tilewright {

class ProjectingRunner : public Runner {
 public:
  // `function`: of the candidates. `builder` may be null: then nothing is compiled.
  ProjectingRunner(Target target, std::string function, std::unique_ptr<Builder> builder)
      : target_(std::move(target)), function_(std::move(function)), builder_(std::move(builder)) {}

  std::vector<Measurement> Run(std::span<const Module> candidates, const RunOptions& options) override;
  std::string caution() const override;

 private:
  const Target target_;
  const std::string function_;
  const std::unique_ptr<Builder> builder_;
};

}  // namespace tilewright
