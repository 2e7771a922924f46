"""Invalid files in every format: the error is one line that names the file and, if possible, the line."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from testbed.errors import InputError
from testbed.mobility.traces import read

from .samples import BONNMOTION, CSV, FCD, GPX, NS2, SAMPLES, written

WRONG_NUMBERS = ("nan", "inf", "-inf", "1e400", "1_0", "ten", "1e10", "0x10", "1,5", "")


def refused(path: Path) -> str:
    """The error about a file, without its name; it is one line and begins with the file's name."""
    with pytest.raises(InputError) as caught:
        read(path)
    text = str(caught.value)
    assert caught.value.exit_code == 2
    assert text.isprintable()
    assert text.startswith(f"{path}:")
    return text.removeprefix(f"{path}:")


def changed(path: Path, text: str, old: str, new: str, line: int) -> None:
    """A sample with one change is refused at that line."""
    assert text.count(old) >= 1
    error = refused(written(path, text.replace(old, new, 1)))
    assert error.startswith(f"{line}: "), error


@pytest.mark.parametrize("number", WRONG_NUMBERS)
def test_wrong_numbers(tmp_path: Path, number: str) -> None:
    """Times and coordinates, in every format."""
    for old, line in {"at 3.0": 5, "setdest 0.0 30.0": 4, "X_ 5.0": 6, "X_ 0.0": 9}.items():
        word = re.findall(r"[-0-9.]+", old)[-1]
        changed(tmp_path / "a.ns2", NS2, old, old.replace(word, number), line)
    for old in ("5.5", "30.0 20.0 9.0", "10.0"):
        new = old.replace("30.0", number or "30.0 x") if old.startswith("30") else number or "x"
        changed(tmp_path / "a.movements", BONNMOTION, old, new, 2)
    for old, line in {"60.0,300.0": 4, "300.0": 4, "4.0": 6, "10.0,45.0": 3}.items():
        word = old.split(",")[0]
        if number != "1,5" and not (old == "10.0,45.0" and number == ""):
            changed(tmp_path / "a.csv", CSV, old, old.replace(word, number, 1), line)
    for old, line in {'time="1.00"': 6, 'x="10.00"': 7}.items():
        changed(tmp_path / "a.xml", FCD, old, f'{old.split("=")[0]}="{number}"', line)
    for old, line in {'lat="47.000"': 8, 'lon="8.000"': 8, "<ele>400.5": 8, "<time>2009-10-17T18:37:26": 8}.items():
        if old != "<ele>400.5":
            changed(tmp_path / "a.gpx", GPX, old, re.sub(r"[0-9].*[0-9]", number, old), line)
        elif number:
            changed(tmp_path / "a.gpx", GPX, old, f"<ele>{number}", line)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.ns2", NS2.replace("at 3.0", "at 0.5"), ":5: found node 0 at 0.5 s, after 1 s; "),
        ("a.ns2", NS2.replace("at 3.0", "at -3.0"), ":5: found the time '-3.0'; "),
        ("a.ns2", NS2.replace("(7) setdest 0", "(8) setdest 0"), ":4: found node 8 without a start position; "),
        ("a.ns2", NS2.replace("(7) set X_ 5", "(8) set X_ 5"), ":6: found node 8 without a start position; "),
        ("a.ns2", NS2.replace("$node_(7) set Y_ 10.0\n", ""), ": found node 7 without Y_; "),
        *[
            ("a.ns2", NS2.replace("30.0 2.0", f"30.0 {speed}"), f":4: found the speed '{speed}'; ")
            for speed in ("-2.0", "nan", "inf", "1e400", "fast")
        ],
        ("a.ns2", NS2.replace("30.0 2.0", "30.0 1e-300"), ":4: found an arrival at 2e+301 s; "),
        ("a.ns2", NS2.replace("30.0 2.0", "30.0 5e-324"), ":4: found an arrival at inf s; "),
        ("a.ns2", NS2 + "# node 5 leaves 3\n", ": node 5 appears or leaves, but has no position"),
        ("a.ns2", NS2 + "# node 7 leaves soon\n", ":14: found leaves 'soon'; "),
        ("a.ns2", "some other text\n", ": no node and no position"),
        ("a.movements", BONNMOTION.replace("9.0 30", "5.0 30"), ":2: found node 0 at 5 s, after 5.5 s; "),
        ("a.movements", "-1.0 0 0\n", ":1: found the time '-1.0'; "),
        ("a.movements", BONNMOTION + "0 1 1 5 2\n", ":4: found a waypoint of 2 numbers at the end; "),
        ("a.movements", "#3D\n0 1 1\n", ":2: found a waypoint of 3 numbers at the end; "),
        ("a.movements", "# only\n# comments\n", ": no node and no position"),
        (
            "a.movements",
            BONNMOTION + "# node 0 appears 4 leaves 3\n",
            ":4: found node 0 leaves at 3 s and appears at 4",
        ),
        ("a.csv", CSV.replace("red,60.0", "red,-0.5"), ":4: found the time '-0.5'; "),
        ("a.csv", CSV.replace("blue,45.0", "blue,5.0"), ":6: found node blue at 5 s, after 10 s; "),
        ("a.csv", CSV.replace("node,t", "node"), ":1: found the columns 'node,x,y,z,appears,leaves'; "),
        ("a.csv", CSV.replace("leaves\n", "leaves,speed\n"), ":1: found the columns "),
        ("a.csv", CSV.replace("z,", "y,"), ":1: found the columns "),
        ("a.csv", CSV.replace("node,t,x,y,z,appears,leaves\n", ""), ":1: found the columns "),
        ("a.csv", CSV + "red,90.0\n", ":8: found 2 values; allowed: 7"),
        ("a.csv", CSV + 'red,90.0,1,1,1,,"\n', ":8: found 'red,90.0,1,1,1,,\"'; allowed: values separated by commas"),
        ("a.csv", CSV + "\rred,9\r,1\n", ":8: found "),
        ("a.csv", CSV + "red,90.0,1,1,1,3,\n", ":8: found appears or leaves of node red; "),
        ("a.csv", CSV + "green,90.0,1,1,1,soon,\n", ":8: found appears 'soon'; "),
        ("a.csv", CSV + "green,90.0,1,1,1,5,4\n", ":8: found node green leaves at 4 s and appears at 5 s; "),
        ("a.csv", CSV + ",90.0,1,1,1,,\n", ":8: found a node called ''; "),
        ("a.csv", CSV + "bell\a,90.0,1,1,1,,\n", ":8: found a node called 'bell\\x07'; "),
        ("a.csv", "node,t,x,y\n", ": no node and no position"),
        ("a.xml", FCD.replace('time="2.00"', 'time="1.00"'), ":11: found a step at 1 s, after 1 s; "),
        ("a.xml", FCD.replace('time="2.00"', 'time="-2.00"'), ":11: found the time '-2.00'; "),
        ("a.xml", FCD.replace(' time="2.00"', ""), ":11: found <timestep> without time; "),
        ("a.xml", FCD.replace(' y="5.00"', "", 1), ":4: found <vehicle> without y; "),
        ("a.xml", FCD.replace('id="west" ', "", 1), ":8: found <vehicle> without id; "),
        ("a.xml", FCD.replace('id="west"', 'id="east"', 1), ":8: found east a second time in this step; "),
        ("a.xml", FCD.replace('id="west"', 'id="we&#10;st"', 1), ":8: found a node called 'we\\nst'; "),
        ("a.xml", FCD.replace("</timestep>", "", 1), ":24: not XML: mismatched tag"),
        ("a.xml", FCD + "<more/>", ":25: not XML: junk after document element"),
        ("a.xml", "<fcd-export/>", ": no node and no position"),
        ("a.xml", GPX, ":2: found <gpx>; allowed: <fcd-export>"),
        ("a.gpx", FCD, ":2: found <fcd-export>; allowed: <gpx>"),
        (
            "a.gpx",
            GPX.replace("2009-10-17T18:38", "2009-10-17T18:36"),
            ":10: found 2009-10-17 18:36:26.500000+00:00, after",
        ),
        ("a.gpx", GPX.replace("<time>2009-10-17T18:37:26Z</time>", ""), ":8: found a point without a time; "),
        ("a.gpx", GPX.replace("2009-10-17T18:36:26Z", "1909-10-17T18:36:26Z"), ":8: found a time 3.15"),
        ("a.gpx", GPX.replace(' lat="46.999"', ""), ":18: found the latitude ''; "),
        ("a.gpx", GPX.replace('lat="46.999"', 'lat="90.001"'), ":18: found the latitude '90.001'; "),
        ("a.gpx", GPX.replace("<trk>", "<rte>").replace("</trk>", "</rte>"), ": no track with a point"),
    ],
)
def test_wrong_files(tmp_path: Path, name: str, text: str, says: str) -> None:
    """The error says what is wrong, where, and mostly what is allowed."""
    path = written(tmp_path / name, text)
    assert f":{refused(path)}".startswith(says), refused(path)


@pytest.mark.parametrize("name", ["sample.xml", "sample.gpx"])
@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE lolz [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>',
        '<!DOCTYPE r SYSTEM "file:///etc/passwd">',
        "<!DOCTYPE r>",
    ],
)
def test_no_document_type(tmp_path: Path, name: str, doctype: str) -> None:
    """Entities could grow without limit or refer to other files."""
    start, _, rest = SAMPLES[name].partition("\n")
    assert ":2: found a document type" in f":{refused(written(tmp_path / name, f'{start}{chr(10)}{doctype}{rest}'))}"


@pytest.mark.parametrize("name", SAMPLES)
def test_not_a_text(tmp_path: Path, name: str) -> None:
    """Empty, blank, binary, in another encoding: refused in every format."""
    path = tmp_path / name
    assert refused(written(path, b"")) == " an empty file"
    refused(written(path, gzip.compress(b"")))
    refused(written(path, b"\n \n\t\n"))
    refused(written(path, bytes(range(256)) * 10))
    refused(written(path, b"\x7fELF\x02\x01\x01" + bytes(1000)))
    error = refused(written(path, SAMPLES[name].encode() + b"\xff"))
    assert re.match(r"\d+: (found bytes that are not text; allowed: UTF-8|not XML: not well-formed)", error), error


@pytest.mark.parametrize("name", ["sample.ns2", "sample.movements", "sample.csv"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_two_bytes_a_character(tmp_path: Path, name: str, encoding: str) -> None:
    """Only XML declares its encoding."""
    refused(written(tmp_path / name, SAMPLES[name].encode(encoding)))


@pytest.mark.parametrize("name", SAMPLES)
def test_broken_gzip(tmp_path: Path, name: str) -> None:
    """Cut off anywhere, changed in the middle, or with bytes after the end."""
    whole = gzip.compress(SAMPLES[name].encode())
    path = tmp_path / f"{name}.gz"
    broken = [whole[:cut] for cut in (5, 10, 30, len(whole) // 2, len(whole) - 9, len(whole) - 1)]
    broken += [whole[:-8] + bytes(8), whole[:12] + b"\xff\xff\xff" + whole[15:], whole + b"more"]
    for raw in broken:
        assert "broken gzip file" in refused(written(path, raw))


@pytest.mark.parametrize("name", ["sample.xml", "sample.gpx"])
def test_cut_off_xml(tmp_path: Path, name: str) -> None:
    """A file that is cut off is refused, wherever it ends."""
    whole = SAMPLES[name].rstrip()
    for cut in range(1, len(whole), 9):
        assert "not XML: " in refused(written(tmp_path / name, whole[:cut]))


def test_a_name_that_would_break_the_line(tmp_path: Path) -> None:
    """A line break in the file's name does not make the error longer than one line."""
    with pytest.raises(InputError) as caught:
        read(written(tmp_path / "a\nb.csv", "node\n"))
    assert str(caught.value).isprintable()
