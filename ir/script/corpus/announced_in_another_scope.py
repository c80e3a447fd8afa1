@T.prim_func
def f(A:T.Buffer((77,)),B:T.Buffer((16,)),C:T.Buffer((8,),"int32"),n:T.int32):
 i = T.int32()
 for y in range(49):
       T.attr(i, "k", 2)
 for i in range(17):
     B[i] = A[i]
