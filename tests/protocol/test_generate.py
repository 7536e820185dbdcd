"""The committed modules are what the generator makes of Kafka's schemas, to the letter."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

from ottla.protocol.generate import __main__ as command
from ottla.protocol.generate.modules import KAFKA_VERSION, Module, generate, module_text
from ottla.protocol.generate.schema import parse_schema, snake_case
from tests.protocol.peers import kafka_python
from tests.support.kafka_process import BROKER_JARS

ROOT: Final = Path(__file__).parents[2]
JARS: Final = tuple(
    f"kafka-{name}-{KAFKA_VERSION}.jar" for name in ("clients", "group-coordinator", "transaction-coordinator")
)


def committed() -> dict[str, str]:
    """File name -> text of every module under `messages/`."""
    return {path.name: path.read_text(encoding="utf-8") for path in command.MESSAGES.glob("*.py")}


@pytest.fixture(scope="module")
def jars() -> list[Path]:
    """Kafka's jars with the schemas, from where an earlier run has put them, or from Maven."""
    for folder in (ROOT / ".cache" / "schemas", BROKER_JARS.directory):
        if all((folder / jar).exists() for jar in JARS):
            return [folder / jar for jar in JARS]
    if shutil.which("mvn") is None:
        pytest.skip("the schemas are in Kafka's jars, and there is no `mvn` on the PATH to fetch them")
    fetched = [f".cache/schemas/{jar}" for jar in JARS]
    done = subprocess.run(["make", *fetched], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"Maven could not fetch Kafka's jars: {(done.stdout + done.stderr).strip()[-500:]}")
    return [ROOT / jar for jar in fetched]


def test_all_modules_come_from_kafkas_jars(jars: list[Path], tmp_path: Path) -> None:
    """`make generate` into another folder gives the same files with the same text, and removes what is out of date."""
    (tmp_path / "left_over.py").touch()
    assert command.main([*(argument for jar in jars for argument in ("--jar", str(jar))), "--out", str(tmp_path)]) == 0
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == committed()


#: Messages that changed after the release whose schemas the wheel has; only the jars can tell of these.
CHANGED_SINCE: Final = {"ApiVersions": 4, "DeleteGroups": 2, "TxnOffsetCommit": 5}


def test_the_modules_of_the_apis_kafka_python_knows_come_from_its_schemas() -> None:
    """Its wheel carries the same schemas for 49 APIs, the headers and the consumer protocol: no Java, no network."""
    made = generate(kafka_python.schema_texts())
    table = made.pop("__init__.py")
    assert len(made) - len(CHANGED_SINCE) >= 49 + 4
    there = committed()
    different = {name for name, text in made.items() if text != there[name]}
    assert different == {f"{snake_case(name)}.py" for name in CHANGED_SINCE}
    rows = {line for line in table.splitlines() if line.startswith("    (")}
    older = rows - set(there["__init__.py"].splitlines())
    assert {row.split('"')[1]: int(row.split(", ")[4]) for row in older} == CHANGED_SINCE


ZOO: Final = """
// What no message of a client has, but records of the group log have: structs in tags that may be null, and the like.
{
  "type": "data", "name": "Zoo", "validVersions": "0-2", "flexibleVersions": "1+",
  "fields": [
    { "name": "Name", "type": "string", "versions": "0+", "flexibleVersions": "2+" },
    { "name": "Keeper", "type": "Keeper", "versions": "1+", "taggedVersions": "1+", "tag": 1,
      "nullableVersions": "1+", "fields": [ { "name": "BadgeID", "type": "uint32", "versions": "1+" } ] },
    { "name": "Deputy", "type": "Person", "versions": "1+", "nullableVersions": "1+", "default": "null" },
    { "name": "Cages", "type": "[]int16", "versions": "1+", "taggedVersions": "1+", "tag": 0,
      "nullableVersions": "1+" },
    { "name": "IsOpen", "type": "bool", "versions": "1+", "taggedVersions": "2+", "tag": 2, "default": "true" },
    { "name": "Tigers", "type": "int8", "versions": "3+" }
  ],
  "commonStructs": [
    { "name": "Person", "versions": "1+", "fields": [ { "name": "Age", "type": "int8", "versions": "1+" } ] }
  ]
}
"""


@pytest.fixture(scope="module")
def zoo() -> Any:
    """The class generated from `ZOO`."""
    namespace: dict[str, Any] = {"__name__": "zoo"}
    exec(module_text(Module("zoo", [parse_schema(ZOO)])), namespace)
    return namespace["Zoo"]


@pytest.mark.parametrize(
    ("values", "version", "encoded"),
    [
        ({"name": "a"}, 0, "0001 61"),
        ({"name": "a"}, 1, "0001 61 ff 01 00"),
        ({"name": "a"}, 2, "02 61 ff 00"),
        ({"is_open": False}, 2, "01 ff 01 02 01 00"),
        ({"keeper": None}, 2, "01 ff 01 01 01 00"),
        ({"cages": None}, 2, "01 ff 01 00 01 00"),
        ({"cages": [1, -1]}, 2, "01 ff 01 00 05 03 0001 ffff"),
    ],
    ids=["classic", "a field not compact yet", "all defaults", "bool", "null struct in a tag", "null array", "array"],
)
def test_shapes_no_message_has_yet_are_written_as_kafka_writes_them(
    zoo: Any, values: dict[str, Any], version: int, encoded: str
) -> None:
    """Defaults are left out of the tag section; null in a tag is a zero; a field may turn compact later than others."""
    assert zoo(**values).encode(version) == bytes.fromhex(encoded)
    assert zoo.decode(bytes.fromhex(encoded), version) == zoo(**values)


def test_structs_in_tags_and_in_place_are_marked_present(zoo: Any) -> None:
    """In its place a struct that may be null is preceded by a byte, in a tag by a varint; both are 1."""
    keeper = zoo(keeper=zoo.Keeper(badge_id=2**32 - 1), deputy=zoo.Person(7))
    assert keeper.encode(2) == bytes.fromhex("01 01 07 00 01 01 06 01 ffffffff 00")
    assert zoo.decode(keeper.encode(2), 2) == keeper


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ThrottleTimeMs", "throttle_time_ms"),
        ("IsrNodes", "isr_nodes"),
        ("BadgeID", "badge_id"),
        ("V3OrLess", "v3_or_less"),
    ],
)
def test_names_are_kafkas_in_snake_case(name: str, expected: str) -> None:
    """A reader finds our word in Kafka's source, and the other way round."""
    assert snake_case(name) == expected
