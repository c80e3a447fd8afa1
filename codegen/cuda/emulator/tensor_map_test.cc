#include "codegen/cuda/emulator/tensor_map.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tilewright::emulator {
namespace {

using ::testing::HasSubstr;

alignas(256) std::byte memory[256];

TiledMap Good() {
  return {.address = memory, .extents = {64, 100}, .strides = {128}, .box = {64, 32}, .swizzle_bytes = 128};
}

template <class Change>
std::string Refusal(const Change& change) {
  TiledMap map = Good();
  change(map);
  return std::string(EncodeTiled(map).status().message());
}

TEST(TensorMap, HoldsWhatWasAsked) {
  const auto map = EncodeTiled(Good());
  ASSERT_TRUE(map.ok()) << map.status();
  const MapFields fields = FieldsOf(*map);
  EXPECT_TRUE(fields.valid());
  EXPECT_EQ(fields.rank, 2);
  EXPECT_EQ(fields.last[1], 99u);
  EXPECT_EQ(fields.box[0], 64);
  EXPECT_EQ(fields.steps[1], 1);
  EXPECT_FALSE(FieldsOf(TwTensorMap{}).valid());
}

TEST(TensorMap, RefusesWhatTheDriverWould) {
  EXPECT_THAT(Refusal([](TiledMap& m) { m.extents = {}; }), HasSubstr("rank 0 is not 1 to 5"));
  EXPECT_THAT(Refusal([](TiledMap& m) { m.strides = {}; }), HasSubstr("0 strides for rank 2"));
  EXPECT_THAT(Refusal([](TiledMap& m) { m.address = memory + 8; }), HasSubstr("the address is not a multiple of 16"));
  EXPECT_THAT(Refusal([](TiledMap& m) { m.extents[1] = 0; }), HasSubstr("extent 1 is 0"));
  EXPECT_THAT(Refusal([](TiledMap& m) { m.extents[0] = (uint64_t{1} << 32) + 1; }), HasSubstr("not 1 to 2^32"));
  EXPECT_THAT(Refusal([](TiledMap& m) { m.strides[0] = 130; }), HasSubstr("stride 1 is 130 bytes"));
  EXPECT_THAT(Refusal([](TiledMap& m) { m.strides[0] = uint64_t{1} << 40; }), HasSubstr("below 2^40"));
  EXPECT_THAT(Refusal([](TiledMap& m) { m.swizzle_bytes = 16; }), HasSubstr("a swizzle of 16 bytes"));
  EXPECT_THAT(Refusal([](TiledMap& m) { m.box = {64}; }), HasSubstr("a box of rank 1 for rank 2"));
  EXPECT_THAT(Refusal([](TiledMap& m) { m.box[1] = 257; }), HasSubstr("extent 1 of the box is 257"));
  EXPECT_THAT(Refusal([](TiledMap& m) { m.box[0] = 4; }), HasSubstr("rows of the box have 8 bytes, not a multiple"));
  EXPECT_THAT(Refusal([](TiledMap& m) { m.box[0] = 128; }), HasSubstr("256 bytes, more than the swizzle of 128"));
  EXPECT_THAT(Refusal([](TiledMap& m) { m.steps = {1}; }), HasSubstr("1 steps where 2 are needed"));
  EXPECT_THAT(Refusal([](TiledMap& m) { m.steps = {1, 9}; }), HasSubstr("a step of 9"));
  EXPECT_THAT(Refusal([](TiledMap& m) {
                m.type = MapType::kU16;
                m.fill_nan = true;
              }),
              HasSubstr("cannot be filled with NaN"));
}

Im2colMap GoodImage() {
  return {.address = memory,
          .extents = {64, 56, 56, 2},
          .strides = {128, 7168, 401408},
          .lower = {-1, -1},
          .upper = {-1, -1},
          .channels = 64,
          .pixels = 128,
          .steps = {1, 1},
          .swizzle_bytes = 128};
}

template <class Change>
std::string ImageRefusal(const Change& change) {
  Im2colMap map = GoodImage();
  change(map);
  return std::string(EncodeIm2col(map).status().message());
}

TEST(TensorMap, RefusesImages) {
  EXPECT_TRUE(EncodeIm2col(GoodImage()).ok());
  EXPECT_THAT(ImageRefusal([](Im2colMap& m) { m.extents = {64, 56}, m.strides = {128}; }),
              HasSubstr("rank 2 is not 3 to 5"));
  EXPECT_THAT(ImageRefusal([](Im2colMap& m) { m.channels = 257; }), HasSubstr("257 channels"));
  EXPECT_THAT(ImageRefusal([](Im2colMap& m) { m.pixels = 1025; }), HasSubstr("1025 pixels"));
  EXPECT_THAT(ImageRefusal([](Im2colMap& m) { m.lower = {-1}; }), HasSubstr("1 corners for 2 dimensions"));
  EXPECT_THAT(ImageRefusal([](Im2colMap& m) { m.lower[1] = -129; }), HasSubstr("a corner of -129 is not -128 to 127"));
  EXPECT_THAT(ImageRefusal([](Im2colMap& m) { m.upper[0] = -60; }), HasSubstr("the box of pixels is empty"));
  EXPECT_THAT(ImageRefusal([](Im2colMap& m) { m.steps = {1, 0}; }), HasSubstr("a step of 0"));
}

}  // namespace
}  // namespace tilewright::emulator
