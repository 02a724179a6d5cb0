// Asking about a session: what was lost is told first, and what cannot be answered is a lapse.

export class Asker {
    /** @param {{link: object, feed: object, lapses: object, settings: {failMode: string}}} parts */
    constructor({ link, feed, lapses, settings }) {
        Object.assign(this, { link, feed, lapses, settings });
    }

    /**
     * Ask Python about a session.
     * @param {() => object} params
     * @param {{signal?: AbortSignal, at?: {turn: number, step: number}, isNeeded?: boolean}} options
     *   `isNeeded`: without an answer the step ends where the user wants it so
     * @returns the answer, or undefined where there is none
     */
    async ask(method, session, params, { signal, at, isNeeded = false } = {}) {
        const make = () => {
            this.feed.refresh(session);
            return { session: this.feed.describe(session), ...params() };
        };
        try {
            const answer = await this.link.ask(method, make, { signal, sessionId: session.id });
            this.feed.heard(session);
            return answer;
        } catch (error) {
            if (signal?.aborted) throw error;
            this.miss(method, session, error, { at, isNeeded });
            return undefined;
        }
    }

    /** Take note of a lapse; throws where the step must not go on. */
    miss(method, session, error, { at, isNeeded }) {
        this.lapses.add(session.id, method, error, at);
        if (isNeeded && this.settings.failMode === 'closed') {
            throw new Error(`tavern-loader: ${method}: ${error.message}`, { cause: error });
        }
    }
}
