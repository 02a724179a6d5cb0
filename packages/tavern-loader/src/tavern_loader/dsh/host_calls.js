// What Python may ask of the host.
import { HostRefusal } from './peer.js';
import { allEvents, describe } from './sessions.js';

const PAGE_CHARACTERS = 4 * 1024 * 1024;

/** @returns {Record<string, (params: object) => unknown>} a function for each method */
export function hostCalls({ ctx, agents, sessions, locks }) {
    const open = id => {
        const session = sessions.get(id);
        if (session === undefined) throw new HostRefusal('SESSION_NOT_OPEN', 'the session is not open');
        return session;
    };
    return {
        'host/sandbox-mode': ({ sessionId, mode }) => {
            open(sessionId).append('sandbox/mode', { mode });
        },
        'host/cancel': ({ sessionId, reason }) => {
            agents.get(open(sessionId).id)?.cancel({ kind: 'hook', reason }, { keepInbox: true });
        },
        'host/locks': params => locks.take(params),
        'host/sessions': () => ({ sessions: sessions.list().map(session => describe(session, agents)) }),
        'host/session': ({ sessionId }) => {
            const session = sessions.get(sessionId);
            return { session: session === undefined ? null : describe(session, agents) };
        },
        'host/inspect': ({ sessionId, after = -1 }) => inspect(ctx, sessions, sessionId, after),
    };
}

async function inspect(ctx, sessions, id, after) {
    const session = sessions.get(id);
    const log = session === undefined
        ? await stored(ctx, id)
        : { meta: session.header, events: allEvents(session) };
    if (log === undefined) return { meta: null, events: [], more: false, last: after };
    return { meta: log.meta, ...page(log.events, after) };
}

async function stored(ctx, id) {
    try {
        return await ctx.get('sessionPersistence')?.inspect(id);
    } catch (error) {
        // A disk that cannot be read now is no word about the log: the host says most other things without a code.
        if (error?.syscall !== undefined && error.code !== 'ENOENT') throw new HostRefusal('SESSION_LOG_UNREADABLE', error.message);
        return undefined; // there is no such log, or none that this host can read
    }
}

function page(events, after) {
    const found = [];
    let room = PAGE_CHARACTERS;
    for (const event of events) {
        if (event.seq <= after || event.type === 'assistant/chunk') continue;
        room -= JSON.stringify(event).length;
        if (room < 0 && found.length > 0) return { events: found, more: true, last: found.at(-1).seq };
        found.push(event);
    }
    return { events: found, more: false, last: found.at(-1)?.seq ?? after };
}
