// The whole plugin in hosts that cannot be run here: sessions and messages in the shapes that are
// recorded of them, with a real other half.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { bridge } from './bridge.mjs';
import { FakeHost } from './host.mjs';
import { SHAPES, message } from './shapes.mjs';

const { apply } = await bridge('index.js');
const FOLDER = process.env.TAVERN_FAULT_FOLDER;
const notes = () => readFileSync(join(FOLDER, 'messages.ndjson'), 'utf8').trim().split('\n').map(line => JSON.parse(line));

async function told(session, method) {
    for (let tries = 0; tries < 200; tries++) {
        const found = notes().filter(({ method: name, params }) => name === method && params.session?.id === session);
        if (found.length > 0) return found.at(-1).params;
        await sleep(20);
    }
    throw new Error(`${method} did not come`);
}

const inserted = { id: 'm1', role: 'user', source: { kind: 'user' }, content: [{ type: 'text', text: 'pending words' }] };
const LOG = [
    { type: 'user/message', seq: 0, time: 0, data: message('user', 'user', 'inherited') },
    { type: 'agent/inbox/spliced', seq: 1, time: 1, data: { target: 'next-turn', start: 0, inserted: [inserted] } },
    { type: 'turn/start', seq: 2, time: 2, data: { turn: 1 } },
    { type: 'agent/inbox/spliced', seq: 3, time: 3, data: { target: 'next-turn', start: 0, removedCount: 1, inserted: [] } },
    { type: 'system/message', seq: 4, time: 4, data: { message: message('system', 'plugin', 'system text') } },
    { type: 'user/message', seq: 5, time: 5, data: message('user', 'plugin', 'context', { form: 'snapshot' }) },
];

for (const [version, shape] of Object.entries(SHAPES)) {
    const hasSystemMessages = version.startsWith('0.1.5');

    test(`${version}: a step from its assembly to its request`, async t => {
        const session = shape({
            id: `step-${version}`, events: LOG, seedLength: 1, nodes: [0, 4, 5],
            messages: [message('user', 'user', 'inherited')],
        });
        const host = new FakeHost(session);
        t.after(() => host.dispose());
        await apply(host, { callTimeoutMs: 10_000 });
        host.emit('agent/session-start', { agent: host.agent(session.id), source: 'startup' });

        const agent = host.agent(session.id);
        const { signal } = new AbortController();
        const assembly = {
            sections: [...host.sections.map(({ name, text }) => ({ name, text })), { name: 'rest', text: 'Rest.' }],
            contexts: [], tools: [{ name: 'read' }], variables: { cwd: '/w' },
        };
        const result = await host.waterfall('system-prompt/assemble', assembly, { agent, signal }, async () => assembly);
        assert.deepEqual(result.sections.map(section => section.name), [
            'pmp-dsh-tavern:part:0000:preset:x', 'pmp-dsh-tavern:part:0001:preset:x', 'rp:policy', 'rest',
        ]);
        assert.match(result.sections[0].text, /claimed=\['pending words'\]/);
        assert.equal((await told(session.id, 'assemble')).history[0].content[0].text, 'inherited');

        const payload = { agent, turn: 1, step: 1, signal };
        const config = await host.waterfall('agent/request', payload, async () => ({ provider: 'p', model: 'm' }));
        assert.deepEqual(config, { provider: 'p', model: 'm', temperature: 0.37, maxTokens: 321, stop: ['<END>'] });

        const system = message('system', 'plugin', 'system text');
        const snapshot = message('user', 'plugin', 'context', { form: 'snapshot' });
        const options = {
            ...config, sessionId: session.id, tools: [{ name: 'read' }],
            messages: [...hasSystemMessages ? [system] : [], message('user', 'user', 'inherited'), snapshot],
            ...hasSystemMessages ? {} : { system: 'system text' },
        };
        const stream = host.waterfall('llm/stream', options, () => 'the very stream');
        assert.equal(stream, 'the very stream');
        const seen = await told(session.id, 'stream');
        assert.equal(seen.system, hasSystemMessages ? null : 'system text');
        assert.deepEqual(seen.messages.map(one => one.content[0].text), hasSystemMessages ? ['system text', 'context'] : ['context']);
        assert.deepEqual(seen.surface.map(event => [event.seq, event.type]), [[4, 'system/message'], [5, 'user/message']]);
        assert.equal(seen.logCutSeq, LOG.length - 1);
        assert.deepEqual(seen.toolNames, ['read']);
    });

    test(`${version}: Python's own questions`, async t => {
        const session = shape({ id: `asked-${version}`, events: LOG });
        const host = new FakeHost(session);
        t.after(() => host.dispose());
        const { hostCalls } = await bridge('host_calls.js');
        const { Locks } = await bridge('locks.js');
        const calls = hostCalls({ ctx: host, agents: host.agents, sessions: host.sessions, locks: new Locks(host.sessions) });
        calls['host/sandbox-mode']({ sessionId: session.id, mode: 'read-only' });
        assert.deepEqual(session.appended, [['sandbox/mode', { mode: 'read-only' }]]);
        assert.throws(() => calls['host/cancel']({ sessionId: 'nobody', reason: 'x' }), { code: 'SESSION_NOT_OPEN' });
        const log = await calls['host/inspect']({ sessionId: session.id, after: 2 });
        assert.deepEqual([log.events.map(event => event.seq), log.more, log.last], [[3, 4, 5], false, 5]);
        const head = await calls['host/inspect']({ sessionId: session.id, after: Number.MAX_SAFE_INTEGER });
        assert.deepEqual([head.meta.id, head.events, head.more], [session.id, [], false]);
        host.sessionPersistence = { inspect: async () => { throw Object.assign(new Error('EMFILE'), { code: 'EMFILE', syscall: 'open' }); } };
        await assert.rejects(calls['host/inspect']({ sessionId: 'nobody' }), { code: 'SESSION_LOG_UNREADABLE' });
        host.sessionPersistence = { inspect: async () => { throw new Error('session "nobody" not found'); } };
        assert.deepEqual(await calls['host/inspect']({ sessionId: 'nobody' }), { meta: null, events: [], more: false, last: -1 });
        assert.equal(calls['host/session']({ sessionId: session.id }).session.running, true);
        assert.equal(calls['host/session']({ sessionId: 'nobody' }).session, null);
    });
}

test('a host without services and with a hostile shape boots all the same', async t => {
    const host = new FakeHost();
    for (const service of ['commands', 'tools', 'systemPrompt']) delete host[service];
    t.after(() => host.dispose());
    await apply(host, { callTimeoutMs: 10_000 });
    let held = 0;
    await apply({ on() { throw new Error('no events'); } }, undefined, { holdLocks: () => { held += 1; } });
    assert.equal(held, 1);
    // What the host calls gives nothing back, or it would be taken for an effect.
    assert.equal(await apply({ on() { throw new Error('no events'); } }, undefined, undefined), undefined);
});
