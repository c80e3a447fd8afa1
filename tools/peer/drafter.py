"""What random calls are drawn with: the table CALLS, and the Drafter, which knows the state of TVM's schedule."""

CALLS = {}
FAMILIES_OF = {}  # primitive -> families of programs (programs.py) that it is tried on; absent: all


def Call(results, name=None, families=None):
    def Register(function):
        CALLS[name or function.__name__] = (function, results)
        if families:
            FAMILIES_OF[name or function.__name__] = families
        return function
    return Register


class CannotDraft(Exception):
    """The program has nothing that the call could apply to."""


class Drafter:
    """Draws arguments for calls, from a schedule of TVM and the names of its random variables."""

    def __init__(self, rng, schedule, apply):
        self.rng, self.schedule = rng, schedule
        self.apply = apply  # runs a line in both; its results are in `names`
        self.names = {}
        self.names_of = {}  # text of a block to its name in the program
        self.count = 0
        self.function = "main"

    def Fresh(self, letter):
        self.count += 1
        return f"{letter}{self.count}"

    # -- what is there

    def Realizes(self):
        """(realize, loops of its scope above it, realize of its scope) of all blocks, the root first."""
        found = []

        def Walk(stmt, loops, scope):
            kind = type(stmt).__name__
            if kind == "SBlockRealize":
                found.append((stmt, loops, scope))
                Walk(stmt.block.body, [], stmt)
            elif kind == "For":
                Walk(stmt.body, loops + [stmt], scope)
            elif kind == "SeqStmt":
                for child in stmt.seq:
                    Walk(child, loops, scope)
            elif kind == "IfThenElse":
                Walk(stmt.then_case, loops, scope)
                if stmt.else_case is not None:
                    Walk(stmt.else_case, loops, scope)
        Walk(self.schedule.mod[self.function].body, [], None)
        return found

    def Where(self, condition):
        """A block, not the root, for which condition(realize, loops) holds: (its name in text, realize, loops)."""
        all_blocks = self.Realizes()
        counts = {}
        for realize, _, _ in all_blocks:
            counts[realize.block.name_hint] = counts.get(realize.block.name_hint, 0) + 1
        fitting = [(realize, loops) for realize, loops, scope in all_blocks
                   if scope is not None and counts[realize.block.name_hint] == 1 and condition(realize, loops)]
        if not fitting:
            raise CannotDraft()
        realize, loops = self.rng.choice(fitting)
        return self.Text(realize.block.name_hint), realize, loops

    def Text(self, name):
        if self.function != "main":
            b = self.Fresh("b")
            self.apply(f'{b} = sch.get_sblock("{name}", func_name="{self.function}")')
            self.names_of[b] = name
            return b
        return f'"{name}"'

    def AnyBlock(self):
        return self.Where(lambda realize, loops: True)

    def BlockWithLoops(self, least=1):
        return self.Where(lambda realize, loops: len(loops) >= least)

    def Reduction(self):
        if self.rng.random() < 0.1:
            return self.BlockWithLoops()
        return self.Where(lambda realize, loops: realize.block.init is not None and len(loops) > 0)

    def LoopNames(self, block):
        """The name of a list of a block's loops."""
        name = self.Fresh("l")
        self.apply(f"{name} = sch.get_loops({block})")
        return name

    def AnyLoop(self):
        """A loop's text and the loop."""
        block, _, loops = self.BlockWithLoops()
        k = self.rng.randrange(len(loops))
        return f"{self.LoopNames(block)}[{k}]", loops[k]

    def LoopOrBlock(self):
        if self.rng.random() < 0.5:
            return self.AnyLoop()[0]
        return self.AsBlock(self.AnyBlock()[0])

    def AsBlock(self, text):
        """A random variable of a block: what takes loops or blocks takes no names."""
        if not text.startswith('"'):
            return text
        b = self.Fresh("b")
        self.apply(f"{b} = sch.get_sblock({text})")
        return b

    def Related(self, realize, consumers):
        """A block that reads what `realize` writes, or writes what it reads: (text, realize, loops)."""
        mine = {r.source for r in (realize.block.writes if consumers else realize.block.reads)}
        def Shares(other, loops):
            regions = other.block.reads if consumers else other.block.writes
            return loops and not other.same_as(realize) and any(r.source in mine for r in regions)
        return self.Where(Shares)

    def Buffer(self, realize, write=None):
        """("read" or "write", index) of a buffer of a block, and the buffer."""
        if write is None:
            write = self.rng.random() < 0.5
        regions = realize.block.writes if write else realize.block.reads
        if not regions:
            raise CannotDraft()
        k = self.rng.randrange(len(regions))
        return "write" if write else "read", k, regions[k].source

    def IsParameter(self, buffer):
        return any(param.same_as(buffer) for param in self.schedule.mod[self.function].params)

    def WritesOwn(self, realize):
        """Whether a block writes buffers of the function, not its parameters; seldom drawn otherwise."""
        return not any(self.IsParameter(r.source) for r in realize.block.writes) or self.rng.random() < 0.1

    def Int(self, expr):
        return int(expr) if type(expr).__name__ == "IntImm" else 16

    def Scope(self):
        return self.rng.choice(["global", "shared", "local", "shared.dyn", "global.A_reg"])

    def Bool(self, name):
        return self.rng.choice(["", "", f", {name}=True", f", {name}=False"])


# ---- Queries


def Reduces(realize, loop):
    return any(int(it.iter_type) == 2 and Uses(value, loop.loop_var)
               for it, value in zip(realize.block.iter_vars, realize.iter_values))


def Uses(expr, var):
    from tvm.tirx.analysis import undefined_vars
    return any(v.same_as(var) for v in undefined_vars(expr))
