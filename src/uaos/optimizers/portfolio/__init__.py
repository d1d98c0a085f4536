"""Portfolio: optimizers of different families that share one selector.

Each member keeps its own state. A :class:`uaos.Method` decides which member evaluates its next
batch, just as it decides which operator makes an offspring. Members do not see each other's points,
except that one may finish the run from the best point of the others.

=============  ===================================================================================
module         what it contains
=============  ===================================================================================
`members`      an optimizer of the portfolio, with limits on its evaluations
`kinds`        tables of the members that suit each kind of problem
`turns`        the order in which members evaluate
`optimizer`    the portfolio: asks the member whose turn it is, and tells it and the selector
=============  ===================================================================================
"""

from uaos.optimizers.portfolio.kinds import NOISY_KINDS, Traits, default_members
from uaos.optimizers.portfolio.members import Member, continuing
from uaos.optimizers.portfolio.optimizer import Portfolio, PortfolioSettings
from uaos.optimizers.portfolio.turns import Turns, leader_method

__all__ = [
    "NOISY_KINDS",
    "Member",
    "Portfolio",
    "PortfolioSettings",
    "Traits",
    "Turns",
    "continuing",
    "default_members",
    "leader_method",
]
