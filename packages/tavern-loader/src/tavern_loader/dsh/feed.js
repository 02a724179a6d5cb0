// What Python is told about sessions: start, events, end; and everything anew where something was lost.
import { describe, ownEvents, requestContext, requestHeader, slimEvent } from './sessions.js';

const SYNC_CHARACTERS = 1024 * 1024;
const MAX_EVENT_CHARACTERS = 4 * 1024 * 1024;

export class Feed {
    #events = new Set();
    #replay = new Set();
    #dirty = new Set();
    /** Sessions that began before Python was there, and how. */
    #untold = new Map();

    /** @param {{link: object, sessions: object, agents: object, notices: object}} parts */
    constructor({ link, sessions, agents, notices }) {
        Object.assign(this, { link, sessions, agents, notices });
    }

    describe(session) {
        return describe(session, this.agents);
    }

    /** A new Python: it knows nothing. */
    reset({ events = [], replay = events }) {
        this.#events = new Set(events);
        this.#replay = new Set(replay);
        this.#dirty.clear();
        for (const session of this.sessions.list()) {
            this.sync(session);
            if (this.#untold.has(session.id)) this.#tellStart(session, this.#untold.get(session.id));
        }
        this.#untold.clear();
    }

    started(session, source) {
        if (!this.link.isUp) {
            this.#untold.set(session.id, source);
            return;
        }
        // What its log says comes first: it decides what the start means.
        this.sync(session);
        this.#tellStart(session, source);
    }

    #tellStart(session, source) {
        this.tell('session/start', session, () => ({ source }));
    }

    happened(session, event) {
        // Of a dirty session Python hears with the next sync.
        if (!this.#events.has(event.type) || this.#dirty.has(session.id)) return;
        this.#send('session/event', session.id, () => ({ sessionId: session.id, event: slimEvent(event) }));
    }

    ended(session) {
        this.#dirty.delete(session.id);
        this.#untold.delete(session.id);
        this.link.tell('session/end', { sessionId: session.id });
    }

    /** Tell something about a session; it may be dropped when Python does not keep up. Never throws. */
    tell(method, session, params) {
        this.#send(method, session.id, () => ({ session: this.describe(session), ...params() }));
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
            else this.sync(session);
        }
    }

    /** Tell Python everything about a session that it may have missed. */
    sync(session) {
        this.#dirty.delete(session.id);
        const described = this.describe(session);
        const pieces = this.#pieces(session);
        pieces.forEach((events, at) => {
            const last = at === pieces.length - 1;
            this.link.tell('session/sync', {
                session: described, events, first: at === 0, last,
                ...last ? {
                    requestHeader: bounded(requestHeader(session))[0],
                    requestContext: bounded(requestContext(session))[0],
                } : {},
            });
        });
    }

    #pieces(session) {
        const pieces = [[]];
        let room = SYNC_CHARACTERS;
        for (const event of ownEvents(session)) {
            if (!this.#replay.has(event.type)) continue;
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

    #send(method, sessionId, params) {
        if (!this.link.isUp) return;
        try {
            if (!this.link.tell(method, params(), { droppable: true })) this.#dirty.add(sessionId);
        } catch (error) {
            // Too large for the link, or of a shape that is not known here.
            this.#dirty.add(sessionId);
            this.notices.say(`${method} was not passed on: ${error.message}`);
        }
    }
}

/** @returns {[object, number]} the event as it is sent, without its texts if they are beyond bounds, and its size */
function bounded(event) {
    if (event === null) return [null, 0];
    const slim = slimEvent(event);
    const size = JSON.stringify(slim).length;
    if (size <= MAX_EVENT_CHARACTERS) return [slim, size];
    const cut = withoutTexts(slim);
    return [cut, JSON.stringify(cut).length];
}

function withoutTexts(event) {
    // Queues stay in step: a message whose text is left out still has its place.
    const inserted = event.data?.inserted?.map(message => ({ ...message, content: [] }));
    return { ...event, data: inserted === undefined ? null : { ...event.data, inserted } };
}
