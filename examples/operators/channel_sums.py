# A reduction of four dimensions over two: the sum of every channel over height and width, images apart.
@T.prim_func
def main(X: T.Buffer((8, 28, 28, 64), "float32"), Y: T.Buffer((8, 64), "float32")):
    for n, c, h, w in T.grid(8, 64, 28, 28):
        with T.block("sums"):
            vn, vc, vh, vw = T.axis.remap("SSRR", [n, c, h, w])
            with T.init():
                Y[vn, vc] = T.float32(0)
            Y[vn, vc] += X[vn, vh, vw, vc]
