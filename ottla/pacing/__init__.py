"""One request may be long; those behind it still get their turn. One may cost much; it may not cost everything.

pace = Pace(loop.call_soon)                 one for each event loop
pace.run(task)                              now, as far as this turn's slice goes, and the rest in later turns
for topic in paced(request.topics): ...     it may be left here, and gone back to
charge_elements(len(topics))                what it may cost has bounds
"""

from ottla.pacing.bounds import (
    ANSWER_BYTES_MAX,
    ANSWER_ELEMENTS_MAX,
    FAULTS_MAX,
    HEAVY_ELEMENTS,
    JOINED_PARTS,
    REQUEST_ELEMENTS_MAX,
    TEXT_BYTES_MAX,
    UNPACKED_BYTES_MAX,
    UNPACKED_RECORDS_MAX,
    Parts,
    TooCostly,
    fail_long_answer,
    own_bytes,
)
from ottla.pacing.breaths import BREATH_ELEMENTS, FEW_ELEMENTS, breathe, in_one_go, paced, paced_parts
from ottla.pacing.charges import charge_elements, charge_fault, charge_records, charge_unpacked, costs, lift_bounds
from ottla.pacing.pace import ACTIVE_MAX, LATE_MAX, SLICE_SECONDS, Pace, Worker

__all__ = [
    "ACTIVE_MAX",
    "ANSWER_BYTES_MAX",
    "ANSWER_ELEMENTS_MAX",
    "BREATH_ELEMENTS",
    "FAULTS_MAX",
    "FEW_ELEMENTS",
    "HEAVY_ELEMENTS",
    "JOINED_PARTS",
    "LATE_MAX",
    "REQUEST_ELEMENTS_MAX",
    "SLICE_SECONDS",
    "TEXT_BYTES_MAX",
    "UNPACKED_BYTES_MAX",
    "UNPACKED_RECORDS_MAX",
    "Pace",
    "Parts",
    "TooCostly",
    "Worker",
    "breathe",
    "charge_elements",
    "charge_fault",
    "charge_records",
    "charge_unpacked",
    "costs",
    "fail_long_answer",
    "in_one_go",
    "lift_bounds",
    "own_bytes",
    "paced",
    "paced_parts",
]
