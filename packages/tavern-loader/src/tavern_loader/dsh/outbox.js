// What waits to be written to Python: in order, and of what may be dropped only so much.

export const MAX_DROPPABLE_BYTES = 8 * 1024 * 1024;

/** Lines for one stream, written as fast as its reader reads. */
export class Outbox {
    #waiting = [];
    #droppableBytes = 0;
    #isBlocked = false;

    /**
     * @param {import('node:stream').Writable} stream
     * @param {() => void} onRoom nothing waits any more
     */
    constructor(stream, onRoom, maxDroppableBytes = MAX_DROPPABLE_BYTES) {
        this.stream = stream;
        this.onRoom = onRoom;
        this.maxDroppableBytes = maxDroppableBytes;
        stream.on('drain', () => this.#continue());
    }

    /** @returns {boolean} false if the line was dropped: there was no room for it */
    push(line, { droppable = false } = {}) {
        if (!this.#isBlocked) {
            this.#isBlocked = !this.stream.write(line);
            return true;
        }
        if (droppable) {
            if (this.#droppableBytes + line.length > this.maxDroppableBytes) return false;
            this.#droppableBytes += line.length;
        }
        this.#waiting.push({ line, droppable });
        return true;
    }

    #continue() {
        this.#isBlocked = false;
        let written = 0;
        while (written < this.#waiting.length && !this.#isBlocked) {
            const { line, droppable } = this.#waiting[written++];
            if (droppable) this.#droppableBytes -= line.length;
            this.#isBlocked = !this.stream.write(line);
        }
        this.#waiting.splice(0, written);
        if (this.#waiting.length === 0) this.onRoom();
    }
}
