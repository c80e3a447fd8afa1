#include "graph/onnx/model_file.h"

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/status_macros.h"
#include "gmock/gmock.h"
#include "graph/onnx/testing.h"
#include "gtest/gtest.h"

namespace tilewright::graph {
namespace {

using onnx::TensorProto;
using testing::HasSubstr;

std::vector<float> Numbers(size_t count) {
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i);
  return numbers;
}

std::string TemporaryFolder() {
  const char* folder = std::getenv("TEST_TMPDIR");
  return folder != nullptr ? folder : "/tmp";
}

// A tensor whose elements are in another file.
TensorProto External(const std::string& location, const std::string& offset, const std::string& length) {
  TensorProto tensor;
  tensor.set_name("w");
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.add_dims(4);
  tensor.set_data_location(TensorProto::EXTERNAL);
  for (const auto& [key, value] :
       {std::pair<std::string, std::string>{"location", location}, {"offset", offset}, {"length", length}}) {
    auto* entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  return tensor;
}

TEST(ModelFile, LargeTensorsAreViewsOfTheFile) {
  ModelWriter m(17);
  m.Floats("w", {10, 10}, Numbers(100));
  const auto owner = std::make_shared<std::string>(m.Bytes());
  const absl::Span<const std::byte> bytes(reinterpret_cast<const std::byte*>(owner->data()), owner->size());
  auto file = ModelFile::FromBytes(owner, bytes, "");
  ASSERT_TRUE(file.ok()) << file.status();
  const TensorProto& w = (*file)->model().graph().initializer(0);
  EXPECT_TRUE(w.raw_data().empty());
  auto tensor = (*file)->Tensor(w);
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_GE(tensor->bytes.data(), bytes.data());
  EXPECT_LE(tensor->bytes.data() + 400, bytes.data() + bytes.size());
  float last;
  std::memcpy(&last, tensor->bytes.data() + 396, 4);
  EXPECT_EQ(last, 99);
}

// Some writers say what is so without a word.
TEST(ModelFile, LargeTensorsMaySayWhereTheyAre) {
  ModelWriter m(17);
  m.Floats("w", {10, 10}, Numbers(100));
  m.model().mutable_graph()->mutable_initializer(0)->set_data_location(TensorProto::DEFAULT);
  auto file = m.File();
  ASSERT_TRUE(file.ok()) << file.status();
  auto tensor = (*file)->Tensor((*file)->model().graph().initializer(0));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  EXPECT_EQ(tensor->bytes.size(), 400);
}

// Elements that lie in another file are read there, whatever is in the message.
TEST(ModelFile, ExternalTensorsHaveNoElementsInTheMessage) {
  ModelWriter m(17);
  TensorProto tensor = External("nowhere.bin", "0", "16");
  tensor.set_raw_data(std::string(256, 'x'));
  *m.model().mutable_graph()->add_initializer() = tensor;
  auto file = m.File();
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(std::string((*file)->Tensor((*file)->model().graph().initializer(0)).status().message()),
              HasSubstr("external data \"nowhere.bin\""));
}

TEST(ModelFile, ElementsOfEveryField) {
  TensorProto half;
  half.set_data_type(TensorProto::FLOAT16);
  half.add_dims(2);
  half.add_int32_data(0x3c00);
  half.add_int32_data(0xc000);
  auto tensor = TensorOf(half);
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  uint16_t bits[2];
  std::memcpy(bits, tensor->bytes.data(), 4);
  EXPECT_EQ(bits[0], 0x3c00);
  EXPECT_EQ(bits[1], 0xc000);
}

TEST(ModelFile, ExternalDataIsCheckedAgainstItsFile) {
  const std::string folder = TemporaryFolder();
  std::ofstream(folder + "/weights.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(Numbers(8).data()), 8 * sizeof(float));
  const auto read = [&](const TensorProto& tensor) -> absl::Status {
    ModelWriter m(17);
    *m.graph().add_initializer() = tensor;
    TW_ASSIGN_OR_RETURN(auto file, m.File(folder));
    TW_ASSIGN_OR_RETURN(auto view, file->Tensor(file->model().graph().initializer(0)));
    float first;
    std::memcpy(&first, view.bytes.data(), 4);
    EXPECT_EQ(first, 4);
    return absl::OkStatus();
  };
  EXPECT_TRUE(read(External("weights.bin", "16", "16")).ok());
  const auto message = [&](const TensorProto& tensor) { return std::string(read(tensor).message()); };
  EXPECT_THAT(message(External("weights.bin", "20", "16")), HasSubstr("\"w\": external data at 20 of 16 bytes"));
  EXPECT_THAT(message(External("weights.bin", "-1", "16")), HasSubstr("the offset of its external data is \"-1\""));
  EXPECT_THAT(message(External("weights.bin", "0", "8")), HasSubstr("it has 8 bytes, its extents ask for 16"));
  EXPECT_THAT(message(External("../weights.bin", "0", "16")), HasSubstr("outside of the model's folder"));
  EXPECT_THAT(message(External("/etc/passwd", "0", "16")), HasSubstr("outside of the model's folder"));
  EXPECT_THAT(message(External("", "0", "16")), HasSubstr("outside of the model's folder"));
  EXPECT_THAT(message(External("none.bin", "0", "16")), HasSubstr("cannot open"));
  EXPECT_THAT(message(External("\x01this file", "0", "16")), HasSubstr("reserved location"));
}

TEST(ModelFile, WhatWasReleasedIsReadAgain) {
  const std::string folder = TemporaryFolder();
  ModelWriter m(17);
  m.Floats("w", {8}, Numbers(8));
  std::ofstream(folder + "/model.onnx", std::ios::binary) << m.Bytes();
  auto file = ModelFile::Open(folder + "/model.onnx");
  ASSERT_TRUE(file.ok()) << file.status();
  auto view = (*file)->Tensor((*file)->model().graph().initializer(0));
  ASSERT_TRUE(view.ok()) << view.status();
  (*file)->Release();
  EXPECT_EQ(std::memcmp(view->bytes.data(), Numbers(8).data(), 8 * sizeof(float)), 0);
}

TEST(ModelFile, DamageIsAnErrorWithItsPlace) {
  ModelWriter m(17);
  m.Floats("w", {10, 10}, Numbers(100));
  const std::string good = m.Bytes();
  const auto message = [](std::string bytes) {
    return std::string(ModelWriter::FileOf(std::move(bytes)).status().message());
  };
  EXPECT_THAT(message(good.substr(0, good.size() - 50)), HasSubstr("does not fit into the remaining"));
  EXPECT_THAT(message("\x07"), HasSubstr("byte 0: a field has number 0"));
  EXPECT_THAT(message("\x0f"), HasSubstr("byte 0: a field has the unknown wire type 7"));
  EXPECT_THAT(message("\x08"), HasSubstr("byte 0: a number is cut off"));
  EXPECT_THAT(message(""), HasSubstr("it has no graph"));
}

TEST(ModelFile, ExtentsAndElementsHaveToFit) {
  const auto message = [](const TensorProto& tensor) { return std::string(TensorOf(tensor).status().message()); };
  TensorProto tensor;
  tensor.set_name("w");
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.add_dims(3);
  EXPECT_THAT(message(tensor), HasSubstr("it has 0 elements, its extents ask for 3"));
  tensor.set_raw_data("abcd");
  EXPECT_THAT(message(tensor), HasSubstr("it has 4 bytes, its extents ask for 12"));
  tensor.add_dims(-1);
  EXPECT_THAT(message(tensor), HasSubstr("an extent is -1"));
  tensor.set_dims(1, int64_t{1} << 62);
  EXPECT_THAT(message(tensor), HasSubstr("its extents are too large"));
  tensor.set_data_type(TensorProto::STRING);
  EXPECT_THAT(message(tensor), HasSubstr("elements of type STRING"));
}

// Types that the installed messages do not name.
TEST(ModelFile, FloatsOfEightBitsWithOneZeroAreF16) {
  const auto halves = [](int32_t type, const std::string& bytes) {
    TensorProto tensor;
    tensor.set_data_type(type);
    tensor.add_dims(static_cast<int64_t>(bytes.size()));
    tensor.set_raw_data(bytes);
    const auto view = TensorOf(tensor);
    EXPECT_TRUE(view.ok() && view->dtype == DataType::Float(16)) << view.status();
    std::vector<uint16_t> result(bytes.size());
    std::memcpy(result.data(), view->bytes.data(), 2 * result.size());
    return result;
  };
  constexpr int32_t kE4M3Fnuz = 18, kE5M2Fnuz = 20;
  // NaN, the least, the greatest, -1.
  EXPECT_EQ(halves(kE4M3Fnuz, "\x80\x01\x7F\xC0"), (std::vector<uint16_t>{0x7E00, 0x1400, 0x5B80, 0xBC00}));
  EXPECT_EQ(halves(kE5M2Fnuz, "\x80\x01\x7F\xC0"), (std::vector<uint16_t>{0x7E00, 0x0080, 0x7B00, 0xBC00}));
}

TEST(ModelFile, IntegersOfFourBitsAreBytes) {
  TensorProto tensor;
  tensor.add_dims(3);
  tensor.set_raw_data("\x8F\x07");
  tensor.set_data_type(22);
  auto view = TensorOf(tensor);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->dtype, DataType::Int(8));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(view->bytes.data()), view->bytes.size()), "\xFF\xF8\x07");
  tensor.set_data_type(21);
  view = TensorOf(tensor);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(view->bytes.data()), view->bytes.size()), "\x0F\x08\x07");
  tensor.add_dims(2);
  EXPECT_THAT(std::string(TensorOf(tensor).status().message()), HasSubstr("it has 2 bytes, its extents ask for 3"));
}

}  // namespace
}  // namespace tilewright::graph
