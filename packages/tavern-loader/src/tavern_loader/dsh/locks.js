// Which sessions get no tool call through that nobody has judged: those that Python has named, and those
// below them. Of a session that no Python has spoken of, somebody else is asked.

const FREE = '';

export class Locks {
    /** Session to the reason of its lock, or FREE; kept for as long as it is open. */
    #told = new Map();

    /**
     * @param {object} sessions the host's
     * @param {(session: object, sessions: object) => string | undefined} [otherwise] why the tools of a
     *   session are refused that Python has not spoken of
     */
    constructor(sessions, otherwise = () => undefined) {
        this.sessions = sessions;
        this.otherwise = otherwise;
    }

    /** What a Python says holds until one says something else: also while there is none. */
    take({ locked = [], free = [], reason }) {
        const tell = (ids, word) => {
            for (const id of ids) if (this.sessions.get(id) !== undefined) this.#told.set(id, word);
        };
        tell(locked, reason || 'locked');
        tell(free, FREE);
    }

    forget(id) {
        this.#told.delete(id);
    }

    /** Whether Python has said that this very session is locked. */
    isLocked(id) {
        return Boolean(this.#told.get(id));
    }

    /** @returns {string | undefined} why the tools of a session are refused */
    reasonFor(session) {
        // What Python says of a session is meant with all that it came from.
        const told = this.#told.get(session.id);
        if (told !== undefined) return told || undefined;
        return this.#reasonFromAbove(session) ?? this.otherwise(session, this.sessions);
    }

    #reasonFromAbove(session) {
        const seen = new Set([session.id]);
        for (let id = session.header.parentSession; id !== undefined && !seen.has(id);) {
            if (this.isLocked(id)) return this.#told.get(id);
            seen.add(id);
            id = this.sessions.get(id)?.header.parentSession;
        }
        return undefined;
    }
}
