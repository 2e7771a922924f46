"""A small valid trace in every format, used by the tests of all formats."""

from __future__ import annotations

from pathlib import Path

NS2 = """\
# initial places at the end, as BonnMotion's and setdest's at the start, are all the same
$god_ set-dist 0 1 2
$ns_ at 1.0 "$node_(0) setdest 40.0 0.0 10.0"
$ns_ at 2.5 "$node_(7) setdest 0.0 30.0 2.0"
$ns_ at 3.0 "$node_(0) setdest 20.0 50.0 10.0"; # before it arrives
$ns_ at 9.0 "$node_(7) set X_ 5.0"
$ns_ at 9.0 "$node_(7) set Y_ 6.0"
$ns_ at 30.0 "$node_(7) setdest 5.0 6.0 0.0"
$node_(0) set X_ 0.0
$node_(0) set Y_ 0.0
$node_(0) set Z_ 1.5
$node_(7) set X_ 0.0
$node_(7) set Y_ 10.0
"""

BONNMOTION = """\
# two nodes
0.0 10.0 20.0 5.5 30.0 20.0 9.0 30.0 20.0 20.0 0.0 0.0
0.0 1.0 1.0
"""

BONNMOTION_3D = """\
#3D
0.0 10.0 20.0 1.0 5.5 30.0 20.0 3.0
0.0 1.0 1.0 0.0
"""

FCD = """\
<?xml version="1.0" encoding="UTF-8"?>
<fcd-export>
    <timestep time="0.00">
        <vehicle id="east" x="0.00" y="5.00" angle="90.00" type="car" speed="10.00" pos="0.0" lane="a_0"/>
    </timestep>
    <timestep time="1.00">
        <vehicle id="east" x="10.00" y="5.00" angle="90.00" type="car" speed="10.00"/>
        <vehicle id="west" x="90.00" y="8.00"/>
        <person id="east" x="50.00" y="2.00" speed="1.00"/>
    </timestep>
    <timestep time="2.00">
        <vehicle id="west" x="80.00" y="8.00"/>
        <person id="east" x="51.00" y="2.00"/>
    </timestep>
    <timestep time="3.00">
        <vehicle id="west" x="70.00" y="8.00"/>
    </timestep>
    <timestep time="4.00">
        <vehicle id="east" x="60.00" y="5.00"/>
    </timestep>
    <timestep time="5.00">
        <vehicle id="east" x="70.00" y="5.00"/>
    </timestep>
</fcd-export>
"""

CSV = """\
node,t,x,y,z,appears,leaves
red,0.0,0.0,50.0,0.0,,
blue,10.0,20.0,20.0,3.0,10.0,45.0
red,60.0,300.0,50.0,0.0,,
"blue, the second",0.0,0.0,0.0,0.0,,90
blue,45.0,90.0,20.0,4.0,,
blue,45.0,10.0,20.0,4.0,,
"""

GPX = """\
<?xml version="1.0"?>
<gpx version="1.1" creator="a receiver" xmlns="http://www.topografix.com/GPX/1/1">
  <metadata><name>a walk</name><time>2009-10-17T22:58:43Z</time></metadata>
  <wpt lat="1" lon="1"/>
  <trk><name>Ada
     the first</name>
    <trkseg>
      <trkpt lat="47.000" lon="8.000"><ele>400.5</ele><time>2009-10-17T18:37:26Z</time></trkpt>
      <trkpt lat="47.001" lon="8.000"><ele>410.5</ele><time>2009-10-17T18:38:26.500Z</time>
        <extensions><time>none</time></extensions></trkpt>
    </trkseg>
    <trkseg>
      <trkpt lat="47.001" lon="8.002"><ele>405</ele><time>2009-10-17T20:40:26+02:00</time></trkpt>
    </trkseg>
  </trk>
  <trk>
    <trkseg>
      <trkpt lat="46.999" lon="7.999"><ele>390</ele><time>2009-10-17T18:36:26Z</time></trkpt>
    </trkseg>
  </trk>
</gpx>
"""

SAMPLES = {
    "sample.ns2": NS2,
    "sample.movements": BONNMOTION,
    "sample_3d.movements": BONNMOTION_3D,
    "sample.xml": FCD,
    "sample.csv": CSV,
    "sample.gpx": GPX,
}
WRITABLE = ("ns2", "movements", "csv")


def sample(directory: Path, name: str) -> Path:
    """Write the sample of that name."""
    return written(directory / name, SAMPLES[name])


def written(path: Path, text: str | bytes) -> Path:
    """Write a file."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path
