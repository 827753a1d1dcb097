"""A study: a model, a machine, a workload, axes and constraints; what it plans, yields, answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.distribution import identifying
from dse.inputs import Parts, own_copy, read_parts
from dse.study_file import check_code, read_study_file
from sweeps.answers import texts_of
from sweeps.build import build_grid
from sweeps.grid import Grid
from sweeps.space import parse_axis
from sweeps.stopping import handing_back
from symbolic.errors import DseError
from symbolic.library import load_model
from symbolic.ops import references

if TYPE_CHECKING:
    import xarray as xr

    from dse.explain import Explanation
    from dse.plan import Plan
    from sweeps.failing import Failure
    from sweeps.progress import Progress

__all__ = ["Study"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A design space and a question frame over it.

    Parameters
    ----------
    model : str
        A shipped model, several joined by ``+``, or the path of a file of your own (``.py``). A
        list gives a :class:`dse.comparison.Comparison` of several.
    machine, workload : str, optional
        A name of :func:`dse.machines` / :func:`dse.workloads`, or the path of a TOML file.
    axes : mapping
        What varies, outermost first: quantities (lists, ranges, arrays, numbers with units, the
        forms of :func:`sweeps.space.parse_axis`), switches, ``machine``, ``workload``, or a zip.
    set : mapping
        Values of quantities: numbers, texts with units, formulas, labels of switches, or
        DataArrays over some of the axes.
    where : str or list of str
        Constraints; points that break one are marked in ``feasible``.
    outputs : list of str, optional
        The quantities wanted; the model's main outputs where None.
    prefer : str, optional
        Of joined models, the one whose equation is used where two define the same quantity.
    best : mapping, optional
        The question that ``dse run`` answers besides: ``minimize`` or ``maximize``, ``per``,
        ``where`` and ``top``, as for :meth:`optimum`. It changes nothing in what is computed.
    folder : Path, optional
        The folder against which relative paths are read.

    Raises
    ------
    DseError
        Whatever does not fit, naming what was given, what was expected and a way out.

    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024]},
    ...               set={"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600})
    >>> study.run().cs_throughput.values.round(3).tolist()
    [4.197, 8.393, 10.0]
    """

    model: str
    machine: str | None = None
    workload: str | None = None
    axes: Mapping[str, Any] = field(default_factory=dict)
    set: Mapping[str, Any] = field(default_factory=dict)
    where: str | Sequence[str] = ()
    outputs: Sequence[str] | None = None
    prefer: str | None = None
    best: Mapping[str, Any] | None = None
    folder: Path | None = None
    _kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __new__(cls, *, model: Any = None, **rest: Any) -> Any:
        """A study of one model; of a list of models, their comparison."""
        if not isinstance(model, (list, tuple)):
            return object.__new__(cls)
        from dse.comparison import Comparison

        return Comparison({name: cls(model=name, **rest) for name in Comparison.names(model)})

    def __post_init__(self) -> None:
        if not isinstance(self.model, str):
            raise DseError(f"model = {self.model!r}: expected a name, names joined by +, or a path")
        object.__setattr__(self, "where", texts_of(self.where, "where"))
        if self.outputs is not None:
            object.__setattr__(self, "outputs", texts_of(self.outputs, "outputs"))
        for key in ("axes", "set"):
            if not isinstance(getattr(self, key), Mapping):
                raise DseError(f"{key} = {getattr(self, key)!r}: expected a mapping from names")
        for key in ("machine", "workload"):
            value = getattr(self, key)
            if value is not None and not isinstance(value, str):
                raise DseError(f"{key} = {value!r}: expected a name or a path")
            if value is not None and key in self.axes:
                raise DseError(f"{key} is given and is an axis: keep one of them")
        for key in ("axes", "set"):  # what was given may change later
            object.__setattr__(self, key, own_copy(getattr(self, key)))
        self._read()
        self.space()  # everything that can be wrong is found here, before any work
        if self.best is not None:
            from dse.best import read_best

            read_best(self.best).check(self)

    @classmethod
    def from_toml(cls, path: str | Path, *, allow: Callable[[Path], bool] | None = None) -> Study:
        """Read a study file; relative paths in it are relative to its folder.

        A study whose model is a Python file runs that file: ``dse.study_file.code_of`` tells which
        it would run, and runs nothing.

        Parameters
        ----------
        path : path
            The file, in TOML.
        allow : callable, optional
            Asked of each model file, by its path, before it is run: one that it is not true of is
            refused. By default all are run; shipped models are not asked for.

        Raises
        ------
        DseError
            A file that cannot be read, a line that is no TOML, or a key that is not known; a model
            file that may not be run.
        """
        if not isinstance(path, (str, Path)):
            raise DseError(f"the study {path!r}: expected the path of a TOML file")
        path = Path(path)
        tree, folder = read_study_file(path), path.resolve().parent
        if allow is not None:
            check_code(tree, folder, allow)
        return cls(**tree, folder=folder)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as what was given: equations are functions, which are found again by name."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        return _study, (given,)

    # --- what it is made of
    @property
    def _parts(self) -> Parts:
        parts: Parts = self._kept["parts"]
        return parts

    def _read(self) -> None:
        model = load_model(self.model, prefer=self.prefer, base=self.folder)
        axes = [
            parse_axis(name, spec, model.quantities, self.folder)
            for name, spec in self.axes.items()
        ]
        self._kept["parts"] = read_parts(
            model,
            axes,
            entries={"machine": self.machine, "workload": self.workload},
            given=self.set,
            folder=self.folder,
        )

    def grid(self, outputs: Iterable[str] = (), where: Iterable[str] = ()) -> Grid:
        """The study's grid, with further outputs and constraints for a question.

        Raises
        ------
        DseError
            An axis is a real interval, of which a grid has no points.
        """
        for axis in self._parts.axes:
            if axis.real:
                low, high = axis.values.tolist()
                raise DseError(
                    f"{axis.name} lies between two numbers, {low:g} and {high:g}: optimum answers "
                    "for every real between them; for anything else give it values, such as "
                    f"{axis.name} = {{ linspace = [{low:g}, {high:g}, 101] }}"
                )
        return self.space(outputs, where)

    def space(
        self,
        outputs: Iterable[str] = (),
        where: Iterable[str] = (),
        at: Mapping[str, float] | None = None,
    ) -> Grid:
        """As :meth:`grid`; real axes hold their two ends, or one value each, given by ``at``."""
        key = (tuple(outputs), tuple(where))
        if at is None and key in self._kept:
            known: Grid = self._kept[key]
            return known
        parts = self._parts
        wanted = parts.model.outputs if self.outputs is None else tuple(self.outputs)
        grid = build_grid(
            parts.model,
            axes=parts.axes if at is None else [axis.held(at) for axis in parts.axes],
            values=parts.values,
            labels=parts.labels,
            switches=parts.switches,
            tables=parts.tables,
            outputs=tuple(dict.fromkeys([*wanted, *key[0]])),
            constraints=tuple(dict.fromkeys([*self.where, *key[1]])),
        )
        if at is None:
            self._kept[key] = grid
        return grid

    def text(self) -> str:
        """The study as canonical JSON: the same study always gives the same text."""
        from dse.provenance import study_text

        return study_text(self)

    def attributes(self) -> dict[str, Any]:
        """What the Dataset says of itself: study, equations, defaults, assumptions, version."""
        if "attributes" not in self._kept:
            from dse.provenance import attributes

            self._kept["attributes"] = attributes(self.text(), self.grid(), self._parts)
        found: dict[str, Any] = self._kept["attributes"]
        return found

    # --- what it does
    def plan(self, *, expand: bool = False) -> Plan:
        """What a run would do, before any work: points, tiles, bytes, what depends on what.

        Warns of a swept clock that costs nothing: see the plan's ``warnings``.
        """
        import warnings

        from dse.plan import make_plan

        planned = make_plan(self, expand=expand)
        for text in planned.warnings:
            warnings.warn(text, stacklevel=2)
        return planned

    def run(
        self,
        *,
        store: str | Path | None = None,
        expand: bool = False,
        progress: bool | Callable[[Progress], None] = False,
        fresh: bool = False,
        client: Any = None,
        workers: int | None = None,
        extend: bool = False,
        compression: str | None = None,
    ) -> xr.Dataset:
        """Compute every output over the axes on which it depends.

        Parameters
        ----------
        store : path or URL, optional
            The zarr store to write: a folder, or what fsspec reaches (``s3://``, ``memory://``).
            What it holds of this study is kept and what is missing computed, tile by tile, so that
            the same call continues a run that was stopped. Memory does not grow with the grid.
        expand : bool
            Store every output over all axes.
        progress : bool or callable
            True shows progress on standard error once a run takes longer than a second; a callable
            is given a :class:`sweeps.progress.Progress` after each tile.
        fresh : bool
            With ``store``: keep an existing store aside and compute anew.
        client : distributed.Client or str, optional
            With ``store``: a cluster of dask.distributed, or the address of its scheduler, whose
            workers compute the tiles and write them; by default threads of this process do.
        workers : int, optional
            With ``store``: so many processes of this machine instead, which end with the run. Call
            it under ``if __name__ == "__main__":``, as with any module that starts processes.
        extend : bool
            With ``store``: where it is the finished store of this study with fewer values along its
            axes, or fewer outputs, take over what it holds and compute only what is new.
        compression : str, optional
            With ``store``: ``"lz4"``, that of a new store, or ``"none"``; where one is, it stays.

        Returns
        -------
        xarray.Dataset
            Each axis a dimension coordinate; cases as small integers with their meanings;
            ``feasible`` where a rule or constraint applies. That of a store is read when needed.
        """
        from dse.runner import run

        done = run(
            self,
            store=store,
            expand=expand,
            progress=progress,
            fresh=fresh,
            client=client,
            workers=workers,
            extend=extend,
            compression=compression,
        )
        if done.failed:
            _warn(done.failed)
        return done.dataset

    @handing_back
    @identifying
    def optimum(
        self,
        *,
        minimize: str | Sequence[str] | None = None,
        maximize: str | Sequence[str] | None = None,
        where: str | Sequence[str] = (),
        per: str | Sequence[str] | None = None,
        top: int = 1,
        ties: bool = False,
        within: float | None = None,
        method: str = "auto",
        time_limit: float | None = None,
        gap: float | None = None,
    ) -> xr.Dataset:
        """The best configurations, without storing the grid.

        Parameters
        ----------
        minimize, maximize : str or list of str
            A quantity or formula; or several in one list, in order of priority: each decides among
            what is best by those before. A minus turns the direction of one (``"-throughput"``).
        where : str or list of str
            Constraints besides those of the study.
        per : str or list of str, optional
            Axes for each value of which a winner is wanted.
        top : int
            How many, best first (dimension ``rank``); ties go to the lowest index in axis order.
        ties : bool
            Give all configurations that are as good as the best one (dimension ``tie``).
        within : float, optional
            Give all configurations that are off the best by at most this share of it, best first
            (dimension ``rank``): 0.01 for 1 %. The attribute ``configurations`` counts them.
        method : {"auto", "scan", "certified"}
            A scan of the whole grid, or a search with a proof that nothing is better; "auto" scans
            small grids. The attribute ``method`` says which, and a certified answer's attributes
            ``bound`` and ``gap`` what is proven (``sweeps.certify.certificate.Certificate``).
        time_limit, gap : float, optional
            Of a certified optimum: seconds, and the share by which the answer may miss the best: 0,
            or 1e-6 where an axis is a real interval (``{"between": [low, high]}``), which is always
            certified: the attribute ``bound`` holds for every real.

        Raises
        ------
        sweeps.stopping.Interrupted
            It was interrupted, once (a ``KeyboardInterrupt``): its attribute ``best`` is the answer
            so far, as if the time had been up.
        """
        from sweeps.certify.optimum import best_of
        from sweeps.goals import goals_in_order

        goal, *later = goals = goals_in_order(minimize, maximize)
        if real := [axis.name for axis in self._parts.axes if axis.real]:
            from sweeps.certify.reals.optimum import check_asked, real_optimum

            asked = {"top": top != 1, "per": bool(per), "ties": ties, "within": within is not None}
            check_asked(real[0], **asked, **{"several objectives": bool(later)})
            needed = self._needed([goal.text])
            grid = self.space(needed, texts_of(where, "where"))
            return real_optimum(
                grid,
                goal,
                lambda at: self.space(needed, texts_of(where, "where"), at),
                method=method,
                time_limit=time_limit,
                gap=gap,
            )
        grid = self._question([goal.text for goal in goals], where)
        if later:
            from sweeps.certify.priority import best_in_order
            from sweeps.goals import check_single

            check_single(top=top != 1, per=bool(per), within=within is not None)
            return best_in_order(
                grid, goals, ties=ties, method=method, time_limit=time_limit, gap=gap
            )
        if within is not None:
            from sweeps.inverse.near import check_alone, near_best

            check_alone(top=top != 1, per=bool(per), ties=ties, gap=gap is not None)
            return near_best(grid, goal, within, method=method, time_limit=time_limit)
        if ties:
            from sweeps.ties import check_ties, grid_ties

            check_ties(top, per, method)
            return grid_ties(grid, goal)
        return best_of(grid, goal, per=per, top=top, method=method, time_limit=time_limit, gap=gap)

    @handing_back
    @identifying
    def pareto(
        self,
        *,
        minimize: str | Sequence[str] | None = None,
        maximize: str | Sequence[str] | None = None,
        where: str | Sequence[str] = (),
        method: str = "auto",
        time_limit: float | None = None,
    ) -> xr.Dataset:
        """The configurations that no other beats in every objective (dimension ``point``).

        Parameters
        ----------
        minimize, maximize : str or list of str
            Quantities or formulas.
        where : str or list of str
            Constraints besides those of the study.
        method : {"auto", "scan", "certified"}
            A scan of the whole grid, or a search by bounds over boxes with a proof that nothing
            else is on the front: "auto" takes it where there are too many points to scan.
        time_limit : float, optional
            Of a certified front: seconds after which the best points found so far are given. The
            attribute ``complete`` is 0 then, ``boxes_left`` tells how many boxes may hold others,
            and the variable ``proven`` which points nothing can beat. An interrupt is told as by
            :meth:`optimum`.
        """
        from sweeps.answers import read_goals
        from sweeps.certify.front import front_of_grid

        goals = read_goals(minimize, maximize)
        grid = self._question([goal.text for goal in goals], where)
        return front_of_grid(grid, goals, method=method, time_limit=time_limit)

    def count(self, *, where: str | Sequence[str] = ()) -> xr.Dataset:
        """How many configurations are feasible, of how many; no grid is stored.

        Conditions over different axes are counted apart, and multiplied.

        >>> study = Study(model="transit", axes={"threads": range(1, 10**6), "intensity": [1, 2]},
        ...               set={"lanes_width": 32, "ms_peak": 1, "mem_latency": 600})
        >>> int(study.count(where=["threads <= 1024", "intensity > 1"]).feasible_points)
        1024
        """
        from dse.distribution import identified
        from sweeps.streaming.counting import grid_count

        return identified(grid_count(self._question([], where)), self)

    def histogram(
        self,
        quantity: str,
        *,
        bins: int | Sequence[float | str] = 10,
        where: str | Sequence[str] = (),
    ) -> xr.Dataset:
        """How many feasible configurations have a quantity or formula in each of some bins.

        Parameters
        ----------
        quantity : str
            A quantity or formula.
        bins : int or sequence
            A number of equal bins from the least to the largest finite value, or their edges,
            numbers or texts with units. A bin holds its low edge, the last one both.
        where : str or list of str
            Constraints besides those of the study.

        Returns
        -------
        xarray.Dataset
            ``configurations`` along ``bin``, with the edges ``low`` and ``high``; its attributes
            say how many lie ``below`` and ``above``, and how many are no number (``undefined``).
        """
        from dse.distribution import identified
        from sweeps.streaming.spread import histogram
        from sweeps.streaming.values import GridValues

        values = GridValues(self._question([quantity], where), quantity)
        return identified(histogram(values, bins), self)

    def quantiles(
        self, quantity: str, q: float | Sequence[float], *, where: str | Sequence[str] = ()
    ) -> xr.Dataset:
        """The least values that given shares of the feasible configurations do not exceed; exact.

        Of N values the quantile q is the least that at least q N of them do not exceed (the inverse
        of the distribution function), so that it is the value of some configuration; q = 0 is the
        least of all. The result has the dimension ``quantile``.
        """
        from dse.distribution import identified
        from sweeps.streaming.spread import quantiles
        from sweeps.streaming.values import GridValues

        values = GridValues(self._question([quantity], where), quantity)
        return identified(quantiles(values, q), self)

    def _question(self, texts: Sequence[str], where: str | Sequence[str]) -> Grid:
        from sweeps.failing import failures_of

        needed = self._needed(texts)
        grid = self.grid(needed, texts_of(where, "where"))
        if failed := failures_of(grid, needed):
            _warn(failed)
        return grid

    def _needed(self, texts: Sequence[str]) -> list[str]:
        """The quantities of some formulas."""
        from symbolic.expression import parse

        quantities = self._parts.model.quantities
        return [name for text in texts for name in references(parse(text, quantities))]

    def explain(self, **point: Any) -> Explanation:
        """Every intermediate at one configuration: value, unit, equation, source.

        ``point`` gives a value for each axis; axes left out stand at their first value.
        """
        from dse.explain import explain

        return explain(self, point)


def _study(given: Mapping[str, Any]) -> Study:
    return Study(**given)


def _warn(failures: Sequence[Failure]) -> None:
    import warnings

    from dse.wording import failures_text

    warnings.warn("; ".join(failures_text(failures)), stacklevel=3)
