"""Scenarios and folders as plain data, for machines that share no file system with this one.

Only dictionaries, texts and bytes are sent, and none of our classes: a machine with other code must be able to read
enough of it to say that its code is another.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TypedDict

import testbed
from testbed.checkout import commit
from testbed.experiments.studies.code import closure, fingerprint_of
from testbed.scenario.loader import build
from testbed.scenario.schema import Scenario
from testbed.scenario.yaml_reader import Document

JOB_SERVER = "testbed.experiments.studies.job_server"
MAX_BYTES = 50_000_000
"""Of a folder that is sent from one machine to another."""


class SentFile(TypedDict):
    """A file that a scenario names. What is in it is sent apart, once for all jobs."""

    name: str
    digest: str
    origin: str
    """Where it is on the machine that sent it, for messages."""


class SentScenario(TypedDict):
    """A scenario on its way to another machine."""

    data: str
    """Its keys as JSON, with bare names of files."""
    files: list[SentFile]
    code: str
    """Of the machine that sent it; see `code_of`."""


def code_of(scenario: Scenario) -> str:
    """A hash of all code that must be the same on two machines: what decides the result, and what serves jobs."""
    return hashlib.sha256(f"{fingerprint_of(scenario)} {_serving_code()}".encode()).hexdigest()


@cache
def _serving_code() -> str:
    files = sorted(closure([JOB_SERVER]).items())
    return hashlib.sha256(b"".join(name.encode() + file.read_bytes() for name, file in files)).hexdigest()


def code_in_words() -> str:
    """Which code this is, for messages."""
    at = commit()
    if at is None:
        return f"testbed {testbed.__version__}"
    number, _, is_changed = at.partition("-")
    return f"testbed {testbed.__version__} of commit {number[:12]}{', changed since' if is_changed else ''}"


def send(scenario: Scenario) -> tuple[SentScenario, dict[str, bytes]]:
    """A scenario as data, and the contents of the files that it names, by their digests."""
    files: list[SentFile] = []
    contents: dict[str, bytes] = {}
    code, trace, loaded = code_of(scenario), scenario.trace_file, scenario.algorithm.loaded
    if trace is not None:
        files.append(_sent_file(trace, trace.read_bytes(), contents))
        scenario = scenario.with_trace_file(trace.name)
    if loaded is not None:
        files.append(_sent_file(loaded.path, loaded.source, contents))
        scenario = scenario.with_algorithm_file(loaded.path.name)
    return {"data": json.dumps(scenario.model_dump()), "files": files, "code": code}, contents


def _sent_file(path: Path, content: bytes, contents: dict[str, bytes]) -> SentFile:
    digest = hashlib.sha256(content).hexdigest()
    contents[digest] = content
    return {"name": path.name, "digest": digest, "origin": str(path)}


def place_files(sent: SentScenario, contents: Iterable[bytes], folder: Path) -> Path:
    """Write the files of a scenario under `folder`, unless they are there; returns where they are, all in one place."""
    names = json.dumps([[file["name"], file["digest"]] for file in sent["files"]])
    place = folder / f"files-{hashlib.sha256(names.encode()).hexdigest()[:32]}"
    if place.is_dir():
        return place
    partial = Path(tempfile.mkdtemp(prefix="partial-", dir=folder))
    for file, content in zip(sent["files"], contents, strict=True):
        (partial / file["name"]).write_bytes(content)
    try:
        partial.rename(place)  # as a whole: another job may look for it now
    except OSError:  # another job was faster
        shutil.rmtree(partial)
    return place


def receive(data: str, place: Path) -> Scenario:
    """The scenario of which this is the data, its files being in a folder."""
    return build(Document(str(place / "scenario.yaml"), json.loads(data)))


def with_origins(text: str, sent: SentScenario, place: Path) -> str:
    """A message of another machine with the names that files have on the machine that sent them."""
    for file in sent["files"]:
        text = text.replace(str(place / file["name"]), file["origin"])
    return text


def pack(folder: Path) -> bytes | None:
    """A folder with all that is in it; None if that is more than `MAX_BYTES`."""
    if sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) > MAX_BYTES:
        return None
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=3) as archive:
        archive.add(folder, arcname=".")
    return packed.getvalue()


def unpack(packed: bytes, folder: Path) -> None:
    """Make `folder` of what `pack` returned. It is there as a whole or not at all; an older one is replaced."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=folder.parent))
    try:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(partial, filter="data")
        partial.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
