// What Python is told of sessions when it does not keep up, and when a message does not fit.
import assert from 'node:assert/strict';
import test from 'node:test';
import { bridge } from './bridge.mjs';

const { Feed } = await bridge('feed.js');
const { Asker } = await bridge('asker.js');
const { Lapses } = await bridge('lapses.js');
const { Locks } = await bridge('locks.js');
const { encode } = await bridge('lines.js');

const splice = (seq, text) => ({
    type: 'agent/inbox/spliced', seq, time: 0,
    data: { target: 'next-turn', start: 0, inserted: [{ id: `m${seq}`, role: 'user', source: { kind: 'user' }, content: [{ type: 'text', text }] }] },
});

/** A feed on a link that can be made to drop, with one session. */
function scene(events = []) {
    const session = { id: 's', header: { id: 's', cwd: '/w' }, seq: events.length, events };
    const sent = [];
    const said = [];
    const link = {
        isUp: true,
        drops: false,
        tell(method, params, { droppable = false } = {}) {
            if (droppable && this.drops) return false;
            if (JSON.stringify(params).length > 20_000_000) throw new Error('too large');
            sent.push([method, params]);
            return true;
        },
        async ask(method, params) {
            sent.push([method, params()]);
            return {};
        },
    };
    const others = [];
    const sessions = { list: () => [session, ...others], get: id => (id === 's' ? session : undefined) };
    const notices = { say: text => said.push(text) };
    const locks = new Locks(sessions);
    const feed = new Feed({ link, sessions, agents: { get: () => ({ status: 'running' }) }, locks, notices });
    const asker = new Asker({ link, feed, lapses: new Lapses(notices), settings: { failMode: 'open' } });
    feed.reset({ events: ['agent/inbox/spliced', 'user/message'], replay: ['agent/inbox/spliced'] });
    sent.length = 0;
    return { session, events, link, feed, asker, locks, others, sent, said };
}

const happen = ({ session, feed, events }, event) => {
    events.push(event);
    session.seq = events.length;
    feed.happened(session, event);
};

test('only the events that were asked for are passed on', () => {
    const it = scene();
    happen(it, splice(0, 'hi'));
    happen(it, { type: 'assistant/chunk', seq: 1, time: 0, data: {} });
    assert.deepEqual(it.sent.map(([method, params]) => [method, params.event.seq]), [['session/event', 0]]);
});

test('what was dropped is told before the next question, once', async () => {
    const it = scene();
    it.link.drops = true;
    happen(it, splice(0, 'lost'));
    it.link.drops = false;
    happen(it, splice(1, 'not sent: the sync will have it'));
    await it.asker.ask('assemble', it.session, () => ({}), {});
    await it.asker.ask('assemble', it.session, () => ({}), {});
    assert.deepEqual(it.sent.map(([method]) => method), ['session/sync', 'assemble', 'assemble']);
    const [, sync] = it.sent[0];
    assert.deepEqual(sync.events.map(event => event.seq), [0, 1]);
    assert.deepEqual([sync.first, sync.last, sync.requestHeader, sync.requestContext], [true, true, null, null]);
    assert.deepEqual(sync.session, { id: 's', header: { id: 's', cwd: '/w' }, seq: 2, cwd: '/w', running: true });
});

test('the last piece of a sync brings the latest header and context of the whole log', () => {
    const context = (seq, contextWindow) => ({ type: 'request/context', seq, time: 0, data: { contextWindow } });
    const header = { type: 'request/header', seq: 1, time: 0, data: { header: {} } };
    const large = splice(3, 'x'.repeat(1024 * 1024));
    const events = [context(0, 1), header, context(2, 2), large];
    const it = scene(events);
    it.session.header.seedLength = 3;  // inherited ones count, too
    events.push({ ...large, seq: 4 });
    it.feed.sync(it.session);
    const syncs = it.sent.map(([, params]) => params);
    assert.deepEqual(syncs.map(sync => sync.events.map(event => event.seq)), [[], [3], [4]]);
    assert.deepEqual(syncs.map(sync => sync.requestHeader?.seq), [undefined, undefined, 1]);
    assert.deepEqual(syncs.map(sync => sync.requestContext?.data.contextWindow), [undefined, undefined, 2]);
});

test('what was dropped is told as soon as there is room', () => {
    const it = scene();
    it.link.drops = true;
    happen(it, splice(0, 'lost'));
    it.link.drops = false;
    it.feed.refreshAll();
    it.feed.refreshAll();
    assert.deepEqual(it.sent.map(([method]) => method), ['session/sync']);
});

const kinds = it => it.sent.map(([method, { source }]) => (source === undefined ? method : `${method} ${source}`));

test('a session that began before Python is told of when it comes, until Python has answered', async () => {
    const it = scene();
    it.link.isUp = false;
    it.feed.started(it.session, 'startup');
    assert.deepEqual(it.sent, []);
    it.link.isUp = true;
    it.feed.reset({ events: [] });
    it.feed.sync(it.session);
    assert.deepEqual(kinds(it), ['session/sync', 'session/start startup', 'session/sync']);
    // Who died before it answered may have done half of it.
    it.sent.length = 0;
    it.feed.reset({ events: [] });
    assert.deepEqual(kinds(it), ['session/sync', 'session/start resume']);
    await it.asker.ask('assemble', it.session, () => ({}), {});
    it.sent.length = 0;
    it.feed.reset({ events: [] });
    assert.deepEqual(kinds(it), ['session/sync']);
});

test('a start that was dropped is told again', () => {
    const it = scene();
    it.link.drops = true;
    it.feed.started(it.session, 'startup');
    assert.deepEqual(kinds(it), ['session/sync']);
    it.link.drops = false;
    it.feed.refreshAll();
    assert.deepEqual(kinds(it), ['session/sync', 'session/sync', 'session/start startup']);
});

test('a session that cannot be told of holds up no other, and is asked about all the same', async () => {
    const it = scene();
    const other = { ...it.session, id: 'other' };
    let tries = 0;
    Object.defineProperty(it.session, 'events', {
        get: () => {
            tries += 1;
            throw new Error('no such array');
        },
    });
    it.others.push(other);
    it.feed.reset({ events: [] });
    assert.deepEqual(it.sent.map(([, { session }]) => session.id), ['other']);
    assert.match(it.said[0], /session s: what it is like cannot be told to Python: no such array/);
    it.sent.length = 0;
    it.feed.refreshAll();
    assert.deepEqual([it.sent, tries], [[], 1]);
    await it.asker.ask('tool', it.session, () => ({}), {});
    assert.deepEqual(it.sent.map(([method]) => method), ['tool']);
});

test('an event of a shape nobody knows loses its data, and not its place', () => {
    const odd = [
        { type: 'agent/inbox/spliced', seq: 0, time: 0 },
        { type: 'agent/inbox/spliced', seq: 1, time: 0, data: { inserted: [null] } },
        { type: 'agent/inbox/spliced', seq: 2, time: 0, data: { inserted: {} } },
    ];
    const it = scene([...odd, splice(3, 'known')]);
    it.feed.sync(it.session);
    const [[, { events }]] = it.sent;
    assert.deepEqual(events.map(event => [event.seq, event.data?.inserted?.length ?? null]), [[0, null], [1, null], [2, null], [3, 1]]);
});

test('the largest event and the largest header go in notes of their own', () => {
    const large = '\u4e00'.repeat(4_100_000);
    const header = { type: 'request/header', seq: 1, time: 0, data: { header: { system: large } } };
    const it = scene([splice(0, large), header]);
    it.feed.sync(it.session);
    const notes = it.sent.map(([, note]) => note);
    assert.deepEqual(notes.map(note => [note.first, note.last, note.events.length]), [[true, false, 0], [false, false, 1], [false, true, 0]]);
    for (const note of notes) encode(note);
});

test('a sync says what the sandbox is by the whole log, and what was said of the lock', () => {
    const mode = (seq, value) => ({ type: 'sandbox/mode', seq, time: 0, data: { mode: value } });
    const it = scene([mode(0, 'workspace-write'), mode(1, 'read-only')]);
    it.session.header.seedLength = 2;
    const known = () => {
        it.sent.length = 0;
        it.feed.sync(it.session);
        const [[, { sandboxMode, wasLocked }]] = it.sent;
        return [sandboxMode, wasLocked];
    };
    assert.deepEqual(known(), ['read-only', false]);
    it.locks.take({ locked: ['s'], reason: 'because' });
    assert.deepEqual(known(), ['read-only', true]);
});

test('a long log comes in pieces', () => {
    const it = scene(Array.from({ length: 5 }, (_, seq) => splice(seq, 'x'.repeat(400_000))));
    it.feed.sync(it.session);
    const pieces = it.sent.map(([, params]) => [params.first, params.last, params.events.map(event => event.seq)]);
    assert.deepEqual(pieces, [[true, false, [0, 1]], [false, false, [2, 3]], [false, true, [4]]]);
});

test('a text beyond all bounds keeps its place in the queue', () => {
    const it = scene([splice(0, 'x'.repeat(5_000_000)), splice(1, 'short')]);
    it.feed.sync(it.session);
    const [[, { events }]] = it.sent;
    assert.deepEqual(events.map(event => event.data.inserted.map(one => [one.id, one.content.length])), [[['m0', 0]], [['m1', 1]]]);
});

test('pictures of a message stay at home', () => {
    const it = scene();
    const event = splice(0, 'look');
    event.data.inserted[0].content.push({ type: 'image', data: 'AAAA' });
    happen(it, event);
    assert.deepEqual(it.sent[0][1].event.data.inserted[0].content, [{ type: 'text', text: 'look' }]);
});

test('a message that does not fit is said, and the session told anew', async () => {
    const it = scene();
    it.feed.tell('stream', it.session, () => ({ system: 'x'.repeat(20_000_001) }));
    assert.match(it.said[0], /stream was not passed on/);
    await it.asker.ask('assemble', it.session, () => ({}), {});
    assert.deepEqual(it.sent.map(([method]) => method), ['session/sync', 'assemble']);
});
