// Products and convolutions have the form that te.create_prim_func gives: written here as the script that it prints.
#include <gtest/gtest.h>

#include "ir/ops/conv.h"
#include "ir/ops/matmul.h"
#include "ir/script/parse_or_die.h"
#include "ir/structural.h"

namespace tilewright::ops {
namespace {

void ExpectEqual(const Function& made, std::string_view text) {
  Mismatch mismatch;
  EXPECT_TRUE(StructuralEqual(made, ParseFunctionOrDie(text), &mismatch)) << mismatch.path << ": " << mismatch.reason;
}

TEST(TeForm, Matmul) {
  ExpectEqual(BatchMatmul(1, 128, 64, 32, *OperandTypes::Parse("f16f32")), R"(
@T.prim_func
def main(X: T.Buffer((1, 128, 32), "float16"), Y: T.Buffer((1, 32, 64), "float16"), Z: T.Buffer((1, 128, 64), "float32")):
    T.func_attr({"global_symbol": "main", "tir.noalias": True})
    for b, i, j, k in T.grid(1, 128, 64, 32):
        with T.block("C"):
            v_b, v_i, v_j, v_k = T.axis.remap("SSSR", [b, i, j, k])
            T.reads(X[v_b, v_i, v_k], Y[v_b, v_k, v_j])
            T.writes(Z[v_b, v_i, v_j])
            with T.init():
                Z[v_b, v_i, v_j] = T.float32(0)
            Z[v_b, v_i, v_j] = Z[v_b, v_i, v_j] + T.Cast("float32", X[v_b, v_i, v_k]) * T.Cast("float32", Y[v_b, v_k, v_j])
)");
}

TEST(TeForm, Conv2d) {
  ExpectEqual(Conv({.spatial = {56, 56},
                    .in_channels = 64,
                    .out_channels = 32,
                    .windows = Same({.kernel = 3, .stride = 2, .padding = 1}, 2)}),
              R"(
@T.prim_func
def main(inputs: T.Buffer((1, 56, 56, 64), "float32"), weight: T.Buffer((3, 3, 64, 32), "float32"), conv2d_nhwc: T.Buffer((1, 28, 28, 32), "float32")):
    T.func_attr({"tir.noalias": True})
    pad_temp = T.alloc_buffer((1, 58, 58, 64))
    for i0, i1, i2, i3 in T.grid(1, 58, 58, 64):
        with T.block("pad_temp"):
            v0, v1, v2, v3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
            T.reads(inputs[v0, v1 - 1, v2 - 1, v3])
            T.writes(pad_temp[v0, v1, v2, v3])
            pad_temp[v0, v1, v2, v3] = T.if_then_else(1 <= v1 and v1 < 57 and 1 <= v2 and v2 < 57, inputs[v0, v1 - 1, v2 - 1, v3], T.float32(0))
    for n, h, w, co, rh, rw, rc in T.grid(1, 28, 28, 32, 3, 3, 64):
        with T.block("conv2d_nhwc"):
            vn, vh, vw, vco, vrh, vrw, vrc = T.axis.remap("SSSSRRR", [n, h, w, co, rh, rw, rc])
            T.reads(pad_temp[vn, vh * 2 + vrh, vw * 2 + vrw, vrc], weight[vrh, vrw, vrc, vco])
            T.writes(conv2d_nhwc[vn, vh, vw, vco])
            with T.init():
                conv2d_nhwc[vn, vh, vw, vco] = T.float32(0)
            conv2d_nhwc[vn, vh, vw, vco] = conv2d_nhwc[vn, vh, vw, vco] + pad_temp[vn, vh * 2 + vrh, vw * 2 + vrw, vrc] * weight[vrh, vrw, vrc, vco]
)");
}

}  // namespace
}  // namespace tilewright::ops
