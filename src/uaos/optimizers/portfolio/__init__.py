"""Portfolio: optimizers of different families under one selector.

Each member keeps its own state. A :class:`uaos.Method` decides which member evaluates its next
batch, just as it decides which operator makes an offspring. Members do not see each other's points,
except that one may finish the run from the best point of the others.

=============  ===================================================================================
module         what it says
=============  ===================================================================================
`members`      what a member is, and what it may spend when
`kinds`        which members suit which problem: one table
`turns`        whose turn it is
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
