// Requests of the host's web server, handed to Python in pieces, and the answers handed back. Decides
// nothing about a request but that it is not too large and that there are not too many.

export const API_PATH = '/pmp-dsh-tavern/api';

const CHUNK_BYTES = 64 * 1024;
const WINDOW_BYTES = 256 * 1024;
const MAX_BODY_BYTES = 40 * 1024 * 1024;
const MAX_STREAMS = 64;
// So much of a body that nobody wants any more is read and dropped: a client that is cut off while it
// sends does not get to see why.
const MAX_DROPPED_BYTES = 64 * 1024 * 1024;
const DROP_MS = 10_000;
const REFUSAL_HEADERS = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
};

export class HttpGate {
    #streams = new Map();
    #nextStream = 1;

    /** @param {{link: object}} parts */
    constructor({ link }) {
        this.link = link;
    }

    /** What Python sends: a function for each notification. */
    get handlers() {
        const to = take => params => this.#streams.get(params.stream)?.[take](params);
        return {
            'http/head': to('onHead'),
            'http/chunk': to('onChunk'),
            'http/done': to('onDone'),
            'http/ack': to('onAck'),
            'http/abort': to('onAbort'),
        };
    }

    /** The host's route handler. */
    async handle(request, response) {
        if (!this.link.isUp) await this.link.begin();
        if (!this.link.isUp) return refuse(response, 503, 'TAVERN_HOST_UNAVAILABLE', 'Python is not running');
        if (this.#streams.size >= MAX_STREAMS) return refuse(response, 503, 'TAVERN_HOST_BUSY', 'too many requests');
        const number = this.#nextStream++;
        const tell = (method, params) => this.link.tell(method, { stream: number, ...params });
        const stream = new Stream(request, response, tell, () => this.#streams.delete(number));
        this.#streams.set(number, stream);
        return stream.run();
    }

    /** Python is gone, and with it everything it was answering. */
    reset() {
        for (const stream of [...this.#streams.values()]) stream.onAbort({ reason: 'gone' });
    }
}

/** One request and its answer. */
class Stream {
    #unacknowledged = 0;
    #bodyBytes = 0;
    #onRoom = () => { };
    #isOver = false;
    #finished = Promise.withResolvers();

    constructor(request, response, tell, onOver) {
        Object.assign(this, { request, response, tell, onOver });
    }

    async run() {
        const { request, response } = this;
        response.once('close', () => this.#leave('closed'));
        response.on('error', () => this.#leave('closed'));
        const isSent = this.tell('http/request', {
            method: request.method,
            target: request.url,
            headers: pairs(request.rawHeaders),
            remote: { address: request.socket.remoteAddress, port: request.socket.remotePort },
            local: { address: request.socket.localAddress, port: request.socket.localPort },
        });
        try {
            if (isSent) await this.#sendBody();
            else this.onAbort();
        } catch {
            this.#leave('closed');
        }
        return this.#finished.promise;
    }

    async #sendBody() {
        // An answer may come before the body is read: leaving the loop must not end the connection.
        for await (const data of this.request.iterator({ destroyOnReturn: false })) {
            for (let start = 0; start < data.length && !this.#isOver; start += CHUNK_BYTES) {
                await this.#sendPiece(data.subarray(start, start + CHUNK_BYTES));
            }
            if (this.#isOver) return drop(this.request);
        }
        if (!this.#isOver) this.tell('http/end', {});
    }

    async #sendPiece(piece) {
        this.#bodyBytes += piece.length;
        if (this.#bodyBytes > MAX_BODY_BYTES) {
            refuse(this.response, 413, 'BODY_TOO_LARGE', `more than ${MAX_BODY_BYTES} bytes`);
            this.#leave('too-large');
            return;
        }
        while (this.#unacknowledged + piece.length > WINDOW_BYTES && !this.#isOver) {
            await new Promise(resolve => { this.#onRoom = resolve; });
        }
        if (this.#isOver) return;
        this.#unacknowledged += piece.length;
        this.tell('http/body', { data: piece.toString('base64') });
    }

    onAck({ bytes }) {
        this.#unacknowledged -= bytes;
        this.#onRoom();
    }

    onHead({ status, headers }) {
        if (this.response.headersSent) return;
        this.response.writeHead(status, headers.flat());
    }

    onChunk({ data }) {
        const piece = Buffer.from(data, 'base64');
        this.response.write(piece, () => {
            if (!this.#isOver) this.tell('http/ack', { bytes: piece.length });
        });
    }

    onDone() {
        this.response.end();
        this.#over();
    }

    onAbort() {
        if (this.response.headersSent) this.response.destroy();
        else refuse(this.response, 502, 'TAVERN_HOST_FAILED', 'Python gave no answer');
        this.#over();
    }

    /** The browser has what it wanted, or wants nothing more. */
    #leave(reason) {
        if (this.#isOver) return;
        this.tell('http/abort', { reason });
        this.#over();
    }

    #over() {
        this.#isOver = true;
        this.onOver();
        this.#onRoom();
        this.#finished.resolve();
    }
}

function drop(request) {
    let bytes = 0;
    const tooLong = setTimeout(() => request.destroy(), DROP_MS).unref();
    request.once('close', () => clearTimeout(tooLong));
    request.on('data', piece => {
        bytes += piece.length;
        if (bytes > MAX_DROPPED_BYTES) request.destroy();
    });
}

function pairs(rawHeaders) {
    const headers = [];
    for (let at = 0; at < rawHeaders.length; at += 2) {
        headers.push([rawHeaders[at].toLowerCase(), rawHeaders[at + 1]]);
    }
    return headers;
}

function refuse(response, status, code, error) {
    if (response.headersSent) return;
    response.writeHead(status, { ...REFUSAL_HEADERS, connection: 'close' });
    response.end(JSON.stringify({ ok: false, code, error }));
}
