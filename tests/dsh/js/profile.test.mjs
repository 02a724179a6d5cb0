// The file that stands in a profile, with and without the environment it leads to.
import assert from 'node:assert/strict';
import { ChildProcess } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { pathToFileURL } from 'node:url';
import { bridge } from './bridge.mjs';
import { FakeHost } from './host.mjs';
import { SHAPES } from './shapes.mjs';

const { Peer } = await bridge('peer.js');
const PYTHON = { python: process.execPath, arguments: ['-e', ''] };
const mode = value => ({ type: 'sandbox/mode', seq: 0, time: 0, data: { mode: value } });
const active = { selection: { rp: { active: true } } };
const passive = { selection: { rp: { active: false } } };

/** A profile's folder and a home. @returns the plugin, as the host would load it, and the home */
async function profile(t, installed) {
    const folder = mkdtempSync(join(tmpdir(), 'tavern-profile-'));
    cpSync(join(process.env.TAVERN_BRIDGE, 'profile', 'index.js'), join(folder, 'index.js'));
    writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
    writeFileSync(join(folder, 'installed.json'), installed);
    const home = join(folder, 'home');
    mkdirSync(join(home, 'pmp-dsh-tavern'), { recursive: true });
    const before = process.env.DSH_HOME;
    process.env.DSH_HOME = home;
    t.after(() => {
        if (before === undefined) delete process.env.DSH_HOME;
        else process.env.DSH_HOME = before;
    });
    const plugin = await import(pathToFileURL(join(folder, 'index.js')).href);
    return { plugin, folder, store: join(home, 'pmp-dsh-tavern', 'session-selections.json') };
}

/** Sessions in a host that runs the plugin; gives why the tools of each are refused. */
async function refused(plugin, sessions, config) {
    const made = sessions.map(one => SHAPES[one.shape ?? '0.1.0-rc.8'](one));
    const host = new FakeHost(...made);
    await plugin.apply(host, config);
    return () => made.map(({ id }) => host.guard({ agent: host.agent(id) }) !== undefined);
}

const GONE = JSON.stringify({ ...PYTHON, bridge: '/nowhere/index.js' });

test('without the environment, what is stored decides', async t => {
    const { plugin, store } = await profile(t, GONE);
    const sessions = [
        { id: 'locked', events: [mode('workspace-write')] },
        { id: 'read-only-by-choice', events: [mode('read-only')] },
        { id: 'free', events: [mode('read-only'), mode('workspace-write')] },
        { id: 'fork', parent: 'locked', events: [mode('workspace-write')] },
        { id: 'of-a-closed-one', parent: 'closed', events: [mode('workspace-write')] },
        { id: 'below-a-closed-one', parent: 'unlocked', events: [mode('read-only')] },
    ];
    const judged = await refused(plugin, sessions);
    assert.deepEqual(judged(), [false, false, false, false, false, true]);
    const stored = { locked: active, closed: active, free: passive, unlocked: passive };
    writeFileSync(store, JSON.stringify({ schemaVersion: 2, sessions: stored }));
    assert.deepEqual(judged(), [true, false, false, true, true, true]);
    writeFileSync(store, JSON.stringify({ schemaVersion: 1, sessions: { locked: active.selection } }));
    assert.deepEqual(judged(), [true, false, false, true, false, true]);
});

test('a process that was never started is sent no signal, which would reach the host itself', async t => {
    const signalled = [];
    t.mock.method(ChildProcess.prototype, 'kill', function kill() { signalled.push(this.pid); });
    const { plugin } = await profile(t, JSON.stringify({ python: '/nowhere/python', arguments: [], bridge: '/nowhere/index.js' }));
    await refused(plugin, []);
    const peer = new Peer({ command: '/nowhere/python', args: [], env: {} }, { onGone: () => { }, onRoom: () => { }, onStderr: () => { } });
    peer.kill();
    assert.deepEqual(signalled, []);
});

test('where nothing stored can be read, a read-only sandbox counts as a lock', async t => {
    const { plugin, store } = await profile(t, GONE);
    const sessions = Object.keys(SHAPES).flatMap(shape => [
        { shape, id: `${shape}-pinned`, events: [mode('workspace-write'), mode('read-only')] },
        { shape, id: `${shape}-fork`, parent: `${shape}-pinned`, events: [mode('workspace-write')] },
        { shape, id: `${shape}-free`, events: [mode('read-only'), mode('workspace-write')] },
        { shape, id: `${shape}-new` },
    ]);
    const judged = await refused(plugin, sessions);
    const expected = Object.keys(SHAPES).flatMap(() => [true, true, false, false]);
    for (const text of ['{"schemaVersion": 2, "sess', '[]', 'null', '{"schemaVersion": 3, "sessions": {}}', '{"schemaVersion": 2}']) {
        writeFileSync(store, text);
        assert.deepEqual(judged(), expected, text);
    }
});

test('the stores may be in another folder', async t => {
    const { plugin, folder } = await profile(t, GONE);
    const judged = await refused(plugin, [{ id: 'one' }], { storageDir: folder });
    writeFileSync(join(folder, 'session-selections.json'), JSON.stringify({ schemaVersion: 2, sessions: { one: active } }));
    assert.deepEqual(judged(), [true]);
});

for (const [what, installed] of [['no JSON', '{'], ['no bridge', '{}'], ['no command', JSON.stringify({ bridge: '/nowhere/index.js' })]]) {
    test(`a host boots with an installed.json that has ${what}`, async t => {
        const { plugin, store } = await profile(t, installed);
        await new Promise(resolve => { setImmediate(resolve); }); // a rejection nobody waits for ends a process
        writeFileSync(store, JSON.stringify({ schemaVersion: 2, sessions: { one: active } }));
        assert.deepEqual((await refused(plugin, [{ id: 'one' }, { id: 'two' }]))(), [true, false]);
    });
}

test('a bridge is given the settings with a whole path, and the lock of those whom Python has not spoken of', async t => {
    const folder = mkdtempSync(join(tmpdir(), 'tavern-bridge-'));
    writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
    writeFileSync(join(folder, 'index.js'), 'export const seen = []; export const offer = (...all) => seen.push(all);'
        + ' export async function apply(...all) { seen.push(all); if (all[1].failMode !== "closed") all[2].holdLocks(); }');
    const file = join(folder, 'index.js');
    const { plugin, store } = await profile(t, JSON.stringify({ ...PYTHON, bridge: file }));
    const session = SHAPES['0.1.0-rc.8']({ id: 'one' });
    const host = new FakeHost(session);
    await plugin.apply(host, { storageDir: 'stores', failMode: 'closed' });
    const { seen } = await import(pathToFileURL(file).href);
    const [[command, child], [ctx, config, { lockOf }]] = seen;
    child.kill();
    assert.equal(command, PYTHON.python);
    assert.equal(ctx, host);
    assert.deepEqual(config, { python: PYTHON.python, failMode: 'closed', storageDir: join(process.cwd(), 'stores') });
    assert.equal(lockOf(session, host.sessions), undefined);
    assert.equal(host.guard, undefined);
    // One that cannot work in a host leaves the locks to this file.
    writeFileSync(store, JSON.stringify({ schemaVersion: 2, sessions: { one: active } }));
    assert.deepEqual((await refused(plugin, [{ id: 'one' }, { id: 'two' }], {}))(), [true, false]);
});
