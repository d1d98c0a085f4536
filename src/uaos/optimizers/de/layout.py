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
then, 1        the rank of x_rank, only if a strategy of the pool has it
then, 1        the parent, only under ``survival="newest"``
then, D        the coordinates that are resampled, only if the boundary rule may do so
=============  ==================================================================================
"""

R, PBEST, ARCHIVE, J_RAND, F, CR, MEMORY, KEEP, CROSS = 0, 5, 6, 7, 8, 9, 10, 11, 12

# The operator table has one row for each operator of the pool.
# TOP is the operator's own top_NP (-1: the run's), TAKEN whether its CR is learnt from the share of
# coordinates that the offspring took, CROSSED whether it may be below 1.
STRATEGY, F_KIND, F_A, F_B, F_ROW, CR_KIND, CR_A, CR_B, CR_ROW = 0, 1, 2, 3, 4, 5, 6, 7, 8
TOP, TAKEN, CROSSED, TABLE = 9, 10, 11, 12

# Kinds of rule in the table. An adaptive rule reads its location from row F_ROW or CR_ROW of the
# memory, and what individuals keep is in row F_A or CR_A of their rates.
CONSTANT, UNIFORM, CAUCHY, NORMAL, ADAPTIVE, KEPT = 0, 1, 2, 3, 4, 5

# The two halves of an adaptive rule's memory.
OF_F, OF_CR = 0, 1

# The numbers of an adaptive rule, one row for each: the share of the new mean in a pair, whether
# improvements weigh, whether CR has Lehmer's mean, what a pair becomes after a generation without
# improvement (0: it stays), what the last pair always is (0: as the others), the scales of the two
# distributions, what CR moves to where all that improved had CR = 0, and the limits of F and CR at
# this stage of the run.
RATE, WEIGHTED, LEHMER, IDLE, LAST, SCALE_F, SCALE_CR, ZERO, F_MOST, CR_LEAST, NUMBERS = range(11)

# Boundary rules.
NONE, CLIP, REFLECT, MIDPOINT, RESAMPLE = 0, 1, 2, 3, 4
# One of these for each generation; no kernel sees it.
MIXED = 5

# Crossover of a generation.
BINOMIAL, EXPONENTIAL, CUT = 0, 1, 2

# The column of the role table that says whether x_pbest is another than the parent.
OTHER = 10

# The strategy code of an operator that no strategy makes.
OWN = -1

# The engine's counters that kernels change; where the newest replace the oldest, nobody counts who
# lost, and the second is the place of the next newcomer.
ARCHIVED, EVER_LOST = 0, 1
PLACE = EVER_LOST
