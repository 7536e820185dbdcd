"""The table of APIs: complete, and cheap to have."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ottla.protocol.generate.modules import NAMES_ONLY
from ottla.protocol.registry import all_apis, api


def imported_by(statement: str) -> set[str]:
    """The project's modules that a fresh interpreter has loaded after the statement."""
    script = f"import sys; {statement}; print(*(name for name in sys.modules if name.startswith('ottla')))"
    return set(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    )


def test_the_registry_imports_no_messages() -> None:
    """All codecs together cost a quarter of a second; the table costs nothing."""
    assert imported_by("import ottla.protocol.registry") == {
        "ottla",
        "ottla.pacing",
        "ottla.pacing.bounds",
        "ottla.pacing.turns",
        "ottla.pacing.charges",
        "ottla.pacing.pace",
        "ottla.protocol",
        "ottla.protocol.messages",
        "ottla.protocol.primitives",
        "ottla.protocol.registry",
    }


def test_an_api_imports_its_own_messages_when_they_are_asked_for() -> None:
    """Heartbeats come without CreateTopics."""
    asked = imported_by("from ottla.protocol.registry import api; api(12).request")
    assert asked - imported_by("import ottla.protocol.registry") == {"ottla.protocol.messages.heartbeat"}


def test_the_generator_is_not_loaded_with_the_codec() -> None:
    """Nor anything else that only a maintainer needs."""
    assert not {name for name in imported_by("import ottla.protocol.messages.fetch") if "generate" in name}


def test_every_api_is_found_by_its_key() -> None:
    """79 of them, with the versions of their messages if they have any; of the last ones some are not stable yet."""
    assert len(all_apis()) == 79
    assert {known.name for known in all_apis() if known.module is None} == set(NAMES_ONLY)
    for known in all_apis():
        assert api(known.key) is known
        if known.module is None:
            continue
        versions = list(known.request.READERS)
        assert versions == list(known.response.READERS) == list(known.request.WRITERS)
        assert versions[0] == known.version_first
        assert known.version_last in (versions[-1], versions[-1] - 1)


def test_there_is_no_api_of_an_unknown_key() -> None:
    """4 to 7 were for brokers among themselves and are gone."""
    for key in (-1, 4, 7, 95, 32_767):
        with pytest.raises(KeyError):
            api(key)
