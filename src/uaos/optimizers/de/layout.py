"""The columns of a generation's random numbers and of the operator table.

The run draws one array of uniforms in [0, 1) per generation, one row for each offspring, and the
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
then           the random numbers of a subclass (`further_columns`)
then, D        the coordinates that are resampled, only if the boundary rule does so
=============  ==================================================================================
"""

R, PBEST, ARCHIVE, J_RAND, F, CR, MEMORY, KEEP, CROSS = 0, 5, 6, 7, 8, 9, 10, 11, 12

# The operator table has one row for each operator: kind and two numbers of its rules for F and CR.
F_KIND, F_A, F_B, CR_KIND, CR_A, CR_B, TABLE = range(7)

# Kinds of rule. The first number of an adaptive rule is the row of its memory.
CONSTANT, UNIFORM, CAUCHY, NORMAL, ADAPTIVE = range(5)

# The two halves of an adaptive rule's memory.
OF_F, OF_CR = 0, 1

# The numbers of an adaptive rule, one row for each: the share of the new mean in a pair, whether
# improvements weigh, whether the mean of CR is Lehmer's, whether the last pair stays as it is, and
# the standard deviation of CR.
RATE, WEIGHTED, LEHMER, LAST, CR_SCALE, NUMBERS = range(6)

# The points of a strategy's formula, in the order of `strategies.ROLES`: the parent, the best, one
# of the best, a member of parents ∪ archive, and the first of five random parents.
PARENT, BEST, P_BEST, ARCH, R1, ROLES = 0, 1, 2, 3, 4, 9

# The partners of a mutant: base + F (plus - minus + plus - minus + plus - minus).
BASE, PLUS_1, MINUS_1, PLUS_2, MINUS_2, PLUS_3, MINUS_3, PARTNERS = range(8)

# Boundary rules.
NONE, CLIP, REFLECT, MIDPOINT, RESAMPLE = range(5)

# The counters of an archive: its members, and all parents that ever lost.
ARCHIVED, EVER_LOST = 0, 1
