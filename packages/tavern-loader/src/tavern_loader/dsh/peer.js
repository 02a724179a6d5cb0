// One Python process, and JSON-RPC 2.0 with it over its standard streams. Knows no method.
import { LineReader, encode } from './lines.js';
import { Outbox } from './outbox.js';
import { pythonProcess } from './processes.js';

const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;
const HOST_ERROR = -32000;
const STDERR_LINE_BYTES = 4096;

/** What Python answered instead of a result. */
export class RemoteError extends Error {
    constructor({ code, message, data }) {
        super(message);
        this.number = code;
        this.code = data?.code ?? 'REMOTE_ERROR';
    }
}

/** The process is not there (any more). */
export class PeerGone extends Error {
    code = 'TAVERN_HOST_GONE';
}

/** The process did not answer in time. */
export class CallTimeout extends Error {
    code = 'TAVERN_HOST_TIMEOUT';
}

/** What a handler for Python's calls throws to be told apart by its code. */
export class HostRefusal extends Error {
    constructor(code, message) {
        super(message);
        this.code = code;
    }
}

export class Peer {
    #nextId = 1;
    #waiting = new Map();
    #gone;

    /**
     * Throws PeerGone where the system cannot give what a process needs.
     * @param {{command: string, args: string[], env: object, cwd?: string}} start
     * @param {{handlers: object, onGone: (error: Error) => void, onStderr: (line: string) => void,
     *   onRoom: () => void}} owner `handlers` maps a method to a function of its params
     */
    constructor(start, owner) {
        this.owner = owner;
        this.child = pythonProcess(start);
        // First of all: an error that nobody listens to ends the host.
        this.child.on('error', error => this.#end(`it cannot be run: ${error.message}`));
        const { stdin, stdout, stderr } = this.child;
        if (!stdin || !stdout || !stderr) {
            this.#gone = new PeerGone('it cannot be run: the system has no more streams to give');
            this.kill();
            throw this.#gone;
        }
        for (const stream of [stdin, stdout, stderr]) {
            stream.on('error', () => { /* the close that follows tells why */ });
        }
        this.closed = new Promise(resolve => { this.child.once('close', resolve); });
        this.outbox = new Outbox(stdin, owner.onRoom);
        this.child.once('close', (code, signal) => this.#end(`it ended with ${signal ?? `code ${code}`}`));
        const output = new LineReader(line => this.#receive(line), () => this.kill());
        stdout.on('data', chunk => output.push(chunk));
        const errors = new LineReader(line => owner.onStderr(line.toString()), () => { }, STDERR_LINE_BYTES);
        stderr.on('data', chunk => errors.push(chunk));
        // When this process ends without a word, a child that does not read would outlive it.
        this.onExit = () => this.kill();
        process.once('exit', this.onExit);
    }

    get isGone() {
        return this.#gone !== undefined;
    }

    /** Send a notification. @returns {boolean} false if there was no room */
    notify(method, params, { droppable = false } = {}) {
        if (this.isGone) return false;
        return this.outbox.push(encode({ jsonrpc: '2.0', method, params }), { droppable });
    }

    /** Ask, and wait. Throws RemoteError, PeerGone, CallTimeout, or the signal's reason. */
    call(method, params, { signal, timeoutMs }) {
        if (this.isGone) return Promise.reject(this.#gone);
        signal?.throwIfAborted();
        const id = this.#nextId++;
        const line = encode({ jsonrpc: '2.0', id, method, params });
        return new Promise((resolve, reject) => {
            const giveUp = error => {
                this.#settle(id)?.reject(error);
                this.notify('$/cancel', { id });
            };
            const onAbort = () => giveUp(signal.reason);
            const late = () => giveUp(new CallTimeout(`no answer to ${method} in ${timeoutMs} ms`));
            const timer = setTimeout(late, timeoutMs);
            const tidy = () => {
                clearTimeout(timer);
                signal?.removeEventListener('abort', onAbort);
            };
            signal?.addEventListener('abort', onAbort, { once: true });
            this.#waiting.set(id, { resolve, reject, tidy });
            this.outbox.push(line);
        });
    }

    /** End the process in an orderly way, and in any way after a while. */
    async close(graceMs) {
        if (this.isGone) return;
        const timer = setTimeout(() => this.kill(), graceMs);
        await this.call('shutdown', {}, { timeoutMs: graceMs }).catch(() => { });
        this.child.stdin.end();
        await this.closed;
        clearTimeout(timer);
    }

    kill() {
        // Where no process was started, a signal would go to the host's own group.
        if (this.child.pid !== undefined) this.child.kill('SIGKILL');
    }

    #settle(id) {
        const waiter = this.#waiting.get(id);
        this.#waiting.delete(id);
        waiter?.tidy();
        return waiter;
    }

    #receive(line) {
        let message;
        try {
            message = JSON.parse(line.toString());
        } catch {
            this.owner.onStderr('a line of the link is no message');
            return;
        }
        if (message.method !== undefined) {
            this.#handle(message);
        } else if (message.error !== undefined) {
            this.#settle(message.id)?.reject(new RemoteError(message.error));
        } else {
            this.#settle(message.id)?.resolve(message.result ?? {});
        }
    }

    async #handle({ id, method, params }) {
        const handler = this.owner.handlers[method];
        let body;
        try {
            if (handler === undefined) throw new HostRefusal('METHOD_NOT_FOUND', 'there is no such method');
            body = { result: await handler(params ?? {}) ?? {} };
        } catch (error) {
            body = { error: errorObject(error) };
            if (id === undefined) this.owner.onStderr(`${method}: ${error.message}`);
        }
        if (id !== undefined && !this.isGone) this.#answer(id, body);
    }

    #answer(id, body) {
        let line;
        try {
            line = encode({ jsonrpc: '2.0', id, ...body });
        } catch (error) {
            line = encode({ jsonrpc: '2.0', id, error: errorObject(error) });
        }
        this.outbox.push(line);
    }

    #end(reason) {
        if (this.isGone) return;
        this.#gone = new PeerGone(reason);
        process.off('exit', this.onExit);
        for (const id of [...this.#waiting.keys()]) this.#settle(id).reject(this.#gone);
        this.owner.onGone(this.#gone);
    }
}

function errorObject(error) {
    const code = typeof error.code === 'string' ? error.code : 'HOST_FAULT';
    const number = code === 'METHOD_NOT_FOUND' ? METHOD_NOT_FOUND
        : error instanceof HostRefusal ? HOST_ERROR : INTERNAL_ERROR;
    return { code: number, message: String(error.message), data: { code } };
}
