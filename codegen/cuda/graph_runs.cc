#include "codegen/cuda/graph_runs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/math.h"
#include "base/status_macros.h"

namespace tilewright::cuda {
namespace {

// The fewest calls of a graph: enough that the cost of its launch is little beside them.
constexpr int kLeastCalls = 20;

}  // namespace

absl::Status DeviceStatus(const Driver& driver, int code, const char* what) {
  if (code == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(driver.device_name(), ": ", what, ": ", driver.Text(code)));
}

absl::StatusOr<DeviceArray> DeviceArray::Allocate(const Driver& driver, int64_t bytes) {
  void* data = nullptr;
  const int code = driver.Allocate(static_cast<size_t>(std::max<int64_t>(bytes, 1)), &data);
  if (code != 0) return DeviceStatus(driver, code, "memory for the tensors");
  return DeviceArray(driver, data, bytes);
}

absl::StatusOr<DeviceArray> DeviceArray::CopyOf(const Driver& driver, const void* from, int64_t bytes) {
  auto array = Allocate(driver, bytes);
  if (!array.ok()) return array;
  const int code = driver.CopyToDevice(array->data(), from, static_cast<size_t>(bytes));
  if (code != 0) return DeviceStatus(driver, code, "copy of an input");
  return array;
}

DeviceArray::DeviceArray(DeviceArray&& other) noexcept
    : driver_(other.driver_), data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

DeviceArray& DeviceArray::operator=(DeviceArray&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceArray::~DeviceArray() {
  if (data_ != nullptr) driver_->Free(data_);
}

absl::Status DeviceArray::CopyTo(void* to) const {
  return DeviceStatus(*driver_, driver_->CopyToHost(to, data_, static_cast<size_t>(bytes_)), "copy of an output");
}

void DeviceArray::Fill(uint8_t byte) const {
  driver_->Fill(data_, byte, static_cast<size_t>(bytes_));
  // Graphs run in a stream that does not wait for this work.
  driver_->Synchronize(nullptr);
}

absl::StatusOr<std::unique_ptr<GraphRuns>> GraphRuns::Record(const Driver& driver, int num_sets, const Call& call) {
  std::unique_ptr<GraphRuns> runs(new GraphRuns(driver));
  TW_RETURN_IF_ERROR(runs->Make(num_sets, call));
  return runs;
}

absl::Status GraphRuns::Make(int num_sets, const Call& call) {
  // A first call loads kernels and allocates, which a capture does not allow.
  TW_RETURN_IF_ERROR(call(/*set=*/0, /*stream=*/nullptr));
  if (const int code = driver_.Synchronize(nullptr); code != 0) return DeviceStatus(driver_, code, "the first call");
  for (const int code : {driver_.CreateStream(&stream_), driver_.CreateEvent(&begin_), driver_.CreateEvent(&end_),
                         driver_.BeginCapture(stream_)}) {
    if (code != 0) return DeviceStatus(driver_, code, "graph");
  }
  calls_ = RoundUp(kLeastCalls, num_sets);
  absl::Status status;
  for (int i = 0; i < calls_ && status.ok(); ++i) status = call(i % num_sets, stream_);
  // The capture ends after an error too.
  const int code = driver_.EndCapture(stream_, &graph_);
  return status.ok() ? DeviceStatus(driver_, code, "graph") : status;
}

GraphRuns::~GraphRuns() {
  if (graph_ != nullptr) driver_.DestroyGraph(graph_);
  if (end_ != nullptr) driver_.DestroyEvent(end_);
  if (begin_ != nullptr) driver_.DestroyEvent(begin_);
  if (stream_ != nullptr) driver_.DestroyStream(stream_);
}

double GraphRuns::LaunchOnce() {
  float milliseconds = 0;
  const bool done = driver_.Record(begin_, stream_) == 0 && driver_.LaunchGraph(graph_, stream_) == 0 &&
                    driver_.Record(end_, stream_) == 0 && driver_.ElapsedMilliseconds(&milliseconds, begin_, end_) == 0;
  return done ? static_cast<double>(milliseconds) / calls_ : -1;
}

}  // namespace tilewright::cuda
