// What Python is told about sessions: start, events, end; and everything anew where something was lost.
// A session that cannot be told of holds up no other.
import { describe, ownEvents, requestContext, requestHeader, sandboxMode, slimEvent } from './sessions.js';

const SYNC_CHARACTERS = 1024 * 1024;
const MAX_EVENT_CHARACTERS = 4 * 1024 * 1024;

export class Feed {
    #events = new Set();
    #replay = new Set();
    /** Sessions of which something was lost. */
    #dirty = new Set();
    /** Those of them that could not be told of: they are tried again when they are asked about. */
    #failed = new Set();
    /** Sessions whose start is not surely taken in: how they began, and whether this Python was told. */
    #starts = new Map();

    /** @param {{link: object, sessions: object, agents: object, locks: object, notices: object}} parts */
    constructor({ link, sessions, agents, locks, notices }) {
        Object.assign(this, { link, sessions, agents, locks, notices });
    }

    describe(session) {
        return describe(session, this.agents);
    }

    /** A new Python: it knows nothing. */
    reset({ events = [], replay = events }) {
        this.#events = new Set(events);
        this.#replay = new Set(replay);
        this.#dirty.clear();
        this.#failed.clear();
        for (const [id, { source, isTold }] of this.#starts) {
            // Whatever the one before has done of it, has been done.
            this.#starts.set(id, { source: isTold ? 'resume' : source, isTold: false });
        }
        for (const session of this.sessions.list()) this.sync(session);
    }

    started(session, source) {
        this.#starts.set(session.id, { source, isTold: false });
        // What its log says comes first: it decides what the start means.
        this.sync(session);
    }

    happened(session, event) {
        // Of a dirty session Python hears with the next sync.
        if (!this.#events.has(event.type) || this.#dirty.has(session.id)) return;
        this.#send('session/event', session.id, () => ({ sessionId: session.id, event: slimEvent(event) }));
    }

    /** Python has answered about a session: it has done all that it was told before. */
    heard(session) {
        if (this.#starts.get(session.id)?.isTold) this.#starts.delete(session.id);
    }

    ended(session) {
        this.#dirty.delete(session.id);
        this.#failed.delete(session.id);
        this.#starts.delete(session.id);
        this.link.tell('session/end', { sessionId: session.id });
    }

    /** Tell something about a session; it may be dropped when Python does not keep up. Never throws. */
    tell(method, session, params) {
        return this.#send(method, session.id, () => ({ session: this.describe(session), ...params() }));
    }

    /** To be called before a session is asked about. */
    refresh(session) {
        if (this.#dirty.has(session.id)) this.sync(session);
    }

    /** There is room again. */
    refreshAll() {
        for (const id of [...this.#dirty]) {
            const session = this.sessions.get(id);
            if (session === undefined) this.#dirty.delete(id);
            else if (!this.#failed.has(id)) this.sync(session);
        }
    }

    /** Tell Python everything about a session that it may have missed. Never throws. */
    sync(session) {
        if (!this.link.isUp) return; // the next Python is told of all sessions
        const { id } = session;
        this.#dirty.delete(id);
        this.#failed.delete(id);
        try {
            for (const piece of this.#pieces(session)) this.link.tell('session/sync', piece);
        } catch (error) {
            this.#dirty.add(id);
            this.#failed.add(id);
            this.notices.say(`session ${id}: what it is like cannot be told to Python: ${error.message}`);
        }
        this.#tellStart(session);
    }

    #tellStart(session) {
        const start = this.#starts.get(session.id);
        if (start === undefined || start.isTold) return;
        start.isTold = this.tell('session/start', session, () => ({ source: start.source }));
    }

    #pieces(session) {
        const described = this.describe(session);
        const pieces = batches(ownEvents(session).filter(event => this.#replay.has(event.type)));
        const [header, size] = bounded(requestHeader(session));
        if (size > SYNC_CHARACTERS) pieces.push([]); // both may be as large as a note can be
        const known = {
            requestHeader: header,
            requestContext: bounded(requestContext(session))[0],
            sandboxMode: sandboxMode(session),
            wasLocked: this.locks.isLocked(session.id),
        };
        return pieces.map((events, at) => {
            const last = at === pieces.length - 1;
            return { session: described, events, first: at === 0, last, ...last ? known : {} };
        });
    }

    #send(method, sessionId, params) {
        if (!this.link.isUp) return false;
        try {
            if (this.link.tell(method, params(), { droppable: true })) return true;
            this.#dirty.add(sessionId);
        } catch (error) {
            // Too large for the link, or of a shape that is not known here.
            this.#dirty.add(sessionId);
            this.notices.say(`${method} was not passed on: ${error.message}`);
        }
        return false;
    }
}

/** @returns {object[][]} the events as they are sent, in as many notes as they need */
function batches(events) {
    const pieces = [[]];
    let room = SYNC_CHARACTERS;
    for (const event of events) {
        const [slim, size] = bounded(event);
        if (size > room) {
            pieces.push([]);
            room = SYNC_CHARACTERS;
        }
        room -= size;
        pieces.at(-1).push(slim);
    }
    return pieces;
}

/** @returns {[object, number]} the event as it is sent, without what is beyond bounds, and its size */
function bounded(event) {
    if (event === null) return [null, 0];
    for (const form of [slimEvent, withoutTexts]) {
        try {
            const slim = form(event);
            const size = JSON.stringify(slim).length;
            if (size <= MAX_EVENT_CHARACTERS) return [slim, size];
        } catch {
            // It has a shape that is not known here.
        }
    }
    const { type, seq, time } = event;
    return [{ type, seq, time, data: null }, 0];
}

function withoutTexts(event) {
    // Queues stay in step: a message whose text is left out still has its place.
    const { data, ...slim } = slimEvent(event);
    return { ...slim, data: { ...data, inserted: data.inserted.map(message => ({ ...message, content: [] })) } };
}
