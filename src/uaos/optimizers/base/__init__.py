"""What all optimizers share: the protocol `ask` and `tell`, saving and resuming.

=============  ===================================================================================
module         what it contains
=============  ===================================================================================
`algorithm`    what each algorithm defines: two methods, and answers that have a default
`optimizer`    the rest: proposing, counting, learning, the result
`settings`     what all settings classes share
`search_box`   the box that is searched, in numbers
`region`       where runs start, and how long their first steps are
`feedback`     what is told of points, checked
`feasibility`  the order of points under constraints
`details`      what a batch tells beside values and violations
`incumbent`    the best point so far
`noise`        what is known of the noise of values
`spending`     what evaluations are spent on, and what is left to the search
`outstanding`  several batches at a time
`saving`       runs as files
=============  ===================================================================================
"""

from uaos.optimizers.base.optimizer import Optimizer, RunFinished

__all__ = ["Optimizer", "RunFinished"]
