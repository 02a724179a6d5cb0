// The life of the link: who is ended when it does not answer, and a system that gives no process.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { bridge } from './bridge.mjs';

const { Link } = await bridge('link.js');
const { Restarts } = await bridge('restarts.js');

// Greets, answers pings and what is called "quick", and nothing else.
const DEAF = `
    const answered = { initialize: { protocol: 1 }, ping: {}, quick: {}, shutdown: {} };
    require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
        const { id, method } = JSON.parse(line);
        if (id !== undefined && method in answered) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: answered[method] }));
    });`;

function scene(t) {
    const said = [];
    const link = new Link({
        start: () => ({ command: process.execPath, args: ['-e', DEAF], env: process.env }),
        greeting: () => ({}), onReady: () => { }, onGone: () => { }, onRoom: () => { }, handlers: {},
        settings: { callTimeoutMs: 800, startTimeoutMs: 20_000 },
        restarts: new Restarts(), notices: { say: text => said.push(text) },
    });
    t.after(() => link.dispose());
    const ask = (method, sessionId) => link.ask(method, () => ({}), { sessionId }).then(() => 'answered', error => error.code);
    return { link, said, ask };
}

test('calls of one session that wait side by side are one wait', async t => {
    const { said, ask } = scene(t);
    const waits = [ask('tool', 'slow'), ask('tool', 'slow'), ask('tool', 'slow')];
    assert.deepEqual(await Promise.all(waits), Array(3).fill('TAVERN_HOST_TIMEOUT'));
    assert.deepEqual(said, []);
    assert.equal(await ask('quick', 'other'), 'answered');
});

test('a session that lets a second call wait ends a Python that answers', async t => {
    const { said, ask } = scene(t);
    await ask('tool', 'slow');
    await ask('tool', 'slow');
    assert.equal(said[0], 'Python does not answer: it is ended');
});

test('a session that was answered in between has not waited twice', async t => {
    const { said, ask } = scene(t);
    await ask('tool', 'slow');
    await ask('quick', 'slow');
    await ask('tool', 'slow');
    assert.deepEqual(said, []);
});

test('a question that was given up before it could be asked starts nothing that could fail unheard', async () => {
    const unheard = [];
    const note = error => unheard.push(error.message);
    process.on('unhandledRejection', note);
    let starts = 0;
    const link = new Link({
        start: () => {
            starts++;
            throw new Error('there is no Python');
        },
        greeting: () => ({}), onReady: () => { }, onGone: () => { }, onRoom: () => { }, handlers: {},
        settings: { callTimeoutMs: 800, startTimeoutMs: 20_000 }, restarts: new Restarts(), notices: { say: () => { } },
    });
    const signal = AbortSignal.abort(new Error('given up'));
    await assert.rejects(link.ask('tool', () => ({}), { signal }), /given up/);
    await new Promise(resolve => { setImmediate(resolve); });
    process.off('unhandledRejection', note);
    assert.deepEqual([starts, unheard], [0, []]);
});

test('a system without files to give is said, and ends nobody', { skip: process.platform === 'win32' }, () => {
    const fixture = fileURLToPath(new URL('starved.mjs', import.meta.url));
    const done = spawnSync('/bin/sh', ['-c', 'ulimit -n 64 && exec "$0" "$1"', process.execPath, fixture], { encoding: 'utf8' });
    assert.deepEqual([done.status, done.stderr], [0, '']);
    const { said, code, others } = JSON.parse(done.stdout);
    assert.equal(code, 'TAVERN_HOST_GONE');
    assert.match(said[0], /Python did not start \(.*\): it cannot be run/);
    assert.equal(others, 'alive');
});
