"""Listeners as options and settings name them: what they mean, and what is said of what can't be."""

from __future__ import annotations

import pytest

from ottla.broker.network import endpoints
from ottla.broker.network.endpoints import check_ports, read_endpoints
from ottla.settings.settings import ConfigError, Settings

MAP = "listener.security.protocol.map"
TWO_MAPPED = f"{MAP}=INTERNAL:PLAINTEXT,HOST:PLAINTEXT"
#: What Kafka's own config/server.properties has.
STOCK = (
    "process.roles=broker,controller\n"
    "listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093\n"
    "advertised.listeners=PLAINTEXT://here:9092,CONTROLLER://here:9093\n"
    "controller.listener.names=CONTROLLER\n"
    "inter.broker.listener.name=PLAINTEXT\n"
    "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"
)


def read(settings: str = "", *options: str) -> dict[str, tuple[str, str | None]]:
    """By name: where it listens, and what its clients are told. `settings` are lines, options `listen=…` and so on."""
    listen = [option.removeprefix("listen=") for option in options if option.startswith("listen=")]
    advertise = [option.removeprefix("advertise=") for option in options if option.startswith("advertise=")]
    assert len(listen) + len(advertise) == len(options)
    found = read_endpoints(Settings.read(settings), listen, advertise)
    return {one.name: (str(one.listen), str(one.advertise) if one.advertise else None) for one in found}


def test_without_a_word_there_is_one_listener_on_this_machine() -> None:
    assert read() == {"PLAINTEXT": ("127.0.0.1:9092", "127.0.0.1:9092")}


OPTIONS = {
    "no_name": (["listen=127.0.0.1:1"], {"PLAINTEXT": ("127.0.0.1:1", "127.0.0.1:1")}),
    "advertised": (["listen=0.0.0.0:1", "advertise=here:2"], {"PLAINTEXT": ("0.0.0.0:1", "here:2")}),
    "ipv6": (["listen=V6://[::1]:1"], {"V6": ("[::1]:1", "[::1]:1")}),
    "lower_case": (["listen=host://127.0.0.1:1"], {"HOST": ("127.0.0.1:1", "127.0.0.1:1")}),
    "protocol": (["listen=HOST:PLAINTEXT://127.0.0.1:1"], {"HOST": ("127.0.0.1:1", "127.0.0.1:1")}),
    "two": (
        ["listen=INTERNAL://0.0.0.0:9092", "listen=HOST://127.0.0.1:29092", "advertise=INTERNAL://broker:9092"],
        {"INTERNAL": ("0.0.0.0:9092", "broker:9092"), "HOST": ("127.0.0.1:29092", "127.0.0.1:29092")},
    ),
    "one_of_two_without_a_name": (
        ["listen=0.0.0.0:1", "listen=HOST://127.0.0.1:2", "advertise=here:1", "advertise=host://there:2"],
        {"PLAINTEXT": ("0.0.0.0:1", "here:1"), "HOST": ("127.0.0.1:2", "there:2")},
    ),
    "the_only_one_needs_no_name_to_be_advertised": (
        ["listen=HOST://0.0.0.0:1", "advertise=here:1"],
        {"HOST": ("0.0.0.0:1", "here:1")},
    ),
    "free_ports": (
        ["listen=A://127.0.0.1:0", "listen=B://127.0.0.1:0"],
        {"A": ("127.0.0.1:0", "127.0.0.1:0"), "B": ("127.0.0.1:0", "127.0.0.1:0")},
    ),
}


@pytest.mark.parametrize(("options", "found"), OPTIONS.values(), ids=OPTIONS)
def test_options(options: list[str], found: dict[str, tuple[str, str | None]]) -> None:
    """In the order in which they are given; names are in upper case, as in Kafka."""
    assert list(read("", *options).items()) == list(found.items())


SETTINGS = {
    "listeners": ("listeners=PLAINTEXT://127.0.0.1:1", {"PLAINTEXT": ("127.0.0.1:1", "127.0.0.1:1")}),
    "advertised_alone": ("advertised.listeners=PLAINTEXT://here:1", {"PLAINTEXT": ("127.0.0.1:9092", "here:1")}),
    "of_a_real_kafka": (STOCK, {"PLAINTEXT": ("localhost:9092", "here:9092")}),
    "two": (
        f"listeners=INTERNAL://0.0.0.0:1,HOST://127.0.0.1:2\n{TWO_MAPPED}\n"
        "advertised.listeners=HOST://127.0.0.1:2,INTERNAL://broker:1\ninter.broker.listener.name=INTERNAL",
        {"INTERNAL": ("0.0.0.0:1", "broker:1"), "HOST": ("127.0.0.1:2", "127.0.0.1:2")},
    ),
    "one_that_is_not_advertised": (
        f"listeners=INTERNAL://0.0.0.0:1,HOST://127.0.0.1:2\n{TWO_MAPPED}\nadvertised.listeners=HOST://there:2",
        {"INTERNAL": ("0.0.0.0:1", None), "HOST": ("127.0.0.1:2", "there:2")},
    ),
    "two_advertised_on_one_port": (
        f"listeners=INTERNAL://0.0.0.0:1,HOST://127.0.0.1:2\n{TWO_MAPPED}\n"
        "advertised.listeners=INTERNAL://balancer:9,HOST://balancer:9",
        {"INTERNAL": ("0.0.0.0:1", "balancer:9"), "HOST": ("127.0.0.1:2", "balancer:9")},
    ),
    "ipv4_and_ipv6_on_one_port": (
        f"listeners=INTERNAL://127.0.0.1:1,HOST://[::1]:1\n{TWO_MAPPED}",
        {"INTERNAL": ("127.0.0.1:1", "127.0.0.1:1"), "HOST": ("[::1]:1", "[::1]:1")},
    ),
}


@pytest.mark.parametrize(("settings", "found"), SETTINGS.values(), ids=SETTINGS)
def test_settings(settings: str, found: dict[str, tuple[str, str | None]]) -> None:
    """As Kafka takes them. A controller's listeners are none of ours."""
    assert list(read(settings).items()) == list(found.items())


def test_host_that_is_left_out_is_every_interface_and_advertised_by_the_machines_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in Kafka, in both settings."""
    monkeypatch.setattr(endpoints, "_own_name", lambda: "this.machine")
    assert read("listeners=PLAINTEXT://:1") == {"PLAINTEXT": (":1", "this.machine:1")}
    assert read("advertised.listeners=PLAINTEXT://:1") == {"PLAINTEXT": ("127.0.0.1:9092", "this.machine:1")}


def test_listen_wins_over_both_settings_and_advertise_over_its_listener() -> None:
    """What the file advertises belongs to the listeners of the file."""
    assert read(STOCK, "listen=127.0.0.1:1") == {"PLAINTEXT": ("127.0.0.1:1", "127.0.0.1:1")}
    assert read(STOCK, "advertise=there:3") == {"PLAINTEXT": ("localhost:9092", "there:3")}
    two = f"listeners=INTERNAL://127.0.0.1:1,HOST://127.0.0.1:2\n{TWO_MAPPED}"
    assert read(two, "advertise=HOST://there:3") == {
        "INTERNAL": ("127.0.0.1:1", "127.0.0.1:1"),
        "HOST": ("127.0.0.1:2", "there:3"),
    }


def test_names_that_options_bring_are_added_to_the_map() -> None:
    """Who looks at the settings finds the protocol of every listener."""
    settings = Settings()
    read_endpoints(settings, ["HOST://127.0.0.1:1", "PLAINTEXT://127.0.0.1:2"])
    assert settings[MAP].startswith("HOST:PLAINTEXT,SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,")
    settings = Settings({MAP: "INSIDE:PLAINTEXT"})
    read_endpoints(settings, ["INSIDE://127.0.0.1:1"])
    assert settings[MAP] == "INSIDE:PLAINTEXT"


WRONG = {
    "no_port": ("", ["listen=HOST://127.0.0.1"], "--listen 127.0.0.1 is not HOST:PORT"),
    "name": ("", ["listen=my host://127.0.0.1:1"], "--listen my host://127.0.0.1:1 is not HOST:PORT"),
    "two_of_a_name": ("", ["listen=127.0.0.1:1", "listen=127.0.0.1:2"], "two listeners are called PLAINTEXT"),
    "ssl": ("", ["listen=SSL://127.0.0.1:1"], "SSL is not served, only PLAINTEXT; write --listen SSL:PLAINTEXT://"),
    "sasl": ("", ["listen=HOST:SASL_PLAINTEXT://127.0.0.1:1"], "SASL_PLAINTEXT is not served, only PLAINTEXT"),
    "protocol": ("", ["listen=HOST:TLS://127.0.0.1:1"], "there is no protocol TLS; write --listen HOST:PLAINTEXT://"),
    "mapped_to_ssl": (f"{MAP}=HOST:SSL", ["listen=HOST://127.0.0.1:1"], "SSL is not served"),
    "everywhere": ("", ["listen=HOST://0.0.0.0:1"], "add for example --advertise HOST://localhost:1"),
    "everywhere_in_ipv6": ("", ["listen=[::]:1"], "add for example --advertise localhost:1"),
    "advertise_everywhere": ("", ["advertise=[::]:1"], "--advertise [::]:1 is no address to come back to"),
    "advertise_stranger": ("", ["advertise=HOST://here:1"], "there is no listener HOST; the listeners are PLAINTEXT"),
    "advertise_nobody": (
        "",
        ["listen=A://127.0.0.1:1", "listen=B://127.0.0.1:2", "advertise=here:1"],
        "there is no listener PLAINTEXT; the listeners are A, B",
    ),
    "advertise_protocol": ("", ["advertise=HOST:SSL://here:1"], "names a protocol; write --advertise HOST://here:1"),
    "advertise_twice": ("", ["advertise=here:1", "advertise=PLAINTEXT://there:1"], "is said twice"),
    "uri": ("listeners=127.0.0.1:1", [], "listeners: 127.0.0.1:1 is not NAME://HOST:PORT"),
    "uri_port": ("listeners=PLAINTEXT://127.0.0.1:70000", [], "write for example listeners=PLAINTEXT://127.0.0.1:9092"),
    "setting_without_a_protocol": ("listeners=HOST://127.0.0.1:1", [], f"add HOST:PLAINTEXT to {MAP}"),
    "setting_with_ssl": ("listeners=SSL://127.0.0.1:1", [], f"write SSL:PLAINTEXT in {MAP}"),
    "setting_two_of_a_name": (
        "listeners=PLAINTEXT://127.0.0.1:1,PLAINTEXT://127.0.0.1:2",
        [],
        "listeners: two listeners are called PLAINTEXT; name each, for example listeners=HOST://",
    ),
    "setting_everywhere": ("listeners=PLAINTEXT://0.0.0.0:1", [], "listeners 0.0.0.0:1 accepts on every interface"),
    "only_controllers": (
        "listeners=CONTROLLER://127.0.0.1:1\ncontroller.listener.names=CONTROLLER",
        [],
        "leaves nowhere to listen",
    ),
    "map": (f"listeners=PLAINTEXT://127.0.0.1:1\n{MAP}=PLAINTEXT", [], "'PLAINTEXT' is not NAME:PROTOCOL"),
    "map_protocol": (f"listeners=HOST://127.0.0.1:1\n{MAP}=HOST:TLS", [], "there is no protocol TLS; write HOST:PLAIN"),
    "setting_advertise_everywhere": (
        "advertised.listeners=PLAINTEXT://0.0.0.0:1",
        [],
        "advertised.listeners 0.0.0.0:1 is no address to come back to",
    ),
    "setting_advertise_stranger": (
        "advertised.listeners=HOST://here:1",
        [],
        "advertised.listeners HOST://here:1: there is no listener HOST",
    ),
    "setting_advertise_twice": (
        "advertised.listeners=PLAINTEXT://here:1,PLAINTEXT://there:1",
        [],
        "advertised.listeners has PLAINTEXT twice",
    ),
    "setting_advertise_nobody": ("advertised.listeners=", [], "advertised.listeners has no listener for clients"),
    "inter_broker": ("inter.broker.listener.name=INSIDE", [], "inter.broker.listener.name=INSIDE is no listener"),
}


@pytest.mark.parametrize(("settings", "options", "said"), WRONG.values(), ids=WRONG)
def test_what_can_not_be_names_the_setting_and_what_to_do(settings: str, options: list[str], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read(settings, *options)
    assert said in str(refused.value)


def check(node_count: int, *listen: str) -> None:
    check_ports(read_endpoints(Settings(), listen), node_count)


@pytest.mark.parametrize(
    ("node_count", "listen", "said"),
    [
        (0, ["127.0.0.1:1"], "--nodes 0 is not from 1 to 100"),
        (101, ["127.0.0.1:1"], "--nodes 101 is not from 1 to 100"),
        (3, ["127.0.0.1:65534"], "choose a port up to 65533"),
        (1, ["A://127.0.0.1:9", "B://127.0.0.1:9"], "--listen B://127.0.0.1:9: A has that port already"),
        (1, ["A://127.0.0.1:9", "B://10.0.0.1:9"], "A has that port already"),
        (1, ["A://localhost:9", "B://[::1]:9"], "A has that port already"),
        (3, ["A://127.0.0.1:9", "B://127.0.0.1:11"], "with --nodes 3 the ports of two listeners must be 3 apart"),
        (3, ["A://127.0.0.1:11", "B://127.0.0.1:9"], "B://127.0.0.1:9 is too near to A://127.0.0.1:11"),
    ],
)
def test_nodes_need_ports_of_their_own(node_count: int, listen: list[str], said: str) -> None:
    """As Kafka does, a port that two listeners share is refused even where the hosts differ."""
    with pytest.raises(ConfigError) as refused:
        check(node_count, *listen)
    assert said in str(refused.value)


def test_ports_that_do_not_meet() -> None:
    """Nodes fit between; free ports never meet; IPv4 and IPv6 are apart anyway."""
    check(3, "A://127.0.0.1:9", "B://127.0.0.1:12")
    check(3, "A://127.0.0.1:0", "B://127.0.0.1:0")
    check(3, "A://127.0.0.1:9", "B://[::1]:9")
