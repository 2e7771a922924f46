"""The propagation models against values computed by hand, and the properties of all of them."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from testbed.radio.path_loss import Friis, ItuIndoor, LogDistance, PathLossModel, PlainRange, ThreeLogDistance, TwoRay
from testbed.radio.propagation import PROPAGATION, Nakagami, Propagation, Shadowing

CHANNEL_1_HZ = 2412e6  # a wavelength of 299792458 / 2412e6 = 0.1242921 m


def loss(model: PathLossModel, distance: float, z_a: float = 0.0, z_b: float = 0.0) -> float:
    return model.loss(CHANNEL_1_HZ, 100.0)(distance, z_a, z_b)


def test_friis() -> None:
    # (4 pi * 100 / 0.1242921)^2 = 10110.37^2; 20 log10(10110.37) = 80.0953.
    assert loss(Friis(), 100.0) == pytest.approx(80.0953, abs=1e-4)
    # A system loss of 2 is 3.0103 dB more; ten times as near is 20 dB less.
    assert loss(Friis(system_loss=2.0), 10.0) == pytest.approx(63.1056, abs=1e-4)


def test_friis_has_a_least_loss() -> None:
    assert loss(Friis(), 0.0) == 0.0
    assert loss(Friis(), 0.005) == 0.0  # half a centimetre: the formula gives a gain
    assert loss(Friis(min_loss_db=50.0), 1.0) == 50.0  # 40.0953 by the formula
    near_field = Friis(min_loss_db=50.0).near_field_m(CHANNEL_1_HZ)
    assert near_field == pytest.approx(10 ** ((50 - 40.0953) / 20), rel=1e-5)


def test_two_ray_is_friis_up_to_the_crossover() -> None:
    # Heights of 1.5 m: the crossover is at 4 pi * 1.5 * 1.5 / 0.1242921 = 227.483 m.
    assert loss(TwoRay(), 227.4) == loss(Friis(), 227.4)
    # Beyond it: 40 log10(1000) - 20 log10(2.25) = 120 - 7.0437.
    assert loss(TwoRay(), 1000.0) == pytest.approx(112.9563, abs=1e-4)
    assert loss(TwoRay(), 227.4834) == pytest.approx(loss(TwoRay(), 227.4833), abs=1e-4)


def test_two_ray_depends_on_heights() -> None:
    # Heights of 1.5 + 2 and 1.5 + 4: 120 - 20 log10(19.25) = 120 - 25.6886, beyond a crossover at 1946 m.
    assert loss(TwoRay(), 10_000.0, 2.0, 4.0) == pytest.approx(160 - 25.6886, abs=1e-4)
    assert loss(TwoRay(), 1900.0, 2.0, 4.0) == loss(Friis(), 1900.0)


def test_two_ray_has_no_loss_up_to_its_least_distance() -> None:
    assert loss(TwoRay(), 0.5) == 0.0
    assert loss(TwoRay(), 0.51) == loss(Friis(), 0.51)


def test_log_distance() -> None:
    # Free space at a metre is 40.0953; 40.0953 + 30 log10(50) = 40.0953 + 50.9691.
    assert loss(LogDistance(), 50.0) == pytest.approx(91.0644, abs=1e-4)
    # 46.6777 + 10 * 2.5 * log10(40 / 2) = 46.6777 + 32.5257.
    model = LogDistance(exponent=2.5, reference_distance=2.0, reference_loss_db=46.6777)
    assert loss(model, 40.0) == pytest.approx(79.2034, abs=1e-4)


def test_log_distance_is_flat_up_to_its_reference() -> None:
    model = LogDistance(reference_distance=10.0, reference_loss_db=55.0)
    assert [loss(model, distance) for distance in (0.0, 3.0, 10.0)] == [55.0, 55.0, 55.0]
    # Free space loses 20 dB more at 10 m than at 1 m; very near, the formula gives a gain.
    assert loss(LogDistance(reference_distance=10.0), 3.0) == pytest.approx(60.0953, abs=1e-4)
    assert loss(LogDistance(reference_distance=0.005), 0.005) == 0.0


def test_three_log_distance() -> None:
    model = ThreeLogDistance(reference_loss_db=46.6777)
    # 46.6777 + 19 log10(100) = 46.6777 + 38.
    assert loss(model, 100.0) == pytest.approx(84.6777, abs=1e-4)
    # 46.6777 + 19 log10(200) + 38 log10(400 / 200) = 46.6777 + 43.7196 + 11.4391.
    assert loss(model, 400.0) == pytest.approx(101.8364, abs=1e-4)
    # 46.6777 + 43.7196 + 38 log10(500 / 200) + 38 log10(1000 / 500) = 46.6777 + 43.7196 + 15.1217 + 11.4391.
    assert loss(model, 1000.0) == pytest.approx(116.9581, abs=1e-4)
    assert loss(model, 0.99) == 0.0
    # On channel 1 free space loses 40.0953 at the first distance, not 46.6777.
    assert loss(ThreeLogDistance(), 100.0) == pytest.approx(78.0953, abs=1e-4)
    assert ThreeLogDistance().distances == [1.0, 200.0, 500.0]


def test_three_log_distance_uses_each_exponent_in_its_field() -> None:
    model = ThreeLogDistance(distances=[1.0, 10.0, 100.0], exponents=[1.0, 2.0, 4.0], reference_loss_db=0.0)
    # 10 log10(10), and 20 log10(10) on top, and 40 log10(10) on top.
    assert [loss(model, distance) for distance in (10.0, 100.0, 1000.0)] == pytest.approx([10.0, 30.0, 70.0])


@pytest.mark.parametrize(
    ("building", "expected"),
    [
        # 20 log10(2412) = 67.6475; + N log10(10) - 28; then 1 floor, then 3 floors.
        ("residential", [67.6475, 67.6475 + 4, 67.6475 + 12]),
        ("office", [69.6475, 69.6475 + 15, 69.6475 + 23]),
        ("commercial", [61.6475, 61.6475 + 6, 61.6475 + 12]),
    ],
)
def test_itu_indoor(building: str, expected: list[float]) -> None:
    model = TypeAdapter(Propagation).validate_python({"kind": "itu-indoor", "building": building})
    assert [loss(model, 10.0, 1.0, z) for z in (2.9, 3.1, 10.0)] == pytest.approx(expected, abs=1e-4)


def test_itu_indoor_counts_the_floors_between() -> None:
    on_one_floor = loss(ItuIndoor(), 10.0, 7.0, 8.0)
    assert on_one_floor == loss(ItuIndoor(), 10.0)
    assert loss(ItuIndoor(), 10.0, 7.0, 4.0) == loss(ItuIndoor(), 10.0, 7.0, 10.0) == on_one_floor + 15


def test_itu_indoor_is_flat_within_a_metre() -> None:
    assert loss(ItuIndoor(), 0.0) == loss(ItuIndoor(), 1.0) < loss(ItuIndoor(), 1.1)


def test_plain_range_is_a_disc() -> None:
    assert loss(PlainRange(), 0.0) == loss(PlainRange(), 100.0) == 0.0
    assert loss(PlainRange(), 100.001) == 1000.0
    assert PlainRange().near_field_m(CHANNEL_1_HZ) == 0.0


def test_random_models_have_a_mean() -> None:
    far = ThreeLogDistance(reference_loss_db=46.6777)
    for model in (Shadowing(mean=far), Nakagami(mean=far)):
        assert loss(model, 400.0) == loss(far, 400.0)
    assert loss(Shadowing(), 50.0) == loss(Nakagami(), 50.0) == loss(LogDistance(), 50.0)


def test_nakagami_has_a_shape_in_each_field() -> None:
    model = Nakagami(m=[3.0, 2.0, 1.0])
    assert [model.fading_m(distance) for distance in (0.0, 79.9, 80.0, 199.9, 200.0)] == [3.0, 3.0, 2.0, 2.0, 1.0]
    assert model.is_fading
    assert not Shadowing().is_fading


def test_a_kind_alone_is_a_model() -> None:
    adapter = TypeAdapter(Propagation)
    for kind, model in PROPAGATION.items():
        assert adapter.validate_python(kind) == adapter.validate_python({"kind": kind}) == model()
        assert "\n" not in (model.__doc__ or "\n")
    means = ["log-distance", {"exponent": 3.0}, {"kind": "log-distance"}]
    for mean in means:
        assert adapter.validate_python({"kind": "nakagami", "mean": mean}) == Nakagami()


@pytest.mark.parametrize(
    "wrong",
    [
        "fris",
        {"kind": "friis", "exponent": 2.0},
        {"kind": "three-log-distance", "distances": [1.0, 500.0, 200.0]},
        {"kind": "three-log-distance", "distances": [1.0, 200.0, 200.0]},
        {"kind": "three-log-distance", "distances": [1.0, 200.0]},
        {"kind": "three-log-distance", "distances": [1.0, 2.0, 3.0, 4.0]},
        {"kind": "three-log-distance", "exponents": [1.0, 2.0, 3.0, 4.0]},
        {"kind": "nakagami", "distances": [80.0, 200.0, 300.0]},
        {"kind": "nakagami", "m": [3.0, 2.0, 1.0, 1.0]},
        {"kind": "nakagami", "distances": [200.0, 80.0]},
        {"kind": "nakagami", "m": [0.75, 1.5, 1.5]},
        {"kind": "nakagami", "m": [1.5, 0.75, 0.4]},
        {"kind": "nakagami", "mean": "friis"},
        {"kind": "shadowing", "sigma_db": -1.0},
        {"kind": "two-ray", "antenna_height": 0.0},
        {"kind": "itu-indoor", "building": "castle"},
    ],
)
def test_invalid_models_are_refused(wrong: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Propagation).validate_python(wrong)


exponents = st.floats(1, 10)
MODELS = st.one_of(
    st.builds(Friis, system_loss=st.floats(1, 100), min_loss_db=st.floats(0, 60)),
    st.builds(
        TwoRay, system_loss=st.floats(1, 100), antenna_height=st.floats(0.01, 100), min_distance=st.floats(0.05, 9)
    ),
    st.builds(LogDistance, exponent=exponents, reference_distance=st.floats(0.01, 50)),
    st.builds(
        ThreeLogDistance,
        distances=st.lists(st.floats(0.01, 900), min_size=3, max_size=3, unique=True).map(sorted),
        exponents=st.lists(exponents, min_size=3, max_size=3),
    ),
    st.builds(ItuIndoor, building=st.sampled_from(["residential", "office", "commercial"])),
    st.builds(Shadowing),
    st.builds(Nakagami),
    st.builds(PlainRange),
)
HEIGHTS = st.floats(0, 50)


@given(MODELS, st.floats(0, 2000), st.floats(1.001, 100), HEIGHTS, HEIGHTS)
def test_the_loss_never_falls_with_the_distance(
    model: PathLossModel, distance: float, times: float, z_a: float, z_b: float
) -> None:
    """This is needed for a radio to have one range."""
    assert loss(model, distance * times, z_a, z_b) >= loss(model, distance, z_a, z_b)


@given(MODELS, st.floats(1.001, 100), st.floats(1.001, 100), HEIGHTS, HEIGHTS)
def test_the_loss_grows_beyond_the_near_field(
    model: PathLossModel, times: float, more: float, z_a: float, z_b: float
) -> None:
    if not isinstance(model, PlainRange):
        distance = model.near_field_m(CHANNEL_1_HZ) * times
        assert loss(model, distance * more, z_a, z_b) > loss(model, distance, z_a, z_b)


@given(MODELS)
def test_the_loss_is_constant_within_the_near_field(model: PathLossModel) -> None:
    near_field = model.near_field_m(CHANNEL_1_HZ)
    assert loss(model, near_field * 0.2) == pytest.approx(loss(model, near_field * 0.999), abs=1e-9)


@given(MODELS, st.floats(0, 1e6), HEIGHTS, HEIGHTS)
def test_a_loss_is_positive_finite_and_symmetric(model: PathLossModel, distance: float, z_a: float, z_b: float) -> None:
    assert 0 <= loss(model, distance, z_a, z_b) < inf
    assert loss(model, distance, z_a, z_b) == loss(model, distance, z_b, z_a)
