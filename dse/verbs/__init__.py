"""What can be asked: each verb takes a study, models compared, a Dataset, or a path of one."""

from dse.verbs.backwards import borders, meets, ranges
from dse.verbs.chosen import best_config, disagreement, optimum, pareto
from dse.verbs.described import advise, explain, plan
from dse.verbs.running import run
from dse.verbs.statistics import count, histogram, quantiles, sensitivity

__all__ = [
    "advise",
    "best_config",
    "borders",
    "count",
    "disagreement",
    "explain",
    "histogram",
    "meets",
    "optimum",
    "pareto",
    "plan",
    "quantiles",
    "ranges",
    "run",
    "sensitivity",
]
