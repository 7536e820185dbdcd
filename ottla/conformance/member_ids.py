"""Which member ids a broker has made up, and what Kafka's would look like in their place.

Kafka makes an id of the client's id, or of the instance's, and a UUID. No client may rely on that, so it
does not count: an id that looks otherwise is shown as Kafka's would be. One that a script has chosen is never taken for
the broker's.
"""

from __future__ import annotations

import re
from typing import Final

from ottla.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from ottla.protocol.primitives import Message

UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class MemberIds:
    """Those of one script's run. `stems` are what Kafka's id would begin with, by the broker's own."""

    def __init__(self) -> None:
        self.stems: dict[str, str] = {}
        self._sent: set[str] = {""}

    def asked(self, request: Message, client_id: str | None) -> str | None:
        """Hear of a request. Of a JoinGroup: what Kafka would make a new member's id of."""
        if not isinstance(request, JoinGroupRequest):
            return None
        self._sent |= {request.member_id} - set(self.stems)
        return request.group_instance_id or client_id or ""

    def answered(self, message: Message, stem: str | None) -> None:
        """Hear of an answer; `stem` is what the connection's last JoinGroup gave."""
        if not isinstance(message, JoinGroupResponse) or stem is None:
            return
        self._learn(message.member_id, stem)
        for member in message.members:
            if member.group_instance_id:
                self._learn(member.member_id, member.group_instance_id)

    def _learn(self, member_id: str, stem: str) -> None:
        if member_id not in self._sent and not UUID.search(member_id):
            self.stems.setdefault(member_id, stem)
