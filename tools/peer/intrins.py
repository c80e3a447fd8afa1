"""The intrinsics that compare.py gives to both: tiles of products, their inits, and copies, in one text."""


def _Product(name, size, b):
    region = f"0:{size}, 0:{size}"
    b_region = region
    def Head(match):
        return f'''
@T.prim_func(s_tir=True)
def {name}_{match}(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, ({size}, {size}), "float32", strides=("sa", 1), offset_factor=1)
    B = T.match_buffer(b, ({size}, {size}), "float32", strides=("sb", 1), offset_factor=1)
    C = T.match_buffer(c, ({size}, {size}), "float32", strides=("sc", 1), offset_factor=1)
    with T.sblock("root"):
        T.reads(C[{region}], A[{region}], B[{b_region}])
        T.writes(C[{region}])
'''
    return Head("desc") + f'''        for i, j, k in T.grid({size}, {size}, {size}):
            with T.sblock("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * {b}
''' + Head("impl") + f'''        T.evaluate(T.call_extern("int32", "product_{size}", C.data, A.data, B.data))
'''


def _Init(name, size):
    def Head(match):
        return f'''
@T.prim_func(s_tir=True)
def {name}_{match}(c: T.handle) -> None:
    C = T.match_buffer(c, ({size}, {size}), "float32", strides=("sc", 1), offset_factor=1)
    with T.sblock("root"):
        T.reads()
        T.writes(C[0:{size}, 0:{size}])
'''
    return Head("desc") + f'''        for i, j in T.grid({size}, {size}):
            with T.sblock("init"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.float32(0)
''' + Head("impl") + f'''        T.evaluate(T.call_extern("int32", "init_{size}", C.data))
'''


def Texts():
    """name -> the text of `name`_desc and `name`_impl."""
    texts = {}
    for size in (4, 8, 16):
        texts[f"peer_{size}"] = _Product(f"peer_{size}", size, "B[vk, vj]")
        texts[f"peer_{size}t"] = _Product(f"peer_{size}t", size, "B[vj, vk]")
        texts[f"peer_{size}_init"] = _Init(f"peer_{size}_init", size)
    return texts
