// Sessions of the host as values, whatever the host's version: features are looked for, not numbers.

const MAX_HISTORY_UTF16 = 2 * 1024 * 1024;

/** @returns every event of a session, inherited ones included */
export function allEvents(session) {
    return typeof session.snapshotEvents === 'function' ? [...session.snapshotEvents()] : session.events;
}

/** @returns the events a session did not inherit */
export function ownEvents(session) {
    if (typeof session.ownEvents === 'function') return [...session.ownEvents()];
    return allEvents(session).slice(session.header.seedLength ?? 0);
}

/** @returns what every message of the link says about a session */
export function describe(session, agents) {
    return {
        id: session.id,
        header: session.header,
        seq: session.seq,
        cwd: session.header.cwd ?? null,
        running: agents.get(session.id)?.status === 'running',
    };
}

/** @returns the event as it goes over the link: without pictures, which nobody there looks at */
export function slimEvent({ type, seq, time, data }) {
    const inserted = type === 'agent/inbox/spliced' ? data.inserted : undefined;
    return { type, seq, time, data: inserted ? { ...data, inserted: inserted.map(slimMessage) } : data };
}

/** @returns the message with its blocks of text only */
function slimMessage({ id, role, source, content }) {
    return { id, role, source, content: textBlocks(content) };
}

function textBlocks(content) {
    return Array.isArray(content) ? content.filter(block => block?.type === 'text') : [];
}

function textLength(message) {
    return textBlocks(message.content).reduce((sum, { text }) => sum + (text?.length ?? 0), 0);
}

/**
 * The latest messages that have a text, and how many of each kind came before them.
 * @returns {{history: object[], earlier: Record<string, number>}}
 */
export function historyOf(session, maxMessages) {
    const earlier = {};
    const history = [];
    let room = MAX_HISTORY_UTF16;
    let isFull = false;
    for (const message of session.deriveMessages().toReversed()) {
        const length = textLength(message);
        if (length === 0) continue;
        isFull ||= history.length >= maxMessages || (length > room && history.length > 0);
        if (isFull) {
            const kind = `${message.role}/${message.source?.kind ?? ''}`;
            earlier[kind] = (earlier[kind] ?? 0) + 1;
        } else {
            room -= length;
            history.push(slimMessage(message));
        }
    }
    return { history: history.reverse(), earlier };
}

/** @returns the latest `request/header` event of the whole log, or null */
export function requestHeader(session) {
    return latest(session, 'request/header');
}

/** @returns the latest `request/context` event of the whole log, or null: the host repeats none that stays the same */
export function requestContext(session) {
    return latest(session, 'request/context');
}

function latest(session, type) {
    return allEvents(session).findLast(event => event.type === type) ?? null;
}

/** @returns {string | null} the mode of the sandbox that the whole log says last */
export function sandboxMode(session) {
    return latest(session, 'sandbox/mode')?.data?.mode ?? null;
}

function isSnapshot(message) {
    return message?.source?.form === 'snapshot';
}

/** @returns the request's system messages and snapshots of runtime context */
export function officialMessages(messages) {
    return messages.filter(message => message.role === 'system' || isSnapshot(message));
}

/** @returns the events on the session's surface that those messages come from */
export function officialEvents(session) {
    const nodes = session.surface?.nodes;
    if (nodes === undefined) return [];
    const events = allEvents(session);
    return [...nodes]
        .map(seq => events[seq])
        .filter(event => event?.type === 'system/message' || (event?.type === 'user/message' && isSnapshot(event.data)))
        .map(({ seq, type, data }) => ({ seq, type, data }));
}
