// When Python may be started again.

const DELAYS_MS = [0, 200, 1000, 5000];
const MOST_IN_WINDOW = 5;
const WINDOW_MS = 60_000;

/** Counts starts. The first is free; those after it wait longer and longer, and are few. */
export class Restarts {
    #times = [];
    #isFirst = true;

    /** @param {() => number} now milliseconds of a clock that never goes back */
    constructor(now = () => performance.now()) {
        this.now = now;
    }

    /** @returns {number} milliseconds until the next start may be, and whether it is not soon */
    next() {
        if (this.#isFirst) return { delayMs: 0, isExhausted: false };
        const since = this.now() - WINDOW_MS;
        this.#times = this.#times.filter(time => time > since);
        if (this.#times.length >= MOST_IN_WINDOW) {
            return { delayMs: this.#times[0] - since, isExhausted: true };
        }
        return { delayMs: DELAYS_MS[Math.min(this.#times.length, DELAYS_MS.length - 1)], isExhausted: false };
    }

    /** Take note of a start. */
    count() {
        if (!this.#isFirst) this.#times.push(this.now());
        this.#isFirst = false;
    }
}
