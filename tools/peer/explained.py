"""Kinds of differences that are as we want them: docs/peer_differences.md says why, under the same headings.

A kind is recognized by the primitive, the outcome and a pattern in the detail, which is our refusal, or the first
difference with both programs.
"""

import re


def Reason(primitive, outcome, detail):
    """The heading in docs/peer_differences.md that a difference belongs to, or None."""
    for of, kind, pattern, heading in KNOWN:
        if kind == outcome and (not of or primitive in of.split()) and re.search(pattern, detail, re.S):
            return heading
    return None


# (primitives, outcome, pattern, heading). No primitives: any.
KNOWN = [
    ("loop_partition", "different", r"_common|_partition", "loop_partition: parts are loops in place"),
    ("cache_index", "different", r"index_var_", "cache_index: tables are read"),
    ("cache_inplace", "different", r"is used, but is no size of a parameter",
     "cache_inplace: iterators of the block outside of it"),
    ("", "different", r"^different at \S*(reads|writes)\[.*TVM's:.*T\.reads\([^\n]*\w\[\w*\[", "Regions of gathers"),
    ("reindex_cache_read reindex_cache_write", "different", r"^different at \S*block\[\w*\]: \d+ and \d+\n",
     "Shapes of caches of iterators of one value"),
    ("blockize", "different", r"is used, but is no size of a parameter", "blockize: names that the peer loses"),
    ("blockize", "only ours", r"no loop is around|starts at|restricts spatial and reduce", "blockize: iterators that do not divide"),
    ("blockize", "different", r"reads\[\d+\]\.dim", "blockize: regions inside of the domains"),
    ("read_at write_at", "different", r"different kinds of statement\nours:\n?\s*if ", "Copies that stay inside"),
    ("", "different", r'names "\w+" and "\w+\.\w+"', "Names with a dot"),
    ("set_scope unsafe_set_dtype", "only ours", r"matches a part of", "Caches of matched buffers"),
    ("reindex_cache_read reindex_cache_write", "only ours", r"does not follow from the iterators",
     "cache_inplace: iterators of the block outside of it"),
    ("cache_inplace", "only ours", r"also (writes|reads)", "Values that are not final"),
    ("decompose_padding", "only ours", r"is also below", "Reads of what nobody wrote"),
    ("", "different", r"^TVM's program:.*(already defined|dimensions, but \d+ strides)",
     "Caches of matched buffers"),
    ("", "different", r"operators \+ and -\nours:.*TVM's:.*% -\d", "Layouts of symbolic extents"),
    ("", "different", r"TVM's:.*T\.Cast\(\"int64\", (ax|v|rw|i)", "64-bit loops"),
    ("annotate_buffer_access", "only ours", r"not inside of|not all of", "Regions as the program declares them"),
    ("reverse_compute_at compute_at", "only ours", r"carries the reduction", "Values that are not final"),
    ("read_at cache_read reindex reindex_cache_read", "only ours", r"also (writes|reads)|writes \S+ below loop",
     "Values that are not final"),
    ("write_at reindex reindex_cache_write", "only ours", r"also (reads|writes)|(reads|writes) \S+ (below|outside of) loop",
     "Values that are not final"),
    ("cache_read cache_write reindex_cache_read", "only ours", r"also (reads|writes)|is written by|before block \S+ writes",
     "Reads of what nobody wrote"),
    ("cache_write write_at", "only ours", r"may not write all|does not write all|has values from outside",
     "Reads of what nobody wrote"),
    ("cache_read", "only ours", r"does not read|has values from outside|may read elements|may reach outside",
     "Reads of what nobody wrote"),
    ("cache_read cache_write", "only ours", r"before .* writes it", "Reads of what nobody wrote"),
    ("reverse_compute_at compute_at", "only ours",
     r"may read elements|not all instances|has no producer|is not below|would run|overwrites", "Reads of what nobody wrote"),
    ("reverse_compute_inline", "only ours", r"also reads|may read elements|more than move its elements",
     "Reads of what nobody wrote"),
    ("compute_inline", "only ours", r"may not store all elements|overwrites", "Reads of what nobody wrote"),
    ("decompose_reduction", "only ours", r"uses|also", "Reads of what nobody wrote"),
    ("reindex reindex_cache_read", "only ours", r"may leave|would not be guarded", "Reads of what nobody wrote"),
    ("reindex reindex_cache_write", "only ours", r"may write the same element|not all instances|not spatial|same place",
     "Layouts that lose elements"),
    ("pad_einsum", "only ours",
     r"zeros along|no reduction, but|does not write all of|over a whole dimension|loop of its own|predicate|too$|in the same loop",
     "pad_einsum: zeros that count"),
    ("fuse_reduction_epilogue", "only ours", r"combined by the operation", "fuse_reduction_epilogue: other results"),
    ("fuse_reduction_epilogue", "different", r"init\.store", "fuse_reduction_epilogue: other results"),
    ("merge", "only ours", r"comes before|touch the same buffer", "merge: loops out of order"),
    ("rfactor", "different", r"predicate: different kinds of expression\nours:.*T\.where",
     "rfactor: instances that do not run"),
    ("split fuse", "different", r"bindings\[", "split, fuse: conditions stay"),
    ("compute_at cache_read cache_write reverse_compute_at", "different",
     r"extent: .*TVM's:\nfor [^\n]*(T\.min|T\.max|%|//)", "Tiles of varying extent"),
    ("transform_layout", "only ours", r"place of its own|no pad_value|fills its padding|fill its padding|keep its shape|store all of",
     "Layouts that lose elements"),
    ("transform_block_layout", "only ours", r"serial|annotations|holds more|predicate|mixes iterators|bijective",
     "Layouts that lose elements"),
    ("sample_perfect_tile sample_partitioned_tile sample_compute_location", "only ours",
     r"decision|symbolic|not constant", "Decisions outside of their range"),
    ("sample_compute_location", "different", r"annotation \"sample_compute_location", "Decisions outside of their range"),
    ("parallel vectorize bind", "only ours", r"same instance|several iterations|would run|twice", "What we accept"),
]
