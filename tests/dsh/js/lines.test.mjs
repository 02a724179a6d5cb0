// Framing and what waits to be written.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import test from 'node:test';
import { bridge } from './bridge.mjs';

const { LineReader, MAX_LINE_BYTES, encode } = await bridge('lines.js');
const { Outbox } = await bridge('outbox.js');
const { Restarts } = await bridge('restarts.js');

function reader(maxBytes) {
    const lines = [];
    let overflows = 0;
    const made = new LineReader(line => lines.push(line.toString()), () => { overflows += 1; }, maxBytes);
    return { push: text => made.push(Buffer.from(text)), lines, overflows: () => overflows };
}

test('lines are put together from chunks', () => {
    const { push, lines } = reader();
    for (const chunk of ['a', 'b\nc', '\n', '\n龙', '\u{1f409}\nrest']) push(chunk);
    assert.deepEqual(lines, ['ab', 'c', '', '龙\u{1f409}']);
});

test('a character that is cut between chunks stays whole', () => {
    const lines = [];
    const made = new LineReader(line => lines.push(line.toString()), () => { });
    for (const byte of Buffer.from('龙\n')) made.push(Buffer.from([byte]));
    assert.deepEqual(lines, ['龙']);
});

test('a line over the limit is skipped whole, and said once', () => {
    const { push, lines, overflows } = reader(4);
    for (const chunk of ['12345', '67', '89\n1234\n', '12345\n1\n']) push(chunk);
    assert.deepEqual(lines, ['1234', '1']);
    assert.equal(overflows(), 2);
});

test('a message over the limit is refused before it is sent', () => {
    assert.equal(encode({ text: 'a\nb\u2028' }).toString(), '{"text":"a\\nb\u2028"}\n');
    assert.throws(() => encode({ text: 'x'.repeat(MAX_LINE_BYTES) }), { code: 'MESSAGE_TOO_LARGE' });
});

class Pipe extends EventEmitter {
    written = [];
    takes = true;

    write(line) {
        this.written.push(line);
        return this.takes;
    }
}

test('nothing is written to a reader that does not read, and everything in order later', () => {
    const pipe = new Pipe();
    let rooms = 0;
    const outbox = new Outbox(pipe, () => { rooms += 1; });
    pipe.takes = false;
    for (const line of ['a', 'b', 'c']) assert.equal(outbox.push(line), true);
    assert.deepEqual(pipe.written, ['a']);
    pipe.emit('drain');
    assert.deepEqual(pipe.written, ['a', 'b']);
    assert.equal(rooms, 0);
    pipe.takes = true;
    pipe.emit('drain');
    assert.deepEqual(pipe.written, ['a', 'b', 'c']);
    assert.equal(rooms, 1);
});

test('of what may be dropped only so much waits', () => {
    const pipe = new Pipe();
    const outbox = new Outbox(pipe, () => { }, 5);
    pipe.takes = false;
    const push = (line, droppable) => outbox.push(line, { droppable });
    assert.deepEqual([push('1', true), push('123', true), push('456', true), push('45', true)], [true, true, false, true]);
    assert.equal(push('a call', false), true);
    pipe.takes = true;
    pipe.emit('drain');
    assert.deepEqual(pipe.written, ['1', '123', '45', 'a call']);
});

test('starts come slower and slower, and stop for a while', () => {
    let now = 0;
    const restarts = new Restarts(() => now);
    const delays = [];
    for (let at = 0; at < 6; at++) {
        delays.push(restarts.next().delayMs);
        restarts.count();
        now += 1000;
    }
    assert.deepEqual(delays, [0, 0, 200, 1000, 5000, 5000]);
    assert.deepEqual(restarts.next(), { delayMs: 55_000, isExhausted: true });
    now += 55_001;
    assert.equal(restarts.next().isExhausted, false);
});
