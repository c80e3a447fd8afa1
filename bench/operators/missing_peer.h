// Stands for a peer that cannot be measured at all, so that the report names it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "bench/operators/implementation.h"

namespace tilewright::bench {

class MissingPeer : public Implementation {
 public:
  MissingPeer(std::string name, std::string reason) : name_(std::move(name)), reason_(std::move(reason)) {}
  std::string name() const override { return name_; }
  std::string version() const override { return ""; }
  absl::StatusOr<std::vector<std::unique_ptr<Runner>>> Prepare(const Workload&, const Operands&,
                                                               const RunSettings&) override {
    return absl::NotFoundError(reason_);
  }

 private:
  const std::string name_, reason_;
};

inline std::unique_ptr<Implementation> MakeMissingPeer(std::string name, std::string reason) {
  return std::make_unique<MissingPeer>(std::move(name), std::move(reason));
}

}  // namespace tilewright::bench
