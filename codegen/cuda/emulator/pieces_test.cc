#include "codegen/cuda/emulator/pieces.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::emulator {
namespace {

alignas(256) std::byte memory[1 << 16];

// 100 rows of 24 elements of two bytes, 64 bytes apart, in boxes of 4 rows of 16 elements.
MapFields Rows() {
  return FieldsOf(*EncodeTiled({.address = memory, .extents = {24, 100}, .strides = {64}, .box = {16, 4}}));
}
// Images of 8 x 6 pixels of 8 channels; columns of 5 pixels whose first ones are up to one pixel outside.
MapFields Image() {
  return FieldsOf(*EncodeIm2col({.address = memory,
                                 .extents = {8, 6, 8, 2},
                                 .strides = {16, 96, 768},
                                 .lower = {-1, -1},
                                 .upper = {-1, -1},
                                 .channels = 8,
                                 .pixels = 5,
                                 .steps = {1, 1}}));
}

struct Made {
  bool ok = false;
  std::vector<Piece> pieces;
  std::string reason;
};
Made PiecesAt(const MapFields& map, const tw::emu::TensorCopy& copy, uint32_t shared = 0) {
  Made made;
  made.ok = PiecesOf(map, copy, shared, made.pieces, made.reason);
  return made;
}

TEST(Pieces, RunsOfBytesAreCutIntoSixteen) {
  const std::vector<Piece> pieces = PiecesOf(memory + 32, 128, 48);
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(pieces[2].shared, 160u);
  EXPECT_EQ(pieces[2].global, memory + 64);
  EXPECT_EQ(pieces[2].last, 16);
}

TEST(Pieces, TilesFollowRows) {
  const Made made = PiecesAt(Rows(), {.coordinates = {8, 3}, .rank = 2}, 256);
  ASSERT_TRUE(made.ok) << made.reason;
  ASSERT_EQ(made.pieces.size(), 8u);  // two a row
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(made.pieces[i].shared, 256 + i * 16);
    EXPECT_EQ(made.pieces[i].global, memory + (3 + i / 2) * 64 + 16 + i % 2 * 16);
    EXPECT_EQ(made.pieces[i].first, 0);
    EXPECT_EQ(made.pieces[i].last, 16);
  }
}

TEST(Pieces, ElementsOutsideOfTheTensorAreNotCopied) {
  const auto last = [](int x, int y, size_t piece) {
    const Made made = PiecesAt(Rows(), {.coordinates = {x, y}, .rank = 2});
    return std::pair<int, int>(made.pieces.at(piece).first, made.pieces.at(piece).last);
  };
  EXPECT_EQ(last(12, 0, 1), std::pair(0, 8));   // 4 elements, then the row's end
  EXPECT_EQ(last(20, 0, 1), std::pair(0, 0));   // behind the row
  EXPECT_EQ(last(-3, 0, 0), std::pair(6, 16));  // 3 elements before the row
  EXPECT_EQ(last(-16, 0, 0), std::pair(16, 16));
  EXPECT_EQ(last(0, 98, 2), std::pair(0, 16));
  EXPECT_EQ(last(0, 98, 4), std::pair(0, 0));  // row 100
  EXPECT_EQ(last(0, -1, 0), std::pair(0, 0));
}

TEST(Pieces, SwizzlesMoveChunksWithinTheirSpan) {
  EXPECT_EQ(Swizzled(0x1230, 0), 0x1230u);
  EXPECT_EQ(Swizzled(0x080, 128), 0x090u);
  EXPECT_EQ(Swizzled(0x3f0, 128), 0x380u);
  EXPECT_EQ(Swizzled(0x190, 64), 0x1a0u);
  EXPECT_EQ(Swizzled(0x090, 32), 0x080u);
  for (const uint32_t bytes : {32, 64, 128}) {
    for (uint32_t address = 0; address < 2048; address += 16) {
      EXPECT_EQ(Swizzled(Swizzled(address, bytes), bytes), address);
    }
  }
}

// Pixels run along W, then H, then images; a tap of the filter moves all of them.
TEST(Pieces, PixelsFollowTheImage) {
  const Made made = PiecesAt(Image(), {.coordinates = {0, 3, 6, 0}, .rank = 4, .offsets = {2, 1}, .im2col = true});
  ASSERT_TRUE(made.ok) << made.reason;
  ASSERT_EQ(made.pieces.size(), 5u);
  const auto at = [](int w, int h, int n) { return memory + w * 16 + h * 96 + n * 768; };
  EXPECT_EQ(made.pieces[0].global, at(5, 7, 0));
  EXPECT_EQ(made.pieces[0].last, 16);
  EXPECT_EQ(made.pieces[1].last, 0);              // W is 4 + 2
  EXPECT_EQ(made.pieces[2].global, at(1, 0, 1));  // the next image: W and H begin at -1
  EXPECT_EQ(made.pieces[2].last, 16);
}

TEST(Pieces, RefusesWhatTheMapDoesNotAllow) {
  const auto why = [](const MapFields& map, const tw::emu::TensorCopy& copy, uint32_t shared = 0) {
    const Made made = PiecesAt(map, copy, shared);
    EXPECT_EQ(made.ok, made.reason.empty());
    return made.reason;
  };
  EXPECT_EQ(why(FieldsOf(TwTensorMap{}), {.rank = 2}), "the map was not encoded");
  EXPECT_EQ(why(Rows(), {.rank = 3}), "3 coordinates for a map of rank 2");
  EXPECT_EQ(why(Rows(), {.rank = 2, .im2col = true}), "im2col of a map that is encoded for tiles");
  EXPECT_EQ(why(Image(), {.rank = 4}), "a tile of a map that is encoded for im2col");
  EXPECT_EQ(why(Rows(), {.rank = 2}, 64), "the address in shared memory is not a multiple of 128");
  EXPECT_EQ(why(Image(), {.coordinates = {0, 5, 0, 0}, .rank = 4, .im2col = true}),
            "the first pixel lies outside of the map's box of pixels");
  EXPECT_EQ(why(Image(), {.coordinates = {0, 0, 0, 0}, .rank = 4, .offsets = {256, 0}, .im2col = true}),
            "an offset of 256 does not fit into 8 bits");
}

}  // namespace
}  // namespace tilewright::emulator
