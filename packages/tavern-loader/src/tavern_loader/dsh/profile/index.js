// Made by "tavern-loader install"; "tavern-loader uninstall" takes it away. Loads the bridge from the
// Python environment that is named in installed.json. If that is gone, DSH goes on without it: what must
// hold all the same stands here, the lock of sessions in role-play mode.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const name = 'tavern-loader';

const LOCKED = 'Role-play mode is on in this conversation, and Tavern, which knows what it allows, cannot be'
    + ' asked: every call is refused. Where DSH was started, a line says why; "tavern-loader doctor" says more.';

// The host loads its plugins long before it applies them: Python starts meanwhile.
const started = begin();

function begin() {
    try {
        const installed = JSON.parse(readFileSync(new URL('./installed.json', import.meta.url), 'utf8'));
        const bridge = import(pathToFileURL(installed.bridge).href);
        bridge.catch(() => { }); // told when it is applied
        return { bridge: () => bridge, python: installed.python, child: startPython(installed) };
    } catch (error) {
        return { bridge: () => { throw error; }, python: undefined, child: undefined };
    }
}

/** A process that keeps nobody alive, and ends when this one does. */
function startPython({ python, arguments: args, bridge }) {
    const cwd = fileURLToPath(new URL('.', pathToFileURL(bridge)));
    const env = { ...process.env, DSH_HOME: dshHome() };
    const child = spawn(python, args, { stdio: ['pipe', 'pipe', 'pipe'], cwd, env, windowsHide: true });
    child.on('error', () => { }); // it is tried again, and told then
    for (const part of [child, child.stdin, child.stdout, child.stderr]) part?.unref?.();
    return child;
}

/** The host's home, which means the same whatever folder somebody works in. */
function dshHome() {
    return absolute(process.env.DSH_HOME || '~/.dsh');
}

function absolute(path) {
    return resolve(path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path);
}

export async function apply(ctx, config) {
    const { python, child } = started;
    started.child = undefined; // it is given away once
    const { storageDir, ...others } = config ?? {};
    const storage = typeof storageDir === 'string' && storageDir !== '' ? absolute(storageDir) : undefined;
    const lock = storedLock(join(storage ?? join(dshHome(), 'pmp-dsh-tavern'), 'session-selections.json'));
    let bridge;
    try {
        bridge = await started.bridge();
    } catch (error) {
        // Where no process was started, a signal would go to the host's own group.
        if (child?.pid !== undefined) child.kill();
        holdLocks(ctx, lock);
        process.stderr.write(`tavern-loader: the bridge cannot be loaded: ${error.message}. DSH goes on without`
            + ' Tavern, and sessions in role-play mode stay locked; run "tavern-loader install" again, or'
            + ' "tavern-loader uninstall", which ends every lock\n');
        return;
    }
    if (child !== undefined) bridge.offer(python, child);
    const settings = { python, ...others, ...storage === undefined ? {} : { storageDir: storage } };
    await bridge.apply(ctx, settings, { lockOf: lock, holdLocks: () => holdLocks(ctx, lock) });
}

function holdLocks(ctx, lock) {
    const guard = sessions => ({ agent }) => (agent === undefined ? undefined : lock(agent.session, sessions));
    try {
        ctx.inject(['tools', 'sessions'], inner => { inner.tools.guard(guard(inner.sessions)); });
    } catch (error) {
        process.stderr.write(`tavern-loader: sessions in role-play mode cannot be locked: ${error.message}\n`);
    }
}

/**
 * Judge sessions of which no Python has said anything: by what is stored, and where that says nothing, by
 * their logs, for role-play mode keeps a session in the read-only sandbox.
 * @param {string} file the selections of all sessions
 * @returns {(session: object, sessions: object) => string | undefined} why the tools of a session are refused
 */
function storedLock(file) {
    return (session, sessions) => {
        const lineage = lineageOf(session, sessions);
        const isActive = storedStates(file);
        if (isActive === undefined) return lineage.some(one => isReadOnly(one.session)) ? LOCKED : undefined;
        // Whose parent is not open, may be locked by one that cannot be seen from here.
        const isWhole = lineage.at(-1).session !== undefined;
        const isLocked = lineage.some(one => isActive(one.id)) || (!isWhole && isReadOnly(session));
        return isLocked ? LOCKED : undefined;
    };
}

/** @returns {{id: string, session?: object}[]} a session and those it came from, up to one that is not open */
function lineageOf(session, sessions) {
    const lineage = [];
    for (let one = { id: session.id, session }; !lineage.some(({ id }) => id === one.id);) {
        lineage.push(one);
        const id = one.session?.header.parentSession;
        if (id === undefined) break;
        one = { id, session: sessions.get(id) };
    }
    return lineage;
}

function isReadOnly(session) {
    const events = session?.snapshotEvents?.() ?? session?.events ?? [];
    return events.findLast(event => event.type === 'sandbox/mode')?.data?.mode === 'read-only';
}

/** @returns {((id: string) => boolean) | undefined} whether role-play mode is stored as on; undefined: nobody knows */
function storedStates(file) {
    let stored;
    try {
        stored = JSON.parse(readFileSync(file, 'utf8'));
    } catch (error) {
        return error.code === 'ENOENT' ? () => false : undefined;
    }
    const { schemaVersion, sessions } = stored ?? {};
    if (![1, 2].includes(schemaVersion) || typeof sessions !== 'object' || sessions === null) return undefined;
    return id => {
        const found = Object.hasOwn(sessions, id) ? sessions[id] : undefined;
        return (schemaVersion === 1 ? found : found?.selection)?.rp?.active === true;
    };
}
