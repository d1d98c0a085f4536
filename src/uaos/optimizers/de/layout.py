"""Where everything stands: the columns of the random numbers and of the operator table.

The engine draws one array of uniforms in [0, 1) a generation, one row for each offspring, and the
kernels only read it. So a plain loop that is fed the same array makes the same offspring, compiled
or not. The columns of a row:

=============  ==================================================================================
column         what it decides
=============  ==================================================================================
R .. R + 4     the distinct indices r1 .. r5
PBEST          which of the best parents is x_pbest
ARCHIVE        which of parents ∪ archive is x_arch
J_RAND         the coordinate that always comes from the mutant
F, CR          the offspring's F and CR, where their rules are sampled
MEMORY         which pair of a success-history memory they are sampled from
KEEP           which place of a full archive the parent takes, should it lose to this offspring
CROSS .. + D   the crossover, one for each coordinate
then, 1        top_NP, only if it is drawn for each offspring
then, D        the coordinates that are resampled, only under ``boundary="resample"``
=============  ==================================================================================
"""

R, PBEST, ARCHIVE, J_RAND, F, CR, MEMORY, KEEP, CROSS = 0, 5, 6, 7, 8, 9, 10, 11, 12

# The operator table has one row for each operator of the pool.
STRATEGY, F_KIND, F_A, F_B, F_ROW, CR_KIND, CR_A, CR_B, CR_ROW, TABLE = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9

# Kinds of rule in the table. An adaptive rule reads its location from row F_ROW or CR_ROW.
CONSTANT, UNIFORM, CAUCHY, NORMAL, ADAPTIVE = 0, 1, 2, 3, 4

# The two halves of an adaptive rule's memory.
OF_F, OF_CR = 0, 1

# Boundary rules.
NONE, CLIP, REFLECT, MIDPOINT, RESAMPLE = 0, 1, 2, 3, 4

# The strategy code of an operator that is not one of the nine.
OWN = -1

# The engine's counters that kernels change.
ARCHIVED, EVER_LOST = 0, 1


def columns(dimension: int, top_drawn: bool, resample: bool) -> int:
    """The number of uniforms that one offspring takes."""
    return CROSS + dimension + int(top_drawn) + (dimension if resample else 0)
