// Sessions of the host in the shapes of its versions: the same values come out of each.
import assert from 'node:assert/strict';
import test from 'node:test';
import { bridge } from './bridge.mjs';
import { SHAPES, message } from './shapes.mjs';

const sessions = await bridge('sessions.js');

const EVENTS = [
    { type: 'turn/start', seq: 0, time: 1, data: { turn: 1 } },
    { type: 'request/header', seq: 1, time: 2, data: { header: { config: {} }, reason: 'initial' } },
    { type: 'turn/end', seq: 2, time: 3, data: { turn: 1 } },
    { type: 'turn/start', seq: 3, time: 4, data: { turn: 2 } },
];

for (const [version, shape] of Object.entries(SHAPES)) {
    test(`${version}: own events are those behind the seed`, () => {
        const session = shape({ events: EVENTS, seedLength: 3 });
        assert.deepEqual(sessions.ownEvents(session).map(event => event.seq), [3]);
        assert.deepEqual(sessions.allEvents(session).map(event => event.seq), [0, 1, 2, 3]);
        assert.equal(sessions.requestHeader(session).seq, 1);
    });

    test(`${version}: history is the latest messages with a text, and counts of the others`, () => {
        const session = shape({
            messages: [
                message('user', 'user', 'one'), message('assistant', 'model', 'two'), message('user', 'tool', ''),
                message('user', 'plugin', 'snapshot'), message('user', 'user', 'three'),
            ],
        });
        const { history, earlier } = sessions.historyOf(session, 2);
        assert.deepEqual(history.map(one => one.content[0].text), ['snapshot', 'three']);
        assert.deepEqual(earlier, { 'user/user': 1, 'assistant/model': 1 });
    });
}

test('history is bounded in text too, but for its last message', () => {
    const session = SHAPES['0.1.0-rc.8']({
        messages: ['x'.repeat(2_000_000), 'y'.repeat(2_000_000), 'z'.repeat(3_000_000)].map(text => message('user', 'user', text)),
    });
    const { history, earlier } = sessions.historyOf(session, 10);
    assert.deepEqual(history.map(one => one.content[0].text[0]), ['z']);
    assert.deepEqual(earlier, { 'user/user': 2 });
});
