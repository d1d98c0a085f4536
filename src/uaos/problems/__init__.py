"""Problems to try methods on: the 24 BBOB functions of COCO, and a few analytic ones."""

from uaos.problems.analytic import ackley, rastrigin, rosenbrock, sphere
from uaos.problems.bbob import BBOB, CLASSES, DIMENSIONS

__all__ = ["BBOB", "CLASSES", "DIMENSIONS", "ackley", "rastrigin", "rosenbrock", "sphere"]
