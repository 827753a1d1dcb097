"""Read power, clocks and temperature of the GPU through its driver, and set clocks.

The driver includes the library NVML; the optional package ``nvidia-ml-py`` calls it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from symbolic.errors import DseError

_MHZ = 1e6


class DeviceState(NamedTuple):
    """Power [W], clocks [Hz] and temperature [degC] of the GPU at one moment."""

    power: float
    core_clock: float
    memory_clock: float
    temperature: float


class NvmlBoard:
    """The GPU with a given UUID, which runs the kernels; accessed through ``pynvml``."""

    def __init__(self, nvml: Any, uuid: str) -> None:
        self._nvml = nvml
        self._handle = nvml.nvmlDeviceGetHandleByUUID(uuid)

    def read_state(self) -> DeviceState:
        """Return the present power, clocks and temperature."""
        nvml, handle = self._nvml, self._handle
        try:
            return DeviceState(
                nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
                nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM) * _MHZ,
                nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM) * _MHZ,
                float(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
            )
        except nvml.NVMLError as error:
            raise DseError(f"the driver does not report power and clocks: {error}") from error

    def supported_clocks(self) -> dict[int, list[int]]:
        """Return the core clocks that can be set at each memory clock, in descending order [MHz].

        The mapping is empty if the driver cannot set clocks.
        """
        nvml = self._nvml
        try:
            memory = sorted(nvml.nvmlDeviceGetSupportedMemoryClocks(self._handle), reverse=True)
            core = nvml.nvmlDeviceGetSupportedGraphicsClocks
            return {clock: sorted(core(self._handle, clock), reverse=True) for clock in memory}
        except nvml.NVMLError:
            return {}

    @contextmanager
    def clock_control(self) -> Iterator[Any]:
        """Yield a function that sets the clocks; afterwards restore the application clocks."""
        nvml, handle = self._nvml, self._handle
        before, locked = None, []
        with suppress(nvml.NVMLError):
            before = [
                nvml.nvmlDeviceGetApplicationsClock(handle, kind)
                for kind in (nvml.NVML_CLOCK_MEM, nvml.NVML_CLOCK_GRAPHICS)
            ]

        def set_clocks(memory: int, core: int) -> str:
            try:
                nvml.nvmlDeviceSetApplicationsClocks(handle, memory, core)
            except nvml.NVMLError as error:
                why = str(error)
            else:
                return "application clocks"
            try:
                nvml.nvmlDeviceSetGpuLockedClocks(handle, core, core)
                locked.append(nvml.nvmlDeviceResetGpuLockedClocks)
                nvml.nvmlDeviceSetMemoryLockedClocks(handle, memory, memory)
                locked.append(nvml.nvmlDeviceResetMemoryLockedClocks)
            except nvml.NVMLError as error:
                raise DseError(f"application clocks: {why}; locked clocks: {error}") from error
            return "locked clocks"

        try:
            yield set_clocks
        finally:
            for unlock in dict.fromkeys(locked):
                with suppress(nvml.NVMLError):
                    unlock(handle)
            with suppress(nvml.NVMLError):
                if before is not None:
                    nvml.nvmlDeviceSetApplicationsClocks(handle, *before)


class SimulatedBoard(NvmlBoard):
    """A replacement of NVML for the simulated GPU; its numbers are invented."""

    def __init__(self) -> None:
        self._core = 1000

    def read_state(self) -> DeviceState:
        """Return an invented state, in which power grows with the cube of the clock."""
        return DeviceState(50 + 100 * (self._core / 1000) ** 3, self._core * _MHZ, 2e9, 40.0)

    def supported_clocks(self) -> dict[int, list[int]]:
        """Return two core clocks at one memory clock."""
        return {2000: [1000, 500]}

    @contextmanager
    def clock_control(self) -> Iterator[Any]:
        """Yield a function that sets the simulated clock."""

        def set_clocks(memory: int, core: int) -> str:
            self._core = core
            return "pretended"

        yield set_clocks
        self._core = 1000


def open_board(uuid: str, *, simulated: bool) -> NvmlBoard:
    """Return the board that reads and sets the clocks of a GPU; raise DseError without NVML."""
    if simulated:
        return SimulatedBoard()
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError as error:
        raise DseError(
            "clocks and power need the package nvidia-ml-py, which is not installed: "
            "pip install nvidia-ml-py"
        ) from error
    try:
        nvml.nvmlInit()
        return NvmlBoard(nvml, uuid)
    except nvml.NVMLError as error:
        raise DseError(
            f"NVML does not answer ({error}): clocks and power need a GPU with its driver; see "
            "`nvidia-smi`"
        ) from error
