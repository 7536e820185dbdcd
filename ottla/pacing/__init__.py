"""Long requests give others their turn; and what one request may cost has bounds.

pace = Pace(loop.call_soon)                 one for each event loop
pace.run(task)                              now, as far as this turn's slice goes, and the rest in later turns
for topic in paced(request.topics): ...     the task may be suspended here, and resumed in a later turn
charge_elements(len(topics))                counted before it is done; beyond the bound it is `TooCostly`
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
from ottla.pacing.charges import charge_elements, charge_fault, charge_records, charge_unpacked, costs, lift_bounds
from ottla.pacing.pace import ACTIVE_MAX, LATE_MAX, SLICE_SECONDS, Fiber, Pace
from ottla.pacing.turns import (
    ELEMENTS_PER_LOOK,
    FEW_ELEMENTS,
    paced,
    paced_each,
    paced_parts,
    without_suspension,
    yield_turn,
)

__all__ = [
    "ACTIVE_MAX",
    "ANSWER_BYTES_MAX",
    "ANSWER_ELEMENTS_MAX",
    "ELEMENTS_PER_LOOK",
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
    "Fiber",
    "Pace",
    "Parts",
    "TooCostly",
    "charge_elements",
    "charge_fault",
    "charge_records",
    "charge_unpacked",
    "costs",
    "fail_long_answer",
    "lift_bounds",
    "own_bytes",
    "paced",
    "paced_each",
    "paced_parts",
    "without_suspension",
    "yield_turn",
]
