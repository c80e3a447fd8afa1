# A reduction of four dimensions over two, the contiguous one among them: the sum of every second dimension's planes,
# all images together.
@T.prim_func
def main(X: T.Buffer((8, 64, 28, 28), "float32"), Y: T.Buffer((64, 28), "float32")):
    for c, h, n, w in T.grid(64, 28, 8, 28):
        with T.block("sums"):
            vc, vh, vn, vw = T.axis.remap("SSRR", [c, h, n, w])
            with T.init():
                Y[vc, vh] = T.float32(0)
            Y[vc, vh] += X[vn, vc, vh, vw]
