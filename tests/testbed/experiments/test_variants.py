"""Variants: how they are written, what they run, and what they are called."""

from pathlib import Path

import pytest

from agents.registry import ALGORITHMS
from testbed.cli.main import main
from testbed.errors import InputError, ScenarioError
from testbed.experiments.variants import (
    Variant,
    load_variants,
    name_variants,
    parse_algorithms,
    parse_variant,
    read_variants,
    resolved,
)
from testbed.scenario import yaml_reader
from testbed.scenario.loader import loads
from testbed.scenario.schema import Scenario
from tests.testbed.others import file_of
from tests.testbed.tiny import is_one_line, tiny, write_tiny


def applied(written: str, **changes: str) -> Scenario:
    """The tiny scenario as a variant runs it."""
    return parse_variant(written).applied_to(loads(tiny(**changes)))


def names(*written: str, **changes: str) -> list[str]:
    """What variants are called on the tiny scenario."""
    return [point.name for point in name_variants(map(parse_variant, written), loads(tiny(**changes))).points]


def write_variants(folder: Path, text: str) -> Path:
    path = folder / "variants.yaml"
    path.write_text(text, encoding="utf-8")
    return path


# -- what a variant runs ----------------------------------------------------------------------------------------------


def test_it_starts_from_the_scenario_and_then_its_own_keys_apply():
    """The algorithm keeps the parameters that it knows; the others have their defaults."""
    found = applied("krlf-adaptive window=4", algorithm="{name: krl, k: 2, raise_interval: 7}")
    assert resolved(found) == {
        "parameters": {
            "name": "krlf-adaptive",
            "raise_interval": 7.0,
            "detect_partitions": False,
            "k": 2,
            "window": 4,
            "max_hops": 8,
            "forward_to": "lowest",
            "hops": None,
        },
        "clusters": None,
    }
    assert found.nodes == 5


def test_its_own_keys_win_over_those_of_the_scenario():
    """Where the variant and the scenario set the same parameter."""
    assert applied("krl k=4", algorithm="{name: krl, k: 2}").algorithm.parameters.k == 4
    assert applied("krl", algorithm="{name: krl, k: 2}").algorithm.parameters.k == 2


def test_parameters_that_an_algorithm_does_not_know_are_dropped():
    """`permuted` is a parameter of the tree; RL has none of that name."""
    tree = "{name: raymond-tree, permuted: false}"
    assert resolved(applied("rl", algorithm=tree))["parameters"] == {
        "name": "rl",
        "raise_interval": 0.0,
        "detect_partitions": False,
    }
    assert applied("raymond-tree", algorithm=tree).algorithm.parameters.permuted is False


def test_a_parameter_of_another_type_is_another_parameter():
    """The window of krlf-adaptive is a number of tokens, that of makki a time."""
    assert applied("makki", algorithm="{name: krlf-adaptive, window: 7}").algorithm.parameters.window == 2.0


def test_clusters_are_a_key_of_the_scenario():
    """So a variant sets them there, and can also unset those of the scenario."""
    assert applied("raymond-tree clusters=2").clusters == 2
    assert applied("raymond-tree", clusters="2").clusters == 2
    assert applied("krl k=2 clusters=null", clusters="2").clusters is None
    assert resolved(applied("raymond-tree clusters=2")) == {
        "parameters": {"name": "raymond-tree", "permuted": True},
        "clusters": 2,
    }


def test_over_radio_links_the_default_pace_is_that_of_the_links():
    """Unless the variant sets it."""
    radio = {"algorithm": "raymond-tree", "links": "{kind: radio, hello: 2}"}
    assert applied("rl", **radio).algorithm.parameters.raise_interval == 2
    assert applied("rl raise_interval=0", **radio).algorithm.parameters.raise_interval == 0


# -- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["rl", "krl k=2"], ["rl", "krl"]),  # an algorithm that occurs once
        (["krl k=2", "krl k=3"], ["krl k=2", "krl k=3"]),
        (["krl", "krl k=2"], ["krl k=3", "krl k=2"]),  # the value that it has, written or not
        (["krl k=2 raise_interval=1", "krl k=3 raise_interval=1"], ["krl k=2", "krl k=3"]),  # not what is the same
        (["krl k=2", "krl raise_interval=0.5"], ["krl raise_interval=0 k=2", "krl raise_interval=0.5 k=3"]),
        (["krl k=2 raise_interval=1", "krl k=3"], ["krl raise_interval=1 k=2", "krl raise_interval=0 k=3"]),
        (["raymond-tree permuted=false", "raymond-tree"],
         ["raymond-tree permuted=false", "raymond-tree permuted=true"]),
        (["krl k=2", "krl k=3", "krl k=2 raise_interval=9"],
         ["krl raise_interval=0 k=2", "krl raise_interval=0 k=3", "krl raise_interval=9 k=2"]),
        (["rl", "raymond-tree clusters=2"], ["rl", "raymond-tree clusters=2"]),  # clusters are shown wherever they are
        (["rl", "rl clusters=2"], ["rl", "rl clusters=2"]),
        (["rl raise_interval=1 clusters=2", "rl clusters=2"],
         ["rl raise_interval=1 clusters=2", "rl raise_interval=0 clusters=2"]),
        (["krl k=2 label=two", "krl k=4"], ["two", "krl k=4"]),
        (["makki k=2", "makki k=3"], ["makki (reconstruction) k=2", "makki (reconstruction) k=3"]),
    ],
)  # fmt: skip
def test_a_variant_is_named_by_what_differs(written, expected):
    """Its algorithm, and of its parameters, in the declared order, those in which the algorithm's variants differ."""
    assert names(*written) == expected


def test_what_the_scenario_sets_for_all_is_in_no_name():
    """It is the same in all variants."""
    assert names("krl k=2", "krl k=3", algorithm="{name: krl, raise_interval: 7}") == ["krl k=2", "krl k=3"]


def test_what_the_links_decide_is_in_a_name_only_if_the_variant_sets_it():
    """A comparison of backends has columns with other links, where another default holds."""
    variants = [parse_variant("krl k=2"), parse_variant("krl raise_interval=5")]
    named = name_variants(variants, loads(tiny()), unset=("raise_interval",))
    assert [variant.name for variant in named.variants] == ["krl k=2", "krl raise_interval=5 k=3"]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (["krl k=3", "krl"], "--variant 'krl': found a second krl raise_interval=0 detect_partitions=false k=3;"
         " allowed: variants that differ"),
        (["rl clusters=2", "rl clusters=2"],
         "--variant 'rl clusters=2': found a second rl raise_interval=0 detect_partitions=false clusters=2;"
         " allowed: variants that differ"),
        (["krl k=2 label=a", "krl k=2 label=b"],
         "--variant 'krl k=2 label=b': found a second krl raise_interval=0 detect_partitions=false k=2;"
         " allowed: variants that differ"),
        (["rl", "krl label=rl"],
         "--variant 'krl label=rl': found the name 'rl' a second time; allowed: each name once"),
    ],
)  # fmt: skip
def test_two_that_are_the_same_are_refused(written, said):
    """What they resolve to counts, not how they are written; names are unique too."""
    with pytest.raises(ScenarioError) as caught:
        names(*written)
    assert str(caught.value) == said


# -- all --------------------------------------------------------------------------------------------------------------


def test_all_is_every_algorithm_that_the_scenario_allows():
    """A note says which was left out, and why; those with k = 3 tokens need more than three nodes."""
    named = name_variants(parse_algorithms("all"), loads(tiny(nodes="3")))
    kept = [variant.algorithm for variant in named.variants]
    assert kept == [name for name in ALGORITHMS if name in kept]
    assert {"rl", "raymond-tree", "ricart-agrawala"} <= set(kept)
    noted = [note.removeprefix("No ").partition(":")[0] for note in named.notes]
    assert noted == [name for name in ALGORITHMS if name not in kept]
    assert named.notes[noted.index("krl")] == (
        "No krl: algorithm: found {'raise_interval': 0.0, 'detect_partitions': False, 'k': 3};"
        " allowed: k less than the number of nodes, 3."
    )


def test_an_algorithm_that_is_named_must_fit():
    """Only `all` leaves algorithms out."""
    with pytest.raises(ScenarioError, match=r"^--algorithms krl: algorithm: found .*less than the number of nodes, 3$"):
        name_variants(parse_algorithms("rl,krl"), loads(tiny(nodes="3")))


# -- the option -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("krl j=5", "j: found unknown key;"
         " allowed: one of name, raise_interval, detect_partitions, k, clusters, label"),
        ("krl raise_int=5", "raise_int: found unknown key;"
         " allowed: one of name, raise_interval, detect_partitions, k, clusters, label"
                            " (did you mean raise_interval?)"),
        ("rl cluster=3", "cluster: found unknown key;"
         " allowed: one of name, raise_interval, detect_partitions, clusters, label"
                         " (did you mean clusters?)"),
        ("krk k=5", f"name: found 'krk'; allowed: one of {', '.join(ALGORITHMS)} (did you mean krl?)"),
        ("", f"name: found ''; allowed: one of {', '.join(ALGORITHMS)}"),
        ("krl k", "found 'k'; allowed: a name, then key=value pairs, as in krl k=5"),
        ("krl =5", "found '=5'; allowed: a name, then key=value pairs, as in krl k=5"),
        ("krl k=1 k=2", "k: found the same key a second time; allowed: each key once"),
        ("krl name=rl", "name: found the same key a second time; allowed: each key once"),
        ("krl k=[1", "k: not YAML: expected ',' or ']', but got '<stream end>'"),
        ("krl k=three", "k: found 'three'; allowed: a whole number"),
        ("krl k=2.5", "k: found 2.5; allowed: a whole number"),
        ("krl k=", "k: found None; allowed: a whole number"),
        ("raymond-tree permuted=1", "permuted: found 1; allowed: true or false"),
        ("krl k=0", "algorithm: found {'detect_partitions': False, 'k': 0, 'name': 'krl', 'raise_interval': 0.0};"
         " allowed: k at least 1"),
        ("krl k=5", "algorithm: found {'raise_interval': 0.0, 'detect_partitions': False, 'k': 5};"
         " allowed: k less than the number of nodes, 5"),
        ("rl clusters=no", "clusters: found 'no'; allowed: a whole number"),
        ("rl label=", "label: found None; allowed: text of one line"),
    ],
)  # fmt: skip
def test_mistakes_in_an_option(written, said, tmp_path, capsys):
    """One line that begins with the option, exit code 2, nothing run."""
    command = ["compare", str(write_tiny(tmp_path)), "--algorithms", "rl", "--variant", written]
    assert main([*command, "--out", str(tmp_path / "runs")]) == 2
    assert capsys.readouterr().err == f"testbed: --variant {written!r}: {said}\n"
    assert not (tmp_path / "runs").exists()


def test_values_are_yaml():
    """Numbers, truth values and words."""
    keys = parse_variant("krlf-adaptive k=2 raise_interval=1e-1 label=x").keys
    assert keys == {"k": 2, "raise_interval": 0.1}
    assert parse_variant("raymond-tree permuted=false").keys == {"permuted": False}


# -- the file ---------------------------------------------------------------------------------------------------------

FILE = """# Tokens
algorithms:
  - rl
  - {name: krl, k: 4}
  - {name: raymond-tree, clusters: 2}
  - name: krlf
    k: 3
    label: "KRLF, three tokens"
"""


def test_a_file(tmp_path):
    """An item is a name, or a mapping of a name, keys and a label."""
    variants = load_variants(write_variants(tmp_path, FILE))
    assert [(one.algorithm, one.keys, one.label) for one in variants] == [
        ("rl", {}, None),
        ("krl", {"k": 4}, None),
        ("raymond-tree", {"clusters": 2}, None),
        ("krlf", {"k": 3}, "KRLF, three tokens"),
    ]
    named = name_variants(variants, loads(tiny()))
    assert [point.name for point in named.points] == ["rl", "krl", "raymond-tree clusters=2", "KRLF, three tokens"]
    assert [point.scenario.clusters for point in named.points] == [None, None, 2, None]


def test_a_list_in_a_document_that_has_other_keys():
    """As a study has it."""
    document = yaml_reader.parse("name: study\nalgorithms: [rl, {name: krl, k: 2}]\n", "study.yaml")
    assert [variant.algorithm for variant in read_variants(document)] == ["rl", "krl"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (FILE, "", ": found nothing in the file; allowed: a mapping with the key algorithms"),
        (FILE, "- rl\n- krl\n", ":1: found ['rl', 'krl']; allowed: a mapping with the key algorithms"),
        (FILE, "algorithms:\n", ":1: algorithms: found nothing; allowed: a list of algorithms"),
        (FILE, "algorithms: rl\n", ":1: algorithms: found 'rl'; allowed: a list of algorithms"),
        (FILE, "{}\n", ": algorithms: found nothing; allowed: a list of algorithms"),
        (FILE, "algorithms: []\n", ":1: algorithms: found []; allowed: a list of algorithms"),
        ("algorithms:", "algorithm:",
         ":2: algorithm: found unknown key; allowed: algorithms (did you mean algorithms?)"),
        ("- rl\n", "- 5\n", ":3: found 5; allowed: a name, or {name: ..., and its keys}"),
        ("- rl\n", "- rk\n", f":3: name: found 'rk'; allowed: one of {', '.join(ALGORITHMS)}"),
        ("name: krl,", "", f":4: name: found nothing; allowed: one of {', '.join(ALGORITHMS)}"),
        ("k: 4", "window: 4",
         ":4: window: found unknown key; allowed: one of name, raise_interval, detect_partitions, k, clusters, label"),
        ("    k: 3", "    k: x", ":7: k: found 'x'; allowed: a whole number"),
        ("    k: 3", "    k: 9", ":6: algorithm: found {'raise_interval': 0.0,"
         " 'detect_partitions': False, 'k': 9, 'forward_to': 'lowest'};"
         " allowed: k less than the number"
                                 " of nodes, 5"),
        ("clusters: 2", "clusters: two", ":5: clusters: found 'two'; allowed: a whole number"),
        ('label: "KRLF, three tokens"', "label: 3", ":8: label: found 3; allowed: text of one line"),
        ('label: "KRLF, three tokens"', 'label: "a\\nb"', ":8: label: found 'a\\nb'; allowed: text of one line"),
        ('label: "KRLF, three tokens"', "label: krl",
         ":6: found the name 'krl' a second time; allowed: each name once"),
        ("- rl\n", "- {name: krl, k: 4}\n",
         ":4: found a second krl raise_interval=0 detect_partitions=false k=4; allowed: variants that differ"),
    ],
)  # fmt: skip
def test_mistakes_in_a_file(old, new, said, tmp_path, capsys):
    """One line with the file and the line, exit code 2, nothing run."""
    assert old in FILE
    path = write_variants(tmp_path, FILE.replace(old, new))
    command = ["compare", str(write_tiny(tmp_path)), "--variants", str(path), "--out", str(tmp_path / "runs")]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert is_one_line(error)
    assert error.startswith(f"testbed: {path}{said}")
    assert not (tmp_path / "runs").exists()


def test_a_key_of_the_scenario_that_a_variant_does_not_fit(tmp_path):
    """The line is that of the variant, and the key that of the scenario."""
    text = tiny("faults: [{at: 10, kind: lose, node: 1, message: LinkInfo}]\n")
    with pytest.raises(ScenarioError) as caught:
        name_variants(load_variants(write_variants(tmp_path, FILE)), loads(text))
    error = caught.value
    assert (error.line, error.key, error.found) == (5, "faults.0.message", "'LinkInfo'")


def test_variants_without_a_source_can_be_made_by_code():
    """As a comparison of backends does for the scenario's own algorithm."""
    assert name_variants([Variant("rl")], loads(tiny())).points[0].scenario == loads(tiny())


# -- algorithms in files -----------------------------------------------------------------------------------------------

OPTIONS = """
from agents.contract import MultipleEntries

Mine.parameters = MultipleEntries
Mine.capacity = classmethod(lambda cls, parameters: 1)
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with an algorithm in a file that has the parameter k."""
    monkeypatch.chdir(tmp_path)
    file_of(tmp_path / "mine.py", OPTIONS)
    return tmp_path


def test_algorithms_may_be_files(study: Path) -> None:
    """An item that ends in .py: one algorithm, called as the file is, or all that the file names."""
    file_of(study / "my_two.py", '\n\nclass Other(Mine):\n    pass\n\n\nALGORITHMS = {"one": Mine, "two": Other}\n')
    named = name_variants(parse_algorithms("rl,./mine.py,my_two.py"), loads(tiny()))
    assert [point.name for point in named.points] == ["rl", "mine", "one", "two"]
    files = [point.scenario.algorithm.file for point in named.points]
    assert files == [None, str(study / "mine.py"), str(study / "my_two.py"), str(study / "my_two.py")]
    assert [point.scenario.algorithm.agent.__name__ for point in named.points[1:]] == ["Mine", "Mine", "Other"]


def test_a_variant_with_a_file(study: Path) -> None:
    """It has the parameters of the file's class, and is named by those that differ."""
    written = ["mine file=./mine.py k=3", "mine file=./mine.py k=2", "krl k=2"]
    named = name_variants(map(parse_variant, written), loads(tiny()))
    assert [point.name for point in named.points] == ["mine k=3", "mine k=2", "krl"]
    assert named.points[1].scenario.model_dump()["algorithm"] == {
        "name": "mine",
        "file": str(study / "mine.py"),
        "k": 2,
    }


def test_a_file_of_variants_names_files_beside_it(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative paths start from its folder."""
    (study / "variants.yaml").write_text("algorithms:\n  - rl\n  - {name: mine, file: mine.py, k: 2}\n")
    (study / "elsewhere").mkdir()
    monkeypatch.chdir(study / "elsewhere")
    variants = load_variants(study / "variants.yaml")
    assert variants[1].applied_to(loads(tiny())).algorithm.file == str(study / "mine.py")


def test_the_scenarios_own_algorithm_may_be_in_a_file(study: Path) -> None:
    """Then it can be named, also with parameters of its own, and what others know of its parameters they keep."""
    scenario = loads(tiny(algorithm="{name: mine, file: mine.py, k: 2}"))
    own = scenario.algorithm
    (study / "variants.yaml").write_text("algorithms: [mine]\n")
    variants = [*parse_algorithms("mine,krl", own), parse_variant("mine k=4", own)]
    named = name_variants(variants, scenario)
    assert [(point.name, point.scenario.algorithm.parameters.k) for point in named.points] == [  # type: ignore[attr-defined]
        ("mine k=2", 2),
        ("krl", 2),
        ("mine k=4", 4),
    ]
    assert load_variants(study / "variants.yaml", own)[0].applied_to(scenario) == scenario
    assert parse_algorithms("all", own)[0].applied_to(scenario) == scenario
    with pytest.raises(InputError, match="--algorithms: found 'mine'; allowed: "):
        parse_algorithms("mine,krl", loads(tiny()).algorithm)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("mine file=nowhere.py", "file: nowhere.py: cannot be read: No such file or directory"),
        ("mine file=broken.py", "file: broken.py:2: invalid syntax"),
        ("mine file=3", "file: found 3; allowed: text"),
        ("mine file=mine.py h=3", "h: found unknown key; allowed: one of name, file, k, clusters, label"),
        ("mine", "name: found 'mine'; allowed: one of rl, "),
    ],
)
def test_variants_with_files_that_are_refused(written: str, message: str, study: Path) -> None:
    """One line that names the option and the file."""
    (study / "broken.py").write_text("x = 1\ndef f(:\n")
    with pytest.raises(ScenarioError) as caught:
        parse_variant(written)
    assert str(caught.value).startswith(f"--variant {written!r}: {message}")


def test_a_comparison_with_files(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the command line: algorithms of files beside registered ones, and two files of one name refused."""
    (study / "tiny.yaml").write_text(tiny(algorithm="{name: own, file: mine.py}"))
    arguments = ["compare", "tiny.yaml", "--algorithms", "own,rl,mine.py", "--variant", "other file=mine.py k=2"]
    assert main([*arguments, "--out", "runs"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[1] for line in out.splitlines() if line.startswith("| ")][2:] == ["own", "rl", "mine", "other"]
    file_of(study / "second" / "mine.py")
    assert main(["compare", "tiny.yaml", "--algorithms", "mine.py,second/mine.py", "--out", "runs"]) == 2
    assert "found the name 'mine' a second time; allowed: each name once" in capsys.readouterr().err


def test_backends_with_a_file(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The scenario's own algorithm in every column."""
    text = tiny("area: [50, 50]\n", algorithm="{name: own, file: mine.py}", topology="geometric", duration="20")
    (study / "tiny.yaml").write_text(text)
    assert main(["compare", "tiny.yaml", "--backends", "sim", "--out", "runs"]) in (0, 1)
    out = capsys.readouterr().out
    assert "sim ideal" in out
    assert "sim radio" in out
