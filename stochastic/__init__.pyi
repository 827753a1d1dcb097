"""Public names and their modules, a line each: for type checkers and the package."""

from stochastic.checks import LawError as LawError
from stochastic.checks import ToleranceWarning as ToleranceWarning
from stochastic.launch_time.continuous import Between as Between
from stochastic.launch_time.continuous import launch_between as launch_between
from stochastic.launch_time.launch import Launch as Launch
from stochastic.launch_time.launch import launch as launch
from stochastic.launch_time.shared_rate import Sharing as Sharing
from stochastic.loss.bounds import bounds as bounds
from stochastic.loss.law import Law as Law
from stochastic.loss.law import imbalance as imbalance
from stochastic.loss.timing_model import fit_timing as fit_timing
from stochastic.remedies.binning import partition as partition
from stochastic.remedies.cooperation import granularity as granularity
from stochastic.remedies.splitting import split as split
from stochastic.remedies.traces import measured as measured
from stochastic.skew.law import Loads as Loads
from stochastic.skew.loads import loads as loads
from stochastic.trials.simulation import simulate as simulate
from stochastic.work.correlated_lanes import stickiness as stickiness
from stochastic.work.fitting import fit as fit
from stochastic.work.pmf import Pmf as Pmf
