"""The demo's discipline: a wing spar under lift, relieved by its own weight.

The spar is a cantilever of rectangular section whose height and width vary along the span. It is
cut into stations; the fields over the stations are the vectors that travel. Lift less the inertia
of the spar's own mass (at a pull-up's load factor) loads the beam: the bending moment therefore
depends on every station's section outboard of it, and all gradients are by the adjoint of that sum.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import philote_mdo.general as pmdo
from numpy.typing import NDArray

Field = NDArray[np.float64]

SPAN = 15.0  # m, from root to tip
MODULUS = 70.0e9  # Pa, aluminium
DENSITY = 2800.0  # kg/m**3
ALLOWABLE = 180.0e6  # Pa, the yield stress with a safety factor of 1.5
WEIGHT = 2.5 * 9.81 * DENSITY  # N/m**3, inertia at the load factor of the pull-up
SHARPNESS = 200.0  # of the Kreisselmeier-Steinhauser maximum of the stresses


def elliptic_lift(stations: int, total: float = 100.0e3) -> Field:
    """Return an elliptic lift distribution.

    Parameters
    ----------
    stations : int
        The number of stations.
    total : float
        The lift of the half wing, in newtons.

    Returns
    -------
    ndarray
        The lift in N/m at the middle of each station.
    """
    position = (np.arange(stations) + 0.5) / stations
    shape = np.sqrt(1.0 - position**2)
    return np.asarray(shape * (total / (shape.sum() * SPAN / stations)))


@dataclass(frozen=True)
class Spar:
    """The analysis of one spar: responses and their gradients.

    Parameters
    ----------
    height, width : ndarray
        The section at each station, in metres.
    lift : ndarray
        The lift at each station, in N/m.
    """

    height: Field
    width: Field
    lift: Field

    @cached_property
    def step(self) -> float:
        """The length of a station."""
        return SPAN / self.height.size

    @cached_property
    def position(self) -> Field:
        """The distance of each station from the root."""
        return np.asarray((np.arange(self.height.size) + 0.5) * self.step)

    @cached_property
    def moment(self) -> Field:
        """The bending moment: outboard load times its arm."""
        load = (self.lift - WEIGHT * self.width * self.height) * self.step
        shear = np.cumsum(load[::-1])[::-1]
        return np.asarray(np.cumsum((load * self.position)[::-1])[::-1] - self.position * shear)

    @cached_property
    def compliance(self) -> Field:
        """Each station's tip deflection for a unit of its bending moment."""
        inertia = self.width * self.height**3 / 12.0
        return np.asarray((SPAN - self.position) * self.step / (MODULUS * inertia))

    @cached_property
    def mass(self) -> float:
        """The spar's mass."""
        return float(DENSITY * self.step * (self.width * self.height).sum())

    @cached_property
    def deflection(self) -> float:
        """The deflection of the tip, by unit load."""
        return float(self.moment @ self.compliance)

    @cached_property
    def stress_ratio(self) -> Field:
        """The bending stress in the outer fibre over the allowable one."""
        return np.asarray(6.0 * np.abs(self.moment) / (self.width * self.height**2 * ALLOWABLE))

    @cached_property
    def peak_stress(self) -> float:
        """A smooth maximum of the stress ratio, never below the true one."""
        highest = self.stress_ratio.max()
        return float(highest + np.log(self._weights.sum()) / SHARPNESS)

    @cached_property
    def _weights(self) -> Field:
        ratio = self.stress_ratio
        return np.asarray(np.exp(SHARPNESS * (ratio - ratio.max())))

    def mass_gradient(self) -> tuple[Field, Field]:
        """Return the derivatives of the mass by height and by width."""
        scale = DENSITY * self.step
        return scale * self.width, scale * self.height

    def deflection_gradient(self) -> tuple[Field, Field]:
        """Return the derivatives of the deflection by height and by width."""
        direct = self.moment * self.compliance
        by_height, by_width = self._through_moment(self.compliance)
        return by_height - 3.0 * direct / self.height, by_width - direct / self.width

    def stress_gradient(self) -> tuple[Field, Field]:
        """Return the derivatives of the peak stress by height and by width."""
        weights = self._weights / self._weights.sum()
        direct = weights * self.stress_ratio
        section = 6.0 / (self.width * self.height**2 * ALLOWABLE)
        by_height, by_width = self._through_moment(weights * np.sign(self.moment) * section)
        return by_height - 2.0 * direct / self.height, by_width - direct / self.width

    def _through_moment(self, by_moment: Field) -> tuple[Field, Field]:
        """Carry a derivative by the moment back to the section, whose weight makes the moment."""
        by_load = self.position * np.cumsum(by_moment) - np.cumsum(by_moment * self.position)
        by_area = -WEIGHT * self.step * by_load
        return by_area * self.width, by_area * self.height


class SparDiscipline(pmdo.ExplicitDiscipline):  # type: ignore[misc] # philote_mdo has no types
    """Serves `Spar` over Philote.

    Parameters
    ----------
    stations : int
        The number of stations, which is the length of each vector that travels.
    """

    def __init__(self, stations: int) -> None:
        self._stations = stations
        super().__init__()

    def setup(self) -> None:
        """Declare the fields and the responses."""
        shape = (self._stations,)
        self.add_input("height", shape=shape, units="m")
        self.add_input("width", shape=shape, units="m")
        self.add_input("lift", shape=shape, units="N/m")
        self.add_output("mass", shape=(1,), units="kg")
        self.add_output("deflection", shape=(1,), units="m")
        self.add_output("peak_stress", shape=(1,), units="")
        self.add_output("moment", shape=shape, units="N*m")

    def setup_partials(self) -> None:
        """Declare the gradients of the three responses."""
        for response in ("mass", "deflection", "peak_stress"):
            self.declare_partials(response, "height")
            self.declare_partials(response, "width")

    def compute(self, inputs: Mapping[str, Field], outputs: MutableMapping[str, Field]) -> None:
        """Analyse the spar."""
        spar = Spar(inputs["height"], inputs["width"], inputs["lift"])
        outputs["mass"] = np.array([spar.mass])
        outputs["deflection"] = np.array([spar.deflection])
        outputs["peak_stress"] = np.array([spar.peak_stress])
        outputs["moment"] = spar.moment

    def compute_partials(
        self, inputs: Mapping[str, Field], partials: MutableMapping[tuple[str, str], Field]
    ) -> None:
        """Find the gradients."""
        spar = Spar(inputs["height"], inputs["width"], inputs["lift"])
        for response, gradient in (
            ("mass", spar.mass_gradient()),
            ("deflection", spar.deflection_gradient()),
            ("peak_stress", spar.stress_gradient()),
        ):
            partials[response, "height"], partials[response, "width"] = gradient
