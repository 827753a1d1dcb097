"""The GPU at hand: its kernels, and its clocks, power and temperature as its driver tells them.

NVML comes with the driver, and is spoken to by the package ``nvidia-ml-py``, which is optional.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from symbolic.errors import DseError

_MHZ = 1e6


class DeviceState(NamedTuple):
    """What the driver tells at one moment."""

    power: float
    core_clock: float
    memory_clock: float
    temperature: float


class NvmlBoard:
    """The GPU, by NVML.

    Parameters
    ----------
    nvml : module
        ``pynvml``, of the package ``nvidia-ml-py``, initialised.
    uuid : str
        Which GPU: that on which the kernels run, also where others are hidden from them.
    """

    def __init__(self, nvml: Any, uuid: str) -> None:
        self._nvml = nvml
        self._handle = nvml.nvmlDeviceGetHandleByUUID(uuid)

    def read_state(self) -> DeviceState:
        """Power [W], clocks [Hz] and temperature [degC] now."""
        nvml, handle = self._nvml, self._handle
        try:
            return DeviceState(
                nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
                nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM) * _MHZ,
                nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM) * _MHZ,
                float(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
            )
        except nvml.NVMLError as error:
            raise DseError(f"the driver does not tell power and clocks: {error}") from error

    def supported_clocks(self) -> dict[int, list[int]]:
        """Core clocks that may be asked for, by memory clock, descending [MHz]; maybe none."""
        nvml = self._nvml
        try:
            memory = sorted(nvml.nvmlDeviceGetSupportedMemoryClocks(self._handle), reverse=True)
            return {
                clock: sorted(
                    nvml.nvmlDeviceGetSupportedGraphicsClocks(self._handle, clock), reverse=True
                )
                for clock in memory
            }
        except nvml.NVMLError:
            return {}

    @contextmanager
    def clock_control(self) -> Iterator[Any]:
        """A context in which clocks are asked for; afterwards application clocks are as before.

        Clocks that are locked instead (GPUs without application clocks) are unlocked at the end.
        """
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
    """In place of NVML where the GPU is simulated: made-up numbers that follow the clock asked."""

    def __init__(self) -> None:
        self._core = 1000

    def read_state(self) -> DeviceState:
        """A power that grows with the cube of the clock."""
        return DeviceState(50 + 100 * (self._core / 1000) ** 3, self._core * _MHZ, 2e9, 40.0)

    def supported_clocks(self) -> dict[int, list[int]]:
        """Two."""
        return {2000: [1000, 500]}

    @contextmanager
    def clock_control(self) -> Iterator[Any]:
        """A context in which clocks are asked for."""

        def set_clocks(memory: int, core: int) -> str:
            self._core = core
            return "pretended"

        yield set_clocks
        self._core = 1000


def open_board(uuid: str, *, simulated: bool) -> NvmlBoard:
    """What tells clocks and power of a GPU.

    Raises
    ------
    DseError
        The package is not installed, or there is no driver that answers it.
    """
    if simulated:
        return SimulatedBoard()
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError as error:
        raise DseError(
            "clocks and power are told by the driver through the package nvidia-ml-py, which is "
            "not installed: pip install nvidia-ml-py"
        ) from error
    try:
        nvml.nvmlInit()
        return NvmlBoard(nvml, uuid)
    except nvml.NVMLError as error:
        raise DseError(
            f"NVML does not answer ({error}): clocks and power need a GPU with its driver, which "
            "`nvidia-smi` lists"
        ) from error
