// Tool calls that Python has not judged: which of them get through.
import assert from 'node:assert/strict';
import test from 'node:test';
import { bridge } from './bridge.mjs';
import { FakeHost } from './host.mjs';
import { SHAPES } from './shapes.mjs';

const { Locks } = await bridge('locks.js');
const { hookTools } = await bridge('tools.js');
const shape = SHAPES['0.1.0-rc.8'];

/** A host with a session, its fork and a stranger, and a Python that answers as it is told. */
function scene({ answer, stored } = {}) {
    const sessions = [shape({ id: 'one' }), shape({ id: 'fork', parent: 'one' }), shape({ id: 'other' })];
    const host = new FakeHost(...sessions);
    const said = [];
    const locks = new Locks(host.sessions, stored);
    hookTools({ ctx: host, asker: { ask: async () => answer }, locks, notices: { say: text => said.push(text) } });
    const call = async id => {
        const execution = { agent: host.agent(id), name: 'bash', arguments: {} };
        const decision = await host.waterfall('tools/pre-execute', execution, async () => ({ kind: 'allow' }));
        return decision.kind === 'deny' ? decision.reason : host.guard(execution);
    };
    return { host, locks, said, call };
}

test('a lock that was told holds without a verdict, also for those below', async () => {
    const it = scene();
    it.locks.take({ locked: ['one'], free: ['other'], reason: 'locked' });
    assert.deepEqual([await it.call('one'), await it.call('fork'), await it.call('other')], ['locked', 'locked', undefined]);
    assert.equal(it.said.length, 2);
    assert.match(it.said[0], /session one: a call that Python has not judged is refused/);
});

test('a verdict counts more than a lock', async () => {
    const allowing = scene({ answer: {} });
    allowing.locks.take({ locked: ['one'], reason: 'locked' });
    assert.equal(await allowing.call('one'), undefined);
    const denying = scene({ answer: { deny: 'no' } });
    denying.locks.take({ free: ['one'] });
    assert.equal(await denying.call('one'), 'no');
});

test('what one Python said holds until another one says something else', () => {
    const it = scene();
    const [one, fork] = ['one', 'fork'].map(id => it.host.sessions.get(id));
    it.locks.take({ locked: ['one', 'fork'], reason: 'locked' });
    it.locks.take({ locked: ['other'], reason: 'locked' });
    assert.deepEqual([it.locks.reasonFor(one), it.locks.isLocked('fork')], ['locked', true]);
    it.locks.take({ free: ['fork'] });
    assert.deepEqual([it.locks.reasonFor(fork), it.locks.isLocked('fork')], [undefined, false]);
});

test('of whom no Python has spoken, somebody else is asked', async () => {
    const it = scene({ stored: session => (session.id === 'other' ? 'stored' : undefined) });
    assert.deepEqual([await it.call('one'), await it.call('other')], [undefined, 'stored']);
    it.locks.take({ locked: ['one'], free: ['other'], reason: 'locked' });
    assert.deepEqual([await it.call('one'), await it.call('other')], ['locked', undefined]);
    it.locks.forget('one');
    it.locks.forget('other');
    assert.deepEqual([await it.call('one'), await it.call('other')], [undefined, 'stored']);
});

test('a word about a session that is not open comes too late', () => {
    const it = scene();
    it.locks.take({ locked: ['gone'], reason: 'locked' });
    assert.equal(it.locks.isLocked('gone'), false);
});
