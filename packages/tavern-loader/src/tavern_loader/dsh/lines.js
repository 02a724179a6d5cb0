// Bytes to messages and back: JSON, one message a line, of bounded length.

export const MAX_LINE_BYTES = 16 * 1024 * 1024;

const NEWLINE = 0x0a;

/** A message that does not fit in a line. */
export class MessageTooLarge extends Error {
    code = 'MESSAGE_TOO_LARGE';

    constructor(bytes) {
        super(`a message of ${bytes} bytes is over the limit of ${MAX_LINE_BYTES}`);
    }
}

/** @returns {Buffer} the message as a line; throws MessageTooLarge */
export function encode(message) {
    const line = Buffer.from(`${JSON.stringify(message)}\n`);
    if (line.length > MAX_LINE_BYTES) throw new MessageTooLarge(line.length);
    return line;
}

/** Collects chunks of a stream and gives whole lines. */
export class LineReader {
    #pieces = [];
    #bytes = 0;

    /** @param {(line: Buffer) => void} onLine @param {() => void} onOverflow */
    constructor(onLine, onOverflow, maxBytes = MAX_LINE_BYTES) {
        this.onLine = onLine;
        this.onOverflow = onOverflow;
        this.maxBytes = maxBytes;
    }

    /** @param {Buffer} chunk */
    push(chunk) {
        let start = 0;
        for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
            this.#add(chunk.subarray(start, end));
            start = end + 1;
            const line = this.#pieces.length === 1 ? this.#pieces[0] : Buffer.concat(this.#pieces);
            const fits = this.#bytes <= this.maxBytes;
            this.#pieces = [];
            this.#bytes = 0;
            if (fits) this.onLine(line);
        }
        this.#add(chunk.subarray(start));
    }

    #add(piece) {
        const before = this.#bytes;
        this.#bytes += piece.length;
        if (this.#bytes <= this.maxBytes) {
            this.#pieces.push(piece);
        } else if (before <= this.maxBytes) {
            // The rest of this line is skipped, and not kept.
            this.#pieces = [];
            this.onOverflow();
        }
    }
}
