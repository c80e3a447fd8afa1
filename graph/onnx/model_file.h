// An ONNX file, read.
//
//   absl::StatusOr<std::unique_ptr<ModelFile>> file = ModelFile::Open("model.onnx");
//   const onnx::ModelProto& model = (*file)->model();
//   for (const onnx::TensorProto& t : model.graph().initializer()) { auto tensor = (*file)->Tensor(t); ... }
//
// The file is mapped, and the elements of its tensors are not copied: a scan of the wire format finds them before the
// messages are parsed, and the parsed messages only say where they lie. So is external data, whose offsets and lengths
// are checked against the files that hold it. A damaged file is an error that says at which byte.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/data_type.h"
#include "onnx/onnx_pb.h"

namespace tilewright::graph {

// A file in memory, read-only.
class MappedFile {
 public:
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  absl::Span<const std::byte> bytes() const { return {data_, size_}; }
  // What has been read leaves the process's memory, and is read again where it is needed again.
  void Release() const;

 private:
  MappedFile(const std::byte* data, size_t size) : data_(data), size_(size) {}
  const std::byte* data_;
  size_t size_;
};

// The elements of a tensor: row-major, little-endian, at any alignment. `owner` keeps them alive.
struct TensorView {
  DataType dtype;
  std::vector<int64_t> shape;
  std::shared_ptr<const void> owner;
  absl::Span<const std::byte> bytes;
};

// The type of elements; an error for those that programs do not have (strings, complex numbers). Integers of four bits
// are those of eight, one a byte.
absl::StatusOr<DataType> ElementType(int32_t onnx_type);
// How many bits of a byte ONNX's type uses: 4 for INT4 and UINT4; 0 for types that use all of theirs.
int NarrowBits(int32_t onnx_type);
// ONNX's name of a type: "FLOAT", "STRING".
std::string OnnxTypeName(int32_t onnx_type);

class ModelFile {
 public:
  static absl::StatusOr<std::unique_ptr<ModelFile>> Open(const std::string& path);
  // A model in memory; `directory` is where its external data lies.
  static absl::StatusOr<std::unique_ptr<ModelFile>> FromBytes(std::shared_ptr<const void> owner,
                                                              absl::Span<const std::byte> bytes, std::string directory);

  const onnx::ModelProto& model() const { return model_; }
  // The elements of a tensor of this model, wherever they lie. Errors name the tensor.
  absl::StatusOr<TensorView> Tensor(const onnx::TensorProto& tensor);
  // MappedFile::Release of all files.
  void Release() const;

 private:
  ModelFile() = default;
  absl::StatusOr<absl::Span<const std::byte>> ExternalBytes(const onnx::TensorProto& tensor, uint64_t needed,
                                                            std::shared_ptr<const void>* owner);

  onnx::ModelProto model_;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<const MappedFile> mapped_;  // the owner where it is a file
  absl::Span<const std::byte> bytes_;
  std::string directory_;
  std::map<std::string, std::shared_ptr<const MappedFile>> external_;
};

// A tensor that is a file of its own (test data). Not for models: its elements are copied where they are not raw.
absl::StatusOr<TensorView> TensorOf(const onnx::TensorProto& tensor);

// The name of dimension `i` of an input: its own, by which equal dimensions are known, or NAME_i where it has none.
// "?", "-1" and the like, which exporters write for every unknown dimension, are not names.
std::string DimensionName(const onnx::ValueInfoProto& input, int i);

}  // namespace tilewright::graph
