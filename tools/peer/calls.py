"""Random calls of schedule primitives: one entry of CALLS for each.

An entry is a function from a Drafter to the text of a call (without results). The Drafter knows the state of TVM's
schedule, and writes the queries that the call needs (`l3 = sch.get_loops("C")`) as lines of their own. Arguments are
drawn so that most calls are legal and some are not.

To add a primitive: a function in the file of its kind with the decorator `@Call(results)`, where results is what the
primitive returns: "", "loop", "loops", "block", "blocks" or "ints".
"""

# In the order of the table.
import calls_of_loops  # noqa: F401
import calls_of_copies  # noqa: F401
import calls_of_places  # noqa: F401
import calls_of_blocks  # noqa: F401
from drafter import CALLS, FAMILIES_OF, CannotDraft, Drafter  # noqa: F401
