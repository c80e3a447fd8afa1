# One step of heat spreading through a block: a point and its six neighbours.
@T.prim_func
def main(A: T.Buffer((26, 34, 130), "float32"), B: T.Buffer((26, 34, 130), "float32")):
    for i, j, k in T.grid(24, 32, 128):
        with T.block("step"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi + 1, vj + 1, vk + 1] = T.float32(0.4) * A[vi + 1, vj + 1, vk + 1] + T.float32(0.1) * (
                A[vi, vj + 1, vk + 1] + A[vi + 2, vj + 1, vk + 1] + A[vi + 1, vj, vk + 1] + A[vi + 1, vj + 2, vk + 1] +
                A[vi + 1, vj + 1, vk] + A[vi + 1, vj + 1, vk + 2])
