"""The records of what was sent to the model, over HTTP.

Source: the plugin contract, sections D8 and D10.
"""

from tavern_loader.adapters.http.faults import PRESETS, TRACES
from tavern_loader.adapters.http.route import SESSION, Route, Success
from tavern_loader.adapters.http.schema import (
    BOOLEAN,
    OBJECTS,
    SESSION_ID,
    TEXT,
    Schema,
    needed,
    objects,
    success,
)
from tavern_loader.adapters.http.services import HttpServices
from tavern_loader.adapters.http.wire import Answer, Call, json_answer

WHOLE: Schema = {"type": "integer"}
STORAGE = needed(kind=TEXT, maxRecords=WHOLE, maxRecordBytes=WHOLE, maxTotalBytes=WHOLE)
CAPABILITIES = success(
    apiVersion=WHOLE,
    contract=TEXT,
    sourceMapping=TEXT,
    historicalAssemblies=BOOLEAN,
    composerRegistry=BOOLEAN,
    officialSections=BOOLEAN,
    arbitraryMessageDepth=BOOLEAN,
    storage=STORAGE,
)
ROWS = objects(id=TEXT, sessionId=SESSION_ID, recordedAt=WHOLE, status=TEXT, contentStatus=TEXT)
RECORD = needed(id=TEXT, sessionId=SESSION_ID, status=TEXT, contentStatus=TEXT)


def _capabilities(services: HttpServices, _: Call) -> Answer:
    return json_answer(200, services.traces.capabilities())


def _index(services: HttpServices, call: Call) -> Answer:
    return json_answer(200, services.traces.index(call.path["sessionId"]))


def _detail(services: HttpServices, call: Call) -> Answer:
    record = services.traces.detail(call.path["sessionId"], call.path["recordId"])
    return json_answer(200, record)


def _audits(services: HttpServices, call: Call) -> Answer:
    return json_answer(200, services.traces.audits(call.query["sessionId"]))


ROUTES = (
    Route(
        method="GET",
        path="/v1/traces",
        summary="List the audits of a session, oldest first",
        family=PRESETS,
        handle=_audits,
        success=Success(
            schema=success(
                sessionId=SESSION_ID,
                records=OBJECTS,
                storage=STORAGE,
                authority=TEXT,
            )
        ),
        query=(SESSION,),
    ),
    Route(
        method="GET",
        path="/v3/capabilities",
        summary="Say what this interface can do, and how much is kept",
        family=TRACES,
        handle=_capabilities,
        success=Success(schema=CAPABILITIES),
    ),
    Route(
        method="GET",
        path="/v3/sessions/{sessionId}/assemblies",
        summary="List the records of a session, without texts, oldest first",
        family=TRACES,
        handle=_index,
        success=Success(schema=success(sessionId=SESSION_ID, records=ROWS, storage=STORAGE)),
    ),
    Route(
        method="GET",
        path="/v3/sessions/{sessionId}/assemblies/{recordId}",
        summary="Read one record with the texts that the session's own log proves",
        family=TRACES,
        handle=_detail,
        success=Success(schema=success(record=RECORD)),
        errors=((404, "ASSEMBLY_NOT_FOUND"),),
    ),
)
