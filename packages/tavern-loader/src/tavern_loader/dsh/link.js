// The life of the link: starting Python, starting it again, asking with one more try. Knows the
// method `initialize` and no other.
import { setTimeout as sleep } from 'node:timers/promises';
import { CallTimeout, Peer, PeerGone } from './peer.js';

export const PROTOCOL = 1;

const PING_TIMEOUT_MS = 2000;
// More than Python lets running work take (adapters/link.py, SHUTDOWN_TIMEOUT_S): what is left is for
// writing. The host gives all of us five seconds.
const CLOSE_GRACE_MS = 2000;
const START_AGAIN_MS = 10_000;
const MOST_TRIES = 2;

export class Link {
    #peer;
    #starting;
    #isDisposed = false;
    #retry;
    /** Why Python could not be started, and until when that is not tried again. */
    #failure;
    /** Sessions whose last call was not answered in time. */
    #stuck = new Set();
    #disposal = new AbortController();

    /**
     * @param {object} parts
     * @param {() => object} parts.start what to spawn
     * @param {() => object} parts.greeting the params of `initialize`
     * @param {(hello: object) => void} parts.onReady a new Python greets; nothing was sent to it yet
     * @param {() => void} parts.onRoom what was sent is written
     * @param {object} parts.handlers what Python may call
     */
    constructor({ start, greeting, onReady, onGone, onRoom, handlers, settings, restarts, notices }) {
        Object.assign(this, { start, greeting, onReady, onGone, onRoom, handlers, settings, restarts, notices });
    }

    get isUp() {
        return this.#peer !== undefined;
    }

    /** Send a notification; without Python it goes nowhere. @returns {boolean} whether it was sent */
    tell(method, params, options) {
        return this.#peer?.notify(method, params, options) ?? false;
    }

    /**
     * Ask, and once more if Python ended meanwhile.
     * @param {() => object} params made anew for each try, just before it is sent
     * @param {{signal?: AbortSignal, sessionId?: string}} options
     */
    async ask(method, params, { signal, sessionId } = {}) {
        for (let tries = 1; ; tries++) {
            try {
                const peer = await this.#up(signal);
                return await this.#askPeer(peer, method, params(), { signal, sessionId });
            } catch (error) {
                const isWorthAnother = error instanceof PeerGone && this.#failure === undefined;
                if (!isWorthAnother || tries === MOST_TRIES || this.#isDisposed) throw error;
            }
        }
    }

    async #askPeer(peer, method, params, { signal, sessionId }) {
        // Calls that waited side by side are one wait.
        const wasStuck = this.#stuck.has(sessionId);
        try {
            const answer = await peer.call(method, params, { signal, timeoutMs: this.settings.callTimeoutMs });
            this.#stuck.delete(sessionId);
            return answer;
        } catch (error) {
            if (error instanceof CallTimeout) await this.#suspect(peer, sessionId, wasStuck);
            throw error;
        }
    }

    /** Start Python unless it is there; never throws, for the host must boot without it. */
    async begin() {
        try {
            await this.#up();
        } catch {
            // What is wrong has been said, and the next question tries again.
        }
    }

    async dispose() {
        this.#isDisposed = true;
        clearTimeout(this.#retry);
        this.#disposal.abort(new PeerGone('the plugin was unloaded'));
        await this.#starting?.catch(() => { });
        await this.#peer?.close(CLOSE_GRACE_MS);
    }

    async #up(signal) {
        signal?.throwIfAborted(); // before a start that nobody would wait for: its failure would end the host
        if (this.#peer !== undefined) return this.#peer;
        this.#starting ??= this.#start().finally(() => { this.#starting = undefined; });
        return signal === undefined ? this.#starting : untilAborted(this.#starting, signal);
    }

    async #start() {
        const { signal } = this.#disposal;
        signal.throwIfAborted();
        // What did not start just now will not start for the next question of the same step.
        if (this.#failure !== undefined && performance.now() < this.#failure.until) throw this.#failure.error;
        const { delayMs, isExhausted } = this.restarts.next();
        if (isExhausted) {
            this.#startLater(delayMs);
            throw new PeerGone('Python ended too often; it is started again in a while');
        }
        if (delayMs > 0) await sleep(delayMs, undefined, { signal });
        this.restarts.count();
        return this.#greet(signal);
    }

    async #greet(signal) {
        let peer;
        let command = 'no command';
        try {
            const start = this.start();
            command = start.command;
            peer = this.#spawn(start);
            const timeoutMs = this.settings.startTimeoutMs;
            const hello = await peer.call('initialize', this.greeting(), { signal, timeoutMs });
            if (hello.protocol !== PROTOCOL) {
                throw new Error(`Python speaks protocol ${hello.protocol}, and this bridge ${PROTOCOL}:`
                    + ' run "tavern-loader install" again');
            }
            this.#peer = peer;
            this.#failure = undefined;
            this.onReady(hello);
            return peer;
        } catch (error) {
            this.#peer = undefined;
            peer?.kill();
            throw this.#failed(command, error);
        }
    }

    #spawn(start) {
        const peer = new Peer(start, {
            handlers: this.handlers,
            onGone: error => this.#lost(peer, error),
            onStderr: line => this.notices.say(line),
            onRoom: () => this.onRoom(),
        });
        return peer;
    }

    #failed(command, error) {
        const gone = error instanceof PeerGone ? error : new PeerGone(error.message);
        if (!this.#isDisposed) {
            this.#failure = { error: gone, until: performance.now() + START_AGAIN_MS };
            this.notices.say(`Python did not start (${command}): ${error.message}.`
                + ' DSH goes on without Tavern, and sessions in role-play mode stay locked;'
                + ' "tavern-loader doctor" says more');
        }
        return gone;
    }

    #lost(peer, error) {
        if (this.#peer !== peer) return;
        this.#peer = undefined;
        this.#stuck.clear();
        this.onGone();
        if (this.#isDisposed) return;
        this.notices.say(`Python is gone: ${error.message}; it is started again`);
        this.#startLater(0);
    }

    /** Start without being asked: locks and pages need Python between the steps too. */
    #startLater(delayMs) {
        clearTimeout(this.#retry);
        this.#retry = setTimeout(() => this.begin(), delayMs);
        this.#retry.unref();
    }

    /** Find out whether Python is stuck as a whole, or only with this session. */
    async #suspect(peer, sessionId, wasStuck) {
        this.#stuck.add(sessionId);
        const answers = () => peer.call('ping', {}, { timeoutMs: PING_TIMEOUT_MS }).then(() => true, () => false);
        if (!peer.isGone && (wasStuck || !await answers())) {
            this.notices.say('Python does not answer: it is ended');
            peer.kill();
        }
    }
}

function untilAborted(promise, signal) {
    return new Promise((resolve, reject) => {
        const onAbort = () => reject(signal.reason);
        signal.addEventListener('abort', onAbort, { once: true });
        promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
    });
}
