# Elements of the window are summed up: as the first of two loops that are fused, they leave no matrix dimension of
# positions alone.
Y = sch.get_block("Y")
sch.transform_block_layout(Y, lambda n, h, w, o, rh, rw, c: (n * 64 + h * 8 + w, o * 36 + rh * 12 + rw * 4 + c))
