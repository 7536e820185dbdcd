"""Settings: read at the start, in layers, changed while the broker runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import ottla
from ottla.settings.settings import CLUSTER, ConfigError, ConfigSource, Settings, parse_properties
from ottla.settings.table import SETTINGS, all_settings, find_setting


def test_file_and_command_line_are_read_the_latter_winning() -> None:
    """Values come out parsed; what nobody gave is at its default."""
    settings = Settings.read("num.partitions=3\nlog.retention.hours = 1\n", ["num.partitions=5"])
    assert settings["num.partitions"] == 5
    assert settings["log.retention.hours"] == 1
    assert settings["auto.create.topics.enable"] is True


def test_properties_file_is_read_as_java_reads_it() -> None:
    """Three ways to separate, two to comment, and lines that go on."""
    text = "# note\n! note\n\na=1\n b : 2\nc 3\nd=x,\\\n   y\ne\nf==g\n"
    assert dict(parse_properties(text)) == {"a": "1", "b": "2", "c": "3", "d": "x,y", "e": "", "f": "g"}


@pytest.mark.parametrize("word", ["num.partitions", "=3", " =3"])
def test_set_without_name_or_value_says_how_to_write_it(word: str) -> None:
    with pytest.raises(ConfigError, match=r"--set num\.partitions=3"):
        Settings.read("", [word])


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("num.partitions=0", "num.partitions=0 is not a whole number, at least 1"),
        ("num.partitions=many", "num.partitions=many is not a whole number, at least 1"),
        ("compression.type=rar", "compression.type=rar is not one of uncompressed, zstd"),
        ("num.io.threads=none", "num.io.threads=none is not a whole number, at least 1"),
    ],
)
def test_bad_value_names_setting_value_and_what_would_do(word: str, text: str) -> None:
    """Also for a setting that nothing goes by."""
    with pytest.raises(ConfigError) as refused:
        Settings.read("", [word])
    assert str(refused.value).startswith(text)


def test_unknown_names_are_kept_apart_from_kafkas_without_effect() -> None:
    """A server.properties for Kafka works: what nothing goes by is known, what nobody knows is told of."""
    settings = Settings.read("num.io.threads=4\nmy.plugin.level=9\nnum.partitions=2\n")
    assert settings.unknown == {"my.plugin.level": "9"}
    assert settings.without_effect == ["num.io.threads"]
    assert settings["num.io.threads"] == 4


def test_asking_for_a_setting_that_is_none_is_an_error_of_ours() -> None:
    with pytest.raises(KeyError):
        Settings()["no.such.setting"]


@pytest.mark.parametrize(
    ("given", "node_id"),
    [({}, 1), ({"node.id": "7"}, 7), ({"broker.id": "4"}, 4), ({"broker.id": "4", "node.id": "0"}, 0)],
)
def test_first_node_id_is_node_id_or_broker_id_or_1(given: dict[str, str], node_id: int) -> None:
    assert Settings(given).first_node_id == node_id


def test_nodes_own_layer_comes_before_the_clusters_before_the_given_one() -> None:
    """A change counts at once, and when it is taken back what is below shows again."""
    settings = Settings({"message.max.bytes": "1000"})
    node = settings.of_node(1)
    settings.change(CLUSTER, {"message.max.bytes": "2000", "min.insync.replicas": "1"})
    assert (settings["message.max.bytes"], node["message.max.bytes"]) == (2000, 2000)
    settings.change("1", {"message.max.bytes": "3000"})
    assert (settings["message.max.bytes"], node["message.max.bytes"]) == (2000, 3000)
    assert settings.of_node(2)["message.max.bytes"] == 2000
    settings.change("1", {})
    settings.change(CLUSTER, {"min.insync.replicas": "1"})
    assert (settings["message.max.bytes"], node["message.max.bytes"]) == (1000, 1000)


def test_layers_tell_where_a_value_comes_from() -> None:
    """Text as it was written, unknown names included; a default is text too."""
    settings = Settings({"message.max.bytes": " 1000 ", "my.plugin": "x"})
    settings.change("1", {"message.max.bytes": "3000"})
    layers = dict(settings.layers(1, {"listeners": "PLAINTEXT://here:1"}))
    assert layers[ConfigSource.DYNAMIC_BROKER]("message.max.bytes") == "3000"
    assert layers[ConfigSource.DYNAMIC_DEFAULT_BROKER]("message.max.bytes") is None
    assert layers[ConfigSource.STATIC_BROKER]("message.max.bytes") == " 1000 "
    assert layers[ConfigSource.STATIC_BROKER]("my.plugin") == "x"
    assert layers[ConfigSource.STATIC_BROKER]("listeners") == "PLAINTEXT://here:1"
    assert layers[ConfigSource.DEFAULT]("message.max.bytes") == "1048588"
    assert layers[ConfigSource.DEFAULT]("log.retention.ms") is None


def test_min_insync_replicas_stands_in_the_clusters_layer_from_the_start() -> None:
    """As Kafka's controller copies it there, from what was given or the default."""
    assert Settings().layer(CLUSTER) == {"min.insync.replicas": "1"}
    assert Settings({"min.insync.replicas": "2"}).layer(CLUSTER) == {"min.insync.replicas": "2"}


def test_names_that_nobody_knows_are_kept_in_a_changed_layer() -> None:
    settings = Settings()
    settings.change(CLUSTER, {"message.max.bytes": "5", "my.plugin": "kept"})
    assert settings["message.max.bytes"] == 5
    assert settings.layer(CLUSTER)["my.plugin"] == "kept"


def test_every_setting_of_kafka_is_known() -> None:
    """Kafka lists 350 and has 32 more that it shows only when they are given; ours are called ottla.…"""
    kafkas = [setting for name, setting in all_settings().items() if not name.startswith("ottla.")]
    assert len([setting for setting in kafkas if not setting.is_internal]) == 350
    assert len([setting for setting in kafkas if setting.is_internal]) == 32


def test_the_two_tables_have_no_name_in_common() -> None:
    from ottla.settings.stored import STORED_SETTINGS

    assert not SETTINGS.keys() & STORED_SETTINGS.keys()


@pytest.mark.parametrize("name", SETTINGS)
def test_setting_that_counts_says_what_it_does(name: str) -> None:
    """One sentence, and a default that fits the setting's own range."""
    setting = SETTINGS[name]
    assert setting.meaning.endswith(".")
    assert "nothing goes by" not in setting.meaning
    if setting.default is not None and setting.at_least is not None:
        assert setting.default >= setting.at_least


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("log.retention.ms", "ms"),
        ("log.retention.minutes", "minutes"),
        ("ottla.log.bytes.max", "bytes"),
        ("message.max.bytes", "bytes"),
        ("num.partitions", ""),
    ],
)
def test_unit_is_read_off_the_name(name: str, unit: str) -> None:
    setting = find_setting(name)
    assert setting is not None
    assert setting.unit == unit


def test_settings_that_are_said_to_count_are_read_somewhere() -> None:
    """One that nothing goes by is a stored one. Those of internal topics are put together from two halves."""
    package = Path(ottla.__file__).parent
    sources = "".join(path.read_text() for path in package.rglob("*.py") if not path.name.startswith("settings_"))
    halves = ("offsets.topic.", "transaction.state.log.")
    assert [name for name in SETTINGS if name not in sources and not name.startswith(halves)] == []
