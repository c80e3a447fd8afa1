"""Programs of our own for other architectures."""

def cross_program(name, compiler, srcs, headers, visibility = None):
    """Compiles a program by another architecture's C++ compiler.

    Args:
      name: of the program.
      compiler: path of the compiler; empty where none is installed, and there is no program then.
      srcs: C++ sources.
      headers: what they include, by paths from the root of the workspace.
      visibility: of the program.
    """
    if not compiler:
        return
    native.genrule(
        name = name + "_compiled",
        srcs = srcs + headers,
        outs = [name],
        # What a machine of that architecture has, whatever its C++ library: libc and libm.
        cmd = " ".join([
            compiler,
            "-std=c++20 -O2 -I. -static-libstdc++ -static-libgcc",
            " ".join(["$(locations %s)" % source for source in srcs]),
            "-Wl,--no-as-needed -lm -ldl -lpthread -o $@",
        ]),
        executable = True,
        visibility = visibility,
    )
