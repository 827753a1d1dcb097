"""Advice on a configuration: what limits it, what would help, and how far."""

from dse.advice.report import Advice, Move, Suggestion

__all__ = ["Advice", "Move", "Suggestion"]
