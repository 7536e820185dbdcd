"""UpdateFeatures (api key 57), v0–v2: raise or lower the levels of features (KIP-584, KIP-778).

All of them change, or none. Level 0 turns a feature off. A feature that is listed twice counts as it is listed last.
v1 has upgrade_type (1 up, 2 down if nothing is lost by it, 3 down in any case) in place of allow_downgrade, which is
passed over, and validate_only, with which nothing is changed. v2 has no results by feature any more.

Errors, on top, and then there are no results: CLUSTER_AUTHORIZATION_FAILED; INVALID_UPDATE_VERSION for what
`cluster.features` refuses. Kafka: ControllerApis.handleUpdateFeatures, QuorumController.updateFeatures.
"""

from __future__ import annotations

from typing import Final

from ottla.broker.network.call import Call
from ottla.cluster.features import change_levels, check_update
from ottla.cluster.refused import Refused
from ottla.pacing import paced
from ottla.protocol.errors import NONE, ErrorCode
from ottla.protocol.messages.update_features import UpdateFeaturesRequest, UpdateFeaturesResponse

_RESULTS_UP_TO_VERSION: Final = 1

_Result = UpdateFeaturesResponse.UpdatableFeatureResult


def handle(request: UpdateFeaturesRequest, call: Call) -> UpdateFeaturesResponse:
    cluster = call.node.cluster
    updates = {update.feature: update for update in paced(request.feature_updates)}
    try:
        for name, update in paced(updates.items()):
            check_update(name, update.max_version_level, update.upgrade_type, cluster)
        if not request.validate_only:
            change_levels({name: update.max_version_level for name, update in updates.items()}, cluster)
    except Refused as refused:
        return refuse(
            request,
            refused.error_code,
            f"The update failed for all features since the following feature had an error: {refused.message}",
        )
    results = []
    if call.api_version <= _RESULTS_UP_TO_VERSION:
        # Kafka names the code in place of a message, though there is no error.
        results = [_Result(update.feature, NONE, NONE.name) for update in paced(request.feature_updates)]
    return UpdateFeaturesResponse(error_message=None, results=results)


def refuse(request: UpdateFeaturesRequest, error_code: ErrorCode, message: str | None = None) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(error_code=error_code, error_message=message)
