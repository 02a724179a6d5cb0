// Sessions as the host's versions have them: what was read in 0.1.0-rc.8, and what is recorded of the
// versions after it.

export function message(role, kind, text, more = {}) {
    return { id: `${role}-${text.slice(0, 8)}`, role, source: { kind, ...more }, content: text === '' ? [] : [{ type: 'text', text }] };
}

function base({ id = 's', seedLength = 0, messages = [], parent }) {
    return {
        id,
        header: { version: 0, id, createdAt: 0, cwd: '/w', ...seedLength ? { seedLength } : {}, ...parent ? { parentSession: parent } : {} },
        deriveMessages: () => Object.freeze([...messages]),
        appended: [],
        append(type, data) { this.appended.push([type, data]); },
    };
}

/** Log and own events by methods; the array is gone. */
function withSnapshots(given) {
    const { events = [], seedLength = 0 } = given;
    return {
        ...base(given),
        get seq() { return events.length; },
        snapshotEvents: () => Object.freeze([...events]),
        ownEvents: () => Object.freeze(events.slice(seedLength)),
        get surface() { return given.nodes === undefined ? undefined : { nodes: given.nodes }; },
    };
}

export const SHAPES = {
    '0.1.0-rc.8': given => {
        const { events = [] } = given;
        return {
            ...base(given),
            get seq() { return events.length; },
            get events() { return Object.freeze([...events]); },
            get surface() { return given.nodes === undefined ? undefined : { nodes: given.nodes }; },
        };
    },
    '0.1.2-rc.1': withSnapshots,
    '0.1.5-rc.1': withSnapshots,
};
