// What a user must see: lines on standard error, each text once in a while only.

const REPEAT_MS = 60_000;
const MOST_IN_WINDOW = 100;
const LINE_CHARACTERS = 2000;

export class Notices {
    #said = new Map();

    /** @param {{warn?: (text: string) => void}} [logger] the host's own log, which shows nothing by default */
    constructor(logger, write = text => process.stderr.write(text), now = () => performance.now()) {
        this.logger = logger;
        this.write = write;
        this.now = now;
    }

    say(text) {
        const line = text.replaceAll(/\s+/g, ' ').trim().slice(0, LINE_CHARACTERS);
        const now = this.now();
        for (const [said, time] of this.#said) if (now - time > REPEAT_MS) this.#said.delete(said);
        if (line === '' || this.#said.has(line) || this.#said.size >= MOST_IN_WINDOW) return;
        this.#said.set(line, now);
        this.write(`${line.startsWith('tavern-loader: ') ? '' : 'tavern-loader: '}${line}\n`);
        this.logger?.warn?.(line);
    }
}
