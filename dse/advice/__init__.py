"""What limits a configuration, what would help, and how far until something else limits."""

from dse.advice.report import Advice, Move, Suggestion

__all__ = ["Advice", "Move", "Suggestion"]
