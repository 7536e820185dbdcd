"""`--command-config`: one file of Kafka's client settings, understood alike by Spark's connector and by librdkafka."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from ottla.pipeline.address import ClusterAddress, properties, read_security
from ottla.pipeline.cli import main
from ottla.pipeline.refusals import CannotUse
from ottla.terminal.exit_codes import EXIT_MACHINE
from tests.support.ottla_process import ottla

SCRAM = r"""
# as kafka-topics.sh --command-config takes it
bootstrap.servers = elsewhere:9092
security.protocol=SASL_SSL
sasl.mechanism: SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \
    username="ana" password="se\\"cret=;";
ssl.truststore.type=PEM
ssl.truststore.location=/etc/ssl/ca.pem
ssl.endpoint.identification.algorithm=
ssl.enabled.protocols TLSv1.3
"""


def address(tmp_path: Path, text: str) -> ClusterAddress:
    file = tmp_path / "client.properties"
    file.write_text(text)
    return ClusterAddress("kafka.example:9093", read_security(file, "--command-config"))


def test_a_password_and_certificates_for_both(tmp_path: Path) -> None:
    """The connector gets all of security as it stands there; librdkafka, which has no JAAS, gets what is in it."""
    found = address(tmp_path, SCRAM)
    assert found.for_connector() == {
        "kafka.bootstrap.servers": "kafka.example:9093",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        r'username="ana" password="se\"cret=;";',
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": "/etc/ssl/ca.pem",
        "kafka.ssl.endpoint.identification.algorithm": "",
        "kafka.ssl.enabled.protocols": "TLSv1.3",
    }
    assert found.for_librdkafka() == {
        "bootstrap.servers": "kafka.example:9093",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "ana",
        "sasl.password": 'se"cret=;',
        "ssl.ca.location": "/etc/ssl/ca.pem",
        "ssl.endpoint.identification.algorithm": "none",
    }


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("", {}),
        ("security.protocol=PLAINTEXT", {"security.protocol": "PLAINTEXT"}),
        (
            "ssl.keystore.type=PEM\nssl.keystore.location=/me.pem\nssl.key.password=p\nsecurity.protocol=SSL",
            {
                "security.protocol": "SSL",
                "ssl.certificate.location": "/me.pem",
                "ssl.key.location": "/me.pem",
                "ssl.key.password": "p",
            },
        ),
        (
            "ssl.keystore.type=PKCS12\nssl.keystore.location=/me.p12\nssl.keystore.password=p\nsecurity.protocol=SSL",
            {"security.protocol": "SSL", "ssl.keystore.location": "/me.p12", "ssl.keystore.password": "p"},
        ),
        (
            "security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.certificates=-----BEGIN\\nX",
            {"security.protocol": "SSL", "ssl.ca.pem": "-----BEGIN\nX"},
        ),
        (
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=P r username=a password=b;",
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.username": "a",
                "sasl.password": "b",
            },
        ),
    ],
)
def test_what_librdkafka_is_given(tmp_path: Path, text: str, settings: dict[str, str]) -> None:
    assert address(tmp_path, text).for_librdkafka() == {"bootstrap.servers": "kafka.example:9093", **settings}


def test_librdkafka_knows_all_of_it(tmp_path: Path) -> None:
    """A client can be made of it; an unknown setting would be refused at once."""
    config: dict[str, Any] = {**address(tmp_path, SCRAM).for_librdkafka()}
    del config["ssl.ca.location"]  # it is read at once
    AdminClient(config)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("security.protocol=SASL_SSL", "sasl.mechanism=GSSAPI is not one the jobs know"),
        ("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN", "sasl.jaas.config says no username"),
        ("security.protocol=SSL\nssl.truststore.location=/ca.jks", "ssl.truststore.location must be a PEM file"),
        ("security.protocol=SSL\nssl.keystore.location=/me.jks", "ssl.keystore.location must be PEM or PKCS12"),
    ],
)
def test_what_not_both_can_have(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(CannotUse, match=f"--command-config .*client.properties: {reason}"):
        address(tmp_path, text)


def test_properties_are_java_s() -> None:
    text = "! note\n\n  a b\nc\\ d = e\\tf  \ng:\\u00e9\nh=1\\\n   ,2\\\\\ni\nj = a=b"
    assert list(properties(text)) == [
        ("a", "b"), ("c d", "e\tf  "), ("g", "é"), ("h", "1,2\\"), ("i", ""), ("j", "a=b"),
    ]  # fmt: skip


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """For each cluster of a job there is one."""
    file = tmp_path / "absent"
    words = ["mirror", "--target", "127.0.0.1:1", "--source-command-config", str(file)]
    assert main(words) == EXIT_MACHINE
    assert capsys.readouterr().err.startswith(f"ottla: --source-command-config {file} can't be read: No such file")


def test_a_cluster_that_does_not_speak_tls(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Said as what it is, and not that nobody answers."""
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=SSL\n")
    with ottla() as broker:
        words = ["lag", "--bootstrap-server", broker.bootstrap, "--timeout", "3", "--command-config", str(file)]
        assert main(words) == EXIT_MACHINE
    assert f"ottla: {broker.bootstrap} doesn't let us in: " in capsys.readouterr().err
