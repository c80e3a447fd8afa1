# Output channels are a dimension of the result, elements of the window are summed up: no iterator can be both.
Y = sch.get_block("Y")
sch.transform_block_layout(Y, lambda n, h, w, o, rh, rw, c: (n * 64 + h * 8 + w, o * 36 + rh * 12 + rw * 4 + c))
