"""Exports of phyphox and Sensor Logger: known motions written in their formats come out right; damage is a sentence."""

import io
import zipfile

import numpy as np
import pytest

from qpwl_core.data.errors import RecordingsError
from qpwl_core.data.formats.phones import GRAVITY
from qpwl_core.data.loading import load_recordings

SECONDS = 12.0


def motion(seed, rate, start=0.0):
    """Uneven times, and x, y, z that are known at every time: slow waves. (T,), (T, 3)"""
    draw = np.random.default_rng(seed)
    times = start + np.cumsum(draw.uniform(0.6, 1.4, int(SECONDS * rate)) / rate)
    return times, wave(times)


def wave(times):
    return np.column_stack([np.sin(2 * times), 2 * np.cos(3 * times), 9 + 0.5 * np.sin(times)])


def phyphox(times, values, what="Acceleration", unit="m/s^2", delimiter=",", comma=False):
    """A table as phyphox writes it."""
    head = delimiter.join(f'"{name}"' for name in ["Time (s)", *(f"{what} {axis} ({unit})" for axis in "xyz")])
    rows = [delimiter.join(f"{x:.9E}" for x in row) for row in np.column_stack([times, values])]
    text = "\n".join([head, *rows]) + "\n"
    return (text.replace(".", ",") if comma else text).encode()


def logger(times, values):
    """A table as Sensor Logger writes it: z before y before x."""
    rows = [f"{1_700_000_000_000_000_000 + int(1e9 * t)},{t:.6f},{z:.8f},{y:.8f},{x:.8f}"
            for t, (x, y, z) in zip(times, values, strict=True)]
    return ("\n".join(["time,seconds_elapsed,z,y,x", *rows]) + "\n").encode()


def packed(**files):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"{name}.csv", content)
    return file.getvalue()


def read(content, name):
    return load_recordings(io.BytesIO(content), name=name)


def check(found, acceleration=1 / GRAVITY, start=0.0):
    """The known motion at 50 Hz, in the middle of every step."""
    assert found.rate == 50
    assert found.info["domain"] == "gait"
    values = found.sequences[0]
    truth = wave(start + (np.arange(len(values)) + 0.5) / 50)
    for k, channel in enumerate(found.channels):
        scale = acceleration if channel.startswith("acc") else 1.0
        np.testing.assert_allclose(values[:, k], scale * truth[:, k % 3], atol=0.02 * scale)


def test_phyphox_alone_with_commas_semicolons_and_tabs():
    times, values = motion(1, 200)
    for content in (phyphox(times, values), phyphox(times, values, delimiter="\t"),
                    phyphox(times, values, delimiter=";", comma=True)):
        found = read(content, "ann_walk.csv")
        assert found.channels == ("acc_x", "acc_y", "acc_z")
        assert found.people == ["ann"]
        assert found.stimuli.tolist() == ["walk"]
        check(found, start=times[0])


@pytest.mark.parametrize("rates", [(100, 100), (417, 52)])
def test_both_apps_with_both_sensors_fit_the_models_of_hapt(rates):
    (t1, a), (t2, g) = motion(1, rates[0]), motion(2, rates[1], 0.3)
    first = max(t1[0], t2[0])
    for content in (packed(**{"Accelerometer": phyphox(t1, a), "Gyroscope": phyphox(t2, g, "Gyroscope", "rad/s"),
                              "meta/device": b"property,value\nmodel,x\n"}),
                    packed(TotalAcceleration=logger(t1, a), Gyroscope=logger(t2, g), Accelerometer=logger(t1, 0 * a),
                           Metadata=b"version,device\n1,x\n", Magnetometer=logger(t1, 50 * a))):
        found = read(content, "bob_stairs-2.zip")
        assert found.channels == ("acc_x", "acc_y", "acc_z", "gyro_x", "gyro_y", "gyro_z")
        assert found.people == ["bob"]
        check(found, start=first)


def test_gravity_is_added_where_it_comes_apart_and_named_where_it_is_missing():
    times, values = motion(3, 100)
    still = np.tile([0, 0, 4.0], (len(times), 1))
    check(read(packed(Accelerometer=logger(times, values - still), Gravity=logger(times, still)), "a.zip"),
          start=times[0])
    assert "without gravity" in read(packed(Accelerometer=logger(times, values)), "a.zip").info["units"]


def test_a_folder_of_exports_is_a_class(tmp_path):
    for i, name in enumerate(("ann_1", "ann_2", "bob_1")):
        times, values = motion(i, 100)
        (tmp_path / f"{name}.zip").write_bytes(packed(Accelerometer=phyphox(times, values)))
    found = load_recordings(tmp_path)
    assert found.subjects.tolist() == ["ann", "ann", "bob"]


@pytest.mark.parametrize(("content", "name", "said"), [
    (packed(notes=b"hello\n"), "a.zip", "no table of acceleration"),
    (b"PK\x03\x04 nothing", "a.zip", "cannot be read as a .zip file"),
    (b'"Time (s)","Acceleration x (m/s^2)"\n0,1\n1,2\n', "a.csv", "y is missing"),
    (phyphox(np.array([0.0]), np.ones((1, 3))), "a.csv", "no rows"),
    (phyphox(np.array([0.0, 0.0]), np.ones((2, 3))), "a.csv", "fewer than two samples"),
    (phyphox(np.array([0, 1, 2, 60.0]), np.ones((4, 3))), "a.csv", "silent for 58 seconds"),
    (phyphox(np.array([0, 1e300]), np.ones((2, 3))), "a.csv", "seconds since the start must be"),
    (b'"Time (s)","Acceleration x (m/s^2)","Acceleration y (m/s^2)","Acceleration z (m/s^2)"\n1,2\n', "a.csv",
     "2 columns"),
    (packed(Accelerometer=phyphox(*motion(1, 50)), Gyroscope=phyphox(*motion(1, 50, 900), "Gyroscope", "rad/s")),
     "a.zip", "never on at the same time"),
])
def test_what_is_no_walk_is_said_in_a_sentence(content, name, said):
    with pytest.raises(RecordingsError, match=said):
        read(content, name)


def test_a_table_beyond_the_bound_is_refused():
    with pytest.raises(RecordingsError, match="max_bytes allows"):
        load_recordings(io.BytesIO(phyphox(*motion(1, 400))), name="a.csv", max_bytes=1000)
