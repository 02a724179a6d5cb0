// Questions that Python did not answer: said to the user, and told to Python with the next step.

const MOST_PER_SESSION = 20;
const REASON_CHARACTERS = 300;

export class Lapses {
    #bySession = new Map();

    constructor(notices) {
        this.notices = notices;
    }

    add(sessionId, method, error, { turn = null, step = null } = {}) {
        const reason = `${error.code ?? error.name}: ${error.message}`.slice(0, REASON_CHARACTERS);
        const lapses = this.#bySession.get(sessionId) ?? [];
        lapses.push({ method, turn, step, reason });
        this.#bySession.set(sessionId, lapses.slice(-MOST_PER_SESSION));
        this.notices.say(`session ${sessionId}: no answer to ${method}: ${reason}`);
    }

    /** @returns the lapses of a session, to be told */
    of(sessionId) {
        return this.#bySession.get(sessionId) ?? [];
    }

    /** They were told, or the session has ended. */
    forget(sessionId) {
        this.#bySession.delete(sessionId);
    }
}
