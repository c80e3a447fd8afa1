# Attention of 8 queries to 16 keys without the matrix of scores: four keys at a time, with the greatest score so far, the
# sum so far and the weighted values so far; when a greater score comes, what was summed up is scaled down.
@T.prim_func
def main(Q: T.Buffer((8, 4), "float32"), K: T.Buffer((16, 4), "float32"), V: T.Buffer((16, 4), "float32"), O: T.Buffer((8, 4), "float32")):
    Total = T.alloc_buffer((8, 4), "float32")
    Sum = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("online"):
            vi = T.axis.spatial(8, i)
            T.reads(Q[vi, 0:4], K[0:16, 0:4], V[0:16, 0:4], Total[vi, 0:4], Sum[vi])
            T.writes(Total[vi, 0:4], Sum[vi])
            Scores = T.alloc_buffer((4,), "float32")
            Best = T.alloc_buffer((1,), "float32")
            Next = T.alloc_buffer((1,), "float32")
            Best[0] = T.float32(-1.0e30)
            Sum[vi] = T.float32(0)
            for d in range(4):
                Total[vi, d] = T.float32(0)
            for t in range(4):
                Next[0] = Best[0]
                for u in range(4):
                    Scores[u] = T.float32(0)
                    for d in range(4):
                        Scores[u] = Scores[u] + Q[vi, d] * K[t * 4 + u, d]
                    Next[0] = T.max(Next[0], Scores[u])
                Sum[vi] = Sum[vi] * T.exp(Best[0] - Next[0])
                for d in range(4):
                    Total[vi, d] = Total[vi, d] * T.exp(Best[0] - Next[0])
                Best[0] = Next[0]
                for u in range(4):
                    Sum[vi] = Sum[vi] + T.exp(Scores[u] - Best[0])
                    for d in range(4):
                        Total[vi, d] = Total[vi, d] + T.exp(Scores[u] - Best[0]) * V[t * 4 + u, d]
    for i, d in T.grid(8, 4):
        with T.block("O"):
            vi, vd = T.axis.remap("SS", [i, d])
            O[vi, vd] = Total[vi, vd] / Sum[vi]
